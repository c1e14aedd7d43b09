"""What a user holds: one conversation with an agent, and the tools that people answer in it."""

import asyncio
import uuid
import warnings
from collections.abc import Generator, Iterable, Sequence
from typing import Any

from ag_ui.core import Message, ToolMessage

from hitl_nb._calls import Call
from hitl_nb._tools import HumanTool, ToolBox
from hitl_nb.agents import agent_of
from hitl_nb.errors import NotAwaitedError, SessionBusyError, UsageError
from hitl_nb.people import Person, people_of
from hitl_nb.session._reply import Reply
from hitl_nb.session._run import Run


class Session:
    """One conversation: an agent that may pause on `tools`, and `people` who answer.

    Args:
        agent: A CrewAI Flow class (recommended) or instance, or any object whose ``run`` yields AG-UI events.
        tools: What `human_in_the_loop` made; their names must differ.
        people: A person or several in a row; the first that answers wins. Each is an async callable that gets the
            `Call`. Default: whoever sits at the notebook; ``HITL_NB_PEOPLE=script:answers.py`` replaces them.
        thread_id: The conversation's id; default: a fresh one.
        state: Shared state to begin with: a dict that the Flow finds in ``self.state``.
        one_at_a_time: Ask parallel calls one after the other, as the web does; default: all cards together.
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
        agent: Any,
        tools: Iterable[HumanTool] = (),
        *,
        people: Person | Sequence[Person] | None = None,
        thread_id: str | None = None,
        state: dict[str, Any] | None = None,
        one_at_a_time: bool = False,
        max_follow_ups: int = 100,
    ) -> None:
        self._agent = agent_of(agent)
        self._tools = ToolBox([tools] if isinstance(tools, HumanTool) else tools)
        self.people = people_of(people)
        self.thread_id = thread_id or str(uuid.uuid4())
        self.state: Any = dict(state or {})
        self.one_at_a_time = one_at_a_time
        self.max_follow_ups = max_follow_ups
        self._messages: list[Message] = []
        self._results: dict[str, ToolMessage] = {}
        self._run: Run | None = None

    @property
    def messages(self) -> list[Message]:
        """The history, a copy."""
        return list(self._messages)

    @property
    def pending(self) -> list[Call]:
        """The calls that a person can answer now."""
        return self._run.pending if self._run is not None else []

    def run(self, text: str) -> "PendingRun":
        """Send `text`, show the run in this cell, and give its `Reply` once the model has said its last word.

        Use it with ``await``. The stop button ends it within a moment: open questions are closed as not executed.

        Raises:
            NoHumanError: A question came up and nobody can answer here.
            SessionBusyError: Another run of this session is under way.
            Exception: Whatever the agent raised, itself.
        """
        return PendingRun(self, text)

    def start(self, text: str) -> Run:
        """Send `text` and return at once; the run goes on in the background, with its cards in this cell.

        Returns:
            A `Run`: ``await run`` in a later cell gives the `Reply`; ``run.stop()`` ends it.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        return self._start(text, foreground=False)

    def _start(self, text: str, *, foreground: bool) -> Run:
        if not isinstance(text, str):
            raise UsageError(
                f"`session.run` takes the user's words, not `{type(text).__name__}`. "
                'Write `await session.run("Plan a trip to Mars")`.'
            )
        self._require_loop()
        if self._run is not None and self._run.status in ("running", "waiting"):
            raise SessionBusyError(self._busy(self._run))
        self._run = Run(self, text, foreground=foreground)
        return self._run

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
        return f"This session has a run under way; {what}. Answer it, or end it with `session.stop()`."

    def stop(self) -> None:
        """End the run under way, if any; see `Run.stop`."""
        if self._run is not None:
            self._run.stop()

    def __repr__(self) -> str:
        tools = ", ".join(self._tools.names) or "no tools"
        return f"<Session {self._agent!r} · {tools} · {len(self._messages)} messages>"


class PendingRun:
    """``session.run(...)`` before its ``await``: nothing has happened yet, and it says so."""

    def __init__(self, session: Session, text: str) -> None:
        self._session = session
        self._text = text
        self._awaited = False

    def __await__(self) -> Generator[Any, None, Reply]:
        self._awaited = True
        return self._foreground().__await__()

    async def _foreground(self) -> Reply:
        run = self._session._start(self._text, foreground=True)
        try:
            return await run
        except asyncio.CancelledError:
            # The stop button cancels the cell; the run must not go on behind it.
            await run.stopped()
            raise

    def _hint(self) -> str:
        return f"nothing has run yet: write `reply = await session.run({self._text!r})`"

    def __repr__(self) -> str:
        return f"<session.run(...) without await: {self._hint()}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotAwaitedError(f"`session.run(...)` has no `{name}` before its `await`; {self._hint()}.")

    def __del__(self) -> None:
        if not self.__dict__.get("_awaited", True):
            warnings.warn(f"`session.run(...)` was never awaited; {self._hint()}.", RuntimeWarning, stacklevel=2)
