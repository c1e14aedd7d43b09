"""The open questions of a journal as they come and go, put to somebody who looks at them."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Final

from hitl_nb._calls import Call, Handle
from hitl_nb._text import logger
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.errors import HitlError
from hitl_nb.inbox._posting import expires_at, origin_of
from hitl_nb.journal import Count, Filter, Journal, Posted
from hitl_nb.people import Person, ask_in_turn

_log = logger()

AT_MOST: Final = 50
"""Cards at a time; others come as these are answered."""

_LOOK: Final = 2.0
"""Seconds between two looks, whether or not anything was heard."""

_CALM: Final = 0.1
"""Seconds between two looks at the least: a job that asks a thousand things rings a thousand times."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a look has found."""

    posted: list[Posted]
    """The first of the open questions."""

    counts: list[Count]
    """How many are open, and for whom."""

    everybody: list[Count]
    """The same of all, whatever the filter."""


Follower = Callable[[Found], Awaitable[None]]
"""Is told of what a look has found, in the loop."""


@dataclass(eq=False)
class Feed:
    """Looks at a journal whenever its bell rings, once for all who follow."""

    journal: Journal
    _followers: dict[Filter, list[Follower]] = field(default_factory=dict)

    async def follow(self, which: Filter, follower: Follower) -> Callable[[], None]:
        """Tell `follower` of every look, from now on; gives what ends that."""
        self._followers.setdefault(which, []).append(follower)
        await follower(await asyncio.to_thread(self._look, which))

        def stop() -> None:
            with suppress(KeyError, ValueError):
                self._followers[which].remove(follower)
                if not self._followers[which]:
                    del self._followers[which]

        return stop

    async def run(self) -> None:
        """Look, until this is cancelled."""
        loop, rung, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
        ringing = threading.Thread(target=self._ring, args=(loop, rung, over), name="hitl_nb feed", daemon=True)
        ringing.start()
        try:
            while True:
                await rung.wait()
                rung.clear()
                for which in list(self._followers):
                    await self._tell(which)
                await asyncio.sleep(_CALM)
        finally:
            over.set()

    async def _tell(self, which: Filter) -> None:
        try:
            found = await asyncio.to_thread(self._look, which)
        except HitlError as error:
            _log.warning("The inbox cannot be read just now: %s", error)
            return
        for follower in list(self._followers.get(which, ())):
            try:
                await follower(found)
            except Exception:
                _log.exception("A view of the inbox could not be brought up to date")

    def _look(self, which: Filter) -> Found:
        postings = self.journal.postings
        counts = postings.counts(which)
        everybody = counts if which.to is None and which.job is None else postings.counts(Filter())
        return Found(posted=postings.posted(which, at_most=2 * AT_MOST), counts=counts, everybody=everybody)

    def _ring(self, loop: asyncio.AbstractEventLoop, rung: asyncio.Event, over: threading.Event) -> None:
        bell = self.journal.postings.bell()
        try:
            while not over.is_set() and not self.journal.closed and not loop.is_closed():
                try:
                    bell.wait(_LOOK)
                except Exception:  # the database is away; the look says so
                    _log.debug("Not heard", exc_info=True)
                    over.wait(_LOOK)
                with suppress(RuntimeError):  # closed in this very moment
                    loop.call_soon_threadsafe(rung.set)
        finally:
            bell.close()


class Live:
    """Puts the open questions to one person, and lets go of those that somebody else has answered.

    Args:
        journal: Where they are.
        make: Gives the call of a question, open; the same each time.
        person: Who is asked.
        transcript: What they are shown in.
        gone: Told of one that was erased, and when and by whom: it is not to be seen any more.
    """

    def __init__(
        self,
        journal: Journal,
        make: Callable[[Posted], Call],
        person: Person,
        transcript: Transcript,
        gone: Callable[[Call, str], None] = lambda call, words: None,
    ) -> None:
        self._journal, self._make, self._person, self._transcript = journal, make, person, transcript
        self._gone = gone
        self._me = str(getattr(person, "name", ""))
        self._shown: dict[int, tuple[Call, Posted]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def decided(self) -> list[Call]:
        """Those that need nobody any more, in the order in which they came."""
        return [call for call, _ in self._shown.values() if call.outcome is not None]

    async def take(self, found: Found) -> None:
        """Bring what is shown up to date."""
        await self._take_away()
        left = {posted.asked.question: posted for posted in found.posted}
        for question, (call, posted) in list(self._shown.items()):
            if question in left:
                self._retell(call, posted, left[question])
            elif not call.decided:
                await self._let_go(call, posted)
        for question, posted in left.items():
            if question not in self._shown and self._open() < AT_MOST:
                self._ask(posted)

    async def _take_away(self) -> None:
        """Let go of what was erased, whether it was open or decided."""
        if not self._shown:
            return
        erased = await asyncio.to_thread(self._journal.postings.erased, list(self._shown))
        for question, words in erased.items():
            call, _ = self._shown.pop(question)
            handle = Handle.of(call)
            if not handle.taken and (stored := await asyncio.to_thread(self._journal.winner, call)) is not None:
                handle.adopt(stored, mine=False)
            handle.park(words)
            self._gone(call, words)

    def _open(self) -> int:
        return sum(not call.decided for call, _ in self._shown.values())

    def _ask(self, posted: Posted) -> None:
        call = self._make(posted)
        self._shown[posted.asked.question] = call, posted
        Handle.of(call).looked_at = partial(self._look, call)
        Handle.of(call).origin = origin_of(posted, self._me)  # nobody is told that they are looking themselves
        self._transcript.add(CallEntry(key=call.occurrence, call=call))
        task = asyncio.ensure_future(self._answered(call))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answered(self, call: Call) -> None:
        try:
            await ask_in_turn(call, [self._person])
        except HitlError as error:
            Handle.of(call).problem(str(error))

    def _retell(self, call: Call, before: Posted, posted: Posted) -> None:
        self._shown[posted.asked.question] = call, posted
        if (words := origin_of(posted, self._me)) != origin_of(before, self._me):
            Handle.of(call).origin = words
            self._transcript.touch(CallEntry(key=call.occurrence, call=call))

    async def _let_go(self, call: Call, posted: Posted) -> None:
        """Show what became of a question that is not among the open ones any more."""
        handle, expires = Handle.of(call), expires_at(posted)
        stored = await asyncio.to_thread(self._journal.winner, call)
        if stored is not None and not handle.taken:
            handle.adopt(stored, mine=False)
        elif expires is not None and expires <= datetime.now(UTC):
            handle.park("it has ended without an answer")

    def _look(self, call: Call) -> None:
        """Say to the others that this person is at a question."""
        question = next((question for question, (known, _) in self._shown.items() if known is call), None)
        if question is not None and not call.decided:
            self._say(question)

    def _say(self, question: int | None) -> None:
        self._journal.postings.begin_look(question, self._me).add_done_callback(_forgiven)

    def forget(self, call: Call) -> None:
        """Show one no more."""
        for question, (known, _) in list(self._shown.items()):
            if known is call:
                del self._shown[question]

    def close(self) -> None:
        """Ask nothing more here; all of it stays open."""
        self._say(None)
        for task in self._tasks:
            task.cancel()
        for call, _ in self._shown.values():
            Handle.of(call).park("this inbox is not shown any more")


def _forgiven(done: "Future[None]") -> None:
    """A login that may not say so does not; nothing depends on it."""
    if (error := done.exception()) is not None:
        _log.debug("Not said who is looking: %s", error)
