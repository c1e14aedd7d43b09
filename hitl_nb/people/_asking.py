"""Putting a call to people: whose turn it is, for how long, what rules forbid, where it is seen, whom to ask here.

A Flow step that calls `interrupt` is part of a session's run and asks on that run's screen; a plain cell is not. The
run is found by a context variable, which tasks, Flow steps and ``asyncio.to_thread`` inherit.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hitl_nb import _kernel
from hitl_nb._calls import Call, Handle
from hitl_nb._limits import contained
from hitl_nb._text import logger
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.cards import display_record
from hitl_nb.errors import NoHumanError
from hitl_nb.people._person import Person, nobody_answered

_log = logger()


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Who is asked, where it is shown, and in whose loop."""

    people: Sequence[Person]
    """In turn; the first that answers wins."""

    transcript: Transcript
    """What the questions are added to."""

    loop: asyncio.AbstractEventLoop
    """The loop that has to stay free for an answer to arrive."""

    journal: Any = None
    """Where questions and answers are recorded (`hitl_nb.journal.Journal`), or None."""

    def show(self, call: Call) -> None:
        """Put the call on the screen, or into what will be its record."""
        if call not in self.transcript:
            self.transcript.add(CallEntry(key=call.occurrence, call=call))

    async def ask(self, call: Call) -> None:
        """Show the call and have it decided.

        Raises:
            NoHumanError: Everybody passed, or nobody can be asked.
            Exception: Whatever a person raised; the call is then still open.
        """
        self.show(call)
        await ask_in_turn(call, self.people)


async def ask_in_turn(call: Call, people: Sequence[Person]) -> None:
    """Put a call to one person after the other until it is decided; what a rule forbids is put to nobody.

    Raises:
        NoHumanError: Everybody passed, or nobody can be asked.
        JournalError: Somebody has answered, and that could not be written down.
        Exception: Whatever a person raised; the call is then still open.
    """
    handle = Handle.of(call)
    await handle.settled()  # an answer that code has just given: if it cannot be kept, somebody is asked
    consult(call, people)
    for person in people:
        if handle.taken:  # nobody is to be asked for nothing
            break
        with handle.turns.put_to(person, apart=len(people) > 1) as theirs:
            with contained(f"Whoever was asked about `{call.name}`"):
                await person(theirs)
            await handle.written()
    await handle.settled()
    if not handle.taken:
        raise NoHumanError(nobody_answered(call, "every one of `people` passed"))


async def in_time(work: Awaitable[object], seconds: float | None) -> bool:
    """Await `work`, at most so long; gives whether it came to its end.

    Raises:
        TimeoutError: One that `work` itself has raised: a fault, and nothing that expired.
    """
    if seconds is None:
        await work
        return True
    try:
        async with asyncio.timeout(seconds) as limit:
            await work
    except TimeoutError:
        if not limit.expired():
            raise
        return False
    return True


def consult(call: Call, people: Iterable[object]) -> bool:
    """Ask every rule, wherever it stands, whether it forbids this: then the call is declined, before any memory.

    Returns:
        Whether what was decided earlier may answer: not where something forbids it, or a rule cannot tell.
    """
    handle = Handle.of(call)
    for person, counts in _rules(people, counts=True):
        if id(person) in handle.consulted:
            continue
        handle.consulted.add(id(person))
        try:
            denied = person.denial(call)
        except Exception:
            # A rule that cannot tell has not forbidden it; but nor has anybody allowed it.
            _log.exception("A rule failed on `%s` (%s); the next person is asked", call.name, call.id)
            handle.may_recall = False
            continue
        if denied is not None and counts and not handle.taken:
            with handle.turns.put_to(person):
                call.decline(denied, by=f"policy: {denied}", via="policy")
        if denied is not None:
            handle.may_recall = False
    return handle.may_recall


def may_recall(call: Call, people: Iterable[object]) -> bool:
    """Whether what was decided earlier may answer a question that is not open yet; nothing is declined by this."""
    try:
        return all(person.denial(call) is None for person, _ in _rules(people, counts=True))
    except Exception:
        _log.exception("A rule failed on `%s` (%s); a person is asked", call.name, call.id)
        return False


def _rules(people: Iterable[object], *, counts: bool) -> Iterator[tuple[Any, bool]]:
    """Everybody who can forbid, and whether that counts now; whoever is asked only later forbids later."""
    for person in people:
        if hasattr(person, "denial"):
            yield person, counts
        yield from _rules(getattr(person, "members", ()), counts=counts)
        yield from _rules(getattr(person, "later_members", ()), counts=False)


_current: ContextVar[Asking | None] = ContextVar("hitl_nb_asking", default=None)


def current_asking() -> Asking | None:
    """Return the run that this code is part of, or None."""
    return _current.get()


@contextmanager
def asking(people: Sequence[Person], transcript: Transcript, journal: object = None) -> Iterator[Asking]:
    """Make these people the ones that are asked by code below, in this task and all that it starts."""
    found = Asking(people=people, transcript=transcript, loop=asyncio.get_running_loop(), journal=journal)
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)


# -- where it is seen ---------------------------------------------------------------------------------------------


def clicks_delivered() -> AbstractContextManager[None]:
    """Have clicks delivered while a cell awaits; code in a worker thread leaves the kernel's thread to itself."""
    return _kernel.delivering() if _kernel.in_thread_of_kernel() else nullcontext()


@contextmanager
def showing(people: Sequence[object], transcript: Transcript) -> Iterator[None]:
    """Let everybody who wants to follow the run follow it; without any, leave its record in the cell at the end.

    A scripted person, a policy or an absent one gets no live widget but the same record, so that tutorials have
    the same output in CI as on screen.
    """
    shown = False
    try:
        with ExitStack() as stack:
            for person in people:
                if hasattr(person, "watch"):
                    shown = bool(stack.enter_context(person.watch(transcript))) or shown
            yield
    finally:
        if not shown and (_kernel.current_kernel() is not None or _kernel.marimo_notebook() is not None):
            display_record(transcript)
