"""An agent of somebody else's in this process, read as carefully as one behind a server.

Events that never were JSON carry what a wire drops: `subagent_run_id=None` said aloud, which the protocol forbids
(ag_ui_langgraph says it on every event). And ids come from the same providers as anywhere else.
"""

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import Event, MessagesSnapshotEvent, RunAgentInput, RunFinishedEvent
from pydantic import BaseModel

from hitl_nb.agents._unique import UniqueCalls
from hitl_nb.agui import parse_event


class ForeignAgent:
    """Wraps an object whose ``run`` yields AG-UI events; looks like it, too."""

    def __init__(self, agent: Any) -> None:
        self._agent = agent
        self._calls = UniqueCalls()

    def __repr__(self) -> str:
        return repr(self._agent)

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Run it once; yields its events as they would arrive over a wire."""
        reader = self._calls.reader(input.messages)
        stream = self._agent.run(input.model_copy(update={"messages": self._calls.outgoing(input.messages)}))
        try:
            async for event in stream:
                if (sent := _as_sent(event)) is not None:
                    yield reader.read(sent)
        finally:
            if hasattr(stream, "aclose"):
                await stream.aclose()


def _as_sent(event: Event) -> Event | None:
    return parse_event(event.model_dump(by_alias=True)) if _says_none(event) else event


def _says_none(event: Event) -> bool:
    parts: list[BaseModel] = [event]
    if isinstance(event, MessagesSnapshotEvent):
        parts += event.messages
    elif isinstance(event, RunFinishedEvent) and event.outcome is not None and event.outcome.type == "interrupt":
        parts += event.outcome.interrupts
    return any("subagent_run_id" in it.model_fields_set and getattr(it, "subagent_run_id", 0) is None for it in parts)
