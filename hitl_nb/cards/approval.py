"""A yes or no, with a hint of the risk and room for a reason."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from hitl_nb._calls import NOT_ACCEPTED, Call, accepted_as, proposal_of
from hitl_nb._schema import MISSING
from hitl_nb.cards._card import Card, Row, approved_headline, argument_rows, change_rows, value_of
from hitl_nb.errors import InvalidValue, ToolDefinitionError


class Approval(Card):
    """Shows what is to be approved, with Approve and Decline.

    The answer is True where the answer type is ``bool``, ``{"approved": True}`` (with the reason, if there is one)
    where it has that form or where there is none, and else the proposal itself. A no is never an answer: the call is
    declined.

    Args:
        call: The call.
        risk: Whether a mistake is cheap (``low``) or not (``high``); None says nothing.
        ask_reason: Whether the person may (``optional``) or must (``required``) say why; None asks for no reason.
        sample_ok: Whether a long table may be approved without its last page having been opened.
        one_key: Whether the keys Y and N, which stand on the buttons, answer at once; not where the risk is high or a
            reason is required.
    """

    module: ClassVar[str | Path] = "approval"
    style: ClassVar[str | Path | None] = "approval"
    confirm: ClassVar[str] = "Approve"

    def __init__(
        self,
        call: Call,
        *,
        risk: Literal["low", "high"] | None = None,
        ask_reason: Literal["optional", "required"] | None = None,
        sample_ok: bool = False,
        one_key: bool = False,
    ) -> None:
        super().__init__(call)
        if risk not in (None, "low", "high") or ask_reason not in (None, "optional", "required"):
            raise ToolDefinitionError(
                f"`Approval` knows no `risk={risk!r}, ask_reason={ask_reason!r}`. "
                'Write `render=partial(Approval, risk="high", ask_reason="required")`.'
            )
        if one_key and (risk == "high" or ask_reason == "required"):
            raise ToolDefinitionError(
                f"`Approval(risk={risk!r}, ask_reason={ask_reason!r})` is not answered by one key: a yes of high risk "
                "takes a second look, and a reason has to be written. Leave out `one_key=True`."
            )
        self.risk, self._ask_reason = risk, ask_reason
        self.sample_ok, self.one_key = sample_ok, one_key

    def props(self) -> dict[str, Any]:
        """Return the rows to read, the risk and whether there is a reason to give."""
        keys = {"keys": True} if self.one_key else {}
        return {"rows": self.context(), "risk": self.risk, "reason": self._ask_reason, **keys}

    def answer(self, value: Any) -> Any:
        """Return the yes in the form that the answer type takes.

        Raises:
            InvalidValue: It is no yes, the reason is missing, or the answer type takes none of these forms.
        """
        reason = self._reason_in(value)
        if self.call.answer_type is None:
            yes = {"approved": True} if reason is None else {"approved": True, "reason": reason}
            return yes if self.call.offer is MISSING else self.call.offer
        for form in self._forms(reason):
            accepted = accepted_as(self.call.answer_type, form)
            if accepted is not NOT_ACCEPTED:
                return accepted
        raise InvalidValue(
            f"A yes cannot answer `{self.call.name}`: it asks for something else. "
            f"Write `-> bool` on `{self.call.name}`, or another `render=`."
        )

    def _forms(self, reason: str | None) -> Iterator[Any]:
        yield True
        if reason is not None:
            yield {"approved": True, "reason": reason}
        yield {"approved": True}
        proposal = proposal_of(self.call)
        if proposal is not None:
            yield proposal.value

    def _reason_in(self, value: object) -> str | None:
        if not isinstance(value, Mapping) or value.get("approved") is not True:
            raise InvalidValue("The card sent no approval.")
        reason = value.get("reason")
        given = reason.strip() if isinstance(reason, str) and self._ask_reason is not None else ""
        if self._ask_reason == "required" and not given:
            raise InvalidValue("Say why: this approval needs a reason.")
        return given or None

    def decide(self, value: Any) -> bool:
        """Approve with what the browser sent.

        Raises:
            InvalidValue: As `answer`.
        """
        if self.was_changed():
            return False
        return self.call.respond(self.answer(value), reason=self._reason_in(value))

    def headline(self) -> str:
        """Return the decision; a no that came as an answer (from a rule, say) is a no."""
        answer = self.call.answer
        no = answer is False or value_of(answer, "approved") is False
        return "Answered: no" if no else approved_headline(self.call)

    def rows(self) -> Sequence[Row]:
        """Return what it was about, and what code has changed in it where code has answered."""
        return [*argument_rows(self.call), *change_rows(self.call)]
