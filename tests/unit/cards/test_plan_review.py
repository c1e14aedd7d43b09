"""A plan in order: what was proposed is touched where a person touched it, and nowhere else."""

from functools import partial
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from hitl_nb import human_in_the_loop, review
from hitl_nb._calls import Call, Handle
from hitl_nb._schema import validator_for
from hitl_nb._waiting import until_decided
from hitl_nb.cards import PlanReview
from hitl_nb.cards._registry import card_of
from hitl_nb.errors import Declined, InvalidValue
from hitl_nb.people import ScriptedPerson
from tests.unit.cards.desk import Desk, ask, everything_kept, opened, record
from tests.unit.test_shorthands import at_the_desk


class Step(BaseModel):
    description: str = Field(max_length=20)
    status: Literal["enabled", "disabled", "executing"] = "enabled"
    minutes: int = 5
    steps: list["Step"] = []


@human_in_the_loop(render=PlanReview)
def plan(goal: str, steps: list[Step]) -> list[Step]:
    """Propose a plan."""


@human_in_the_loop(render=PlanReview)
def sketch(goal: str, steps: list[Step]):
    """Propose a plan; says nothing about its answer."""


@human_in_the_loop(render=PlanReview)
def draft(steps: list[Step]) -> list[Step]:
    """Propose steps."""


STEPS = [
    {"description": "pack", "steps": [{"description": "food"}, {"description": "air", "status": "disabled"}]},
    {"description": "fly", "status": "executing", "minutes": 2**60 + 1},
    {"description": "land"},
]


async def waits(call):
    await until_decided(call)


def node(at, text=None, on=True, steps=None):
    return {"at": at, "text": text, "on": on, "steps": steps or []}


UNTOUCHED = [node(0, steps=[node(0), node(1, on=False)]), node(1, on=False), node(2)]


def sends(*nodes):
    return lambda desk: desk.send({"steps": list(nodes)})


@pytest.mark.parametrize("tool", [plan, sketch], ids=["typed", "untyped"])
async def test_as_proposed_is_no_edit(tool):
    call, _ = await ask(tool, sends(*UNTOUCHED), goal="Mars", steps=STEPS)
    assert (call.outcome, call.edits) == ("answered", ())
    assert record(call).splitlines()[:-1] == [
        "✓ Confirmed 3 of 5 steps",
        "    • goal: Mars",
        "    ☑ 1  pack · minutes: 5",
        "    ☑ 1.1  food · minutes: 5",
        "    ☐ 1.2  air · minutes: 5",
        "    ☐ 2  fly · minutes: 1,152,921,504,606,846,977",
        "    ☑ 3  land · minutes: 5",
    ]


async def test_moved_reworded_unticked_and_added_in_one_go():
    nodes = [node(2), node(None, "wait"), node(0, "pack light", steps=[node(1, on=True), node(0)]), node(1, on=False)]
    call, agent = await ask(plan, sends(*nodes), goal="Mars", steps=STEPS)
    assert [(step.description, step.status) for step in call.answer] == [
        ("land", "enabled"),
        ("wait", "enabled"),
        ("pack light", "enabled"),
        ("fly", "executing"),
    ]
    assert [step.description for step in call.answer[2].steps] == ["air", "food"]
    assert call.answer[3].minutes == 2**60 + 1
    assert agent.results(1)["call_1"].startswith('[{"description":"land"')


def test_what_was_not_touched_is_the_same_object():
    with opened({"steps": [{"description": "a", "extra": object()}, {"description": "b"}]}, render=PlanReview) as call:
        first, second = call.args["steps"]
        answer = card_of(call).answer({"steps": [node(1), node(0)]})["steps"]
        assert answer[0] is second
        assert answer[1] is first
        assert card_of(call).answer({"steps": [node(0), node(1)]}) is call.args


trees = st.recursive(
    st.builds(lambda n: {"description": f"s{n}"}, st.integers(0, 5)),
    lambda inner: st.builds(
        lambda n, steps: {"description": f"s{n}", "steps": steps}, st.integers(0, 5), st.lists(inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(trees, min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_any_order_of_any_plan_has_the_same_steps_in_it(steps, random):
    def shuffled(steps):
        nodes = [node(at, steps=shuffled(step["steps"]) if "steps" in step else None) for at, step in enumerate(steps)]
        random.shuffle(nodes)
        return nodes

    def made(steps, nodes):
        return [
            {
                **steps[each["at"]],
                **({"steps": made(steps[each["at"]]["steps"], each["steps"])} if "steps" in steps[each["at"]] else {}),
            }
            for each in nodes
        ]

    with opened({"steps": steps}, render=PlanReview) as call:
        nodes = shuffled(steps)
        assert card_of(call).answer({"steps": nodes}) == {"steps": made(steps, nodes)}


def at_home(key, **changes):
    """A step by where it was proposed, wherever it stands now."""
    return {**node(int(key.rpartition(".")[2])), "key": key, **changes}


async def test_a_step_is_moved_under_another_one_and_out_of_it():
    pack = {"description": "pack", "steps": [{"description": "food"}, {"description": "air", "litres": 3}]}
    steps = [pack, {"description": "fly"}, {"description": "land", "steps": []}]
    inside = at_home("2", steps=[at_home("0.1"), at_home("1")])
    nodes = [at_home("0", steps=[at_home("0.0")]), inside]
    asked = []

    async def moves(call):
        asked.append(call)
        await until_decided(call)

    answer = await at_the_desk(review(steps, render=PlanReview, people=moves), sends(*nodes))
    assert answer == [
        {"description": "pack", "steps": [{"description": "food"}]},
        {"description": "land", "steps": [{"description": "air", "litres": 3}, {"description": "fly"}]},
    ]
    assert answer[1]["steps"][1] is steps[1]
    lines = record(asked[0]).splitlines()
    assert "    ☑ 2  land" in lines
    assert "    ☑ 2.1  air (was 1.2) · litres: 3" in lines
    assert "    ☑ 2.2  fly (was 2)" in lines


@pytest.mark.parametrize(
    ("nodes", "why"),
    [
        ([at_home("0"), at_home("1", steps=[at_home("0.0")])], "can have no steps of its own"),
        ([at_home("0", steps=[at_home("0", steps=[at_home("0.0")])]), at_home("1")], "none of the steps, or was there"),
        ([at_home("0", steps=[]), at_home("1")], "not each of the 3 steps once"),
        ([at_home("0", on=False, steps=[at_home("0.0")]), at_home("1")], "a step below it is ticked"),
        ([node(None, "new", steps=[at_home("0.0")]), at_home("0"), at_home("1")], "A new step has no steps"),
        ([{**node(0), "key": ["0"]}, at_home("1")], "none of the steps"),
    ],
)
async def test_no_step_is_lost_doubled_or_put_where_it_cannot_be(nodes, why):
    steps = [{"description": "pack", "steps": [{"description": "food"}]}, {"description": "fly"}]

    def act(desk):
        with pytest.raises(InvalidValue, match=why):
            desk.send({"steps": nodes})
        desk.call.decline("no")

    with pytest.raises(Declined):
        await at_the_desk(review(steps, render=PlanReview, people=waits), act)


async def test_a_list_of_texts_is_a_plan():
    steps = ["pack", "fly", "land"]
    nodes = [node(2), node(0, on=False), node(1, "fly low"), node(None, "rest")]
    assert await at_the_desk(review(steps, render=PlanReview, people=waits), sends(*nodes)) == [
        "land",
        "fly low",
        "rest",
    ]
    assert await review(steps, render=PlanReview, people=ScriptedPerson([lambda call: call.proposal])) is steps


async def test_a_plan_inside_a_payload_keeps_what_is_around_it():
    value = {"goal": "Mars", "steps": [{"do": "pack", "enabled": True}, {"do": "fly", "enabled": True}]}

    card = partial(PlanReview, label="do", status="enabled")
    answer = await at_the_desk(review(value, render=card, people=waits), sends(node(1), node(0, on=False)))
    assert answer == {"goal": "Mars", "steps": [{"do": "fly", "enabled": True}, {"do": "pack", "enabled": False}]}


async def test_the_record_says_what_was_proposed_otherwise():
    steps = ["pack", "fly", "land", "rest", "look"]
    person = ScriptedPerson([["look", "pack", "fly low", "rest", "wave"]], name="ada")
    await review(steps, "This way?", render=PlanReview, people=person)
    assert record(person.asked[0]).splitlines()[:-1] == [
        "✎ Confirmed 5 of 5 steps",
        "    • This way?",
        "    ☑ 1  look (was 5)",
        "    ☑ 2  pack",
        "    ☑ 3  fly low (was: land)",
        "    ☑ 4  rest",
        "    ☑ 5  wave (new)",
        "    • left out: 2  fly",
    ]


async def test_what_only_code_can_change_stands_in_the_record():
    def act(desk):
        first, *others = desk.call.args.steps
        desk.call.respond([first.model_copy(update={"minutes": 90}), *others])

    call, _ = await ask(draft, act, steps=STEPS)
    assert call.outcome == "edited"
    assert "    • changed steps[0].minutes: 5 → 90" in record(call).splitlines()


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [node(0)],
        [node(0), node(0), node(1)],
        [node(True), node(0), node(2)],
        [*UNTOUCHED, node(None, " ")],
        [node(0, steps=[node(0)]), node(1), node(2)],
        [node(0, 5), node(1), node(2)],
        [node(0, on="yes"), node(1), node(2)],
        [node(0, "far too long for a step of ours", steps=UNTOUCHED[0]["steps"]), node(1), node(2)],
    ],
)
async def test_what_is_no_form_of_the_plan_is_refused_and_the_question_stays_open(wrong):
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.send({"steps": wrong})
        assert not desk.call.decided
        desk.call.decline("no")

    call, _ = await ask(plan, act, goal="Mars", steps=STEPS)
    assert call.outcome == "declined"
    assert "☑" not in record(call)


async def test_a_fault_is_told_with_the_number_of_its_step():
    nodes = [node(0, steps=[node(1, "x" * 30, on=False), node(0)]), node(1, on=False), node(2)]

    def act(desk):
        with pytest.raises(InvalidValue, match=r"^Step 1\.1: at most 20 characters"):
            desk.send({"steps": nodes})
        desk.call.decline()

    await ask(plan, act, goal="Mars", steps=STEPS)


class Errand(BaseModel):
    description: str
    who: str
    pin: SecretStr = SecretStr("0000")


def test_a_step_that_needs_more_than_words_is_not_offered():
    steps = [Errand(description="shop", who="ada")]
    with opened({"steps": steps}, render=PlanReview, answer_type=validator_for(list[Errand])) as call:
        assert Desk(call).props["add"] is False
        assert "0000" not in str(Desk(call).item)
    with opened({"steps": ["shop"]}, render=PlanReview) as call:
        assert Desk(call).props["add"] is True


def test_hidden_characters_are_written_out_and_such_a_step_is_not_reworded():
    with opened({"steps": ["a\u202eb", "<img src=x onerror=alert(1)>"]}, render=PlanReview) as call:
        steps = Desk(call).props["steps"]
        assert (steps[0]["label"], steps[0]["edit"]) == ("a\\u202eb", False)
        assert "invisible" in Desk(call).item["warning"]
        with Handle.of(call).turns.put_to(ScriptedPerson([])):
            call.decline()
        assert "\u202e" not in everything_kept(call)


def test_a_plan_that_still_streams_is_drawn_as_far_as_it_is_there():
    call = Call(id="c", name="plan", render=PlanReview)
    Handle.of(call).preview({"goal": "Mars", "steps": [{"description": "pack"}, {}]})
    assert [step["label"] for step in card_of(call).props()["steps"]] == ["pack", ""]


async def test_a_declined_plan_ticks_nothing():
    with pytest.raises(Declined):
        await at_the_desk(review(["a"], render=PlanReview, people=waits), lambda desk: desk.call.decline("no"))
