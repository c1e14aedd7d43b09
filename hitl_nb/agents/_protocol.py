"""The seam between a session and whatever asks the questions."""

import inspect
import re
import sys
from collections.abc import AsyncIterator
from typing import Final, Protocol, TypeGuard, cast, runtime_checkable

from ag_ui.core import BaseEvent, Event, MessagesSnapshotEvent, RunAgentInput, RunFinishedEvent
from pydantic import BaseModel

from hitl_nb._secrets import is_address_of_something, shown_address
from hitl_nb._text import visible_line
from hitl_nb.agents._ids import UniqueCalls
from hitl_nb.agents.chat import ChatAgent
from hitl_nb.agents.flow import AnyFlow, FlowAgent
from hitl_nb.agents.http import HttpAgent
from hitl_nb.agui import parse_event
from hitl_nb.errors import AgentDefinitionError


@runtime_checkable
class Agent(Protocol):
    """Anything with ``run``: a Flow, a server, a loop of your own, a script in a test."""

    def run(self, input: RunAgentInput) -> AsyncIterator[BaseEvent]:  # noqa: A002 - AG-UI's name
        """Run once: yield AG-UI events from ``RUN_STARTED`` to ``RUN_FINISHED`` or ``RUN_ERROR``.

        A run that needs a person ends with an unanswered tool call; it is run again with the answer in
        ``input.messages``.
        """
        ...


AnyAgent = Agent | AnyFlow | type[AnyFlow] | str
"""What a session takes: an agent, a CrewAI Flow class or instance, the address of an AG-UI server."""

_ADDRESS: Final = re.compile(r"://|:\d+(/|$)")
"""What somebody means as one; anything else is rather the name of a model."""


def agent_of(thing: object) -> Agent:
    """Return the agent for what a user hands to ``Session``.

    Args:
        thing: A CrewAI Flow class (a fresh instance each run) or instance, the URL of an AG-UI server, or an
            object whose ``run(input)`` yields AG-UI events, e.g. ``ag_ui_langgraph.LangGraphAgent``.

    Raises:
        AgentDefinitionError: It is none of these; the name of a model is for `ChatAgent`.
        MissingExtraError: A URL, and the extra ``[http]`` is not installed.
    """
    if isinstance(thing, str) and not _ADDRESS.search(thing):
        if is_address_of_something(thing):
            raise AgentDefinitionError(
                f"`{shown_address(thing)}` is not the address of a server. Write "
                '`Session("http://localhost:8000/agent")`.'
            )
        raise AgentDefinitionError(
            f"`{visible_line(thing)}` is not the address of a server. For a model that litellm knows write "
            f"`Session(ChatAgent({visible_line(thing)!r}))` with `from hitl_nb.agents import ChatAgent`; for a server "
            '`Session("http://localhost:8000/agent")`.'
        )
    if isinstance(thing, str):
        return HttpAgent(thing)
    if _is_flow(thing):
        return FlowAgent(thing)
    if isinstance(thing, (ChatAgent, FlowAgent, HttpAgent)):
        return thing
    if isinstance(thing, Agent) and not isinstance(thing, type) and not inspect.iscoroutinefunction(thing.run):
        return _ForeignAgent(thing)
    name = thing.__name__ if isinstance(thing, type) else repr(thing)
    raise AgentDefinitionError(f"`{name}` cannot be run as an agent; {_hint(thing)}.")


def _hint(thing: object) -> str:
    if isinstance(thing, type) and hasattr(thing, "run"):
        return f"hand over an instance: `Session({thing.__name__}(), ...)`"
    if type(thing).__module__.startswith("pydantic_ai."):
        return (
            "wrap it in an object with `async def run(self, input)`: "
            "`async for event in AGUIAdapter(agent, run_input=input).run_stream(): yield event`"
        )
    if inspect.iscoroutinefunction(getattr(thing, "run", None)):
        return "its `run` gives one value at the end; write `async def run(self, input)` that yields AG-UI events"
    return (
        "write `Session(MyFlow, tools=[...])` with a CrewAI Flow, the URL of an AG-UI server, "
        "or an object whose `run` yields AG-UI events"
    )


def _is_flow(thing: object) -> TypeGuard[AnyFlow | type[AnyFlow]]:
    # Whoever holds a Flow has imported crewai already; importing it here would cost 10 s for nothing.
    flow = sys.modules.get("crewai.flow.flow")
    if flow is None:
        return False
    return issubclass(thing, flow.Flow) if isinstance(thing, type) else isinstance(thing, flow.Flow)


class _ForeignAgent:
    """An agent of somebody else's in this process, read as carefully as one behind a server; looks like it, too.

    Events that never were JSON carry what a wire drops: `subagent_run_id=None` said aloud, which the protocol
    forbids (ag_ui_langgraph says it on every event). And ids come from the same providers as anywhere else.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._calls = UniqueCalls()

    def __repr__(self) -> str:
        return repr(self._agent)

    @property
    def takes_images(self) -> bool:
        """Whether it says so of itself."""
        return bool(getattr(self._agent, "takes_images", False))

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Run it once; yields its events as they would arrive over a wire."""
        request, reader = self._calls.begin(input)
        stream = self._agent.run(request)
        try:
            async for event in stream:
                sent = parse_event(event.model_dump(by_alias=True)) if _says_none(event) else cast("Event", event)
                if sent is not None:
                    yield reader.read(sent)
        finally:
            # Not every iterator can be closed; a generator that is not would be closed late, and go on until then.
            if hasattr(stream, "aclose"):
                await stream.aclose()


def _says_none(event: BaseEvent) -> bool:
    parts: list[BaseModel] = [event]
    if isinstance(event, MessagesSnapshotEvent):
        parts += event.messages
    elif isinstance(event, RunFinishedEvent) and event.outcome is not None and event.outcome.type == "interrupt":
        parts += event.outcome.interrupts
    return any("subagent_run_id" in it.model_fields_set and getattr(it, "subagent_run_id", 0) is None for it in parts)
