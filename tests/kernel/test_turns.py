"""Whose turn it is, in a real kernel with real click messages: a click counts only for whoever is being asked."""

import json
import sqlite3
from contextlib import closing
from typing import Any

import pytest

from .client import Kernel, Widget
from .test_sessions import ask, card, drawn, root_of

SETUP = """
import asyncio, sqlite3
import ipywidgets
from ag_ui.core import Interrupt, RunFinishedEvent, RunFinishedInterruptOutcome, RunStartedEvent
from hitl_nb import Journal, Session, approve, gate, human_in_the_loop
from hitl_nb.people import AllOf, Escalate, NotebookPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

ran = []

@gate
def delete(rows: int) -> str:
    "Delete rows for good."
    ran.append(rows)
    return "deleted"

def deleting(*people, tool=delete, **options):
    agent = ScriptedAgent([calls(tool.name, rows=3), says("ok")])
    return Session(agent, tools=[tool], people=list(people), **{"journal": None, **options})

class Rule:
    "A rule that takes its time; `ruling` says what it says."
    via = "policy"

    def __init__(self):
        self.ruling = asyncio.get_running_loop().create_future()

    async def __call__(self, call):
        answer = await self.ruling
        if answer == "deny":
            call.decline("not on Fridays")

class Stops(ScriptedAgent):
    "Ends its runs with these interrupts, all with one id."

    async def run(self, input):
        turn = self.turns[len(self.inputs)]
        if not isinstance(turn, int):
            async for event in super().run(input):
                yield event
            return
        self.inputs.append(input.model_copy(deep=True))
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        stops = [Interrupt(id="same", reason="approval", message="Deploy?")] * turn
        outcome = RunFinishedInterruptOutcome(interrupts=stops)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id, outcome=outcome)
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    kernel.run(SETUP, patience=60)
    return kernel


def hello(kernel: Kernel, cell: str) -> Widget:
    """The cell's root widget, with a browser in front of it."""
    widget = kernel.until(lambda: root_of(kernel, cell), "root widget of the cell")
    widget.send({"op": "hello", "have": 0})
    return widget


def now(widget: Widget) -> list[dict]:
    """The cards as they are drawn now, in order."""
    return list({item["key"]: item for item in drawn(widget)}.values())


def waiting(widget: Widget, words: str) -> Any:
    """The card that says this of its turn."""
    return next((item for item in now(widget) if item["turn"]["words"] == words), None)


def fate(kernel: Kernel, widget: Widget, item: dict, act: str = "respond", value: object = None) -> dict:
    """Click, and give what the kernel says of it."""
    before = len([message for message in widget.received if message["op"] == "answered"])
    widget.respond(item, value) if act == "respond" else widget.decline(item)

    def told() -> dict | None:
        answers = [message for message in widget.received if message["op"] == "answered"]
        return answers[before] if len(answers) > before else None

    return kernel.until(told, "an acknowledgement")


CONFIRM = {"edits": []}


@pytest.mark.parametrize("act", ["respond", "decline"])
def test_a_click_before_a_rules_deny_decides_nothing(ready, act):
    ready.run("rule = Rule(); session = deleting(rule, NotebookPerson())")
    ready.run("run = session.start('go')")
    widget = ready.widget()
    widget.send({"op": "hello", "have": 0})
    shut = ready.until(lambda: waiting(widget, "A rule decides first"), "a shut card")
    assert (shut["status"], shut["turn"]["open"]) == ("executing", False)
    refused = fate(ready, widget, shut, act, CONFIRM)
    assert refused["accepted"] is False
    assert "a rule first" in refused["error"]
    assert ready.run("rule.ruling.set_result('deny'); reply = await run; print(reply.calls[0].reason, ran)") == (
        "not on Fridays []"
    )
    assert now(widget)[0]["record"]["headline"] == "Declined: not on Fridays"


def test_a_rule_that_passes_opens_the_card_and_a_click_of_its_time_still_does_not_count(ready):
    ready.run("rule = Rule(); session = deleting(rule, NotebookPerson('Ada'))")
    ready.run("run = session.start('go')")
    widget = ready.widget()
    widget.send({"op": "hello", "have": 0})
    shut = ready.until(lambda: waiting(widget, "A rule decides first"), "a shut card")
    ready.run("rule.ruling.set_result('pass')")
    question = ready.until(lambda: waiting(widget, "Waiting for Ada"), "an open card")
    assert (question["key"], question["turn"]["token"]) != (shut["key"], shut["turn"]["token"])
    assert fate(ready, widget, shut, value=CONFIRM)["accepted"] is False
    assert fate(ready, widget, question, value=CONFIRM)["accepted"] is True
    assert ready.run("reply = await run; call = reply.calls[0]; print(call.answered_by, call.via, ran)") == (
        "Ada card [3]"
    )


def test_where_several_are_asked_nobody_clicks_for_them_and_each_has_a_card(ready):
    ready.run("session = deleting(AllOf(NotebookPerson('Ada'), NotebookPerson('Bob')))")
    cell = ready.execute("ran.clear(); reply = await session.run('go'); print(reply.calls[0].answered_by, ran)")
    widget = hello(ready, cell)
    parent = ready.until(lambda: waiting(widget, "Asked of Ada and Bob, one card each"), "the question itself")
    ada = ready.until(lambda: waiting(widget, "Waiting for Ada"), "Ada's card")
    bob = ready.until(lambda: waiting(widget, "Waiting for Bob"), "Bob's card")
    assert (parent["turn"]["open"], parent["turn"]["several"], parent["props"]) == (False, True, {})
    assert len({parent["id"], ada["id"], bob["id"]}) == 3
    assert fate(ready, widget, parent, value=CONFIRM)["accepted"] is False
    assert fate(ready, widget, parent, "decline")["accepted"] is False
    # A click with one's own turn on somebody else's card.
    assert fate(ready, widget, {**bob, "turn": ada["turn"]}, value=CONFIRM)["accepted"] is False
    assert fate(ready, widget, ada, value=CONFIRM)["accepted"] is True
    assert not ready.is_over(cell)
    assert fate(ready, widget, bob, value=CONFIRM)["accepted"] is True
    assert ready.output(cell) == "Ada and Bob [3]"


def test_one_no_of_several_is_a_no_and_the_other_card_closes(ready):
    ready.run("session = deleting(AllOf(NotebookPerson('Ada'), NotebookPerson('Bob')))")
    cell = ready.execute("ran.clear(); reply = await session.run('go'); print(reply.calls[0].outcome, ran)")
    widget = hello(ready, cell)
    ada = ready.until(lambda: waiting(widget, "Waiting for Ada"), "Ada's card")
    bob = ready.until(lambda: waiting(widget, "Waiting for Bob"), "Bob's card")
    fate(ready, widget, ada, value=CONFIRM)
    fate(ready, widget, bob, "decline")
    assert ready.output(cell) == "declined []"
    assert {item["status"] for item in now(widget)} == {"complete"}


def test_when_it_is_passed_on_the_first_ones_late_click_does_not_count(ready):
    ready.run("session = deleting(Escalate(NotebookPerson('Ada'), after=0.3, to=NotebookPerson('Bob')))")
    cell = ready.execute("ran.clear(); reply = await session.run('go'); print(reply.calls[0].answered_by, ran)")
    widget = hello(ready, cell)
    ada = ready.until(lambda: waiting(widget, "Waiting for Ada"), "Ada's card")
    bob = ready.until(lambda: waiting(widget, "Waiting for Bob"), "Bob's turn")
    assert bob["key"] == ada["key"]
    late = fate(ready, widget, ada, value=CONFIRM)
    assert (late["accepted"], "asked anew" in late["error"]) == (False, True)
    assert card(widget, "executing")["turn"]["open"]
    assert fate(ready, widget, bob, value=CONFIRM)["accepted"] is True
    assert ready.output(cell) == "Bob [3]"


def test_two_questions_with_one_id_are_two_cards_and_each_is_live(ready):
    ready.run("agent = Stops([2, says('ok')]); session = Session(agent, people=[NotebookPerson()], journal=None)")
    cell = ready.execute("reply = await session.run('go'); print([call.outcome for call in reply.calls])")
    widget = hello(ready, cell)
    first, second = ready.until(lambda: len(open_cards(widget)) == 2 and open_cards(widget), "two cards")
    fate(ready, widget, first, "decline")
    assert [item["id"] for item in open_cards(widget)] == [second["id"]]
    fate(ready, widget, second, value={})
    assert sorted(json.loads(ready.output(cell).replace("'", '"'))) == ["answered", "declined"]


def test_the_same_question_in_a_later_run_is_a_card_of_its_own(ready):
    ready.run(
        "agent = Stops([1, says('ok'), 1, says('ok')])\n"
        "session = Session(agent, people=[NotebookPerson()], journal=None)"
    )
    seen = []
    for act, expected in (("respond", "answered"), ("decline", "declined")):
        cell = ready.execute("reply = await session.run('go'); print(reply.calls[-1].outcome)")
        widget = hello(ready, cell)
        question = ready.until(lambda widget=widget: card(widget, "executing"), "a live card")
        seen.append(question["id"])
        assert fate(ready, widget, question, act, {})["accepted"] is True
        assert ready.output(cell) == expected
    assert len(set(seen)) == 2


def open_cards(widget: Widget) -> list[dict]:
    return [item for item in now(widget) if item["turn"]["open"]]


# -- a widget of the user's own ---------------------------------------------------------------------------------------

OWN = """
made = []

def button(call):
    box = ipywidgets.Button(description=f"go {len(made)}")
    box.on_click(lambda _: made[-1].append(call.respond(call.args)))
    made.append([])
    return box

@gate(render=button)
def wipe(rows: int) -> str:
    "Wipe rows."
    ran.append(rows)
    return "wiped"
"""


def press(kernel: Kernel, description: str) -> str:
    return kernel.widget("ButtonModel", description=description).send({"event": "click"})


def mounted(kernel: Kernel, root: Widget) -> list[str]:
    """The user's own widgets on screen, by their description."""
    opened = {
        message["content"]["comm_id"]: message["content"]["data"]["state"]
        for message in kernel.published
        if message["msg_type"] == "comm_open"
    }
    box = next(
        (
            Widget(kernel, comm)
            for comm, state in reversed(opened.items())
            if state.get("_model_name") == "VBoxModel" and f"IPY_MODEL_{root.comm_id}" in state.get("children", [])
        ),
        None,
    )
    children = [] if box is None else [child.removeprefix("IPY_MODEL_") for child in box.state["children"]]
    return [opened[child]["description"] for child in children if opened[child].get("_model_name") == "ButtonModel"]


def test_a_widget_of_the_users_own_is_there_in_a_persons_turn_only(ready):
    ready.run(OWN + "rule = Rule(); session = deleting(rule, NotebookPerson('Ada'), tool=wipe)")
    ready.run("ran.clear(); run = session.start('go')")
    widget = ready.widget()
    widget.send({"op": "hello", "have": 0})
    ready.until(lambda: "A rule decides first" in str(widget.received), "whose turn it is")
    assert mounted(ready, widget) == []
    assert ready.run("print(made)") == "[]"
    ready.run("rule.ruling.set_result('pass')")
    ready.until(lambda: mounted(ready, widget) == ["go 0"], "the widget")
    ready.until_idle(press(ready, "go 0"))
    assert ready.run("reply = await run; call = reply.calls[0]; print(call.answered_by, call.via, ran, made)") == (
        "Ada card [3] [[True]]"
    )
    assert mounted(ready, widget) == []


def test_a_widget_of_the_users_own_answers_for_the_one_it_was_made_for_only(ready):
    people = "Escalate(NotebookPerson('Ada'), after=0.3, to=NotebookPerson('Bob'))"
    ready.run(f"{OWN}session = deleting({people}, tool=wipe)")
    ready.run("ran.clear(); run = session.start('go')")
    widget = ready.widget()
    widget.send({"op": "hello", "have": 0})
    ready.until(lambda: mounted(ready, widget) == ["go 1"], "Bob's widget in the place of Ada's")
    ready.until_idle(press(ready, "go 0"))
    assert ready.run("print(run.status, made, ran)") == "waiting [[], [False]] []"
    ready.until_idle(press(ready, "go 1"))
    assert ready.run("reply = await run; print(reply.calls[0].answered_by, made, ran)") == (
        "Bob [[], [False, True]] [3]"
    )


# -- an answer counts when it is on disk ------------------------------------------------------------------------------


def test_one_click_sent_three_times_is_one_answer_and_one_word(ready, tmp_path):
    ready.run(f"session = deleting(NotebookPerson('Ada'), journal=Journal({str(tmp_path / 'j.sqlite')!r}))")
    cell = ready.execute("ran.clear(); reply = await session.run('go'); print(reply.calls[0].late_answers, ran)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    click = {"call_id": question["id"], "turn": question["turn"]["token"], "click": "c", "op": "respond"}
    for _ in range(3):
        widget.send({**click, "value": CONFIRM})
    assert ready.output(cell) == "[] [3]"
    words = [message for message in widget.received if message["op"] == "answered"]
    assert {(word["click"], word["accepted"], word["error"]) for word in words} == {("c", True, None)}


def test_an_answer_that_cannot_be_written_opens_the_card_again_and_nothing_runs(ready, tmp_path):
    path = str(tmp_path / "j.sqlite")
    ready.run(f"session = deleting(NotebookPerson('Ada'), journal=Journal({path!r}))")
    cell = ready.execute("ran.clear(); reply = await session.run('go'); print(reply.calls[0].outcome, ran)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    with sqlite(path) as file:
        file.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
    refused = fate(ready, widget, question, value=CONFIRM)
    assert refused["accepted"] is False
    assert "could not be written down and does not count" in refused["error"]
    again = card(widget, "executing")
    assert (again["turn"], again["error"]) == (question["turn"], refused["error"])
    with sqlite(path) as file:
        file.execute("DROP TRIGGER full")
    assert fate(ready, widget, again, value=CONFIRM)["accepted"] is True
    assert ready.output(cell) == "answered [3]"


def sqlite(path: str) -> closing:
    return closing(sqlite3.connect(path, isolation_level=None))


def test_a_checkpoint_about_something_that_code_has_changed_ends_and_says_why(ready):
    ready.run("rows = [1, 2, 3]; question = approve('Drop these?', rows, people=NotebookPerson()).start()")
    widget = ready.widget()
    widget.send({"op": "hello", "have": 0})
    asked = ready.until(lambda: card(widget, "executing"), "the question")
    ready.run("rows.append(4)")
    refused = fate(ready, widget, asked, value={"approved": True})
    assert refused["accepted"] is False
    assert "changed by code while the question was open" in refused["error"]
    assert ready.reply(ready.execute("await question"))["ename"] == "ChangedWhileWaiting"
    assert now(widget)[0]["record"]["outcome"] == "cancelled"


def test_the_head_of_the_journal_stands_beside_the_record_and_not_beside_the_live_view(ready):
    cell = ready.execute("run = deleting(NotebookPerson()).start('go'); run.transcript.head = lambda: 'abc'")
    widget = hello(ready, cell)
    fate(ready, widget, ready.until(lambda: card(widget, "executing"), "a question"), "decline")
    ready.run("await run")
    record = ready.until(
        lambda: next((each for each in displayed(ready, cell) if not is_live(each)), None), "the record"
    )
    assert record["metadata"] == {"hitl_nb": {"journal_head": "abc"}}
    assert [each["metadata"] for each in displayed(ready, cell) if is_live(each) and each["metadata"]] == []


def displayed(kernel: Kernel, cell: str) -> list[dict]:
    """What a cell displays, and what takes its place: on behalf of any cell, for ipykernel 6 says which one runs."""
    shown = kernel.about(cell, "display_data")
    places = [each["transient"]["display_id"] for each in shown if "display_id" in each.get("transient", {})]
    updates = [message["content"] for message in kernel.published if message["msg_type"] == "update_display_data"]
    return [*shown, *(each for each in updates if each["transient"]["display_id"] in places)]


def is_live(bundle: dict) -> bool:
    return any("widget-view" in kind for kind in bundle["data"])


def test_what_has_no_content_is_said_on_the_card_and_in_the_record(ready):
    cell = ready.execute(
        "file = sqlite3.connect(':memory:')\nprint(await approve('Use it?', {'db': file}, people=NotebookPerson()))"
    )
    widget = ask(ready, cell)
    question = card(widget, "executing")
    assert question["about"] == "Compared by identity, not by content: sqlite3.Connection"
    fate(ready, widget, question, value={"approved": True, "edits": []})
    ready.output(cell)
    saved = ready.about(cell, "update_display_data")[-1]["data"]["text/plain"]
    assert "    • Compared by identity, not by content: sqlite3.Connection" in saved.splitlines()
