"""The one table on disk, the chain that links its rows, and whether they are what was written.

One row an event; the columns that an event has no use for are NULL. Everything else (which calls are open, what was
answered but never reached the model) is a question to this table, so there is nothing that could disagree with it.

Each row carries the hash of the row before it, so a change anywhere breaks every link after it. A row's ``sha256`` is
that of the UTF-8 text of the JSON object of its columns, in the order of the table, without those that are NULL and
without ``sha256`` itself; compact, non-ASCII kept. The first ``prev_sha256`` is 64 zeros. So anybody can check a file
with a dozen lines of any language, and a later version may add columns without touching the hashes of old rows.

A chain proves order and content, not origin: who can write the file can also cut off its end, or forge a whole new
chain. Against that a head is kept elsewhere: every notebook keeps some by itself, in the metadata of its outputs
(``journal.verify(notebook=...)``); in a commit or a mail it is safe also from who can write the notebook
(``journal.verify(head=...)``).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Final, cast

from pydantic_core import PydanticSerializationError, to_json

from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._payloads import BLOBS, GUARDED_BLOBS, Payloads
from hitl_nb.journal._store import Query, Row, Value

VERSION: Final = 7
"""The version of the tables below."""

COLUMNS: Final = tuple(
    """
    id ts event question thread run call tool kind message args arguments args_sha256 schema_sha256
    answer edited outcome by via reason result latency_ms redacted value key fingerprint prev_sha256 sha256
    occurrence login payload
    """.split()
)
"""In the order that is hashed; a new version may only append to them (see `_chain`). Integers and texts only."""

_TYPES: Final = {"id": "INTEGER PRIMARY KEY", "question": "INTEGER", "latency_ms": "INTEGER"}
_REQUIRED: Final = frozenset({"ts", "event", "thread", "prev_sha256", "sha256"})


def _column(name: str) -> str:
    return f'"{name}" {_TYPES.get(name, "TEXT")}{" NOT NULL" if name in _REQUIRED else ""}'


_ONCE_A_QUESTION: Final = (
    "CREATE UNIQUE INDEX one_start ON events(question) WHERE event = 'started'",
    "CREATE UNIQUE INDEX one_end ON events(question) WHERE event = 'ended'",
)
_OCCURRENCES: Final = "CREATE INDEX occurrences ON events(occurrence) WHERE occurrence IS NOT NULL"

# `REPLACE` deletes without firing a DELETE trigger.
_NO_REPLACE: Final = (
    "CREATE TRIGGER no_replace BEFORE INSERT ON events WHEN EXISTS (SELECT 1 FROM events WHERE id = new.id) "
    "BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END"
)

FOUND_AGAIN: Final = (
    "CREATE INDEX found_again ON events(fingerprint) WHERE event = 'asked' AND fingerprint IS NOT NULL",
    "CREATE INDEX of_job ON events(key) WHERE event = 'asked' AND fingerprint IS NOT NULL",
    "CREATE UNIQUE INDEX one_refusal ON events(question) WHERE event = 'refused'",
)
"""From version 2 to 3: questions that outlive who asked them."""

WAITING: Final = (
    "DROP TABLE IF EXISTS waiting",
    """
    CREATE TABLE waiting (question BIGINT PRIMARY KEY, posted BIGINT NOT NULL, recipient TEXT NOT NULL,
        risk INTEGER NOT NULL, expires TEXT, widens TEXT, wider TEXT, assigned TEXT, claimed TEXT, claimed_until TEXT)
    """,
    "CREATE INDEX riskiest ON waiting(risk DESC, question)",
)
"""From version 3 to 4: what is open, and for whom.

It is kept in the transactions of the events, and all but who has claimed what can be made from them (`waits`): of
200,000 questions the oldest that are open are found as of 2,000 (half a second otherwise).
"""

LOGINS: Final = ('ALTER TABLE events ADD COLUMN "login" TEXT',)
"""From version 4 to 5: as whom a row's writer was known to the database; a file knows nobody."""

PAYLOADS: Final = ('ALTER TABLE events ADD COLUMN "payload" TEXT', *BLOBS)
"""From version 6 to 7: what is large or personal stands apart, and can be erased."""

BESIDE_QUESTIONS: Final = (
    "CREATE INDEX postings ON events(question) WHERE event = 'posted'",
    "CREATE INDEX tellings ON events(question) WHERE event = 'telling'",
)
"""From version 5 to 6: what is written of a question beside its answer is found by the question."""

OPEN_POSTINGS: Final = """
    SELECT posted.question, max(posted.id) FROM events AS posted WHERE posted.event = 'posted' AND NOT EXISTS (
        SELECT 1 FROM events WHERE event IN ('answered', 'refused') AND question = posted.question
    ) GROUP BY posted.question
"""

WAITS: Final = """
    INSERT INTO waiting (question, posted, recipient, risk, expires, widens, wider) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (question) DO UPDATE SET posted = excluded.posted, recipient = excluded.recipient,
        risk = excluded.risk, expires = excluded.expires, widens = excluded.widens, wider = excluded.wider
"""
NO_LONGER_WAITS: Final = "DELETE FROM waiting WHERE question = ?"
CLOSES: Final = frozenset({"answered", "refused"})
"""What ends a question's waiting."""

_RISKS: Final = {"high": 2, "low": 0}
"""What is said of neither stands between them."""


def waits(question: Value, posted: int, about: str) -> tuple[Value, ...]:
    """Return the row of an open question.

    Args:
        question: Its row.
        posted: The row that puts it to people elsewhere.
        about: What that says of it.
    """
    said = json.loads(about)
    options = (said.get("card") or {}).get("options", {})
    risk = _RISKS.get(str(said.get("risk") or options.get("risk")), 1)
    return (question, posted, said["to"], risk, said.get("expires"), said.get("widens"), said.get("wider"))


# Partial indices: each event pays only for its own, and "what is open" stays a look-up however long the file (34 ms
# against 5 µs at 100,000 rows).
INDICES: Final = (
    "CREATE UNIQUE INDEX one_answer ON events(question) WHERE event = 'answered'",
    "CREATE UNIQUE INDEX one_delivery ON events(question) WHERE event = 'delivered'",
    *_ONCE_A_QUESTION,
    "CREATE INDEX questions ON events(thread, call) WHERE event = 'asked'",
    _OCCURRENCES,
    "CREATE INDEX late_answers ON events(question) WHERE event = 'late'",
    "CREATE INDEX saved_threads ON events(thread) WHERE event = 'thread_saved'",
    "CREATE INDEX remembered ON events(key, fingerprint) WHERE event = 'remembered'",
    *FOUND_AGAIN,
    *WAITING,
    *BESIDE_QUESTIONS,
    *BLOBS,
)
"""``one_answer`` makes the first answer win between processes, ``one_start`` makes what was approved run once."""

CREATE: Final = (
    f"CREATE TABLE events ({', '.join(map(_column, COLUMNS))})",
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL, since TEXT NOT NULL)",
    *INDICES,
    # Against accidents; against intent there is the chain.
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    _NO_REPLACE,
    *GUARDED_BLOBS,
)
"""A new SQLite file; another database makes its own, and takes the indices."""

GUARDS: Final = "'no_update', 'no_delete', 'no_replace'"
"""The names of these triggers, as SQL."""

OCCURRENCES: Final = ('ALTER TABLE events ADD COLUMN "occurrence" TEXT', *_ONCE_A_QUESTION, _OCCURRENCES, _NO_REPLACE)
"""From version 1 to 2. The column stands last and is NULL in old rows, so their hashes stay as they are."""

INSERT: Final = f"INSERT INTO events VALUES ({', '.join('?' * len(COLUMNS))})"
"""All columns, in order: one text, so that SQLite prepares it once."""


def newer_tables(version: int) -> JournalError:
    """Return what is raised where the tables are of a version that is not known yet."""
    return JournalError(
        f"This journal was written by a newer hitl_nb (tables of version {version}, this one knows {VERSION}). "
        "Write `pip install -U hitl-nb` and restart the kernel."
    )


# -- times ---


def now() -> str:
    """Return the time as it is stored: ISO 8601, UTC, microseconds."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Return an aware datetime as it is stored; texts of this form sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


# -- the chain --------------------------------------------------------------------------------------------------------

CHUNK: Final = 1000
"""Rows that are read at once."""

_LINK: Final = 3
"""Columns of a row of which only the link is known."""

START: Final = "0" * 64
"""What the first row names as the hash of the row before it."""

ID: Final = COLUMNS.index("id")
QUESTION: Final = COLUMNS.index("question")
PREVIOUS: Final = COLUMNS.index("prev_sha256")
SHA256: Final = COLUMNS.index("sha256")
VALUE: Final = COLUMNS.index("value")
PAYLOAD: Final = COLUMNS.index("payload")


def digest(row: Sequence[object]) -> str:
    """Return the hash of a row, whose values stand in the order of `COLUMNS` (``sha256`` itself does not count)."""
    content = {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}
    content.pop("sha256", None)
    return sha256(to_json(content)).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `Journal.verify` found."""

    ok: bool
    """Whether every row is as it was written."""

    rows: int
    """How many rows were found good."""

    head: str
    """The hash of the last good row: keep it elsewhere to prove later that nothing before it was touched."""

    bad_row: int | None = None
    """The id of the first row that is wrong."""

    what: str = ""
    """What is wrong with it, in words."""

    heads: int = 0
    """How many hashes that were kept elsewhere were found in the chain."""

    erased: tuple[str, ...] = ()
    """The questions whose payloads were erased, when and by whom."""

    hidden: int = 0
    """Of how many rows only the link was followed: the database does not show this login what they say."""

    def __str__(self) -> str:
        if self.ok:
            kept = f", {self.heads} kept {'head' if self.heads == 1 else 'heads'} found" if self.heads else ""
            erased = f", {len(self.erased)} {'question' if len(self.erased) == 1 else 'questions'} erased"
            hidden = f", {self.hidden} of them not shown to this login"
            more = f"{hidden if self.hidden else ''}{erased if self.erased else ''}"
            return f"ok: {self.rows} rows{more}, head {self.head[:12]}…{kept}"
        where = "the end" if self.bad_row is None else f"row {self.bad_row}"
        return f"NOT ok at {where}: {self.what}"


def verified(rows: Iterable[Row], heads: Mapping[str, str], query: Query) -> Verification:
    """Follow the chain through all rows in the order of their ids.

    Args:
        rows: Tuples as `COLUMNS` orders them; of those that this login is not shown, id and both hashes.
        heads: Hashes that were kept elsewhere and where; they must be in the chain.
        query: Finds what stands apart from the rows.
    """
    last_id, last, missing = 0, START, {head: where for head, where in heads.items() if head != START}
    payloads, apart, hidden = Payloads(query), list[tuple[int, int, str]](), 0
    for row in rows:
        what = fault(row, last_id, last)
        if what:
            return Verification(ok=False, rows=last_id, head=last, bad_row=cast("int", row[ID]), what=what)
        last_id, last = link(row)
        missing.pop(last, None)
        hidden += is_hidden(row)
        if not is_hidden(row) and row[PAYLOAD] is not None:
            apart.append((last_id, cast("int", row[QUESTION]), str(row[PAYLOAD])))
        if len(apart) == CHUNK:
            payloads.look(apart)
            apart = []
    payloads.look(apart)
    bad_row, what = payloads.end()
    if what:
        return Verification(ok=False, rows=last_id, head=last, bad_row=bad_row, what=what)
    if missing:
        (head, where), more = next(iter(missing.items())), len(missing) - 1
        others = f" (and {more} more)" if more else ""
        what = (
            f"no row has the hash {head!r}{where}{others}: rows were cut off, the whole chain was written anew, or it "
            "is that of another journal"
        )
        return Verification(ok=False, rows=last_id, head=last, what=what)
    erased = tuple(f"question {question}: {words}" for question, words in payloads.erased.items())
    return Verification(ok=True, rows=last_id, head=last, heads=len(heads), erased=erased, hidden=hidden)


def is_hidden(row: Row) -> bool:
    """Whether only the link of a row is known: id, the hash before, its own."""
    return len(row) == _LINK


def hidden_links(query: Query, after: int, before: int | None) -> list[Row]:
    """Return the links of rows that the database does not show this login.

    Args:
        query: Reads the database.
        after: The row before them.
        before: The row after them; None: to the end.
    """
    sql, parameters = "SELECT id, prev_sha256, sha256 FROM chain WHERE id > ?", (after,)
    if before is None:
        return query(f"{sql} ORDER BY id", parameters)
    return query(f"{sql} AND id < ? ORDER BY id", (*parameters, before))


def followed_through(rows: Iterable[Row], query: Query, after: int = 0) -> Iterator[Row]:
    """Iterate over rows, and over the links of those before and between them that are not shown.

    Args:
        rows: In the order of their ids.
        query: Reads the database.
        after: The row before the first.
    """
    for row in rows:
        if row[ID] != after + 1:
            yield from hidden_links(query, after, cast("int", row[ID]))
        yield row
        after = cast("int", row[ID])


def linked_to_the_end(rows: Iterable[Row], query: Query) -> Iterator[Row]:
    """Iterate over all rows, and over the links of those that are not shown."""
    # Before the rows: what is appended meanwhile would look as if it were not shown.
    [(end,)] = query("SELECT coalesce(max(id), 0) FROM chain")
    last = 0
    for row in followed_through(rows, query):
        last = cast("int", row[ID])
        yield row
    if last < cast("int", end):
        yield from hidden_links(query, last, cast("int", end) + 1)


def link(row: Row) -> tuple[int, str]:
    """Return id and hash of a row without a fault: what the next one has to follow."""
    return cast("int", row[ID]), cast("str", row[-1] if is_hidden(row) else row[SHA256])


def fault(row: Row, last_id: int, last: object) -> str:
    """Say what is wrong with a row, given id and hash of the one before it; empty if nothing is."""
    if row[ID] != last_id + 1:
        return f"row {last_id + 1} is missing"
    if row[1 if is_hidden(row) else PREVIOUS] != last:
        return "it does not follow the row before it"
    if is_hidden(row):
        return ""
    try:
        is_written = row[SHA256] == digest(row)
    except (PydanticSerializationError, ValueError):  # bytes that are no text: nothing of ours
        is_written = False
    return "" if is_written else "its content is not what was written"


def heads_of(notebook: str | PathLike[str]) -> dict[str, str]:
    """Return the heads in a notebook's outputs (``metadata.hitl_nb.journal_head``), each with where it stands.

    Raises:
        UsageError: It cannot be read, or is no notebook.
    """
    path = Path(notebook)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return {
            head: f" that `{path.name}` keeps in cell {number}"
            for number, cell in enumerate(cells, start=1)
            for output in cell.get("outputs", ())
            if isinstance(head := _head(output), str)
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = error if isinstance(error, OSError | ValueError) else "it has no cells with outputs"
        raise UsageError(
            f'`notebook={path.name!r}` is no notebook that can be read: {why}. Write `notebook="name.ipynb"`.'
        ) from error


def _head(output: Mapping[str, Mapping[str, object]]) -> object:
    ours = output.get("metadata", {}).get("hitl_nb", {})
    return ours.get("journal_head") if isinstance(ours, dict) else None
