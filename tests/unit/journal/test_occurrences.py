"""Agents use ids again; each asking has an identity of its own, and an answer belongs to one asking."""

import pytest

from hitl_nb.journal import Journal
from tests.unit.journal.asking import a_call, answered, asked, events

SAME = {"args": {"rows": 3}, "id": "interrupt_1"}


@pytest.mark.parametrize("kind", ["interrupt", "feedback"])
async def test_the_same_interrupt_in_a_later_run_is_another_question(journal, kind):
    first = answered(journal, **SAME, kind=kind, value=True)
    journal.delivered([first])
    second = asked(journal, **SAME, kind=kind)
    assert journal.winner(second) is None
    second.decline("not again", by="bob")
    assert journal.answered(second) is True
    assert (journal.winner(first).outcome, journal.winner(second).outcome) == ("answered", "declined")


@pytest.mark.parametrize("kind", ["interrupt", "feedback"])
async def test_the_same_interrupt_twice_at_once_is_two_questions(journal, kind):
    first, second = asked(journal, **SAME, kind=kind), asked(journal, **SAME, kind=kind)
    second.respond("second")
    assert journal.answered(second) is True
    assert journal.winner(first) is None
    first.respond("first")
    assert journal.answered(first) is True
    assert (journal.winner(first).answer, journal.winner(second).answer) == ("first", "second")
    assert journal.start(first)
    assert journal.start(second)


async def test_a_tool_call_that_is_asked_again_before_it_was_told_is_the_same_question(journal, path):
    first = answered(journal)
    with Journal(path) as restarted:
        again = asked(restarted)
        assert restarted.winner(again).answer == "yes"
        [row] = events(restarted, "asked_again")
    assert (row["question"], row["occurrence"]) == (1, again.occurrence)
    assert events(journal, "asked")[0]["occurrence"] == first.occurrence


@pytest.mark.parametrize(
    "other", [{"args": {"n": 2}}, {"message": "Really?"}, {"thread": "other"}, {"kind": "interrupt"}, {"id": "other"}]
)
async def test_with_other_content_it_is_another_question(journal, other):
    answered(journal, {"n": 1})
    again = asked(journal, **{"args": {"n": 1}, **other})
    assert journal.winner(again) is None
    assert len(events(journal, "asked")) == 2


async def test_a_delivery_is_that_of_one_asking(journal):
    first = answered(journal, **SAME, kind="interrupt", value=1)
    second = answered(journal, **SAME, kind="interrupt", value=2)
    journal.delivered([first])
    assert [stored.answer for stored in journal.load_thread("t").undelivered] == [2]
    [stored] = journal.load_thread("t").undelivered
    journal.delivered([stored])
    assert journal.load_thread("t").undelivered == []
    assert [row["question"] for row in events(journal, "delivered")] == [1, 3]
    journal.delivered([first, second, "interrupt_1"])
    assert len(events(journal, "delivered")) == 2


async def test_what_was_stored_says_which_question_it_answers(journal):
    call = answered(journal, **SAME, kind="interrupt", message="Delete 3 rows?", value=True)
    open_one = asked(journal, **SAME, kind="feedback", message="And?")
    record = journal.load_thread("t")
    [stored], [still_open] = record.undelivered, record.open
    assert (stored.kind, stored.message, stored.args) == ("interrupt", "Delete 3 rows?", {"rows": 3})
    assert (stored.occurrence, still_open.occurrence) == (call.occurrence, open_one.occurrence)
    assert stored.args_sha256 == still_open.args_sha256
    assert (stored.question, still_open.question) == (1, 3)


async def test_a_call_that_was_never_asked_here_has_no_answer_but_its_own(journal):
    answered(journal)
    stranger = a_call()
    assert journal.winner(stranger) is None
    assert journal.started(stranger) is None


async def test_another_journal_finds_a_call_by_its_occurrence(journal, path):
    call = answered(journal, **SAME, kind="interrupt")
    answered(journal, **SAME, kind="interrupt", value="later")
    with Journal(path) as other:
        assert other.winner(call).answer == "yes"
        assert other.winner("interrupt_1").answer == "later"
