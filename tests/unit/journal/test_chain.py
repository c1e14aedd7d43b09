"""The hash chain: whatever is changed, cut out or put in afterwards shows."""

import hashlib
import json
import sqlite3

import psycopg
import pytest

from hitl_nb.journal import Journal
from tests.unit.journal.asking import answered, asked, by_hand, kind_of, tamper


@pytest.fixture
async def written(path):
    """A closed journal of 2 calls, 6 rows; gives its head."""
    with Journal(path) as journal:
        for call in ("call_1", "call_2"):
            answered(journal, id=call)
            journal.delivered([call])
        return journal.verify().head


def verified(path, **options):
    with Journal(path) as journal:
        return journal.verify(**options)


async def test_an_untouched_journal_is_good_also_when_it_is_empty(path, written):
    found = verified(path)
    assert (found.ok, found.rows, found.bad_row) == (True, 6, None)
    assert str(found).startswith("ok: 6 rows, head ")
    with Journal("memory") as empty:
        assert (empty.verify().ok, empty.verify().rows, empty.verify().head) == (True, 0, "0" * 64)


@pytest.mark.parametrize(
    ("statement", "bad_row", "what"),
    [
        ("UPDATE events SET answer = '\"no\"' WHERE id = 2", 2, "its content is not what was written"),
        ("UPDATE events SET \"by\" = 'eve' WHERE id = 5", 5, "its content is not what was written"),
        ("UPDATE events SET reason = 'because' WHERE id = 2", 2, "its content is not what was written"),
        ("UPDATE events SET ts = '2020' WHERE id = 1", 1, "its content is not what was written"),
        ("UPDATE events SET sha256 = prev_sha256 WHERE id = 3", 3, "its content is not what was written"),
        ("DELETE FROM events WHERE id = 3", 4, "row 3 is missing"),
        ("DELETE FROM events WHERE id = 1", 2, "row 1 is missing"),
        ("UPDATE events SET id = 99 WHERE id = 6", 99, "row 6 is missing"),
    ],
)
async def test_a_change_shows_with_the_first_row_that_is_wrong(path, written, statement, bad_row, what):
    tamper(path, statement)
    found = verified(path)
    assert (found.ok, found.bad_row, found.what) == (False, bad_row, what)
    assert str(found) == f"NOT ok at row {bad_row}: {what}"


async def test_a_changed_row_with_a_new_hash_of_its_own_breaks_the_next_link(path, written):
    with Journal(path) as journal:
        row = list(journal)[1]
    row = {**row, "answer": '"no"'}
    text = json.dumps({k: v for k, v in row.items() if k != "sha256"}, ensure_ascii=False, separators=(",", ":"))
    forged = hashlib.sha256(text.encode()).hexdigest()
    tamper(path, f"UPDATE events SET answer = '\"no\"', sha256 = '{forged}' WHERE id = 2")
    assert (verified(path).bad_row, verified(path).what) == (3, "it does not follow the row before it")


async def test_rows_cut_off_at_the_end_show_against_a_head_that_was_kept(path, written):
    tamper(path, "DELETE FROM events WHERE id > 4")
    assert verified(path).ok
    found = verified(path, head=written)
    assert not found.ok
    assert "cut off" in str(found)


async def test_a_head_that_was_kept_stays_in_the_chain_as_it_grows(path, written):
    with Journal(path) as journal:
        answered(journal, id="call_3")
        assert journal.verify(head=written).ok
        assert journal.verify(head="0" * 64).ok


async def test_anybody_can_check_the_chain_with_a_dozen_lines(path, written):
    """The recipe of `_chain`, with nothing of ours."""
    with by_hand(path) as connection:
        cursor, last = connection.execute("SELECT * FROM events ORDER BY id"), "0" * 64
        for values in cursor.fetchall():
            row = {column[0]: value for column, value in zip(cursor.description, values, strict=True)}
            content = {name: value for name, value in row.items() if name != "sha256" and value is not None}
            text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
            assert row["prev_sha256"] == last
            last = hashlib.sha256(text.encode()).hexdigest()
            assert row["sha256"] == last
    assert last == written


async def test_the_database_itself_refuses_to_change_or_delete_a_row(path, written):
    statements = ["UPDATE events SET tool = 'x'", "DELETE FROM events"]
    if kind_of(path) == "postgres":
        statements += ["TRUNCATE events", "SET session_replication_role = replica; DELETE FROM events"]
    with by_hand(path) as connection:
        for statement in statements:
            with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match="append-only"):
                connection.execute(statement)


async def test_a_row_put_in_between_shows(path, written):
    tamper(
        path,
        "UPDATE events SET id = -id WHERE id > 3",
        "UPDATE events SET id = 1 - id WHERE id < 0",
        "INSERT INTO events(id, ts, event, thread, prev_sha256, sha256) VALUES (4, '', 'shown', 't', '', '')",
    )
    assert verified(path).bad_row == 4


async def test_an_append_that_fails_leaves_no_gap(path):
    with Journal(path) as journal:
        call = answered(journal)
        assert journal.answered(call) is False
        asked(journal, id="call_2")
        assert [row["event"] for row in journal] == ["asked", "answered", "late", "asked"]
        assert journal.verify().rows == 4
