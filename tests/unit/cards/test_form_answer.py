"""A question on a form: the arguments are to read, and the answer is given from an empty form."""

from datetime import date
from functools import partial
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from hitl_nb import human_in_the_loop
from hitl_nb.cards import Form
from hitl_nb.errors import InvalidValue
from tests.unit.cards.desk import ask, record, set_to


class Address(BaseModel):
    street: str
    zip: str = Field(pattern=r"^\d{5}$")


class Order(BaseModel):
    name: str
    size: Literal["s", "m", "l"] = "m"
    gift: bool
    address: Address
    extras: list[str]


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


def a_question(answer):
    return human_in_the_loop(name="ask", parameters={"properties": {"question": {"type": "string"}}}, answer=answer)


async def answered(answer, *edits, question="well?"):
    seen = []

    def act(desk):
        seen.append(desk.props)
        desk.confirm(*edits)

    call, agent = await ask(a_question(answer), act, question=question)
    return seen[0], call, agent


async def test_the_arguments_are_to_read_and_the_form_is_of_the_answer():
    props, call, agent = await answered(str, set_to("fine"))
    assert props["mode"] == "answer"
    assert props["rows"] == [{"label": "question", "text": "well?", "long": False}]
    assert (props["form"]["kind"], props["value"], props["instead"]) == ("text", None, False)
    assert (call.answer, call.outcome, call.edits) == ("fine", "answered", ())
    assert agent.results(1) == {"call_1": "fine"}


@pytest.mark.parametrize(
    ("answer", "sent", "expected"),
    [
        (int, {"$": "number", "text": "7"}, 7),
        (float, {"$": "number", "text": "0.1"}, 0.1),
        (bool, False, False),
        (date, {"$": "date", "text": "2026-03-02"}, date(2026, 3, 2)),
        (date, "2026-03-02", date(2026, 3, 2)),
        (Literal["a", "b"], "b", "b"),
        (list[int], [1, 2], [1, 2]),
        (int | str, "x", "x"),
        ({"type": "integer", "minimum": 3}, 3, 3),
    ],
)
async def test_an_answer_comes_back_typed(answer, sent, expected):
    _, call, _ = await answered(answer, set_to(sent))
    assert call.answer == expected
    assert type(call.answer) is type(expected)


@pytest.mark.parametrize("answer", [str, int, bool, date, Literal["a", "b"], Order, Cat | Dog, int | str])
async def test_an_untouched_form_is_no_answer(answer):
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.confirm()
        assert desk.props["errors"]
        desk.call.decline()

    await ask(a_question(answer), act, question="well?")


async def test_an_object_starts_with_its_defaults_and_its_empty_groups():
    props, call, _ = await answered(
        Order,
        set_to("Ada", "name"),
        set_to(True, "gift"),
        set_to("Main St", "address", "street"),
        set_to("12345", "address", "zip"),
        {"op": "add", "path": ["extras", 0], "value": "bow"},
    )
    assert props["value"] == {"size": "m", "address": {}, "extras": []}
    assert call.answer == Order(
        name="Ada", size="m", gift=True, address=Address(street="Main St", zip="12345"), extras=["bow"]
    )


async def test_each_missing_part_is_named_at_its_place():
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.confirm(set_to("1", "address", "zip"))
        assert [fault["path"] for fault in desk.props["errors"]] == [
            ["name"],
            ["gift"],
            ["address", "street"],
            ["address", "zip"],
        ]
        desk.call.decline()

    await ask(a_question(Order), act, question="well?")


async def test_a_union_starts_with_its_first_form_and_can_take_another():
    props, call, _ = await answered(Cat | Dog, set_to({"kind": "dog", "tricks": ["sit"]}))
    assert props["value"] == {"kind": "cat"}
    assert props["layout"] == [{"path": [], "branch": 0}]
    assert call.answer == Dog(kind="dog", tricks=["sit"])


async def test_a_fixed_answer_needs_no_entry():
    _, call, _ = await answered(Literal[True])
    assert call.answer is True


@pytest.mark.parametrize(
    ("question", "answer", "sent"), [("yes", bool, False), ("7", int, 8), ("well?", Literal["well?", "no"], "no")]
)
async def test_a_conversion_never_makes_the_question_an_answer(question, answer, sent):
    props, call, _ = await answered(answer, set_to(sent), question=question)
    assert props["mode"] == "answer"
    assert call.answer == sent


async def test_an_object_without_the_questions_keys_is_not_taken_for_a_proposal():
    class Note(BaseModel):
        note: str = ""

    props, call, _ = await answered(Note, set_to("hi", "note"))
    assert props["mode"] == "answer"
    assert call.answer == Note(note="hi")


async def test_an_initial_answer_is_none_before_it_is_confirmed():
    tool = human_in_the_loop(
        name="ask",
        parameters={"properties": {"question": {"type": "string"}}},
        answer=Address,
        render=partial(Form, initial={"street": "Main St", "zip": "12345"}),
    )
    seen = []

    def act(desk):
        seen.append((desk.props["mode"], desk.props["value"], desk.call.answer))
        desk.confirm(set_to("54321", "zip"))

    call, _ = await ask(tool, act, question="where?")
    assert seen == [("answer", {"street": "Main St", "zip": "12345"}, None)]
    assert (call.answer, call.outcome) == (Address(street="Main St", zip="54321"), "answered")


async def test_the_record_has_question_and_answer():
    _, call, _ = await answered(Address, set_to({"street": "Main St", "zip": "12345"}))
    answer = "street: Main St; zip: 12345"
    assert record(call).startswith(f"✓ Answered\n    • question: well?\n    • answer: {answer}\n    ask · by ada")


async def test_words_are_an_answer_where_the_answer_is_words():
    call, _ = await ask(a_question(str), lambda desk: desk.send({"instead": "fine"}), question="well?")
    assert (call.answer, call.outcome) == ("fine", "answered")
