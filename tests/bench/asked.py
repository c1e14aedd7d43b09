"""How long until a person is asked, after the last of the arguments: `python -m tests.bench.asked`.

From the moment in which the agent hands over the last fragment to the moment in which a person is called, with a
journal. What has to be done, measured in turn with it: one strict parse, one validation, one fingerprint, and the
commit of that very row by a journal, all in this thread. Goal: at most twice that, at 20 and at 10,000 fragments of 12
characters.

A session has its journal written by a thread, so that a slow disk holds up nobody. At few fragments it is the way there
and back that counts, and that is the machine's: what it takes with nothing to do is measured in the same run, too, and
the ratio is given without it as well.
"""

import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from ag_ui.core import (
    Event,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from pydantic import BaseModel

from hitl_nb import Journal, Session, human_in_the_loop
from hitl_nb._calls import Call, fingerprint
from tests.bench.figure import tell

PIECE = 12
LIMIT = 2.0


class Step(BaseModel):
    description: str
    number: int


class Plan(BaseModel):
    steps: list[Step]


def arguments(fragments: int) -> str:
    """JSON of about so many fragments."""
    plan = Plan(steps=[])
    while len(text := plan.model_dump_json()) < fragments * PIECE:
        missing = max(1, (fragments * PIECE - len(text)) // 60)
        plan.steps += [Step(description="Check the thing and write it down", number=at) for at in range(missing)]
    return text


class Calls:
    """Calls `review` once, in fragments, and says when the last of them has been handed over."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.told = 0.0

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        if input.messages[-1].role == "user":
            call = f"call_{input.run_id}"
            yield ToolCallStartEvent(tool_call_id=call, tool_call_name="review", parent_message_id=f"m{call}")
            parts = [self._text[at : at + PIECE] for at in range(0, len(self._text), PIECE)]
            for part in parts[:-1]:
                yield ToolCallArgsEvent(tool_call_id=call, delta=part)
            await asyncio.sleep(0.01)  # a model has pauses; what is measured is the last fragment
            last = ToolCallArgsEvent(tool_call_id=call, delta=parts[-1])
            self.told = time.perf_counter()
            yield last
            yield ToolCallEndEvent(tool_call_id=call)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


async def asked_after(text: str, journal: Journal) -> float:
    """Seconds from the last fragment to the person."""
    agent, asked = Calls(text), 0.0

    async def person(call: Any) -> None:
        nonlocal asked
        asked = time.perf_counter()
        call.decline("no")

    tool = human_in_the_loop(name="review", description="Review.", parameters=Plan)
    await Session(agent, tools=[tool], people=[person], journal=journal).run("go")
    return asked - agent.told


def needed(text: str, journal: Journal) -> float:
    """Seconds of one parse, one validation, one fingerprint, and the commit of the row."""
    call = Call(id="call", name="review", message="Review.", thread_id="t", run_id="r")
    begun = time.perf_counter()
    args = Plan.model_validate(json.loads(text))
    fingerprint(args)
    parsed = time.perf_counter() - begun
    call.take({"args": args})
    begun = time.perf_counter()
    journal.asked(call, arguments=text)
    return parsed + time.perf_counter() - begun


async def there_and_back() -> float:
    """Seconds of a way into another thread and back, with nothing to do there."""
    begun = time.perf_counter()
    await asyncio.to_thread(lambda: None)
    return time.perf_counter() - begun


async def measure(fragments: int, rounds: int) -> list[float]:
    """Medians of all three, then of the ratio of the first two with the way and without it."""
    text = arguments(fragments)
    found: list[tuple[float, float, float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        Journal(Path(folder) / "ours.sqlite") as ours,
        Journal(Path(folder) / "bare.sqlite") as bare,
    ):
        for _ in range(rounds + 2):
            times = await asked_after(text, ours), needed(text, bare), await there_and_back()
            found.append(times)
    found = found[2:]  # what is loaded once
    columns = [*zip(*found, strict=True), [it[0] / it[1] for it in found], [(it[0] - it[2]) / it[1] for it in found]]
    return [statistics.median(column) for column in columns]


async def main() -> None:
    """Print a line for each number of fragments."""
    for fragments, rounds in ((20, 60), (1_000, 30), (10_000, 12)):
        waited, must, way, ratio, without = await measure(fragments, rounds)
        tell(
            f"{fragments:,} fragments, the last one → asked / parse, validate, fingerprint and commit",
            ratio,
            LIMIT,
            note=f"{waited * 1e3:.2f} ms to {must * 1e3:.2f} ms; {without:.2f} × without the way into a thread, "
            f"{way * 1e3:.2f} ms",
        )


if __name__ == "__main__":
    asyncio.run(main())
