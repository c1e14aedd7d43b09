"""Pydantic AI behind its own `AGUIAdapter`: a tool that requires approval."""

from collections.abc import AsyncIterator
from typing import Any

from ag_ui.core import BaseEvent, RunAgentInput
from pydantic_ai import Agent, DeferredToolRequests
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

from tests.conformance.adapters.bench import SIGNATURE, THOUGHT, Bench


class PydanticAI(Bench):
    name = "pydantic-ai: `requires_approval=True`"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._requests: list[list[ModelMessage]] = []
        self._pydantic = Agent(FunctionModel(stream_function=self._stream), output_type=[str, DeferredToolRequests])

        @self._pydantic.tool_plain(requires_approval=True)
        def delete(table: str, rows: int) -> str:
            """Delete rows of a table."""
            self.done.append(f"delete {rows} of {table}")
            return f"deleted {rows}"

    @property
    def agent(self) -> Any:
        return self

    async def run(self, input: RunAgentInput) -> AsyncIterator[BaseEvent]:  # noqa: A002
        async for event in AGUIAdapter(agent=self._pydantic, run_input=input).run_stream():
            yield event

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self._requests.append(list(messages))
        number = len(self._requests)
        if number > 1:
            yield "Finished." if number == 2 else "Bye."
            return
        if self.thinks:
            yield {0: DeltaThinkingPart(content=THOUGHT)}
            yield {0: DeltaThinkingPart(signature=SIGNATURE)}
        for index, table in enumerate("ab"[: self.calls], start=1):
            yield {index: DeltaToolCall(name="delete", json_args='{"table": ', tool_call_id=f"call_{table}")}
            yield {index: DeltaToolCall(json_args=f'"{table}", "rows": {index}}}')}

    def requests(self) -> list[str]:
        return [str(request) for request in self._requests]

    def prove(self) -> None:
        open_calls: list[str] = []
        for message in self._requests[-1]:
            if isinstance(message, ModelResponse):
                assert not open_calls, f"calls without a result: {open_calls}"
                open_calls = [part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)]
                continue
            assert isinstance(message, ModelRequest)
            for part in message.parts:
                if isinstance(part, ToolReturnPart | RetryPromptPart):
                    open_calls.remove(part.tool_call_id)
        assert not open_calls, f"calls without a result: {open_calls}"
