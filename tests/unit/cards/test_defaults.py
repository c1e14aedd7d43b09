"""Which card draws a call that names none, and what happens when a card fails."""

import pytest
from ag_ui.core import Interrupt
from pydantic import BaseModel

from hitl_nb import Call, human_in_the_loop
from hitl_nb._calls import Handle
from hitl_nb._schema import validator_for
from hitl_nb.cards import Approval, Form, Plain
from hitl_nb.cards._registry import card_of
from hitl_nb.errors import InvalidValue
from hitl_nb.session._checkpoints import Checkpoint
from tests.unit.cards.desk import AtTheDesk, Desk, ask, record, set_to


class Row(BaseModel):
    name: str


@human_in_the_loop
def delete(rows: list[Row], reason: str = ""):
    """Delete rows."""


def an_interrupt(schema, args=None):
    checkpoint = Checkpoint(interrupt=Interrupt(id="i1", reason="check", response_schema=schema, metadata=args or {}))
    call = checkpoint.call()
    Handle.of(call).open_now(checkpoint.args)
    return call


async def test_a_tool_without_render_is_a_form():
    call, _ = await ask(delete, lambda desk: desk.item["card"] == "form" and desk.confirm(), rows=[{"name": "a"}])
    assert call.approved


async def test_a_call_of_which_nothing_is_known_is_to_read_and_confirm():
    call = Call(id="c", name="approve", kind="feedback")
    Handle.of(call).open_now({"plan": "go"})
    assert type(card_of(call)) is Plain
    assert Desk(call).send({}) is True
    assert call.answer == {"plan": "go"}


async def test_an_interrupt_that_knows_a_yes_starts_with_it():
    schema = {"type": "object", "properties": {"approved": {"type": "boolean"}, "note": {"type": "string"}}}
    call = an_interrupt(schema, {"amount": 5})
    props = Desk(call).props
    assert (props["mode"], props["value"]) == ("answer", {"approved": True})
    assert props["rows"] == [{"label": "amount", "text": "5", "long": False}]
    Desk(call).confirm(set_to("fine", "note"))
    assert (call.answer, call.outcome) == ({"approved": True, "note": "fine"}, "answered")


async def test_an_interrupt_that_knows_no_yes_takes_none_and_never_its_own_metadata():
    call = an_interrupt({"type": "object", "properties": {"choice": {"type": "string"}}}, {"context": {"a": 1}})
    assert (Desk(call).props["mode"], Desk(call).props["value"]) == ("answer", {})
    with pytest.raises(InvalidValue):
        Plain(call).answer({})
    Desk(call).confirm(set_to("x", "choice"))
    assert call.answer == {"choice": "x"}


async def test_an_interrupt_of_a_scalar_is_a_question():
    call = an_interrupt({"type": "boolean"})
    assert Desk(call).props["mode"] == "answer"
    Desk(call).confirm(set_to(False))
    assert call.answer is False


async def test_an_interrupt_without_a_schema_is_confirmed():
    call = an_interrupt(None, {"amount": 5})
    assert type(card_of(call)) is Plain
    Desk(call).send({})
    assert call.answer == {"approved": True}


async def test_two_interrupts_never_share_their_answer():
    first, second = (an_interrupt({"properties": {"approved": {}}}) for _ in range(2))
    for call in (first, second):
        Desk(call).confirm()
    first.answer["approved"] = False
    assert second.answer == {"approved": True}


class Failing(Form):
    def props(self):
        raise ZeroDivisionError("no form today")


async def test_a_card_that_fails_is_replaced_says_so_and_approves_nothing(caplog):
    tool = human_in_the_loop(name="tool", parameters=Row, render=Failing)

    def act(desk):
        item = desk.item
        assert (item["card"], item["status"]) == ("plain", "executing")
        assert "no form today" in item["warning"]
        assert item["props"]["rows"] == [{"label": "name", "text": "a", "long": False}]
        desk.send({})

    call, _ = await ask(tool, act, name="a")
    assert call.answer is call.args
    assert "plain view" in caplog.text


class Unwritten(Approval):
    def rows(self):
        raise ZeroDivisionError


async def test_a_record_that_fails_is_written_by_the_plain_view():
    tool = human_in_the_loop(name="tool", parameters=Row, render=Unwritten)
    call, _ = await ask(tool, lambda desk: desk.send({"approved": True}), name="a")
    assert "    • name: a" in record(call)


class Checked:
    """An answer type of somebody's own, without a schema."""

    def validate(self, value):
        if value != "magic":
            raise InvalidValue("not magic")
        return value


async def test_an_answer_type_without_a_schema_has_no_form_but_can_be_answered_in_a_cell():
    call = Call(id="c", name="ask", answer_type=Checked())
    Handle.of(call).open_now({"question": "?"})
    desk = Desk(call)
    assert desk.item["card"] == "plain"
    with pytest.raises(InvalidValue, match="Confirm cannot answer"):
        desk.send({})
    assert call.respond("magic") is True


async def test_a_json_schema_tool_with_a_typed_answer_is_reviewed_if_nothing_of_the_proposal_gets_lost():
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "object"}}}}
    tool = human_in_the_loop(name="tool", parameters=schema, answer=list[Row])
    call, _ = await ask(tool, lambda desk: desk.props["mode"] == "review" and desk.confirm(), rows=[{"name": "a"}])
    assert call.answer == [Row(name="a")]

    def lossy(desk):
        assert desk.props["mode"] == "answer"
        desk.call.decline()

    await ask(tool, lossy, rows=[{"name": "a", "size": 3}])


async def test_ballots_of_several_approvers_are_forms_too():
    from hitl_nb.people import AllOf

    class Approver(AtTheDesk):
        def __init__(self, name):
            super().__init__(lambda desk: desk.item["card"] == "form" and desk.confirm(set_to("dup", "reason")))
            self.name = name

    call = delete.call("c", "delete")
    Handle.of(call).open_now(validator_for(delete.parameters).validate({"rows": [{"name": "a"}]}))
    await AllOf(Approver("Ada"), Approver("Bob"))(call)
    assert (call.outcome, call.answer.reason) == ("edited", "dup")
    assert list(call.edits) == [{"path": "reason", "from": "", "to": "dup"}]


async def test_records_are_a_table_in_the_record_and_whole():
    rows = [{"name": f"number {number}"} for number in range(5)]
    call, _ = await ask(delete, lambda desk: desk.confirm(), rows=rows)
    assert record(call).splitlines()[:8] == [
        "✓ Confirmed",
        "    • rows:",
        "      │ name",
        *(f"      │ number {number}" for number in range(5)),
    ]
