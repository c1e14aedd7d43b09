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
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Final, NamedTuple, cast

from pydantic_core import PydanticSerializationError, to_json

from hitl_nb.errors import UsageError
from hitl_nb.journal._store import Query, Row

VERSION: Final = 2
"""The version of the tables below."""

COLUMNS: Final = tuple(
    """
    id ts event question thread run call tool kind message args arguments args_sha256 schema_sha256
    answer edited outcome by via reason result latency_ms redacted value key fingerprint prev_sha256 sha256
    occurrence
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

CREATE: Final = (
    f"CREATE TABLE events ({', '.join(map(_column, COLUMNS))})",
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL, since TEXT NOT NULL)",
    # Partial indices: each event pays only for its own, and "what is open" stays a look-up however long the file
    # (34 ms against 5 µs at 100,000 rows).
    "CREATE UNIQUE INDEX one_answer ON events(question) WHERE event = 'answered'",
    "CREATE UNIQUE INDEX one_delivery ON events(question) WHERE event = 'delivered'",
    *_ONCE_A_QUESTION,
    "CREATE INDEX questions ON events(thread, call) WHERE event = 'asked'",
    _OCCURRENCES,
    "CREATE INDEX late_answers ON events(question) WHERE event = 'late'",
    "CREATE INDEX saved_threads ON events(thread) WHERE event = 'thread_saved'",
    "CREATE INDEX remembered ON events(key, fingerprint) WHERE event = 'remembered'",
    # Against accidents; against intent there is the chain.
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    _NO_REPLACE,
)
"""``one_answer`` makes the first answer win between processes, ``one_start`` makes what was approved run once."""

GUARDS: Final = "'no_update', 'no_delete', 'no_replace'"
"""The names of these triggers, as SQL."""

OCCURRENCES: Final = ('ALTER TABLE events ADD COLUMN "occurrence" TEXT', *_ONCE_A_QUESTION, _OCCURRENCES, _NO_REPLACE)
"""From version 1 to 2. The column stands last and is NULL in old rows, so their hashes stay as they are."""

INSERT: Final = f"INSERT INTO events VALUES ({', '.join('?' * len(COLUMNS))})"
"""All columns, in order: one text, so that SQLite prepares it once."""


# -- times ---


def now() -> str:
    """Return the time as it is stored: ISO 8601, UTC, microseconds."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Return an aware datetime as it is stored; texts of this form sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


# -- the chain --------------------------------------------------------------------------------------------------------

START: Final = "0" * 64
"""What the first row names as the hash of the row before it."""

ID: Final = COLUMNS.index("id")
PREVIOUS: Final = COLUMNS.index("prev_sha256")
SHA256: Final = COLUMNS.index("sha256")


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

    def __str__(self) -> str:
        if self.ok:
            kept = f", {self.heads} kept {'head' if self.heads == 1 else 'heads'} found" if self.heads else ""
            return f"ok: {self.rows} rows, head {self.head[:12]}…{kept}"
        where = "the end" if self.bad_row is None else f"row {self.bad_row}"
        return f"NOT ok at {where}: {self.what}"


def verified(rows: Iterable[Row], heads: Mapping[str, str]) -> Verification:
    """Follow the chain through all rows in the order of their ids.

    Args:
        rows: Tuples as `COLUMNS` orders them.
        heads: Hashes that were kept elsewhere and where; they must be in the chain.
    """
    last_id, last, missing = 0, START, {head: where for head, where in heads.items() if head != START}
    for row in rows:
        what = fault(row, last_id, last)
        if what:
            return Verification(ok=False, rows=last_id, head=last, bad_row=cast("int", row[ID]), what=what)
        last_id, last = link(row)
        missing.pop(last, None)
    if missing:
        (head, where), more = next(iter(missing.items())), len(missing) - 1
        others = f" (and {more} more)" if more else ""
        what = (
            f"no row has the hash {head!r}{where}{others}: rows were cut off, the whole chain was written anew, or it "
            "is that of another journal"
        )
        return Verification(ok=False, rows=last_id, head=last, what=what)
    return Verification(ok=True, rows=last_id, head=last, heads=len(heads))


def link(row: Row) -> tuple[int, str]:
    """Return id and hash of a row without a fault: what the next one has to follow."""
    return cast("int", row[ID]), cast("str", row[SHA256])


def fault(row: Row, last_id: int, last: object) -> str:
    """Say what is wrong with a row, given id and hash of the one before it; empty if nothing is."""
    if row[ID] != last_id + 1:
        return f"row {last_id + 1} is missing"
    if row[PREVIOUS] != last:
        return "it does not follow the row before it"
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


# -- rows are followed along it before anything is done because of them -----------------------------------------------

# What was found good once is not read again: the table refuses changes and deletions (triggers), and whoever works
# around that changes what the store's guard says, after which everything is read again.

_CHUNK: Final = 1000


class Span(NamedTuple):
    """Rows that are as they were written, one linked to the next."""

    first: int
    last: int
    sha256: str
    """Of the last row."""


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What keeps the rows as they are, in the database itself."""

    version: object
    """Another one whenever somebody has changed the tables or their triggers."""

    stands: bool
    """Whether changes and deletions are refused."""


class Trust:
    """What of one file was found good.

    Args:
        query: Reads the file as it was opened.
        guard: Looks whether the database itself keeps the rows as they are.
    """

    def __init__(self, query: Query, guard: Callable[[Query], Guard]) -> None:
        self._lock = threading.RLock()
        self._span: Span | None = None
        self._guard_of = guard
        self._guard = guard(query)

    def note(self, first: int, before: str, last: int, sha256: str) -> None:
        """Count rows as good that this process has appended.

        Args:
            first: The id of the first.
            before: The hash of the row before it.
            last: The id of the last.
            sha256: Its hash.
        """
        # Without the lock: should `holds` not see it, it reads these rows itself.
        span = self._span
        if span is None:
            self._span = Span(first, last, sha256)
        elif span.last == first - 1 and span.sha256 == before:
            self._span = Span(span.first, last, sha256)

    def holds(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are in the chain, from the earliest of them to the last of the file.

        Args:
            query: Reads the file.
            ids: The rows.
            uncommitted: Whether what it reads may yet come to nothing.
        """
        with self._lock:
            guard = self._guard_of(query)
            if guard != self._guard or not guard.stands:
                self._span, self._guard = None, guard
            span = _followed(query, min(ids), self._span)
            if not uncommitted:
                self._span = span
            return span is not None and all(_is_linked(query, each, span) for each in ids)

    @property
    def head(self) -> tuple[int, str]:
        """Id and hash of the last row that was found good."""
        span = self._span
        return (0, "") if span is None else (span.last, span.sha256)


def _followed(query: Query, first: int, span: Span | None) -> Span | None:
    """The rows from `first` (or from earlier) to the last; None if one is not as it was written."""
    if span is None or first < span.first:
        last, sha256 = first - 1, ""
    elif query("SELECT sha256 FROM events WHERE id = ?", (span.last,)) != [(span.sha256,)]:
        return None
    else:
        first, last, sha256 = span.first, span.last, span.sha256
    while chunk := query("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", (last, _CHUNK)):
        for row in chunk:
            if fault(row, last, sha256 or row[PREVIOUS]):
                return None
            last, sha256 = link(row)
    return Span(first=first, last=last, sha256=sha256) if sha256 else None


def _is_linked(query: Query, id_: int, span: Span) -> bool:
    """Whether a row is what its own hash, and the next row, say."""
    rows = query("SELECT * FROM events WHERE id BETWEEN ? AND ? ORDER BY id", (id_, id_ + 1))
    if not rows or fault(rows[0], id_ - 1, rows[0][PREVIOUS]):
        return False
    return rows[0][SHA256] == (span.sha256 if id_ == span.last else rows[-1][PREVIOUS])
