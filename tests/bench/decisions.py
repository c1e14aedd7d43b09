"""What a decision costs beside the machinery it stands on: `python -m tests.bench.decisions`.

Ratios of one run, medians of several. Goals: a cell of `approve` without a journal ≤ 20 × a bare future that a callback
resolves; 1,000 parallel answers ≤ 12 × 100 of them (nothing grows with the history).
"""

import asyncio
import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import hitl_nb
from hitl_nb import Session, approve, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.bench.figure import tell


async def answers(call):
    call.respond(True)


async def soon(call):
    """A person who answers in the loop's next turn, as a click arrives."""
    done = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(done.set_result, None)
    await done
    call.respond(True)


async def bare() -> None:
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, True)
    await future


async def of_approve() -> None:
    await approve("Drop?", people=soon)


@human_in_the_loop
def ask(question: str) -> bool:
    """Ask."""


async def in_parallel(count: int, journal: Path | None) -> float:
    turn = [calls("ask", question=f"{number}?") for number in range(count)]
    session = Session(ScriptedAgent([turn, says("ok")]), tools=[ask], people=[answers], journal=journal)
    begun = time.perf_counter()
    await session.run("go")
    return time.perf_counter() - begun


async def per_call(work: Callable[[], Awaitable[None]], times: int) -> float:
    begun = time.perf_counter()
    for _ in range(times):
        await work()
    return (time.perf_counter() - begun) / times


async def main() -> None:
    hitl_nb.use(journal="off")
    await of_approve()
    ratios, costs = [], []
    for _ in range(9):
        gc.collect()
        future = await per_call(bare, 2000)
        costs.append(await per_call(of_approve, 200))
        ratios.append(costs[-1] / future)
    tell(
        "a cell of approve without a journal / a bare future",
        statistics.median(ratios),
        20,
        note=f"{statistics.median(costs) * 1e6:.0f} µs",
    )
    for name in ("off", "file"):
        with TemporaryDirectory() as folder:
            files = (Path(folder) / f"{number}.sqlite" for number in range(100))
            places = iter(files) if name == "file" else iter(lambda: None, 0)
            small = statistics.median([await in_parallel(100, next(places)) for _ in range(3)])
            large = await in_parallel(1000, next(places))
        tell(f"1,000 parallel answers / 100, journal {name}", large / small, 12, note=f"{large:.2f} s")


if __name__ == "__main__":
    asyncio.run(main())
