"""What the journal asks of a database, whichever it is, and the one thread that writes to it.

The SQL above this line is portable: ``?`` for parameters, no functions that one database only has, and every table,
index and trigger made by the store itself. What a database raises stays below: a journal sees `AlreadyThere`, its users
see `JournalError`.

Who writes never is in anybody's way. A database that another process has locked, or a disk that is slow to sync, must
not hold up the kernel's loop: pieces are written by a thread of their own, in the order in which they began. What piled
up meanwhile goes into one transaction, so a thousand answers at once are a handful of commits.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

_T = TypeVar("_T")

Value: TypeAlias = str | int | float | None
"""What a column holds."""

Columns: TypeAlias = Mapping[str, Value]
"""Column → value; what is not there is NULL."""

Row: TypeAlias = tuple[object, ...]
"""What a query finds; who asks knows what stands in it."""

Outcome: TypeAlias = tuple[object, BaseException | None]
"""What a piece of work gave, or raised."""

PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing; its transactions take milliseconds."""


class AlreadyThere(Exception):  # noqa: N818 - what is the case
    """The question has an answer (a start, an end, a delivery) already; nothing was appended."""


class Unusable(Exception):  # noqa: N818 - what is the case
    """The database can take or give nothing any more, and why."""


class Locked(Exception):  # noqa: N818 - what is the case; never leaves the store
    """Another process holds the lock; nothing was done."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Query(Protocol):
    """Returns the rows that an SQL text with parameters finds."""

    def __call__(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]: ...


class Transaction(Protocol):
    """Appends rows, all or none; given to whatever is to be written."""

    @property
    def generation(self) -> int:
        """Which file it is: the one that was opened first, or one that has taken its place since."""

    @property
    def scratch(self) -> dict[object, object]:
        """What one piece of work leaves for the next of the same transaction; emptied if either fails."""

    def one(self, sql: str, parameters: tuple[Value, ...] = (), /) -> Row | None:
        """Return the first row that a query finds, or None."""

    def rows(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return all rows that a query finds."""

    def execute(self, statement: str, parameters: tuple[Value, ...] = (), /) -> None:
        """Do something beside the events, that finds nothing."""

    def announce(self, what: str, question: int) -> None:
        """Have the bell ring for what is no event."""

    def append(self, event: str, columns: Columns) -> int:
        """Append one event and return its id.

        Args:
            event: What happened.
            columns: The others; without ``ts`` it happened now, without ``question`` the row is a question itself.

        Raises:
            AlreadyThere: There can be only one such event a question; nothing was appended, the others stay.
        """

    def after(self, note: Callable[[], None]) -> None:
        """Have `note` called once all this is on disk; never, if it is not."""


class Bell(Protocol):
    """Rings when anybody has appended something; for one thread."""

    def wait(self, seconds: float) -> None:
        """Return when it has rung, or after `seconds`; raises whatever the database does when it is away."""

    def close(self) -> None:
        """Hear nothing more."""


class Store(Protocol):
    """A table of events that is appended to; safe from any thread.

    What goes wrong in the database is raised as a `JournalError`, by every method.
    """

    @property
    def head(self) -> str:
        """The hash of the last row that this process knows of."""

    @property
    def generation(self) -> int:
        """How often another database has taken the place of the one that was opened."""

    @property
    def closed(self) -> bool:
        """Whether it takes nothing more."""

    def begin(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> "Future[_T]":
        """Append in one transaction, all or nothing, after all that began before.

        Args:
            append: Appends the rows, in the writing thread; may be called again.
            durable: Whether they have to survive a power failure, not only the end of this process.

        Returns:
            What `append` gives, once it is on disk; or a `JournalError`: nothing was written then.
        """

    def write(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> _T:
        """Do the same and wait for it; that spares two changes of threads."""

    def rows(self, sql: str, parameters: tuple[Value, ...] = ()) -> list[Row]:
        """Return what a query finds, also of what this process has begun to write before."""

    def read(self, work: Callable[[Query], _T]) -> _T:
        """Return what `work` makes of queries that all see the same moment, while other processes write.

        Args:
            work: Reads; called again, if the connection is lost meanwhile.
        """

    def all_rows(self) -> Iterator[Row]:
        """Return every row in order, without holding them all at once."""

    def believes(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are what was written, from the earliest of them to the end; says so once if not.

        Args:
            query: Reads them.
            ids: The rows that something would be done because of.
            uncommitted: Whether `query` is a transaction's.
        """

    def warn_once(self, words: str) -> None:
        """Say something in the log, once."""

    @property
    def knows_people(self) -> bool:
        """Whether the database itself says who may answer, and in whose name."""

    @property
    def login(self) -> str | None:
        """As whom the database knows this process; None where it knows nobody."""

    def set_up_people(self) -> None:
        """Make the database know people."""

    def wipe(self) -> None:
        """Leave nothing of what was erased where it was, as far as this is in one's hand."""

    def bell(self) -> Bell:
        """Return what rings when anybody has appended something."""

    def close(self) -> None:
        """Write what has begun and close it; it is an error to use the store afterwards."""

    def let_go(self) -> None:
        """Do the same without waiting for it."""


# -- the one thread that writes ---------------------------------------------------------------------------------------

_MOST: Final = 64
"""Pieces in one transaction."""


@dataclass(eq=False)
class Work(Generic[_T]):
    """One piece: all of it is written, or nothing."""

    append: Callable[[Transaction], _T]
    """Appends the rows; may be called again if the first attempt came to nothing."""

    durable: bool
    """Whether it has to survive a power failure."""

    future: "Future[_T]" = field(default_factory=Future)
    """Done once it is on disk."""

    give_up: float | None = None
    """When to stop waiting for another process; set when the waiting begins."""


_Piece: TypeAlias = Work[Any]


class _WriterThread(threading.Thread):
    """Told from all others."""


class Writer:
    """Takes pieces of work from any thread.

    Args:
        commit: Writes some in one transaction, or raises `Locked`; what else it raises is the end of them all.
        commit_one: Writes one; gives None if that has to wait.
        explained: Gives what to raise in the place of an error.
        ended: Called when all is written after `close`.
        in_place: Whether to write in the caller's thread: memory never has to be waited for.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[_Piece]], list[Outcome]],
        commit_one: Callable[[Callable[[Transaction], object], bool], Outcome | None],
        explained: Callable[[BaseException], BaseException],
        ended: Callable[[], None],
        *,
        in_place: bool,
    ) -> None:
        self._commit = commit
        self._commit_one = commit_one
        self._explained = explained
        self._ended = ended
        self._in_place = in_place
        self._queue: deque[_Piece] = deque()
        self._thread: threading.Thread | None = None
        self._begun = self._done = 0
        self._is_held_up = self._pausing = False
        self.closed = False
        self._new_locks()

    def _new_locks(self) -> None:
        self._changed = threading.Condition()
        self._turn = threading.RLock()
        """Held while some are written: whoever writes takes the oldest."""

    # -- for whoever has something to write ---------------------------------------------------------------

    def begin(self, append: Callable[[Transaction], _T], *, durable: bool) -> "Future[_T]":
        """Have rows appended after all that began before, and give what will have come of it.

        The future cannot be cancelled: what began is written, whether or not anybody waits for it.
        """
        future = self._queued(Work(append, durable))
        with self._changed:
            elsewhere = self._has_thread()
            self._changed.notify_all()
        if not elsewhere:
            self._drain()
        return future

    def write(self, append: Callable[[Transaction], _T], *, durable: bool) -> _T:
        """Do the same and wait for it; where nothing else waits, it is written here and now."""
        with self._turn:
            # The usual case, and the shortest way.
            is_free = not (self._queue or self._pausing or self.closed)
            outcome = self._commit_one(append, durable) if is_free else None
        if outcome is None:
            future = self._queued(Work(append, durable))
            self._drain()
            return future.result()
        result, error = outcome
        if error is not None:
            # The stop button is the stop button.
            raise self._explained(error) if isinstance(error, Exception) else error
        return cast("_T", result)

    def _queued(self, work: Work[_T]) -> "Future[_T]":
        future = work.future
        future.set_running_or_notify_cancel()
        with self._changed:
            if self.closed:
                future.set_exception(self._explained(Unusable("it is closed")))
            else:
                self._queue.append(work)
                self._begun += 1
        return future

    def wait_for_all(self, *, whatever_it_takes: bool) -> None:
        """Wait until all that began before is written.

        Args:
            whatever_it_takes: Also wait where another process has locked the file; else give up as soon as it has.
        """
        if isinstance(threading.current_thread(), _WriterThread):
            return  # a callback of what is written already; waiting would be for itself
        with self._changed:
            last = self._begun
            self._changed.wait_for(lambda: self._done >= last or (self._is_held_up and not whatever_it_takes))

    def close(self, *, wait: bool) -> None:
        """Take nothing more, and end once all is written; with `wait`, that is so afterwards."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
            thread, is_idle = self._thread, self._done >= self._begun
        if wait and thread is not None and thread is not threading.current_thread():
            thread.join()
            is_idle = True
        if is_idle or thread is None:
            self._ended()

    # -- a fork -------------------------------------------------------------------------------------------

    def pause(self) -> None:
        """Stop writing, between two transactions."""
        with self._changed:
            self._pausing = True
            self._changed.notify_all()
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
            self._thread = None

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._pausing = False
            elsewhere = not self._queue or self._has_thread()
        if not elsewhere:
            self._drain()

    def forget(self) -> None:
        """Be a forked process's: what began before is the parent's to write."""
        left = list(self._queue)
        self._queue.clear()
        self._thread, self._pausing, self._done = None, False, self._begun
        self._new_locks()
        error = Unusable("the process that this one was forked from writes it")
        for work in left:
            work.future.set_exception(self._explained(error))

    # -- writing ------------------------------------------------------------------------------------------

    def _has_thread(self) -> bool:
        """Whether there is a thread for it; started if need be. Held: `_changed`."""
        if self._in_place or (self.closed and not self._queue):
            return False
        if self._thread is None or not self._thread.is_alive():
            thread = _WriterThread(target=self._run, name="hitl_nb journal", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # a platform without threads, or an interpreter that is shutting down
                return False
            self._thread = thread
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._pausing or self.closed)
                if self._pausing or not self._queue:
                    break
            self._drain()
        if self.closed and not self._queue:
            self._ended()

    def _drain(self) -> None:
        """Write what there is, in order."""
        while some := self._written():
            # Without the lock: whoever waits for it may go on and have something to write.
            for work, (result, error) in some:
                if error is None:
                    work.future.set_result(result)
                else:
                    work.future.set_exception(self._explained(error))

    def _written(self) -> list[tuple[_Piece, Outcome]]:
        """Write the oldest and give what came of them; nothing, if there are none or writing has to pause."""
        with self._turn:
            some = [self._queue.popleft() for _ in range(min(len(self._queue), _MOST))]
            outcomes = self._attempts(some) if some else []
            if outcomes is None:
                self._queue.extendleft(reversed(some))
                return []
            if some:
                with self._changed:
                    self._done += len(some)
                    self._changed.notify_all()
            return list(zip(some, outcomes, strict=True))

    def _attempts(self, some: Sequence[_Piece]) -> list[Outcome] | None:
        """Return what came of them, after waiting for other processes; None if writing has to pause first."""
        while not self._pausing:
            try:
                outcomes = self._commit(some)
            except Locked as locked:
                if self._is_in_vain(some):
                    outcomes = [(None, locked.error)] * len(some)
                else:
                    self._hold_up(True)
                    continue
            except BaseException as error:  # it belongs to whoever waits for this work
                outcomes = [(None, error)] * len(some)
            if self._is_held_up:
                self._hold_up(False)
            return outcomes
        return None

    def _is_in_vain(self, some: Sequence[_Piece]) -> bool:
        now = time.monotonic()
        for work in some:
            work.give_up = work.give_up or now + PATIENCE
        return any(now >= (work.give_up or now) for work in some)

    def _hold_up(self, is_held_up: bool) -> None:
        with self._changed:
            self._is_held_up = is_held_up
            self._changed.notify_all()
