"""The tables on disk, and how a file of an older version becomes one of this version.

One table, one row an event; the columns that an event has no use for are NULL. Everything else (which calls are open,
what was answered but never reached the model) is a question to this table, so there is nothing that could disagree
with it.
"""

from typing import Final

VERSION: Final = 1
"""The version of the tables below."""

COLUMNS: Final = tuple(
    """
    id ts event question thread run call tool kind message args arguments args_sha256 schema_sha256
    answer edited outcome by via reason result latency_ms redacted value key fingerprint prev_sha256 sha256
    """.split()
)
"""In the order that is hashed; a new version may only append to them (see `_chain`). Integers and texts only."""

_TYPES: Final = {"id": "INTEGER PRIMARY KEY", "question": "INTEGER", "latency_ms": "INTEGER"}
_REQUIRED: Final = frozenset({"ts", "event", "thread", "prev_sha256", "sha256"})


def _column(name: str) -> str:
    return f'"{name}" {_TYPES.get(name, "TEXT")}{" NOT NULL" if name in _REQUIRED else ""}'


CREATE: Final = (
    f"CREATE TABLE events ({', '.join(map(_column, COLUMNS))})",
    "CREATE TABLE IF NOT EXISTS schema_version (version INTEGER NOT NULL, since TEXT NOT NULL)",
    # Partial indices: each event pays only for its own, and "what is open" stays a look-up however long the file
    # (34 ms against 5 µs at 100,000 rows, facts/performance.md §6).
    "CREATE UNIQUE INDEX one_answer ON events(question) WHERE event = 'answered'",
    "CREATE UNIQUE INDEX one_delivery ON events(question) WHERE event = 'delivered'",
    "CREATE INDEX questions ON events(thread, call) WHERE event = 'asked'",
    "CREATE INDEX late_answers ON events(question) WHERE event = 'late'",
    "CREATE INDEX saved_threads ON events(thread) WHERE event = 'thread_saved'",
    "CREATE INDEX remembered ON events(key, fingerprint) WHERE event = 'remembered'",
    # Against accidents; against intent there is the chain.
    "CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END",
)
"""``one_answer`` is what makes the first answer win between processes."""

INSERT: Final = f"INSERT INTO events VALUES ({', '.join('?' * len(COLUMNS))})"
"""All columns, in order: one text, so that SQLite prepares it once."""
