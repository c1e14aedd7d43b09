"""A yes or no: to one question, with a hint of the risk and room for a reason; or to many of a kind, as one table.

In the table each question is read, ticked or left, and stays a question of its own. Which they are is frozen when it is
drawn: what is asked later is not in it. Nothing is ticked beforehand, and what is of high risk stands apart and is
ticked one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from hitl_nb._calls import NOT_ACCEPTED, Call, accepted_as, confirmed, proposal_of
from hitl_nb._schema import MISSING
from hitl_nb._text import visible
from hitl_nb.cards._card import Card, Plain, Row, approved_headline, argument_rows, change_rows, row_props, value_of
from hitl_nb.cards._record import title_of
from hitl_nb.cards._registry import card_of
from hitl_nb.cards.form import Form
from hitl_nb.cards.step_review import StepReview
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


# -- many at once -----------------------------------------------------------------------------------------------------


def answer_of_yes(call: Call) -> Any:
    """Return what a plain Confirm on a call's own card answers with.

    Raises:
        InvalidValue: It takes more than a yes: a reason, words, a look at all pages, a card of another kind.
    """
    card = card_of(call)
    if isinstance(card, Approval):
        answer = card.answer({"approved": True})
    elif type(card) is Form or type(card) is StepReview or isinstance(card, Plain):
        answer = confirmed(call)
    else:
        raise InvalidValue(f"`{call.name}` is decided at its own card.")
    card.context()  # which finds out whether there are pages that nobody has opened
    card.check_read()
    return answer


class BatchReview(Card):
    """Open questions as a table, one a row; the answer says which are approved and which declined.

    Args:
        call: The question about all of them.
        calls: The open calls, as they are now.
    """

    module: ClassVar[str | Path] = "batch_review"
    style: ClassVar[str | Path | None] = "batch_review"
    confirm: ClassVar[str] = "Decide"
    decline: ClassVar[str | None] = "Leave all open"

    def __init__(self, call: Call, *, calls: Sequence[Call]) -> None:
        super().__init__(call)
        self.calls = list(calls)
        self._why = {each.occurrence: _why_not(each) for each in self.calls}

    def props(self) -> dict[str, Any]:
        """Give the questions: those of high risk first and apart, then the others by what they are called."""
        return {"groups": [self._group(*each) for each in self._groups()]}

    def _groups(self) -> Iterator[tuple[str, bool, list[Call]]]:
        for high in (True, False):
            names = dict.fromkeys(call.name for call in self.calls if self._is_high(call) is high)
            for name in names:
                yield name, high, [call for call in self.calls if call.name == name and self._is_high(call) is high]

    def _is_high(self, call: Call) -> bool:
        return card_of(call).risk == "high"

    def _group(self, name: str, high: bool, calls: Sequence[Call]) -> dict[str, Any]:
        rows = [(call, self._cells(call)) for call in calls]
        columns = list(dict.fromkeys(label for _, cells in rows for label in cells))
        return {
            "title": visible(title_of(name)),
            "high": high,
            "columns": columns,
            "rows": [
                {
                    "id": call.occurrence,
                    "cells": [cells.get(column) for column in columns],
                    "why": self._why[call.occurrence],
                }
                for call, cells in rows
            ],
        }

    def _cells(self, call: Call) -> dict[str, Any]:
        """What a question is about, by what it is called; its words where they are not those of its tool."""
        asked = [Row(label="question", text=call.message)] if call.kind != "tool" and call.message else []
        props = row_props([*asked, *argument_rows(call, page=lambda path, last: 0)])
        return {row["label"] or "value": row for row in props}

    def answer(self, value: Any) -> dict[str, list[str]]:
        """Give which are approved and which declined; all others stay open.

        Raises:
            InvalidValue: None is, or one that is not in the table, or that takes more than a yes.
        """
        chosen = value if isinstance(value, Mapping) else {}
        approve, decline = (list(map(str, chosen.get(word) or [])) for word in ("approve", "decline"))
        if not approve and not decline:
            raise InvalidValue("Approve or decline at least one of them, or leave all open.")
        if len({*approve, *decline}) != len(approve) + len(decline) or not {*approve, *decline} <= self._why.keys():
            raise InvalidValue("The card sent questions that are not in it.")
        if needs := [each for each in approve if self._why[each]]:
            raise InvalidValue(f"{self._why[needs[0]]} It can only be declined here.")
        return {"approve": approve, "decline": decline}

    def headline(self) -> str:
        """Give how many were approved and declined."""
        counts = {word: len(self.call.answer[word]) for word in ("approve", "decline")}
        left = len(self.calls) - sum(counts.values())
        said = [
            f"approved {counts['approve']}",
            f"declined {counts['decline']}",
            *([f"left {left} open"] if left else []),
        ]
        return f"Of {len(self.calls)} questions: {', '.join(said)}"

    def rows(self) -> Sequence[Row]:
        """Give each question with what was decided about it."""
        answer = self.call.answer if self.call.approved else {"approve": [], "decline": []}
        marks = {**dict.fromkeys(answer["approve"], "on"), **dict.fromkeys(answer["decline"], "off")}
        said = {"on": "approved", "off": "declined"}
        rows = []
        for call in self.calls:
            mark: Any = marks.get(call.occurrence, "")
            about = "; ".join(f"{row.label}: {row.text}" if row.label else row.text for row in argument_rows(call))
            asked = call.message if call.kind != "tool" and call.message else title_of(call.name)
            text = f"{asked}: {about}" if about else asked
            rows.append(Row(label=said.get(mark, "left open"), text=text, mark=mark))
        return rows


def _why_not(call: Call) -> str:
    try:
        answer_of_yes(call)
    except Exception as error:  # a card that cannot be drawn is not approved unseen, either
        return f"{title_of(call.name)} takes more than a yes: {error}"
    return ""
