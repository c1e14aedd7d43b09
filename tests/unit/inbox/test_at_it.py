"""Who is looking, to whom it was given, whom else it is put to after a while: said, and never in anybody's way."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from hitl_nb import approve, ask
from hitl_nb.errors import UsageError
from hitl_nb.inbox import Inbox
from hitl_nb.journal import Journal, _postings
from hitl_nb.people import ScriptedPerson
from tests.unit.inbox.jobs import waiting

pytestmark = pytest.mark.timeout(300)


@asynccontextmanager
async def asked(place, *questions, **options):
    with Journal(place) as journal:
        tasks = [asyncio.ensure_future(ask(each, people=Inbox(journal, **options))) for each in questions]
        try:
            await waiting(journal, len(questions))
            yield journal, tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


def looking(journal):
    return [each["looking"] for each in journal.inbox().to_dicts()]


async def test_whoever_looks_first_is_named_at_one_question_and_keeps_nobody_from_answering(place):
    async with asked(place, "First?", "Second?") as (journal, tasks):
        first, second = (call["id"] for call in journal.inbox().to_dicts())
        rows = [posted.asked.question for posted in journal.postings.posted(_postings.Filter())]
        for question, who in ((rows[0], "ada"), (rows[0], "bob")):
            journal.postings.begin_look(question, who).result()
        assert looking(journal) == ["ada", None]
        journal.postings.begin_look(rows[1], "ada").result()
        assert looking(journal) == [None, "ada"]
        journal.postings.begin_look(None, "ada").result()
        assert looking(journal) == [None, None]
        journal.postings.begin_look(rows[0], "ada").result()
        calls = {call.id: call for call in journal.inbox()}
        calls[first].respond("mine", by="bob")
        assert await tasks[0] == "mine"
        assert [each["id"] for each in journal.inbox().to_dicts()] == [second]
        assert journal.verify().ok


async def test_who_shows_no_sign_of_it_any_more_is_not_named(place, monkeypatch):
    monkeypatch.setattr(_postings, "LOOKING", timedelta(0))
    async with asked(place, "First?") as (journal, _):
        [posted] = journal.postings.posted(_postings.Filter())
        journal.postings.begin_look(posted.asked.question, "ada").result()
        assert looking(journal) == [None]
        journal.postings.begin_look(posted.asked.question, "bob").result()  # the lease is free


async def test_a_question_is_given_to_somebody_who_finds_it_and_others_can_answer_it(place):
    async with asked(place, "First?", to="finance") as (journal, tasks):
        inbox = journal.inbox(to="finance")
        assert len(journal.inbox(to="ada")) == 0
        inbox.assign(inbox[0], "ada")
        assert [call.message for call in journal.inbox(to="ada")] == ["First?"]
        assert [each["assigned"] for each in inbox.to_dicts()] == ["ada"]
        inbox[0].respond("bob's", by="bob")
        assert await tasks[0] == "bob's"
        with pytest.raises(UsageError, match="not in this inbox"):
            journal.inbox().assign(inbox[0] if len(inbox) else _another(journal), "ada")


def _another(journal):
    from hitl_nb import Call

    return Call(id="x", name="x")


async def test_after_a_while_it_is_put_to_others_as_well(place):
    options = {"to": "finance", "escalate_to": "managers"}
    async with asked(place, "Slow?", escalate_after="2h", **options) as (journal, _):
        assert len(journal.inbox(to="managers")) == 0
    async with asked(place, "Fast?", escalate_after=0, **options) as (journal, _):
        await waiting(journal, 2)  # whoever asked the slow one has gone, and it stays
        assert "Fast?" in [call.message for call in journal.inbox(to="managers")]
        assert "Fast?" in [call.message for call in journal.inbox(to="finance")]
        [call] = [call for call in journal.inbox() if call.message == "Fast?"]
        assert "for finance, now also managers" in call._handle.origin
    with pytest.raises(UsageError, match='escalate_after="4h"'):
        Inbox(escalate_to="managers")


async def test_the_open_questions_are_decided_at_one_table_and_each_has_its_row(place):
    with Journal(place) as journal:
        tasks = [asyncio.ensure_future(approve(f"Pay {n}?", {"n": n}, people=Inbox(journal))) for n in range(3)]
        await waiting(journal, 3)
        inbox = journal.inbox()
        first, second, _ = (call.occurrence for call in sorted(inbox, key=lambda call: call.message))
        person = ScriptedPerson([{"approve": [first], "decline": [second]}], name="ada")
        batch = await inbox.review(person=person)
        assert [len(part) for part in (batch.approved, batch.declined, batch.left, batch.failed)] == [1, 1, 1, 0]
        assert [await each for each in tasks[:2]] == [True, False]
        assert len(journal.inbox()) == 1
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        counted = journal.summary()
        assert (counted.approved, counted.declined, dict(counted.by)) == (1, 1, {"ada": 2})
