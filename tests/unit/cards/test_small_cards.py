"""Approval, choice, text and time: what the browser gets, what a click means, and what stays in the notebook."""

import asyncio
import json
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from functools import partial
from typing import Literal

import pytest
from pydantic import BaseModel

from hitl_nb import human_in_the_loop
from hitl_nb._calls import Handle
from hitl_nb.cards import Approval, Choice, Text, TimePicker
from hitl_nb.cards._registry import card_of
from hitl_nb.errors import InvalidValue, ToolDefinitionError
from tests.unit.cards.desk import ask, everything_kept, record


def a_tool(render, answer=None, **properties):
    properties = properties or {"table": {"type": "string"}}
    return human_in_the_loop(name="tool", parameters={"properties": properties}, answer=answer, render=render)


async def refused(tool, *messages, then=None, **args):
    """Send what must be refused; gives the errors on the card. The call stays open until `then`, or a decline."""
    errors = []

    def act(desk):
        for message in messages:
            with pytest.raises(InvalidValue) as caught:
                desk.send(message)
            errors.append(str(caught.value))
            assert desk.call.status == "executing"
        desk.send(then) if then is not None else desk.call.decline()

    await ask(tool, act, **args)
    return errors


# -- approval -------------------------------------------------------------------------------------------------


class Verdict(BaseModel):
    approved: bool
    reason: str = ""


@pytest.mark.parametrize(
    ("answer", "expected", "result"),
    [
        (None, {"approved": True}, '{"approved":true}'),
        (bool, True, "true"),
        (Verdict, Verdict(approved=True), '{"approved":true,"reason":""}'),
        ({"type": "object", "required": ["approved"]}, {"approved": True}, '{"approved":true}'),
        (Literal[True], True, "true"),
    ],
)
async def test_a_yes_has_the_form_of_the_answer_type(answer, expected, result):
    call, agent = await ask(a_tool(Approval, answer), lambda desk: desk.send({"approved": True}), table="t")
    assert call.answer == expected
    assert agent.results(1) == {"call_1": result}


async def test_an_approval_shows_everything_with_risk_and_room_for_a_reason():
    seen = []

    def act(desk):
        seen.append(desk.item)
        desk.send({"approved": True, "reason": " seen and checked "})

    tool = a_tool(partial(Approval, risk="high", ask_reason="optional"))
    call, _ = await ask(tool, act, table="x" * 100)
    assert seen[0]["confirm"] == "Approve"
    assert seen[0]["props"] == {
        "rows": [{"label": "table", "text": "x" * 100, "long": True}],
        "risk": "high",
        "reason": "optional",
    }
    assert call.answer == {"approved": True, "reason": "seen and checked"}
    assert record(call).startswith("✓ Approved: seen and checked\n    • High risk\n    • table: xxx")


async def test_a_required_reason_is_required():
    tool = a_tool(partial(Approval, ask_reason="required"))
    errors = await refused(tool, {"approved": True}, {"approved": True, "reason": "  "}, table="t")
    assert all("Say why" in error for error in errors)


async def test_a_reason_that_nobody_asked_for_is_left_out():
    call, _ = await ask(a_tool(Approval), lambda desk: desk.send({"approved": True, "reason": "x"}), table="t")
    assert (call.answer, call.reason) == ({"approved": True}, None)


async def test_a_yes_is_no_answer_to_another_question():
    assert "asks for something else" in (await refused(a_tool(Approval, int), {"approved": True}, table="t"))[0]
    assert "asks for something else" in (await refused(a_tool(Approval, str), {"approved": True}, table="t"))[0]


@pytest.mark.parametrize("message", [None, {}, {"approved": False}, {"approved": 1}, True])
async def test_anything_but_a_yes_is_no_approval(message):
    assert await refused(a_tool(Approval), message, table="t")


async def test_a_no_of_a_rule_reads_as_a_no():
    call, _ = await ask(a_tool(Approval, bool), lambda desk: desk.call.respond(False), table="t")
    assert record(call).startswith("✓ Answered: no\n")


def test_a_misspelt_risk_says_the_line_to_write():
    with pytest.raises(ToolDefinitionError, match=r'partial\(Approval, risk="high"'):
        Approval(None, risk="huge")  # type: ignore[arg-type]


# -- choice ---------------------------------------------------------------------------------------------------


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Model(BaseModel):
    name: str
    note: str = ""
    score: float = 0.5


OPTIONS = [Model(name="old", note="in use"), Model(name="new", score=0.7)]


async def test_the_chosen_option_itself_is_the_answer():
    call, agent = await ask(
        a_tool(partial(Choice, options=OPTIONS)), lambda desk: desk.send({"chosen": [1]}), table="t"
    )
    assert call.answer is OPTIONS[1]
    assert json.loads(agent.results(1)["call_1"]) == {"name": "new", "note": "", "score": 0.7}


async def test_options_are_shown_by_label_and_note():
    seen = []

    def act(desk):
        seen.append(desk.props)
        desk.send({"chosen": [0]})

    mixed = ["text", 7, Colour.RED, date(2026, 3, 2), {"title": "dict", "description": "more"}, *OPTIONS, [1, 2], ""]
    await ask(a_tool(partial(Choice, options=mixed)), act, table="t")
    assert [(option["label"], option["note"]) for option in seen[0]["options"]] == [
        ("text", ""),
        ("7", ""),
        ("RED", ""),
        ("Mon 2 Mar 2026", ""),
        ("dict", "more"),
        ("old", "in use"),
        ("new", ""),
        ("1, 2", ""),
        ('""', ""),
    ]
    assert (seen[0]["multiple"], seen[0]["min"], seen[0]["max"]) == (False, 1, 1)


async def test_several_come_in_the_order_of_the_options():
    tool = a_tool(partial(Choice, options=["a", "b", "c"], multiple=True))
    call, _ = await ask(tool, lambda desk: desk.send({"chosen": [2, 0]}), table="t")
    assert call.answer == ["a", "c"]
    assert record(call).splitlines()[:-1] == [
        "✓ Chose 2 of 3",
        "    • table: t",
        "    ☑ a",
        "    ☐ b",
        "    ☑ c",
    ]


async def test_too_few_too_many_and_nonsense_are_refused():
    one = a_tool(partial(Choice, options=["a", "b"]))
    errors = await refused(
        one, {"chosen": []}, {"chosen": [0, 1]}, {"chosen": [2]}, {"chosen": [True]}, {}, None, table="t"
    )
    assert errors[0] == "0 are chosen; choose one."
    several = a_tool(partial(Choice, options=["a", "b", "c"], multiple=True, min=2, max=2))
    assert (await refused(several, {"chosen": [0]}, table="t"))[0] == "1 are chosen; choose exactly 2."
    call, _ = await ask(
        a_tool(partial(Choice, options=["a"], multiple=True, min=0)), lambda desk: desk.send({"chosen": []}), table="t"
    )
    assert call.answer == []


async def test_the_model_may_propose_the_options():
    @human_in_the_loop(render=Choice)
    def pick(question: str, options: list[str]) -> str:
        """Pick one."""

    seen = []

    def act(desk):
        seen.append(desk.props)
        desk.send({"chosen": [1]})

    call, _ = await ask(pick, act, question="which?", options=["a", "b"])
    assert [row["label"] for row in seen[0]["rows"]] == ["question"]
    assert call.answer == "b"
    assert record(call).startswith("✓ Chose b\n    • question: which?\n    ☐ a\n    ☑ b\n")


async def test_an_answer_that_is_none_of_the_options_is_in_the_record():
    tool = a_tool(partial(Choice, options=["a"]))
    call, _ = await ask(tool, lambda desk: desk.call.respond("something else"), table="t")
    assert record(call).startswith("✓ Answered\n")
    assert "answer: something else" in record(call)


@pytest.mark.parametrize("options", [[], "ab"])
def test_nothing_to_choose_from_says_the_line_to_write(options):
    with pytest.raises(ToolDefinitionError, match="options="):
        Choice(None, options=options)  # type: ignore[arg-type]


async def test_a_choice_without_options_falls_back_and_says_so():
    def act(desk):
        assert desk.item["card"] == "plain"
        assert "nothing to choose from" in desk.item["warning"]
        desk.call.decline()

    call, _ = await ask(a_tool(Choice), act, table="t")
    assert "✗ Declined" in record(call)


# -- text -----------------------------------------------------------------------------------------------------


async def test_words_are_the_answer_exactly_as_typed():
    seen = []

    def act(desk):
        seen.append(desk.props)
        desk.send({"text": " <b>naïve</b> \n"})

    call, agent = await ask(a_tool(partial(Text, long=True, placeholder="…", initial="a")), act, table="t")
    assert seen[0] | {"rows": []} == {"rows": [], "long": True, "placeholder": "…", "initial": "a"}
    assert call.answer == " <b>naïve</b> \n"
    assert agent.results(1) == {"call_1": " <b>naïve</b> \n"}
    assert record(call).startswith("✓ Answered\n    • table: t\n    • answer:  <b>naïve</b>")


@pytest.mark.parametrize("message", [{"text": ""}, {"text": " \n"}, {"text": 7}, {}, None])
async def test_an_empty_box_is_no_answer(message):
    assert await refused(a_tool(Text), message, then={"text": "words"}, table="t")


async def test_an_initial_text_left_alone_is_exact_though_it_is_shown_readably():
    initial = "a\u202eb\r\n"

    def act(desk):
        assert desk.props["initial"] == "a\\u202eb\\u000d\n"
        assert desk.item["warning"]
        desk.send({"text": desk.props["initial"]})

    call, _ = await ask(a_tool(partial(Text, initial=initial)), act, table="t")
    assert call.answer == initial


async def test_the_answer_type_has_the_last_word():
    tool = a_tool(Text, {"type": "string", "minLength": 5})
    assert "At least 5 characters" in (await refused(tool, {"text": "no"}, then={"text": "longer"}, table="t"))[0]


# -- time -----------------------------------------------------------------------------------------------------

SLOTS = [
    datetime(2026, 3, 2, 10),
    datetime(2026, 3, 2, 14, 30, tzinfo=UTC),
    datetime(2026, 3, 3, 9, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
    date(2026, 3, 4),
    "any time on Friday",
    {"label": "Monday", "note": "by phone", "group": "next week"},
]


def scheduler(slots, answer=None):
    @human_in_the_loop(render=partial(TimePicker, slots=slots), answer=answer)
    def schedule_meeting(topic: str, attendee: str):
        """Ask the user to select a meeting time."""

    return schedule_meeting


async def test_slots_stand_under_their_days_in_every_language_the_same():
    seen = []

    def act(desk):
        seen.append(desk.props)
        desk.send({"chosen": [2]})

    call, agent = await ask(scheduler(SLOTS), act, topic="launch", attendee="ada")
    assert [tuple(slot.values()) for slot in seen[0]["slots"]] == [
        ("10:00", "", "Monday 2 March 2026"),
        ("14:30", "UTC", "Monday 2 March 2026"),
        ("09:00", "UTC-03:30", "Tuesday 3 March 2026"),
        ("Wednesday 4 March 2026", "", ""),
        ("any time on Friday", "", ""),
        ("Monday", "by phone", "next week"),
    ]
    assert seen[0]["loading"] is False
    assert [row["text"] for row in seen[0]["rows"]] == ["launch", "ada"]
    assert call.answer is SLOTS[2]
    assert agent.results(1) == {"call_1": '"2026-03-03T09:00:00-03:30"'}
    assert record(call).startswith("✓ Chose Tuesday 3 March 2026, 09:00 (UTC-03:30)\n    • topic: launch\n")


async def test_an_async_function_of_the_application_is_asked_once_and_the_card_says_that_it_loads():
    asked = []

    async def free_slots(call):
        asked.append(call.args.attendee)
        await asyncio.sleep(0)
        return SLOTS

    async def act(desk):
        assert desk.props["loading"] is True
        assert desk.props["slots"] == []
        with pytest.raises(InvalidValue, match="still being loaded"):
            desk.send({"chosen": [0]})
        card = card_of(desk.call)
        await asyncio.gather(card.prepare(), card.prepare())
        await card.prepare()
        assert desk.props["loading"] is False
        desk.send({"chosen": [0]})

    call, _ = await ask(scheduler(free_slots), act, topic="launch", attendee="ada")
    assert asked == ["ada"]
    assert call.answer is SLOTS[0]


async def test_a_plain_function_is_as_good():
    async def act(desk):
        await card_of(desk.call).prepare()
        desk.send({"chosen": [0]})

    call, _ = await ask(scheduler(lambda call: [call.args.topic]), act, topic="launch", attendee="ada")
    assert call.answer == "launch"


async def test_a_picked_time_is_checked_against_the_answer_type():
    call, _ = await ask(
        scheduler(["2026-03-02T10:00:00"], answer=datetime),
        lambda desk: desk.send({"chosen": [0]}),
        topic="",
        attendee="",
    )
    assert call.answer == datetime(2026, 3, 2, 10)


async def test_a_scripted_time_is_in_the_record_without_the_application():
    async def unreachable(call):
        raise AssertionError

    call, _ = await ask(
        scheduler(unreachable), lambda desk: desk.call.respond(SLOTS[0]), topic="launch", attendee="ada"
    )
    assert record(call).startswith("✓ Chose Monday 2 March 2026, 10:00\n")


@pytest.mark.parametrize("slots", ["10:00", 7])
def test_slots_that_are_none_say_the_line_to_write(slots):
    with pytest.raises(ToolDefinitionError, match="slots="):
        TimePicker(None, slots=slots)  # type: ignore[arg-type]


# -- all of them ----------------------------------------------------------------------------------------------

ATTACK = "<script>alert(1)</script>\u202e"


@pytest.mark.parametrize(
    ("render", "message"),
    [
        (Approval, {"approved": True}),
        (partial(Choice, options=[ATTACK, "b"]), {"chosen": [0]}),
        (partial(Text, initial=ATTACK, placeholder=ATTACK), {"text": ATTACK}),
        (partial(TimePicker, slots=[ATTACK]), {"chosen": [0]}),
    ],
)
async def test_no_card_and_no_record_has_markup_or_hidden_characters_from_a_model(render, message):
    seen = []

    def act(desk):
        seen.append(desk.item)
        desk.send(message)

    call, _ = await ask(a_tool(render), act, table=ATTACK)
    assert "invisible" in seen[0]["warning"]
    kept = json.dumps(seen[0], ensure_ascii=False) + everything_kept(call)
    assert "\u202e" not in kept
    html = kept.split('"text/html": ')[1].split('"text/plain"')[0]
    assert "<script>" not in html


@pytest.mark.parametrize("render", [Approval, partial(Choice, options=["a"]), Text, partial(TimePicker, slots=["a"])])
async def test_every_card_draws_while_the_model_writes(render):
    call = a_tool(render).call("call_1", "tool")
    assert card_of(call).shown()
    Handle.of(call).preview({"table": "half a na"})
    assert card_of(call).props()["rows"] == [{"label": "table", "text": "half a na", "long": False}]
