"""Pydantic AI through its own AG-UI adapter; the object with `run` is five lines."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import BaseEvent, RunAgentInput
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter

from hitl_nb import Session, human_in_the_loop
from hitl_nb.errors import AgentDefinitionError
from hitl_nb.testing import ScriptedPerson

pytestmark = pytest.mark.timeout(300)


@human_in_the_loop
def choose_city(cities: list[str]) -> str:
    """Let the user choose a city."""


class PydanticAgent:
    def __init__(self, agent: Agent[Any, Any]) -> None:
        self.agent = agent

    async def run(self, input: RunAgentInput) -> AsyncIterator[BaseEvent]:  # noqa: A002
        async for event in AGUIAdapter(agent=self.agent, run_input=input).run_stream():
            yield event


class Script:
    """Streams one turn a request: a text, or a list of (id, arguments) of tool calls."""

    def __init__(self, *turns: Any) -> None:
        self.turns = turns
        self.requests: list[list[ModelMessage]] = []
        self.tools: list[list[str]] = []

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.requests.append(list(messages))
        self.tools.append([tool.name for tool in info.function_tools])
        turn = self.turns[len(self.requests) - 1]
        if isinstance(turn, str):
            yield turn
            return
        for index, (call_id, arguments) in enumerate(turn):
            yield {index: DeltaToolCall(name="choose_city", json_args=arguments[:9], tool_call_id=call_id)}
            yield {index: DeltaToolCall(json_args=arguments[9:])}

    @property
    def agent(self) -> PydanticAgent:
        return PydanticAgent(Agent(FunctionModel(stream_function=self.stream)))


async def test_the_next_model_request_holds_exactly_what_the_person_chose():
    script = Script([("call_a", '{"cities": ["Ulm", "Köln"]}')], "Köln it is.", "Bye.")
    with ScriptedPerson([lambda call: call.args.cities[1]]) as person:
        session = Session(script.agent, tools=[choose_city], people=[person])
        reply = await session.run("Where to?")
        assert (await session.run("Thanks")).text == "Bye."

    assert reply.text == "Köln it is."
    assert script.tools[0] == ["choose_city"]
    (returned,) = [part for part in script.requests[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert (returned.tool_name, returned.tool_call_id, returned.content) == ("choose_city", "call_a", "Köln")
    assert [message.role for message in session.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
    ]


async def test_parallel_calls_get_each_its_own_answer():
    script = Script([("a", '{"cities": ["Ulm"]}'), ("b", '{"cities": ["Bonn"]}')], "Both.")
    with ScriptedPerson([lambda call: call.args.cities[0]] * 2) as person:
        await Session(script.agent, tools=[choose_city], people=[person]).run("Where to?")
    returned = [part for part in script.requests[1][-1].parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_call_id, part.content) for part in returned] == [("a", "Ulm"), ("b", "Bonn")]


def test_the_agent_itself_is_refused_with_the_lines_to_write():
    with pytest.raises(AgentDefinitionError, match=r"AGUIAdapter\(agent, run_input=input\)\.run_stream\(\)"):
        Session(Agent("test"), tools=[choose_city])  # type: ignore[arg-type]
