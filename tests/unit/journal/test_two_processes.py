"""Two kernels on one file: one answer counts, the other is told, and the chain stays one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from hitl_nb.journal import Journal

REPO = Path(__file__).parents[3]
ROUNDS = 40
NAMES = ("ada", "bob", "cleo")


def racers(path):
    """Processes that have opened the file and wait for the start."""
    command = [sys.executable, "-m", "tests.unit.journal.racer", str(path)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": REPO}
    started = [subprocess.Popen([*command, name, str(ROUNDS)], **pipes) for name in NAMES]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    return started


def test_processes_that_answer_the_same_calls_at_once_have_one_winner_each(path):
    started = racers(path)  # they also make the file at the same time
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = {name: json.loads(process.communicate()[0]) for name, process in zip(NAMES, started, strict=True)}
    assert [process.returncode for process in started] == [0, 0, 0]
    winners = {call: name for name, result in told.items() for call in result["won"]}
    assert sorted(winners) == sorted(f"call_{number}" for number in range(ROUNDS))
    assert sum(len(result["won"]) for result in told.values()) == ROUNDS
    for result in told.values():
        assert all(winners[call] == answer for call, answer in result["told"].items())
    with Journal(path) as journal:
        assert journal.verify().ok
        rows = list(journal)
        assert len([row for row in rows if row["event"] == "asked"]) == ROUNDS
        # Whoever lost is on record all the same.
        late = {(row["call"], row["by"]) for row in rows if row["event"] == "late"}
        assert late == {(f"call_{n}", name) for n in range(ROUNDS) for name in NAMES if winners[f"call_{n}"] != name}
