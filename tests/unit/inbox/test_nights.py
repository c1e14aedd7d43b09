"""Whatever runs of a job, people elsewhere and rules do, in whatever order: each answer goes to its own question, once.

Random nights in one process: each run has a connection of its own to the journal and counts from the start, as a
process does; none waits, so each parks at the first question that has no answer. What somebody was told that it counts
is a word; what a run went on with has to be one. `test_storms.py` kills real processes at random moments.
"""

import asyncio
import contextvars
import tempfile
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hitl_nb import Call, Journal, approve, gate, interrupt, use
from hitl_nb._calls import Handle
from hitl_nb.errors import Declined, HitlError, Parked
from hitl_nb.inbox import Inbox
from hitl_nb.people import Policy, deny
from tests.unit.yes.test_model import LONG

NO = "no"
STEPS = 40
"""Turns of the loop in which a run may be killed; it has about as many."""

in_run: contextvars.ContextVar[object] = contextvars.ContextVar("in_run")


class CountedByRun(Counter[Any]):
    """What a process counts, for each run here."""

    def __getitem__(self, key: Any) -> int:
        return super().__getitem__((in_run.get(), key))

    def __setitem__(self, key: Any, count: int) -> None:
        super().__setitem__((in_run.get(), key), count)

    def __missing__(self, key: Any) -> int:
        return 0


@dataclass(frozen=True)
class Question:
    """What one line of the job asks."""

    asks: str = "interrupt"
    message: str = "Pay?"
    amount: int = 1
    key: str | None = None

    @property
    def about(self) -> dict[str, int]:
        return {"amount": self.amount}


@dataclass(frozen=True)
class Night:
    """Runs of the job at the same time."""

    runs: int = 1
    denies: bool = False
    """Whether there is a rule against it by now."""

    differs: int | None = None
    """Which of its questions is about something else this time."""

    killed_at: int | None = None


@dataclass(frozen=True)
class Say:
    """Somebody answers."""

    who: str = "ada"
    pick: int = 0
    what: str = "yes"


@dataclass(eq=False)
class Word:
    """What somebody was told that it counts."""

    asked: tuple[Question, int]
    says: str
    used: bool = False
    in_doubt: bool = False
    """Whether a run was killed that may have taken it."""


@dataclass(eq=False)
class Run:
    """What one run came to."""

    night: Night
    came_to: list[tuple[tuple[Question, int], str]] = field(default_factory=list)
    parked_at: tuple[Question, int] | None = None
    at: tuple[Question, int] | None = None
    is_killed: bool = False


class Watched(Inbox):
    """Notes which question of which run is put to the inbox."""

    def __init__(self, world: "World", run: Run, journal: Journal) -> None:
        super().__init__(journal, wait=0)
        self._world, self._run = world, run

    async def __call__(self, call: Call) -> None:
        assert self._run.at is not None
        self._world.asked[call.id] = self._run.at
        await super().__call__(call)


class World:
    """The job, its journal, and two people elsewhere."""

    def __init__(self, program: tuple[Question, ...], path: Path) -> None:
        self.program, self.path = program, str(path)
        self.has_gates = any(question.asks == "gate" for question in program)
        self.clerks = {name: Journal(self.path, name=name) for name in ("ada", "bob")}
        self.inboxes = {name: journal.inbox() for name, journal in self.clerks.items()}
        self.words: list[Word] = []
        self.asked: dict[str, tuple[Question, int]] = {}
        self.faults: list[str] = []

    async def play(self, events: list[Any]) -> None:
        for event in events:
            await (self.night(event) if isinstance(event, Night) else self.say(event))
        # The morning: all is answered, and the job comes to its end. What has no key is taken once, and asked anew by a
        # run that could not go on from there: so many rounds at most.
        for _ in range(2 ** len(self.program) + 1):
            (run,) = await self.night(Night())
            if run.parked_at is None:
                return
            while len(self.inboxes["ada"]):
                await self.say(Say())
        self.faults.append("it never came to its end")

    # -- a run -------------------------------------------------------------------------------------------------

    async def night(self, night: Night) -> list[Run]:
        runs = [Run(night) for _ in range(1 if self.has_gates else night.runs)]
        tasks = [asyncio.ensure_future(self._run(run)) for run in runs]
        if night.killed_at is not None:
            for _ in range(night.killed_at):
                await asyncio.sleep(0)
            runs[0].is_killed = not tasks[0].done()
            tasks[0].cancel()
        await asyncio.wait(tasks)
        for run, task in zip(runs, tasks, strict=True):
            if not run.is_killed:
                task.result()
        self._judge(runs)
        return runs

    async def _run(self, run: Run) -> None:
        in_run.set(run)
        seen: Counter[Question] = Counter()
        rules = [Policy(deny("*"))] if run.night.denies else []
        with ExitStack() as ready:
            journal = ready.enter_context(Journal(self.path))
            people: list[Any] = [*rules, Watched(self, run, journal)]
            if self.has_gates:  # they are asked of whom `use` names, in this process
                ready.enter_context(use(people=people, journal=journal))
            for number, question in enumerate(self.program):
                amount = 50 if number == run.night.differs else question.amount
                now = Question(question.asks, question.message, amount, question.key)
                seen[now] += 1
                run.at = now, seen[now]
                try:
                    said = await self._ask(now, people)
                except Parked:
                    run.parked_at = run.at
                    return
                except Declined:
                    said = NO
                run.came_to.append((run.at, said))

    async def _ask(self, question: Question, people: list[Any]) -> str:
        match question.asks:
            case "approve":
                is_yes = await approve(question.message, question.about, key=question.key, people=people)
                return "yes" if is_yes else NO
            case "interrupt":
                asked = interrupt(question.message, question.about, name="pay", key=question.key, people=people)
                return str(await asked)
        paid = []

        @gate(description=question.message)
        async def pay(amount: int) -> str:
            paid.append(str({"amount": amount}))
            return "paid"

        await pay(question.amount)
        assert len(paid) <= 1
        return paid[0] if paid else NO

    # -- people elsewhere --------------------------------------------------------------------------------------

    async def say(self, say: Say) -> None:
        calls = list(self.inboxes[say.who])
        if not calls:
            return
        call = calls[say.pick % len(calls)]
        asked = self._asked(call)
        says = NO
        with suppress(HitlError):
            if say.what == "no":
                told = call.decline("no", by=say.who)
            elif say.what == "edited" and asked[0].asks != "approve":
                says = str({"amount": 7})
                told = call.respond({"amount": 7}, by=say.who)
            else:
                says = "yes" if asked[0].asks == "approve" else str(asked[0].about)
                told = call.respond(True if says == "yes" else call.proposal, by=say.who)
            await Handle.of(call).settled()
            if told and call.answered_by == say.who:
                self.words.append(Word(asked, says))

    def _asked(self, call: Call) -> tuple[Question, int]:
        """Which question of the job it is, by what its runs found it again by."""
        rows = list(self.clerks["ada"])
        (question,) = {row["question"] for row in rows if row["call"] == call.id and row["event"] == "asked"}
        asked = {self.asked[row["call"]] for row in rows if row["question"] == question and row["event"] == "posted"}
        if len(asked) != 1:
            self.faults.append(f"one question is {asked}")
        return asked.pop()

    # -- what may have come of it ------------------------------------------------------------------------------

    def _judge(self, runs: list[Run]) -> None:
        for run in runs:
            for asked, said in run.came_to:
                if run.night.denies:
                    if said != NO:
                        self.faults.append(f"{asked} came to {said} against a rule")
                elif (word := self._word(asked, said)) is not None:
                    word.used = True
                elif not self._sticks(asked, said):
                    self.faults.append(f"{asked} came to {said}, and nobody said that")
        for run in runs:
            if run.is_killed and run.at is not None:  # it may have taken the answer, and never came to say so
                self._doubt(run.at)
        for run in runs:
            if run.parked_at is not None and not run.night.denies:
                left = [w for w in self.words if w.asked == run.parked_at and not w.used and not w.in_doubt]
                if left:
                    self.faults.append(f"{run.parked_at} was parked, and {left[0].says} was its answer")

    def _word(self, asked: tuple[Question, int], said: str) -> Word | None:
        found = [word for word in self.words if word.asked == asked and word.says == said and not word.used]
        return min(found, key=lambda word: word.in_doubt, default=None)

    def _doubt(self, asked: tuple[Question, int]) -> None:
        for word in self.words:
            word.in_doubt = word.in_doubt or word.asked == asked

    def _sticks(self, asked: tuple[Question, int], said: str) -> bool:
        question = asked[0]
        same = [word for word in self.words if word.asked[0] == question and word.used and word.says == said]
        return question.key is not None and bool(same)

    def close(self) -> None:
        for journal in self.clerks.values():
            journal.close()


# -- random nights ----------------------------------------------------------------------------------------------------

_message, _amount = st.sampled_from(["Pay?", "Pay?", "Delete?"]), st.sampled_from([1, 1, 2])
_questions = st.one_of(
    st.builds(
        Question,
        asks=st.sampled_from(["approve", "interrupt", "interrupt"]),
        message=_message,
        amount=_amount,
        key=st.sampled_from([None, None, "first", "second"]),
    ),
    st.builds(Question, asks=st.just("gate"), message=_message, amount=_amount),
)
_says = st.builds(
    Say,
    who=st.sampled_from(["ada", "bob"]),
    pick=st.integers(0, 2),
    what=st.sampled_from(["yes", "yes", "edited", "no"]),
)
_nights = st.builds(
    Night,
    runs=st.sampled_from([1, 1, 1, 2]),
    denies=st.sampled_from([False, False, False, True]),
    differs=st.sampled_from([None, None, None, 0, 1]),
    killed_at=st.one_of(st.none(), st.none(), st.integers(0, STEPS)),
)


@pytest.mark.timeout(1800)
@settings(
    max_examples=600 if LONG else 40,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],  # a night takes a second: shrinking one takes an hour
)
@given(
    program=st.lists(_questions, min_size=1, max_size=3).map(tuple),
    events=st.lists(st.one_of(_nights, _says, _says), min_size=2, max_size=8).map(lambda some: [Night(), *some]),
)
def test_what_a_job_goes_on_with_was_said_of_this_question_and_is_taken_once(program, events):
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as folder:
        patched.setattr("hitl_nb.interrupts._sticky._asked", CountedByRun())  # a process has counted nothing

        async def play() -> list[str]:
            world = World(program, Path(folder) / "journal.sqlite")
            try:
                await world.play(events)
                assert world.clerks["ada"].verify().ok
                world.clerks["ada"].to_jsonl(Path(folder) / "rows.jsonl")
            finally:
                world.close()
            return world.faults

        assert asyncio.run(play()) == []
