"""One run: from the user's words to the model's last, through as many questions as it takes."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from ag_ui.core import AssistantMessage, Event, Message, ToolCall, UserMessage

from hitl_nb._awaiting import Unawaited, Words, over
from hitl_nb._calls import Call, can_be_answered, live_for_marimo, show_live, why_ended
from hitl_nb._encoding import whole_text
from hitl_nb._limits import contained, words_of
from hitl_nb._text import said_line
from hitl_nb._transcript import MessageEntry, StateEntry, Transcript
from hitl_nb._waiting import heartbeat, stopped_in_a_line
from hitl_nb.errors import RunStopped
from hitl_nb.people import asking, clicks_delivered, showing, take_stand_in_note
from hitl_nb.session._attached import Sent
from hitl_nb.session._loop import Context, Loop

T = TypeVar("T")


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
        words = re.sub(r"[ \n\t]+", " ", self.text).strip(" ")
        words = words if len(words) <= 60 else words[:59] + "…"
        count = len(self.calls)
        return said_line(f'<Reply "{words}" · {count} decision{"" if count == 1 else "s"}>')


@dataclass(frozen=True, kw_only=True)
class CodeCall:
    """A tool call that code makes."""

    tool_call: ToolCall
    """The call, with arguments that fit."""

    follow_up: bool | str
    """Whether the agent is run with the result; words are said to it first."""


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
        said: Sent | None,
        *,
        foreground: bool,
        after: "Run | None" = None,
        replay: Sequence[Event] | None = None,
        code_call: CodeCall | None = None,
    ) -> None:
        self.id = str(uuid.uuid4())
        self.transcript = Transcript()
        self.transcript.foreground = foreground
        self.transcript.journal = context.store.journal
        if (stands_in := take_stand_in_note()) is not None:
            self.transcript.note("info", stands_in)
        self._context = context
        self._stopped = False
        self._code_call = code_call
        self.code_called: Call | None = None
        """The call that code has made, once it was decided."""
        self._loop = Loop(context, self.transcript)
        self._after = after
        self._to_say = [message for run in (after.line if after is not None else ()) for message in run.take_unsaid()]
        if said is not None:
            self._to_say.append(self._message(said))
        if after is None:
            self._say()
        for begun in tuple(context.begun):
            begun(self)
        # Shown before the task starts: on ipykernel 6 only the cell itself can still place an output.
        self._shown = ExitStack()
        self._shown.enter_context(showing(context.people, self.transcript))
        self._task = asyncio.create_task(self._main(replay), name=f"hitl_nb run {self.id}")
        # Stopped before its first step, it never gets to close what is shown.
        self._task.add_done_callback(lambda _: self._shown.close())
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
        goes_on = "stopped waiting. The run goes on: `display(run)` shows its cards again, `run.stop()` ends it."
        with clicks_delivered(), heartbeat(), stopped_in_a_line(goes_on):
            try:
                await over(self._task, lambda: self.pending, "`reply = await run`")
                return await asyncio.shield(self._task)
            except asyncio.CancelledError:
                if self._stopped and self._task.done():
                    raise RunStopped(f"The run was stopped: {self!r}") from None
                raise

    async def settled(self) -> None:
        """Wait until the run is over, however it ends."""
        await asyncio.wait([self._task])

    @property
    def line(self) -> "list[Run]":
        """The run and those that have to end before it; a thread has one order, and one run at a time works on it."""
        before = [] if self._after is None else self._after.line
        return [*before, *([] if self._task.done() else [self])]

    def take_unsaid(self) -> list[UserMessage]:
        """Give what the user has said in a run that another message has overtaken before it began; once."""
        if self._loop.ending != "superseded":
            return []
        unsaid, self._to_say = self._to_say, []
        return unsaid

    def _ipython_display_(self) -> None:
        show_live(self.pending)

    def _display_(self) -> object:
        return live_for_marimo([self.transcript], repr(self))

    def __repr__(self) -> str:
        waiting = "".join(f" · `{call.name}` waits for an answer" for call in self.pending)
        return said_line(f"<Run {self.status}{waiting}>")

    # -- its task -----------------------------------------------------------------------------------------

    def supersede(self) -> None:
        """Make room for a new message: what is open is closed and told to the model together with it."""
        self._loop.ending = "superseded"
        self.stop()

    async def _main(self, replay: Sequence[Event] | None) -> Reply:
        with self._shown, clicks_delivered(), heartbeat():
            await self._its_turn()
            try:
                with (
                    contained("What this run has called"),
                    asking(self._context.people, self.transcript, self._context.store.journal),
                    self._state_drawn(),
                ):
                    await self._work(replay)
            except BaseException as error:
                self._loop.why = why_ended(error)
                self._note_failure(error)
                raise
            finally:
                await self._loop.close()
        return Reply(messages=list(self._context.thread.messages), calls=self.transcript.calls)

    @contextmanager
    def _state_drawn(self) -> Iterator[None]:
        """Show the shared state while the run lasts, from the agent's first word about it on."""
        state, entries = self._context.thread.state, dict[int, StateEntry]()
        begun = state.predicted

        def draw() -> None:
            now = state.predicted
            for at, render in enumerate(self._context.state_drawings):
                if at in entries:
                    entries[at].state = now
                    self.transcript.touch(entries[at])
                elif now != begun:
                    entries[at] = StateEntry(key=f"state-{self.id}-{at}", render=render, state=now)
                    self.transcript.add(entries[at])

        end = state.watch(draw)
        try:
            yield
        finally:
            end()

    async def _work(self, replay: Sequence[Event] | None) -> None:
        if self._code_call is None:
            await self._loop.run(replay)
        else:
            self.code_called = await self._loop.run_tool(self._code_call.tool_call, self._code_call.follow_up)

    async def _its_turn(self) -> None:
        if self._after is None:
            return
        try:
            for run in self._after.line:
                await run.settled()
        except asyncio.CancelledError as error:
            self._note_failure(error)
            raise
        self._after = None
        self._say()

    def _message(self, said: Sent) -> UserMessage:
        content = said.content(images=bool(getattr(self._context.agent, "takes_images", False)))
        if isinstance(content, str):
            content = whole_text(content)
        message = UserMessage(id=str(uuid.uuid4()), content=content)
        if said.attachments:
            self._context.thread.sent[message.id] = said
        return message

    def _say(self) -> None:
        messages, self._to_say = self._to_say, []
        for message in messages:
            self._loop.hear(message)
            said = self._context.thread.sent.get(message.id)
            text = _said_in(message) if said is None else whole_text(said.words)
            attached = [(each.name, each.address) for each in said.attachments] if said else []
            self.transcript.add(MessageEntry(key=message.id, role="user", text=text, attached=attached))

    def _note_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._stopped = True
            self.transcript.note("warning", "Stopped. Nothing that was still open has been executed.")
        else:
            self.transcript.note("error", f"{type(error).__name__}: {words_of(error)}")
            self._context.report(getattr(error, "code", None) or "agent_run_failed", words_of(error))


def _said_in(message: UserMessage) -> str:
    """What a person reads of their own message."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text if part.type == "text" else f"[{part.type}]" for part in message.content)


class Launch(Protocol):
    """Begins the run, with a cell that waits for it or without."""

    def __call__(self, *, foreground: bool) -> Run: ...


class _Pending(Unawaited[T]):
    """What a session has not begun yet: nothing has run, and whatever else than an ``await`` is tried says so."""

    __slots__ = ("_launch",)

    def __init__(self, launch: Launch, waits: Callable[[Launch], Coroutine[Any, Any, T]], words: Words) -> None:
        super().__init__(lambda: waits(launch), words)
        self._launch = launch

    def start(self) -> Run:
        """Begin it in the background, as ``session.start(...)`` does; await the `Run` in a later cell.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        self._take()
        return self._launch(foreground=False)


class PendingRun(_Pending[Reply]):
    """``session.run(...)`` before its ``await``."""

    __slots__ = ()

    def __init__(self, launch: Launch, call: str) -> None:
        super().__init__(launch, _foreground, Words(call, "reply = await {}", "nothing has run"))


class PendingTool(_Pending[Call]):
    """``session.run_tool(...)`` before its ``await``."""

    __slots__ = ()

    def __init__(self, launch: Launch, call: str) -> None:
        super().__init__(launch, _called, Words(call, "call = await {}", "nothing has run"))


async def _called(launch: Launch) -> Call:
    __tracebackhide__ = True
    run = launch(foreground=True)
    await _awaited(run)
    assert run.code_called is not None
    return run.code_called


async def _foreground(launch: Launch) -> Reply:
    __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
    return await _awaited(launch(foreground=True))


async def _awaited(run: Run) -> Reply:
    __tracebackhide__ = True
    try:
        return await run
    except asyncio.CancelledError:
        # The stop button cancels the cell; the run must not go on behind it.
        run.stop()
        await run.settled()
        raise
