"""The file: one SQLite connection, rows appended one after the other, each linked to the last.

The pragmas and their prices are facts/performance.md §6: one connection, WAL, and a forced sync (1.5 ms) only where
a person's answer is at stake. Every append reads the last row and writes the next in one immediate transaction, so
that any number of processes keep one chain.
"""

import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from hitl_nb.errors import JournalError
from hitl_nb.journal._chain import START, digest
from hitl_nb.journal._migrations import set_up
from hitl_nb.journal._place import is_remote
from hitl_nb.journal._tables import COLUMNS, INSERT

_PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing; its transactions take milliseconds."""

_LAST: Final = "SELECT id, sha256 FROM events ORDER BY id DESC LIMIT 1"


def now() -> str:
    """Give the time as it is stored: ISO 8601, UTC, microseconds."""
    return written(datetime.now(UTC))


def written(moment: datetime) -> str:
    """Give an aware datetime as it is stored; texts of this form sort as the times do."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class Store:
    """An open file of events.

    Args:
        path: The file, made if it is not there; None keeps everything in memory.

    Raises:
        JournalError: It cannot be opened, is no journal, or was written by a newer version.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._lock = threading.RLock()
        with self._explained():
            self._connection = _connected(path)
            self._finalizer = weakref.finalize(self, self._connection.close)
            self.mode = _journal_mode(self._connection, path)
            self._relaxed = "NORMAL" if self.mode == "wal" else "FULL"
            self._connection.execute(f"PRAGMA synchronous={self._relaxed}")
        with self.writing() as transaction:
            set_up(transaction)

    def close(self) -> None:
        """Close the file; it is an error to use the store afterwards."""
        with self._lock:
            self._finalizer()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return not self._finalizer.alive

    @contextmanager
    def writing(self, *, durable: bool = False) -> Iterator["Transaction"]:
        """Append in one transaction, all or nothing; safe from any thread.

        Args:
            durable: Return only when the rows would survive a power failure, not only the end of this process.

        Raises:
            JournalError: SQLite refused; nothing was written.
        """
        with self._lock, self._explained():
            execute = self._connection.execute
            if durable:
                execute("PRAGMA synchronous=FULL")
            try:
                execute("BEGIN IMMEDIATE")
                try:
                    yield Transaction(self._connection)
                    execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        execute("ROLLBACK")
                    raise
            finally:
                if durable:
                    execute(f"PRAGMA synchronous={self._relaxed}")

    def rows(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Give what a query finds."""
        with self._lock, self._explained():
            return self._connection.execute(sql, parameters).fetchall()

    def all_rows(self) -> Iterator[tuple[Any, ...]]:
        """Give every row in order, without holding them all at once."""
        last = 0
        while chunk := self.rows("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT 1000", (last,)):
            yield from chunk
            last = chunk[-1][0]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalError(
                f"The journal `{self._path or 'memory'}` cannot be used: {error}. Write "
                "`Journal('/another/path/journal.sqlite')`, or `Session(..., journal=None)` to do without one."
            ) from error


class Transaction:
    """Appends rows; made by `Store.writing`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._head: tuple[int, str] | None = None

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
            sqlite3.IntegrityError: The question has an answer (or a delivery) already; nothing was appended.
        """
        last, last_hash = self._head or self.one(_LAST) or (0, START)
        new = int(last) + 1
        row = {"id": new, "ts": ts or now(), "event": event, "question": new, "prev_sha256": last_hash, **fields}
        row["sha256"] = digest(row)
        self.connection.execute(INSERT, [row.get(name) for name in COLUMNS])
        self._head = (new, row["sha256"])
        return new


def _connected(path: Path | None) -> sqlite3.Connection:
    if path is not None and path.is_dir():
        raise JournalError(f"`{path}` is a folder. Write `Journal('{path / 'journal.sqlite'}')`.")
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JournalError(f"`{path.parent}` cannot be made: {error}. Write another path.") from error
    target = ":memory:" if path is None else path
    return sqlite3.connect(target, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _journal_mode(connection: sqlite3.Connection, path: Path | None) -> str:
    """Switch to WAL where it works, else to the rollback journal; gives what SQLite made of it."""
    wanted = "DELETE" if path is not None and is_remote(path) else "WAL"
    give_up = time.monotonic() + _PATIENCE
    while True:
        try:
            mode = str(connection.execute(f"PRAGMA journal_mode={wanted}").fetchone()[0])
        except sqlite3.OperationalError as error:
            # Several processes that make the same new file: SQLite does not wait here by itself.
            if "locked" in str(error) and time.monotonic() < give_up:
                time.sleep(0.01)
                continue
            if wanted == "DELETE":
                raise
            wanted = "DELETE"
            continue
        return mode
