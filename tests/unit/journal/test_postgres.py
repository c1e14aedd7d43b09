"""What only a server can do to a journal: end a connection, restart, stand behind a password."""

import asyncio
import gc
import random
import subprocess
import sys
import threading
import traceback
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from hitl_nb import use
from hitl_nb.journal import Journal, JournalError, open_journal
from hitl_nb.journal._postgres import address_in_words
from tests.unit.journal.asking import answered, asked, events

REPO = Path(__file__).parents[3]
OURS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hitl_nb'"
KILL = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hitl_nb'"


@pytest.fixture
def place(postgres):
    return postgres.schema()


async def test_a_connection_that_was_ended_between_two_questions_is_made_anew(postgres, place):
    with Journal(place) as journal:
        answered(journal)
        for number in range(3):
            postgres.psql(KILL)
            call = answered(journal, id=f"again {number}")
            postgres.psql(KILL)
            assert journal.winner(call).answer == "yes"
        assert journal.verify().ok
        assert len(events(journal, "answered")) == 4


@pytest.mark.timeout(240)  # each connection that is lost is a way more
async def test_connections_ended_at_any_moment_lose_no_answer_and_write_none_twice(postgres, place):
    """A commit whose connection breaks on the way has arrived or not; the journal looks before it writes again."""
    told, stop, rng = [], threading.Event(), random.Random(7)

    def ends_them():
        with closing(psycopg.connect(postgres.address(), autocommit=True)) as hand:
            while not stop.wait(rng.uniform(0, 0.02)):
                hand.execute(KILL)

    with Journal(place) as journal:
        hand = threading.Thread(target=ends_them)
        hand.start()
        try:
            for number in range(60):
                call = answered(journal, id=f"call {number}", value=number)
                assert journal.start(call)
                told.append(call.id)
        finally:
            stop.set()
            hand.join()
        assert journal.verify().ok
        for name in ("asked", "answered", "started"):
            assert [row["call"] for row in events(journal, name)] == told, name
        assert events(journal, "late") == []


async def test_closed_at_any_moment_while_others_read_it_leaves_no_connection_and_every_reader_is_told(postgres, place):
    rng = random.Random(11)

    def reads(journal, found):
        try:
            while True:
                journal.winner("call_1")
        except BaseException as error:
            found.append(error)

    with Journal(place) as journal:
        answered(journal)
    for _ in range(25):
        journal, found = Journal(place), []
        readers = [threading.Thread(target=reads, args=(journal, found)) for _ in range(3)]
        for reader in readers:
            reader.start()
        await asyncio.sleep(rng.uniform(0, 0.02))
        await asyncio.to_thread(journal.close)
        for reader in readers:
            await asyncio.to_thread(reader.join)
        assert [type(error) for error in found] == [JournalError] * 3
    # A backend that was let go may take a moment to be gone.
    while (left := postgres.psql(OURS).strip()) != "0":
        gc.collect()  # a connection nobody closed says so here
        await asyncio.sleep(0.05)
    assert left == "0"


async def test_a_server_that_is_started_anew_has_every_answer_that_was_told(postgres, place):
    with Journal(place) as journal:
        call = answered(journal)
        restart = asyncio.to_thread(postgres.act, "restart", "-m", "immediate")
        later, _ = await asyncio.gather(asyncio.to_thread(journal.winner, call), restart)
        assert later.answer == "yes"
        assert answered(journal, id="call_2").decided
        assert journal.verify().ok


def test_a_password_is_in_no_word_about_the_journal(postgres, capsys):
    there = "postgresql://ada:hunter2@db.example:6543/hitl?options=-c%20x&password=hunter3&sslkey=hunter4"
    assert address_in_words(there) == "postgresql://ada@db.example:6543/hitl"
    nowhere = "postgresql://ada:hunter2@localhost:1/hitl?connect_timeout=1&password=hunter3"
    for act in (lambda: Journal(nowhere), lambda: open_journal(nowhere), lambda: use(journal=nowhere)):
        with pytest.raises(JournalError, match="`postgresql://ada@localhost:1/hitl` cannot be used") as error:
            act()
        whole = "".join(traceback.format_exception(error.value))
        assert "hunter" not in whole
    with Journal(postgres.schema().replace("postgres@", "postgres:hunter2@")) as journal:
        shown = f"{journal!r} {journal._repr_html_()} {use(journal=journal)!r}"
    assert "hunter" not in shown + "".join(capsys.readouterr())
    assert "postgresql://postgres@/postgres" in shown
    use(journal="memory")


def test_tables_of_a_newer_version_are_refused(postgres, place):
    Journal(place).close()
    with closing(psycopg.connect(place, autocommit=True)) as hand:
        hand.execute("INSERT INTO schema_version VALUES (99, '')")
    with pytest.raises(JournalError, match="newer hitl_nb.*pip install -U hitl-nb"):
        Journal(place)


def test_everybody_in_a_process_who_means_the_same_database_gets_one_journal(postgres, place):
    with use(journal=place) as used:
        assert open_journal() is open_journal(place)
        assert "postgresql://postgres@/postgres" in repr(used)


def test_the_environment_may_name_a_database(place):
    code = "from hitl_nb.journal import open_journal; journal = open_journal(); print(journal, journal.path)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPO, env={"HITL_NB_JOURNAL": place}
    )
    assert done.stdout == "<Journal postgresql://postgres@/postgres · 0 calls> None\n", done.stderr


async def test_a_row_appended_by_hand_is_a_fault_in_the_chain_and_not_an_answer(place):
    with Journal(place) as journal:
        call = asked(journal)
        with closing(psycopg.connect(place, autocommit=True)) as hand:
            hand.execute(
                "INSERT INTO events(id, question, ts, event, thread, call, outcome, answer, via, prev_sha256, sha256) "
                "VALUES (2, 1, '', 'answered', 't', 'call_1', 'answered', '1', 'card', '', '')"
            )
        assert journal.winner(call) is None
        assert not journal.verify().ok
