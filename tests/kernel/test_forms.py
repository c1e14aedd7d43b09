"""A form in a real kernel: edits of the browser are applied there, faults come back to their places."""

import json

import pytest

from .client import Kernel
from .test_sessions import ask, card, said

SETUP = """
import asyncio, json
from datetime import datetime
from functools import partial
from typing import Annotated
from pydantic import BaseModel, Field
from hitl_nb import Session, ask, choose, human_in_the_loop
from hitl_nb.cards import TimePicker
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

class Item(BaseModel):
    name: str
    count: Annotated[int, Field(ge=1, le=9)] = 1

@human_in_the_loop
def order(shop: str, items: list[Item]):
    "Order something."

asked = []
calendar = Question("calendar")

async def free_slots(call):
    asked.append(call.args.attendee)
    await calendar.decided
    return [datetime(2026, 3, 2, 10), datetime(2026, 3, 2, 14)]

@human_in_the_loop(render=partial(TimePicker, slots=free_slots))
def schedule_meeting(topic: str, attendee: str):
    "Ask the user to select a meeting time."

ITEMS = [{"name": "bread"}, {"name": "soup", "count": 2}]
agent = ScriptedAgent([calls("order", shop="corner", items=ITEMS), says("Done.")] * 2)
session = Session(agent, tools=[order], journal=None)
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    kernel.run(SETUP, patience=60)
    return kernel


def answer(widget, question, value):
    widget.respond(question, value)


def with_faults(widget):
    item = card(widget, "executing")
    return item if item["props"]["errors"] else None


def loaded_card(widget):
    item = card(widget, "executing")
    return None if item["props"]["loading"] else item


def card_called(widget, module):
    item = card(widget, "executing")
    return item if item is not None and item["card"] == module else None


def test_a_bad_edit_comes_back_to_its_place_and_a_good_one_reaches_the_agent(ready):
    cell = ready.execute("reply = await session.run('Go'); print(reply.calls[0].outcome)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    assert (question["card"], question["props"]["mode"], question["props"]["errors"]) == ("form", "review", [])
    assert question["props"]["value"] == {
        "shop": "corner",
        "items": [{"name": "bread", "count": 1}, {"name": "soup", "count": 2}],
    }
    answer(widget, question, {"edits": [{"op": "set", "path": ["items", 1, "count"], "value": 20}]})
    refused = ready.until(lambda: said(widget, "answered"), "an acknowledgement")
    assert refused["accepted"] is False
    shown = ready.until(lambda: with_faults(widget), "the fault on the card")
    assert shown["props"]["errors"] == [{"path": ["items", 1, "count"], "message": "At most 9."}]
    assert "at most 9" in shown["error"]
    answer(widget, question, {"edits": [{"op": "set", "path": ["items", 1, "count"], "value": 3}]})
    assert ready.output(cell) == "edited"
    result = json.loads(ready.run("print(agent.results(1)['call_1'])"))
    assert result["edits"] == [{"path": "items[1].count", "from": 2, "to": 3}]
    assert result["value"]["items"][1] == {"name": "soup", "count": 3}
    assert ready.run("print(agent.inputs[1].messages[-1].role, reply.text)") == "tool Done."


@pytest.mark.parametrize(
    ("sent", "outcome", "status"),
    [
        ({"edits": []}, "answered", None),
        ({"instead": "the other shop"}, "declined", "answered_instead"),
        (None, "declined", "declined"),
    ],
)
def test_a_proposal_is_confirmed_answered_instead_or_declined(ready, sent, outcome, status):
    cell = ready.execute("reply = await session.run('Go'); print(reply.calls[0].outcome)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    widget.respond(question, sent) if sent is not None else widget.decline(question, "too dear")
    assert ready.output(cell) == outcome
    result = json.loads(ready.run("print(agent.results(1)['call_1'])"))
    assert result.get("status") == status
    if status is None:
        assert result["items"] == [{"name": "bread", "count": 1}, {"name": "soup", "count": 2}]
    saved = ready.about(cell, "update_display_data")[-1]["data"]["text/plain"]
    assert {"answered": "✓ Confirmed", "declined": "✗ Declined"}[outcome] in saved


def test_the_slots_of_the_application_arrive_on_an_open_card(ready):
    ready.run("picking = ScriptedAgent([calls('schedule_meeting', topic='launch', attendee='ada'), says('See you.')])")
    cell = ready.execute(
        "reply = await Session(picking, tools=[schedule_meeting], journal=None).run('Go')\n"
        "print(reply.calls[0].answer, asked)"
    )
    widget = ask(ready, cell)
    question = card(widget, "executing")
    assert (question["card"], question["props"]["loading"]) == ("time_picker", True)
    answer(widget, question, {"chosen": [0]})
    assert "still being loaded" in ready.until(lambda: said(widget, "answered"), "an acknowledgement")["error"]
    ready.widget(label="calendar").send("here are the times")
    loaded = ready.until(lambda: loaded_card(widget), "slots")
    assert [slot["label"] for slot in loaded["props"]["slots"]] == ["10:00", "14:00"]
    answer(widget, question, {"chosen": [1]})
    assert ready.output(cell) == "2026-03-02 14:00:00 ['ada']"


def test_a_calendar_that_fails_leaves_a_form_to_type_the_time(ready):
    ready.run(
        "async def broken(call): raise OSError('no network')\n"
        "@human_in_the_loop(name='schedule_meeting', render=partial(TimePicker, slots=broken))\n"
        "def broken_meeting(topic: str) -> datetime: 'Ask.'\n"
        "picking = ScriptedAgent([calls('schedule_meeting', topic='launch'), says('See you.')])"
    )
    cell = ready.execute(
        "reply = await Session(picking, tools=[broken_meeting], journal=None).run('Go')\nprint(reply.calls[0].answer)"
    )
    widget = ask(ready, cell)
    question = ready.until(lambda: card_called(widget, "form"), "the default card")
    assert "no network" in question["warning"]
    time = {"$": "datetime", "text": "2026-03-02T10:00"}
    answer(widget, question, {"edits": [{"op": "set", "path": [], "value": time}]})
    assert ready.output(cell) == "2026-03-02 10:00:00"


def test_questions_of_a_plain_cell_have_their_cards(ready):
    cell = ready.execute(
        "print(await ask('Which column?'), await choose('Which one?', [Item(name='a'), Item(name='b')]))"
    )
    widget = ask(ready, cell)
    assert card(widget, "executing")["card"] == "text"
    answer(widget, card(widget, "executing"), {"text": "the second"})
    # They share a view: the cell puts out nothing else.
    answer(widget, ready.until(lambda: card_called(widget, "choice"), "the second question"), {"chosen": [1]})
    assert ready.output(cell) == "the second name='b' count=1"
