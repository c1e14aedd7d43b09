"""Questions that are answered in words, or by one of a few buttons."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hitl_nb._calls import Call
from hitl_nb._text import visible
from hitl_nb.cards._card import Card, Row, answer_row, argument_rows
from hitl_nb.errors import InvalidValue


class Text(Card):
    """A box for words; the answer is a ``str``, exactly as typed.

    Args:
        call: The call; its arguments are the question.
        long: Whether the box has several lines.
        placeholder: What stands in the empty box.
        initial: What the box starts with.
    """

    module: ClassVar[str | Path] = "text"
    confirm: ClassVar[str] = "Answer"

    def __init__(self, call: Call, *, long: bool = False, placeholder: str = "", initial: str = "") -> None:
        super().__init__(call)
        self._long, self._placeholder, self._initial = long, placeholder, initial

    def props(self) -> dict[str, Any]:
        """Return the rows to read and the box."""
        return {
            "rows": self.context(),
            "long": self._long,
            "placeholder": self._placeholder,
            "initial": self._initial,
        }

    def answer(self, value: Any) -> str:
        """Return the text of ``{"text": …}``.

        Raises:
            InvalidValue: There is none; an empty box is no answer.
        """
        text = value.get("text") if isinstance(value, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise InvalidValue("Nothing is written yet. Write an answer, or decline.")
        # Left as it was, it is what it was, also where the box had to show it differently.
        return self._initial if text == visible(self._initial) else text

    def headline(self) -> str:
        """Return that there is an answer."""
        return "Answered"


class QuickReply(Card):
    """Buttons that answer at once, and a box for words: ``render=partial(QuickReply, choices={"Accept": True})``.

    Args:
        call: The call; its arguments are what the question is about.
        choices: The text of each button, and the answer it stands for.
        label: What stands above the box.
        one_key: Whether the keys 1 to 9, which stand on the buttons, press them while nobody is writing.
    """

    module: ClassVar[str | Path] = "reply"
    confirm: ClassVar[str] = "Send"

    def __init__(
        self,
        call: Call,
        *,
        choices: Mapping[str, Any] | None = None,
        label: str = "Or in your own words",
        one_key: bool = False,
    ) -> None:
        super().__init__(call)
        self._choices = dict(choices or {})
        self._label = label
        self.one_key = one_key

    def props(self) -> dict[str, Any]:
        """Return the rows to read, the buttons, and what stands above the box."""
        keys = {"keys": True} if self.one_key else {}
        return {"rows": self.context(), "choices": list(self._choices), "label": self._label, **keys}

    def answer(self, value: Any) -> Any:
        """Return what the button of ``{"choice": index}`` stands for, or the text of ``{"text": words}``.

        Raises:
            InvalidValue: Neither: an empty box is no answer.
        """
        sent = value if isinstance(value, Mapping) else {}
        choice, text = sent.get("choice"), sent.get("text")
        if type(choice) is int and 0 <= choice < len(self._choices):
            return list(self._choices.values())[choice]
        if choice is None and isinstance(text, str) and text.strip():
            return text
        raise InvalidValue("Nothing is written yet. Press a button or write something, or decline.")

    def headline(self) -> str:
        """Return the button that was pressed, or that there are words."""
        label = self._pressed()
        return "Answered in words" if label is None else f"Answered: {label}"

    def rows(self) -> Sequence[Row]:
        """Return what the question was about and the words of the answer."""
        words = self.call.approved and self._pressed() is None
        return [*argument_rows(self.call), *([answer_row(self.call)] if words else [])]

    def _pressed(self) -> str | None:
        """The button of this answer, also of one that was given by a script; None for words."""
        answer = self.call.answer
        return next((text for text, one in self._choices.items() if type(one) is type(answer) and one == answer), None)
