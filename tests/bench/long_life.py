"""What is left behind by a long life: `python -m tests.bench.long_life`.

Everything should be flat: memory, open files, timers, and the journal's bytes a decision. 500 questions in one
process, a day of waiting in virtual time, 1,000 times shown again in a kernel, 100 sessions made and dropped. Figures
are those of the second half; the first warms up caches.
"""

import asyncio
import gc
import os
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import hitl_nb
from hitl_nb import Journal, Session, approve, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.bench.figure import tell
from tests.hosts import raw

QUESTIONS, SESSIONS, SHOWN = 500, 100, 1_000
DAY = 24 * 3600.0


async def yes(call: Any) -> None:
    call.respond(True)


@human_in_the_loop
def drop(table: str) -> bool:
    """Drop a table."""


async def ask() -> None:
    await approve("Drop?", {"table": "orders"}, people=yes)


async def converse() -> None:
    session = Session(
        ScriptedAgent([calls("drop", table="orders"), says("ok")]), tools=[drop], people=[yes], journal=None
    )
    await session.run("go")


def handles() -> int:
    """Open files, sockets and pipes of this process."""
    return len(os.listdir("/proc/self/fd"))


def bytes_in(folder: str) -> int:
    """What its files hold."""
    return sum(file.stat().st_size for file in Path(folder).iterdir())


def timers() -> int:
    """Timers that the loop still holds."""
    return len([each for each in vars(asyncio.get_running_loop())["_scheduled"] if not each.cancelled()])


async def grown(work: Callable[[], Awaitable[None]], times: int) -> tuple[float, float]:
    """Bytes in use that each half has added, a time."""
    for _ in range(20):
        await work()
    marks = []
    for _ in range(3):
        gc.collect()
        marks.append(tracemalloc.get_traced_memory()[0])
        if len(marks) < 3:
            for _ in range(times // 2):
                await work()
    half = times // 2
    return (marks[1] - marks[0]) / half, (marks[2] - marks[1]) / half


class VirtualDay(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer instead of waiting for it."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    def _run_once(self) -> None:
        scheduled = vars(self)["_scheduled"]
        if not vars(self)["_ready"] and scheduled:
            self.ahead += max(0.0, scheduled[0].when() - self.time())
        super()._run_once()  # type: ignore[misc]


async def a_day() -> tuple[int, int, int]:
    """Bytes that a day of waiting has added, from its first hour on; timers while and after."""
    used: list[int] = []

    async def asleep(call: Any) -> None:
        await asyncio.sleep(3600)
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
        await asyncio.sleep(DAY - 3600)
        gc.collect()
        used.append(tracemalloc.get_traced_memory()[0])
        used.append(timers())
        call.respond(True)

    await approve("Drop?", people=asleep)
    return used[1] - used[0], used[2], timers()


IN_KERNEL = """
import gc, io, os
from IPython.display import display
def used():
    gc.collect()
    return int(next(line for line in open('/proc/self/status') if line.startswith('VmRSS')).split()[1])
question = approve('Still there?').start()
"""
SHOW = f"""
marks = [used()]
for half in range(2):
    for _ in range({SHOWN // 2}):
        display(question)
        await asyncio.sleep(0)
    marks.append(used())
print(marks[1] - marks[0], marks[2] - marks[1], len(os.listdir('/proc/self/fd')))
"""


def shown_again() -> tuple[int, int]:
    """KB that each half of 1,000 times shown again has added to the kernel."""
    with raw.ipykernel("7.4.0") as kernel:
        kernel.run(IN_KERNEL, 30)
        first, second, _ = map(int, kernel.run(SHOW, 300).split())
        kernel.run("question.stop()")
    return first, second


async def main() -> None:
    """Print a line a kind of long life."""
    tracemalloc.start()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal.sqlite"
        with hitl_nb.use(journal=Journal(path)):
            before = handles(), timers()
            _, second = await grown(ask, QUESTIONS)
            size = bytes_in(folder) / (QUESTIONS + 20)
            after = handles(), timers()
        tell(
            f"memory that each of {QUESTIONS} questions leaves / its rows on disk",
            second / size,
            0.5,
            note=f"{second:,.0f} to {size:,.0f} bytes; the file grows by the same with each",
        )
        tell(f"open files after {QUESTIONS} questions / before", after[0] / before[0], 1.3)
        tell(f"timers after {QUESTIONS} questions, more than before", after[1] - before[1], 0, unit="timers")
    hitl_nb.use(journal="off")
    first, second = await grown(converse, SESSIONS)
    tell(
        f"memory that each of {SESSIONS} sessions leaves, made and dropped",
        max(0, second) / 1024,
        4,
        unit="KB",
        note=f"those of the first half {first / 1024:.1f} KB",
    )


def whole_day() -> None:
    """Print what a day of waiting leaves."""
    with asyncio.Runner(loop_factory=VirtualDay) as runner:
        more, during, after = runner.run(a_day())
    tell("memory that hours 2 to 24 of waiting have added", max(0, more) / 1024, 16, unit="KB")
    tell("timers while one waits for a day", during, 2, unit="timers", note=f"afterwards {after}")


if __name__ == "__main__":
    asyncio.run(main())
    whole_day()
    first_, second_ = shown_again()
    each = second_ / (SHOWN / 2)
    tell(f"memory of a kernel that each of {SHOWN:,} times a card is shown again leaves", each, 8, unit="KB")
