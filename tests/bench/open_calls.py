"""A thousand open questions in one kernel: what each costs, and what the loop does meanwhile.

Run: python -m tests.bench.open_calls
"""

import asyncio
import statistics
import time
import tracemalloc

from hitl_nb import interrupt, pending, use
from hitl_nb._waiting import _hearts, until_decided
from tests.bench.figure import tell

use(journal="off")


async def waits(call):
    await until_decided(call)


async def latency(turns: int = 200) -> float:
    """Median of one turn of the loop, in microseconds."""
    seen = []
    for _ in range(turns):
        begin = time.perf_counter()
        await asyncio.sleep(0)
        seen.append(time.perf_counter() - begin)
    return statistics.median(seen) * 1e6


async def measure(count: int, *, shown: bool = False) -> float:
    """Open and answer `count` questions, and print the figures; gives microseconds of a turn of the loop."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    begin = time.process_time()
    asked = [asyncio.create_task(interrupt(f"question {n}?", {"n": n}, people=waits)) for n in range(count)]
    while len(pending()) < count:
        await asyncio.sleep(0)
    opened = time.process_time() - begin
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    turn = await latency()
    timers = sum(heart.holders > 0 for heart in _hearts.values())
    begin = time.process_time()
    for call in reversed(pending()):
        call.respond(call.args["n"])
    answers = await asyncio.gather(*asked)
    answered = time.process_time() - begin
    assert answers == list(range(count))
    costs = f"opened in {opened / count * 1e6:.0f} µs, answered and resumed in {answered / count * 1e6:.0f} µs"
    if shown:
        tell(f"memory of each of {count:,} open questions", size / count / 1024, 12, unit="KB", note=costs)
        tell(f"timers while {count:,} are open", timers, 1, unit="timers")
    return turn


async def main() -> None:
    """Print a line a size; and what a turn of the loop takes beside a thousand."""
    await measure(10)  # what is loaded once
    turns = [(await measure(1), await measure(1000, shown=last)) for last in (False, False, True)]
    ratio = statistics.median(many / one for one, many in turns)
    tell("a turn of the loop beside 1,000 open questions / beside one", ratio, 2, note=f"{turns[-1][1]:.1f} µs")


if __name__ == "__main__":
    asyncio.run(main())
