"""What a turn of a long conversation costs in our own CPU, at its 10th and at its 500th.

A turn is a message of the user's, a call that a person answers, and the model's last word; the agent is trivial, so
what is measured is what a session does beside it: proving, saving, showing. Both places are measured in turn, so that
the machine cancels out.

Run: python -m tests.bench.turns [TURNS]
"""

import asyncio
import gc
import itertools
import statistics
import sys
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
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from hitl_nb import Journal, Session, human_in_the_loop
from tests.bench.figure import tell

LIMIT = 1.3


class Trivial:
    """Calls once after each message of the user's, and says a word after the answer."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        number = next(self._ids)
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        if input.messages[-1].role == "user":
            call = f"call_{number}"
            yield ToolCallStartEvent(tool_call_id=call, tool_call_name="ask", parent_message_id=f"m{number}")
            yield ToolCallArgsEvent(tool_call_id=call, delta='{"question": "How many of them, and by when?"}')
            yield ToolCallEndEvent(tool_call_id=call)
        else:
            yield TextMessageStartEvent(message_id=f"m{number}", role="assistant")
            yield TextMessageContentEvent(message_id=f"m{number}", delta="So be it, then. " * 10)
            yield TextMessageEndEvent(message_id=f"m{number}")
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


def session(journal: Any) -> Session:
    async def person(call: Any) -> None:
        call.respond("three, by Friday")

    return Session(Trivial(), tools=[ask], people=[person], journal=journal)


async def turn(of: Session) -> float:
    """CPU seconds of one turn, of all threads."""
    begin = time.process_time()
    await of.run("And the next?")
    return time.process_time() - begin


async def costs(turns: int, journal: Any) -> tuple[float, float]:
    """CPU seconds of the 10th turn and of the one at the end, each the lower quartile of turns taken in turn."""
    long = session(journal)
    for _ in range(turns):
        await turn(long)
    gc.collect()
    early: list[float] = []
    late: list[float] = []
    for _ in range(8):
        short = session(journal)
        for _ in range(5):
            await turn(short)
        for _ in range(10):
            early.append(await turn(short))
            late.append(await turn(long))
    if long.journal is not None:
        long.journal.close()
    return statistics.quantiles(early, n=4)[0], statistics.quantiles(late, n=4)[0]


async def main(turns: int = 500) -> bool:
    """Print a line each without and with a journal; gives whether both are within the limit."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, path in (("no journal", None), ("a journal", Path(folder) / "journal.sqlite")):
            early, late = await costs(turns, None if path is None else Journal(path))
            good = good and late / early <= LIMIT
            tell(
                f"our CPU of turn {turns} / turn 10, {name}",
                late / early,
                LIMIT,
                note=f"{late * 1e3:.2f} ms to {early * 1e3:.2f} ms, {4 * turns:,} messages",
            )
    return good


if __name__ == "__main__":
    raise SystemExit(not asyncio.run(main(*map(int, sys.argv[1:]))))
