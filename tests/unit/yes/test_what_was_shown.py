"""What runs, and what is approved, is what was shown: whoever changes it meanwhile, and however."""

import asyncio
from copy import deepcopy

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from hitl_nb import Session, approve, gate, human_in_the_loop, interrupt, pending, review
from hitl_nb._calls import Handle, fingerprint, print_of
from hitl_nb.cards import StepReview
from hitl_nb.errors import ChangedWhileWaiting, InvalidValue
from hitl_nb.interrupts._asked import OneOf
from hitl_nb.people import AllOf, Policy, ScriptedPerson, allow
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.yes.desk import Keeps, until, waits


class Row(BaseModel):
    id: int
    note: str = ""


@pytest.fixture
def effects():
    return []


@pytest.fixture
def delete(effects):
    @gate
    def delete(rows: list[Row]) -> str:
        """Delete rows for good."""
        effects.append([row.id for row in rows])
        return "deleted"

    return delete


def deleting(tool, people):
    turns = [calls("delete", rows=[{"id": 1}, {"id": 2}]), says("ok")]
    return Session(ScriptedAgent(turns), tools=[tool], people=people, journal=None)


async def test_arguments_changed_between_the_answer_and_the_run_do_not_reach_the_function(delete, effects):
    async def person(call):
        call.respond(call.args)
        call.args.rows.append(Row(id=99))
        call.args.rows[0].id = 77

    await deleting(delete, [person]).run("go")
    assert effects == [[1, 2]]


async def test_an_answer_that_is_changed_after_it_was_given_runs_as_it_was_given(delete, effects):
    async def person(call):
        answer = call.args.model_copy(update={"rows": [Row(id=5)]})
        call.respond(answer)
        answer.rows.append(Row(id=99))

    await deleting(delete, [person]).run("go")
    assert effects == [[5]]


async def test_arguments_changed_before_the_answer_cannot_be_approved(delete, effects):
    async def person(call):
        call.args.rows.append(Row(id=99))
        call.respond(call.args)

    with pytest.raises(InvalidValue, match="changed by code"):
        await deleting(delete, [person]).run("go")
    assert effects == []


async def test_a_condition_or_a_rule_that_changes_what_it_looks_at_changes_nothing(effects):
    def greedy(args):
        args.rows.append(Row(id=99))
        return True

    @gate(when=greedy)
    def delete(rows: list[Row]) -> str:
        """Delete rows for good."""
        effects.append([row.id for row in rows])
        return "deleted"

    await deleting(delete, [Policy(allow("delete", when=greedy))]).run("go")
    assert effects == [[1, 2]]


async def test_code_that_gates_a_call_runs_with_what_was_shown_too(delete, effects):
    rows = [Row(id=1)]
    person = Keeps()
    from hitl_nb._transcript import Transcript
    from hitl_nb.people import asking

    with asking([person], Transcript()):
        run = asyncio.ensure_future(delete(rows))
        await until(lambda: person.calls)
        (call,) = person.calls
        rows.append(Row(id=99))
        call.respond(call.proposal)
        await run
    assert effects == [[1]]


def frame():
    return pandas.DataFrame({"income": range(1000), "name": ["a"] * 1000})


def change_a_cell(payload):
    payload.loc[500, "income"] = -1


def append(payload):
    payload.append(99)


def change_deep(payload):
    payload["a"]["b"][1] = 99


def swap_the_secret(payload):
    payload["password"] = SecretStr("another")


def swap_the_connection(payload):
    payload["connection"] = object()


@pytest.mark.parametrize(
    ("made", "change"),
    [
        (frame, change_a_cell),
        (lambda: [1, 2], append),
        (lambda: {"a": {"b": [1, 2]}}, change_deep),
        (lambda: {"password": SecretStr("hunter2")}, swap_the_secret),
        (lambda: {"connection": object()}, swap_the_connection),
        (lambda: {1: "one", "1": "text"}, lambda payload: payload.update({1: "other"})),
    ],
)
@pytest.mark.parametrize("ask", [approve, interrupt])
async def test_a_payload_changed_while_the_question_was_open_is_not_approved(made, change, ask):
    payload = made()
    asked = asyncio.ensure_future(ask("Use it?", payload, people=waits))
    (call,) = await until(pending)
    change(payload)
    assert call.respond(True if ask is approve else call.proposal) is False
    with pytest.raises(ChangedWhileWaiting):
        await asked


@pytest.mark.parametrize("payload", [frame(), [1, 2], {"a": object()}, Row(id=1), {"p": SecretStr("x")}, "text", 7])
async def test_an_unchanged_payload_comes_back_as_the_very_object(payload):
    asked = asyncio.ensure_future(interrupt("Use it?", payload, people=waits))
    (call,) = await until(pending)
    assert call.respond(call.proposal) is True
    assert await asked is payload


async def test_what_has_no_content_is_compared_by_identity_and_the_handle_says_what():
    asked = asyncio.ensure_future(approve("Use it?", {"connection": object()}, people=waits))
    (call,) = await until(pending)
    assert Handle.of(call).live == ("builtins.object",)
    call.decline()
    await asked


async def test_whoever_answers_the_edits_are_computed_and_told():
    class Step(BaseModel):
        description: str
        status: str = "enabled"

    @human_in_the_loop(render=StepReview)
    def plan(steps: list[Step]) -> list[Step]:
        """Plan."""

    @human_in_the_loop
    def book(nights: int, hotel: str):
        """Book."""

    agent = ScriptedAgent(
        [calls("plan", steps=[{"description": "pack"}]), calls("book", nights=9, hotel="x"), says("")]
    )
    person = ScriptedPerson([[{"description": "pack", "status": "disabled"}], {"nights": 4, "hotel": "x"}])
    reply = await Session(agent, tools=[plan, book], people=[person], journal=None).run("go")
    assert [call.outcome for call in reply.calls] == ["edited", "edited"]
    assert reply.calls[0].edits == ({"path": "steps[0].status", "from": "enabled", "to": "disabled"},)
    assert (
        agent.results(1)["call_1"] == '[{"description":"pack","status":"disabled"}]'
    )  # as the web's renderer sends it
    assert '"edits":[{"path":"nights","from":9,"to":4}]' in agent.results(2)["call_2"]


async def test_a_gate_that_ran_with_something_else_says_so_whoever_changed_it(effects):
    @gate
    def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    agent = ScriptedAgent([calls("pay", amount=500), says("ok")])
    await Session(agent, tools=[pay], people=[ScriptedPerson([{"amount": 5}])], journal=None).run("go")
    assert effects == [5]
    assert '"status":"edited"' in agent.results(1)["call_1"]
    assert '"from":500,"to":5' in agent.results(1)["call_1"]


async def test_a_true_to_review_is_a_proposal_like_any_other():
    assert await review(True, people=ScriptedPerson([True])) is True
    assert await review(True, people=ScriptedPerson([False])) is False
    assert await review(None, answer=int | None, people=ScriptedPerson([None])) is None


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.binary(max_size=3),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.integers() | st.text(max_size=2), parts, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(plain, plain)
def test_two_values_have_one_fingerprint_only_if_they_are_the_same_to_the_last_type(first, second):
    same = repr(_ordered(first)) == repr(_ordered(second))
    assert (fingerprint(first) == fingerprint(second)) is same
    assert (print_of(first).digest == print_of(second).digest) is same


def _ordered(value):
    if isinstance(value, dict):
        return {repr(key): _ordered(value[key]) for key in sorted(value, key=repr)}
    return [_ordered(part) for part in value] if isinstance(value, list) else value


class Limits(BaseModel):
    most: int
    names: list[str] = []


SAID = [
    (lambda: {"most": 1}, None, lambda said: said.update(most=99)),
    (lambda: {"most": [1]}, dict, lambda said: said["most"].append(99)),
    (lambda: [{"most": 1}], list, lambda said: said[0].update(most=99)),
    (lambda: Limits(most=1), Limits, lambda said: setattr(said, "most", 99)),
    (lambda: [Limits(most=1)], list[Limits], lambda said: said[0].names.append("x")),
    (lambda: Limits(most=1), None, lambda said: said.names.append("x")),
]


@pytest.mark.parametrize(("make", "answer", "change"), SAID)
@pytest.mark.parametrize("several", [False, True])
async def test_an_answer_is_what_was_said_whatever_its_giver_does_to_it_afterwards(make, answer, change, several):
    said = make()

    async def first(call):
        call.respond(said, by="ada")

    async def second(call):
        change(said)
        call.respond(make(), by="bob")

    async def alone(call):
        call.respond(said, by="ada")
        change(said)

    people = AllOf(first, second) if several else alone
    assert await interrupt("Which limits?", {"most": 0}, answer=answer, people=people) == make()


def _spoilt(value):
    """Change each list and dict in a value, also those that hold nothing."""
    parts = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else []
    for part in parts:
        _spoilt(part)
    if isinstance(value, dict):
        value["changed"] = "afterwards"
    elif isinstance(value, list):
        value.append("changed afterwards")


data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(said=st.lists(data, min_size=1, max_size=3))
async def test_whatever_is_said_is_the_answer_whatever_becomes_of_any_part_of_it(said):
    before = deepcopy(said)

    async def person(call):
        call.respond(said)
        _spoilt(said)

    got = await interrupt("Which limits?", {"most": 0}, people=person)
    assert fingerprint(got) == fingerprint(before)
    _spoilt(got)


@pytest.mark.parametrize(("make", "answer", "change"), SAID)
async def test_what_code_does_to_an_answer_is_no_answer_to_the_next_question(make, answer, change):
    said = make()

    async def person(call):
        call.respond(said)

    change(await interrupt("Which limits?", {"most": 0}, answer=answer, people=person))
    assert await interrupt("And these?", {"most": 2}, answer=answer, people=person) == make()


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(plain, min_size=1, max_size=5), st.data())
def test_an_option_is_chosen_by_what_it_is_to_the_last_type(options, data):
    place = data.draw(st.integers(0, len(options) - 1))
    chosen = OneOf(options).validate(deepcopy(options[place]))
    assert fingerprint(chosen) == fingerprint(options[place])


def test_an_answer_that_may_be_several_options_is_none_of_them():
    with pytest.raises(InvalidValue, match="may be any of 2 of the options"):
        OneOf([[1], [True]]).validate([1.0])
    assert OneOf([[1], ["a"]]).validate([1.0]) == [1]


def test_secrets_are_told_apart_in_the_process_and_never_by_a_lasting_hash():
    first, second = SecretStr("one"), SecretStr("two")
    assert print_of(first) != print_of(second)
    assert not print_of(first).durable
    assert fingerprint(first) == fingerprint(second)


def test_a_value_that_contains_itself_can_be_compared():
    loop: list[object] = [1]
    loop.append(loop)
    assert print_of(loop) == print_of(loop)
