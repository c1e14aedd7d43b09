"""The seam between a session and whatever asks the questions."""

import sys
from collections.abc import AsyncIterator
from typing import Any, Protocol, runtime_checkable

from ag_ui.core import Event, RunAgentInput

from hitl_nb.agents.flow import FlowAgent
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
        thing: A CrewAI Flow class (a fresh instance each run) or instance, or an object with `run`.

    Raises:
        AgentDefinitionError: It is none of these.
    """
    if _is_flow(thing):
        return FlowAgent(thing)
    if isinstance(thing, Agent) and not isinstance(thing, type):
        return thing
    if isinstance(thing, type) and hasattr(thing, "run"):
        hint = f"hand over an instance: `Session({thing.__name__}(), ...)`"
    else:
        hint = "write `Session(MyFlow, tools=[...])` with a CrewAI Flow, or an object whose `run` yields AG-UI events"
    raise AgentDefinitionError(f"`{_name(thing)}` cannot be run as an agent; {hint}.")


def _is_flow(thing: Any) -> bool:
    # Whoever holds a Flow has imported crewai already; importing it here would cost 10 s for nothing.
    flow = sys.modules.get("crewai.flow.flow")
    if flow is None:
        return False
    return issubclass(thing, flow.Flow) if isinstance(thing, type) else isinstance(thing, flow.Flow)


def _name(thing: Any) -> str:
    return thing.__name__ if isinstance(thing, type) else repr(thing)
