"""Whom to ask here and now: the people and the transcript of the run that this code is part of.

A Flow step that calls `interrupt` is part of a session's run and asks on that run's screen; a plain cell is not. The
run is found by a context variable, which tasks, Flow steps and ``asyncio.to_thread`` inherit.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.errors import NoHumanError
from hitl_nb.people._person import Person, nobody_answered


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

    async def ask(self, call: Call) -> None:
        """Show the call and have it decided.

        Raises:
            NoHumanError: Everybody passed, or nobody can be asked.
            Exception: Whatever a person raised; the call is then still open.
        """
        if call not in self.transcript:
            self.transcript.add(CallEntry(key=call.id, call=call))
        await ask_in_turn(call, self.people)


async def ask_in_turn(call: Call, people: Sequence[Person]) -> None:
    """Put a call to one person after the other until it is decided.

    Raises:
        NoHumanError: Everybody passed, or nobody can be asked.
        Exception: Whatever a person raised; the call is then still open.
    """
    for person in people:
        if call.decided:  # by code, a moment ago: nobody is to be asked for nothing
            return
        call._is_put_to(person)
        await person(call)
    if not call.decided:
        raise NoHumanError(nobody_answered(call, "every one of `people` passed"))


_current: ContextVar[Asking | None] = ContextVar("hitl_nb_asking", default=None)


def current_asking() -> Asking | None:
    """Give the run that this code is part of, or None."""
    return _current.get()


@contextmanager
def asking(people: Sequence[Person], transcript: Transcript, journal: Any = None) -> Iterator[Asking]:
    """Make these people the ones that are asked by code below, in this task and all that it starts."""
    found = Asking(people=people, transcript=transcript, loop=asyncio.get_running_loop(), journal=journal)
    token = _current.set(found)
    try:
        yield found
    finally:
        _current.reset(token)
