"""What is large or personal can be erased, and the chain still verifies: whatever is written, erased, started anew."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hitl_nb import approve
from hitl_nb.errors import UsageError
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal
from hitl_nb.journal._payloads import LARGE
from tests.unit.inbox.jobs import REPO, waiting
from tests.unit.journal.asking import a_call, answered, asked, by_hand, events, kind_of, stored_text
from tests.unit.yes.test_model import LONG

ADA = {"name": "Ada Lovelace", "amount": 12}


@pytest.fixture
def personal(path):
    with Journal(path, name="ada", personal=True) as journal:
        yield journal


def everything(place):
    """All that the database holds, as text; what is in the payloads, too."""
    text = stored_text(place)
    if kind_of(place) == "postgres":
        with by_hand(place) as connection:
            text += "".join(row for (row,) in connection.execute("SELECT blobs::text FROM blobs").fetchall())
            text += "".join(row for (row,) in connection.execute("SELECT waiting::text FROM waiting").fetchall())
    return text


async def test_what_was_erased_is_nowhere_and_the_chain_says_when_and_by_whom(path, personal):
    answered(personal, ADA, "To Ada Lovelace it is", message="Pay Ada Lovelace?")
    other = answered(personal, {"name": "Grace Hopper"}, "yes", id="call_2")
    head = personal.verify().head
    assert "Ada Lovelace" in everything(path)
    done = personal.erase("call_1", by="dpo", reason="asked for by the person")
    assert (done.questions, done.payloads, done.kept, done.withdrawn) == (1, 2, (), 0)
    assert "Ada Lovelace" not in everything(path)
    found = personal.verify(head=head)
    assert found.ok
    assert "1 question erased" in str(found)
    [words] = found.erased
    assert words.startswith("question 1: erased 20")
    assert words.endswith("UTC by dpo")
    [row] = events(personal, "erased")
    assert (row["question"], row["by"], row["reason"]) == (1, "dpo", "asked for by the person")
    assert personal.winner(other).answer == "yes"
    assert not personal.winner("call_1").answer
    assert personal.erase("call_1").payloads == 0  # once is enough


async def test_tables_exports_and_events_say_erased_in_words(personal, tmp_path):
    answered(personal, ADA, "To Ada Lovelace it is")
    assert personal.to_frame().args[0] == json.dumps(ADA, separators=(",", ":"))
    personal.erase("call_1", by="dpo")
    [row] = personal.to_frame().to_dict("records")
    assert row["message"].startswith("erased 20")
    assert row["message"].endswith(" by dpo")
    assert (row["args"], row["answer"], row["outcome"], row["by"]) == ('"erased"', '"erased"', "answered", "ada")
    assert "erased" in personal._repr_html_()
    assert "by dpo" in personal.to_csv(tmp_path / "j.csv").read_text()
    lines = [json.loads(line) for line in personal.to_jsonl(tmp_path / "j.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["asked", "answered", "erased"]
    assert all("by dpo" in line["message"] and len(line["payload"]) == 64 for line in lines[:2])
    assert personal.summary().approved == 1


async def test_what_is_not_erased_reads_as_if_it_stood_in_its_row(path, personal):
    answered(personal, ADA, "yes", message="Pay?")
    with Journal(path) as plain:
        assert plain.winner("call_1").args == ADA
        assert [row.get("args") for row in plain] == ['{"name":"Ada Lovelace","amount":12}', None]
        assert "Ada" in plain.to_frame().args[0]
        plain.late(a_call(ADA, id="call_9"), "no")  # not marked, and small: it stands in the chain
    with by_hand(path) as connection:
        rows = connection.execute(
            "SELECT event, args, message, args_sha256, payload FROM events ORDER BY id"
        ).fetchall()
    assert [row[1:4] for row in rows[:2]] == [(None, None, None)] * 2
    assert all(len(row[4]) == 64 for row in rows[:2])
    assert rows[-1][4] is None


async def test_a_large_payload_can_be_erased_whoever_wrote_it_and_a_small_one_says_that_it_stays(journal):
    answered(journal, {"text": "x" * LARGE}, "yes", id="large")
    answered(journal, ADA, "yes", id="small")
    assert journal.erase("large").payloads == 2  # its answer is set apart as well
    with pytest.raises(UsageError, match=r"Row 3 \(`asked`\) stands in the chain itself.*personal=True"):
        journal.erase("small")
    answered(journal, ADA, "x" * LARGE, id="mixed")
    done = journal.erase("mixed")
    assert done.payloads == 1
    assert "stays" in str(done)
    with pytest.raises(UsageError, match="no question of"):
        journal.erase("no such")
    with pytest.raises(UsageError, match="Erase what"):
        journal.erase()
    assert journal.verify().ok


async def test_the_digest_of_a_small_value_cannot_be_guessed(path, personal):
    answered(personal, ADA, "yes", id="call_1")
    answered(personal, ADA, "yes", id="call_2")
    with by_hand(path) as connection:
        rows = connection.execute("SELECT payload, args_sha256, fingerprint FROM events ORDER BY id").fetchall()
    assert len({payload for payload, _, _ in rows}) == 4
    assert {row[1:] for row in rows} == {(None, None)}


async def test_an_open_question_that_is_erased_is_withdrawn_and_its_asker_is_told(path):
    with Journal(path, personal=True) as job, Journal(path) as other:
        asking = asyncio.ensure_future(approve("Pay Ada Lovelace?", ADA, people=Inbox(job)))
        [call] = await waiting(other)
        assert call.args == ADA
        assert other.erase(thread=call.thread_id, by="dpo").withdrawn == 1
        assert len(other.inbox()) == 0
        assert list(other.inbox()) == []
        answer = await asyncio.wait_for(asking, 30)
        assert not answer
        call.respond(True, by="bob")  # it was drawn a moment ago, and comes too late
        await call._handle.settled()
        assert not call.approved
        assert events(other, "answered")[0]["outcome"] == "cancelled"
        assert other.verify().ok
    assert "Ada Lovelace" not in everything(path)


async def test_an_answer_that_was_erased_is_taken_by_no_later_run(path, monkeypatch):
    monkeypatch.setenv("HITL_NB_JOB", "night")
    with Journal(path, personal=True) as job, Journal(path) as other:
        asking = asyncio.ensure_future(approve("Pay?", ADA, people=Inbox(job), key="pay"))
        [call] = await waiting(other)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        call.respond(True, by="bob")
        await call._handle.settled()
        [decided] = [row for row in other if row["event"] == "answered"]
        other.erase(str(decided["call"]))
        assert other.winner(str(decided["call"])).is_gone
        with by_hand(path) as connection:
            assert connection.execute("SELECT count(*) FROM blobs").fetchone() == (0,)
        assert other.verify().ok


async def test_a_sticky_decision_is_found_and_is_asked_again_once_it_is_erased(path):
    with Journal(path, personal=True) as journal:
        call = answered(journal, ADA, "yes")
        journal.remember("pay", "same", call)
        assert journal.recall("pay", "same").answer == "yes"
        assert journal.recall("pay", "other") is None
        journal.erase(call)
        assert journal.recall("pay", "same") is None


async def test_a_conversation_goes_with_its_questions(path, personal):
    asked(personal, ADA)
    personal.save_thread("t", json.dumps([{"role": "user", "content": "Ada Lovelace"}]), "{}")
    assert personal.load_thread("t").messages
    assert personal.erase(thread="t").payloads == 2
    assert "Ada Lovelace" not in everything(path)
    assert not personal.load_thread("t").messages
    personal.save_thread("t", json.dumps([{"role": "user", "content": "Hello"}]), "{}")
    assert personal.verify().ok


async def test_what_comes_after_an_erasure_is_not_kept_either(path, personal):
    call = answered(personal, ADA, "yes")
    personal.erase(call)
    personal.late(call, "Ada Lovelace, after all")
    assert "Ada Lovelace" not in everything(path)
    assert personal.verify().ok


def by_force(place, *statements):
    """Work around what guards the payloads of a closed journal."""
    with by_hand(place) as connection:
        if kind_of(place) == "sqlite":
            for trigger in ("no_loss", "no_change", "no_exchange", "erases"):
                connection.execute(f"DROP TRIGGER {trigger}")
        else:
            connection.execute("ALTER TABLE blobs DISABLE TRIGGER USER")
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE blobs SET body = '\"no\"' WHERE part = 'answer'", "its payload is not what was written"),
        ("DELETE FROM blobs WHERE part = 'salt'", "its payload is not what was written"),
        ("INSERT INTO blobs SELECT digest, 'reason', 'because' FROM blobs LIMIT 1", "is not what was written"),
        ("DELETE FROM blobs", "its payload is gone, and nobody has erased it"),
        ("INSERT INTO blobs VALUES ('strange', 'args', '1')", "belongs to no row"),
    ],
)
async def test_a_payload_that_was_changed_lost_or_put_in_is_tampering_and_not_believed(path, statement, what):
    with Journal(path, personal=True) as journal:
        answered(journal, ADA, "yes")
    by_force(path, statement)
    with Journal(path) as journal:
        found = journal.verify()
        assert not found.ok
        assert what in found.what
        if "strange" not in statement and "reason" not in statement:
            assert journal.winner("call_1") is None


async def test_a_payload_that_is_there_again_after_it_was_erased_shows(path):
    with Journal(path, personal=True) as journal:
        answered(journal, ADA, "yes")
        with by_hand(path) as connection:
            rows = connection.execute("SELECT digest, part, body FROM blobs").fetchall()
        journal.erase("call_1")
    place = "?" if kind_of(path) == "sqlite" else "%s"
    with by_hand(path) as connection:
        for row in rows:
            connection.execute(f"INSERT INTO blobs VALUES ({', '.join([place] * 3)})", row)
    with Journal(path) as journal:
        assert "was erased, and is there again" in journal.verify().what


async def test_the_database_itself_keeps_payloads_that_nobody_has_erased(path, personal):
    answered(personal, ADA, "yes")
    with by_hand(path) as connection:
        for statement in ("DELETE FROM blobs", "UPDATE blobs SET body = 'x'"):
            with pytest.raises((sqlite3.IntegrityError, psycopg.Error), match=r"erasure only|append-only"):
                connection.execute(statement)


async def test_it_is_erased_from_a_shell(path):
    with Journal(path, personal=True) as journal:
        answered(journal, ADA, "yes")

    def hitl_nb(*words):
        command = [sys.executable, "-m", "hitl_nb.cli", "journal", *words, "--journal", str(path)]
        return subprocess.run(command, cwd=REPO, capture_output=True, text=True)

    done = hitl_nb("erase", "call_1", "--by", "dpo", "--reason", "asked for")
    assert (done.returncode, done.stdout, done.stderr) == (0, "erased 2 payloads of 1 question\n", "")
    verified = hitl_nb("verify")
    assert verified.returncode == 0
    assert "UTC by dpo" in verified.stdout
    wrong = hitl_nb("erase", "call_2")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert "no question" in wrong.stderr


# -- whatever happens, in whatever order ------------------------------------------------------------------------------

acts = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.booleans(), st.sampled_from([1, LARGE])),
        st.tuples(st.just("answer"), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("late"), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("erase"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("restart"), st.booleans(), st.booleans()),
    ),
    max_size=14,
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=400 if LONG else 25)
@given(acts)
@pytest.mark.timeout(600)
def test_whatever_is_written_erased_and_started_anew_the_chain_verifies_and_nothing_erased_is_readable(acts):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_afternoon(Path(folder) / "j.sqlite", acts))


@pytest.mark.timeout(600)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60 if LONG else 5
)
@given(acts=acts)
def test_the_same_in_postgresql(postgres, acts):
    asyncio.run(_afternoon(postgres.schema(), acts))


async def _afternoon(place, acts):
    journals = {True: Journal(place, personal=True), False: Journal(place)}
    calls, erased = [], set()
    for act, one, other in acts:
        if act == "restart":
            journals[one].close()
            journals[one] = Journal(place, personal=one)
        elif act == "ask":
            word = f"secret-{len(calls):02d}-"
            args = {"word": word, "text": "x" * other}
            journals[one].asked(call := a_call(args, id=f"call_{len(calls)}"), arguments=json.dumps(args))
            calls.append((call, word, one or other == LARGE))
        elif calls:
            number = one % len(calls)
            call, word, may_go = calls[number]
            journal = journals[other % 2 == 0]
            if act == "erase" and may_go:
                journal.erase(call.id)
                erased.add(word)
            elif act == "answer" and not call.decided:
                call.respond(f"yes to {word}", by="ada")
                journal.answered(call)
            elif act == "late":
                journal.late(call, f"late {word}")
        text, found = everything(place), journals[True].verify()
        assert found.ok, found
        assert len(found.erased) == len(erased)
        assert not [word for word in erased if word in text]
        for call, word, _ in calls:
            stored = journals[False].winner(call.id)
            assert stored is None or stored.is_gone == (word in erased)
    for journal in journals.values():
        journal.close()


def is_personal(journal, call):
    """Whether what a question was about can be erased."""
    try:
        return journal.erase(call).kept == ()
    except UsageError:
        return False


UNCHANGED = """
import asyncio
from hitl_nb import approve
from hitl_nb.people import ScriptedPerson
print(asyncio.run(approve("Pay Ada Lovelace?", people=ScriptedPerson([True]))))
"""


@pytest.mark.parametrize("value", ["1", "Yes", "true", "", "0", "no"])
def test_a_notebook_that_says_nothing_of_it_is_personal_where_its_process_was_started_so(path, value):
    variables = {**os.environ, "HITL_NB_JOURNAL": str(path), "HITL_NB_JOURNAL_PERSONAL": value}
    ended = subprocess.run(
        [sys.executable, "-c", UNCHANGED], capture_output=True, text=True, cwd=REPO, env=variables, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "True\n"), ended.stderr
    with Journal(path) as journal:
        [call] = [row["call"] for row in journal if row["event"] == "asked"]
        assert is_personal(journal, call) == (value.lower() in ("1", "yes", "true"))


def test_a_variable_that_is_neither_yes_nor_no_is_no_no(path):
    variables = {**os.environ, "HITL_NB_JOURNAL": str(path), "HITL_NB_JOURNAL_PERSONAL": "maybe"}
    ended = subprocess.run(
        [sys.executable, "-c", UNCHANGED], capture_output=True, text=True, cwd=REPO, env=variables, check=False
    )
    assert ended.returncode == 1
    assert "`HITL_NB_JOURNAL_PERSONAL=maybe` is neither yes nor no" in ended.stderr


async def test_code_that_says_so_wins_over_the_variable(path, monkeypatch):
    from hitl_nb import _process

    monkeypatch.setitem(_process._started, "HITL_NB_JOURNAL_PERSONAL", "1")
    monkeypatch.setenv("HITL_NB_JOURNAL_PERSONAL", "1")
    for said, wanted in ((None, True), (False, False)):
        with Journal(path, personal=said) as journal:
            asked(journal, {"name": "Ada"}, id=f"call_{said}")
            assert is_personal(journal, f"call_{said}") == wanted
