"""The store that is an SQLite file: who writes, who reads, and what if it is deleted under our feet.

Rows are appended one after the other, each linked to the last. Every append reads the last row and writes the next in
one immediate transaction, so that any number of processes keep one chain.
"""

import asyncio
import atexit
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar, cast

from hitl_nb._text import logger
from hitl_nb.errors import JournalError
from hitl_nb.journal._file import File, FileBell
from hitl_nb.journal._store import (
    PATIENCE,
    AlreadyThere,
    Locked,
    Outcome,
    Query,
    Row,
    Transaction,
    Unusable,
    Value,
    Work,
    Writer,
)

_log = logger()

_T = TypeVar("_T")

_OURS: Final = (sqlite3.Error, Unusable, AlreadyThere)
"""What is told as a `JournalError`."""

_IN_THE_LOOP: Final = 1.0
"""Seconds that reading may hold up a loop: only without WAL a reader has to wait at all."""

_NAP: Final = 0.02
"""Seconds between two attempts to empty the log."""

_REPLACED: Final = 3
"""How often the file may vanish between a commit and the look whether it is still there."""


class SqliteStore:
    """An open file of events.

    Args:
        path: The file, made if it is not there; None keeps everything in memory.
        personal: Whether every payload is to be set apart, so that it can be erased.

    Raises:
        JournalError: It cannot be opened, is no journal, or was written by a newer version.
    """

    def __init__(self, path: Path | None, *, personal: bool = False) -> None:
        self._path, self._personal = path, personal
        self._lock = threading.RLock()
        """Held while the writing connection is used."""
        self._is_open, self._is_inherited = True, False
        self._paused: list[threading.RLock] = []
        self._has_warned: set[str] = set()
        with self._explaining():
            self._file = File(path, 0, self._lock, personal=personal)
        self._writer = Writer(self._commit, self._commit_one, self._explained, self._end, in_place=path is None)
        _stores.add(self)

    @property
    def head(self) -> str:
        """The hash of the last row that this process knows of."""
        return max(self._file.head, self._file.trust.head)[1]

    @property
    def generation(self) -> int:
        """How many files stood at this path before, while it was open."""
        return self._file.generation

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._file.connection

    # -- writing ------------------------------------------------------------------------------------------

    def begin(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> "Future[_T]":
        """Append in one transaction, all or nothing, after all that began before; safe from any thread.

        Args:
            append: Appends the rows, in the writing thread; may be called again.
            durable: Whether they have to survive a power failure, not only the end of this process.

        Returns:
            What `append` gives, once it is on disk; or a `JournalError`: nothing was written then.
        """
        return self._writer.begin(append, durable=durable)

    def write(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> _T:
        """Do the same and wait for it; that spares two changes of threads.

        Raises:
            JournalError: SQLite refused; nothing was written.
        """
        return self._writer.write(append, durable=durable)

    def _commit(self, some: Sequence[Work[Any]]) -> list[Outcome]:
        with self._lock:
            for _ in range(_REPLACED):
                file = self._opened()
                works, durable = [work.append for work in some], any(work.durable for work in some)
                try:
                    transaction, outcomes = file.commit(works, durable=durable)
                finally:
                    # Afterwards, not before: what went into a file that was deleted meanwhile is written again.
                    is_gone = file.is_gone()
                    if is_gone:
                        self._open_again()
                if not is_gone:
                    file.note(transaction)
                    transaction.committed()
                    return outcomes
            raise Unusable("the file is deleted as soon as it is made")

    def _commit_one(self, append: Callable[[Transaction], object], durable: bool) -> Outcome | None:
        try:
            with self._lock:
                file = self._opened()
                transaction, [outcome] = file.commit([append], durable=durable)
                if file.is_gone():
                    self._open_again()
                    return None
                file.note(transaction)
                transaction.committed()
                return outcome
        except Locked:
            return None
        except BaseException as error:  # it belongs to whoever waits for this
            return None, error

    # -- reading ------------------------------------------------------------------------------------------

    def rows(self, sql: str, parameters: tuple[Value, ...] = ()) -> list[Row]:
        """Return what a query finds, also of what this process has begun to write before.

        In a kernel's loop that is not waited for where another process has locked the file.
        """
        with self._reading() as (_, query):
            return query(sql, parameters)

    def read(self, work: Callable[[Query], _T]) -> _T:
        """Return what `work` makes of queries that all see the same moment, while other processes write."""
        with self._reading() as (file, query):
            query("BEGIN")
            try:
                return work(query)
            finally:
                file.reader.execute("COMMIT")

    def all_rows(self) -> Iterator[Row]:
        """Return every row in order, without holding them all at once."""
        last = 0
        while chunk := self.rows("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT 1000", (last,)):
            yield from chunk
            last = cast("int", chunk[-1][0])

    def believes(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are what was written, from the earliest of them to the end; says so once if not.

        Args:
            query: Reads them.
            ids: The rows that something would be done because of.
            uncommitted: Whether `query` is a transaction's.
        """
        if self._file.trust.holds(query, ids, uncommitted=uncommitted):
            return True
        self.warn_once(
            f"The journal `{self._path or 'memory'}` was changed after it was written. What it says of such a question "
            "is not believed, and it is asked again. `print(journal.verify())` says which row it is."
        )
        return False

    def warn_once(self, words: str) -> None:
        """Say something in the log, once."""
        if words not in self._has_warned:
            self._has_warned.add(words)
            _log.warning(words)

    @contextmanager
    def _reading(self) -> Iterator[tuple[File, Query]]:
        in_loop = _is_in_a_loop()
        for store in (self, *_others_at(self._path, self)):
            store._writer.wait_for_all(whatever_it_takes=not in_loop)
        with self._explaining():
            file = self._here()
            with file.reading:
                yield file, partial(file.query, patience=_IN_THE_LOOP if in_loop else PATIENCE)

    @property
    def knows_people(self) -> bool:
        """Return False: whoever can write a file can write anybody's name into it."""
        return False

    @property
    def login(self) -> None:
        """Return None: a file knows nobody."""
        return None

    def set_up_people(self) -> None:
        """Refuse.

        Raises:
            JournalError: A file knows nobody.
        """
        raise JournalError(
            f"The journal `{self._path or 'memory'}` is a file, which cannot know who writes to it. Write "
            "`hitl-nb inbox setup --journal postgresql://owner@host/database`."
        )

    def wipe(self) -> None:
        """Leave nothing of what was erased in the file, or beside it.

        Raises:
            JournalError: Somebody else reads it all the time; it is gone with the next look that finds nobody there.
        """
        give_up = time.monotonic() + PATIENCE
        with self._explaining(), self._lock:
            while not self._opened().wipe():
                if time.monotonic() > give_up:
                    raise Unusable("what was erased is still in its log, because another process reads it")
                time.sleep(_NAP)

    def bell(self) -> FileBell:
        """Return what rings when anybody has appended something."""
        return FileBell(self._path)

    # -- the file -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Write what has begun and close the file; it is an error to use the store afterwards."""
        self._writer.close(wait=True)

    def let_go(self) -> None:
        """Do the same without waiting for it."""
        self._writer.close(wait=False)

    @property
    def closed(self) -> bool:
        """Whether it takes nothing more."""
        return self._writer.closed

    def _end(self) -> None:
        with self._lock:
            if self._is_open:
                self._is_open = False
                if not self._is_inherited:
                    self._file.abandon() if self._file.is_gone() else self._file.close()

    def _opened(self) -> File:
        """The file that was opened last."""
        if not self._is_open:
            raise Unusable("it is closed")
        if self._is_inherited:
            with self._lock:
                self._open_again()
        return self._file

    def _here(self) -> File:
        """The file that is at the path now."""
        file = self._opened()
        if file.is_gone():
            with self._lock:
                self._open_again()
        return self._file

    def _open_again(self) -> None:
        if self._is_inherited:
            self._file = File(self._path, self.generation, self._lock, personal=self._personal)
            self._is_inherited = False
        if self._file.is_gone():
            self.warn_once(
                f"The journal `{self._path}` was deleted or replaced while it was open. What the old file held is "
                "not in the one that is there now; from here on everything is recorded in that."
            )
            self._file.give_way()
            self._file = File(self._path, self.generation + 1, self._lock, personal=self._personal)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except _OURS as error:
            raise self._explained(error) from error

    def _explained(self, error: BaseException) -> BaseException:
        if isinstance(error, Exception) and not isinstance(error, _OURS):
            return error
        explained = JournalError(
            f"The journal `{self._path or 'memory'}` cannot be used: {error or type(error).__name__}. Write "
            "`Journal('/another/path/journal.sqlite')`, or `Session(..., journal=None)` to do without one."
        )
        explained.__cause__ = error
        return explained

    # -- a fork -------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Have no thread inside SQLite while this process forks."""
        self._writer.pause()
        self._paused = [lock for lock in (self._lock, self._file.reading) if lock.acquire(timeout=_IN_THE_LOOP)]

    def resume(self) -> None:
        """Go on, in the process that has forked."""
        for lock in self._paused:
            lock.release()
        self._writer.resume()

    def inherit(self) -> None:
        """Go on in the new process: with a connection of its own."""
        self._lock = threading.RLock()
        self._file.inherited(self._lock)
        self._is_inherited = self._path is not None
        self._writer.forget()


def _is_in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_stores: weakref.WeakSet[SqliteStore] = weakref.WeakSet()


def _others_at(path: Path | None, store: SqliteStore) -> list[SqliteStore]:
    """Other stores of this process with the same file: what one has begun, the next is to read."""
    return [] if path is None else [each for each in tuple(_stores) if each is not store and each._path == path]


def _of_all(act: Callable[[SqliteStore], None]) -> None:
    for store in tuple(_stores):
        act(store)


atexit.register(_of_all, SqliteStore.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=partial(_of_all, SqliteStore.pause),
        after_in_parent=partial(_of_all, SqliteStore.resume),
        after_in_child=partial(_of_all, SqliteStore.inherit),
    )
