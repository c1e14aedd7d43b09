"""A gated function has no effect unless a person approved exactly what then runs."""

import asyncio
import inspect
import json

import pytest
from pydantic import BaseModel

from hitl_nb import Session, gate
from hitl_nb._transcript import Transcript
from hitl_nb._waiting import until_decided
from hitl_nb.errors import Declined, Expired, InvalidValue, NoHumanError, ToolDefinitionError
from hitl_nb.people import Escalate, Policy, ScriptedPerson, allow, asking
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


class Row(BaseModel):
    id: int


@pytest.fixture
def effects():
    return []


@pytest.fixture
def delete(effects):
    @gate
    def delete(rows: list[Row], why: str = "old") -> str:
        """Delete rows for good."""
        effects.append(([row.id for row in rows], why))
        return f"deleted {len(rows)}"

    return delete


def agent_that_deletes():
    return ScriptedAgent([calls("delete", rows=[{"id": 1}, {"id": 2}]), says("ok")])


async def run(tool, person):
    agent = agent_that_deletes()
    await Session(agent, tools=[tool], people=[person]).run("go")
    return agent.results(1)["call_1"]


async def test_an_approved_call_runs_once_with_typed_arguments_and_the_model_gets_what_it_returns(delete, effects):
    assert await run(delete, ScriptedPerson([lambda call: call.args])) == "deleted 2"
    assert effects == [([1, 2], "old")]


@pytest.mark.parametrize("how", ["", ".sync"])
def test_a_slip_in_an_argument_is_a_type_error_that_names_the_function_and_asks_nobody(delete, effects, how):
    call = delete.sync if how else delete
    with pytest.raises(TypeError, match=r"delete\(\) got an unexpected keyword argument 'wy'"):
        call([], wy="new")
    with pytest.raises(TypeError, match=r"delete\(\) missing a required argument: 'rows'"):
        call()
    assert effects == []


def test_it_looks_like_the_function_that_it_is(delete):
    assert str(inspect.signature(delete)).startswith("(rows: list[")
    assert (inspect.getdoc(delete), delete.__name__) == ("Delete rows for good.", "delete")


async def raises(call):
    raise ZeroDivisionError


async def passes(call):
    return None


async def sleeps(call):
    await until_decided(call)


@pytest.mark.parametrize(
    "person",
    [
        ScriptedPerson([lambda call: call.decline("no")]),
        ScriptedPerson([lambda call: call.cancel("moot")]),
        Escalate(sleeps, after=0.01),
    ],
)
async def test_what_is_refused_or_expires_has_no_effect(delete, effects, person):
    assert json.loads(await run(delete, person))["approved"] is False
    assert effects == []


@pytest.mark.parametrize(("person", "error"), [(raises, ZeroDivisionError), (passes, NoHumanError)])
async def test_a_person_that_fails_or_is_missing_has_no_effect(delete, effects, person, error):
    with pytest.raises(error):
        await run(delete, person)
    assert effects == []


async def test_a_policy_that_fails_has_no_effect(delete, effects):
    policy = Policy(allow("delete", when=lambda args: 1 / 0))
    with pytest.raises(NoHumanError):
        await run(delete, policy)
    assert effects == []


async def test_a_stopped_run_has_no_effect(delete, effects):
    agent = agent_that_deletes()
    asked = asyncio.Event()

    async def person(call):
        asked.set()
        await until_decided(call)

    session = Session(agent, tools=[delete], people=[person])
    started = session.start("go")
    await asked.wait()
    (call,) = session.pending
    started.stop()
    await started.settled()
    assert call.respond(call.args) is False
    assert effects == []


async def test_arguments_that_do_not_fit_are_not_asked_about_and_not_run(delete, effects):
    agent = ScriptedAgent([calls("delete", rows=[{"id": "x"}]), says("ok")])
    person = ScriptedPerson([])
    await Session(agent, tools=[delete], people=[person]).run("go")
    assert "invalid arguments" in agent.results(1)["call_1"]
    assert (effects, person.asked) == ([], [])


async def test_what_the_person_edited_is_what_runs(delete, effects):
    await run(delete, ScriptedPerson([{"rows": [{"id": 2}], "why": "duplicate"}]))
    assert effects == [([2], "duplicate")]


async def test_an_error_of_the_function_goes_to_the_model(effects):
    @gate
    def delete(rows: list[Row]) -> str:
        """Delete."""
        raise OSError("disk full")

    assert await run(delete, ScriptedPerson([lambda call: call.args])) == "Error: disk full"


@pytest.mark.parametrize(("amount", "asked"), [(5, 0), (500, 1)])
async def test_a_condition_says_when_a_person_is_needed(effects, amount, asked):
    @gate(when=lambda args: args.amount > 100)
    async def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    person = ScriptedPerson([lambda call: call.args] * asked)
    agent = ScriptedAgent([calls("pay", amount=amount), says("ok")])
    reply = await Session(agent, tools=[pay], people=[person]).run("go")
    assert agent.results(1) == {"call_1": "paid"}
    assert len(person.asked) == asked
    assert reply.calls[0].via == ("script" if asked else "policy")


@pytest.mark.parametrize("when", [lambda args: 1 / 0, lambda args: None, lambda args: 0])
async def test_a_condition_that_cannot_tell_asks(when, effects):
    @gate(when=when)
    def delete(rows: list[Row]) -> str:
        """Delete."""
        effects.append(1)
        return "done"

    await run(delete, ScriptedPerson([lambda call: call.decline()]))
    assert effects == []


async def test_code_calls_it_and_a_person_is_asked_first(delete, effects):
    person = ScriptedPerson([lambda call: call.args, lambda call: call.decline("keep them")])
    with asking([person], Transcript()):
        assert await delete([Row(id=7)], why="test") == "deleted 1"
        with pytest.raises(Declined, match="keep them"):
            await delete([Row(id=8)])
        with pytest.raises(InvalidValue):
            await delete(["no row"])
    assert effects == [([7], "test")]


async def test_a_worker_thread_calls_it_too(delete, effects):
    with asking([ScriptedPerson([lambda call: call.args])], Transcript()):
        assert await asyncio.to_thread(delete.sync, [Row(id=9)]) == "deleted 1"
    assert effects == [([9], "old")]


async def test_an_expired_approval_in_code_raises(delete, effects):
    with asking([Escalate(sleeps, after=0.01)], Transcript()), pytest.raises(Expired):
        await delete([Row(id=1)])
    assert effects == []


def test_what_is_no_function_is_refused():
    with pytest.raises(ToolDefinitionError, match="@gate"):
        gate(42)  # type: ignore[call-overload]


async def test_the_model_is_told_what_the_person_had_changed(delete, effects):
    edits = [{"path": "rows[0].id", "from": 1, "to": 7}]

    def edit(call):
        return call.respond({"rows": [{"id": 7}, {"id": 2}]})

    told = json.loads(await run(delete, ScriptedPerson([edit])))
    assert told == {"status": "edited", "approved": True, "edits": edits, "returned": "deleted 2"}
    assert effects == [([7, 2], "old")]


async def test_a_bare_true_approves_no_arguments_and_is_told_what_does(effects):
    @gate
    async def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    said = []

    async def person(call):
        with pytest.raises(InvalidValue) as refused:
            call.respond(True)
        said.append(str(refused.value))
        call.respond(call.proposal)

    with asking([person], Transcript()):
        assert await pay(3) == "paid"
    assert said[0].endswith("To confirm what `pay` proposes, write `call.respond(call.proposal)`.")
    assert effects == [3]
