"""From a file of an older version to this one, step by step, each in the transaction that opens the file."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from hitl_nb.errors import JournalError
from hitl_nb.journal._tables import CREATE, OCCURRENCES, VERSION

if TYPE_CHECKING:
    from hitl_nb.journal._transaction import Transaction


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
