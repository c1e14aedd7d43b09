"""`ag_ui_langgraph`: a graph that calls `interrupt()`, and LangChain's own approval middleware, in both modes."""

import warnings
from typing import Annotated, Any, ClassVar

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool
from typing_extensions import TypedDict

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from ag_ui_langgraph import LangGraphAgent
    from langchain.agents import create_agent
    from langchain.agents.middleware import HumanInTheLoopMiddleware
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.graph.message import add_messages
    from langgraph.types import Send, interrupt

from tests.conformance.adapters.bench import SIGNATURE, THOUGHT, Bench
from tests.foreign.streamed import Streamed


class Scripted(Streamed):
    """Streams a round of calls, "Finished.", and then "Bye."."""

    calls: int = 1
    thinks: bool = False

    def pieces(self, number: int) -> list[dict[str, Any]]:
        """Return the turn, thoughts first."""
        if number > 1:
            return [{"content": "Finished." if number == 2 else "Bye."}]
        thought = {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE, "index": 0}
        said: list[dict[str, Any]] = [{"content": [thought]}] if self.thinks else []
        for index, table in enumerate("ab"[: self.calls]):
            arguments = f'{{"table": "{table}", "rows": {index + 1}}}'
            call = {"name": "delete", "args": arguments, "id": f"call_{table}", "index": index}
            said.append({"content": "", "tool_call_chunks": [call]})
        return said


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class LangGraph(Bench):
    """A graph of one's own: what `interrupt()` gives is taken for a yes if it is true, as most are written."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.model = Scripted(calls=self.calls, thinks=self.thinks)
        self._agent = LangGraphAgent(name="bench", graph=self._graph(), **self.options)

    @property
    def agent(self) -> Any:
        return self._agent

    def _graph(self) -> Any:
        async def chat(state: State) -> dict[str, Any]:
            return {"messages": [await self.model.ainvoke(state["messages"])]}

        def work(call: dict[str, Any]) -> dict[str, Any]:
            table, rows = call["args"]["table"], call["args"]["rows"]
            answer = interrupt({"message": f"Delete {rows} of {table}?", "table": table, "rows": rows})
            if not answer:
                return {"messages": [ToolMessage("the user said no", tool_call_id=call["id"])]}
            rows = answer.get("rows", rows) if isinstance(answer, dict) else rows
            self.done.append(f"delete {rows} of {table}")
            return {"messages": [ToolMessage(f"deleted {rows}", tool_call_id=call["id"])]}

        def route(state: State) -> Any:
            last = state["messages"][-1]
            assert isinstance(last, AIMessage)
            return [Send("work", call) for call in last.tool_calls] or END

        graph = StateGraph(State)
        graph.add_node("chat", chat)
        graph.add_node("work", work)  # type: ignore[arg-type]
        graph.add_edge(START, "chat")
        graph.add_conditional_edges("chat", route, ["work", END])
        graph.add_edge("work", "chat")
        return graph.compile(checkpointer=InMemorySaver())

    def requests(self) -> list[str]:
        return [str(request) for request in self.model.requests]

    def prove(self) -> None:
        prove(self.model.requests[-1])

    def edit(self, call: Any) -> Any:
        return {**call.args, "rows": 7}


def prove(messages: list[BaseMessage]) -> None:
    """Each tool call has one result, behind it, in order."""
    open_calls: list[str | None] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            assert open_calls, f"a result without a call: {message}"
            assert message.tool_call_id in open_calls, f"a result out of place: {message}"
            open_calls.remove(message.tool_call_id)
            continue
        assert not open_calls, f"calls without a result: {open_calls}"
        if isinstance(message, AIMessage):
            open_calls = [call["id"] for call in message.tool_calls]
    assert not open_calls, f"calls without a result: {open_calls}"


class Middleware(LangGraph):
    """`create_agent` with LangChain's `HumanInTheLoopMiddleware`."""

    mode: ClassVar[Any] = "batched"

    def _graph(self) -> Any:
        def delete(table: str, rows: int) -> str:
            """Delete rows of a table."""
            self.done.append(f"delete {rows} of {table}")
            return f"deleted {rows}"

        asks = HumanInTheLoopMiddleware(interrupt_on={"delete": True}, interrupt_mode=self.mode)
        return create_agent(self.model, tools=[tool(delete)], middleware=[asks], checkpointer=InMemorySaver())

    def edit(self, call: Any) -> Any:
        return {**call.proposal, "rows": 7}


class LangGraphDefault(LangGraph):
    name = "ag-ui-langgraph: `interrupt()`, as it comes"


class LangGraphOutcome(LangGraph):
    name = "ag-ui-langgraph: `interrupt()`, `emit_interrupt_outcome=True`"
    options: ClassVar[dict[str, Any]] = {"emit_interrupt_outcome": True, "enable_legacy_on_interrupt_event": False}


class MiddlewareDefault(Middleware):
    name = "ag-ui-langgraph: `HumanInTheLoopMiddleware`, as it comes"


class MiddlewareOutcome(Middleware):
    name = "ag-ui-langgraph: `HumanInTheLoopMiddleware`, `emit_interrupt_outcome=True`"
    options = LangGraphOutcome.options


class PerCallDefault(Middleware):
    name = 'ag-ui-langgraph: `HumanInTheLoopMiddleware(interrupt_mode="per_call")`'
    mode = "per_call"
