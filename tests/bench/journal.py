"""What a journaled decision costs against bare SQLite, and a long journal against `pandas.read_sql`.

    python -m tests.bench.journal [--rows 10000 100000]     (100,000: four minutes)

Writing is mostly waiting for the disk, so it is measured in wall time; the anchors do the same commits with the same
pragmas (question NORMAL, answer FULL), in turns with ours: *lean* is a table of five columns with a prepared text,
*same rows* the very rows that the journal has made, indices included. A decision *with its grant* is four rows: asked,
answered, started (FULL), ended. What is ours in it costs the same on every disk, so the ratio is the larger the faster
the disk syncs.

Of 100 and of 1,000 calls that stand open together, *a round* is what a session writes: asked, answered, delivered, the
conversation once; *a save an answer* is the worst that anybody could do, in the two forms that a history may be given
in. That and reading is CPU time. A figure is the median of the pairwise ratios; milliseconds differ by machine.
"""

import argparse
import asyncio
import bisect
import gc
import json
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._schema import validator_for
from hitl_nb.journal import Journal
from hitl_nb.journal._queries import _CALLS
from hitl_nb.journal._tables import CREATE, INSERT
from tests.bench.figure import tell

DECISIONS = 200
PAIRS = 7
THREADS = 100
SIZES = (100, 1000)
SAVINGS = 2
"""Pairs of conversations."""
GOALS = {
    "decision / sqlite3, same rows": 1.5,
    "decision with its grant / sqlite3, same rows": 1.5,
    "a round, 1000 / 100 calls": 12,
    "to_frame / read_sql, flat table": 1.5,
}


class Step(BaseModel):
    description: str
    status: str = "enabled"


class Steps(BaseModel):
    steps: list[Step]


ANSWER = validator_for(list[Step])
LARGE = Steps(steps=[Step(description=f"Step {number}: check the thing and write it") for number in range(20)])
SMALL = Steps(steps=LARGE.steps[:3])


def decided(number: int, args: Steps) -> Call:
    """Give a call that was opened and answered."""
    call = Call(
        id=f"call_{number}",
        name="plan",
        message="Which steps?",
        answer_type=ANSWER,
        thread_id=f"t{number % THREADS}",
        run_id="r",
    )
    Handle.of(call).open_now(args)
    call.respond(args.steps, by="ada", via="card")
    return call


def bare(path: Path, tables: Iterable[str]) -> sqlite3.Connection:
    """Open SQLite with the journal's pragmas."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=NORMAL", *tables):
        connection.execute(statement)
    return connection


def commits(connection: sqlite3.Connection, insert: str, rows: Iterable[tuple[tuple[Any, ...], bool]]) -> None:
    """Do what the journal does: a commit a row, some with a forced sync."""
    for row, durable in rows:
        if durable:
            connection.execute("PRAGMA synchronous=FULL")
        connection.execute(insert, row)
        if durable:
            connection.execute("PRAGMA synchronous=NORMAL")


LEAN = ("CREATE TABLE events (id INTEGER PRIMARY KEY, ts TEXT, call TEXT, args TEXT, answer TEXT)",)
LEAN_INDEX = ("CREATE UNIQUE INDEX one ON events(call) WHERE answer IS NOT NULL",)


def wall(work: Callable[[], object]) -> float:
    """Give the seconds that `work` takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu(work: Callable[[], object]) -> float:
    """Give the CPU seconds that `work` takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def writing(folder: Path) -> dict[str, float]:
    """Give the figures of single decisions."""
    text, stamp = LARGE.model_dump_json(), "2026-01-02T03:04:05.000000+00:00"
    times: dict[str, list[float]] = {name: [] for name in ("ours", "lean", "same rows", "granted", "granted rows")}
    calls = [decided(number, LARGE) for number in range(2 * DECISIONS)]
    with (
        Journal(folder / "ours.sqlite") as journal,
        closing(bare(folder / "lean.sqlite", LEAN + LEAN_INDEX)) as lean,
        closing(bare(folder / "same.sqlite", CREATE)) as same,
        closing(sqlite3.connect(folder / "ours.sqlite")) as made,
    ):
        for number in range(DECISIONS):
            call, granted = calls[2 * number], calls[2 * number + 1]

            def ours(call: Call = call) -> None:
                journal.asked(call, arguments=text)
                journal.answered(call)

            def ours_granted(call: Call = granted) -> None:
                journal.asked(call, arguments=text)
                journal.answered(call)
                journal.start(call)
                journal.ended(call, "done")

            def five_columns(id_: str = call.id) -> None:
                insert = "INSERT INTO events VALUES (NULL, ?, ?, ?, ?)"
                commits(lean, insert, [((stamp, id_, text, None), False), ((stamp, id_, None, text), True)])

            def same_rows(count: int) -> Callable[[], None]:
                rows = made.execute("SELECT * FROM events ORDER BY id DESC LIMIT ?", (count,)).fetchall()[::-1]
                durable = [row[2] in ("answered", "started") for row in rows]
                return lambda: commits(same, INSERT, zip(rows, durable, strict=True))

            times["ours"].append(wall(ours))
            again = same_rows(2)
            times["lean"].append(wall(five_columns))
            times["same rows"].append(wall(again))
            times["granted"].append(wall(ours_granted))
            times["granted rows"].append(wall(same_rows(4)))
    return {
        "decision, µs": statistics.median(times["ours"]) * 1e6,
        "decision with its grant, µs": statistics.median(times["granted"]) * 1e6,
        **{f"decision / sqlite3, {name}": ratio(times["ours"], times[name]) for name in ("lean", "same rows")},
        "decision with its grant / sqlite3, same rows": ratio(times["granted"], times["granted rows"]),
        **{f"sqlite3, {name}, µs": statistics.median(times[name]) * 1e6 for name in ("lean", "same rows")},
    }


def parallel(folder: Path) -> dict[str, float]:
    """Give the figures of so many calls that stand open together."""
    figures: dict[str, float] = {}
    works: dict[str, Callable[[Journal, int], Callable[[], None]]] = {
        "a round": a_round,
        "a save an answer, array": lambda journal, size: saves(journal, answered_one_by_one(size, "array")),
        "a save an answer, texts": lambda journal, size: saves(journal, answered_one_by_one(size, "texts")),
    }
    few, many = SIZES
    for name, work in works.items():
        times: dict[int, list[float]] = {size: [] for size in SIZES}
        for pair in range(SAVINGS):
            for size in SIZES:
                with Journal(folder / f"{name}-{size}-{pair}.sqlite") as journal:
                    times[size].append(cpu(work(journal, size)))
                    figures[f"{name}, {size} calls, MB of rows"] = written_bytes(journal) / 1e6
        figures[f"{name}, {many} calls, CPU ms"] = statistics.median(times[many]) * 1e3
        figures[f"{name}, {many} / {few} calls"] = ratio(times[many], times[few])
    return figures


def a_round(journal: Journal, size: int) -> Callable[[], None]:
    """Give what a session writes of so many calls: all asked, all answered, and then told to the model together."""
    calls, text = [decided(number, SMALL) for number in range(size)], SMALL.model_dump_json()
    *_, history = answered_one_by_one(size, "array")

    def write() -> None:
        for call in calls:
            journal.begin_asked(call, arguments=text)
        for call in calls:
            journal.begin_answered(call)
        journal.begin_save_thread("t", history, "{}")
        journal.begin_delivered(calls)
        journal.load_thread("nothing")  # waits for what has begun

    return write


def saves(journal: Journal, histories: Iterable[Any]) -> Callable[[], None]:
    """Give what saves a conversation again and again."""
    given = list(histories)

    def write() -> None:
        for messages in given:
            journal.begin_save_thread("t", messages, "{}")
        journal.load_thread("nothing")  # waits for what has begun

    return write


def answered_one_by_one(size: int, form: str) -> Iterable[Any]:
    """Give a history that grows by one answer, in any order, each where its call stands."""
    calls = [
        {"id": f"call_{n}", "function": {"name": "plan", "arguments": SMALL.model_dump_json()}} for n in range(size)
    ]
    messages = [{"id": "1", "role": "assistant", "toolCalls": calls}]
    results = [{"id": f"r{n}", "role": "tool", "toolCallId": f"call_{n}", "content": "done"} for n in range(size)]
    places = list(range(size))
    random.Random(1).shuffle(places)
    texts = [json.dumps(message) for message in messages], [json.dumps(result) for result in results]
    given: list[int] = []
    for place in places:
        bisect.insort(given, place)
        parts = [*texts[0], *(texts[1][each] for each in given)]
        yield parts if form == "texts" else f"[{','.join(parts)}]"


def written_bytes(journal: Journal) -> int:
    """Give the characters of all texts."""
    return sum(len(value) for row in journal for value in row.values() if isinstance(value, str))


def ratio(ours: list[float], anchor: list[float]) -> float:
    """Give the median of the pairwise ratios."""
    return statistics.median(first / second for first, second in zip(ours, anchor, strict=True))


def filled(path: Path, rows: int) -> tuple[Journal, float]:
    """Give a journal of so many decided calls, and the CPU seconds a call to make it."""
    journal, text = Journal(path), SMALL.model_dump_json()
    spent = 0.0
    for first in range(0, rows, 1000):
        made = [decided(number, SMALL) for number in range(first, min(first + 1000, rows))]

        def append(calls: list[Call] = made) -> None:
            for call in calls:
                journal.begin_asked(call, arguments=text)
                journal.begin_answered(call)
            journal.load_thread("nothing")  # waits for what has begun

        spent += cpu(append)
    return journal, spent / rows


def reading(folder: Path, rows: int) -> dict[str, float]:
    """Give the figures of a journal of so many calls."""
    journal, per_call = filled(folder / f"{rows}.sqlite", rows)
    pairs = PAIRS if rows <= 10_000 else 5
    query = _CALLS.format(where="1", order="")
    with journal, closing(sqlite3.connect(folder / f"{rows}.sqlite")) as raw:
        raw.execute(f"CREATE TEMP TABLE flat AS {query}")
        works: dict[str, Callable[[], object]] = {
            "to_frame": journal.to_frame,
            "fetchall, same query": lambda: raw.execute(query).fetchall(),
            "read_sql, same query": lambda: pd.read_sql(query, raw),
            "read_sql, flat table": lambda: pd.read_sql("SELECT * FROM flat", raw),
            "to_frame(expand=True)": lambda: journal.to_frame(expand=True),
            "summary": journal.summary,
            "verify": journal.verify,
            "load_thread": lambda: journal.load_thread("t7"),
            "last 20 as HTML": journal._repr_html_,
        }
        times: dict[str, list[float]] = {name: [] for name in works}
        for _ in range(pairs):
            for name, work in works.items():
                times[name].append(cpu(work))
    return {
        "append a call, CPU µs": per_call * 1e6,
        "MB": (folder / f"{rows}.sqlite").stat().st_size / 1e6,
        **{f"{name}, CPU ms": statistics.median(found) * 1e3 for name, found in times.items()},
        **{f"to_frame / {name}": ratio(times["to_frame"], times[name]) for name in list(works)[1:4]},
    }


async def measured(sizes: list[int]) -> AsyncIterator[tuple[str, dict[str, float]]]:
    """Give all figures, part by part; a call needs a running loop."""
    gc.collect()
    gc.freeze()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield "one decision", writing(folder)
        for rows in sizes:
            yield f"{rows:,} calls", reading(folder, rows)
        yield "open together", parallel(folder)


def told(part: str, values: dict[str, float]) -> None:
    """Tell the figures of a part."""
    for name, value in values.items():
        words, _, unit = name.rpartition(" ")
        if " / " in name:
            tell(f"{part}, {name}", value, GOALS.get(name))
        else:
            tell(f"{part}, {words or 'the file'}".removesuffix(","), value, unit=unit)


async def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rows", type=int, nargs="*", default=[10_000], help="calls in the journal")
    async for part, values in measured(options.parse_args().rows):
        told(part, values)


if __name__ == "__main__":
    asyncio.run(main())
