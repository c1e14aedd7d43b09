"""What a user holds: one conversation with an agent, and the tools that people answer in it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from ag_ui.core import Event, FunctionCall, Message, ToolCall, UserMessage
from pydantic import BaseModel

from hitl_nb._awaiting import line_of
from hitl_nb._calls import Call
from hitl_nb._encoding import encode
from hitl_nb._tools import Drawing, InterruptHandler, SessionTool, ToolBox, checked_drawing
from hitl_nb._waiting import until_decided
from hitl_nb.agents import AnyAgent, agent_of
from hitl_nb.agui import open_calls
from hitl_nb.errors import SessionBusyError, ToolDefinitionError, UsageError
from hitl_nb.journal import DEFAULT, AnyJournal, Journal, open_journal
from hitl_nb.people import Person, people_of
from hitl_nb.session._attached import Attachment, Readable, Sent, attachment_of, text_in
from hitl_nb.session._loop import Context
from hitl_nb.session._run import CodeCall, PendingRun, PendingTool, Run
from hitl_nb.session._shared import State
from hitl_nb.session._suggesting import Suggesting, Suggestion, suggested, suggestion_of
from hitl_nb.session._thread import Thread, ThreadStore

if TYPE_CHECKING:
    from hitl_nb.chat import Chat

IfBusy = Literal["error", "decline", "wait"]
"""What a new message does to a run that is under way."""


_Function = TypeVar("_Function", bound=Callable[..., object])


class Decorator:
    """Takes a function where one stands below the call; as the last line of a cell it is nothing to look at."""

    def __init__(self, take: Callable[[Any], object]) -> None:
        self._take = take

    def __call__(self, function: _Function) -> _Function:
        """Take the function, and give it back."""
        self._take(function)
        return function

    def _ipython_display_(self) -> None:
        """Show nothing."""


class Ending:
    """Ends something when it is called; as the last line of a cell it is nothing to look at."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._end = end

    def __call__(self) -> None:
        """End it."""
        self._end()

    def _ipython_display_(self) -> None:
        """Show nothing."""


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
        state: Shared state to begin with, which the Flow finds in ``self.state``: plain data, a pydantic model, or its
            class. Both sides may change it; see `State`.
        one_at_a_time: Ask parallel calls one after the other, as the web does; default: all cards together.
        journal: Where questions and answers are recorded: a `Journal`, a path, ``"memory"``, or None for nowhere.
            Default: ``HITL_NB_JOURNAL``, else ``.hitl_nb/journal.sqlite`` beside the notebook. With a `thread_id` that
            it knows, the conversation is restored: go on with ``await session.resume()``.
        max_follow_ups: How often a run may re-enter the agent after answers.

    Raises:
        AgentDefinitionError, ToolDefinitionError: `agent` or `tools` cannot be used; the message says what to write.

    Attributes:
        messages: The history as AG-UI messages. Each tool call in it has exactly one adjacent result.
        state: The shared state, of the agent and the person: a `State`.
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
        state: Any = None,
        journal: AnyJournal = DEFAULT,
        one_at_a_time: bool = False,
        max_follow_ups: int = 100,
    ) -> None:
        self.thread_id = thread_id or str(uuid.uuid4())
        self._tools = ToolBox(tools, interrupts, agent_id)
        self._thread = Thread(State({} if state is None else state))
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
        self._thread.state.saved = lambda: self._context.store.save(self._thread)

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
    def state(self) -> State:
        """The shared state; what you change, or assign, is sent with the next run."""
        return self._thread.state

    @state.setter
    def state(self, value: object) -> None:
        self._thread.state.replace(value)

    @property
    def pending(self) -> list[Call]:
        """The calls that a person can answer now."""
        return [call for run in self._under_way for call in run.pending]

    @property
    def _under_way(self) -> list[Run]:
        return self._run.line if self._run is not None else []

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

    def start(self, text: str, *, if_busy: IfBusy = "error", attachments: Sequence[object] = ()) -> Run:
        """Send `text` and return at once; the run goes on in the background, with its cards in this cell.

        Args:
            text: The user's words.
            if_busy: As for `run`.
            attachments: What goes with them: paths, figures, images, DataFrames, data; see `Chat.attach`.

        Returns:
            A `Run`: ``await run`` in a later cell gives the `Reply`; ``run.stop()`` ends it.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        return self._start(text, foreground=False, if_busy=if_busy, attachments=attachments)

    def run_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | BaseModel | None = None,
        *,
        follow_up: bool | str = False,
        if_busy: IfBusy = "error",
    ) -> PendingTool:
        """Call a tool of this session from code, without a turn of the model; use it with ``await``.

        The call and its result stand in the history as if the model had made it, and its card in the cell: a
        `frontend_tool` runs, a `human_in_the_loop` tool is put to the person, a `gate` asks and runs.

        Args:
            name: The tool's name; one with ``available=False`` can be called as well.
            arguments: Its arguments by name.
            follow_up: Whether the agent is run with the result afterwards; words are said to it first, as the user's.
            if_busy: As for `run`.

        Returns:
            The decided `Call`: ``call.answer`` is what the function returned or the person answered, ``call.result``
            what the model reads, ``call.outcome`` and ``call.reason`` say what went wrong.

        Raises:
            UsageError: There is no such tool.
            InvalidValue: The arguments do not fit it.
            SessionBusyError, NoHumanError: As for `run`.

        ::

            call = await session.run_tool("row_count", {"table": "orders"})
            await session.run_tool("load", {"path": "orders.csv"}, follow_up="What is in it?")
        """
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            names = ", ".join(f"`{known}`" for known in self._tools.every) or "none"
            raise UsageError(
                f"This session has no tool `{name}`; it has {names}. "
                "Write `Session(agent, tools=[…])` with the tool in it."
            )
        text = encode(dict(arguments) if isinstance(arguments, Mapping) else arguments) or "{}"
        tool.validated(text)
        call = ToolCall(id=f"call_{uuid.uuid4().hex}", function=FunctionCall(name=name, arguments=text))
        return PendingTool(
            lambda *, foreground: self._launch(
                None, foreground=foreground, if_busy=if_busy, code_call=CodeCall(tool_call=call, follow_up=follow_up)
            ),
            line_of("session.run_tool", name, more=bool(arguments) or follow_up is not False),
        )

    def render_tool_call(self, name: str = "*", render: Drawing | None = None) -> "Decorator":
        """Show the calls of a tool that nobody is asked about: a `frontend_tool`, or one that the agent runs itself.

        Without `render` it is a card with arguments, progress, result or error, and seconds. What a person answers has
        a card of its own and is not concerned.

        Args:
            name: The tool; ``"*"`` is every one without a drawing of its own.
            render: Gets the `Call` when it begins and whenever its status or its arguments change (``inProgress`` with
                partial arguments, ``executing``, ``complete`` with ``call.result``), and gives what is shown: Markdown,
                data, a DataFrame, a figure, any ipywidget, or None for nothing.

        Returns:
            What takes `render` as a decorator.

        Raises:
            ToolDefinitionError: `render` cannot be called.

        ::

            session.render_tool_call()                # a card for every call

            @session.render_tool_call("search")
            def found(call):
                return f"**{call.args['query']}**: {call.result or '…'}"
        """
        where = f"render_tool_call({name!r}, …)"
        self._context.drawings.add(name, checked_drawing(where, render))
        return Decorator(lambda function: self._context.drawings.add(name, checked_drawing(where, function)))

    def render_state(self, render: Callable[[Any], object]) -> Callable[[], None]:
        """Show the shared state of each run while it lasts, and as the run left it: also usable as a decorator.

        It is drawn from the first change on, at most twenty times a second, with what the agent is about to write
        (`State.predict`). Each run has a drawing of its own, which stays.

        Args:
            render: Gets the state as plain data, and gives what is shown: Markdown, data, a figure, any ipywidget, or
                None for nothing. `hitl_nb.cards.Checklist` draws steps with their progress.

        Returns:
            A function that ends it, for the runs to come; shows nothing as the last line of a cell.

        ::

            @session.render_state
            def progress(state):
                done = [step for step in state["steps"] if step["status"] == "completed"]
                return f"{len(done)} of {len(state['steps'])} steps"

            session.render_state(Checklist("steps"))
        """
        if not callable(render):
            raise ToolDefinitionError(
                f"`render_state` got `{render!r}`, which cannot be called. "
                "Write `session.render_state(lambda state: state['progress'])`."
            )
        drawings = self._context.state_drawings
        drawings.append(render)
        return Ending(lambda: drawings.remove(render) if render in drawings else None)

    def agent_context(self, description: str, value: object) -> Callable[[], None]:
        """Tell the agent of a value of the notebook, beside the conversation; it is read again for each run.

        Args:
            description: What it is, in words.
            value: Text, data, a DataFrame (told as a summary: its columns, what is in them, its first rows), or a
                function that gives one of these.

        Returns:
            A function that ends it.

        ::

            session.agent_context("the table that the user looks at", lambda: df)
        """
        if not isinstance(description, str):
            raise UsageError(
                f"`agent_context` takes what it is in words first, not `{type(description).__name__}`. "
                'Write `session.agent_context("the orders", df)`.'
            )
        readable = Readable(description=description, value=value)
        readables = self._context.readables
        readables.append(readable)
        return Ending(lambda: readables.remove(readable) if readable in readables else None)

    def suggestions(self, *fixed: object, instructions: str | None = None, count: int = 3) -> None:
        """Say what a chat suggests to say next; without anything, nothing.

        Args:
            fixed: Texts, or pairs of a title and a text.
            instructions: Have the model suggest more after each run, by these words: it is asked beside the
                conversation, and forced to call a tool.
            count: How many it suggests.

        ::

            session.suggestions("What can you do?", ("Plan", "Plan a trip to Mars"), instructions="next steps")
        """
        self._context.suggesting = Suggesting(
            fixed=tuple(map(suggestion_of, fixed)), instructions=instructions, count=count
        )

    async def suggest(self) -> list[Suggestion]:
        """Give what a person may want to say next, by `suggestions`; also what the model suggests, who is asked now."""
        return await suggested(self._context.agent, self._context.suggesting, self.messages)

    def chat(self, *, title: str = "Chat", dock: bool = False) -> "Chat":
        """Return a panel to talk to this session, to be the last line of a cell.

        Text streams as Markdown, calls and cards stand in their place, what the agent thinks is folded. It can be
        stopped from the first moment, said again, or said otherwise; JupyterLab's "Create New View for Cell Output"
        puts it beside the notebook.

        Args:
            title: What stands above.
            dock: Put it beside the notebook at once, where ``sidecar`` is installed.
        """
        from hitl_nb.chat import Chat

        return Chat(self, title=title, dock=dock)

    def on_run(self, function: Callable[[Run], object]) -> Callable[[], None]:
        """Have `function` called with each run as it begins, before it is shown; gives what ends that."""
        begun = self._context.begun
        begun.append(function)
        return Ending(lambda: begun.remove(function) if function in begun else None)

    def take_back(self) -> str | None:
        """Cut the history before the last thing that the user has said, to say it again, or something else.

        Returns:
            What was said; None if nothing was.

        Raises:
            SessionBusyError: A run is under way.
        """
        if self._under_way:
            raise SessionBusyError(self._busy(self._under_way[0]))
        said = self.last_said
        if said is None:
            return None
        messages = self._thread.messages
        at = next(at for at in range(len(messages) - 1, -1, -1) if isinstance(messages[at], UserMessage))
        self._thread.messages = messages[:at]
        self._context.store.save(self._thread)
        return said.words

    @property
    def last_said(self) -> Sent | None:
        """The last thing that the user has said, its words apart from what went with them; None if nothing was."""
        message = next((it for it in reversed(self._thread.messages) if isinstance(it, UserMessage)), None)
        if message is None:
            return None
        return self.sent_in(message)

    def sent_in(self, message: UserMessage) -> Sent:
        """Return the words of a user's message apart from what went with them."""
        return self._thread.sent.get(message.id) or Sent(words=text_in(message.content))

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

    def _start(
        self, text: str, *, foreground: bool, if_busy: IfBusy = "error", attachments: Sequence[object] = ()
    ) -> Run:
        if not isinstance(text, str):
            raise UsageError(
                f"`session.run` takes the user's words, not `{type(text).__name__}`. "
                'Write `await session.run("Plan a trip to Mars")`.'
            )
        attached = [each if isinstance(each, Attachment) else attachment_of(each) for each in attachments]
        said = Sent(words=text, attachments=tuple(attached))
        return self._launch(said, foreground=foreground, if_busy=if_busy)

    def _launch(
        self,
        said: Sent | None,
        *,
        foreground: bool,
        if_busy: IfBusy = "error",
        replay: Sequence[Event] | None = None,
        code_call: CodeCall | None = None,
    ) -> Run:
        self._require_loop()
        if if_busy not in get_args(IfBusy):
            raise UsageError(f'`if_busy` cannot be `{if_busy!r}`. Write `if_busy="error"`, "decline" or "wait".')
        busy = [run for run in self._under_way if run.status in ("running", "waiting")]
        if busy and if_busy == "error":
            raise SessionBusyError(self._busy(busy[0]))
        for run in busy if if_busy == "decline" else ():
            run.supersede()
        if (said is not None or code_call is not None) and self._restored:
            self._close_restored(if_busy)
        self._restored = False
        # Also behind a run that was stopped and still closes what it has left open.
        last = self._run if self._under_way else None
        self._run = Run(self._context, said, foreground=foreground, after=last, replay=replay, code_call=code_call)
        return self._run

    def _close_restored(self, if_busy: IfBusy) -> None:
        """A new message on a thread that an earlier kernel left with open calls."""
        waiting = [f"`{call.function.name}` ({call.id})" for call in open_calls(self._thread.messages)]
        waiting += [f"`{checkpoint.message}` ({checkpoint.id})" for checkpoint in self._thread.unanswered]
        if waiting and if_busy == "error":
            raise SessionBusyError(
                f"This thread was restored with open calls: {', '.join(waiting)}. Write `await session.resume()` to "
                'have them asked again, or `session.run(..., if_busy="decline")` to close them.'
            )
        self._thread.close("superseded", self._context.store.end)

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
        answer = "Answer it (`display(session.pending[0])` shows its card again), end it" if waiting else "End it"
        return (
            f"This session has a run under way; {what}. {answer} with `session.stop()`, "
            'or write `session.run(..., if_busy="decline")` (or "wait").'
        )

    def stop(self) -> None:
        """End the run under way, and those that wait for it; see `Run.stop`."""
        for run in self._under_way:
            run.stop()

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
