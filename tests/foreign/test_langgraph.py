"""`ag_ui_langgraph.LangGraphAgent` in a session as it is, with a scripted model at LangChain's own seam."""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import pytest
from ag_ui_langgraph import LangGraphAgent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict

from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import ScriptedPerson

pytestmark = [
    pytest.mark.timeout(120),
    # The adapter's own calls of LangGraph.
    pytest.mark.filterwarnings("ignore::langgraph.warnings.LangGraphDeprecatedSinceV10"),
]


@human_in_the_loop
def choose_city(cities: list[str]) -> str:
    """Let the user choose a city."""


class Scripted(BaseChatModel):
    """Streams one turn a request: a text, or a list of (id, arguments) of tool calls."""

    turns: list[Any]
    requests: list[list[BaseMessage]] = Field(default_factory=list)
    tools: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Scripted":
        self.tools.append([tool["name"] for tool in tools])
        return self

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise AssertionError("it streams")

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.requests.append(list(messages))
        number = len(self.requests)
        turn = self.turns[number - 1]
        for piece in _pieces(turn):
            chunk = ChatGenerationChunk(message=AIMessageChunk(id=f"run-{number}", **piece))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _pieces(turn: Any) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        return [{"content": turn[start : start + 5]} for start in range(0, len(turn), 5)]
    return [
        {
            "content": "",
            "tool_call_chunks": [
                {"name": None if half else "choose_city", "args": args, "id": None if half else call_id, "index": index}
            ],
        }
        for index, (call_id, arguments) in enumerate(turn)
        for half, args in enumerate([arguments[:9], arguments[9:]])
    ]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    tools: list[Any]


def agent(model: Scripted) -> LangGraphAgent:
    async def chat(state: State) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(state["tools"]).ainvoke(state["messages"])]}

    graph = StateGraph(State)
    graph.add_node("chat", chat)
    graph.add_edge(START, "chat")
    return LangGraphAgent(name="cities", graph=graph.compile(checkpointer=InMemorySaver()))


async def test_the_next_model_request_holds_exactly_what_the_person_chose():
    model = Scripted(turns=[[("call_a", '{"cities": ["Ulm", "Köln"]}')], "Köln it is.", "Bye."])
    with ScriptedPerson([lambda call: call.args.cities[1]]) as person:
        session = Session(agent(model), tools=[choose_city], people=[person])
        reply = await session.run("Where to?")
        assert reply.text == "Köln it is."
        again = await session.run("Thanks")

    assert [call.args.cities for call in person.asked] == [["Ulm", "Köln"]]
    assert model.tools[0] == ["choose_city"]
    asked, answer = model.requests[1][-2:]
    assert isinstance(asked, AIMessage)
    assert isinstance(answer, ToolMessage)
    assert (answer.tool_call_id, answer.content) == (asked.tool_calls[0]["id"], "Köln") == ("call_a", "Köln")
    assert again.text == "Bye."
    # The graph keeps the conversation, too: nothing of it is there twice.
    assert [message.type for message in model.requests[2]] == ["human", "ai", "tool", "ai", "human"]
    assert [message.role for message in session.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
    ]


async def test_parallel_calls_get_each_its_own_answer():
    model = Scripted(turns=[[("a", '{"cities": ["Ulm"]}'), ("b", '{"cities": ["Bonn"]}')], "Both."])
    with ScriptedPerson([lambda call: call.args.cities[0]] * 2) as person:
        await Session(agent(model), tools=[choose_city], people=[person]).run("Where to?")
    assert [(m.tool_call_id, m.content) for m in model.requests[1] if isinstance(m, ToolMessage)] == [
        ("a", "Ulm"),
        ("b", "Bonn"),
    ]
