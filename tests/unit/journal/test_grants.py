"""A yes is for one run: one grant a question, however many kernels want it, and whoever lost learns of the end."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal
from tests.unit.journal.asking import a_call, answered, asked, events, stored_text, tamper

REPO = Path(__file__).parents[3]
NAMES = ("ada", "bob", "cleo")
ROUNDS = 25


def other_process(*arguments: str, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "tests.unit.journal.runner", *arguments]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": REPO}
    return subprocess.Popen(command, **pipes, **options)


async def test_what_was_approved_begins_once_and_the_end_is_told(journal):
    call = answered(journal)
    assert journal.started(call) is None
    assert journal.start(call) is True
    assert journal.start(call) is False
    started = journal.started(call)
    assert (started.alive, started.mine, started.ended, started.pid) == (True, True, None, os.getpid())
    journal.ended(call, "3 rows deleted")
    journal.ended(call, "and again")
    assert journal.started(call).ended == "3 rows deleted"
    assert [row["event"] for row in journal] == ["asked", "answered", "started", "ended"]


@pytest.mark.parametrize("end", [None, "decline", "cancel"])
async def test_what_nobody_approved_does_not_begin(journal, end):
    call = asked(journal)
    if end:
        getattr(call, end)("no")
        journal.answered(call)
    with pytest.raises(UsageError, match=r"`generate_steps` \(call_1\) .*approved"):
        journal.start(call)
    assert events(journal, "started") == []


async def test_the_grant_goes_by_the_decision_that_counts_and_not_by_ones_own(journal, path):
    with Journal(path) as other:
        call = a_call()
        other.asked(call, arguments="{}")
        mine = asked(journal)
        call.decline("no", by="bob")
        assert other.answered(call)
        mine.respond("yes", by="ada")
        assert journal.answered(mine) is False
        with pytest.raises(UsageError, match="not approved \\(declined\\)"):
            journal.start(mine)


async def test_what_has_not_begun_does_not_end(journal):
    call = answered(journal)
    with pytest.raises(UsageError, match="has not begun. Write `journal.begin_started"):
        journal.ended(call, "done")


async def test_an_end_that_is_nothing_is_an_end(journal):
    call = answered(journal)
    journal.start(call)
    journal.ended(call, "")
    assert journal.started(call).ended == ""


async def test_a_restarted_kernel_may_run_what_was_approved_and_never_began(journal, path):
    answered(journal)
    with Journal(path) as restarted:
        call = asked(restarted)
        assert restarted.winner(call).approved
        assert (restarted.start(call), restarted.start(call)) == (True, False)


async def test_a_restored_call_may_be_told_which_question_it_is(journal, path):
    answered(journal)
    with Journal(path) as restarted:
        [stored] = restarted.load_thread("t").undelivered
        call = a_call(id="of-another-name")
        restarted.adopt(call, stored)
        assert restarted.winner(call).answer == "yes"
        assert restarted.start(call)
        restarted.delivered([call])
        assert restarted.load_thread("t").undelivered == []
    assert {row["question"] for row in journal} == {1}


async def test_a_secret_in_the_result_is_not_in_the_file(journal, path):
    schema = {"type": "object", "properties": {"password": {"type": "string", "format": "password"}}}
    call = answered(journal, {"q": "?"}, {"password": "hunter2-long"}, answer=schema)
    journal.start(call)
    journal.ended(call, "logged in with hunter2-long")
    started = journal.started(call)
    assert (started.ended, started.redacted) == ("logged in with **********", True)
    assert "hunter2-long" not in stored_text(path)


async def test_an_end_that_was_written_by_hand_is_none(journal, path):
    call = answered(journal)
    journal.start(call)
    journal.ended(call, "deleted")
    tamper(path, "UPDATE events SET result = 'all is well' WHERE event = 'ended'")
    assert (journal.started(call).ended, journal.started(call).mine) == (None, True)


# -- other processes -------------------------------------------------------------------------------------------------


def test_processes_that_race_for_one_grant_have_one_winner_each(path):
    started = [other_process(str(path), name, str(ROUNDS)) for name in NAMES]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    ran = {name: json.loads(process.communicate()[0]) for name, process in zip(NAMES, started, strict=True)}
    assert [process.returncode for process in started] == [0, 0, 0]
    calls = sorted(call for won in ran.values() for call in won)
    assert calls == sorted(f"call_{number}" for number in range(ROUNDS))
    with Journal(path) as journal:
        assert journal.verify().ok
        assert len(events(journal, "asked")) == len(events(journal, "started")) == ROUNDS


async def test_a_process_that_is_there_is_alive_and_one_that_is_gone_is_not(journal, path):
    process = other_process(str(path), "ada", "1")
    assert process.stdout.readline() == "ready\n"
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == '["call_0"]\n'
    started = journal.started("call_0")
    assert (started.alive, started.mine, started.pid, started.ended) == (True, False, process.pid, None)
    process.kill()
    # Until it is waited for, its remains are still listed; it is not alive all the same.
    while journal.started("call_0").alive:
        os.sched_yield()
    process.communicate()
    assert journal.started("call_0").alive is False


async def test_a_process_on_another_machine_cannot_be_seen(journal, path):
    process = other_process(str(path), "ada", "1", env={**os.environ, "PRETENDED_HOST": "elsewhere"})
    process.communicate("go\n")
    started = journal.started("call_0")
    assert (started.alive, started.mine, started.host) == (None, False, "elsewhere")
