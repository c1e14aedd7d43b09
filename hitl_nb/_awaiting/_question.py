"""A question that was started and goes on without anybody waiting for it: the two-cell form of a checkpoint."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractContextManager, ExitStack
from contextvars import ContextVar, copy_context
from typing import Any, Generic, Literal, TypeVar

from hitl_nb._awaiting._refusing import NotAnAnswer, Words, say
from hitl_nb._calls import Call
from hitl_nb._transcript import Transcript
from hitl_nb._waiting import heartbeat
from hitl_nb.errors import NotApproved, RunStopped, UsageError

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
                with heartbeat():
                    await asyncio.wait([self._task])
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

    def __repr__(self) -> str:
        waiting = "".join(f" · `{call.name}` waits for an answer" for call in self.pending)
        return f"<Question {self._words.call}: {self.status}{waiting}. Its answer: {self._words.line('question')}>"

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
        with self._shown:
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
        reason = f"{type(error).__name__}: {error}"
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
