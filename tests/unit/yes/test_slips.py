"""What is no yes is never taken for one: 1, "yes", None, a word that means something else."""

from typing import Literal

import pytest
from pydantic import BaseModel

from hitl_nb import Call, Session, approve, gate
from hitl_nb._calls import Handle
from hitl_nb._schema import validator_for
from hitl_nb.errors import InvalidValue, NotAwaitedError
from hitl_nb.people import Person, Policy, ScriptedPerson, allow
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.yes.desk import waits


class Approved(BaseModel):
    approved: bool
    note: str = ""


@pytest.mark.parametrize("type_", [bool, Literal[True], Literal[True] | str, bool | None])
@pytest.mark.parametrize("value", [1, 1.0, "yes", "true", "on", "1", 0, b"1"])
async def test_nothing_but_true_and_false_is_a_yes_or_no(type_, value):
    call = Call(id="c", name="ask", answer_type=validator_for(type_), offers_arguments=False)
    Handle.of(call).open_now({})
    try:
        call.respond(value)
    except InvalidValue:
        assert not call.decided
    else:
        assert not isinstance(call.answer, bool)


@pytest.mark.parametrize("value", [1, "yes", "true", "on"])
async def test_nor_inside_of_an_answer(value):
    call = Call(id="c", name="ask", answer_type=validator_for(Approved), offers_arguments=False)
    Handle.of(call).open_now({})
    with pytest.raises(InvalidValue):
        call.respond({"approved": value})
    assert call.respond({"approved": True}) is True


def test_a_question_without_await_approves_nothing():
    dropped = []

    def cell():
        if approve("Drop?"):
            dropped.append(1)

    with pytest.raises(NotAwaitedError, match=r"if await approve\('Drop\?'\):"):
        cell()
    with pytest.raises(NotAwaitedError):
        assert approve("Drop?") == True  # noqa: E712 - the slip itself
    assert dropped == []


@pytest.mark.parametrize("verdict", [None, "", 0, 1, "yes", [], ValueError])
async def test_a_condition_that_is_no_plain_true_or_false_opens_nothing(verdict):
    effects = []

    def when(args):
        if verdict is ValueError:
            raise ValueError
        return verdict

    @gate(when=when)
    def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    agent = ScriptedAgent([calls("pay", amount=1), says("ok")])
    people: list[Person] = [Policy(allow("pay", when=when)), ScriptedPerson([lambda call: call.decline("no")])]
    await Session(agent, tools=[pay], people=people, journal=None).run("go")
    assert effects == []


async def test_a_started_question_is_no_yes_either():
    question = approve("Drop?", people=waits).start()
    with pytest.raises(NotAwaitedError):
        bool(question)
    question.stop()
