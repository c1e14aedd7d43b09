"""A question can be answered only by whoever is being asked now."""

import asyncio

import pytest

from hitl_nb import Session, approve, gate, pending
from hitl_nb._calls import Handle
from hitl_nb.errors import CallNotOpenError, NotYourTurn, UsageError
from hitl_nb.people import AllOf, Escalate, NotebookPerson, Policy, Remember, ScriptedPerson, allow, deny
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.yes.desk import Keeps, Stops, until, waits


class Cards(Keeps):
    """Somebody at a card."""

    via = "card"


def click(call, token, value):
    """What a card does with a click that was drawn for the turn `token`."""
    with Handle.of(call).turns.clicked(token):
        return call.respond(value, via="card")


@pytest.fixture
def effects():
    return []


@pytest.fixture
def delete(effects):
    @gate
    def delete(rows: int) -> str:
        """Delete rows for good."""
        effects.append(rows)
        return "deleted"

    return delete


def deleting(tool, people):
    return Session(ScriptedAgent([calls("delete", rows=3), says("ok")]), tools=[tool], people=people, journal=None)


async def test_nobody_answers_for_several_neither_by_a_click_nor_in_code(delete, effects):
    ada, bob = Cards("Ada"), Cards("Bob")
    session = deleting(delete, [AllOf(ada, bob)])
    run = session.start("go")
    await until(lambda: ada.calls and bob.calls)
    parent = run.transcript.calls[0]
    assert parent not in pending()
    assert {call.id for call in pending()} == {"call_1#1", "call_1#2"}
    for decide in (lambda: parent.respond(parent.args), lambda: parent.decline("no")):
        with pytest.raises(CallNotOpenError, match="Ada and Bob"):
            decide()
    with pytest.raises(NotYourTurn):
        click(parent, parent.turn.token, parent.args)
    ada.calls[0].decline("too many")
    await run
    assert (parent.outcome, parent.answered_by, effects) == ("declined", "Ada", [])


async def test_one_no_closes_the_question_of_the_other(delete, effects):
    ada, bob = Cards("Ada"), Cards("Bob")
    session = deleting(delete, [AllOf(ada, bob)])
    run = session.start("go")
    await until(lambda: ada.calls and bob.calls)
    bob.calls[0].respond(bob.calls[0].args)
    ada.calls[0].decline("no")
    await run
    assert bob.calls[0].respond(bob.calls[0].args) is False
    assert effects == []


async def test_both_must_say_yes_in_any_order(delete, effects):
    ada, bob = Cards("Ada"), Cards("Bob")
    session = deleting(delete, [AllOf(ada, bob)])
    run = session.start("go")
    await until(lambda: ada.calls and bob.calls)
    bob.calls[0].respond(bob.calls[0].args)
    await asyncio.sleep(0)
    assert effects == []
    ada.calls[0].respond(ada.calls[0].args)
    reply = await run
    assert (effects, reply.calls[0].answered_by) == ([3], "Ada and Bob")


@pytest.mark.parametrize("person", [ScriptedPerson([True]), NotebookPerson("Ada"), waits])
def test_the_same_person_twice_is_refused_where_it_is_written(person):
    with pytest.raises(UsageError, match="twice"):
        AllOf(person, person)


def test_two_notebook_people_of_one_name_are_one_person():
    with pytest.raises(UsageError, match="twice"):
        AllOf(NotebookPerson("Ada"), NotebookPerson("Ada"))
    AllOf(NotebookPerson("Ada"), NotebookPerson("Bob"))


async def test_a_click_before_a_slow_rule_has_decided_does_not_count(delete, effects):
    decides = asyncio.Event()
    rules = []

    async def slow_policy(call):
        rules.append(call)
        await decides.wait()
        call.decline("never on Fridays")

    ada = Cards("Ada")
    session = deleting(delete, [slow_policy, ada])
    run = session.start("go")
    await until(lambda: rules)
    parent = run.transcript.calls[0]
    for token in (parent.turn.token, None, f"{parent.occurrence}:2"):
        with pytest.raises(NotYourTurn):
            click(parent, token, parent.args)
    decides.set()
    await run
    assert (parent.outcome, parent.reason, effects, ada.calls) == ("declined", "never on Fridays", [], [])


async def test_after_the_rule_has_passed_a_click_needs_the_turn_it_was_drawn_for(delete, effects):
    async def passes(call):
        passes.call = call  # type: ignore[attr-defined]

    ada = Cards("Ada")
    session = deleting(delete, [passes, ada])
    run = session.start("go")
    await until(lambda: ada.calls)
    parent = run.transcript.calls[0]
    assert passes.call.respond(parent.args) is False  # type: ignore[attr-defined]
    with pytest.raises(NotYourTurn):
        click(parent, f"{parent.occurrence}:1", parent.args)
    assert click(parent, parent.turn.token, parent.args) is True
    await run
    assert (parent.answered_by, effects) == ("Ada", [3])


async def test_the_first_ones_late_answer_never_counts_after_an_escalation(delete, effects):
    first, boss = Cards("Ada"), Cards("Boss")
    session = deleting(delete, [Escalate(first, after=0.01, to=boss)])
    run = session.start("go")
    await until(lambda: first.calls)
    parent = run.transcript.calls[0]
    drawn_for = first.calls[0].turn.token
    await until(lambda: boss.calls)
    with pytest.raises(NotYourTurn):
        click(parent, drawn_for, parent.args)
    assert first.calls[0].respond(first.calls[0].args) is False
    assert await asyncio.to_thread(first.calls[0].respond, first.calls[0].args) is False
    boss.calls[0].decline("no")
    await run
    assert (parent.outcome, parent.answered_by, effects) == ("declined", "Boss", [])


async def test_a_task_of_the_first_one_that_wakes_up_late_does_not_answer_for_the_second(delete, effects):
    late = asyncio.Event()
    said = []

    async def first(call):
        async def later():
            await late.wait()
            said.append(call.respond(call.args))

        first.task = asyncio.create_task(later())  # type: ignore[attr-defined]
        await asyncio.Event().wait()

    boss = Keeps()
    session = deleting(delete, [Escalate(first, after=0.01, to=boss)])
    run = session.start("go")
    await until(lambda: boss.calls)
    late.set()
    await first.task  # type: ignore[attr-defined]
    boss.calls[0].decline("no")
    await run
    assert (said, effects) == ([False], [])


async def test_time_that_is_up_closes_the_question_for_good():
    person = Keeps()
    assert await approve("Drop?", people=person, timeout=0.01) is False
    assert person.calls[0].respond(True) is False
    boss = Keeps()
    asked = asyncio.ensure_future(approve("Drop?", people=person, timeout=0.01, escalate_to=boss))
    await until(lambda: boss.calls)
    assert person.calls[1].respond(True) is False
    boss.calls[0].respond(True)
    assert await asked is True


@pytest.mark.parametrize("order", [0, 1])
async def test_a_rule_that_forbids_comes_before_every_memory_wherever_it_stands(delete, effects, order):
    ada = ScriptedPerson([lambda call: call.args] * 2)
    remember = Remember(ada)
    await deleting(delete, [remember]).run("go")
    rule = Policy(deny("delete"))
    people = [remember, rule] if order else [rule, remember]
    reply = await deleting(delete, people).run("go")
    assert (reply.calls[0].outcome, effects) == ("declined", [3])


async def test_a_rule_that_cannot_tell_switches_memory_off_and_asks(delete, effects):
    ada = ScriptedPerson([lambda call: call.args, lambda call: call.decline("not again")])
    remember = Remember(ada)
    await deleting(delete, [remember]).run("go")
    await deleting(delete, [remember, Policy(deny("delete", when=lambda args: 1 / 0))]).run("go")
    assert (len(ada.asked), effects) == (2, [3])


async def test_a_rule_about_tools_does_not_approve_an_agents_interrupt_of_that_name():
    agent = Stops(["approval_1"])
    person = ScriptedPerson([lambda call: call.decline("no")])
    await Session(agent, people=[Policy(allow("appro*")), person], journal=None).run("go")
    assert agent.resumed(1) == [("approval_1", "cancelled", None)]
    agent = Stops(["approval_1"])
    await Session(agent, people=[Policy(allow("appro*", kind="interrupt"))], journal=None).run("go")
    assert agent.resumed(1)[0][1] == "resolved"


async def test_a_card_says_whose_turn_it_is(delete):
    ada = Cards("Ada")
    seen = []

    async def rule(call):
        seen.append(call.turn.words)

    session = deleting(delete, [rule, Policy(), ada])
    run = session.start("go")
    await until(lambda: ada.calls)
    assert (seen, ada.calls[0].turn.words) == (["somebody else"], "Ada")
    run.stop()
    await run.settled()
