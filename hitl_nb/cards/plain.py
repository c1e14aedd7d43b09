"""The view of a tool without a card of its own: its arguments to read, Confirm and Decline."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel

from hitl_nb.cards._card import Card, Row, names_of, value_of
from hitl_nb.cards._text import plain
from hitl_nb.errors import InvalidValue

_LONG = 80
"""Characters from which on a text gets a box of its own; nothing is ever cut off."""


class Plain(Card):
    """Shows all arguments, read-only. Confirm answers with what was proposed, exactly."""

    module: ClassVar[str] = "plain"

    def props(self) -> dict[str, Any]:
        """Give one row an argument."""
        return {
            "rows": [
                {"label": row.label, "text": row.text, "long": len(row.text) > _LONG or "\n" in row.text}
                for row in self.rows()
            ]
        }

    def answer(self, value: Any) -> Any:
        """Give the proposal itself as the answer, in the form that the answer type takes.

        Raises:
            InvalidValue: The tool asks for something that is not among its arguments (a text, a date): confirming
                cannot answer that.
        """
        proposal = self.call.args if self.call.proposal is None else self.call.proposal
        if self.call.answer_type is None:
            return proposal
        for proposal in self._proposals():
            try:
                checked = self.call.answer_type.validate(proposal)
            except InvalidValue:
                continue
            # Never let a conversion invent an answer: the text "yes" must not become True.
            if type(checked) is type(proposal) and checked == proposal:
                return proposal
        raise InvalidValue(
            f"Confirm cannot answer `{self.call.name}`: it asks for something that is not among its arguments. "
            f"Answer in a cell with `session.pending[0].respond(...)`, or write "
            f"`@human_in_the_loop(render=...)` on `{self.call.name}`."
        )

    def _proposals(self) -> list[Any]:
        args = self.call.args
        fields = [value_of(args, name) for name in names_of(args)]
        # A single structured argument is the proposal; a single text is more likely the question.
        sole = [field for field in fields if isinstance(field, (list, Mapping, BaseModel))] if len(fields) == 1 else []
        return [args, *([] if self.call.proposal is None else [self.call.proposal]), *sole, True]

    def rows(self) -> Sequence[Row]:
        """Give the arguments, one a row."""
        args = self.call.args
        return [Row(label=name, text=plain(value_of(args, name))) for name in names_of(args)]
