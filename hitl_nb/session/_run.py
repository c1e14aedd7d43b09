"""One run: from the user's words to the model's last, through as many questions as it takes."""

import asyncio
import uuid
from collections.abc import Generator, Iterable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Literal

from ag_ui.core import RunAgentInput, ToolCall, UserMessage

from hitl_nb import _history
from hitl_nb._calls import Call
from hitl_nb._kernel import delivering
from hitl_nb._transcript import MessageEntry, Transcript
from hitl_nb._waiting import heartbeat
from hitl_nb.errors import FollowUpLimit, RunStopped
from hitl_nb.people import showing
from hitl_nb.session._ask import ask_all, result_of
from hitl_nb.session._reply import Reply
from hitl_nb.session._turn import Turn

if TYPE_CHECKING:
    from hitl_nb.session._session import Session

MAX_INVALID = 3
"""How often in a row a model may call with bad arguments before the run gives up."""

RunStatus = Literal["running", "waiting", "done", "stopped", "failed"]


class Run:
    """A run under way: await it for its `Reply`, stop it, or look at what it waits for.

    Made by ``session.start(text)``. Cancelling a task that awaits the run does not stop the run; ``stop()`` does.
    """

    def __init__(self, session: "Session", text: str, *, foreground: bool) -> None:
        self._session = session
        self._stopped = False
        self.transcript = Transcript()
        self.transcript.foreground = foreground
        self.id = str(uuid.uuid4())
        # Shown before the task starts: on ipykernel 6 only the cell itself can still place an output.
        self._shown = showing(session.people, self.transcript)
        self._shown.__enter__()
        self._say(text)
        self._task = asyncio.create_task(self._main(), name=f"hitl_nb run {self.id}")
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
        return [call for call in self.transcript.calls if call.status == "executing" and not call.decided]

    def stop(self) -> None:
        """End the run: open calls are closed as not executed, the history stays valid. Idempotent."""
        if not self._task.done():
            self._stopped = True
            self._task.cancel()

    def __await__(self) -> Generator[Any, None, Reply]:
        return self._result().__await__()

    async def _result(self) -> Reply:
        with delivering(), heartbeat():
            try:
                return await asyncio.shield(self._task)
            except asyncio.CancelledError:
                if self._stopped and self._task.done():
                    raise RunStopped(f"The run was stopped: {self!r}") from None
                raise

    async def stopped(self) -> None:
        """Stop, and wait until everything is closed."""
        self.stop()
        await asyncio.wait([self._task])

    def __repr__(self) -> str:
        waiting = "".join(f" · `{call.name}` waits for an answer" for call in self.pending)
        return f"<Run {self.status}{waiting}>"

    # -- the loop -----------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        message = UserMessage(id=str(uuid.uuid4()), content=text)
        self._session._messages.append(message)
        self.transcript.add(MessageEntry(key=message.id, role="user", text=text))

    async def _main(self) -> Reply:
        async with AsyncExitStack() as stack:
            stack.push(self._shown)
            stack.enter_context(delivering())
            stack.enter_context(heartbeat())
            try:
                await self._turns()
            except BaseException as error:
                self._note_failure(error)
                raise
            finally:
                self._close_open_calls()
        return Reply(messages=list(self._session._messages), decisions=self.transcript.calls)

    async def _turns(self) -> None:
        invalid = 0
        for _ in range(self._session.max_follow_ups + 1):
            calls = await self._turn()
            if not calls:
                return
            await ask_all(
                calls,
                self._session._tools,
                self._session.people,
                one_at_a_time=self._session.one_at_a_time,
            )
            self._record(call for call, _ in calls)
            invalid = invalid + 1 if all(call.outcome == "invalid" for call, _ in calls) else 0
            if invalid >= MAX_INVALID:
                raise FollowUpLimit(
                    f"The model called wrongly {invalid} times in a row; the last time: {calls[-1][0].reason}"
                )
        raise FollowUpLimit(
            f"The model asked for tools in more than {self._session.max_follow_ups} follow-ups. If that is meant, "
            "write `Session(..., max_follow_ups=...)`."
        )

    async def _turn(self) -> list[tuple[Call, ToolCall]]:
        session = self._session
        _history.check(session._messages)
        turn = Turn(
            RunAgentInput(
                thread_id=session.thread_id,
                run_id=str(uuid.uuid4()),
                messages=list(session._messages),
                state=session.state,
                tools=[tool.advertised() for tool in session._tools],
                context=[],
                forwarded_props={},
            ),
            session._tools,
            self.transcript,
        )
        try:
            await turn.play(session._agent)
        finally:
            # Also after a stop: what a person saw stays in the history, and the history stays valid.
            session._messages = _history.paired(turn.messages, session._results)
            session.state = turn.state
        return [(turn.call_of(tool_call), tool_call) for tool_call in turn.unanswered]

    def _record(self, calls: Iterable[Call]) -> None:
        session = self._session
        session._results.update({call.id: result_of(call) for call in calls if call.decided})
        session._messages = _history.paired(session._messages, session._results)

    def _close_open_calls(self) -> None:
        """However the run ends, no call stays open and no tool call stays without a result."""
        for call in self.transcript.calls:
            if not call.decided:
                call._refuse("aborted", None, via="session")
        session = self._session
        session._messages = _history.without_torn_calls(session._messages)
        self._record(self.transcript.calls)
        for tool_call in _history.open_calls(session._messages):
            call = Call(id=tool_call.id, name=tool_call.function.name)
            call._refuse("aborted", None, via="session")
            self._record([call])

    def _note_failure(self, error: BaseException) -> None:
        if isinstance(error, asyncio.CancelledError):
            self._stopped = True
            self.transcript.note("warning", "Stopped. Nothing that was still open has been executed.")
        else:
            self.transcript.note("error", f"{type(error).__name__}: {error}")
