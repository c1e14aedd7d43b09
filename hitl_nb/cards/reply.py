"""A question that is answered by one of a few buttons, in words, or by either."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hitl_nb._calls import Call
from hitl_nb.cards._card import Row
from hitl_nb.cards._text import plain
from hitl_nb.cards.plain import Plain
from hitl_nb.errors import InvalidValue


class Reply(Plain):
    """Shows what the question is about, and takes a choice, a text, or either as the answer.

    Args:
        call: The call; its arguments are what the question is about.
        choices: What can be chosen: the text of each button, and the answer it stands for.
        words: The label of the text box; None: no words, only a choice.
    """

    module: ClassVar[str] = "reply"
    streams: ClassVar[bool] = False
    confirm: ClassVar[str] = "Answer"

    def __init__(
        self, call: Call, *, choices: Mapping[str, Any] | None = None, words: str | None = "Your answer"
    ) -> None:
        super().__init__(call)
        self._choices = dict(choices or {})
        self._words = words

    def props(self) -> dict[str, Any]:
        """Give the rows to read, the choices, and the label of the text box."""
        return {**super().props(), "choices": list(self._choices), "words": self._words}

    def answer(self, value: Any) -> Any:
        """Give the answer of a ``{"choice": index}`` or the text of a ``{"text": words}``.

        Raises:
            InvalidValue: Neither; a choice that is not there; or words that are not asked for.
        """
        sent = value if isinstance(value, Mapping) else {}
        choice, text = sent.get("choice"), sent.get("text")
        if type(choice) is int and 0 <= choice < len(self._choices) and text is None:
            return list(self._choices.values())[choice]
        if isinstance(text, str) and text.strip() and self._words is not None and choice is None:
            return text
        wanted = [*(["a choice"] if self._choices else []), *(["some words"] if self._words is not None else [])]
        raise InvalidValue(f"Nothing to send yet: `{self.call.name}` asks for {' or '.join(wanted)}.")

    def headline(self) -> str:
        """Give the choice that was made, or that there are words."""
        label = self._label()
        return "Answered" if label is None else f"Answered: {label}"

    def rows(self) -> Sequence[Row]:
        """Give what the question was about and, once answered in words, these."""
        rows = list(super().rows())
        if self.call.approved and self._label() is None:
            rows.append(Row(label="answer", text=plain(self.call.answer)))
        return rows

    def _label(self) -> str | None:
        if not self.call.approved:
            return None
        answer = self.call.answer
        return next((text for text, one in self._choices.items() if type(one) is type(answer) and one == answer), None)
