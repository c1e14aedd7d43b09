"""Appending: each row linked to the last, all of a transaction or none of it."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from hitl_nb.journal._chain import SHA256, START, digest
from hitl_nb.journal._tables import COLUMNS, INSERT

_LAST: Final = "SELECT id, sha256 FROM events ORDER BY id DESC LIMIT 1"

Outcome = tuple[Any, BaseException | None]
"""What a piece of work gave, or raised."""


def now() -> str:
    """Give the time as it is stored: ISO 8601, UTC, microseconds."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Give an aware datetime as it is stored; texts of this form sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class Transaction:
    """Appends rows; made by `File.commit`."""

    def __init__(self, connection: sqlite3.Connection, generation: int = 0) -> None:
        self.connection = connection
        self.generation = generation
        """Which file it is: the one that was opened first, or one that has taken its place since."""
        self.scratch: dict[Any, Any] = {}
        """What one piece of work leaves for the next of the same transaction; emptied if either fails."""
        self.before: tuple[int, str] | None = None
        """Id and hash of the row before the first that was appended."""
        self.head: tuple[int, str] | None = None
        """Id and hash of the last row, if that was looked up."""
        self._after: list[Callable[[], None]] = []

    def one(self, sql: str, parameters: tuple[Any, ...] = ()) -> tuple[Any, ...] | None:
        """Give the first row that a query finds, or None."""
        row: tuple[Any, ...] | None = self.connection.execute(sql, parameters).fetchone()
        return row

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Give all rows that a query finds."""
        return self.connection.execute(sql, parameters).fetchall()

    def append(self, event: str, *, ts: str | None = None, **fields: Any) -> int:
        """Append one event and give its id.

        Args:
            event: What happened.
            ts: When, as `written` gives it; default: now.
            fields: The other columns; without ``question`` the row is a question itself.

        Raises:
            sqlite3.IntegrityError: The question has an answer (a delivery, a start) already; nothing was appended.
        """
        last, last_hash = self.last()
        new = last + 1
        fields |= {"id": new, "ts": ts or now(), "event": event, "prev_sha256": last_hash}
        fields.setdefault("question", new)
        row = list(map(fields.get, COLUMNS))
        row[SHA256] = sha256 = digest(row)
        self.connection.execute(INSERT, row)
        self.before = self.before or (last, last_hash)
        self.head = (new, sha256)
        return new

    def last(self) -> tuple[int, str]:
        """Give id and hash of the last row."""
        if self.head is None:
            found = self.one(_LAST)
            self.head = (0, START) if found is None else (int(found[0]), str(found[1]))
        return self.head

    def after(self, note: Callable[[], None]) -> None:
        """Have `note` called once all this is on disk; never, if it is not."""
        self._after.append(note)

    def committed(self) -> None:
        """Call what waits for the commit."""
        for note in self._after:
            note()

    def run_alone(self, work: Callable[["Transaction"], Any]) -> Outcome:
        """Run the only piece of work; if it fails, so does the transaction."""
        try:
            return work(self), None
        except BaseException as error:  # it belongs to whoever waits for this work
            self.connection.execute("ROLLBACK") if self.connection.in_transaction else None
            self._after.clear()
            return None, error

    def run(self, work: Callable[["Transaction"], Any]) -> Outcome:
        """Run one piece of work of several; if it fails, the others stay.

        Raises:
            sqlite3.Error: SQLite has given up the whole transaction.
        """
        waiting, before = len(self._after), self.before
        self.connection.execute("SAVEPOINT work")
        try:
            result: Outcome = (work(self), None)
        except BaseException as error:
            if not self.connection.in_transaction:
                raise
            self.connection.execute("ROLLBACK TO work")
            self.head, self.before = None, before
            self.scratch.clear()
            del self._after[waiting:]
            result = (None, error)
        self.connection.execute("RELEASE work")
        return result
