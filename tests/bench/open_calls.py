"""A thousand open questions in one kernel: what each costs, and what the loop does meanwhile.

Run: python -m tests.bench.open_calls
"""

import asyncio
import statistics
import time
import tracemalloc

from hitl_nb import interrupt, pending, use
from hitl_nb._waiting import _hearts, until_decided

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


async def measure(count: int) -> None:
    """Open and answer `count` questions; print the figures."""
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
    print(
        f"{count:5} open: {size / count / 1024:5.1f} KB each · open {opened / count * 1e6:6.0f} µs · "
        f"answer and resume {answered / count * 1e6:5.0f} µs · a turn of the loop {turn:5.1f} µs · {timers} timer"
    )


async def main() -> None:
    """Print one line a size; the ratio of the loop's turns is the goal's (at most 2)."""
    for count in (1, 10, 100, 1000):
        await measure(count)


if __name__ == "__main__":
    asyncio.run(main())
