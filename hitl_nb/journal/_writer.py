"""The one thread that writes: piece by piece in the order in which they began, and never in anybody's way.

A database that another process has locked, or a disk that is slow to sync, must not hold up the kernel's loop. What
piled up meanwhile goes into one transaction, so a thousand answers at once are a handful of commits.
"""

import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final

from hitl_nb.journal._file import PATIENCE, Locked
from hitl_nb.journal._transaction import Outcome, Transaction

_MOST: Final = 64
"""Pieces in one transaction."""


@dataclass(eq=False)
class Work:
    """One piece: all of it is written, or nothing."""

    append: Callable[[Transaction], Any]
    """Appends the rows; may be called again if the first attempt came to nothing."""

    durable: bool
    """Whether it has to survive a power failure."""

    future: Future[Any] = field(default_factory=Future)
    """Done once it is on disk."""

    give_up: float | None = None
    """When to stop waiting for another process; set when the waiting begins."""


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
        commit: Callable[[Sequence[Work]], list[Outcome]],
        commit_one: Callable[[Callable[[Transaction], Any], bool], Outcome | None],
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
        self._queue: deque[Work] = deque()
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

    def begin(self, append: Callable[[Transaction], Any], *, durable: bool) -> Future[Any]:
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

    def write(self, append: Callable[[Transaction], Any], *, durable: bool) -> Any:
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
        return result

    def _queued(self, work: Work) -> Future[Any]:
        future = work.future
        future.set_running_or_notify_cancel()
        with self._changed:
            if self.closed:
                future.set_exception(self._explained(sqlite3.ProgrammingError("it is closed")))
            else:
                self._queue.append(work)
                self._begun += 1
        return future

    def settle(self, *, whatever_it_takes: bool) -> None:
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
        error = sqlite3.ProgrammingError("the process that this one was forked from writes it")
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
            for future, (result, error) in some:
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(self._explained(error))

    def _written(self) -> list[tuple[Future[Any], Outcome]]:
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
            return [(work.future, outcome) for work, outcome in zip(some, outcomes, strict=True)]

    def _attempts(self, some: Sequence[Work]) -> list[Outcome] | None:
        """Give what came of them, after waiting for other processes; None if writing has to pause first."""
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

    def _is_in_vain(self, some: Sequence[Work]) -> bool:
        now = time.monotonic()
        for work in some:
            work.give_up = work.give_up or now + PATIENCE
        return any(now >= (work.give_up or now) for work in some)

    def _hold_up(self, is_held_up: bool) -> None:
        with self._changed:
            self._is_held_up = is_held_up
            self._changed.notify_all()
