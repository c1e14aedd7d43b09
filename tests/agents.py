"""An agent from a script, for tests of everything above it: AG-UI events without a model, a Flow or a server."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from ag_ui.core import (
    Event,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from hitl_nb.testing._turns import Says, fragments, parts_of

_message_ids = itertools.count(int(time.time() * 1e6))
"""Never the same twice, also after a restart: agents that reuse message ids overwrite what was said."""


class ScriptedAgent:
    """Plays one turn a run; a turn may also be a function of the input that gives events. Keeps every input."""

    def __init__(self, turns: Sequence[Any], *, pace: float = 0.0) -> None:
        self.turns = list(turns)
        self.inputs: list[RunAgentInput] = []
        self._pace = pace
        self._call_ids = itertools.count(1)

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        self.inputs.append(input.model_copy(deep=True))
        number = len(self.inputs)
        turn = self.turns[number - 1]
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        events = turn(input) if callable(turn) else self._events(turn, f"message-{next(_message_ids)}")
        for event in events:
            yield event
            if self._pace:
                await asyncio.sleep(self._pace)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)

    def _events(self, turn: Any, message_id: str) -> Any:
        for part in parts_of(turn):
            if isinstance(part, Says):
                yield TextMessageStartEvent(message_id=message_id, role="assistant")
                for piece in fragments(part.text, 12):
                    yield TextMessageContentEvent(message_id=message_id, delta=piece)
                yield TextMessageEndEvent(message_id=message_id)
                continue
            call_id = part.id or f"call_{next(self._call_ids)}"
            yield ToolCallStartEvent(tool_call_id=call_id, tool_call_name=part.name, parent_message_id=message_id)
            for piece in fragments(part.arguments, 12):
                yield ToolCallArgsEvent(tool_call_id=call_id, delta=piece)
            yield ToolCallEndEvent(tool_call_id=call_id)

    def results(self, run: int) -> dict[str, str]:
        """The tool messages that the agent's n-th run (from 0) was given, by tool call id."""
        return {m.tool_call_id: str(m.content) for m in self.inputs[run].messages if m.role == "tool"}
