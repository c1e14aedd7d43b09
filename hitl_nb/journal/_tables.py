"""The tables on disk, and how a file of an older version becomes one of this version.

One table, one row an event; the columns that an event has no use for are NULL. Everything else (which calls are open,
what was answered but never reached the model) is a question to this table, so there is nothing that could disagree
with it.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hitl_nb.errors import JournalError

if TYPE_CHECKING:
    from hitl_nb.journal._transaction import Transaction

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
    # (34 ms against 5 µs at 100,000 rows, facts/performance.md §6).
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


# -- from a file of an older version to this one, step by step, each in the transaction that opens the file ------------


def set_up(transaction: "Transaction") -> None:
    """Make the tables of a new file, or bring those of an old one up to date.

    Raises:
        JournalError: The file was written by a newer version.
    """
    version = version_of(transaction)
    if version == VERSION:
        return
    if version is not None and version > VERSION:
        raise JournalError(
            f"This journal was written by a newer hitl_nb (tables of version {version}, this one knows {VERSION}). "
            "Write `pip install -U hitl-nb` and restart the kernel."
        )
    if version is None:
        _create(transaction)
    else:
        while version < VERSION:
            version = _STEPS[version](transaction)
    since = datetime.now(UTC).isoformat()
    transaction.connection.execute("INSERT INTO schema_version VALUES (?, ?)", (VERSION, since))


def version_of(transaction: "Transaction") -> int | None:
    """Give the version of the file; None if it is empty."""
    tables = {name for (name,) in transaction.connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if "schema_version" in tables:
        found = transaction.one("SELECT max(version) FROM schema_version")
        return None if found is None else found[0]
    return 0 if "events" in tables else None


def _create(transaction: "Transaction") -> None:
    for statement in CREATE:
        transaction.connection.execute(statement)


_OLD: Final = tuple("ts event thread run call tool kind message args answer outcome by via reason result".split())
"""What version 0 had: the same events without questions, hashes, and a table that says the version."""


def _chain_the_rows(transaction: "Transaction") -> int:
    """0 → now: number the questions and link every row to the one before it, from now on."""
    transaction.connection.execute("ALTER TABLE events RENAME TO events_0")
    _create(transaction)
    names = ", ".join(f'"{name}"' for name in _OLD)
    questions: dict[tuple[str, str], int] = {}
    for values in transaction.connection.execute(f"SELECT {names} FROM events_0 ORDER BY id").fetchall():
        row = dict(zip(_OLD, values, strict=True))
        key = (row["thread"], row["call"])
        if row["event"] == "asked" or key not in questions:
            questions[key] = transaction.append(**row)
        else:
            transaction.append(**row, question=questions[key])
    transaction.connection.execute("DROP TABLE events_0")
    return VERSION


def _tell_occurrences_apart(transaction: "Transaction") -> int:
    """1 → 2: each asking has an identity of its own, an approval runs once."""
    for statement in OCCURRENCES:
        transaction.connection.execute(statement)
    return 2


_STEPS: Final[dict[int, Callable[["Transaction"], int]]] = {0: _chain_the_rows, 1: _tell_occurrences_apart}
"""Version → what leads to a later one, which it gives."""
