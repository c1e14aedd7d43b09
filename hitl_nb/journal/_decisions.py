"""Reading back: which calls are open, and what was decided about the others."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from hitl_nb._calls import Kind, Outcome, Via


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

    @property
    def approved(self) -> bool:
        """Whether a person or rule said yes."""
        return self.outcome in ("answered", "edited")


OPEN_CALLS: Final = """
    SELECT call, tool, kind, message, args, arguments, run, ts FROM events AS question
    WHERE event = 'asked' AND thread = ?
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'answered' AND question = question.id)
    ORDER BY id
"""

_DECISION: Final = (
    "answer.call, answer.tool, answer.thread, answer.outcome, answer.answer, coalesce(answer.result, answer.answer), "
    "answer.reason, answer.by, answer.via, answer.ts, answer.redacted"
)
_QUESTION_AND_ANSWER: Final = f"""
    SELECT {_DECISION} FROM events AS question
    JOIN events AS answer ON answer.question = question.id AND answer.event = 'answered'
"""

UNDELIVERED: Final = f"""
    {_QUESTION_AND_ANSWER} WHERE question.event = 'asked' AND question.thread = ?
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'delivered' AND question = question.id)
    ORDER BY answer.id
"""

DECISION_OF: Final = f"{_QUESTION_AND_ANSWER} WHERE question.id = ?"
"""The decision about one question."""

RECALLED: Final = f"""
    SELECT {_DECISION} FROM events AS kept
    JOIN events AS answer ON answer.question = kept.question AND answer.event = 'answered'
    WHERE kept.event = 'remembered' AND kept.key = ? AND kept.fingerprint = ? ORDER BY kept.id DESC LIMIT 1
"""


def open_call(row: tuple[Any, ...]) -> OpenCall:
    """Give the open call of a row of `OPEN_CALLS`."""
    call, tool, kind, message, args, arguments, run, ts = row
    return OpenCall(
        id=call,
        tool=tool,
        kind=kind or "tool",
        message=message or "",
        args=json.loads(args),
        arguments=arguments or args,
        run=run,
        asked_at=datetime.fromisoformat(ts),
    )


def stored_decision(row: tuple[Any, ...]) -> StoredDecision:
    """Give the decision of a row of `DECISION_OF` and its like."""
    call, tool, thread, outcome, answer, result, reason, by, via, ts, redacted = row
    return StoredDecision(
        call=call,
        tool=tool,
        thread=thread,
        outcome=outcome,
        answer=None if answer is None else json.loads(answer),
        result=result or "",
        reason=reason,
        by=by,
        via=via or "session",
        at=datetime.fromisoformat(ts),
        redacted=tuple(json.loads(redacted or "[]")),
    )
