"""Reading back: which calls are open, and what was decided about the others."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hitl_nb._calls import Kind, Outcome, Via

APPROVALS: Final[tuple[Outcome, ...]] = ("answered", "edited")
"""The only outcomes that are a yes."""


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    """A question that nobody has answered yet."""

    id: str
    """The call's id on the wire."""

    tool: str
    """The tool's name."""

    kind: Kind
    """``tool``, ``interrupt`` or ``feedback``."""

    message: str
    """What is asked, in words."""

    args: Any
    """The validated arguments as JSON data."""

    arguments: str
    """The arguments as JSON text, as the model wrote them (with stars for secrets)."""

    run: str | None
    """The run it belongs to."""

    asked_at: datetime
    """When it was asked first (aware, UTC)."""

    question: int
    """The row of the question."""

    occurrence: str | None
    """The first asking's own identity; None in a journal of version 0.1."""

    args_sha256: str | None
    """The hash of the arguments' JSON text."""


@dataclass(frozen=True, kw_only=True)
class StoredDecision:
    """A decision as the journal has it."""

    call: str
    """The call's id on the wire."""

    tool: str
    """The tool's name."""

    thread: str
    """The conversation."""

    outcome: Outcome
    """``answered``, ``declined``, …; only ``answered`` and ``edited`` are approvals."""

    answer: Any
    """The answer as JSON data, to be validated again; None unless somebody answered."""

    result: str
    """The tool message content."""

    reason: str | None
    """The words that came with it."""

    by: str | None
    """Who."""

    via: Via
    """By which path."""

    at: datetime
    """When (aware, UTC)."""

    redacted: tuple[str, ...]
    """What lost a secret and so cannot be used in its place: ``answer``, ``result``."""

    edits: tuple[dict[str, Any], ...]
    """What was changed in the proposal, as `Call.edits`."""

    kind: Kind
    """``tool``, ``interrupt`` or ``feedback``."""

    message: str
    """What was asked, in words."""

    args: Any
    """What it was about, as JSON data."""

    args_sha256: str | None
    """The hash of the arguments' JSON text."""

    question: int
    """The row of the question."""

    occurrence: str | None
    """The first asking's own identity; None in a journal of version 0.1."""

    @property
    def approved(self) -> bool:
        """Whether a person or rule said yes."""
        return self.outcome in APPROVALS


_QUESTION: Final = """
    question.call, question.tool, question.kind, question.message, question.args, question.arguments, question.run,
    question.ts, question.id, question.occurrence, question.args_sha256
"""
_DECISION: Final = """
    answer.thread, answer.outcome, answer.answer, coalesce(answer.result, answer.answer), answer.reason, answer."by",
    answer.via, answer.ts, answer.redacted, answer.edited, answer.id
"""

OPEN_CALLS: Final = f"""
    SELECT {_QUESTION} FROM events AS question
    WHERE event = 'asked' AND thread = ?
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'answered' AND question = question.id)
    ORDER BY id
"""

_QUESTION_AND_ANSWER: Final = f"""
    SELECT {_QUESTION}, {_DECISION} FROM events AS question
    JOIN events AS answer ON answer.question = question.id AND answer.event = 'answered'
"""

UNDELIVERED: Final = f"""
    {_QUESTION_AND_ANSWER} WHERE question.event = 'asked' AND question.thread = ?
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'delivered' AND question = question.id)
    ORDER BY answer.id
"""

DECISION_OF: Final = f"{_QUESTION_AND_ANSWER} WHERE question.id = ?"
"""The decision about one question."""

RECALLED: Final = """
    SELECT question, id FROM events
    WHERE event = 'remembered' AND key = ? AND fingerprint = ? ORDER BY id DESC LIMIT 1
"""
"""The question whose decision was kept last, and the row that says so."""

_WIDTH: Final = 11
"""Columns of a question."""


def open_call(row: tuple[Any, ...]) -> OpenCall:
    """Give the open call of a row of `OPEN_CALLS` (or of `UNDELIVERED`, if its answer is not believed)."""
    call, tool, kind, message, args, arguments, run, ts, question, occurrence, args_sha256 = row[:_WIDTH]
    return OpenCall(
        id=call,
        tool=tool,
        kind=kind or "tool",
        message=message or "",
        args=json.loads(args),
        arguments=arguments or args,
        run=run,
        asked_at=datetime.fromisoformat(ts),
        question=question,
        occurrence=occurrence,
        args_sha256=args_sha256,
    )


def rows_of(row: tuple[Any, ...]) -> tuple[int, int]:
    """Give the ids of question and answer of a row of `DECISION_OF` and its like."""
    return row[8], row[-1]


def stored_decision(row: tuple[Any, ...]) -> StoredDecision:
    """Give the decision of a row of `DECISION_OF` and its like."""
    asked = open_call(row)
    thread, outcome, answer, result, reason, by, via, ts, redacted, edited, _ = row[_WIDTH:]
    return StoredDecision(
        call=asked.id,
        tool=asked.tool,
        thread=thread,
        outcome=outcome,
        answer=None if answer is None else json.loads(answer),
        result=result or "",
        reason=reason,
        by=by,
        via=via or "session",
        at=datetime.fromisoformat(ts),
        redacted=tuple(json.loads(redacted or "[]")),
        edits=tuple(json.loads(edited or "[]")) if outcome == "edited" else (),
        kind=asked.kind,
        message=asked.message,
        args=asked.args,
        args_sha256=asked.args_sha256,
        question=asked.question,
        occurrence=asked.occurrence,
    )
