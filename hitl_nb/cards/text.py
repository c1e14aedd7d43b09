"""A question that is answered in words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card
from hitl_nb.cards._text import visible
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
        """Give the rows to read and the box."""
        return {
            "rows": self.context(),
            "long": self._long,
            "placeholder": self._placeholder,
            "initial": self._initial,
        }

    def answer(self, value: Any) -> str:
        """Give the text of ``{"text": …}``.

        Raises:
            InvalidValue: There is none; an empty box is no answer.
        """
        text = value.get("text") if isinstance(value, Mapping) else None
        if not isinstance(text, str) or not text.strip():
            raise InvalidValue("Nothing is written yet. Write an answer, or decline.")
        # Left as it was, it is what it was, also where the box had to show it differently.
        return self._initial if text == visible(self._initial) else text

    def headline(self) -> str:
        """Give that there is an answer."""
        return "Answered"
