"""One row a call, one row an event: the two ways to read a journal."""

from typing import Any, Final

from hitl_nb.journal._filters import Filters, condition
from hitl_nb.journal._store import Store
from hitl_nb.journal._tables import COLUMNS

CALL_COLUMNS: Final = tuple(
    """
    id tool kind message outcome by via reason asked_at answered_at seconds args answer edited late thread run
    """.split()
)
"""The columns of a call (after those of Agno's approvals table, facts/peers.md §2)."""

KINDS: Final = ("approved", "edited", "declined", "expired", "other", "open")
"""How a call can stand; each is in exactly one."""

_CALLS: Final = """
    SELECT question.call, question.tool, question.kind, question.message,
        answer.outcome, answer.by, answer.via, answer.reason, question.ts, answer.ts, answer.latency_ms / 1000.0,
        question.args, answer.answer, answer.edited, coalesce(late.attempts, 0), question.thread, question.run
    FROM events AS question
    LEFT JOIN events AS answer ON answer.question = question.id AND answer.event = 'answered'
    LEFT JOIN (SELECT question, count(*) AS attempts FROM events WHERE event = 'late' GROUP BY question) AS late
        ON late.question = question.id
    WHERE question.event = 'asked' AND {where}
    ORDER BY question.id {order}
"""
_OF_A_CALL: Final = {
    "tool": "question.tool",
    "outcome": "coalesce(answer.outcome, 'open')",
    "by": "answer.by",
    "thread": "question.thread",
    "since": "question.ts",
}
_OF_AN_EVENT: Final = {"tool": "tool", "outcome": "outcome", "by": '"by"', "thread": "thread", "since": "ts"}


def calls(store: Store, filters: Filters, *, latest: int | None = None) -> list[tuple[Any, ...]]:
    """Give one row a call, in the order in which they were asked; with `latest` only so many, the newest first."""
    where = condition(filters, _OF_A_CALL)
    order = "" if latest is None else f"DESC LIMIT {latest}"
    return store.rows(_CALLS.format(where=where.sql, order=order), where.parameters)


def events(store: Store, filters: Filters) -> list[tuple[Any, ...]]:
    """Give one row an event, in order."""
    where = condition(filters, _OF_AN_EVENT)
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    return store.rows(f"SELECT {names} FROM events WHERE {where.sql} ORDER BY id", where.parameters)


def kind_of(call: dict[str, Any]) -> str:
    """Give the kind of a call: an approval with a changed proposal is an edit, whatever its card called it."""
    outcome = call["outcome"]
    if outcome is None:
        return "open"
    if outcome in ("answered", "edited"):
        return "edited" if outcome == "edited" or call["edited"] not in (None, "[]") else "approved"
    return outcome if outcome in KINDS else "other"
