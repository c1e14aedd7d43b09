"""A question that was started and goes on without anybody waiting for it: the two-cell form of a checkpoint.

Whatever Python can do with a value is refused in words: an answer is only what ``await`` gives.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, SupportsIndex, TypeVar

from hitl_nb._calls import Call, live_for_marimo, show_live
from hitl_nb._kernel import delivery, in_voila
from hitl_nb._limits import contained, words_of
from hitl_nb._text import said_line
from hitl_nb._transcript import Transcript
from hitl_nb._waiting import TICK, heartbeat, stopped_in_a_line
from hitl_nb.errors import (
    LoopBlockedError,
    NotApproved,
    NotAwaitedAttributeError,
    NotAwaitedError,
    RunStopped,
    UsageError,
)

MYPY = False
"""True to mypy, whatever it is here."""

_REFUSED = {
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
    "+": "add radd iadd pos",
    "-": "sub rsub isub neg",
    "*": "mul rmul imul",
    "@": "matmul rmatmul imatmul",
    "/": "truediv rtruediv itruediv",
    "//": "floordiv rfloordiv ifloordiv",
    "%": "mod rmod imod",
    "divmod()": "divmod rdivmod",
    "**": "pow rpow ipow",
    "<<": "lshift rlshift ilshift",
    ">>": "rshift rrshift irshift",
    "&": "and rand iand",
    "|": "or ror ior",
    "^": "xor rxor ixor",
    "~": "invert",
    "abs()": "abs",
    "round()": "round trunc floor ceil",
    "int()": "int",
    "float()": "float",
    "complex()": "complex",
    "index()": "index",
    "bytes()": "bytes",
    "open()": "fspath",
    "format()": "format",
    "len()": "len length_hint",
    "[]": "getitem setitem delitem",
    "in": "contains",
    "for": "iter reversed",
    "async for": "aiter",
    "with": "enter exit",
    "async with": "aenter aexit",
    "()": "call",
}
"""How it stands in the code, and the special methods behind it. No ``__next__``: asyncio would step an iterator."""


@dataclass(frozen=True, slots=True)
class Words:
    """How a question is called in errors, and what has to be written instead."""

    call: str
    """The expression as it stands in the code: ``approve('Drop?')``; see `line_of`."""

    write: str = "answer = await {}"
    """The line to write, with ``{}`` where the expression goes: ``if await {}:``."""

    nothing: str = "nothing was asked"
    """What has not happened as long as nobody awaits."""

    def line(self, subject: str | None = None) -> str:
        """Return the line to write, in backticks; `subject` is awaited in it, by default the expression itself."""
        return f"`{self.write.format(subject or self.call)}`"


def line_of(function: str, message: object = ..., *, more: bool = False) -> str:
    """Return a call as it stands in the code, on one line: ``approve('Drop?', ...)``.

    Args:
        function: The function's name.
        message: Its first argument; only text is shown, and not much of it, for it goes to screens and logs.
        more: Whether further arguments were given.
    """
    if not isinstance(message, str):
        return f"{function}(...)"
    shown = message if len(message) <= 60 else f"{message[:59]}…"
    return f"{function}({shown!r}{', ...' if more else ''})"


def say(line: str) -> None:
    """Write one line to stderr. Not a warning: those can be switched off, or made errors that nobody can catch."""
    if not sys.is_finalizing():
        sys.stderr.write(" ".join(f"hitl_nb: {line}".splitlines()) + "\n")


async def over(task: asyncio.Future[Any], pending: Callable[[], list[Call]], line: str) -> None:
    """Wait until what was started is over, where that can come to pass.

    Args:
        task: What was started.
        pending: Gives the questions that it waits for.
        line: What is to be written in a later cell.

    Raises:
        LoopBlockedError: It waits for a click, and this kernel takes none while a cell awaits.
    """
    if delivery() != "unknown":
        await asyncio.wait([task])
        return
    while not task.done():
        if in_voila():
            raise LoopBlockedError(
                "Voila shows its page once all cells have run, so no cell can wait for what was started. Write what "
                f"comes of it in a task: `async def go(): ...` with {line} in it, `going = asyncio.create_task(go())`."
            )
        if waiting := pending():
            raise LoopBlockedError(
                f"`{waiting[0].name}` is not answered yet, and this kernel takes no click while a cell awaits. Nothing "
                f"is lost: answer its card first (`hitl_nb.pending()` shows it again), then run this cell again: {line}"
            )
        await asyncio.wait([task], timeout=TICK)


class NotAnAnswer:
    """Refuses truth value, comparison with anything but itself, arithmetic, indexing, iteration, unknown attributes.

    `str` and `repr` are allowed, because logging must not raise; they say the same. ``format`` is not, because an
    f-string may be a query or a prompt.
    """

    __slots__ = ()

    def _excuse(self) -> str:
        """Return the reason why this is no answer, and the line to write: what an error says after its first words."""
        raise NotImplementedError

    def _told(self) -> None:
        """The user has been told; one word is enough."""

    def _refuse(self, how: str) -> Never:
        __tracebackhide__ = True  # IPython's: the error shows the user's line, not ours
        self._told()
        raise NotAwaitedError(f"`{how}` on {self._excuse()}.")

    __hash__ = object.__hash__  # asyncio keeps awaitables in sets

    def __reduce_ex__(self, protocol: SupportsIndex, /) -> Never:
        __tracebackhide__ = True
        self._refuse("copy or pickle")

    if not MYPY:  # pyright tells of `if approve(...):` by this; mypy, by `truthy-bool`, where there is none

        def __bool__(self) -> Never:
            __tracebackhide__ = True
            self._refuse("bool()")

    if not TYPE_CHECKING:  # a type checker shall find these slips by itself

        def __eq__(self, other: object) -> bool:
            __tracebackhide__ = True
            return True if other is self else self._refuse("==")

        def __ne__(self, other: object) -> bool:
            __tracebackhide__ = True
            return False if other is self else self._refuse("!=")

        def __getattr__(self, name: str) -> Any:
            __tracebackhide__ = True
            if name == "_words":  # not made by `__init__`: there are no words yet
                raise AttributeError(name)
            if not name.startswith(("_", "cr_", "gi_", "ag_")):  # those are probed by IPython and asyncio
                self._told()
            raise NotAwaitedAttributeError(f"`.{name}` on {self._excuse()}.")


def _refusing(how: str) -> Callable[..., Never]:
    def refuse(self: NotAnAnswer, *_: object, **__: object) -> Never:
        __tracebackhide__ = True
        self._refuse(how)

    return refuse


for _how, _names in _REFUSED.items():
    for _name in _names.split():
        setattr(NotAnAnswer, f"__{_name}__", _refusing(_how))


T_co = TypeVar("T_co", covariant=True)

Status = Literal["running", "waiting", "done", "stopped", "failed"]
"""How far something in the background is; ``waiting`` is for a person."""

Stage = Callable[..., AbstractContextManager[Transcript | None]]
"""Opens the transcript of a question where it is started, and shows it there until the question is over."""

_current: ContextVar["Question[Any] | None"] = ContextVar("hitl_nb_question", default=None)
_running: set[asyncio.Task[Any]] = set()  # a loop holds its tasks weakly, and a dropped question is still asked


def current_question() -> "Question[Any] | None":
    """Return the started question that this code is part of, or None."""
    return _current.get()


def in_background() -> bool:
    """Whether this code is part of a question that was started: then no cell waits for its answer."""
    return _current.get() is not None


_GOES_ON = "stopped waiting. The question goes on: `hitl_nb.pending()` shows its card again, `.stop()` withdraws it."


class Question(NotAnAnswer, Awaitable[T_co], Generic[T_co]):
    """A question under way in the background: await it for its answer, as often as you like, or stop it.

    Made by ``approve("Drop?").start()``. Cancelling a cell that awaits it does not stop it; ``stop()`` does.

    ::

        question = approve("Drop?").start()

        if await question:  # in a later cell
            drop()
    """

    def __init__(
        self,
        make: Callable[[], Coroutine[Any, Any, T_co]],
        words: Words,
        stage: Callable[[], AbstractContextManager[Transcript | None]] | None = None,
    ) -> None:
        self._words = words
        self._transcripts: list[Transcript] = []
        self._staged: Transcript | None = None
        self._shown = ExitStack()
        self._stopped = False
        self._awaiting = 0
        self._said = False
        context = copy_context()
        context.run(_current.set, self)
        if stage is not None:
            # Shown before the task starts: on ipykernel 6 only the cell itself can still place an output.
            self._staged = context.run(self._shown.enter_context, stage())
        if self._staged is not None:
            self.opened(self._staged)
        self._task = asyncio.create_task(self._main(make), name=f"hitl_nb {words.call}", context=context)
        _running.add(self._task)
        self._task.add_done_callback(self._ended, context=context)

    # -- for the user -------------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """``running``, ``waiting`` (for a person), ``done``, ``stopped`` or ``failed``."""
        if self._task.done():
            return "stopped" if self._task.cancelled() else "failed" if self._task.exception() else "done"
        if self._stopped:
            return "stopped"
        return "waiting" if self.pending else "running"

    @property
    def pending(self) -> list[Call]:
        """The calls that a person can answer now."""
        calls = [call for transcript in self._transcripts for call in transcript.calls]
        return [call for call in calls if call.status == "executing" and not call.decided]

    def stop(self) -> None:
        """Withdraw the question: what is open is closed, and nothing that awaits an answer goes on. Idempotent."""
        if not self._task.done():
            self._stopped = True
            self._task.cancel()

    def __await__(self) -> Generator[Any, None, T_co]:
        return self._result().__await__()

    async def _result(self) -> T_co:
        __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
        self._awaiting += 1
        try:
            if not self._task.done():
                self._require_its_loop()
                with heartbeat(), stopped_in_a_line(_GOES_ON):
                    await over(self._task, lambda: self.pending, self._words.line("question"))
        finally:
            self._awaiting -= 1
        self._told()
        if self._task.cancelled():
            raise RunStopped(f"The question was stopped: {self!r}")
        return self._task.result()

    def _require_its_loop(self) -> None:
        if self._task.get_loop() is not asyncio.get_running_loop():
            raise UsageError(
                f"`{self._words.call}` was started in another event loop, which brings its answer. Write "
                f"{self._words.line('question')} in the loop (for a script: in the thread) that started it."
            )

    def _ipython_display_(self) -> None:
        show_live(self.pending)

    def _display_(self) -> object:
        return live_for_marimo(self._transcripts, repr(self))

    def __repr__(self) -> str:
        waiting = "".join(f" · `{call.name}` waits for an answer" for call in self.pending)
        words = f"<Question {self._words.call}: {self.status}{waiting}. Its answer: {self._words.line('question')}>"
        return said_line(words)

    # -- for the code that asks ---------------------------------------------------------------------------

    def opened(self, transcript: Transcript) -> None:
        """Note where the question is asked: its calls are those that `pending` lists."""
        self._transcripts.append(transcript)

    def take_staged(self) -> Transcript | None:
        """Return the transcript that was opened where the question was started; once, for what is asked first."""
        staged, self._staged = self._staged, None
        return staged

    # -- its task -----------------------------------------------------------------------------------------

    async def _main(self, make: Callable[[], Coroutine[Any, Any, T_co]]) -> T_co:
        __tracebackhide__ = True
        with self._shown, contained(f"What `{self._words.call}` has called"):
            return await make()

    def _ended(self, task: asyncio.Task[Any]) -> None:
        _running.discard(task)
        self._shown.close()  # again: a task that was stopped before its first step has not come to it
        error = None if task.cancelled() else task.exception()
        # A no is no fault; it stands on the card, and is raised when the answer is wanted.
        if error is not None and not self._awaiting and not isinstance(error, NotApproved):
            self._say(error)

    def _say(self, error: BaseException) -> None:
        self._told()
        reason = f"{type(error).__name__}: {words_of(error)}"
        say(f"`{self._words.call}` was asked in the background and failed, and nothing awaits it: {reason}")

    # -- what is refused ----------------------------------------------------------------------------------

    def _excuse(self) -> str:
        line = self._words.line("question")
        return f"the question `{self._words.call}` without `await`: it is asked in the background. Write {line}"

    def _told(self) -> None:
        self._said = self._said or self._task.done()

    def __del__(self) -> None:
        try:
            if not self._said and self.status == "failed" and (error := self._task.exception()):
                self._say(error)
        except Exception:
            pass
