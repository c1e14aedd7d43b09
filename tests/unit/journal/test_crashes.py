"""`kill -9` at any moment: what the journal has acknowledged is there afterwards, and the chain is whole."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hitl_nb.journal import Journal

REPO = Path(__file__).parents[3]
RUNS = 40


@pytest.mark.timeout(300)
def test_killed_writers_lose_no_acknowledged_row(path):
    command = [sys.executable, "-m", "tests.unit.journal.writer", str(path), str(RUNS), "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPO)
    assert done.returncode == 0, done.stderr
    acknowledged = [call for line in done.stdout.splitlines() for call in json.loads(line)]
    assert len(done.stdout.splitlines()) == RUNS
    assert len(acknowledged) > RUNS
    with Journal(path) as journal:
        assert journal.verify().ok
        events: dict[object, list[object]] = {name: [] for name in ("asked", "answered", "delivered")}
        for row in journal:
            events.get(row["event"], []).append(row.get("call"))
        for name, calls in events.items():
            assert set(acknowledged) <= set(calls), name
            assert len(set(calls)) == len(calls), name
        # What was not acknowledged is either open or decided, never half of it.
        open_calls = {call.id for call in journal.load_thread("t").open}
        assert open_calls == set(events["asked"]) - set(events["answered"])
        assert len(open_calls) <= RUNS
