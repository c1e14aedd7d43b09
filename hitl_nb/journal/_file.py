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
from hitl_nb.journal._place import FILE, FOLDER, default_path, is_remote
from hitl_nb.journal._store import PATIENCE, AlreadyThere, Columns, Locked, Outcome, Query, Row, Transaction, Value
from hitl_nb.journal._tables import (
    COLUMNS,
    CREATE,
    GUARDS,
    INSERT,
    OCCURRENCES,
    SHA256,
    START,
    VERSION,
    Guard,
    Trust,
    digest,
    now,
)

_LAST: Final = "SELECT id, sha256 FROM events ORDER BY id DESC LIMIT 1"


class SqliteTransaction:
    """Appends rows, each linked to the last; made by `File.commit`."""

    def __init__(self, connection: sqlite3.Connection, generation: int = 0) -> None:
        self.connection = connection
        self.generation = generation
        """Which file it is: the one that was opened first, or one that has taken its place since."""
        self.scratch: dict[object, object] = {}
        """What one piece of work leaves for the next of the same transaction; emptied if either fails."""
        self.before: tuple[int, str] | None = None
        """Id and hash of the row before the first that was appended."""
        self.head: tuple[int, str] | None = None
        """Id and hash of the last row, if that was looked up."""
        self._after: list[Callable[[], None]] = []

    def one(self, sql: str, parameters: tuple[Value, ...] = (), /) -> Row | None:
        """Return the first row that a query finds, or None."""
        row: Row | None = self.connection.execute(sql, parameters).fetchone()
        return row

    def rows(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return all rows that a query finds."""
        return self.connection.execute(sql, parameters).fetchall()

    def append(self, event: str, columns: Columns) -> int:
        """Append one event and return its id; see the protocol."""
        last, last_hash = self.last()
        new = last + 1
        fields = {"question": new, **columns, "id": new, "event": event, "prev_sha256": last_hash}
        fields["ts"] = columns.get("ts") or now()
        row = list(map(fields.get, COLUMNS))
        row[SHA256] = sha256 = digest(row)
        try:
            self.connection.execute(INSERT, row)
        except sqlite3.IntegrityError as error:
            # Other constraints are the triggers': then something is very wrong.
            if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_UNIQUE:
                raise
            raise AlreadyThere(f"a question can have only one `{event}`") from error
        self.before = self.before or (last, last_hash)
        self.head = (new, sha256)
        return new

    def last(self) -> tuple[int, str]:
        """Return id and hash of the last row."""
        if self.head is None:
            found = self.one(_LAST)
            self.head = (0, START) if found is None else cast("tuple[int, str]", found)
        return self.head

    def after(self, note: Callable[[], None]) -> None:
        """Have `note` called once all this is on disk; never, if it is not."""
        self._after.append(note)

    def committed(self) -> None:
        """Call what waits for the commit."""
        for note in self._after:
            note()

    def run_alone(self, work: Callable[[Transaction], object]) -> Outcome:
        """Run the only piece of work; if it fails, so does the transaction."""
        try:
            return work(self), None
        except BaseException as error:  # it belongs to whoever waits for this work
            self.connection.execute("ROLLBACK") if self.connection.in_transaction else None
            self._after.clear()
            return None, error

    def run(self, work: Callable[[Transaction], object]) -> Outcome:
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


def _tell_occurrences_apart(transaction: SqliteTransaction) -> int:
    """1 → 2: each asking has an identity of its own, an approval runs once."""
    for statement in OCCURRENCES:
        transaction.connection.execute(statement)
    return 2


_STEPS: Final[dict[int, Callable[[SqliteTransaction], int]]] = {0: _chain_the_rows, 1: _tell_occurrences_apart}
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
            self.head = SqliteTransaction(self.reader).last()
            self.trust = Trust(SqliteTransaction(self.reader).rows, _guard)
        except BaseException:
            self.connection.close()
            raise
        self.reading = lock if path is None else threading.RLock()
        """Held while `reader` is used."""
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
        """Whether the file was deleted, or another one was put in its place."""
        return self._identity != _identity(self._name)

    def commit(
        self, works: Sequence[Callable[[Transaction], object]], *, durable: bool
    ) -> tuple[SqliteTransaction, list[Outcome]]:
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
        transaction = SqliteTransaction(self.connection, self.generation)
        try:
            run = transaction.run if len(works) > 1 else transaction.run_alone
            outcomes = [run(work) for work in works]
            if self.connection.in_transaction:
                # Without WAL a commit waits until nobody reads.
                patiently(lambda: execute("COMMIT"))
        except BaseException:
            self._roll_back()
            raise
        return transaction, outcomes

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
