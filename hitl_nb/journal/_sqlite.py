"""The store that is an SQLite file: who writes, who reads, and what if it is deleted under our feet.

Rows are appended one after the other, each linked to the last. Every append reads the last row and writes the next in
one immediate transaction, so that any number of processes keep one chain.
"""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from hitl_nb._process import in_a_browser
from hitl_nb.errors import JournalError
from hitl_nb.journal._file import File, FileBell
from hitl_nb.journal._store import (
    PATIENCE,
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
from hitl_nb.journal._transaction import LinkedStore, Trust, is_in_a_loop

_T = TypeVar("_T")

_IN_THE_LOOP: Final = 1.0
"""Seconds that reading may hold up a loop: only without WAL a reader has to wait at all."""

_NAP: Final = 0.02
"""Seconds between two attempts to empty the log."""

_REPLACED: Final = 3
"""How often the file may vanish between a commit and the look whether it is still there."""


class SqliteStore(LinkedStore):
    """An open file of events.

    Args:
        path: The file, made if it is not there; None keeps everything in memory.
        personal: Whether every payload is to be set apart, so that it can be erased.

    Raises:
        JournalError: It cannot be opened, is no journal, or was written by a newer version.
    """

    def __init__(self, path: Path | None, *, personal: bool = False) -> None:
        super().__init__(path, str(path or "memory"), sqlite3.Error)
        self._path, self._personal = path, personal
        self._is_inherited = False
        self._paused: list[threading.RLock] = []
        with self._explaining():
            self._file = File(path, 0, self._lock, personal=personal)
        self._ready(Writer(self._commit, self._commit_one, self._explained, self._end, in_place=path is None))

    @property
    def head(self) -> str:
        """The hash of the last row that this process knows of."""
        return max(self._file.head, self._file.trust.head)[1]

    @property
    def generation(self) -> int:
        """How many files stood at this path before the one that is there now, while it was open."""
        with self._explaining():
            return self._here().generation

    @property
    def _trust(self) -> Trust:
        return self._file.trust

    # -- writing ------------------------------------------------------------------------------------------

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
                transaction, outcomes = file.commit([append], durable=durable)
                if file.is_gone():
                    self._open_again()
                    return None
                [outcome] = outcomes
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

    @contextmanager
    def _reading(self) -> Iterator[tuple[File, Query]]:
        in_loop = is_in_a_loop()
        self._wait_for_all(whatever_it_takes=not in_loop)
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
            f"The journal `{self._words}` is a file, which cannot know who writes to it. Write "
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
        with file.reading:
            is_gone = file.is_gone() or file.is_set_back()
        if is_gone:
            with self._lock:
                self._open_again()
        return self._file

    def _open_again(self) -> None:
        if self._is_inherited:
            self._file = File(self._path, self._file.generation, self._lock, personal=self._personal)
            self._is_inherited = False
        if self._file.is_gone():
            self.warn_once(
                f"The journal `{self._path}` was deleted or replaced while it was open. What it held until then is "
                "not in the one that is there now; from here on everything is recorded in that."
            )
            self._file.give_way()
            self._file = File(self._path, self._file.generation + 1, self._lock, personal=self._personal)

    def _explained(self, error: BaseException) -> BaseException:
        if isinstance(error, Exception) and not isinstance(error, self._ours):
            return error
        explained = JournalError(
            f"The journal `{self._words}` cannot be used: {error or type(error).__name__}. "
            + ("The files of a page (JupyterLite) take no database. " if in_a_browser() else "")
            + f"Write `Journal({'memory' if in_a_browser() else '/another/path/journal.sqlite'!r})`, "
            "or `Session(..., journal=None)` to do without one."
        )
        explained.__cause__ = error
        return explained

    # -- a fork -------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Have no thread inside SQLite while this process forks."""
        super().pause()
        self._paused = [lock for lock in (self._lock, self._file.reading) if lock.acquire(timeout=_IN_THE_LOOP)]

    def resume(self) -> None:
        """Go on, in the process that has forked."""
        for lock in self._paused:
            lock.release()
        super().resume()

    def inherit(self) -> None:
        """Go on in the new process: with a connection of its own."""
        self._lock = threading.RLock()
        self._file.inherited(self._lock)
        self._is_inherited = self._path is not None
        self._writer.forget()
