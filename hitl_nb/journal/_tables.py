"""The tables on disk, and how a file of an older version becomes one of this version.

One table, one row an event; the columns that an event has no use for are NULL. Everything else (which calls are open,
what was answered but never reached the model) is a question to this table, so there is nothing that could disagree
with it.
"""

from typing import Final

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
