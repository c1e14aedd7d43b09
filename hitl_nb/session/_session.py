"""What a user holds: one conversation with an agent, and the tools that people answer in it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Literal, get_args

from ag_ui.core import Event, Message

from hitl_nb._awaiting import line_of
from hitl_nb._calls import Call
from hitl_nb._history import open_calls
from hitl_nb._tools import InterruptHandler, SessionTool, ToolBox
from hitl_nb._waiting import until_decided
from hitl_nb.agents import AnyAgent, agent_of
from hitl_nb.errors import SessionBusyError, UsageError
from hitl_nb.journal import DEFAULT, AnyJournal, Journal, open_journal
from hitl_nb.people import Person, people_of
from hitl_nb.session._loop import Context
from hitl_nb.session._run import PendingRun, Run
from hitl_nb.session._thread import Thread, ThreadStore

IfBusy = Literal["error", "decline", "wait"]
"""What a new message does to a run that is under way."""


class Session:
    """One conversation: an agent that may pause on `tools`, and `people` who answer.

    Args:
        agent: A CrewAI Flow class (recommended) or instance, or any object whose ``run`` yields AG-UI events.
        tools: What `human_in_the_loop`, `frontend_tool` and `gate` made, or one of them; their names must differ.
        interrupts: What `on_interrupt` made, or one of them: how the agent's own checkpoints are drawn and handled.
        people: A person or several in a row; the first that answers wins. Each is an async callable that gets the
            `Call`. Default: whoever sits at the notebook; ``HITL_NB_PEOPLE=script:answers.py`` replaces them.
        thread_id: The conversation's id; default: a fresh one.
        agent_id: Takes the tools that were made for this id (``human_in_the_loop(agent_id=...)``) beside all others.
        state: Shared state to begin with: a dict that the Flow finds in ``self.state``.
        one_at_a_time: Ask parallel calls one after the other, as the web does; default: all cards together.
        journal: Where questions and answers are recorded: a `Journal`, a path, ``"memory"``, or None for nowhere.
            Default: ``HITL_NB_JOURNAL``, else ``.hitl_nb/journal.sqlite`` beside the notebook. With a `thread_id` that
            it knows, the conversation is restored: go on with ``await session.resume()``.
        max_follow_ups: How often a run may re-enter the agent after answers.

    Raises:
        AgentDefinitionError, ToolDefinitionError: `agent` or `tools` cannot be used; the message says what to write.

    Attributes:
        messages: The history as AG-UI messages. Each tool call in it has exactly one adjacent result.
        state: The shared state as the agent left it.
        pending: The calls that a person can answer now.

    ::

        session = Session(PlanFlow, tools=[generate_task_steps])
        reply = await session.run("Plan a trip to Mars")
    """

    def __init__(
        self,
        agent: AnyAgent,
        tools: SessionTool | Iterable[SessionTool] = (),
        *,
        interrupts: InterruptHandler | Iterable[InterruptHandler] = (),
        people: Person | Sequence[Person] | None = None,
        thread_id: str | None = None,
        agent_id: str | None = None,
        state: dict[str, Any] | None = None,
        journal: AnyJournal = DEFAULT,
        one_at_a_time: bool = False,
        max_follow_ups: int = 100,
    ) -> None:
        self.thread_id = thread_id or str(uuid.uuid4())
        self._tools = ToolBox(tools, interrupts, agent_id)
        self._thread = Thread(dict(state or {}))
        self._context = Context(
            agent=agent_of(agent),
            tools=self._tools,
            people=people_of(people),
            thread=self._thread,
            store=ThreadStore(open_journal(journal), self.thread_id, self._tools),
            thread_id=self.thread_id,
            one_at_a_time=one_at_a_time,
            max_follow_ups=max_follow_ups,
        )
        self._restored = self._context.store.restore(self._thread) if thread_id else False
        self._run: Run | None = None

    @property
    def people(self) -> list[Person]:
        """Who is asked, in turn; the list itself."""
        return self._context.people

    @property
    def journal(self) -> Journal | None:
        """Where questions and answers are recorded, or None."""
        return self._context.store.journal

    @property
    def messages(self) -> list[Message]:
        """The history, a copy."""
        return list(self._thread.messages)

    @property
    def state(self) -> Any:
        """The shared state; what you assign is sent with the next run."""
        return self._thread.state

    @state.setter
    def state(self, value: Any) -> None:
        self._thread.state = value

    @property
    def pending(self) -> list[Call]:
        """The calls that a person can answer now."""
        return self._run.pending if self._run is not None else []

    def run(self, text: str, *, if_busy: IfBusy = "error") -> PendingRun:
        """Send `text`, show the run in this cell, and give its `Reply` once the model has said its last word.

        Use it with ``await``. The stop button ends it within a moment: open questions are closed as not executed.

        Args:
            text: The user's words.
            if_busy: What to do when another run of this session is under way: ``error`` refuses, ``decline`` closes
                its open calls and tells the model together with `text`, ``wait`` lets it end first.

        Raises:
            NoHumanError: A question came up and nobody can answer here.
            SessionBusyError: Another run of this session is under way.
            FollowUpLimit: The model goes round in circles.
            AgentError: The agent reported a failure, or broke off.
            Exception: Whatever the agent raised, itself.
        """
        return PendingRun(
            lambda *, foreground: self._start(text, foreground=foreground, if_busy=if_busy),
            line_of("session.run", text, more=if_busy != "error"),
        )

    def start(self, text: str, *, if_busy: IfBusy = "error") -> Run:
        """Send `text` and return at once; the run goes on in the background, with its cards in this cell.

        Args:
            text: The user's words.
            if_busy: As for `run`.

        Returns:
            A `Run`: ``await run`` in a later cell gives the `Reply`; ``run.stop()`` ends it.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        return self._start(text, foreground=False, if_busy=if_busy)

    def resume(self) -> PendingRun:
        """Go on with a thread that was restored from the journal; use it with ``await``.

        What was open when the earlier kernel ended is asked again; an answer that the model never got is delivered,
        once; answered calls are drawn as records. Without anything of this, nothing runs.

        Raises:
            Exception: All that `run` raises.
        """
        return PendingRun(
            lambda *, foreground: self._launch(None, foreground=foreground, replay=[]), "session.resume()"
        )

    def connect(self, events: Iterable[Event]) -> PendingRun:
        """Replay the AG-UI events of earlier runs, ask again what they left open, and go on; use it with ``await``.

        Answered calls are drawn as records and never asked again; tools that run code are never run again. This is
        the web's ``connectAgent`` after a reload.

        Args:
            events: Each run from ``RUN_STARTED`` to its end, in order.

        Raises:
            ProtocolError: The events are out of order; besides, all that `run` raises.
        """
        replay = list(events)
        return PendingRun(
            lambda *, foreground: self._launch(None, foreground=foreground, replay=replay), "session.connect(events)"
        )

    def _start(self, text: str, *, foreground: bool, if_busy: IfBusy = "error") -> Run:
        if not isinstance(text, str):
            raise UsageError(
                f"`session.run` takes the user's words, not `{type(text).__name__}`. "
                'Write `await session.run("Plan a trip to Mars")`.'
            )
        if if_busy not in get_args(IfBusy):
            raise UsageError(f'`if_busy` cannot be `{if_busy!r}`. Write `if_busy="error"`, "decline" or "wait".')
        return self._launch(text, foreground=foreground, if_busy=if_busy)

    def _launch(
        self, text: str | None, *, foreground: bool, if_busy: IfBusy = "error", replay: Sequence[Event] | None = None
    ) -> Run:
        self._require_loop()
        before = self._run if self._run is not None and self._run.status in ("running", "waiting") else None
        if before is not None and if_busy == "error":
            raise SessionBusyError(self._busy(before))
        if before is not None and if_busy == "decline":
            before.supersede()
        if text is not None and self._restored:
            self._close_restored(if_busy)
        self._restored = False
        self._run = Run(self._context, text, foreground=foreground, after=before, replay=replay)
        return self._run

    def _close_restored(self, if_busy: IfBusy) -> None:
        """A new message on a thread that an earlier kernel left with open calls."""
        waiting = [f"`{call.function.name}` ({call.id})" for call in open_calls(self._thread.messages)]
        if waiting and if_busy == "error":
            raise SessionBusyError(
                f"This thread was restored with open calls: {', '.join(waiting)}. Write `await session.resume()` to "
                'have them asked again, or `session.run(..., if_busy="decline")` to close them.'
            )
        self._thread.close("superseded")

    def _require_loop(self) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise UsageError(
                "`session.start` needs a running event loop. In a script, write "
                '`asyncio.run(main())` with `async def main(): await session.run("...")`.'
            ) from None

    def _busy(self, run: Run) -> str:
        waiting = ", ".join(f"`{call.name}` ({call.id})" for call in run.pending)
        what = f"it waits for an answer to {waiting}" if waiting else "it is still running"
        return (
            f"This session has a run under way; {what}. Answer it, end it with `session.stop()`, "
            'or write `session.run(..., if_busy="decline")` (or "wait").'
        )

    def stop(self) -> None:
        """End the run under way, if any; see `Run.stop`."""
        if self._run is not None:
            self._run.stop()

    # -- headless -----------------------------------------------------------------------------------------

    def subscribe(self, subscriber: Callable[[Event], object]) -> Callable[[], None]:
        """Have `subscriber` called with every AG-UI event of this session's runs, in order.

        Beside the agent's own events it gets a ``TOOL_CALL_RESULT`` for each answer, and for each fault a ``CUSTOM``
        event ``error`` with ``{"code": ..., "message": ...}``; the codes are the web client's (`tool_not_found`,
        `tool_argument_parse_failed`, `tool_handler_failed`, `agent_run_failed`, `agent_run_error_event`).

        Returns:
            A function that ends the subscription.
        """
        return self._context.subscribe(subscriber)

    async def requests(self) -> AsyncIterator[Call]:
        """Iterate over the calls that need an answer, as they open; while you do, you are the first person asked.

        ::

            async for call in session.requests():
                call.respond(my_own_front_end(call.name, call.args))
        """
        calls: asyncio.Queue[Call] = asyncio.Queue()

        async def consumer(call: Call) -> None:
            calls.put_nowait(call)
            await until_decided(call)

        self.people.insert(0, consumer)
        try:
            while True:
                yield await calls.get()
        finally:
            self.people.remove(consumer)

    def __repr__(self) -> str:
        tools = ", ".join(self._tools.names) or "no tools"
        return f"<Session {self._context.agent!r} · {tools} · {len(self._thread.messages)} messages>"
