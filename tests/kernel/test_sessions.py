"""A whole session in a real kernel: the cell awaits, a message of the browser answers, the cell goes on."""

import ast
import json
import re
from typing import Any

import pytest

from .client import Kernel, Widget

SETUP = """
from typing import Literal
from pydantic import BaseModel
from hitl_nb import Session, human_in_the_loop
from hitl_nb.cards import StepReview
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"]

@human_in_the_loop(render=StepReview)
def generate_task_steps(steps: list[Step]) -> list[Step]:
    "Propose steps."

STEPS = [{"description": name, "status": "enabled"} for name in ("pack", "launch", "land")]
agent = ScriptedAgent([calls("generate_task_steps", steps=STEPS), says("Off we go.")] * 4)
session = Session(agent, tools=[generate_task_steps])
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    kernel.run(SETUP, patience=60)
    return kernel


def ask(kernel: Kernel, cell: str) -> Widget:
    """Wait for the cell's card and say hello, as the browser does."""
    widget = kernel.until(lambda: root_of(kernel, cell), "root widget of the cell")
    widget.send({"op": "hello", "have": 0})
    kernel.until(lambda: card(widget, "executing"), "a question")
    return widget


def root_of(kernel: Kernel, cell: str) -> Widget | None:
    for message in kernel.published:
        opened = message["msg_type"] == "comm_open" and message["parent_header"].get("msg_id") == cell
        if opened and message["content"]["data"]["state"].get("_model_name") == "AnyModel":
            return Widget(kernel, message["content"]["comm_id"])
    return None


def drawn(widget: Widget) -> list[dict]:
    """Every state of every card, in order."""
    return [item for message in widget.received for item in message.get("items", []) if item["type"] == "call"]


def card(widget: Widget, status: str) -> Any:
    """The newest card with this status; ``executing``: one that a click can answer."""
    is_it = (item for item in reversed(drawn(widget)) if item["status"] == status)
    return next((item for item in is_it if item["turn"]["open"] or status != "executing"), None)


def said(widget: Widget, op: str) -> dict | None:
    return next((message for message in reversed(widget.received) if message["op"] == op), None)


def test_a_click_ends_the_waiting_cell_and_the_next_request_holds_the_choice(ready):
    cell = ready.execute("reply = await session.run('Go'); print(reply.text)")
    after = ready.execute("print('next cell')")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    assert [step["label"] for step in question["props"]["steps"]] == ["pack", "launch", "land"]
    widget.respond(question, {"checked": [True, False, True]})
    assert ready.output(cell) == "Off we go."
    assert ready.output(after) == "next cell"
    result = json.loads(ready.run("print(agent.results(1)['call_1'])"))
    assert [step["status"] for step in result] == ["enabled", "disabled", "enabled"]
    acknowledged = [message for message in widget.received if message["op"] == "answered"]
    assert acknowledged[0]["accepted"] is True


def test_a_late_and_a_double_click_change_nothing(ready):
    cell = ready.execute("reply = await session.run('Go'); print(reply.calls[0].late_answers)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    widget.respond(question, {"checked": [True, True, True]})
    widget.respond(question, {"checked": [False, False, False]})
    ready.output(cell)
    widget.respond(question, {"checked": [False, False, False]})
    statuses = "print([step['status'] for step in json.loads(agent.results(1)['call_1'])])"
    assert ready.run(f"import json; {statuses}") == "['enabled', 'enabled', 'enabled']"
    ready.until(lambda: len([m for m in widget.received if m["op"] == "answered"]) == 3, "three acknowledgements")
    assert [m["accepted"] for m in widget.received if m["op"] == "answered"] == [True, False, False]


def test_an_answer_that_does_not_fit_is_refused_on_the_card_and_the_question_stays_open(ready):
    cell = ready.execute("print((await session.run('Go')).calls[0].outcome)")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    widget.respond(question, {"checked": [True]})
    refused = ready.until(lambda: [m for m in widget.received if m["op"] == "answered"], "an acknowledgement")
    assert refused[0]["accepted"] is False
    assert "3 steps" in refused[0]["error"]
    widget.decline(question, "not today")
    assert ready.output(cell) == "declined"
    assert json.loads(ready.run("print(agent.results(1)['call_1'])"))["reason"] == "not today"


def test_the_stop_button_ends_the_cell_closes_the_call_and_leaves_the_history_valid(ready):
    cell = ready.execute("await session.run('Go')")
    widget = ask(ready, cell)
    ready.interrupt()
    stopped = ready.reply(cell)
    assert stopped["ename"] == "CancelledError"
    assert stopped["traceback"] == ["CancelledError: stopped. What was still open is not approved."]
    ready.until(lambda: card(widget, "complete"), "a closed card")
    assert card(widget, "complete")["record"]["outcome"] == "aborted"
    assert ready.run("print(session.messages[-1].content)") == "Error: Human-in-the-loop interaction aborted"
    # The same session goes on: the agent is given the valid history.
    assert ready.run("print((await session.run('Again')).text)") == "Off we go."


def test_a_run_in_the_background_leaves_its_cell_and_is_awaited_later(ready):
    cell = ready.execute("run = session.start('Go')")
    ready.output(cell)
    widget = ask(ready, cell)
    assert ready.run("print(run.status)") == "waiting"
    widget.respond(card(widget, "executing"), {"checked": [True] * 3})
    assert ready.run("print((await run).text)") == "Off we go."


def test_what_the_browser_missed_it_gets_on_asking(ready):
    cell = ready.execute("await session.run('Go'); print('done')")
    widget = ask(ready, cell)
    question = card(widget, "executing")
    snapshot = ready.until(lambda: said(widget, "snapshot"), "an answer to hello")
    assert [item["type"] for item in snapshot["items"]] == ["message", "call"]
    newest = max(message["seq"] for message in widget.received)
    widget.send({"op": "hello", "have": newest})
    assert ready.until(lambda: said(widget, "same"), "an answer to the poll")["seq"] == newest
    widget.decline(question)
    ready.output(cell)


def test_the_saved_output_is_the_record_in_html_and_text(ready):
    cell = ready.execute("await session.run('Go'); None")
    widget = ask(ready, cell)
    widget.respond(card(widget, "executing"), {"checked": [True, False, True]})
    ready.output(cell)
    saved = ready.about(cell, "update_display_data")[-1]["data"]
    assert set(saved) == {"text/html", "text/plain"}
    assert "Confirmed 2 of 3 steps" in saved["text/plain"]
    assert "☐ launch" in saved["text/plain"]
    rows = re.findall(r"([☐☑]) (\w+)</li>", saved["text/html"])
    assert rows == [("☑", "pack"), ("☐", "launch"), ("☑", "land")]
    assert "<s>" not in saved["text/html"], "what was not chosen looks deleted"


def test_a_program_without_a_front_end_gets_no_human_error_and_nothing_was_answered(ready):
    cell = ready.execute("await session.run('Go')", allow_stdin=False)
    reply = ready.reply(cell)
    assert reply["ename"] == "NoHumanError"
    assert "generate_task_steps" in reply["evalue"]
    assert "ScriptedPerson" in reply["evalue"]
    assert ready.run("print(len(agent.inputs), session.messages[-1].role)") == "1 tool"


def test_the_journal_has_asked_shown_answered_and_delivered_in_this_order(ready):
    ready.run("from hitl_nb import Journal; journal = Journal('memory')")
    ready.run("session = Session(ScriptedAgent([calls('generate_task_steps', steps=STEPS), says('ok')]),"
              " tools=[generate_task_steps], journal=journal)")  # fmt: skip
    cell = ready.execute("await session.run('Go'); None")
    widget = ask(ready, cell)
    seq = max(message["seq"] for message in widget.received)
    widget.send({"op": "hello", "have": seq})
    widget.respond(card(widget, "executing"), {"checked": [True, True, False]})
    ready.output(cell)
    rows = ready.run("print([row[0] for row in journal._store.rows('SELECT event FROM events ORDER BY id', ())])")
    order = ["asked", "shown", "answered", "delivered"]
    assert [event for event in ast.literal_eval(rows) if event in order] == order
