"""A question of CrewAI's, from whatever thread it comes, in the one loop that can bring its answer.

CrewAI asks from steps in the kernel's loop, from worker threads, and from threads with a loop of their own
(facts/crewai.md §2.2). So each door through which a run begins (`Flow.kickoff_async`, `Crew.akickoff`, …) notes the
loop that has to stay free; a question goes there, and what ends the run ends its open questions.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from hitl_nb._waiting import loop_answers
from hitl_nb.crewai._patch import framework, replaced
from hitl_nb.errors import Cancelled, LoopBlockedError, UsageError
from hitl_nb.interrupts import home_loop, interrupt
from hitl_nb.people import Person, current_asking


class Stop(BaseException):
    """Carries an error of a question past every ``except Exception`` of CrewAI.

    There it would be retried (the task runs again, and asks again), swallowed (`Flow.ask` returns None) or told to
    the model as a tool's result (facts/crewai.md §4). The door that the user's code called gives the error back.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def stopping() -> Iterator[None]:
    """Raise whatever goes wrong in here as a `Stop`."""
    try:
        yield
    except Exception as error:
        raise Stop(error) from None


@dataclass(frozen=True, kw_only=True)
class CrewRun:
    """One run of CrewAI, as far as its questions are concerned."""

    loop: asyncio.AbstractEventLoop | None
    """The loop that brings answers; None where none has to stay free (a plain script)."""

    waiting: set["Future[Any]"] = field(default_factory=set)
    """What the run's worker threads wait for."""


_current: ContextVar[CrewRun | None] = ContextVar("hitl_nb_crew_run", default=None)

answering: list[Sequence[Person]] = []
"""Whom each `install` named; the last one counts."""


async def ask(message: str, payload: Any = None, **options: Any) -> Any:
    """Ask from a coroutine, whichever loop runs it; arguments, result and errors are those of `interrupt`."""
    run = _current.get()
    home = run.loop if run is not None else _home()
    if home is None or home is asyncio.get_running_loop():
        return await interrupt(message, payload, **_for_whom(options))
    return await asyncio.to_thread(ask_blocking, message, payload, **options)


def ask_blocking(message: str, payload: Any = None, **options: Any) -> Any:
    """Ask from a worker thread, and block it until the answer is there.

    Raises:
        UsageError: A loop runs in this thread, and may be the one that has to bring the answer.
        LoopBlockedError: The loop that brings the answer stands still.
        Exception: All that `interrupt` raises.
    """
    if _loop_here() is not None:
        raise UsageError(
            f"{message!r} was asked in a way that blocks the loop which has to bring the answer. In an async step "
            "write `answer = await hitl_nb.interrupt(...)`, or `await asyncio.to_thread(...)` around the call."
        )
    run = _current.get() or CrewRun(loop=_home())
    asked = interrupt(message, payload, **_for_whom(options))
    if run.loop is None:
        return asyncio.run(asked)
    if not loop_answers(run.loop):
        asked.close()
        raise LoopBlockedError(
            f"The kernel's loop is blocked, so nobody can answer {message!r}. A sync `flow.kickoff()` in a cell "
            "does this; write `await flow.kickoff_async()`."
        )
    answer = asyncio.run_coroutine_threadsafe(asked, run.loop)
    run.waiting.add(answer)
    try:
        return answer.result()
    except CancelledError:
        raise Cancelled(f"{message!r} was withdrawn: the run that asked it has ended. Nothing was approved.") from None
    finally:
        run.waiting.discard(answer)


def _for_whom(options: dict[str, Any]) -> dict[str, Any]:
    # A question inside a session's run belongs to the people, and to the screen, of that run.
    people = answering[-1] if answering and current_asking() is None else None
    return {"kind": "feedback", "people": people, **options}


def _home() -> asyncio.AbstractEventLoop | None:
    try:
        return home_loop()
    except UsageError:
        return _loop_here()


def _loop_here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


# -- the doors ------------------------------------------------------------------------------------------------

_DOORS = (
    ("crewai.flow.runtime", "Flow", ("kickoff_async", "resume_async")),
    ("crewai.crew", "Crew", ("kickoff", "kickoff_async", "akickoff")),
    ("crewai.agent.core", "Agent", ("kickoff", "kickoff_async", "akickoff")),
)


@contextmanager
def doors() -> Iterator[None]:
    """Let every way into a run of CrewAI note its loop, and give the user our errors as what they are."""
    with ExitStack() as stack:
        for module, owner, names in _DOORS:
            class_ = getattr(framework(module), owner)
            for name in names:
                stack.enter_context(replaced(class_, name, _door(getattr(class_, name))))
        yield


def _door(original: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def door(self: Any, *args: Any, **kwargs: Any) -> Any:
            with _running(self):
                return await original(self, *args, **kwargs)
    else:

        @functools.wraps(original)
        def door(self: Any, *args: Any, **kwargs: Any) -> Any:
            with _running(self):
                return original(self, *args, **kwargs)

    return door


@contextmanager
def _running(owner: Any) -> Iterator[None]:
    outer = _current.get()
    run = outer or CrewRun(loop=_home())
    token = _current.set(run)
    try:
        yield
    except Stop as stop:
        # An agent's executor is a Flow as well, but what it raises is retried by its agent.
        if hasattr(owner, "_invoke_loop"):
            raise
        raise stop.error from stop.error.__cause__
    finally:
        _current.reset(token)
        if outer is None:
            # A worker thread cannot be stopped, but what it waits for can.
            for answer in tuple(run.waiting):
                answer.cancel()
