"""What is asked of the table: which calls are open, what was decided about the others, and which part of it all.

Every SELECT of the journal stands here, so that another database has one place to be tried on.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypedDict, cast

from hitl_nb._calls import Kind, Outcome, Via
from hitl_nb.errors import UsageError
from hitl_nb.journal._payloads import column, erased_in_words, is_gone, whole
from hitl_nb.journal._store import Query, Row, Store, Value
from hitl_nb.journal._tables import COLUMNS, written

# -- a question, and what was decided about it ------------------------------------------------------------------------

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

    args: object
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

    is_gone: bool = False
    """Whether what it was about is not in the journal any more."""


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

    answer: object
    """The answer as JSON data, to be validated again; None unless somebody answered."""

    result: str
    """The tool message content."""

    reason: str | None
    """The words that came with it."""

    by: str | None
    """Who."""

    login: str | None
    """As whom the database knew whoever wrote it down: themselves, or who vouches for them; a file knows nobody."""

    via: Via
    """By which path."""

    at: datetime
    """When (aware, UTC)."""

    redacted: tuple[str, ...]
    """What lost a secret and so cannot be used in its place: ``answer``, ``result``."""

    edits: tuple[dict[str, object], ...]
    """What was changed in the proposal, as `Call.edits`."""

    kind: Kind
    """``tool``, ``interrupt`` or ``feedback``."""

    message: str
    """What was asked, in words."""

    args: object
    """What it was about, as JSON data."""

    args_sha256: str | None
    """The hash of the arguments' JSON text."""

    question: int
    """The row of the question."""

    occurrence: str | None
    """The first asking's own identity; None in a journal of version 0.1."""

    is_gone: bool = False
    """Whether what it was about, or what was answered, was erased: then it cannot be used in the place of an answer."""

    @property
    def approved(self) -> bool:
        """Whether a person or rule said yes."""
        return self.outcome in APPROVALS


QUESTION_COLUMNS: Final = f"""
    question.call, question.tool, question.kind, {column("question", "message")}, {column("question", "args")},
    {column("question", "arguments")}, question.run, question.ts, question.id, question.occurrence,
    {column("question", "args_sha256")}, {is_gone("question")}
"""
"""The columns of a row that `open_call` reads."""

_DECISION: Final = f"""
    answer.thread, answer.outcome, {column("answer", "answer")},
    coalesce({column("answer", "result")}, {column("answer", "answer")}), {column("answer", "reason")}, answer."by",
    answer.via, answer.ts, answer.redacted, {column("answer", "edited")}, answer.id, answer.login, {is_gone("answer")}
"""

OPEN_CALLS: Final = f"""
    SELECT {QUESTION_COLUMNS} FROM events AS question
    WHERE event = 'asked' AND thread = ?
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'answered' AND question = question.id)
    ORDER BY id
"""

_QUESTION_AND_ANSWER: Final = f"""
    SELECT {QUESTION_COLUMNS}, {_DECISION} FROM events AS question
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
    SELECT question, id FROM events AS kept
    WHERE event = 'remembered' AND key = ? AND {column("kept", "fingerprint")} = ? ORDER BY id DESC LIMIT 1
"""
"""The question whose decision was kept last, and the row that says so."""


_LATEST: Final = f"""
    SELECT id, {column("asked", "args_sha256")}, tool, {column("asked", "message")}, kind, EXISTS (
        SELECT 1 FROM events WHERE event = 'delivered' AND question = asked.id
    ) FROM events AS asked WHERE event = 'asked' AND call = ? {{thread}} ORDER BY id DESC LIMIT 1
"""
LATEST_IN_THREAD: Final = _LATEST.format(thread="AND thread = ?")
LATEST_ANYWHERE: Final = _LATEST.format(thread="")
"""The latest question with an id: its row, its content, and whether its answer was delivered."""

OCCURRENCE: Final = "SELECT question FROM events WHERE occurrence = ? LIMIT 1"
"""The question of one asking."""

EVENT_OF: Final = "SELECT 1 FROM events WHERE event = ? AND question = ?"
"""Whether something has happened to a question."""

IS_ASKED: Final = "SELECT 1 FROM events WHERE event = 'asked' AND thread = ? LIMIT 1"
"""Whether there is any question in a thread."""

HOW_MANY: Final = "SELECT count(*) FROM events WHERE event = 'asked'"

STARTED: Final = f"""
    SELECT started.id, started.ts, started.value, ended.id, {column("ended", "result")} FROM events AS started
    LEFT JOIN events AS ended ON ended.event = 'ended' AND ended.question = started.question
    WHERE started.event = 'started' AND started.question = ?
"""
"""The run that the decision about one question allowed."""

SAVED: Final = f"""
    SELECT id, {column("saved", "value")} FROM events AS saved
    WHERE event = 'thread_saved' AND thread = ? AND id > ? ORDER BY id
"""
"""The rows of a thread after a row id."""


class _Question(NamedTuple):
    """A row of `OPEN_CALLS`."""

    call: str
    tool: str
    kind: Kind | None
    message: str | None
    args: str | None
    arguments: str | None
    run: str | None
    ts: str
    id: int
    occurrence: str | None
    args_sha256: str | None
    is_gone: int


class _Decision(NamedTuple):
    """What a row of `DECISION_OF` has besides the question."""

    thread: str
    outcome: Outcome
    answer: str | None
    result: str | None
    reason: str | None
    by: str | None
    via: Via | None
    ts: str
    redacted: str | None
    edited: str | None
    id: int
    login: str | None
    is_gone: int


_WIDTH: Final = len(_Question._fields)


def open_call(row: Row) -> OpenCall:
    """Return the open call of a row of `OPEN_CALLS` (or of `UNDELIVERED`, if its answer is not believed)."""
    asked = _Question._make(row[:_WIDTH])
    return OpenCall(
        id=asked.call,
        tool=asked.tool,
        kind=asked.kind or "tool",
        message=asked.message or "",
        args=None if asked.args is None else json.loads(asked.args),
        arguments=asked.arguments or asked.args or "{}",
        run=asked.run,
        asked_at=datetime.fromisoformat(asked.ts),
        question=asked.id,
        occurrence=asked.occurrence,
        args_sha256=asked.args_sha256,
        is_gone=bool(asked.is_gone),
    )


def rows_behind(row: Row) -> tuple[int, int]:
    """Return the ids of question and answer of a row of `DECISION_OF` and its like."""
    return _Question._make(row[:_WIDTH]).id, _Decision._make(row[_WIDTH:]).id


def stored_decision(row: Row) -> StoredDecision:
    """Return the decision of a row of `DECISION_OF` and its like."""
    asked, decided = open_call(row), _Decision._make(row[_WIDTH:])
    is_gone = asked.is_gone or bool(decided.is_gone)
    return StoredDecision(
        call=asked.id,
        tool=asked.tool,
        thread=decided.thread,
        outcome=decided.outcome,
        answer=None if decided.answer is None else json.loads(decided.answer),
        result=decided.result or "",
        reason=decided.reason,
        by=decided.by,
        login=decided.login,
        via=decided.via or "session",
        at=datetime.fromisoformat(decided.ts),
        # What was erased cannot be used either.
        redacted=("answer", "result") if is_gone else tuple(json.loads(decided.redacted or "[]")),
        edits=tuple(json.loads(decided.edited or "[]")) if decided.outcome == "edited" else (),
        kind=asked.kind,
        message=asked.message,
        args=asked.args,
        args_sha256=asked.args_sha256,
        question=asked.question,
        occurrence=asked.occurrence,
        is_gone=is_gone,
    )


def believed_decision(store: Store, query: Query, question: int | None, *also: int) -> StoredDecision | None:
    """Return what was decided about a question, if nobody has touched that, or the rows `also`, since."""
    found = query(DECISION_OF, (question,))
    if not found or not store.believes(query, (*rows_behind(found[0]), *also)):
        return None
    return stored_decision(found[0])


def recalled(store: Store, key: str | None, found_by: str | None) -> StoredDecision | None:
    """Return the decision that was kept last under a key; None if it has lost a secret."""

    def found(query: Query) -> StoredDecision | None:
        for row in query(RECALLED, (key, found_by)):
            question, kept = cast("tuple[int, int]", row)
            decision = believed_decision(store, query, question, kept)
            return None if decision is None or "answer" in decision.redacted else decision
        return None

    return store.read(found)


# -- which part: `tool=`, `outcome=`, `by=`, `thread=`, `since=`, the same everywhere ---------------------------------


class Filters(TypedDict, total=False):
    """What to take; each is one value or several, and all that are given have to fit."""

    tool: str | Iterable[str] | None
    """The tool's name."""

    outcome: str | Iterable[str] | None
    """How it ended; ``open`` for calls without a decision."""

    by: str | Iterable[str] | None
    """Who decided."""

    thread: str | Iterable[str] | None
    """The conversation."""

    since: datetime | timedelta | str | None
    """What was asked at this time or later: a datetime (naive: local), an ISO text, or a timedelta back from now."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Filters as SQL."""

    sql: str
    parameters: tuple[Value, ...]


def condition(filters: Filters, columns: dict[str, str]) -> Condition:
    """Return the SQL condition of `filters`.

    Args:
        filters: What the user wrote.
        columns: Filter → the SQL expression that it is compared with.

    Raises:
        UsageError: A filter that there is not, or a `since` that is no time.
    """
    unknown = filters.keys() - columns.keys()
    if unknown:
        known = ", ".join(f"`{name}=`" for name in columns)
        raise UsageError(f"The journal has no filter `{min(unknown)}=`. Write one of {known}.")
    parts: list[str] = []
    parameters: list[Value] = []
    for name, value in filters.items():
        if value is None:
            continue
        if name == "since":
            parts.append(f"{columns[name]} >= ?")
            parameters.append(_moment(value))
        else:
            wanted = [value] if isinstance(value, str) else list(cast("Iterable[str]", value))
            # An empty list fits nothing.
            parts.append(f"{columns[name]} IN ({', '.join('?' * len(wanted))})" if wanted else "1 = 0")
            parameters += wanted
    return Condition(sql=" AND ".join(parts) or "1 = 1", parameters=tuple(parameters))


def _moment(value: object) -> str:
    try:
        if isinstance(value, timedelta):
            return written(datetime.now(UTC) - value)
        # A naive time is the clock on the wall of whoever asks.
        return written(value if isinstance(value, datetime) else datetime.fromisoformat(str(value)))
    except ValueError as error:
        raise UsageError(
            f'`since={value!r}` is no time. Write `since="2026-01-31"` or `since=timedelta(days=7)`.'
        ) from error


# -- one row a call, one row an event: the two ways to read a journal -------------------------------------------------

CALL_COLUMNS: Final = tuple(
    """
    id tool kind message outcome by via reason asked_at answered_at seconds args answer edited late thread run
    """.split()
)
"""The columns of a call, called as in the approvals table of Agno wherever that has them."""

KINDS: Final = ("approved", "edited", "declined", "expired", "cancelled", "other", "open")
"""How a call can stand; each is in exactly one."""

_ERASED: Final = """'"erased"'"""
"""What stands in the place of a JSON text that was erased."""

_CALLS: Final = f"""
    SELECT question.call, question.tool, question.kind,
        CASE {is_gone("question")} WHEN 1 THEN {erased_in_words("question")} ELSE {column("question", "message")} END,
        answer.outcome, answer.by, answer.via,
        CASE {is_gone("answer")} WHEN 1 THEN {erased_in_words("answer")} ELSE {column("answer", "reason")} END,
        question.ts, answer.ts, answer.latency_ms / CAST(1000 AS double precision),
        CASE {is_gone("question")} WHEN 1 THEN {_ERASED} ELSE {column("question", "args")} END,
        CASE {is_gone("answer")} WHEN 1 THEN {_ERASED} ELSE {column("answer", "answer")} END,
        {column("answer", "edited")}, coalesce(late.attempts, 0), question.thread, question.run
    FROM events AS question
    LEFT JOIN events AS answer ON answer.question = question.id AND answer.event = 'answered'
    LEFT JOIN (SELECT question, count(*) AS attempts FROM events WHERE event = 'late' GROUP BY question) AS late
        ON late.question = question.id
    WHERE question.event = 'asked' AND {{where}}
    ORDER BY question.id {{order}}
"""
_OF_A_CALL: Final = {
    "tool": "question.tool",
    "outcome": "coalesce(answer.outcome, 'open')",
    "by": "answer.by",
    "thread": "question.thread",
    "since": "question.ts",
}
_OF_AN_EVENT: Final = {"tool": "tool", "outcome": "outcome", "by": '"by"', "thread": "thread", "since": "ts"}


class CallRow(TypedDict):
    """A call as `CALL_COLUMNS` has it; JSON as text, times as stored."""

    id: str
    tool: str
    kind: str
    message: str | None
    outcome: str | None
    by: str | None
    via: str | None
    reason: str | None
    asked_at: str
    answered_at: str | None
    seconds: float | None
    args: str
    answer: str | None
    edited: str | None
    late: int
    thread: str
    run: str | None


def find_calls(store: Store, filters: Filters, *, latest: int | None = None) -> list[Row]:
    """Return one row a call, in the order in which they were asked; with `latest` only so many, the newest first."""
    where = condition(filters, _OF_A_CALL)
    order = "" if latest is None else f"DESC LIMIT {latest}"
    return store.rows(_CALLS.format(where=where.sql, order=order), where.parameters)


def call_rows(store: Store, filters: Filters, *, latest: int | None = None) -> list[CallRow]:
    """Return the same, each as a dict."""
    rows = find_calls(store, filters, latest=latest)
    return [cast("CallRow", dict(zip(CALL_COLUMNS, row, strict=True))) for row in rows]


def find_events(store: Store, filters: Filters) -> list[Row]:
    """Return one row an event, in order."""
    where = condition(filters, _OF_AN_EVENT)
    names = ", ".join(f'"{name}"' for name in COLUMNS)
    rows = store.rows(f"SELECT {names} FROM events WHERE {where.sql} ORDER BY id", where.parameters)
    return list(whole(rows, COLUMNS, store.rows))


def kind_of(call: CallRow) -> str:
    """Return the kind of a call: an approval with a changed proposal is an edit, whatever its card called it."""
    outcome = call["outcome"]
    if outcome is None:
        return "open"
    if outcome in ("answered", "edited"):
        return "edited" if outcome == "edited" or call["edited"] not in (None, "[]") else "approved"
    return outcome if outcome in KINDS else "other"
