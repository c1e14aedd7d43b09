"""How fast an answer is in the code that asked, beside peers on the same work: `python -m tests.bench.peers`.

In one process, in turn, medians of pairs; processor time of all threads, since a busy machine makes whoever hands work
to a thread wait. Answer → code: from the moment of the answer to the line behind the question. Answer → model: to the
next request of the agent. LangGraph resumes a graph from its checkpoint, Pydantic AI a run with a deferred tool, CrewAI
a Flow that `@human_feedback` has paused; none of them has a card. With a journal ours is on disk before the code goes
on, as LangGraph's is with its SqliteSaver. A peer that is not installed is told as that.
"""

import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypedDict

from ag_ui.core import Event, RunAgentInput

import hitl_nb
from hitl_nb import Journal, Session, approve, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.bench.figure import tell, tell_none

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
PAIRS = 21
Work = Callable[[], Awaitable[float]]
"""Gives the seconds that it took."""


async def bare() -> float:
    """A future that a callback resolves: what no asking can be faster than."""
    future = asyncio.get_running_loop().create_future()
    begun = 0.0

    def click() -> None:
        nonlocal begun
        begun = time.process_time()
        future.set_result(True)

    asyncio.get_running_loop().call_soon(click)
    await future
    return time.process_time() - begun


async def of_approve() -> float:
    begun = 0.0

    async def person(call: Any) -> None:
        nonlocal begun
        begun = time.process_time()
        call.respond(True)

    await approve("Drop?", people=person)
    return time.process_time() - begun


@human_in_the_loop
def drop(table: str) -> bool:
    """Drop a table."""


class Asks(ScriptedAgent):
    """Notes when it is run."""

    ran = 0.0

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        self.ran = time.process_time()
        async for event in super().run(input):
            yield event


def of_session(journal: Journal | None) -> Work:
    async def work() -> float:
        begun = 0.0

        async def person(call: Any) -> None:
            nonlocal begun
            begun = time.process_time()
            call.respond(True)

        agent = Asks([calls("drop", table="orders"), says("ok")])
        await Session(agent, tools=[drop], people=[person], journal=journal).run("go")
        return agent.ran - begun

    return work


# -- peers ------------------------------------------------------------------------------------------------------------


class State(TypedDict):
    ok: bool


def of_langgraph(saver: Any) -> Work:
    """Resumes a graph."""
    from langgraph.graph import START, StateGraph
    from langgraph.types import Command, interrupt

    resumed, threads = 0.0, iter(range(10_000))

    def node(state: State) -> State:
        nonlocal resumed
        said = interrupt("Drop?")
        resumed = time.process_time()
        return {"ok": said}

    graph = StateGraph(State).add_node("ask", node).add_edge(START, "ask").compile(checkpointer=saver)

    async def work() -> float:
        config: Any = {"configurable": {"thread_id": str(next(threads))}}
        if not hasattr(saver, "storage"):  # SqliteSaver has no async methods
            graph.invoke({"ok": False}, config)
            begun = time.process_time()
            graph.invoke(Command(resume=True), config)
            return resumed - begun
        await graph.ainvoke({"ok": False}, config)
        begun = time.process_time()
        await graph.ainvoke(Command(resume=True), config)
        return resumed - begun

    return work


def in_memory() -> Work:
    from langgraph.checkpoint.memory import InMemorySaver

    return of_langgraph(InMemorySaver())


def in_a_file(folder: Path) -> Work:
    import sqlite3

    from langgraph.checkpoint.sqlite import SqliteSaver

    return of_langgraph(SqliteSaver(sqlite3.connect(folder / "langgraph.sqlite", check_same_thread=False)))


def of_pydantic_ai() -> Work:
    from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    async def work() -> float:
        asked = 0.0

        def model(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            nonlocal asked
            asked = time.process_time()
            first = len(messages) == 1
            return ModelResponse(parts=[ToolCallPart("drop_table", {"table": "orders"}) if first else TextPart("ok")])

        agent = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])
        agent.tool_plain(requires_approval=True)(drop_table)
        stopped = await agent.run("go")
        waiting = stopped.output
        assert isinstance(waiting, DeferredToolRequests)
        results = DeferredToolResults(approvals={waiting.approvals[0].tool_call_id: True})
        begun = time.process_time()
        await agent.run(message_history=stopped.all_messages(), deferred_tool_results=results)
        return asked - begun

    return work


def drop_table(table: str) -> str:
    """Drop a table."""
    return table


def of_crewai(folder: Path) -> Work:
    """Resumes a Flow that waits for feedback, from its own file, with its events and its console off."""
    from crewai.events.utils.console_formatter import set_suppress_console_output
    from crewai.flow.async_feedback import HumanFeedbackPending
    from crewai.flow.flow import Flow, listen, start
    from crewai.flow.human_feedback import human_feedback
    from crewai.flow.persistence import SQLiteFlowPersistence

    heard = 0.0
    set_suppress_console_output(True)

    class Later:
        def request_feedback(self, context: Any, flow: Any) -> str:
            raise HumanFeedbackPending(context=context)

    class Asking(Flow):
        @start()
        @human_feedback(message="Drop?", provider=Later())
        def propose(self) -> str:
            return "orders"

        @listen(propose)
        def go_on(self, _: Any) -> str:
            nonlocal heard
            heard = time.process_time()
            return "dropped"

    store = SQLiteFlowPersistence(str(folder / "crewai.sqlite"))

    async def work() -> float:
        flow = Asking(persistence=store, suppress_flow_events=True)
        await flow.kickoff_async()
        begun = time.process_time()
        await Asking.from_pending(flow.flow_id, store, suppress_flow_events=True).resume_async("yes")
        return heard - begun

    return work


# -- side by side -----------------------------------------------------------------------------------------------------


async def compared(what: str, mine: Work, peer: Callable[[], Work], goal: float | None) -> None:
    """Tell a ratio: the median of pairs."""
    try:
        theirs = peer()
    except ImportError as error:
        tell_none(what, error)
        return
    pairs = []
    gc.collect()
    gc.freeze()  # or each collection reads through all of CrewAI
    for _ in range(PAIRS + 3):
        gc.collect()
        pairs.append((await mine(), await theirs()))
    # The clock has steps; a side that is faster than one has taken one.
    pairs = [(max(a, 1e-6), max(b, 1e-6)) for a, b in pairs[3:]]
    ours, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(a / b for a, b in pairs)
    tell(what, ratio, goal, note=f"{ours * 1e6:,.0f} µs to {other * 1e6:,.0f} µs")


async def main() -> None:
    """Tell a ratio a peer."""
    hitl_nb.use(journal="off")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        session, journaled = of_session(None), of_session(Journal(folder / "session.sqlite"))
        await compared("answer → code / a bare future", of_approve, lambda: bare, 20)
        await compared("answer → code / LangGraph, checkpoint in memory", of_approve, in_memory, 0.2)
        await compared("answer → model / LangGraph, checkpoint in memory", session, in_memory, 1)
        await compared("answer → model / Pydantic AI, a deferred tool", session, of_pydantic_ai, 1)
        with hitl_nb.use(journal=Journal(folder / "ours.sqlite")):
            await compared("answer → disk → code / LangGraph in memory", of_approve, in_memory, 0.5)
            await compared(
                "answer → disk → code / LangGraph's SqliteSaver", of_approve, lambda: in_a_file(folder), 0.33
            )
            await compared("answer → disk → code / CrewAI's @human_feedback", of_approve, lambda: of_crewai(folder), 1)
        await compared("answer → disk → model / LangGraph's SqliteSaver", journaled, lambda: in_a_file(folder), 1)


if __name__ == "__main__":
    asyncio.run(main())
