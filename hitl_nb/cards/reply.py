"""A question that is answered by one of a few buttons, or in words."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card, Row, answer_row, argument_rows
from hitl_nb.errors import InvalidValue


class QuickReply(Card):
    """Buttons that answer at once, and a box for words: ``render=partial(QuickReply, choices={"Accept": True})``.

    Args:
        call: The call; its arguments are what the question is about.
        choices: The text of each button, and the answer it stands for.
        label: What stands above the box.
    """

    module: ClassVar[str | Path] = "reply"
    confirm: ClassVar[str] = "Send"

    def __init__(
        self, call: Call, *, choices: Mapping[str, Any] | None = None, label: str = "Or in your own words"
    ) -> None:
        super().__init__(call)
        self._choices = dict(choices or {})
        self._label = label

    def props(self) -> dict[str, Any]:
        """Give the rows to read, the buttons, and what stands above the box."""
        return {"rows": self.context(), "choices": list(self._choices), "label": self._label}

    def answer(self, value: Any) -> Any:
        """Give what the button of ``{"choice": index}`` stands for, or the text of ``{"text": words}``.

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
        """Give the button that was pressed, or that there are words."""
        label = self._pressed()
        return "Answered in words" if label is None else f"Answered: {label}"

    def rows(self) -> Sequence[Row]:
        """Give what the question was about and the words of the answer."""
        words = self.call.approved and self._pressed() is None
        return [*argument_rows(self.call), *([answer_row(self.call)] if words else [])]

    def _pressed(self) -> str | None:
        """The button of this answer, also of one that was given by a script; None for words."""
        answer = self.call.answer
        return next((text for text, one in self._choices.items() if type(one) is type(answer) and one == answer), None)
