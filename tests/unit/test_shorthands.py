"""The short questions of code: each has its card, a typed answer, and no way to a yes but a yes."""

import asyncio
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Literal

import pytest
from pydantic import BaseModel

from hitl_nb import Session, approve, ask, choose, gate, interrupt, pending, review
from hitl_nb._waiting import until_decided
from hitl_nb.cards import Approval
from hitl_nb.errors import Cancelled, Declined, Expired, InvalidValue, NoHumanError, UsageError
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import Desk, record, set_to


class Row(BaseModel):
    name: str
    keep: bool = True


@dataclass
class Plan:
    title: str
    days: int


async def waits(call):
    await until_decided(call)


async def at_the_desk(question, act):
    """The answer of a question after `act` at its card."""
    asked = asyncio.create_task(question)
    await asyncio.sleep(0)
    (call,) = pending()
    act(Desk(call))
    return await asked


# -- approve --------------------------------------------------------------------------------------------------


async def test_approve_is_an_approval_card():
    def act(desk):
        assert (desk.item["card"], desk.props["risk"]) == ("approval", "high")
        assert desk.props["rows"] == [{"label": "value", "text": "1, 2", "long": False}]
        desk.send({"approved": True})

    assert await at_the_desk(approve("Delete?", [1, 2], risk="high", people=waits), act) is True


@pytest.mark.parametrize("no", [False, lambda call: call.decline(), lambda call: call.cancel()])
async def test_anything_but_a_yes_is_false(no):
    assert await approve("Go?", people=ScriptedPerson([no])) is False


async def test_time_that_is_up_is_never_a_yes():
    assert await approve("Go?", people=waits, timeout=0.01) is False
    assert await approve("Go?", people=waits, timeout=0.01, escalate_to=ScriptedPerson([True])) is True
    with pytest.raises(TypeError, match=r"approve\(\) got an unexpected keyword argument 'if_expired'"):
        approve("Go?", people=waits, timeout=0.01, if_expired=True)  # type: ignore[call-arg]  # nothing true is a yes


# -- one key --------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "r"
    GREEN = "g"


async def test_one_key_goes_to_the_card_and_means_what_its_button_means():
    def yes(desk):
        assert desk.props["keys"] is True
        desk.send({"approved": True})

    assert await at_the_desk(approve("Go?", one_key=True, people=waits), yes) is True

    def second(desk):
        assert (desk.item["card"], desk.props["keys"]) == ("choice", True)
        seen.append([option["label"] for option in desk.props["options"]])
        desk.send({"chosen": [1]})

    seen: list[list[str]] = []
    assert await at_the_desk(choose("Which?", ["a", "b"], one_key=True, people=waits), second) == "b"
    assert await at_the_desk(ask("Which?", answer=Colour, one_key=True, people=waits), second) is Colour.GREEN
    assert await at_the_desk(ask("Which?", answer=Literal[1, "1"], one_key=True, people=waits), second) == "1"
    assert await at_the_desk(ask("Is it?", answer=bool, one_key=True, people=waits), second) is False
    assert seen == [["a", "b"], ["RED", "GREEN"], ["1", '"1"'], ["yes", "no"]]


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (lambda: approve("Drop?", risk="high", one_key=True), "of high risk is not answered by one key. Leave out"),
        (lambda: approve("Go?", render=Approval, one_key=True), "leave out `render=`"),
        (lambda: choose("Which?", ["a"], multiple=True, one_key=True), "Several options are more than one key"),
        (lambda: ask("Why?", one_key=True), "`str` is no choice among a few"),
        (lambda: ask("Which?", answer=Colour, default=Colour.RED, one_key=True), "Leave out `default=`"),
    ],
)
def test_one_key_is_refused_where_it_cannot_be_a_decision(question, words):
    with pytest.raises(UsageError, match=words):
        question()


async def test_a_card_of_high_risk_that_is_to_take_one_key_is_no_approval_card_at_all():
    def act(desk):
        assert desk.item["card"] == "plain"
        assert "Leave out `one_key=True`" in desk.item["warning"]
        desk.call.decline()

    both = partial(Approval, risk="high", one_key=True)
    with pytest.raises(Declined):
        await at_the_desk(interrupt("Drop?", render=both, people=waits), act)


# -- ask ------------------------------------------------------------------------------------------------------


async def test_ask_is_a_box_for_words():
    def act(desk):
        assert desk.item["card"] == "text"
        assert desk.props["initial"] == "n/a"
        desk.send({"text": "use the second column"})

    answer = await at_the_desk(ask("Which column?", {"columns": ["a", "b"]}, default="n/a", people=waits), act)
    assert answer == "use the second column"


async def test_ask_for_a_type_is_a_form_that_starts_with_the_default():
    def act(desk):
        props = desk.props
        assert (desk.item["card"], props["mode"]) == ("form", "answer")
        assert props["value"] == {"name": "a", "keep": True}
        desk.confirm(set_to(False, "keep"))

    answer = await at_the_desk(ask("Which?", answer=Row, default=Row(name="a"), people=waits), act)
    assert answer == Row(name="a", keep=False)


async def test_what_a_question_is_about_is_never_taken_for_its_answer():
    def act(desk):
        assert (desk.props["mode"], desk.props["value"]) == ("answer", [])
        desk.confirm({"op": "add", "path": [0], "value": "mine"})

    assert await at_the_desk(ask("Which?", ["not", "these"], answer=list[str], people=waits), act) == ["mine"]


async def test_a_default_is_no_answer_when_time_is_up():
    with pytest.raises(Expired):
        await ask("Which?", default="a", people=waits, timeout=0.01)


# -- choose ---------------------------------------------------------------------------------------------------


class Estimator:
    """Something without any JSON form."""

    def __init__(self, name):
        self.name = name


async def test_choose_gives_the_option_itself_whatever_it_is():
    estimators = [Estimator("forest"), Estimator("boosting")]
    seen = []

    def act(desk):
        seen.append(desk.call)
        assert desk.item["card"] == "choice"
        desk.send({"chosen": [1]})

    assert await at_the_desk(choose("Which model?", estimators, label="name", people=waits), act) is estimators[1]
    assert seen[0].result == "boosting"
    assert record(seen[0]).startswith("✓ Chose boosting\n    • Which model?\n    ☐ forest\n    ☑ boosting\n")


async def test_several_are_a_list_of_the_options_themselves():
    rows = [Row(name="a"), Row(name="b"), Row(name="c")]
    chosen = await at_the_desk(
        choose("Which?", rows, multiple=True, people=waits), lambda desk: desk.send({"chosen": [2, 0]})
    )
    assert [any(row is one for one in rows) for row in chosen] == [True, True]
    assert [row.name for row in chosen] == ["a", "c"]


async def test_a_script_may_answer_with_an_equal_value_and_gets_the_option():
    rows = [Row(name="a"), Row(name="b")]
    assert await choose("Which?", rows, people=ScriptedPerson([Row(name="b")])) is rows[1]
    assert await choose("Which?", [1, True, 1.0], people=ScriptedPerson([True])) is True


async def test_a_stored_choice_is_found_again_and_other_options_ask_again():
    rows = [Row(name="a"), Row(name="b")]
    options: dict[str, Any] = {"key": "which", "people": ScriptedPerson([rows[1], rows[0]])}
    assert await choose("Which?", rows, **options) is rows[1]
    assert await choose("Which?", rows, **options) is rows[1]
    assert await choose("Which?", rows[:1], **options) is rows[0]


@pytest.mark.parametrize(("answer", "multiple"), [("c", False), (["a", "c"], True), ("a", True)])
async def test_an_answer_that_is_no_option_is_refused(answer, multiple):
    with pytest.raises(InvalidValue):
        await choose("Which?", ["a", "b"], multiple=multiple, people=ScriptedPerson([answer]))


@pytest.mark.parametrize("options", [[], "ab"])
async def test_nothing_to_choose_from_says_the_line_to_write(options):
    with pytest.raises(UsageError, match="await choose"):
        await choose("Which?", options)


# -- review ---------------------------------------------------------------------------------------------------

VALUES = [
    Row(name="a"),
    Plan(title="trip", days=3),
    [Row(name="a"), Row(name="b")],
    (Row(name="a"),),
    [{"name": "a", "n": 1}, {"name": "b", "n": None}, {"n": 2.5}],
    {"a": {"b": [1, 2]}, "": None, "mixed": [1, "x", None]},
    [[1, 2], [], [3]],
    [],
    {},
    7,
    "words",
    False,
    date(2026, 3, 2),
    Decimal("10.10"),
    [date(2026, 3, 2)],
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
async def test_review_gives_the_value_itself_if_nobody_changed_it(value):
    seen = []

    def act(desk):
        seen.append((desk.item["card"], desk.props["mode"]))
        desk.confirm()

    assert await at_the_desk(review(value, people=waits), act) is value
    assert seen == [("form", "review")]


@pytest.mark.parametrize(
    ("value", "edit", "expected"),
    [
        (Row(name="a"), set_to("b", "name"), Row(name="b")),
        (Plan(title="trip", days=3), set_to(4, "days"), Plan(title="trip", days=4)),
        ([Row(name="a"), Row(name="b")], {"op": "remove", "path": [0]}, [Row(name="b")]),
        ((Row(name="a"),), set_to(False, 0, "keep"), (Row(name="a", keep=False),)),
        ([{"n": 1}, {"n": None}], set_to(2, 1, "n"), [{"n": 1}, {"n": 2}]),
        ({"a": 1}, {"op": "add", "path": ["b"], "value": 2}, {"a": 1, "b": 2}),
        (7, set_to(8), 8),
    ],
)
async def test_review_gives_the_edited_value_of_the_same_type(value, edit, expected):
    final = await at_the_desk(review(value, people=waits), lambda desk: desk.confirm(edit))
    assert final == expected
    assert type(final) is type(expected)


async def test_rows_are_a_table_and_keep_their_kinds():
    def act(desk):
        assert desk.props["form"]["kind"] == "table"
        with pytest.raises(InvalidValue):
            desk.confirm(set_to("many", 0, "n"))
        assert desk.props["errors"] == [{"path": [0, "n"], "message": "A whole number, please."}]
        desk.confirm()

    await at_the_desk(review([{"name": "a", "n": 1}], people=waits), act)


async def test_the_original_is_never_changed_in_place():
    rows = [{"name": "a"}]
    final = await at_the_desk(review(rows, people=waits), lambda desk: desk.confirm(set_to("b", 0, "name")))
    assert (rows, final) == ([{"name": "a"}], [{"name": "b"}])


@pytest.mark.parametrize("value", [Estimator("x"), {"a": 1, "b": Estimator("x")}], ids=repr)
async def test_a_value_of_unknown_type_says_the_line_to_write(value):
    with pytest.raises(UsageError, match="answer="):
        await review(value, people=waits)


async def test_with_a_type_even_that_is_reviewed():
    value = {"a": Decimal("1.10")}
    assert (
        await at_the_desk(review(value, answer=dict[str, Decimal], people=waits), lambda desk: desk.confirm()) is value
    )


async def test_a_value_that_does_not_fit_its_type_is_refused_before_anybody_is_asked():
    with pytest.raises(InvalidValue):
        await review({"name": 7}, answer=Row, people=waits)
    assert pending() == []


async def test_a_no_to_a_review_raises():
    with pytest.raises(Declined, match="not like that"):
        await review([1], people=ScriptedPerson([lambda call: call.decline("not like that")]))


# -- all of them ----------------------------------------------------------------------------------------------

QUESTIONS = [
    lambda **options: interrupt("Go?", **options),
    lambda **options: ask("What?", **options),
    lambda **options: choose("Which?", ["a"], **options),
    lambda **options: review([1], **options),
]


@pytest.mark.parametrize("question", QUESTIONS)
async def test_every_question_can_be_declined_cancelled_expire_and_find_nobody(question):
    with pytest.raises(Declined):
        await question(people=ScriptedPerson([lambda call: call.decline()]))
    with pytest.raises(Cancelled):
        await question(people=ScriptedPerson([lambda call: call.cancel()]))
    with pytest.raises(Expired):
        await question(people=waits, timeout=0.01)
    with pytest.raises(NoHumanError):
        await question()
    assert pending() == []


async def test_inside_a_run_they_ask_the_people_of_the_run():
    class Agent(ScriptedAgent):
        async def run(self, input):  # noqa: A002
            answers.extend(
                [await ask("What?"), await choose("Which?", ["a", "b"]), await review([1]), await approve("?")]
            )
            async for event in super().run(input):
                yield event

    answers = []
    person = ScriptedPerson(["words", "b", [2], True])
    reply = await Session(Agent([says("ok")]), people=[person]).run("go")
    assert answers == ["words", "b", [2], True]
    assert [call.name for call in reply.calls] == ["ask", "choose", "review", "approve"]


async def test_a_gated_function_runs_with_the_edited_arguments():
    ran = []

    @gate
    def pay(to: str, amount: int) -> str:
        """Send money."""
        ran.append((to, amount))
        return "sent"

    async def person(call):
        Desk(call).confirm(set_to(7, "amount"))

    agent = ScriptedAgent([calls("pay", to="ada", amount=500), says("ok")])
    reply = await Session(agent, tools=[pay], people=[person]).run("go")
    assert ran == [("ada", 7)]
    assert reply.calls[0].outcome == "edited"
