"""A coroutine that can be awaited and nothing else, and says so when it is dropped."""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from hitl_nb._awaiting._question import NotAnAnswer, Question, Words, say
from hitl_nb._transcript import Transcript
from hitl_nb._waiting import stopped_in_a_line
from hitl_nb.errors import AlreadyAwaitedError, UsageError

T_co = TypeVar("T_co", covariant=True)

_NOBODY = -1
_NOT_BEGUN = {"cr_running": False, "cr_suspended": False, "cr_frame": None, "cr_await": None}


class Unawaited(NotAnAnswer, Coroutine[Any, Any, T_co], Generic[T_co]):
    """What asks, before its ``await``: nothing has happened yet.

    Whatever takes a coroutine takes it. The real coroutine is made at the first step, in the context of whoever takes
    it; a second ``await`` raises, and never asks again.

    Args:
        make: Gives the real coroutine. It must not hold this object, which would then be dropped late and silently.
        words: What errors say.
    """

    __slots__ = ("__weakref__", "_make", "_quiet", "_real", "_stepper", "_words")

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T_co]], words: Words) -> None:
        self._words = words
        self._make: Callable[[], Coroutine[Any, Any, T_co]] | None = make
        self._real: Coroutine[Any, Any, T_co] | None = None
        self._stepper = _NOBODY
        self._quiet = False

    def __await__(self) -> Generator[Any, Any, T_co]:
        __tracebackhide__ = True
        return self._begun().__await__()

    def send(self, value: object, /) -> Any:
        """Take the next step; asyncio's tasks do."""
        __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
        real = self._stepped()
        try:
            return real.send(value)
        except BaseException:
            self._stepper = _NOBODY
            raise

    def throw(self, typ: Any, val: Any = None, tb: TracebackType | None = None, /) -> Any:
        """Raise inside, at the point where it waits; before its first step it is over, and nothing was asked."""
        __tracebackhide__ = True
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ(val)
        if tb is not None:
            error = error.with_traceback(tb)
        if self._make is not None:
            self._make = None
            raise error
        real = self._stepped()
        try:
            return real.throw(error)
        except BaseException:
            self._stepper = _NOBODY
            raise

    def close(self) -> None:
        """End it; before its first step nothing was asked, and that is meant."""
        self._make = None
        if self._real is not None:
            self._real.close()

    def _take(self) -> Callable[[], Coroutine[Any, Any, T_co]]:
        """Return what makes the real coroutine; once."""
        __tracebackhide__ = True
        if self._make is None:
            raise AlreadyAwaitedError(
                f"`{self._words.call}` was awaited, started or closed before, and does not begin a second time. "
                f"Keep what it gives: write {self._words.line()}, and use that."
            )
        make, self._make = self._make, None
        return make

    def _begun(self) -> Coroutine[Any, Any, T_co]:
        __tracebackhide__ = True
        self._real = _in_foreground(self._take())
        return self._real

    def _stepped(self) -> Coroutine[Any, Any, T_co]:
        """Return the real coroutine to the one task that steps it: a second task would break into the first's wait."""
        __tracebackhide__ = True
        stepper = _task()
        if self._real is not None and self._stepper == stepper:
            return self._real
        real = self._begun()
        self._stepper = stepper
        return real

    def _excuse(self) -> str:
        words = self._words
        state = f"{words.nothing} yet" if self._make is not None else "its answer is what its `await` gives"
        return f"`{words.call}` without `await`: {state}. Write {words.line()}"

    def _told(self) -> None:
        self._quiet = True

    def __repr__(self) -> str:
        words = self._words
        if self._make is None:
            return f"<{words.call}: it was awaited, and is not its answer. Write {words.line()}>"
        return f"<{words.call} without await: {words.nothing} yet. Write {words.line()}>"

    def __del__(self) -> None:
        try:
            if self._make is not None and not self._quiet:
                words = self._words
                say(f"`{words.call}` was never awaited: {words.nothing}. Write {words.line()}.")
        except Exception:
            pass

    if not TYPE_CHECKING:

        def __bool__(self) -> bool:
            __tracebackhide__ = True
            # From Python 3.12 on, asyncio tests its coroutine for truth to write a task's repr, as `asyncio.run` does.
            if sys._getframe(1).f_globals.get("__name__") == "asyncio.base_tasks":
                return True
            self._refuse("bool()")

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            if name in Unawaited.__slots__:  # not made by `__init__`
                raise AttributeError(name)
            if name in ("__name__", "__qualname__"):  # how asyncio names it in a task's repr
                return self._words.call.partition("(")[0]
            if self._real is not None and name.startswith("cr_"):
                return getattr(self._real, name)
            if name in _NOT_BEGUN:
                return _NOT_BEGUN[name]
            return super().__getattr__(name)


async def _in_foreground(make: Callable[[], Coroutine[Any, Any, T_co]]) -> T_co:
    __tracebackhide__ = True  # IPython's: an error shows the user's line, not ours
    with stopped_in_a_line("stopped. What was still open is not approved."):
        return await make()


def _task() -> int:
    # Its id, because a task that holds a coroutine that holds the task is freed late.
    try:
        return id(asyncio.current_task())
    except RuntimeError:  # no loop: somebody steps it by hand
        return 0


class Unasked(Unawaited[T_co]):
    """A question before its ``await``; ``.start()`` asks it in the background.

    Args:
        make: As for `Unawaited`.
        words: What errors say.
        stage: Opens and shows the transcript in the cell that starts the question; see `Question.take_staged`.
    """

    __slots__ = ("_stage",)

    def __init__(
        self,
        make: Callable[[], Coroutine[Any, Any, T_co]],
        words: Words,
        stage: Callable[[], AbstractContextManager[Transcript | None]] | None = None,
    ) -> None:
        super().__init__(make, words)
        self._stage = stage

    def start(self) -> Question[T_co]:
        """Ask now and go on in the background; await the `Question` in a later cell.

        Raises:
            UsageError: No event loop is running.
            AlreadyAwaitedError: It was awaited or started before.
        """
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._told()
            raise UsageError(
                f"`{self._words.call}.start()` needs a running event loop, as a notebook has one. In a script, write "
                f"{self._words.line()} inside `async def main(): ...`, and `asyncio.run(main())`."
            ) from None
        return Question(self._take(), self._words, self._stage)
