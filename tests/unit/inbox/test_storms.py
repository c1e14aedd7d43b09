"""`kill -9` of whoever asks or answers, at any moment: nothing is lost, taken twice, run twice, or invented."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from typing import Any

import pytest

from hitl_nb.journal import Journal
from tests.unit.inbox.jobs import REPO, ended, waiting

ROUNDS = int(os.environ.get("STORM_ROUNDS", "8"))
"""In each database; `make properties` plays 200."""


@pytest.mark.timeout(120 + 15 * ROUNDS)
def test_killed_askers_and_answerers_lose_nothing_and_do_nothing_twice(place, tmp_path):
    ran = tmp_path / "ran"
    ran.touch()
    command = [sys.executable, "-m", "tests.unit.inbox.storm", place, str(ROUNDS), "3", str(ran)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPO)
    assert done.returncode == 0, done.stderr
    rounds = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rounds) == ROUNDS
    times = Counter(map(int, ran.read_text().split()))
    with Journal(place) as journal:
        assert journal.verify().ok
        rows: list[Any] = list(journal)
    answered = {row["question"] for row in rows if row["event"] == "answered" and row["outcome"] == "answered"}
    of_round: dict[int, list[int]] = {}
    for row in rows:
        if row["event"] == "asked":
            of_round.setdefault(int(row["key"].removeprefix("round ")), []).append(row["question"])
    for each in rounds:
        number = each["round"]
        assert each["codes"][-1] in (0, 4), each  # it came to an end
        assert times[number] <= 1, each  # and ran once at the most
        if each["codes"][-1] == 0:
            assert times[number] == 1, each
    # A gate that has run has an answer of a person behind it, and each answer was taken once.
    assert all(answered & set(of_round[number]) for number in times)
    for name in ("answered", "delivered", "started"):
        questions = Counter(row["question"] for row in rows if row["event"] == name)
        assert set(questions.values()) <= {1}, name
    assert {row["by"] for row in rows if row["event"] == "answered"} == {"ada"}


ASKERS, EACH, ANSWERERS = (10, 200, 5) if ROUNDS >= 200 else (3, 20, 2)


@pytest.mark.timeout(120 if ROUNDS < 200 else 1800)
async def test_many_askers_and_answerers_have_each_answer_at_its_own_question(place, job):
    askers, each = ASKERS, EACH
    code = (
        f"""
import os
EACH = {each}
"""
        + """
async def one(n):
    assert await ask(f"What is {os.environ['HITL_NB_JOB']}-{n}?") == f"{os.environ['HITL_NB_JOB']}-{n}"
await asyncio.gather(*map(one, range(EACH)))
print("all right")
"""
    )
    runs = [job(code, HITL_NB_JOB=f"job{number}") for number in range(askers)]

    async def answers(journal, stop):
        while not stop.is_set():
            for call in journal.inbox():
                call.respond(call.message.removeprefix("What is ").removesuffix("?"), by=journal.who())
                await call._handle.settled()
            await asyncio.sleep(0.02)

    stop = asyncio.Event()
    with ExitStack() as opened:
        journals = [opened.enter_context(Journal(place, name=f"person {n}")) for n in range(ANSWERERS)]
        first = journals[0]
        people = [asyncio.ensure_future(answers(journal, stop)) for journal in journals]
        said = await asyncio.gather(
            *(asyncio.to_thread(ended, run, patience=50 if ROUNDS < 200 else 1500) for run in runs)
        )
        stop.set()
        await asyncio.gather(*people)
        assert said == ["all right\n"] * askers
        rows = [row for row in first if row["event"] == "answered"]
        assert len(rows) == askers * each
        assert first.verify().ok


async def test_a_question_answered_while_nobody_listens_is_found_by_the_next_look(place, job):
    """The bell may be missed (a pooler, a lost connection): the look every two seconds is the truth."""
    run = job("""
import time
from hitl_nb.journal import _file, _postgres
_file.FileBell.wait = _postgres.Announcements.wait = lambda bell, seconds: time.sleep(seconds)
print(await ask('How many?', answer=int))
""")
    with Journal(place) as journal:
        [call] = await waiting(journal)
        call.respond(3, by="ada")
        await call._handle.written()
    assert await asyncio.to_thread(ended, run) == "3\n"
