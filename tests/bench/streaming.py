"""What we add to a streamed reply of the model, against litellm alone: `python -m tests.bench.streaming`.

The same scripted model at litellm's provider seam, text and arguments in fragments of 12 characters; processor time,
medians of pairs. A Flow: what a kickoff costs with a reply of one fragment is taken off; in what is left are CrewAI's
bus and `copilotkit_stream`, which every Flow pays. "Recorded chunks" are litellm's own, played back, so that only what
we do with them is measured. litellm iterated to its end builds the whole response again, which `ChatAgent` does not
wait for: so it may be faster than litellm alone, and asks earlier than who iterates to the end.
"""

import asyncio
import gc
import json
import os
import statistics
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ag_ui.core import RunAgentInput, Tool, UserMessage

os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import litellm
    from ag_ui_crewai.context import flow_context
    from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
    from crewai.events.utils.console_formatter import set_suppress_console_output
    from crewai.flow.flow import Flow, listen, start

import hitl_nb
from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent, FlowAgent
from hitl_nb.testing import ScriptedModel, calls, says
from tests.bench.figure import tell

MODEL = "openai/gpt-4o"
FRAGMENTS = 2_000
TOOL = Tool(name="review", description="Review.", parameters={"type": "object", "properties": {}})
TEXT = "Some words. " * FRAGMENTS
ROWS = [{"id": n, "name": f"row {n}", "price": n * 1.25, "note": "x" * 40} for n in range(2_000)]
LARGE: dict[str, Any] = {"rows": ROWS}
FEW: dict[str, Any] = {"steps": [{"description": f"Step {n}: check the thing and write it down"} for n in range(28)]}
WORD = says("word")
Work = Callable[[], Awaitable[object]]


class Chat(Flow[CopilotKitState]):
    @start()
    async def chat(self) -> None:
        tools = [*self.state.copilotkit.actions]
        stream = await litellm.acompletion(model=MODEL, messages=self.state.messages, tools=tools, stream=True)
        response = await copilotkit_stream(stream)
        self.state.messages.append(response.choices[0].message)


class Steps(Flow[CopilotKitState]):
    """Three methods and no model: what is measured is what stands around them."""

    @start()
    async def first(self) -> None:
        pass

    @listen(first)
    async def second(self) -> None:
        pass

    @listen(second)
    async def third(self) -> None:
        pass


async def alone() -> None:
    """Iterate litellm's stream to its end."""
    messages = [{"role": "user", "content": "go"}]
    async for _ in await litellm.acompletion(model=MODEL, messages=messages, stream=True):
        pass


async def through(flow: type[Flow]) -> None:
    """Run a Flow as a session does."""
    input_ = RunAgentInput(
        thread_id="t",
        run_id="r",
        messages=[UserMessage(id="u", content="go")],
        state={},
        tools=[TOOL],
        context=[],
        forwarded_props={},
    )
    async for _ in FlowAgent(flow).run(input_):
        pass


@human_in_the_loop
def review(rows: list[dict[str, Any]] | None = None, steps: list[dict[str, Any]] | None = None) -> None:
    """Review what is proposed."""


async def no(call: Any) -> None:
    call.decline("no")


async def through_a_session() -> None:
    await Session(ChatAgent(MODEL), tools=[review], people=[no], journal=None).run("go")


async def without_us() -> None:
    """Run the same Flow as any server of it does: CrewAI's bus, `copilotkit_stream`, and nobody who listens."""
    flow = Chat()
    token = flow_context.set(flow)
    try:
        set_suppress_console_output(True)
        await flow.kickoff_async({"messages": [{"role": "user", "content": "go"}]})
    finally:
        set_suppress_console_output(False)
        flow_context.reset(token)


async def cpu(work: Work) -> float:
    """Seconds of the processor."""
    gc.collect()
    begun = time.process_time()
    await work()
    return time.process_time() - begun


async def scripted(work: Work, *turns: Any) -> float:
    """The same, with a model that says this."""
    with ScriptedModel(list(turns)):
        return await cpu(work)


def median(pairs: list[tuple[float, float]]) -> float:
    """Of the pairs' ratios; the first pair warms up."""
    return statistics.median(ours / theirs for ours, theirs in (pairs[1:] if len(pairs) > 2 else pairs))


# -- a reply as it comes ----------------------------------------------------------------------------------------------


async def sessions() -> None:
    """Tell what a session takes for a reply, beside litellm alone."""
    rows = calls("review", **LARGE)
    size = len(json.dumps(LARGE)) // 1000
    whole: list[tuple[str, Any, float, int]] = [
        ("a text", says(TEXT), 0.85, 5),
        (f"{size} KB of arguments", rows, 0.55, 2),
    ]
    for name, reply, goal, times in whole:
        pairs = []
        for _ in range(times):
            turns = [reply] if name == "a text" else [reply, WORD]
            pairs.append((await scripted(through_a_session, *turns), await scripted(alone, reply)))
        note = f"{pairs[-1][0]:.2f} s to {pairs[-1][1]:.2f} s"
        tell(f"{name} through a session with ChatAgent / litellm iterated to its end", median(pairs), goal, note=note)


async def flows() -> None:
    """Tell what a Flow takes for a reply, beside litellm alone."""
    for name, reply in (("a text", says(TEXT)), ("arguments", calls("review", words=TEXT))):
        pairs, bare = [], []
        for _ in range(4):
            base = await scripted(alone, reply)
            empty = await scripted(lambda: through(Chat), WORD)
            pairs.append((await scripted(lambda: through(Chat), reply) - empty, base))
            bare.append((await scripted(without_us, reply) - await scripted(without_us, WORD), base))
        what = f"{name} of {FRAGMENTS:,} fragments through a CrewAI Flow / litellm iterated to its end"
        tell(what, median(pairs), 1.25, note=f"{median(bare):.2f} × without us, which every Flow pays")


@contextmanager
def played_back(chunks: list[Any]) -> Any:
    """Have litellm give these chunks."""

    async def stream() -> AsyncIterator[Any]:
        for chunk in chunks:
            yield chunk

    async def acompletion(**_: Any) -> AsyncIterator[Any]:
        return stream()

    with mock.patch.object(litellm, "acompletion", acompletion):
        yield


async def a_chunk() -> None:
    """Tell what a session does with a chunk, beside what litellm does to give it."""
    recorded: list[Any] = []
    with ScriptedModel([says("Some words. " * 1_000)]):
        stream = await litellm.acompletion(model=MODEL, messages=[{"role": "user", "content": "go"}], stream=True)
        recorded += [chunk async for chunk in stream]
    few = [*recorded[:2], recorded[-1]]
    pairs = []
    for _ in range(8):
        base = await scripted(alone, says("Some words. " * 1_000))
        with played_back(few):
            empty = await cpu(through_a_session)
        with played_back(recorded):
            pairs.append((await cpu(through_a_session) - empty, base))
    each = statistics.median(ours for ours, _ in pairs) / len(recorded)
    tell(
        "a recorded chunk through the session / litellm's own work for it",
        median(pairs),
        0.1,
        note=f"{each * 1e6:.0f} µs a chunk",
    )


# -- from the last word to the person, and back -----------------------------------------------------------------------


async def asked_early() -> None:
    """Tell how much earlier a person is asked than by who iterates to the end."""
    last, asked = 0.0, 0.0

    async def pace() -> None:
        nonlocal last
        last = time.perf_counter()

    async def person(call: Any) -> None:
        nonlocal asked
        asked = time.perf_counter()
        call.decline("no")

    reply, pairs = calls("review", **FEW), []
    for _ in range(16):
        with ScriptedModel([reply], pace=pace):
            await alone()
            late = time.perf_counter() - last
        with ScriptedModel([reply, lambda _: WORD], pace=pace):
            await Session(ChatAgent(MODEL), tools=[review], people=[Noting(person, lambda: last)], journal=None).run(
                "go"
            )
        pairs.append((Noting.took, late))
    note = f"{1e3 * pairs[-1][0]:.1f} ms to {1e3 * pairs[-1][1]:.1f} ms, {len(json.dumps(FEW)) // 12} fragments"
    tell("last fragment of a call → asked / → the end of litellm's stream", median(pairs), 0.25, note=note)


class Noting:
    """A person; notes how long ago the last fragment came."""

    took = 0.0
    name = None
    via = "code"

    def __init__(self, person: Callable[[Any], Awaitable[None]], last: Callable[[], float]) -> None:
        self._person, self._last = person, last

    async def __call__(self, call: Any) -> None:
        Noting.took = time.perf_counter() - self._last()
        await self._person(call)


async def next_request() -> None:
    """Tell what lies between an answer and litellm, beside what litellm does until it asks the provider."""
    marks: dict[str, float] = {}

    async def person(call: Any) -> None:
        marks["answer"] = time.process_time()
        call.respond(None)

    def again(_: Any) -> Any:
        marks["provider"] = time.process_time()
        return WORD

    entered = litellm.acompletion

    async def acompletion(**options: Any) -> Any:
        marks["entry"] = time.process_time()
        return await entered(**options)

    pairs = []
    for _ in range(24):
        gc.collect()
        with (
            ScriptedModel([calls("review", steps=FEW["steps"][:3]), again]),
            mock.patch.object(litellm, "acompletion", acompletion),
        ):
            await Session(ChatAgent(MODEL), tools=[review], people=[person], journal=None).run("go")
        pairs.append((marks["entry"] - marks["answer"], marks["provider"] - marks["entry"]))
    note = f"{1e3 * pairs[-1][0]:.2f} ms to {1e3 * pairs[-1][1]:.2f} ms; to beat 0.85"
    tell("answer → litellm called / litellm's own way to the provider", median(pairs), 0.3, note=note)


async def the_tax() -> None:
    """Tell what a run of a Flow takes through the adapter, beside its bare kickoff without events."""
    pairs = []
    for _ in range(16):
        ours = await cpu(lambda: through(Steps))
        set_suppress_console_output(True)
        pairs.append((ours, await cpu(lambda: Steps(suppress_flow_events=True).kickoff_async({"messages": []}))))
        set_suppress_console_output(False)
    note = f"{1e3 * pairs[-1][0]:.1f} ms to {1e3 * pairs[-1][1]:.1f} ms"
    tell("a Flow of three methods through FlowAgent / its kickoff without events", median(pairs), 1.3, note=note)


async def main() -> None:
    """Tell all of them."""
    hitl_nb.use(journal="off")
    gc.collect()
    gc.freeze()  # or each collection reads through all of litellm and CrewAI
    await next_request()
    await asked_early()
    await the_tax()
    await a_chunk()
    await flows()
    await sessions()


if __name__ == "__main__":
    asyncio.run(main())
