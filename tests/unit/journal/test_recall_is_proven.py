"""What answers in a person's place is believed only if nobody has touched it since: no row changed, deleted, put in."""

import hashlib
import json
import sqlite3
from contextlib import closing

import pytest

from hitl_nb.journal import Journal, JournalError, _tables
from tests.unit.journal.asking import answered, asked, by_hand, events, kind_of, tamper

GUARDS = ("no_update", "no_delete", "no_replace")
CHANGES = {
    "another answer": "UPDATE events SET answer = '\"DELETE\"' WHERE event = 'answered' AND id = 5",
    "a no made a yes": "UPDATE events SET outcome = 'edited' WHERE id = 5",
    "somebody else": "UPDATE events SET \"by\" = 'eve' WHERE id = 5",
    "another question": "UPDATE events SET message = 'Delete all?' WHERE id = 4",
    "another key": "UPDATE events SET key = 'other' WHERE id = 7",
    "a row in between": "UPDATE events SET ts = '2020-01-01T00:00:00.000000+00:00' WHERE id = 6",
    "a row deleted in between": "DELETE FROM events WHERE id = 6",
    "a later row": "UPDATE events SET reason = 'because' WHERE id = 9",
    "a later row deleted": "DELETE FROM events WHERE id = 9",
}


def filled(journal):
    """Rows 1 to 3: older calls; 4 to 6: the one that is kept (row 7); 8 to 10: a later one."""
    answered(journal, id="older")
    asked(journal, id="older and open")
    kept = answered(journal, value="keep", id="kept")
    journal.shown(kept)
    journal.remember("key", "content", kept)
    journal.shown(answered(journal, id="later"))
    return kept


def guarded_again(path):
    """Somebody who covers their tracks."""
    with by_hand(path) as connection:
        for name in GUARDS:
            if kind_of(path) == "postgres":
                connection.execute(f"ALTER TABLE events ENABLE ALWAYS TRIGGER {name}")
                continue
            when = {"no_update": "UPDATE", "no_delete": "DELETE", "no_replace": "INSERT"}[name]
            only = "WHEN EXISTS (SELECT 1 FROM events WHERE id = new.id)" if name == "no_replace" else ""
            words = "'the journal is append-only'"
            connection.execute(f"DROP TRIGGER IF EXISTS {name}")
            sql = f"CREATE TRIGGER {name} BEFORE {when} ON events {only} BEGIN SELECT RAISE(ABORT, {words}); END"
            connection.execute(sql)


async def test_what_nobody_touched_is_believed_here_and_after_a_restart(journal, path):
    filled(journal)
    assert journal.recall("key", "content").answer == "keep"
    with Journal(path) as restarted:
        assert restarted.recall("key", "content").answer == "keep"


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("when", ["restarted", "open", "open, and recalled before", "open, and covered up"])
async def test_what_was_touched_is_asked_again(journal, path, change, when, caplog):
    filled(journal)
    if when == "open, and recalled before":
        assert journal.recall("key", "content")
    tamper(path, change)
    if when == "open, and covered up":
        guarded_again(path)
    if when == "restarted":
        journal.close()
        journal = Journal(path)
    assert journal.recall("key", "content") is None
    assert journal.recall("key", "content") is None
    if "SET key" not in change:  # then there is nothing to be found, and so nothing to doubt
        [record] = [record for record in caplog.records if record.levelname == "WARNING"]
        assert "`print(journal.verify())` says which row" in record.message
    assert not journal.verify().ok
    journal.close()


async def test_a_row_put_in_is_not_believed(journal, path):
    filled(journal)
    tamper(
        path,
        "CREATE TEMP TABLE copy AS SELECT * FROM events WHERE id = 7",
        "UPDATE copy SET id = 11, fingerprint = '2:other content'",
        "INSERT INTO events SELECT * FROM copy",
    )
    with Journal(path) as restarted:
        assert restarted.recall("key", "other content") is None


async def test_a_row_that_was_rehashed_alone_is_not_believed(journal, path):
    filled(journal)
    row = {**list(journal)[4], "answer": '"DELETE"'}
    text = json.dumps({k: v for k, v in row.items() if k != "sha256"}, ensure_ascii=False, separators=(",", ":"))
    forged = hashlib.sha256(text.encode()).hexdigest()
    tamper(path, f"UPDATE events SET answer = '\"DELETE\"', sha256 = '{forged}' WHERE id = 5")
    guarded_again(path)
    assert journal.recall("key", "content") is None


async def test_what_was_touched_before_the_question_does_not_matter_to_it(journal, path):
    filled(journal)
    tamper(path, "UPDATE events SET answer = '\"no\"' WHERE id = 2")
    for reader in (journal, Journal(path)):
        with reader:
            assert reader.recall("key", "content").answer == "keep"
            assert reader.winner("older") is None


async def test_what_is_answered_after_the_damage_is_believed_again(journal, path):
    filled(journal)
    tamper(path, "UPDATE events SET answer = '\"DELETE\"' WHERE id = 5")
    assert journal.recall("key", "content") is None
    journal.remember("key", "content", answered(journal, value="asked anew", id="new"))
    assert journal.recall("key", "content").answer == "asked anew"
    with Journal(path) as restarted:
        assert restarted.recall("key", "content").answer == "asked anew"


@pytest.mark.only_sqlite
async def test_sqlite_itself_refuses_to_replace_a_row(journal, path):
    filled(journal)
    with (
        closing(sqlite3.connect(path)) as connection,
        pytest.raises(sqlite3.IntegrityError, match="append-only"),
    ):
        connection.execute("INSERT OR REPLACE INTO events SELECT * FROM events WHERE id = 5")


async def test_only_what_is_new_is_read_again(journal, path, monkeypatch):
    read = []

    def counted(row, *rest, check=_tables.fault):
        read.append(row[0])
        return check(row, *rest)

    monkeypatch.setattr("hitl_nb.journal._transaction.fault", counted)
    filled(journal)
    for number in range(100):
        answered(journal, id=f"more {number}")
    with Journal(path) as restarted:
        restarted.recall("key", "content")
        assert len(read) > 200
        read.clear()
        restarted.recall("key", "content")
        assert sorted(set(read)) == [4, 5, 7]  # the rows that it is about
        read.clear()
        asked(journal, id="new")
        restarted.recall("key", "content")
        assert sorted(set(read)) == [4, 5, 7, 211]
    read.clear()
    assert journal.recall("key", "content")
    assert sorted(set(read)) == [4, 5, 7]  # what it has written itself it need not read


# -- everything else that answers in a person's place ----------------------------------------------------------------


async def test_an_answer_that_was_touched_is_nobodys(journal, path):
    call = answered(journal)
    tamper(path, "UPDATE events SET answer = '\"no\"' WHERE event = 'answered'")
    assert journal.winner(call) is None
    assert journal.winner("call_1") is None


async def test_an_answer_that_was_touched_is_not_told_and_its_question_is_open(journal, path):
    answered(journal)
    answered(journal, id="call_2")
    tamper(path, "UPDATE events SET answer = '\"no\"' WHERE id = 2")
    with Journal(path) as restarted:
        record = restarted.load_thread("t")
        assert [stored.call for stored in record.undelivered] == ["call_2"]
        assert [call.id for call in record.open] == ["call_1"]


async def test_who_is_asked_again_because_of_that_has_a_question_of_their_own(journal, path):
    answered(journal, value="original")
    tamper(path, "UPDATE events SET answer = '\"forged\"' WHERE event = 'answered'")
    with Journal(path) as restarted:
        call = asked(restarted)
        assert restarted.winner(call) is None
        call.respond("anew", by="ada")
        assert restarted.answered(call) is True
        assert restarted.winner(call).answer == "anew"
        assert restarted.start(call)


async def test_an_answer_of_another_process_that_was_touched_is_not_adopted(journal, path):
    with Journal(path) as other:
        mine = asked(journal)
        answered(other)
        tamper(path, "UPDATE events SET answer = '\"forged\"' WHERE event = 'answered'")
        mine.respond("yes", by="ada")
        with pytest.raises(JournalError, match="`generate_steps` .*changed after it was written"):
            journal.answered(mine)


async def test_an_approval_that_was_touched_gives_no_grant(journal, path):
    call = asked(journal)
    call.decline("no", by="ada")
    journal.answered(call)
    tamper(path, "UPDATE events SET outcome = 'answered', answer = '1' WHERE event = 'answered'")
    with Journal(path) as restarted:
        again = asked(restarted)
        assert restarted.winner(again) is None
        with pytest.raises(JournalError, match="is not believed|no answer"):
            restarted.start(call)
    assert events(journal, "started") == []
