"""Rules and people made of people: deny beats allow, a rule that raises asks, and nothing is approved by accident."""

import asyncio

import pytest
from pydantic import BaseModel

from hitl_nb import Call, Session, human_in_the_loop
from hitl_nb._waiting import until_decided
from hitl_nb.errors import UsageError
from hitl_nb.people import AllOf, Escalate, Policy, Remember, ScriptedPerson, allow, deny
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


class Payment(BaseModel):
    """Pay somebody."""

    to: str
    amount: int


pay = human_in_the_loop(Payment, name="pay")


@human_in_the_loop(name="ping")
def ping():
    """Ping."""


async def decided_by(person, *amounts, to="ada"):
    """The calls of one run in which the model pays these amounts, one after the other."""
    agent = ScriptedAgent([*(calls("pay", to=to, amount=amount) for amount in amounts), says("ok")])
    people = person if isinstance(person, list) else [person]
    return (await Session(agent, tools=[pay, ping], people=people).run("go")).calls


async def test_an_allow_that_holds_answers_with_the_proposal_and_is_in_the_record():
    (call,) = await decided_by(Policy(allow("pay", when=lambda args: args.amount <= 100, name="small sums")), 50)
    assert call.answer == Payment(to="ada", amount=50)
    assert (call.answered_by, call.via) == ("policy: small sums", "policy")


async def test_an_allow_that_does_not_hold_asks_the_next_person():
    person = ScriptedPerson([True])
    (call,) = await decided_by([Policy(allow("pay", when=lambda args: args.amount <= 100)), person], 500)
    assert call.answered_by == "scripted person"


@pytest.mark.parametrize("rules", [(allow("*"), deny("pay")), (deny("p*"), allow("pay"))])
async def test_deny_beats_allow_in_any_order(rules):
    (call,) = await decided_by(Policy(*rules), 1)
    assert call.outcome == "declined"


async def sure(args):
    return True


@pytest.mark.parametrize(
    "when", [lambda args: 1 / 0, lambda args: args.nothing, lambda args: "yes", lambda args: 1, sure]
)
@pytest.mark.filterwarnings("ignore:coroutine 'sure' was never awaited:RuntimeWarning")
async def test_a_condition_that_raises_or_is_no_plain_yes_asks(when, caplog):
    person = ScriptedPerson([lambda call: call.decline("asked")])
    (call,) = await decided_by([Policy(allow("pay", when=when)), person], 1)
    assert call.reason == "asked"
    assert "rule failed" in caplog.text


async def test_a_deny_that_raises_does_not_let_an_allow_through():
    person = ScriptedPerson([lambda call: call.decline("asked")])
    (call,) = await decided_by([Policy(deny("pay", when=lambda args: 1 / 0), allow("pay")), person], 1)
    assert call.reason == "asked"


async def test_an_answer_of_a_rule_is_checked_like_any_other(caplog):
    person = ScriptedPerson([lambda call: call.decline("asked")])
    strict = human_in_the_loop(name="pay", parameters=Payment, answer=int)
    agent = ScriptedAgent([calls("pay", to="ada", amount=1), says("ok")])
    reply = await Session(agent, tools=[strict], people=[Policy(allow("pay", answer=lambda a: "x")), person]).run("go")
    assert reply.calls[0].reason == "asked"


@pytest.mark.parametrize("make", [lambda: allow(7), lambda: deny("x", when=True), lambda: Policy("pay")])  # type: ignore[arg-type]
def test_a_rule_that_is_none_says_the_line_to_write(make):
    with pytest.raises(UsageError, match="Write"):
        make()


async def test_an_approval_is_remembered_for_the_same_arguments_only():
    person = ScriptedPerson([True, True])
    remembering = Remember(person)
    first, second, third = await decided_by(remembering, 1, 1, 2)
    assert [call.id for call in person.asked] == [first.id, third.id]
    assert second.answered_by == "remembered from scripted person"
    remembering.forget()
    person._answers[""].append(True)
    await decided_by(remembering, 1)
    assert len(person.asked) == 3


async def test_a_refusal_is_not_remembered_and_a_call_without_arguments_is_always_asked():
    person = ScriptedPerson([lambda c: c.decline("no"), True])
    remembering = Remember(person)
    for _ in range(2):
        await decided_by(remembering, 1)
    assert len(person.asked) == 2
    person = ScriptedPerson([True, True])
    agent = ScriptedAgent([calls("ping"), calls("ping"), says("ok")])
    await Session(agent, tools=[ping], people=[Remember(person)]).run("go")
    assert len(person.asked) == 2


async def test_two_approvers_must_both_say_yes_and_both_are_in_the_record():
    ada, bob = ScriptedPerson([True], name="ada"), ScriptedPerson([True], name="bob")
    calls_ = await decided_by(AllOf(ada, bob), 1)
    assert calls_[0].answered_by == "ada and bob"
    assert [call.id for call in calls_] == ["call_1", "call_1#1", "call_1#2"]


async def test_one_no_of_two_declines_and_the_second_is_not_asked():
    ada, bob = ScriptedPerson([lambda c: c.decline("too much")], name="ada"), ScriptedPerson([], name="bob")
    call = (await decided_by(AllOf(ada, bob), 1))[0]
    assert (call.outcome, call.reason, call.answered_by) == ("declined", "too much", "ada")
    assert bob.asked == []


async def test_two_different_answers_are_no_approval():
    ada, bob = ScriptedPerson([{"a": 1}]), ScriptedPerson([{"a": 2}])
    call = (await decided_by(AllOf(ada, bob), 1))[0]
    assert call.outcome == "declined"


async def sleeps(call):
    await until_decided(call)


async def test_after_a_while_somebody_else_is_asked():
    boss = ScriptedPerson([True], name="boss")
    (call,) = await decided_by(Escalate(sleeps, after=0.01, to=boss), 1)
    assert call.answered_by == "boss"


async def test_without_anybody_else_the_question_expires_which_is_no_answer():
    (call,) = await decided_by(Escalate(sleeps, after=0.01), 1)
    assert (call.outcome, call.via, call.approved) == ("expired", "timeout", False)


async def test_an_answer_in_time_is_not_escalated():
    async def quick(call: Call) -> None:
        await asyncio.sleep(0)
        call.respond(True)

    (call,) = await decided_by(Escalate(quick, after=60, to=ScriptedPerson([])), 1)
    assert call.approved
