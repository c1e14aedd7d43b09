"""How a form and a run grow with what a model sends: `python -m tests.bench.hostile`.

Ratios of one run, medians of several. Goals: the form of an enum of 10,000 ≤ 15 × 1,000; the arguments of 5 MB of
nested rows, checked and opened, ≤ 12 × 0.5 MB; while that is done, no gap of the loop above the greater of 0.25 s and
1.5 × the longest single call of a parser or validator of the same run.
"""

import asyncio
import json
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

from ag_ui.core import Event, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent
from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb._schema import form_tree
from hitl_nb.testing import says
from tests.agents import ScriptedAgent
from tests.bench.figure import tell

ROUNDS = 9


class Place(BaseModel):
    x: float
    y: int


class Row(BaseModel):
    name: str
    tags: list[str]
    place: Place
    status: Literal["enabled", "disabled"]


class Rows(BaseModel):
    rows: list[Row]


def rows_of(megabytes: float) -> dict[str, Any]:
    """Nested rows of about this size as JSON."""
    one = {"name": "Ada Lovelace", "tags": ["x", "y"], "place": {"x": 1.5, "y": 2}, "status": "enabled"}
    count = int(megabytes * 1e6 / len(json.dumps(one)))
    return {"rows": [{**one, "name": f"Ada {number}"} for number in range(count)]}


def seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def passed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def form_of_enum(count: int) -> float:
    schema = {
        "type": "object",
        "properties": {"choice": {"enum": [f"choice number {number}" for number in range(count)]}},
    }
    return statistics.median(seconds(lambda: form_tree(schema).to_wire()) for _ in range(ROUNDS))


async def gap_of(work: Any) -> tuple[float, float]:
    """Seconds of the processor that `work` takes, and the longest that a timer was late meanwhile."""
    late, over = 0.0, False

    async def watch() -> None:
        nonlocal late
        while not over:
            begun = time.perf_counter()
            await asyncio.sleep(0.005)
            late = max(late, time.perf_counter() - begun - 0.005)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0.02)
    begun = time.process_time()
    await work
    took = time.process_time() - begun
    over = True
    await watching
    return took, late


async def run_with(parameters: Any, megabytes: float) -> tuple[float, float, float]:
    """Seconds of the processor in a run, its longest gap, and its longest single call of a parser or validator."""
    tool = human_in_the_loop(name="review", description="Review.", parameters=parameters)
    args = rows_of(megabytes)
    text = json.dumps(args)

    def longest_call() -> float:
        # By the same clock as the gap: where others use the processor, too, all calls take longer.
        return max(passed(lambda: json.loads(text)), passed(lambda: Rows.model_validate(args)))

    longest = longest_call()

    async def no(call: Any) -> None:
        call.decline("no")

    def asks(_: Any) -> Iterator[Event]:
        yield ToolCallStartEvent(tool_call_id="call_1", tool_call_name="review", parent_message_id="m1")
        for at in range(0, len(text), 1_000):
            yield ToolCallArgsEvent(tool_call_id="call_1", delta=text[at : at + 1_000])
        yield ToolCallEndEvent(tool_call_id="call_1")

    session = Session(ScriptedAgent([asks, says("ok")]), tools=[tool], people=[no], journal=None)
    took, gap = await gap_of(session.run("go"))
    return took, gap, max(longest, longest_call())


async def main() -> None:
    small, large = form_of_enum(1_000), form_of_enum(10_000)
    tell("form of an enum of 10,000 / 1,000", large / small, 15, note=f"{large * 1000:.0f} ms to {small * 1000:.1f} ms")
    for name, parameters in (("a model", Rows), ("a JSON Schema", Rows.model_json_schema())):
        half, _, _ = await run_with(parameters, 0.5)
        whole, gap, longest = await run_with(parameters, 5)
        allowed = max(0.25, 1.5 * longest)
        tell(f"5 MB of rows / 0.5 MB, by {name}", whole / half, 12, note=f"{whole:.1f} s to {half:.1f} s")
        tell(
            f"longest gap of the loop meanwhile / the greater of 0.25 s and 1.5 × one parser's call, by {name}",
            gap / allowed,
            1,
            note=f"{gap:.2f} s to {allowed:.2f} s",
        )


if __name__ == "__main__":
    asyncio.run(main())
