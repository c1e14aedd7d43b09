"""The conversations that every adapter has, and what has to come of them."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from hitl_nb import Call, Journal, Session
from hitl_nb._waiting import until_decided

THOUGHT, SIGNATURE = "The old rows have to go.", "c2lnbmVk"
"""What the model thinks before its first call, and the seal that its provider wants to see again."""


class Bench:
    """An agent behind its own adapter: it wants to delete rows, says "Finished." afterwards, and then "Bye."."""

    name: ClassVar[str]
    cannot: ClassVar[dict[str, str]] = {}
    """Column → the sentence why not; each has a test in which the adapter's own client fails likewise."""

    no_matter: ClassVar[frozenset[str]] = frozenset()
    """Columns that are not about this."""

    tools: Any = ()
    """The tools of this side."""

    def __init__(self, *, calls: int = 1, thinks: bool = False) -> None:
        self.done: list[str] = []
        """What really ran."""
        self.calls = calls
        self.thinks = thinks

    @property
    def agent(self) -> Any:
        """What a `Session` takes; it outlives a kernel."""
        raise NotImplementedError

    def requests(self) -> list[str]:
        """Every model request so far, as text."""
        raise NotImplementedError

    def prove(self) -> None:
        """Raise unless the last model request is one that a strict provider takes."""

    def approve(self, call: Call) -> Any:
        """Give the answer that lets it run as it is."""
        return call.proposal

    def edit(self, call: Call) -> Any:
        """Give the answer that lets it run with 7 rows."""
        return {**call.proposal, "rows": 7}

    def ran(self, *, table: str = "a", rows: int = 1) -> str:
        """What stands in `done` for one run."""
        return f"delete {rows} of {table}"

    def close(self) -> None:
        """Let go of servers."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One cell."""

    adapter: str
    column: str
    problem: str = ""
    """What is wrong, in one line; empty if it holds."""

    cannot: str = ""
    """Why the adapter cannot, in one sentence."""

    no_matter: bool = False
    """Whether it is not about this."""

    @property
    def word(self) -> str:
        """What stands in the table."""
        if self.no_matter:
            return "–"
        return "cannot" if self.cannot else ("no" if self.problem else "yes")


class Desk:
    """A person who answers by `decide`, and keeps what was asked."""

    via = "script"
    name = "ada"

    def __init__(self, decide: Callable[[Call], object]) -> None:
        self.decide = decide
        self.asked: list[Call] = []

    async def __call__(self, call: Call) -> None:
        self.asked.append(call)
        self.decide(call)
        await until_decided(call)


def declines(call: Call) -> None:
    call.decline("not today")


async def _approve(bench: Bench, path: Path) -> None:
    desk = Desk(lambda call: call.respond(bench.approve(call)))
    session = await _first(bench, desk)
    _same("what ran", bench.done, [bench.ran()])
    _same("questions", len(desk.asked), 1)
    await _goes_on(bench, session)


async def _decline(bench: Bench, path: Path) -> None:
    desk = Desk(declines)
    session = await _first(bench, desk)
    _same("what ran", bench.done, [])
    _same("questions", len(desk.asked), 1)
    _same("outcome", desk.asked[0].outcome, "declined")
    await _goes_on(bench, session)


async def _edit(bench: Bench, path: Path) -> None:
    desk = Desk(lambda call: call.respond(bench.edit(call)))
    session = await _first(bench, desk)
    _same("what ran", bench.done, [bench.ran(rows=7)])
    await _goes_on(bench, session)


async def _parallel(bench: Bench, path: Path) -> None:
    """Yes to the first and no to the second: which answer belongs to which can be seen by what runs."""
    answers = [lambda call: call.respond(bench.approve(call)), declines]
    desk = Desk(lambda call: answers[len(desk.asked) - 1](call))
    session = await _first(bench, desk)
    _same("questions", len(desk.asked), 2)
    _same("what ran", bench.done, [bench.ran()])
    await _goes_on(bench, session)


async def _restart(bench: Bench, path: Path) -> None:
    await leave_open(bench, path)
    desk = Desk(lambda call: call.respond(bench.approve(call)))
    session = _session(bench, desk, thread_id="t", journal=Journal(path))
    reply = await session.resume()
    _same("questions", len(desk.asked), 1)
    _same("what ran", bench.done, [bench.ran()])
    _same("the reply", reply.text, "Finished.")
    await _goes_on(bench, session)
    session.journal.close()


async def leave_open(bench: Bench, path: Path) -> None:
    """A kernel that ends while its question is open: nothing is closed, nothing is written any more."""

    async def waits(call: Call) -> None:
        await until_decided(call)

    session = _session(bench, waits, thread_id="t", journal=Journal(path))
    run = session.start("Delete the old rows")
    while not session.pending and run.status in ("running", "waiting"):
        await asyncio.sleep(0.01)
    if not session.pending:
        await run
    session.journal.close()
    with suppress(Exception):
        run.stop()
        await run.settled()


async def _next(bench: Bench, path: Path) -> None:
    """The run is stopped while the question is open, and then the person says something else."""

    async def waits(call: Call) -> None:
        await until_decided(call)

    session = _session(bench, waits)
    run = session.start("Delete the old rows")
    while not session.pending and run.status in ("running", "waiting"):
        await asyncio.sleep(0.01)
    _true(bool(session.pending), f"nothing was asked: {run!r}")
    run.stop()
    await run.settled()
    _same("what ran", bench.done, [])
    for text in ("Thanks", "Really, thanks"):
        session.people[:] = [Desk(declines)]
        await session.run(text)
        bench.prove()
        _heard(bench, text)
    _same("what ran", bench.done, [])


async def _reasoning(bench: Bench, path: Path) -> None:
    desk = Desk(lambda call: call.respond(bench.approve(call)))
    await _first(bench, desk)
    last = bench.requests()[-1]
    _true(THOUGHT in last, f"the next request has lost what the model thought: {last[-400:]}")
    _true(SIGNATURE in last, f"the next request has lost its signature: {last[-400:]}")


COLUMNS: dict[str, Callable[[Bench, Path], Awaitable[None]]] = {
    "approve": _approve,
    "decline": _decline,
    "edit": _edit,
    "parallel": _parallel,
    "restart": _restart,
    "next message": _next,
    "reasoning": _reasoning,
}


def _session(bench: Bench, person: Any, **options: Any) -> Session:
    return Session(bench.agent, tools=bench.tools, people=[person], **{"journal": None, **options})


async def _first(bench: Bench, desk: Desk) -> Session:
    session = _session(bench, desk)
    reply = await session.run("Delete the old rows")
    _same("the reply", reply.text, "Finished.")
    bench.prove()
    return session


async def _goes_on(bench: Bench, session: Session) -> None:
    """An ordinary next message: nothing is asked, the model has heard all of it once."""
    asked = len(session.people[0].asked)  # type: ignore[attr-defined]
    reply = await session.run("Thanks")
    _same("the next reply", reply.text, "Bye.")
    _same("questions after it", len(session.people[0].asked), asked)  # type: ignore[attr-defined]
    bench.prove()
    _heard(bench, "Thanks")
    _same("how often the first message is there", bench.requests()[-1].count("Delete the old rows"), 1)


def _heard(bench: Bench, text: str) -> None:
    _true(bench.requests()[-1].count(text) >= 1, f"the model has not heard {text!r}: {bench.requests()[-1][-400:]}")


def _same(what: str, found: object, wanted: object) -> None:
    _true(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def _true(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)


async def played(make: type[Bench], column: str, path: Path) -> Outcome:
    """Play one cell with a bench of its own; whatever goes wrong is said in a line."""
    bench: Bench | None = None
    if column in make.no_matter:
        return Outcome(adapter=make.name, column=column, no_matter=True)
    try:
        if column in make.cannot:
            return Outcome(adapter=make.name, column=column, cannot=make.cannot[column])
        bench = make(calls=2 if column == "parallel" else 1, thinks=column == "reasoning")
        async with asyncio.timeout(60):
            await COLUMNS[column](bench, path)
    except Exception as error:
        words = " ".join(str(error).split()) or "nothing came"
        return Outcome(adapter=make.name, column=column, problem=f"{type(error).__name__}: {words}"[:700])
    finally:
        if bench is not None:
            bench.close()
    return Outcome(adapter=make.name, column=column)


def expected(make: type[Bench], column: str) -> Outcome:
    """Give what the cell has to be: what an adapter cannot is known, and everything else holds."""
    return Outcome(
        adapter=make.name,
        column=column,
        cannot=make.cannot.get(column, ""),
        no_matter=column in make.no_matter,
    )


def table(outcomes: list[Outcome]) -> str:
    """Give the cells as Markdown, and under it each thing that does not hold in a sentence."""
    adapters = list(dict.fromkeys(outcome.adapter for outcome in outcomes))
    columns = list(dict.fromkeys(outcome.column for outcome in outcomes))
    words = {(outcome.adapter, outcome.column): outcome.word for outcome in outcomes}
    lines = [f"| adapter | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
    lines += [f"| {name} | {' | '.join(words[name, column] for column in columns)} |" for name in adapters]
    notes = [
        f"* {outcome.adapter}, {outcome.column}: {outcome.cannot or outcome.problem}"
        for outcome in outcomes
        if outcome.cannot or outcome.problem
    ]
    return "\n".join([*lines, *([""] if notes else []), *notes])
