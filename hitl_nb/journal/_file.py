"""The database file as it was opened once, and a transaction in it: pragmas, locks, migrations, and is it still there.

WAL, one connection that writes, and a forced sync only where a person's answer is at stake: that takes 1.5 ms on a
usual disk, a decision without it 0.1 ms. A second connection reads: it waits for nobody who writes.
"""

import ctypes
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar, cast

from hitl_nb.errors import JournalError
from hitl_nb.journal._payloads import GUARDED_BLOBS
from hitl_nb.journal._place import FILE, FOLDER, default_path, is_remote
from hitl_nb.journal._store import PATIENCE, Locked, Outcome, Query, Row, Transaction, Value
from hitl_nb.journal._tables import (
    BESIDE_QUESTIONS,
    CREATE,
    FOUND_AGAIN,
    GUARDS,
    INSERT,
    LOGINS,
    OCCURRENCES,
    PAYLOADS,
    VERSION,
    newer_tables,
)
from hitl_nb.journal._transaction import Guard, LinkedTransaction, Trust, fill_waiting


class SqliteTransaction(LinkedTransaction):
    """Appends rows in SQLite; made by `File.commit`."""

    def __init__(self, connection: sqlite3.Connection, generation: int = 0, *, personal: bool = False) -> None:
        super().__init__(generation, personal=personal)
        self.connection = connection

    def one(self, sql: str, parameters: tuple[Value, ...] = (), /) -> Row | None:
        """Return the first row that a query finds, or None."""
        row: Row | None = self.connection.execute(sql, parameters).fetchone()
        return row

    def rows(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return all rows that a query finds."""
        return self.connection.execute(sql, parameters).fetchall()

    def execute(self, statement: str, parameters: tuple[Value, ...] = (), /) -> None:
        """Do something that finds nothing."""
        self.connection.execute(statement, parameters)

    def insert(self, event: str, row: Sequence[Value]) -> bool:
        """Insert a row; False if a question has such an event already."""
        try:
            self.connection.execute(INSERT, row)
        except sqlite3.IntegrityError as error:
            # Other constraints are the triggers': then something is very wrong.
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                raise
            return False
        return True

    @property
    def is_open(self) -> bool:
        """Whether it can still be rolled back."""
        return self.connection.in_transaction


# -- from a file of an older version to this one, each step in the transaction that opens it --------------------------


def set_up(transaction: SqliteTransaction) -> None:
    """Make the tables of a new file, or bring those of an old one up to date.

    Raises:
        JournalError: The file was written by a newer version.
    """
    version = version_of(transaction)
    if version == VERSION:
        return
    if version is not None and version > VERSION:
        raise newer_tables(version)
    if version is None:
        _create(transaction)
    else:
        while version < VERSION:
            version = _STEPS[version](transaction)
    since = datetime.now(UTC).isoformat()
    transaction.connection.execute("INSERT INTO schema_version VALUES (?, ?)", (VERSION, since))


def version_of(transaction: SqliteTransaction) -> int | None:
    """Return the version of the file; None if it is empty."""
    tables = {name for (name,) in transaction.connection.execute("SELECT name FROM sqlite_master WHERE type='table'")}
    if "schema_version" in tables:
        found = transaction.one("SELECT max(version) FROM schema_version")
        return None if found is None else cast("int", found[0])
    return 0 if "events" in tables else None


def _create(transaction: SqliteTransaction) -> None:
    for statement in CREATE:
        transaction.connection.execute(statement)


_OLD: Final = tuple("ts event thread run call tool kind message args answer outcome by via reason result".split())
"""What version 0 had: the same events without questions, hashes, and a table that says the version."""


def _chain_the_rows(transaction: SqliteTransaction) -> int:
    """0 → now: number the questions and link every row to the one before it, from now on."""
    transaction.connection.execute("ALTER TABLE events RENAME TO events_0")
    _create(transaction)
    names = ", ".join(f'"{name}"' for name in _OLD)
    questions: dict[tuple[Value, Value], int] = {}
    for values in transaction.connection.execute(f"SELECT {names} FROM events_0 ORDER BY id").fetchall():
        row: dict[str, Value] = dict(zip(_OLD, values, strict=True))
        key, event = (row["thread"], row["call"]), str(row["event"])
        if event == "asked" or key not in questions:
            questions[key] = transaction.append(event, row)
        else:
            transaction.append(event, {**row, "question": questions[key]})
    transaction.connection.execute("DROP TABLE events_0")
    return VERSION


def _executing(statements: Sequence[str], version: int) -> Callable[[SqliteTransaction], int]:
    """A step that changes the tables and none of their rows."""

    def step(transaction: SqliteTransaction) -> int:
        for statement in statements:
            transaction.connection.execute(statement)
        return version

    return step


def _say_whom_they_wait_for(transaction: SqliteTransaction) -> int:
    """3 → 4: what is open is found by whom it is for, and by its risk."""
    fill_waiting(transaction)
    return 4


_STEPS: Final[dict[int, Callable[[SqliteTransaction], int]]] = {
    0: _chain_the_rows,
    1: _executing(OCCURRENCES, 2),  # each asking has an identity of its own, an approval runs once
    2: _executing(FOUND_AGAIN, 3),  # a question is found again by a later run, and by whoever answers elsewhere
    3: _say_whom_they_wait_for,
    4: _executing(LOGINS, 5),  # a row says as whom its writer was known
    5: _executing(BESIDE_QUESTIONS, 6),  # what is written of a question beside its answer is found by the question
    6: _executing((*PAYLOADS, *GUARDED_BLOBS), 7),  # what is large or personal stands apart, and can be erased
}
"""Version → what leads to a later one, which it gives."""


# -- the file ---------------------------------------------------------------------------------------------------------

_T = TypeVar("_T")

_SLICE: Final = 0.05
"""Seconds that SQLite itself waits for a lock, before whoever tries may do something else."""

_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


class File:
    """One opening of the file.

    Args:
        path: The file, made if it is not there, readable for its owner only; None keeps everything in memory.
        generation: How many files stood at this path before.
        lock: What its user holds while `connection` is used.
        personal: Whether every payload is to be set apart, so that it can be erased.

    Raises:
        sqlite3.Error: It cannot be opened, or is no database.
        JournalError: It is a folder, or was written by a newer version.
    """

    def __init__(self, path: Path | None, generation: int, lock: threading.RLock, *, personal: bool = False) -> None:
        self._path, self._personal = path, personal
        self._name = None if path is None else str(path)
        self.generation = generation
        if path is not None:
            _make(path)
        self.connection = _connected(path)
        try:
            self.mode = _journal_mode(self.connection, path)
            self._relaxed, self._is_durable = "NORMAL" if self.mode == "wal" else "FULL", False
            self.connection.execute(f"PRAGMA synchronous={self._relaxed}")
            # What is erased is not in the file any more, nor what SQLite has moved about before.
            self.connection.execute("PRAGMA secure_delete=ON")
            self._set_up()
            self.reader = self.connection if path is None else _connected(path)
            self.head = SqliteTransaction(self.reader).last()
            self.trust = Trust(SqliteTransaction(self.reader).rows, _guard)
        except BaseException:
            self.connection.close()
            raise
        self.reading = lock if path is None else threading.RLock()
        """Held while `reader` is used."""
        self._is_set_back = False
        self._identity = _identity(self._name)
        self._log_identity = _identity(f"{self._name}-wal")

    def _set_up(self) -> None:
        if version_of(SqliteTransaction(self.connection)) == VERSION:
            return  # as a rule: then nobody is waited for
        patiently(lambda: self.connection.execute("BEGIN IMMEDIATE"))
        try:
            set_up(SqliteTransaction(self.connection))
            patiently(lambda: self.connection.execute("COMMIT"))
        except BaseException:
            self._roll_back()
            raise

    def is_gone(self) -> bool:
        """Whether the file was deleted, or something else was put in its place: another file, or what a backup held."""
        return self._is_set_back or self._identity != _identity(self._name)

    def is_set_back(self) -> bool:
        """Look whether it holds other rows than those that this process has seen; held: `reading`."""
        with suppress(sqlite3.OperationalError):  # locked, without WAL: whoever writes looks again
            self._look_back(self.reader)
        return self._is_set_back

    def _look_back(self, connection: sqlite3.Connection) -> None:
        """Restored in place, it numbers its rows anew: an answer would go to whichever question has the number now."""
        last, sha256 = self.head
        if last and connection.execute(_SHA256_OF, (last,)).fetchone() != (sha256,):
            self._is_set_back = True

    def commit(
        self, works: Sequence[Callable[[Transaction], object]], *, durable: bool
    ) -> tuple[SqliteTransaction, list[Outcome]]:
        """Run pieces of work in one transaction; each that fails leaves nothing.

        Args:
            works: What appends.
            durable: Return only when the rows would survive a power failure, not only the end of this process.

        Returns:
            The transaction, and what came of each; nothing was done if the file `is_gone` then.

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
        transaction = SqliteTransaction(self.connection, self.generation, personal=self._personal)
        try:
            self._look_back(self.connection)
            run = transaction.run if len(works) > 1 else transaction.run_alone
            outcomes = [] if self._is_set_back else [run(work) for work in works]
            if self.connection.in_transaction:
                # Without WAL a commit waits until nobody reads.
                patiently(lambda: execute("COMMIT"))
        except BaseException:
            self._roll_back()
            raise
        return transaction, outcomes

    def wipe(self) -> bool:
        """Have nothing in the log that the database no longer has; False if somebody reads it just now."""
        [(is_busy, _, _)] = self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return not is_busy

    def note(self, transaction: SqliteTransaction) -> None:
        """Take down what is on disk now."""
        if transaction.before is not None and transaction.head is not None:
            (before, before_hash), (last, last_hash) = transaction.before, transaction.head
            self.head = transaction.head
            self.trust.note(before + 1, before_hash, last, last_hash)

    def query(self, sql: str, parameters: tuple[Value, ...] = (), *, patience: float) -> list[Row]:
        """Return what a query finds; held: `reading`."""
        return patiently(lambda: self._found(sql, parameters), patience=patience)

    def _found(self, sql: str, parameters: tuple[Value, ...]) -> list[Row]:
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
        §1.4). One that was set back is the same file, and its ``-wal`` everybody's.
        """
        if self._identity == _identity(self._name):
            self.close()
            return
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


class FileBell:
    """Looks at a number that SQLite counts up with each commit of another connection: 14 µs, five times a second.

    Nothing better works everywhere: file watchers are blind on network file systems.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._seen: object = None

    def wait(self, seconds: float) -> None:
        """Return when something was appended, or after `seconds`.

        Raises:
            sqlite3.Error: The file cannot be read; the next call opens it anew.
        """
        give_up = time.monotonic() + seconds
        while time.monotonic() < give_up:
            now = self._version()
            if now != self._seen:
                self._seen = now
                return
            time.sleep(_LOOK)

    def _version(self) -> object:
        if self._path is None:
            return None  # memory: nobody else is there
        try:
            if self._connection is None:
                self._connection = _connected(self._path)
            return self._connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error:
            self.close()
            raise

    def close(self) -> None:
        """Hear nothing more."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


_LOOK: Final = 0.2
"""Seconds between two looks."""

_SHA256_OF: Final = "SELECT sha256 FROM chain WHERE id = ?"

_GUARDS: Final = f"SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name IN ({GUARDS})"


def _guard(query: Query) -> Guard:
    """Whether the table is as we made it: whoever works around the triggers changes SQLite's ``schema_version``."""
    [(version,)], [(guards,)] = query("PRAGMA schema_version"), query(_GUARDS)
    return Guard(version=version, stands=guards == GUARDS.count(",") + 1)


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


def patiently(act: Callable[[], _T], *, patience: float = PATIENCE) -> _T:
    """Do what may have to wait for another process.

    Raises:
        sqlite3.Error: It is still locked.
    """
    give_up: float | None = None
    while True:
        try:
            return act()
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
