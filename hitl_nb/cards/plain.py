"""The view of a call without a card of its own, and of one whose card fails: read it, Confirm or Decline."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from hitl_nb._calls import confirmed, is_as_proposed
from hitl_nb._schema import readable
from hitl_nb.cards._card import Card, Row, answer_form_of, argument_rows, change_rows, row_props


class Plain(Card):
    """Shows all arguments, read-only. Confirm answers with what was proposed, exactly."""

    module: ClassVar[str | Path] = "plain"

    def props(self) -> dict[str, Any]:
        """Give one row an argument."""
        return {"rows": row_props(self.rows())}

    def answer(self, value: Any) -> Any:
        """Give the proposal itself as the answer, in the form that the answer type takes.

        Raises:
            InvalidValue: The tool asks for something that is not among its arguments (a text, a date): confirming
                cannot answer that.
        """
        return confirmed(self.call)

    def headline(self) -> str:
        """Give whether it was confirmed as proposed; else what was answered."""
        answer = self.call.answer
        if answer is None or answer is True or is_as_proposed(self.call):
            return "Confirmed"
        return f"Answered: {_compact(readable(answer, answer_form_of(self.call)))}"

    def rows(self) -> Sequence[Row]:
        """Give the arguments, one a row, and what code has changed in them where code has answered."""
        return [*argument_rows(self.call), *change_rows(self.call)]


def _compact(shown: Any) -> str:
    return shown if isinstance(shown, str) else json.dumps(shown, ensure_ascii=False)
