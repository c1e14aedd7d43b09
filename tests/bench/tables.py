"""What a review of a table costs beside the library's own work: `python -m tests.bench.tables`.

Ratios of one run, medians of several. Goals: the first rows of 1,000,000 × 20 ≤ 1.5 × those of 1,000 × 20; sort,
filter and jump at a million ≤ 1.5 × the library's own operation and one page; memory ≤ frame + snapshot + 10 %; 2,000
edits in a million rows ≤ 3 × one vectorised assignment.
"""

import asyncio
import gc
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from hitl_nb import pending, review
from hitl_nb._waiting import until_decided
from hitl_nb.cards._registry import card_of
from hitl_nb.data import Table, TableAnswer
from hitl_nb.data._draft import Draft, Looked
from hitl_nb.errors import Declined
from tests.bench.figure import tell

ROUNDS = 5
MILLION = 1_000_000


def frame_of(rows: int) -> pd.DataFrame:
    """Twenty columns as tables have them."""
    rng = np.random.default_rng(1)
    words = np.array(["alpha", "beta", "gamma", "delta"], dtype=object)
    columns: dict[str, Any] = {f"int{n}": rng.integers(0, 1_000_000, rows) for n in range(5)}
    columns |= {f"float{n}": rng.normal(size=rows) for n in range(5)}
    columns |= {f"text{n}": pd.array(words[rng.integers(0, 4, rows)], dtype="str") for n in range(5)}
    columns["when"] = pd.date_range("2026-01-01", periods=rows, freq="s", tz="Europe/Berlin")
    columns["ok"] = rng.random(rows) > 0.5
    columns["class"] = pd.Categorical(words[rng.integers(0, 4, rows)])
    columns["some"] = np.where(rng.random(rows) > 0.9, np.nan, rng.normal(size=rows))
    columns["id"] = pd.array([f"row {n}" for n in range(rows)], dtype="str")
    return pd.DataFrame(columns)


def timed(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of seconds."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


async def waits(call: Any) -> None:
    await until_decided(call)


async def first_rows(frame: object) -> float:
    """Seconds from the question to its first page."""
    started = time.perf_counter()
    asked = asyncio.ensure_future(review(frame, people=waits))
    while not pending():
        await asyncio.sleep(0)
    (call,) = pending()
    await card_of(call).reply({"op": "page", "from": 0, "count": 64}, open_to=True)
    took = time.perf_counter() - started
    call.decline()
    try:
        await asked
    except Declined:
        return took
    raise AssertionError


def told(what: str, ours: float, theirs: float, goal: float) -> None:
    tell(what, ours / theirs, goal, note=f"{ours * 1000:.1f} ms to {theirs * 1000:.1f} ms")


def looks(name: str, frame: Any, own: dict[str, Callable[[], object]]) -> None:
    """Sort, filter and jump beside the library's own."""
    draft = Draft(Table(frame), True, frozenset(range(20)))
    draft.table.content()  # the thread that reads it is done
    page = timed(lambda: draft.page(Looked(), 0, 64))
    wanted = {"sort": Looked(sort=(0, False)), "filter": Looked(where=((0, ">", "900000"),))}
    for what, looked in wanted.items():

        def anew(looked: Looked = looked) -> None:
            draft.again(looked)
            draft.page(looked, 0, 64)

        told(f"{name}, {what} a million rows / the library's own and a page", timed(anew), timed(own[what]) + page, 1.5)
    told(f"{name}, jump to row 700,000 / the first page", timed(lambda: draft.page(Looked(), 700_000, 64)), page, 1.5)


def memory(frame: pd.DataFrame) -> None:
    """The peak beside the frame, of a table that is asked about, read and looked through."""
    size = int(frame.memory_usage(deep=True).sum())
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    draft = Draft(Table(frame), True, frozenset())
    draft.table.content()
    draft.page(Looked(sort=(0, False)), 0, 64)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    tell(
        f"memory of a review of {MILLION:,} × 20 beside the frame",
        100 * grown / size,
        10,
        unit="%",
        note=f"{grown / 2**20:.0f} MiB to {size / 2**20:.0f} MiB",
    )


def edits(name: str, frame: Any, assign: Callable[[], object]) -> None:
    """Two thousand edits."""
    changes = [(int(row), "int0", 7) for row in np.random.default_rng(2).choice(MILLION, 2_000, replace=False)]
    answer = TableAnswer.of(frame, changes=changes)
    answer._table.content()
    told(
        f"{name}, 2,000 edits in a million rows / one vectorised assignment",
        timed(lambda: answer._table.frame.built(None, answer._edits)),
        timed(assign),
        3,
    )


async def main() -> None:
    small, large = frame_of(1_000), frame_of(MILLION)
    memory(large)
    await first_rows(small)
    ours = statistics.median([await first_rows(large) for _ in range(ROUNDS)])
    told(
        "first rows of 1,000,000 × 20 / of 1,000 × 20",
        ours,
        statistics.median([await first_rows(small) for _ in range(ROUNDS)]),
        1.5,
    )
    own: dict[str, Callable[[], object]] = {
        "sort": lambda: large.sort_values("int0", kind="stable").index,
        "filter": lambda: large[large["int0"] > 900_000],
    }
    looks("pandas", large, own)
    mine = pl.from_pandas(large)
    looks(
        "polars",
        mine,
        {
            "sort": lambda: mine.sort("int0", maintain_order=True),
            "filter": lambda: mine.filter(pl.col("int0") > 900_000),
        },
    )
    places = np.random.default_rng(2).choice(MILLION, 2_000, replace=False)

    def assign() -> object:
        copy = large.copy(deep=False)
        copy.loc[places, "int0"] = 7
        return copy

    edits("pandas", large, assign)
    edits(
        "polars", mine, lambda: mine.with_columns(pl.Series("int0", mine["int0"].to_numpy().copy()).scatter(places, 7))
    )
    started = time.perf_counter()
    Table(large).content()
    tell("the whole of it read, in a thread beside the loop", time.perf_counter() - started, unit="s")


if __name__ == "__main__":
    asyncio.run(main())
