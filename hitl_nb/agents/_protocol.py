"""The seam between a session and whatever asks the questions."""

import inspect
import sys
from collections.abc import AsyncIterator
from typing import Any, Protocol, runtime_checkable

from ag_ui.core import Event, RunAgentInput

from hitl_nb.agents._foreign import ForeignAgent
from hitl_nb.agents.chat import ChatAgent
from hitl_nb.agents.flow import FlowAgent
from hitl_nb.agents.http import HttpAgent
from hitl_nb.errors import AgentDefinitionError


@runtime_checkable
class Agent(Protocol):
    """Anything with ``run``: a Flow, a server, a loop of your own, a script in a test."""

    def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Run once: yield AG-UI events from ``RUN_STARTED`` to ``RUN_FINISHED`` or ``RUN_ERROR``.

        A run that needs a person ends with an unanswered tool call; it is run again with the answer in
        ``input.messages``.
        """
        ...


def agent_of(thing: Any) -> Agent:
    """Give the agent for what a user hands to ``Session``.

    Args:
        thing: A CrewAI Flow class (a fresh instance each run) or instance, the URL of an AG-UI server, or an
            object whose ``run(input)`` yields AG-UI events, e.g. ``ag_ui_langgraph.LangGraphAgent``.

    Raises:
        AgentDefinitionError: It is none of these.
        MissingExtraError: A URL, and the extra ``[http]`` is not installed.
    """
    if isinstance(thing, str):
        return HttpAgent(thing)
    if _is_flow(thing):
        return FlowAgent(thing)
    if isinstance(thing, (ChatAgent, FlowAgent, HttpAgent)):
        return thing
    if isinstance(thing, Agent) and not isinstance(thing, type) and not inspect.iscoroutinefunction(thing.run):
        return ForeignAgent(thing)
    raise AgentDefinitionError(f"`{_name(thing)}` cannot be run as an agent; {_hint(thing)}.")


def _hint(thing: Any) -> str:
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


def _is_flow(thing: Any) -> bool:
    # Whoever holds a Flow has imported crewai already; importing it here would cost 10 s for nothing.
    flow = sys.modules.get("crewai.flow.flow")
    if flow is None:
        return False
    return issubclass(thing, flow.Flow) if isinstance(thing, type) else isinstance(thing, flow.Flow)


def _name(thing: Any) -> str:
    return thing.__name__ if isinstance(thing, type) else repr(thing)
