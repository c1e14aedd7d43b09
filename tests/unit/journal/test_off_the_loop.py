"""Nothing that is written holds up a kernel's loop: not a file that another process has locked, not a slow disk."""

import asyncio
import gc
import json
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from hitl_nb._calls import Handle
from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal, JournalError
from tests.unit.journal.asking import a_call, answered, asked, by_hand, events, kind_of, locked

REPO = Path(__file__).parents[3]
pytestmark = pytest.mark.timeout(25)
"""Less than the journal waits for a lock: what waits for it in the loop never ends, since the loop would let it go."""


async def turns(count=200):
    for _ in range(count):
        await asyncio.sleep(0)


async def written(future):
    return await asyncio.wrap_future(future)


# -- a locked file ---------------------------------------------------------------------------------------------------


async def test_the_loop_goes_on_while_the_file_is_locked_and_all_is_written_in_order_afterwards(journal, path):
    call = a_call()
    with locked(path):
        begun = [journal.begin_asked(call, arguments="{}"), journal.begin_shown(call)]
        call.respond("yes", by="ada")
        begun += [journal.begin_answered(call), journal.begin_started(call), journal.begin_ended(call, "done")]
        begun += [journal.begin_late(call, "no", "bob"), journal.begin_remember("key", "content", call)]
        begun += [journal.begin_delivered([call]), journal.begin_save_thread("t", '[{"id":"1"}]', "1")]
        await turns()
        assert not any(future.done() for future in begun)
    assert [await written(future) for future in begun] == [None, None, True, True, *[None] * 5]
    assert [row["event"] for row in journal] == [
        *("asked", "shown", "answered", "started", "ended", "late", "remembered", "delivered", "thread_saved"),
    ]
    assert journal.verify().ok


async def test_reading_in_the_loop_does_not_wait_for_a_lock(journal, path):
    call = answered(journal)
    journal.remember("key", "content", call)
    with locked(path):
        late = journal.begin_late(call, "no")
        assert journal.winner(call).answer == "yes"
        assert journal.recall("key", "content").answer == "yes"
        assert [each.call for each in journal.load_thread("t").undelivered] == ["call_1"]
        assert journal.started(call) is None
        assert len(journal.to_frame()) == 1
        assert not late.done()
    await written(late)


async def test_a_file_that_is_up_to_date_is_opened_although_it_is_locked(journal, path):
    asked(journal)
    with locked(path), Journal(path) as other:
        assert [call.id for call in other.load_thread("t").open] == ["call_1"]


async def test_elsewhere_reading_waits_for_what_was_begun_before(journal, path):
    with locked(path):
        begun = journal.begin_asked(a_call(), arguments="{}")
        reading = asyncio.create_task(asyncio.to_thread(lambda: len(events(journal))))
        await turns()
        assert not reading.done()
    assert await reading == 1
    assert begun.done()


async def test_what_one_journal_has_begun_another_of_this_process_reads(journal, path):
    with Journal(path) as other:
        for number in range(20):
            journal.begin_asked(a_call(id=f"call_{number}"), arguments="{}")
            assert len(events(other)) == number + 1


async def test_a_lock_that_is_never_let_go_is_an_error_in_the_end_and_nothing_was_written(journal, path, monkeypatch):
    monkeypatch.setattr("hitl_nb.journal._store.PATIENCE", 0.2)
    with locked(path), pytest.raises(JournalError, match="(locked|lock timeout).*Write `Journal"):
        await written(journal.begin_asked(a_call(), arguments="{}"))
    assert events(journal) == []


# -- what is written, and when ---------------------------------------------------------------------------------------


async def test_a_row_is_what_was_true_when_it_began(journal, path):
    args = {"rows": [1]}
    call = a_call(args)
    with locked(path):
        begun = journal.begin_asked(call, arguments="{}")
        args["rows"].append(2)
    await written(begun)
    assert events(journal)[0]["args"] == '{"rows":[1]}'


async def test_what_fails_leaves_what_stands_beside_it(journal, path):
    approved, open_call = answered(journal), asked(journal, id="call_2")
    with locked(path):
        begun = [
            journal.begin_started(approved),
            journal.begin_started(open_call),
            journal.begin_asked(a_call(id="call_3"), arguments="{}"),
        ]
    assert await written(begun[0]) is True
    with pytest.raises(UsageError, match="call_2"):
        await written(begun[1])
    await written(begun[2])
    assert [(row["event"], row["call"]) for row in journal][-2:] == [("started", "call_1"), ("asked", "call_3")]
    assert journal.verify().ok


async def test_a_thousand_at_once_are_a_handful_of_commits(journal, path):
    with locked(path):
        begun = [journal.begin_asked(a_call(id=f"call_{number}"), arguments="{}") for number in range(1000)]
    commits = 0

    def count(_):
        nonlocal commits
        commits += 1

    with by_hand(path) as watcher:
        seen = watcher.execute("SELECT count(*) FROM events").fetchone()[0]
        while seen < 1000:
            await asyncio.sleep(0)
            now = watcher.execute("SELECT count(*) FROM events").fetchone()[0]
            if now != seen:
                count(now)
                seen = now
    await asyncio.gather(*map(asyncio.wrap_future, begun))
    assert commits <= 1000 / 64 + 2
    assert journal.verify().rows == 1000


async def test_who_stops_waiting_does_not_stop_the_writing(journal, path):
    with locked(path):
        waiting = asyncio.create_task(written(journal.begin_asked(a_call(), arguments="{}")))
        await turns(2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert waiting.cancelled()
    assert len(await asyncio.to_thread(events, journal)) == 1


@pytest.mark.only_sqlite
async def test_a_failure_that_nobody_waits_for_stands_in_the_log_once(journal, path, caplog):
    call = answered(journal)
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        for _ in range(3):
            failed = journal.begin_delivered([call])
            with pytest.raises(JournalError, match="disk full"):
                await written(failed)
        with pytest.raises(JournalError, match="disk full"):
            journal.shown(call)
        other.execute("DROP TRIGGER full")
    await turns()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "disk full" in caplog.text
    await written(journal.begin_delivered([call]))
    assert len(events(journal, "delivered")) == 1


async def test_a_decision_may_be_recorded_before_it_counts(journal):
    call, given = asked(journal), a_call()
    given.respond("yes", by="ada")
    assert await written(journal.begin_answered(call, Handle.of(given).decision)) is True
    assert not call.decided
    assert journal.winner(call).answer == "yes"


async def test_a_callback_in_the_writing_thread_may_write_and_read_on(journal, path):
    call, seen, done = a_call(), [], threading.Event()

    def go_on(_):
        journal.shown(call)
        seen.extend(row["event"] for row in journal)
        done.set()

    with locked(path):  # so that the callback is there before it is written
        journal.begin_asked(call, arguments="{}").add_done_callback(go_on)
    await asyncio.to_thread(done.wait)
    assert seen == ["asked", "shown"]


async def test_where_no_thread_can_start_it_is_written_in_place(path):
    before = threading.stack_size(1 << 48)  # more than there is address space
    try:
        with Journal(path) as journal:
            assert journal.begin_asked(a_call(), arguments="{}").done()
            assert journal.begin_shown(a_call()).done()
            assert len(events(journal)) == 2
    finally:
        threading.stack_size(before)


async def test_memory_is_written_in_place():
    before = threading.enumerate()
    with Journal("memory") as journal:
        call = a_call()
        assert journal.begin_asked(call, arguments="{}").done()
        call.respond("yes")
        assert journal.begin_answered(call).result() is True
        assert threading.enumerate() == before


# -- the end ---------------------------------------------------------------------------------------------------------


async def test_closing_writes_what_has_begun(path):
    with Journal(path) as journal:
        begun = [journal.begin_asked(a_call(id=f"call_{number}"), arguments="{}") for number in range(100)]
    assert all(future.done() for future in begun)
    with Journal(path) as journal:
        assert len(events(journal)) == 100


async def test_a_closed_journal_takes_nothing_more(path):
    journal = Journal(path)
    call = asked(journal)
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        await written(journal.begin_shown(call))
    with pytest.raises(JournalError, match="closed"):
        journal.winner(call)


async def test_a_journal_that_nobody_holds_any_more_writes_what_has_begun(path):
    journal = Journal(path)
    with locked(path):
        begun = journal.begin_save_thread("t", "[]", "1")
        del journal
        gc.collect()
        assert not begun.done()
    await written(begun)
    with Journal(path) as journal:
        assert journal.load_thread("t").state == 1


ENDING = """
import asyncio, sys
from hitl_nb.journal import Journal
from tests.unit.journal.asking import a_call

async def main():
    journal = Journal(sys.argv[1])
    for number in range(200):
        journal.begin_asked(a_call(id=f"call_{number}"), arguments="{}")
    %s

asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "raise SystemExit", "globals()['kept'] = journal"])
def test_a_process_that_ends_writes_what_has_begun(path, end):
    done = subprocess.run([sys.executable, "-c", ENDING % end, str(path)], cwd=REPO, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with Journal(path) as journal:
        assert len(events(journal)) == 200
    assert kind_of(path) == "postgres" or [file.name for file in path.parent.iterdir()] == ["journal.sqlite"]


# -- a fork ----------------------------------------------------------------------------------------------------------

FORKING = """
import asyncio, json, os, sys
from hitl_nb.journal import Journal
from tests.unit.journal.asking import a_call, answered

async def main():
    journal = Journal(sys.argv[1])
    answered(journal, id="before")
    for number in range(50):
        journal.begin_asked(a_call(id=f"parent_{number}"), arguments="{}")
    child = os.fork()
    who = "parent" if child else "child"
    for number in range(50, 100):
        journal.begin_asked(a_call(id=f"{who}_{number}"), arguments="{}")
    journal.delivered(["before"])
    if child:
        assert os.waitpid(child, 0)[1] == 0
    journal.close()

asyncio.run(main())
"""


def test_after_a_fork_both_write_on_and_nothing_is_written_twice(path):
    done = subprocess.run([sys.executable, "-c", FORKING, str(path)], cwd=REPO, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    with Journal(path) as journal:
        assert journal.verify().ok
        names = [row["call"] for row in events(journal, "asked")]
        expected = ["before", *(f"parent_{n}" for n in range(100)), *(f"child_{n}" for n in range(50, 100))]
        assert sorted(names) == sorted(expected)
        assert len(events(journal, "delivered")) == 1


def test_a_fork_while_the_file_is_locked_does_not_wait_for_it(journal, path):
    with locked(path):
        begun = journal.begin_asked(a_call(), arguments="{}")
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        assert not begun.done()
    begun.result()
    assert len(events(journal)) == 1


def test_a_forked_process_does_not_close_what_its_parent_uses(journal, path):
    """SQLite forbids even that: https://sqlite.org/howtocorrupt.html, 2.6."""
    for number in range(10):
        child = os.fork()
        if child == 0:
            journal.close()
            os._exit(0)
        answered(journal, id=f"call_{number}")
        os.waitpid(child, 0)
    assert journal.verify().ok
    with Journal(path) as other:
        assert json.loads(events(other, "answered")[-1]["answer"]) == "yes"
