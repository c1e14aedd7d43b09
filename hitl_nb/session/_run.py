"""One run: from the user's words to the model's last, through as many questions as it takes."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from ag_ui.core import AssistantMessage, Event, Message, UserMessage

from hitl_nb._awaiting import Unawaited, Words
from hitl_nb._calls import Call, can_be_answered
from hitl_nb._transcript import MessageEntry, Transcript
from hitl_nb._waiting import heartbeat
from hitl_nb.errors import RunStopped
from hitl_nb.people import asking, delivering, showing, take_stand_in_note
from hitl_nb.session._loop import Context, Loop


@dataclass(frozen=True, kw_only=True, repr=False)
class Reply:
    """The end of a run. Its repr is one line, since the record already stands in the cell."""

    messages: list[Message]
    """The whole thread so far, as AG-UI messages."""

    calls: list[Call]
    """What was asked in this run, in the order in which it was asked, all complete: each with its answer."""

    @property
    def text(self) -> str:
        """The assistant's last words; empty if it said nothing."""
        last = self.messages[-1] if self.messages else None
        return (last.content or "") if isinstance(last, AssistantMessage) else ""

    def __repr__(self) -> str:
        words = " ".join(self.text.split())
        words = words if len(words) <= 60 else words[:59] + "…"
        count = len(self.calls)
        return f'<Reply "{words}" · {count} decision{"" if count == 1 else "s"}>'


RunStatus = Literal["running", "waiting", "done", "stopped", "failed"]


class Run:
    """A run under way: await it for its `Reply`, stop it, or look at what it waits for.

    Made by ``session.start(text)``. Cancelling a task that awaits the run does not stop the run; ``stop()`` does.

    Attributes:
        id: The run's id.
        transcript: What the run looks like, in order.
    """

    def __init__(
        self,
        context: Context,
        text: str | None,
        *,
        foreground: bool,
        after: "Run | None" = None,
        replay: Sequence[Event] | None = None,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.transcript = Transcript()
        self.transcript.foreground = foreground
        self.transcript.journal = context.store.journal
        if (stands_in := take_stand_in_note()) is not None:
            self.transcript.note("info", stands_in)
        self._context = context
        self._stopped = False
        self._loop = Loop(context, self.transcript)
        self._say_now = text is not None and after is None
        if text is not None and self._say_now:
            self._say(text)
        # Shown before the task starts: on ipykernel 6 only the cell itself can still place an output.
        self._shown = ExitStack()
        self._shown.enter_context(showing(context.people, self.transcript))
        self._task = asyncio.create_task(self._main(text, after, replay), name=f"hitl_nb run {self.id}")
        # Nobody may ever await a background run; its failure stands in the transcript.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    # -- for the user -------------------------------------------------------------------------------------

    @property
    def status(self) -> RunStatus:
        """``running``, ``waiting`` (for a person), ``done``, ``stopped`` or ``failed``."""
        if self._stopped:
            return "stopped"
        if self._task.done():
            return "failed" if self._task.cancelled() or self._task.exception() else "done"
        return "waiting" if self.pending else "running"

    @property
    def pending(self) -> list[Call]:
        """The calls that a person can answer now."""
        return [call for call in self.transcript.calls if can_be_answered(call)]

    def stop(self) -> None:
        """End the run: open calls are closed as not executed, the history stays valid. Idempotent."""
        if not self._task.done():
            self._stopped = True
            self._task.cancel()

    async def events(self) -> AsyncIterator[Event]:
        """Iterate over the AG-UI events of this run from now on, until it is over."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        unsubscribe = self._context.subscribe(queue.put_nowait)
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            unsubscribe()

    def __await__(self) -> Generator[Any, None, Reply]:
        return self._result().__await__()

    async def _result(self) -> Reply:
        __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
        with delivering(), heartbeat():
            try:
                return await asyncio.shield(self._task)
            except asyncio.CancelledError:
                if self._stopped and self._task.done():
                    raise RunStopped(f"The run was stopped: {self!r}") from None
                raise

    async def settled(self) -> None:
        """Wait until the run is over, however it ends."""
        await asyncio.wait([self._task])

    def __repr__(self) -> str:
        waiting = "".join(f" · `{call.name}` waits for an answer" for call in self.pending)
        return f"<Run {self.status}{waiting}>"

    # -- its task -----------------------------------------------------------------------------------------

    def supersede(self) -> None:
        """Make room for a new message: what is open is closed and told to the model together with it."""
        self._loop.ending = "superseded"
        self.stop()

    async def _main(self, text: str | None, after: "Run | None", replay: Sequence[Event] | None) -> Reply:
        with self._shown, delivering(), heartbeat():
            if after is not None:
                await after.settled()
            try:
                if text is not None and not self._say_now:
                    self._say(text)
                with asking(self._context.people, self.transcript, self._context.store.journal):
                    await self._loop.run(replay)
            except BaseException as error:
                self._note_failure(error)
                raise
            finally:
                await self._loop.close()
        return Reply(messages=list(self._context.thread.messages), calls=self.transcript.calls)

    def _say(self, text: str) -> None:
        message = UserMessage(id=str(uuid.uuid4()), content=text)
        self._context.thread.messages.append(message)
        self._context.store.save(self._context.thread)
        self.transcript.add(MessageEntry(key=message.id, role="user", text=text))

    def _note_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._stopped = True
            self.transcript.note("warning", "Stopped. Nothing that was still open has been executed.")
        else:
            self.transcript.note("error", f"{type(error).__name__}: {error}")
            self._context.report(getattr(error, "code", None) or "agent_run_failed", str(error))


class Launch(Protocol):
    """Begins the run, with a cell that waits for it or without."""

    def __call__(self, *, foreground: bool) -> Run: ...


class PendingRun(Unawaited[Reply]):
    """``session.run(...)`` before its ``await``: nothing has run yet, and whatever else is tried says so."""

    __slots__ = ("_launch",)

    def __init__(self, launch: Launch, call: str) -> None:
        super().__init__(lambda: _foreground(launch), Words(call, "reply = await {}", "nothing has run"))
        self._launch = launch

    def start(self) -> Run:
        """Begin it in the background, as ``session.start(...)`` does; await the `Run` in a later cell.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        self._take()
        return self._launch(foreground=False)


async def _foreground(launch: Launch) -> Reply:
    __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
    run = launch(foreground=True)
    try:
        return await run
    except asyncio.CancelledError:
        # The stop button cancels the cell; the run must not go on behind it.
        run.stop()
        await run.settled()
        raise
