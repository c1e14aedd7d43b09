"""A proposal on a form: confirmed as it is, edited, declined, or answered with words instead."""

import json
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from hitl_nb import Session, human_in_the_loop
from hitl_nb.errors import InvalidValue
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import Desk, ask, record, set_to


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"


@human_in_the_loop
def pay(to: str, amount: Annotated[int, Field(ge=1, le=1000)], note: str | None = None):
    """Pay somebody."""


@human_in_the_loop
def plan(steps: list[Step]) -> list[Step]:
    """Propose steps."""


STEPS = [{"description": "pack"}, {"description": "launch"}]


async def test_an_untouched_confirm_answers_with_the_proposed_object_itself():
    call, agent = await ask(pay, lambda desk: desk.confirm(), to="ada", amount=5)
    assert call.answer is call.args
    assert call.outcome == "answered"
    assert json.loads(agent.results(1)["call_1"]) == {"to": "ada", "amount": 5, "note": None}


async def test_an_edit_changes_one_place_and_the_model_is_told_which():
    call, agent = await ask(pay, lambda desk: desk.confirm(set_to(7, "amount")), to="ada", amount=5)
    assert (call.outcome, call.approved) == ("edited", True)
    assert call.answer == call.args.model_copy(update={"amount": 7})
    assert call.original is call.args
    assert call.args.amount == 5
    assert json.loads(agent.results(1)["call_1"]) == {
        "status": "edited",
        "approved": True,
        "value": {"to": "ada", "amount": 7, "note": None},
        "edits": [{"path": "amount", "from": 5, "to": 7}],
        "message": "The user changed your proposal before approving it. Go on with the final value.",
    }


async def test_the_only_argument_is_the_proposal_where_the_answer_has_its_type():
    shown = []

    def act(desk):
        shown.append(desk.props)
        desk.confirm(set_to("disabled", 0, "status"), {"op": "remove", "path": [1]})

    call, _ = await ask(plan, act, steps=STEPS)
    assert (shown[0]["mode"], shown[0]["form"]["kind"], shown[0]["rows"]) == ("review", "table", [])
    assert call.answer == [Step(description="pack", status="disabled")]
    assert list(call.edits) == [
        {"path": "steps[0].status", "from": "enabled", "to": "disabled"},
        {"path": "steps[1]", "from": {"description": "launch", "status": "enabled"}},
    ]


async def test_a_fault_stands_at_its_place_on_the_card_and_the_call_stays_open():
    seen = []

    def act(desk):
        with pytest.raises(InvalidValue, match="Amount: at most 1000"):
            desk.confirm(set_to(5000, "amount"))
        seen.append((desk.call.status, desk.item["error"], desk.props["errors"]))
        desk.confirm(set_to(50, "amount"))

    call, _ = await ask(pay, act, to="ada", amount=5)
    ((status, error, faults),) = seen
    assert status == "executing"
    assert error == "Amount: at most 1000"
    assert faults == [{"path": ["amount"], "message": "At most 1000."}]
    assert call.answer.amount == 50


async def test_the_next_attempt_clears_the_faults():
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.confirm(set_to("many", "amount"))
        with pytest.raises(InvalidValue):
            desk.confirm(set_to(None, "to"))
        assert [fault["path"] for fault in desk.props["errors"]] == [["to"]]
        desk.confirm()
        assert desk.call.error is None

    await ask(pay, act, to="ada", amount=5)


async def test_a_change_that_was_taken_back_is_none():
    call, _ = await ask(pay, lambda desk: desk.confirm(set_to(7, "amount"), set_to(5, "amount")), to="ada", amount=5)
    assert (call.outcome, call.edits) == ("answered", ())
    assert call.answer is call.args


async def test_a_no_reaches_the_model_with_its_reason():
    call, agent = await ask(pay, lambda desk: desk.call.decline("no budget"), to="ada", amount=5)
    assert json.loads(agent.results(1)["call_1"])["status"] == "declined"
    assert record(call).startswith("✗ Declined: no budget\n")


async def test_words_instead_are_no_approval_and_the_model_reads_them():
    call, agent = await ask(pay, lambda desk: desk.send({"instead": "pay bob, not ada"}), to="ada", amount=5)
    assert (call.outcome, call.approved, call.answer) == ("declined", False, None)
    assert call.reason == "pay bob, not ada"
    assert json.loads(agent.results(1)["call_1"]) == {
        "status": "answered_instead",
        "approved": False,
        "message": "The user did not approve; their answer: pay bob, not ada",
    }


@pytest.mark.parametrize("sent", [{"instead": " "}, {"instead": 7}, {}, None, {"edits": "all"}, {"edits": [7]}])
async def test_what_is_no_answer_leaves_the_call_open(sent):
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.send(sent)
        assert desk.call.status == "executing"
        desk.call.decline()

    await ask(pay, act, to="ada", amount=5)


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "set", "path": ["nobody", "here"], "value": 1},
        {"op": "rewrite", "path": [], "value": 1},
        {"op": "set", "path": "to", "value": 1},
        {"op": "add", "path": ["bonus"], "value": 1},
    ],
)
async def test_an_edit_of_something_that_is_not_there_is_refused(edit):
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.confirm(edit)
        desk.confirm()

    call, _ = await ask(pay, act, to="ada", amount=5)
    assert call.answer is call.args


async def test_a_second_click_changes_nothing():
    def act(desk):
        assert desk.confirm() is True
        assert desk.confirm(set_to(7, "amount")) is False

    call, _ = await ask(pay, act, to="ada", amount=5)
    assert call.answer.amount == 5


async def test_arguments_that_code_changed_after_they_were_shown_cannot_be_approved():
    def act(desk):
        desk.call.args.amount = 999
        with pytest.raises(InvalidValue, match="changed by code after they were shown"):
            desk.confirm()
        assert "changed by code" in desk.item["error"]
        assert desk.call.status == "executing"
        desk.call.decline()

    call, _ = await ask(pay, act, to="ada", amount=5)
    assert not call.approved


async def test_the_hash_is_that_of_the_validated_arguments_whatever_their_order():
    first, _ = await ask(pay, lambda desk: desk.confirm(), to="ada", amount=5)
    second, _ = await ask(pay, lambda desk: desk.confirm(), amount=5, note=None, to="ada")
    other, _ = await ask(pay, lambda desk: desk.confirm(), to="ada", amount=6)
    assert first.args_sha256 == second.args_sha256 != other.args_sha256
    assert len(first.args_sha256 or "") == 64


async def test_the_record_shows_what_was_proposed_what_was_approved_and_by_whom():
    call, _ = await ask(pay, lambda desk: desk.confirm(set_to(7, "amount")), to="ada", amount=5)
    lines = record(call).splitlines()
    assert lines[:-1] == [
        "✎ Approved with 1 change",
        "    • to: ada",
        "    • amount: 7",
        "    • note: –",
        "    • changed amount: 5 → 7",
    ]
    assert lines[-1].startswith("    pay · by ada · ")


class Looking(ScriptedPerson):
    """Sees the form at every change of the arguments."""

    def __init__(self, answers):
        super().__init__(answers)
        self.seen = []

    def watch(self, transcript):
        def look(entry):
            call = getattr(entry, "call", None)
            if call is not None:
                call.observe(lambda _: self.seen.append((call.status, Desk(call).props)), "args")

        return transcript.watched(look)


async def test_the_form_fills_in_while_the_model_writes():
    person = Looking([lambda call: call.args.steps])
    await Session(ScriptedAgent([calls("plan", steps=STEPS), says("ok")]), tools=[plan], people=[person]).run("go")
    writing = [props for status, props in person.seen if status == "inProgress"]
    assert all(props["mode"] == "review" and props["form"]["kind"] == "table" for props in writing)
    assert any(props["value"] == [{"description": "pack"}] for props in writing)
    assert len({json.dumps(props["value"]) for props in writing}) > 3
