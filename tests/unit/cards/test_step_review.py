"""Steps to tick: what was changed is an edit, whoever answers, and the record agrees with it."""

from typing import Literal

import pytest
from pydantic import BaseModel

from hitl_nb import Call, human_in_the_loop
from hitl_nb.cards import Approval, Card, Choice, Form, Plain, StepReview, Text, TimePicker
from tests.unit.cards.desk import ask, record


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"


@human_in_the_loop(render=StepReview)
def plan(steps: list[Step]) -> list[Step]:
    """Propose steps."""


@human_in_the_loop(render=StepReview)
def sketch(steps: list[Step]):
    """Propose steps; says nothing about its answer."""


STEPS = [{"description": "pack"}, {"description": "fly", "status": "disabled"}, {"description": "land"}]
TOOLS = pytest.mark.parametrize("tool", [plan, sketch], ids=["typed", "untyped"])


def kept(call: Call) -> list[str]:
    return record(call).splitlines()[:-1]


@TOOLS
async def test_as_proposed_is_no_edit(tool):
    call, _ = await ask(tool, lambda desk: desk.send({"checked": [True, False, True]}), steps=STEPS)
    assert (call.outcome, call.edits) == ("answered", ())
    assert kept(call) == ["✓ Confirmed 2 of 3 steps", "    ☑ pack", "    ☐ fly", "    ☑ land"]


@TOOLS
async def test_a_tick_is_an_edit_in_the_record_the_model_reads_the_steps_alone(tool):
    call, agent = await ask(tool, lambda desk: desk.send({"checked": [True, True, False]}), steps=STEPS)
    assert call.outcome == "edited"
    assert [each["path"] for each in call.edits] == ["steps[1].status", "steps[2].status"]
    assert kept(call) == ["✎ Confirmed 2 of 3 steps", "    ☑ pack", "    ☑ fly", "    ☐ land"]
    assert agent.results(1)["call_1"].startswith('[{"description":"pack","status":"enabled"},')


@TOOLS
async def test_what_code_has_ticked_is_the_same_edit(tool):
    def act(desk):
        steps = [step.model_copy(update={"status": "enabled"}) for step in desk.call.args.steps]
        desk.call.respond(steps)

    call, _ = await ask(tool, act, steps=STEPS)
    assert call.outcome == "edited"
    assert kept(call)[0] == "✎ Confirmed 3 of 3 steps"


@TOOLS
async def test_what_code_has_rewritten_or_left_out_stands_in_the_record(tool):
    def act(desk):
        first = desk.call.args.steps[0].model_copy(update={"description": "pack less"})
        desk.call.respond([first])

    call, _ = await ask(tool, act, steps=STEPS)
    assert kept(call) == [
        "✎ Confirmed 1 of 3 steps",
        "    ☑ pack less",
        "    • changed steps[0].description: pack → pack less",
        "    • removed steps[1]: description: fly; status: disabled",
        "    • removed steps[2]: description: land; status: enabled",
    ]


async def test_an_answer_that_is_no_list_of_steps_ticks_none():
    call, _ = await ask(sketch, lambda desk: desk.call.respond("ask Grace"), steps=STEPS)
    assert kept(call) == ["✓ Answered", "    • pack", "    • fly", "    • land", "    • answer: ask Grace"]


async def test_all_arguments_are_the_steps_as_well():
    call, _ = await ask(sketch, lambda desk: desk.call.respond(desk.call.args), steps=STEPS)
    assert kept(call) == ["✓ Confirmed 2 of 3 steps", "    ☑ pack", "    ☐ fly", "    ☑ land"]


async def test_a_no_ticks_none():
    call, _ = await ask(plan, lambda desk: desk.call.decline(), steps=STEPS)
    assert kept(call) == ["✗ Declined", "    • pack", "    • fly", "    • land"]


# -- what code has changed where a card cannot -----------------------------------------------------------------------


class Transfer(BaseModel):
    to: str
    amount: int


@pytest.mark.parametrize("render", [Approval, Plain])
async def test_what_code_has_changed_stands_in_the_record_of_a_card_that_cannot_edit(render):
    tool = human_in_the_loop(Transfer, name="pay", render=render)
    call, _ = await ask(
        tool, lambda desk: desk.call.respond(desk.call.args.model_copy(update={"amount": 5})), to="ada", amount=500
    )
    assert call.outcome == "edited"
    assert "    • changed amount: 500 → 5" in kept(call)
    assert kept(call)[0].startswith("✎ ")
    assert "Confirmed" not in kept(call)[0]


def test_only_a_form_tells_the_model_of_edits():
    assert [card for card in (Approval, Choice, Form, Plain, StepReview, Text, TimePicker) if card.tells_edits] == [
        Form
    ]
    assert Card.tells_edits is False
