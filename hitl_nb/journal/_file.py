"""The database file as it was opened once: how, with which pragmas, and whether it is still the one at its path.

The pragmas and their prices are facts/performance.md §6: WAL, one connection that writes, and a forced sync (1.5 ms)
only where a person's answer is at stake. A second connection reads: it waits for nobody who writes.
"""

import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from hitl_nb.errors import JournalError
from hitl_nb.journal._place import FILE, FOLDER, default_path, is_remote
from hitl_nb.journal._tables import VERSION, set_up, version_of
from hitl_nb.journal._transaction import Outcome, Transaction
from hitl_nb.journal._trust import Trust

_T = TypeVar("_T")

PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing; its transactions take milliseconds."""

_SLICE: Final = 0.05
"""Seconds that SQLite itself waits for a lock, before whoever tries may do something else."""

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class Locked(Exception):  # noqa: N818 - what is the case; never leaves the journal
    """Another process holds the lock; nothing was done."""

    def __init__(self, error: sqlite3.Error) -> None:
        super().__init__(str(error))
        self.error = error


class File:
    """One opening of the file.

    Args:
        path: The file, made if it is not there, readable for its owner only; None keeps everything in memory.
        generation: How many files stood at this path before.
        lock: What its user holds while `connection` is used.

    Raises:
        sqlite3.Error: It cannot be opened, or is no database.
        JournalError: It is a folder, or was written by a newer version.
    """

    def __init__(self, path: Path | None, generation: int, lock: threading.RLock) -> None:
        self._path = path
        self._name = None if path is None else str(path)
        self.generation = generation
        if path is not None:
            _make(path)
        self.connection = _connected(path)
        try:
            self.mode = _journal_mode(self.connection, path)
            self._relaxed, self._is_durable = "NORMAL" if self.mode == "wal" else "FULL", False
            self.connection.execute(f"PRAGMA synchronous={self._relaxed}")
            self._set_up()
            self.reader = self.connection if path is None else _connected(path)
            self.head = Transaction(self.reader).last()
            self.trust = Trust(Transaction(self.reader).rows)
        except BaseException:
            self.connection.close()
            raise
        self.reading = lock if path is None else threading.RLock()
        """Held while `reader` is used."""
        self._identity = _identity(self._name)
        self._log_identity = _identity(f"{self._name}-wal")

    def _set_up(self) -> None:
        if version_of(Transaction(self.connection)) == VERSION:
            return  # as a rule: then nobody is waited for
        patiently(self.connection.execute, "BEGIN IMMEDIATE")
        try:
            set_up(Transaction(self.connection))
            patiently(self.connection.execute, "COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def is_gone(self) -> bool:
        """Whether the file was deleted, or another one was put in its place."""
        return self._identity != _identity(self._name)

    def commit(
        self, works: Sequence[Callable[[Transaction], Any]], *, durable: bool
    ) -> tuple[Transaction, list[Outcome]]:
        """Run pieces of work in one transaction; each that fails leaves nothing.

        Args:
            works: What appends.
            durable: Return only when the rows would survive a power failure, not only the end of this process.

        Raises:
            Locked: Another process is writing; nothing was done.
            sqlite3.Error: SQLite refused; nothing was written.
        """
        execute = self.connection.execute
        if durable != self._is_durable:
            execute(f"PRAGMA synchronous={'FULL' if durable else self._relaxed}")
            self._is_durable = durable
        try:
            execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            raise _locked(error) from error
        transaction = Transaction(self.connection, self.generation)
        try:
            run = transaction.run if len(works) > 1 else transaction.run_alone
            outcomes = [run(work) for work in works]
            if self.connection.in_transaction:
                # Without WAL a commit waits until nobody reads.
                patiently(execute, "COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return transaction, outcomes

    def note(self, transaction: Transaction) -> None:
        """Take down what is on disk now."""
        if transaction.before is not None and transaction.head is not None:
            (before, before_hash), (last, last_hash) = transaction.before, transaction.head
            self.head = transaction.head
            self.trust.note(before + 1, before_hash, last, last_hash)

    def query(self, sql: str, parameters: tuple[Any, ...] = (), *, patience: float) -> list[tuple[Any, ...]]:
        """Give what a query finds; held: `reading`."""
        return patiently(self._found, sql, parameters, patience=patience)

    def _found(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self.reader.execute(sql, parameters).fetchall()

    def _roll_back(self) -> None:
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close it; it is an error to use it afterwards."""
        with self.reading:
            self.reader.close()
        self.connection.close()

    def give_way(self) -> None:
        """Make room for the file that has its name now: what is left of this one beside that is not that one's.

        SQLite would take the ``-wal`` for the new file's and write it over that (https://sqlite.org/howtocorrupt.html
        §1.4).
        """
        if self._log_identity is not None and self._log_identity == _identity(f"{self._name}-wal"):
            with suppress(sqlite3.Error):
                self.connection.execute("PRAGMA wal_checkpoint")  # it may have been moved away, to be kept
            for left in ("wal", "shm"):
                with suppress(OSError):
                    os.unlink(f"{self._name}-{left}")
        self.abandon()

    def abandon(self) -> None:
        """Never use it again, and never close it either.

        A forked process may not even close what its parent has opened (https://sqlite.org/howtocorrupt.html §2.6), and
        closing a file that was deleted would delete the ``-wal`` of the one that has its name now.
        """
        if self._path is not None:
            for connection in {self.connection, self.reader}:
                ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))

    def inherited(self, lock: threading.RLock) -> None:
        """Be the copy that a forked process has."""
        self.abandon()
        self.reading = lock if self._path is None else threading.RLock()
        if self._path is None:
            self._roll_back()


def _make(path: Path) -> None:
    """Make the file and its folder, if they are not there."""
    try:
        if path.is_dir():
            raise JournalError(f"`{path}` is a folder. Write `Journal('{path / 'journal.sqlite'}')`.")
        if not path.parent.is_dir():
            _make_folder(path)
        # SQLite gives its -wal and -shm the mode of the file.
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except OSError as error:
        raise JournalError(f"`{path}` cannot be made: {error}. Write another path.") from error
    # Else SQLite would open it all the same, and refuse the first question.
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise JournalError(f"`{path}` may not be written. Write `Journal('/another/path/journal.sqlite')`.")


def _make_folder(path: Path) -> None:
    if (path.parent.name, path.name) == (FOLDER, FILE):
        # Deleted while it was in use; it explains itself again.
        with suppress(JournalError):
            if default_path() == path:
                return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)


def _connected(path: Path | None) -> sqlite3.Connection:
    target = ":memory:" if path is None else path
    return sqlite3.connect(target, timeout=_SLICE, isolation_level=None, check_same_thread=False)


def _identity(path: str | None) -> tuple[int, int] | None:
    if path is None:
        return None
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _locked(error: sqlite3.OperationalError) -> Exception:
    """The error itself; or `Locked`, if that is what it says."""
    return Locked(error) if error.sqlite_errorcode & 0xFF in _BUSY else error


def patiently(act: Callable[..., _T], *args: Any, patience: float = PATIENCE) -> _T:
    """Do what may have to wait for another process.

    Raises:
        sqlite3.Error: It is still locked.
    """
    give_up: float | None = None
    while True:
        try:
            return act(*args)
        except sqlite3.OperationalError as error:
            now = time.monotonic()
            give_up = give_up or now + patience
            if now >= give_up or _locked(error) is error:
                raise


def _journal_mode(connection: sqlite3.Connection, path: Path | None) -> str:
    """Switch to WAL where it works, else to the rollback journal; gives what SQLite made of it."""
    wanted = "DELETE" if path is not None and is_remote(path) else "WAL"
    give_up = time.monotonic() + PATIENCE
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
