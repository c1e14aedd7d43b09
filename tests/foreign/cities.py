"""A LangGraph agent that chats, with a scripted model at LangChain's own seam."""

from typing import Annotated, Any

from ag_ui_langgraph import LangGraphAgent
from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from pydantic import Field
from typing_extensions import TypedDict

from tests.foreign.streamed import Streamed


class Scripted(Streamed):
    """Streams one turn a request: a text, or a list of (id, arguments) of calls of `tool`."""

    turns: list[Any]
    tool: str = "choose_city"
    tools: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **_: Any) -> "Scripted":
        """Keep their names."""
        self.tools.append([tool["name"] for tool in tools])
        return self

    def pieces(self, number: int) -> list[dict[str, Any]]:
        """Return the turn in small pieces."""
        return _pieces(self.turns[number - 1], self.tool)


def _pieces(turn: Any, tool: str) -> list[dict[str, Any]]:
    if isinstance(turn, str):
        return [{"content": turn[start : start + 5]} for start in range(0, len(turn), 5)]
    return [
        {
            "content": "",
            "tool_call_chunks": [
                {"name": None if half else tool, "args": args, "id": None if half else call_id, "index": index}
            ],
        }
        for index, (call_id, arguments) in enumerate(turn)
        for half, args in enumerate([arguments[:9], arguments[9:]])
    ]


class _State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    tools: list[Any]


def agent(model: Scripted) -> LangGraphAgent:
    """An agent that asks its model once a run, and keeps the conversation."""

    async def chat(state: _State) -> dict[str, Any]:
        return {"messages": [await model.bind_tools(state["tools"]).ainvoke(state["messages"])]}

    graph = StateGraph(_State)
    graph.add_node("chat", chat)
    graph.add_edge(START, "chat")
    return LangGraphAgent(name="cities", graph=graph.compile(checkpointer=InMemorySaver()))
