"""Each asking is a question of its own, whatever ids the agent chose."""

import pytest

from hitl_nb import Journal, Session
from hitl_nb.people import ScriptedPerson
from tests.unit.yes.desk import Keeps, Stops, until, waits


@pytest.fixture(params=["off", "memory", "file"])
def journal(request, tmp_path):
    return {"off": None, "memory": Journal("memory"), "file": Journal(tmp_path / "j.sqlite")}[request.param]


async def test_an_interrupt_that_comes_again_in_a_later_run_is_asked_again_and_gets_its_own_answer(journal):
    agent = Stops(["same"])
    answers = ScriptedPerson([{"approved": True}, lambda call: call.decline("not twice")])
    session = Session(agent, people=[answers], journal=journal)
    await session.run("deploy")
    agent.turns += [["same"], *agent.turns[-1:]]
    await session.run("deploy once more")
    assert agent.resumed(1) == [("same", "resolved", {"approved": True})]
    assert agent.resumed(3) == [("same", "cancelled", None)]
    assert len(answers.asked) == 2


async def test_an_interrupt_that_comes_again_in_the_same_run_is_a_live_question(journal):
    agent = Stops(["same"], ["same"])
    answers = ScriptedPerson([{"approved": True}, lambda call: call.decline("not twice")])
    reply = await Session(agent, people=[answers], journal=journal).run("deploy")
    assert [call.outcome for call in reply.calls] == ["answered", "declined"]
    assert agent.resumed(2) == [("same", "cancelled", None)]


async def test_the_first_question_in_somebodys_hand_does_not_answer_the_second(journal):
    agent = Stops(["same"], ["same"])
    person = Keeps()
    session = Session(agent, people=[person], journal=journal)
    run = session.start("deploy")
    await until(lambda: person.calls and session.pending)
    person.calls[0].respond({"approved": True})
    await until(lambda: len(person.calls) == 2 and session.pending)
    assert person.calls[0].respond({"approved": True}) is False
    (second,) = session.pending
    assert second != person.calls[0]
    second.decline("no")
    await run
    assert agent.resumed(2) == [("same", "cancelled", None)]


async def test_two_questions_with_one_id_in_one_round_are_both_in_the_record(journal):
    agent = Stops(["same", "same"])
    session = Session(agent, people=[waits], journal=journal)
    run = session.start("deploy")
    await until(lambda: len(session.pending) == 2)
    for call in session.pending:
        call.decline("no")
    reply = await run
    assert {call.outcome for call in reply.calls} == {"declined"}


async def test_the_journal_has_every_asking(tmp_path):
    agent = Stops(["same"], ["same"])
    journal = Journal(tmp_path / "j.sqlite")
    answers = ScriptedPerson([{"approved": True}, lambda call: call.decline("not twice")])
    await Session(agent, people=[answers], journal=journal).run("deploy")
    assert list(journal.to_frame()["outcome"]) == ["answered", "declined"]
    assert journal.verify().ok
