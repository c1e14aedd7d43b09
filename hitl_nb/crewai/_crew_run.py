"""A question of CrewAI's, from whatever thread it comes, in the one loop that can bring its answer.

CrewAI asks from steps in the kernel's loop (`async def`), from worker threads (a plain `def`, a tool), and from threads
with a loop of their own (`Crew.kickoff_async`). So each door through which a run begins (`Flow.kickoff_async`,
`Crew.akickoff`, …) notes the loop that has to stay free; a question goes there, and what ends the run ends its open
questions.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import StringConstraints

from hitl_nb._library import library
from hitl_nb._limits import running_loop
from hitl_nb._waiting import loop_answers
from hitl_nb.errors import Cancelled, LoopBlockedError, UsageError
from hitl_nb.interrupts import home_loop, interrupt
from hitl_nb.people import Person, current_asking

WORDS: Final = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
"""A text with something in it: to CrewAI an empty one means yes, and silence is never a yes."""


def framework(name: str) -> Any:
    """Return a module of CrewAI.

    Raises:
        MissingExtraError: CrewAI is not installed.
    """
    return library(name, extra="crewai", what="Answering CrewAI's questions")


@contextmanager
def replaced(owner: object, name: str, value: object) -> Iterator[None]:
    """Let ``owner.name`` be `value` for a while.

    What somebody else puts there meanwhile stays: it is not ours to take away.
    """
    missing = object()
    # Not `getattr`: a static method, or what a class inherits, must come back as it was.
    before = vars(owner).get(name, missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if vars(owner).get(name, missing) is value:
            if before is missing:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


class Stop(BaseException):
    """Carries an error of a question past every ``except Exception`` of CrewAI.

    There it would be retried (the task runs again, and asks again), swallowed (`Flow.ask` returns None) or told to
    the model as a tool's result. The door that the user's code called gives the error back.
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


@dataclass(kw_only=True, eq=False)
class CrewRun:
    """One run of CrewAI, as far as its questions are concerned."""

    loop: asyncio.AbstractEventLoop | None
    """The loop that brings answers; None where none has to stay free (a plain script)."""

    people: Sequence[Person] | None = None
    """Who is asked: whoever was installed when the run began; None asks as `interrupt` does."""

    waiting: set["Future[object]"] = field(default_factory=set)
    """What the run's worker threads wait for."""

    broken: bool = False
    """Whether it was stopped or failed. Its worker threads may go on, but what they ask is asked no more."""

    def answer_to(self, question: Callable[[], Coroutine[Any, Any, object]]) -> object:
        """Wait in a worker thread for the answer.

        Raises:
            CancelledError: The run breaks off meanwhile, or has been for long.
        """
        if self.broken or self.loop is None:
            raise CancelledError
        answer = asyncio.run_coroutine_threadsafe(question(), self.loop)
        self.waiting.add(answer)
        if self.broken:  # in this very moment
            answer.cancel()
        try:
            return answer.result()
        finally:
            self.waiting.discard(answer)

    def break_off(self) -> None:
        """End every wait: a worker thread cannot be stopped, but what it waits for can."""
        self.broken = True
        for answer in tuple(self.waiting):
            answer.cancel()


_current: ContextVar[CrewRun | None] = ContextVar("hitl_nb_crew_run", default=None)

checks: list[Callable[[object], None]] = []
"""What is asked of everything that is about to run; raising keeps it from it."""

answering: list[Sequence[Person]] = []
"""Whom each `install` named; the last one counts."""


async def ask_from_coroutine(message: str, payload: object = None, **options: Any) -> Any:
    """Ask from a coroutine, whichever loop runs it; arguments, result and errors are those of `interrupt`."""
    run = _current.get() or _new_run()
    if run.loop is None or run.loop is asyncio.get_running_loop():
        return await interrupt(message, payload, **_for_whom(run, options))
    return await asyncio.to_thread(ask_from_thread, message, payload, **options)


def ask_from_thread(message: str, payload: object = None, **options: Any) -> Any:
    """Ask from a worker thread, and block it until the answer is there.

    Raises:
        UsageError: A loop runs in this thread, and may be the one that has to bring the answer.
        LoopBlockedError: The loop that brings the answer stands still.
        Exception: All that `interrupt` raises.
    """
    if running_loop() is not None:
        raise UsageError(
            f"{message!r} was asked in a way that blocks the loop which has to bring the answer. In an async step "
            "write `answer = await hitl_nb.interrupt(...)`, or `await asyncio.to_thread(...)` around the call."
        )
    run = _current.get() or _new_run()

    async def question() -> object:
        return await interrupt(message, payload, **_for_whom(run, options))

    if run.loop is None:
        return asyncio.run(question())
    try:
        if not loop_answers(run.loop):
            raise LoopBlockedError(
                f"The kernel's loop is blocked, so nobody can answer {message!r}. A sync `flow.kickoff()` in a cell "
                "does this; write `await flow.kickoff_async()`."
            )
        return run.answer_to(question)
    except CancelledError:
        raise Cancelled(f"{message!r} was withdrawn: the run that asked it has ended. Nothing was approved.") from None


def _for_whom(run: CrewRun, options: dict[str, Any]) -> dict[str, Any]:
    # A question inside a session's run belongs to the people, and to the screen, of that run; unless it names its own.
    people = run.people if current_asking() is None else None
    return {"kind": "feedback", "people": people, **options}


def _new_run() -> CrewRun:
    return CrewRun(loop=_home(), people=answering[-1] if answering else None)


def _home() -> asyncio.AbstractEventLoop | None:
    try:
        return home_loop()
    except UsageError:
        return running_loop()


# -- the doors ------------------------------------------------------------------------------------------------

Within = Callable[[], AbstractContextManager[None]]

_DOORS = (
    ("crewai.flow.runtime", "Flow", ("kickoff_async", "resume_async")),
    ("crewai.crew", "Crew", ("kickoff", "kickoff_async", "akickoff")),
    ("crewai.agent.core", "Agent", ("kickoff", "kickoff_async", "akickoff")),
    ("crewai.lite_agent", "LiteAgent", ("kickoff", "kickoff_async", "akickoff")),
)


@contextmanager
def doors(within: Within) -> Iterator[None]:
    """Let every way into a run of CrewAI note its loop, and give the user our errors as what they are.

    Args:
        within: Makes the context of each run.
    """
    with ExitStack() as stack:
        for module, owner, names in _DOORS:
            class_ = getattr(framework(module), owner)
            for name in names:
                stack.enter_context(replaced(class_, name, _door(getattr(class_, name), within)))
        yield


def _door(original: Callable[..., object], within: Within) -> Callable[..., object]:
    if inspect.iscoroutinefunction(original):

        @functools.wraps(original)
        async def door(self: object, *args: object, **kwargs: object) -> object:
            with _running(self, within):
                return await original(self, *args, **kwargs)
    else:

        @functools.wraps(original)
        def door(self: object, *args: object, **kwargs: object) -> object:
            with _running(self, within):
                return original(self, *args, **kwargs)

    return door


@contextmanager
def _own_events() -> Iterator[None]:
    """Leave CrewAI's count of events that have begun as it was.

    A run that breaks off leaves its own behind, and after a hundred of them CrewAI refuses to run anything in this
    context, which is a whole notebook's.
    """
    events = framework("crewai.events.event_context")
    begun = getattr(events, "_event_id_stack", None)
    before = () if begun is None else begun.get()
    try:
        yield
    finally:
        events.restore_event_scope(before)


@contextmanager
def _running(owner: object, within: Within) -> Iterator[None]:
    for check in tuple(checks):
        check(owner)
    outer = _current.get()
    run = outer or _new_run()
    token = _current.set(run)
    try:
        with within(), _own_events() if outer is None else nullcontext():
            yield
    except BaseException as error:
        if outer is None:
            run.break_off()
        # An agent's executor is a Flow as well, but what it raises is retried by its agent.
        if isinstance(error, Stop) and not hasattr(owner, "_invoke_loop"):
            raise error.error from error.error.__cause__
        raise
    finally:
        _current.reset(token)
