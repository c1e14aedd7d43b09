"""A file of an older version is brought up to date when it is opened; one of a newer version is left alone."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hitl_nb.journal import Journal, JournalError
from tests.unit.journal.asking import answered, asked, events

VERSION_1 = Path(__file__).with_name("version_1.sql")
"""A journal that hitl_nb 0.1 has written, as SQL."""
HEAD_OF_1 = "4176115fc5f59e96a8013e73815654c969260c20055ad42fc8ca1aa20fc3f669"
STICKY_IN_1 = "4d572d4d13a3b1cabf2238ea43fafc6a4a10b4cb525d13d1755d8d034aa1526a"

VERSION_0 = """
    CREATE TABLE events (
        id INTEGER PRIMARY KEY, ts TEXT, event TEXT, thread TEXT, run TEXT, call TEXT, tool TEXT, kind TEXT,
        message TEXT, args TEXT, answer TEXT, outcome TEXT, "by" TEXT, via TEXT, reason TEXT, result TEXT
    );
    INSERT INTO events(ts, event, thread, run, call, tool, kind, message, args) VALUES
        ('2026-01-02T03:04:05.000000+00:00', 'asked', 't', 'r', 'call_1', 'plan', 'tool', 'Which?', '{"n":1}'),
        ('2026-01-02T03:04:06.000000+00:00', 'asked', 't', 'r', 'call_2', 'plan', 'tool', 'Which?', '{"n":2}');
    INSERT INTO events(ts, event, thread, run, call, tool, answer, outcome, "by", via, result) VALUES
        ('2026-01-02T03:04:09.000000+00:00', 'answered', 't', 'r', 'call_1', 'plan', '{"n":3}', 'answered', 'ada',
         'card', '{"n":3}');
    INSERT INTO events(ts, event, thread, call, tool) VALUES
        ('2026-01-02T03:04:10.000000+00:00', 'delivered', 't', 'call_1', 'plan');
"""


@pytest.fixture
def old(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_0)
    return path


def test_an_old_file_keeps_every_event_and_is_chained_from_now_on(old):
    with Journal(old) as journal:
        rows = list(journal)
        assert [(row["event"], row["call"], row["question"]) for row in rows] == [
            ("asked", "call_1", 1),
            ("asked", "call_2", 2),
            ("answered", "call_1", 1),
            ("delivered", "call_1", 1),
        ]
        assert [row["ts"][17:19] for row in rows] == ["05", "06", "09", "10"]
        decision = journal.winner("call_1")
        assert (decision.answer, decision.by, decision.at.second) == ({"n": 3}, "ada", 9)
        assert [call.id for call in journal.load_thread("t").open] == ["call_2"]
        assert journal.verify().ok


async def test_an_old_file_is_written_on_and_opened_again(old):
    with Journal(old) as journal:
        answered(journal, id="call_3")
        head = journal.verify().head
    with Journal(old) as journal:
        assert journal.verify(head=head).rows == 6
        assert len(journal.to_frame()) == 3


def test_the_version_stands_in_the_file(old):
    Journal(old).close()
    with closing(sqlite3.connect(old)) as connection:
        assert [version for (version,) in connection.execute("SELECT version FROM schema_version")] == [7]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"events", "blobs", "schema_version", "waiting"}


# -- of version 0.1 of hitl_nb ---------------------------------------------------------------------------------------


@pytest.fixture
def of_0_1(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(VERSION_1.read_text())
    return path


def test_the_hashes_of_old_rows_stay_valid(of_0_1):
    with Journal(of_0_1) as journal:
        assert (journal.verify(head=HEAD_OF_1).ok, journal.verify().rows) == (True, 12)
        assert journal.head == HEAD_OF_1
        assert "occurrence" not in next(iter(journal))


async def test_new_rows_are_chained_to_the_old_ones(of_0_1):
    with Journal(of_0_1) as journal:
        call = answered(journal, id="new")
        assert journal.start(call)
        assert journal.verify(head=HEAD_OF_1).rows == 15
        assert events(journal, "asked")[-1]["occurrence"] == call.occurrence


async def test_an_open_call_of_0_1_resumes(of_0_1):
    with Journal(of_0_1) as journal:
        record = journal.load_thread("t")
        assert [(call.id, call.args, call.occurrence) for call in record.open] == [("open", {"n": 4}, None)]
        assert [(each.call, each.answer, each.kind) for each in record.undelivered] == [("untold", "yes", "tool")]
        assert [message["content"] for message in record.messages] == ["gö", "ok"]
        call = answered(journal, {"n": 4}, "at last", id="open")
        assert events(journal, "asked_again")[0]["question"] == record.open[0].question
        assert journal.winner(call).answer == "at last"
        assert journal.load_thread("t").open == []


async def test_an_approval_of_0_1_that_was_not_told_can_still_take_its_grant_once(of_0_1):
    with Journal(of_0_1) as journal:
        call = asked(journal, {"n": 3}, id="untold")
        assert journal.winner(call).answer == "yes"
        assert (journal.start(call), journal.start(call)) == (True, False)


def test_a_sticky_decision_of_0_1_is_asked_again(of_0_1):
    with Journal(of_0_1) as journal:
        assert events(journal, "remembered")[0]["fingerprint"] == STICKY_IN_1
        assert journal.recall("clean-up", STICKY_IN_1) is None


def test_a_file_of_0_1_is_guarded_like_a_new_one(of_0_1):
    Journal(of_0_1).close()
    with closing(sqlite3.connect(of_0_1)) as connection:
        made = "SELECT type, name FROM sqlite_master WHERE tbl_name = 'events' ORDER BY name"
        old = connection.execute(made).fetchall()
    Journal(of_0_1.with_name("new.sqlite")).close()
    with closing(sqlite3.connect(of_0_1.with_name("new.sqlite"))) as connection:
        assert connection.execute(made).fetchall() == old


# -- neither ---------------------------------------------------------------------------------------------------------


def test_a_migration_that_fails_leaves_the_old_file_as_it_was(old):
    with closing(sqlite3.connect(old)) as connection:
        connection.execute("UPDATE events SET thread = NULL WHERE id = 4")
        connection.commit()
    with pytest.raises(JournalError, match="NOT NULL"):
        Journal(old)
    with closing(sqlite3.connect(old)) as connection:
        assert connection.execute("SELECT count(*), max(call) FROM events").fetchone() == (4, "call_2")


def test_a_file_of_a_newer_version_is_refused_and_not_touched(path):
    Journal(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("INSERT INTO schema_version VALUES (99, 'later')")
        connection.commit()
    with pytest.raises(JournalError, match=r"newer hitl_nb.*version 99.*pip install -U hitl-nb"):
        Journal(path)


def test_an_empty_file_is_a_new_journal(path):
    path.touch()
    with Journal(path) as journal:
        assert journal.verify().ok
