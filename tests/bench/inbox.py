"""The team inbox: how soon a job goes on, what waiting costs, how lists and writers scale; beside the bare database.

Run: python -m tests.bench.inbox [QUESTIONS]

PostgreSQL is a private cluster that syncs nothing, so its figures are about us and not about the disk.
"""

import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from hitl_nb import ask
from hitl_nb._calls import Call, Handle
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Filter, Journal
from tests.bench.figure import tell
from tests.postgres import running


def shown(name: str, seen: list[float]) -> float:
    """Print median and 99th percentile of milliseconds; give the median."""
    middle, last = statistics.median(seen), sorted(seen)[int(0.99 * (len(seen) - 1))]
    tell(f"{name}, median", 1000 * middle, unit="ms", note=f"99th of a hundred {1000 * last:.1f} ms")
    return middle


# -- from the commit of an answer to the code behind `await` ----------------------------------------------------------


class Answerer:
    """Somebody elsewhere, in a thread and a loop of their own, who says when each answer was on disk."""

    def __init__(self, place: str) -> None:
        self._place = place
        self.committed: dict[str, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._answer()))

    def __enter__(self) -> "Answerer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def _answer(self) -> None:
        with Journal(self._place) as journal:
            while not self._over.is_set():
                for call in journal.inbox():
                    call.respond("x", by="ada")
                    await Handle.of(call).settled()
                    self.committed[call.message] = time.perf_counter()
                await asyncio.sleep(0.01)


async def goes_on(place: str, count: int) -> list[float]:
    """Seconds from the commit until the code goes on, one question after the other."""
    seen = []
    with Journal(place) as journal, Answerer(place) as answerer:
        for number in range(count):
            question = f"{number}?"
            await ask(question, people=Inbox(journal))
            now = time.perf_counter()
            while question not in answerer.committed:
                await asyncio.sleep(0.001)
            seen.append(max(0.0, now - answerer.committed[question]))
    return seen


def bare_listen(address: str, count: int) -> list[float]:
    """Seconds from a commit with NOTIFY until another connection hears it."""
    heard: list[float] = []
    ready = threading.Event()

    def listen() -> None:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("LISTEN bare")
            ready.set()
            heard.extend(time.perf_counter() for _ in connection.notifies(stop_after=count))

    listener = threading.Thread(target=listen)
    listener.start()
    ready.wait()
    sent = []
    with psycopg.connect(address, autocommit=True) as connection:
        for number in range(count):
            # From before the commit: it is often heard before the sender knows that it is committed.
            sent.append(time.perf_counter())
            connection.execute("NOTIFY bare")
            while len(heard) <= number:
                time.sleep(0.0005)
    listener.join()
    return [there - here for here, there in zip(sent, heard, strict=True)]


# -- what waiting costs -----------------------------------------------------------------------------------------------


QUIET = 0.01
"""The share of a core at which nothing is left of the asking."""


async def share_of_a_core(seconds: float) -> float:
    """How much this process works while it waits."""
    begin, wall = time.process_time(), time.perf_counter()
    await asyncio.sleep(seconds)
    return (time.process_time() - begin) / (time.perf_counter() - wall)


async def waits(place: str, count: int, seconds: float) -> None:
    """Print the share of a core that so many waiting questions take."""
    with Journal(place) as journal:
        tasks = [asyncio.ensure_future(ask(f"{number}?", people=Inbox(journal))) for number in range(count)]
        while len(journal.inbox()) < count:
            await asyncio.sleep(0.2)
        # A thousand that are asked at once ring a thousand times, and are heard for some seconds after.
        shares = [await share_of_a_core(seconds)]
        while len(shares) < 8 and (len(shares) < 2 or max(shares[-2:]) > QUIET):
            shares.append(await share_of_a_core(seconds))
        begun = f"{100 * shares[0]:.2f} % in the first {seconds:g} s, the last after {seconds * (len(shares) - 1):g} s"
        kind = "PostgreSQL" if "://" in place else "SQLite"
        tell(f"{kind}, CPU of a core while {count:,} questions wait", 100 * shares[-1], 1, unit="%", note=begun)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


# -- the oldest that are open -----------------------------------------------------------------------------------------

_COLUMNS = "id, ts, event, question, thread, call, tool, kind, message, args, arguments, value, prev_sha256, sha256"
_NUMBERS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) ",
    "postgres": "WITH n AS (SELECT generate_series(1, {count}) AS i) ",
}
_ABOUT = """{"version": 1, "to": "", "expires": null, "asker": "x", "card": null, "answer": null, "several": false,
"offers_arguments": false, "offer": null, "refused": []}"""


def write(journal: Journal, sql: str) -> None:
    """Write what no journal would."""
    journal._store.write(lambda transaction: transaction.execute(sql))


def fill(journal: Journal, kind: str, count: int) -> None:
    """Write so many questions, of which one in twenty is open; no chain: this is about lists."""
    numbers = _NUMBERS[kind].replace("{count}", str(count))
    parts = [
        ("asked", "i * 2 - 1", "1 = 1", "NULL"),
        ("posted", "i * 2", "i % 20 = 0", f"'{_ABOUT}'"),
        ("answered", "i * 2", "i % 20 <> 0", "NULL"),
    ]
    into = "INSERT INTO events ({columns}) " if kind == "postgres" else ""
    for event, row, where, value in parts:
        select = (
            f"SELECT {row}, '2026-01-01T00:00:00+00:00', '{event}', i * 2 - 1, 't', 'c', 'ask', 'interrupt', 'Q', "
            f"'null', 'null', {value}, "
            f"'x', 'x' FROM n WHERE {where}"
        )
        sql = (
            f"{numbers}{into.format(columns=_COLUMNS)}{select}"
            if into
            else f"INSERT INTO events ({_COLUMNS}) {numbers}{select}"
        )
        write(journal, sql)
    if kind == "sqlite":
        opened = "SELECT question, id, '', 1 FROM events WHERE event = 'posted'"
        sql = f"INSERT INTO waiting (question, posted, recipient, risk) {opened}"
        write(journal, sql)


def lists(kind: str, place: Callable[[], str], sizes: tuple[int, ...]) -> None:
    """Print what "the oldest 50 open" takes, and the ratio."""
    middles = []
    for count in sizes:
        with Journal(place()) as journal:
            fill(journal, kind, count)
            seen = []
            for order in ["oldest", "riskiest"] * 15:
                begin = time.perf_counter()
                found = journal.postings.posted(Filter(order=order), at_most=50)  # type: ignore[arg-type]
                seen.append(time.perf_counter() - begin)
            assert len(found) == 50
            middles.append(shown(f"{kind}, the oldest 50 open of {count:,}", seen))
    tell(f"{kind}, the oldest 50 open of {sizes[-1]:,} / of {sizes[0]:,}", middles[-1] / middles[0], 3)


# -- decisions a second -----------------------------------------------------------------------------------------------


def together(writers: int, each: Callable[[int], Any]) -> float:
    """Seconds until all of these have done their part at the same time."""
    barrier = threading.Barrier(writers + 1)

    def run(number: int) -> None:
        act = each(number)
        barrier.wait()
        act()
        barrier.wait()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(writers)]
    for thread in threads:
        thread.start()
    barrier.wait()
    begin = time.perf_counter()
    barrier.wait()
    took = time.perf_counter() - begin
    for thread in threads:
        thread.join()
    return took


def decisions(address: str, writers: int, each: int) -> None:
    """Print decisions a second of so many writers, next to raw INSERT and COMMIT."""
    journals = [Journal(address) for _ in range(writers)]
    raw = [psycopg.connect(address) for _ in range(writers)]
    raw[0].execute("CREATE TABLE IF NOT EXISTS raw (id bigserial PRIMARY KEY, body text)")
    raw[0].commit()

    def ours(number: int) -> Callable[[], None]:
        journal = journals[number]
        calls = [Call(id=f"{number}-{n}", name="ask", kind="interrupt") for n in range(each)]
        for call in calls:
            Handle.of(call).open_now({})
            journal.asked(call, arguments="{}")
            call.respond("x", by="ada")

        def act() -> None:
            for call in calls:
                journal.answered(call)

        return act

    def theirs(number: int) -> Callable[[], None]:
        def act() -> None:
            for _ in range(each):
                raw[number].execute("INSERT INTO raw (body) VALUES (%s)", ("x" * 300,))
                raw[number].commit()

        return act

    mine, bare = writers * each / together(writers, ours), writers * each / together(writers, theirs)
    tell(
        f"PostgreSQL, {writers} writing at once, raw INSERT and COMMIT / our decisions a second",
        bare / mine,
        note=f"{bare:,.0f} to {mine:,.0f} a second",
    )
    for journal in journals:
        journal.close()
    for connection in raw:
        connection.close()


@contextmanager
def files() -> Iterator[Callable[[], str]]:
    """Gives paths that are not there yet."""
    with tempfile.TemporaryDirectory() as folder:
        numbers = iter(range(1000))
        yield lambda: str(Path(folder, f"{next(numbers)}.sqlite"))


def main() -> None:
    """Print one line a figure."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    with running() as cluster, files() as file:
        bare = shown("a bare LISTEN, commit → heard", bare_listen(cluster.address(), 200))
        there = shown("PostgreSQL, commit of an answer → code after await", asyncio.run(goes_on(cluster.schema(), 100)))
        tell("PostgreSQL, commit of an answer → code after await / a bare LISTEN", there / bare)
        there = shown("SQLite, commit of an answer → code after await", asyncio.run(goes_on(file(), 50)))
        tell("SQLite, commit of an answer → code after await / a bare LISTEN", there / bare)
        for writers in (1, 10, 50):
            decisions(cluster.schema(), writers, 40)
        lists("sqlite", file, (2_000, most))
        lists("postgres", cluster.schema, (2_000, most))
        asyncio.run(waits(cluster.schema(), 1000, 5))
        asyncio.run(waits(file(), 1000, 5))


if __name__ == "__main__":
    main()
