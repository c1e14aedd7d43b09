"""Chat, frontend actions, shared state and what an agent is told, by hand: each with a CrewAI Flow in the kernel and
with the same Flow behind `ag_ui_crewai`; and a chat with a LangGraph agent over HTTP.

One notebook for all of it. What counts is what the next request to the model holds.
"""

import json

import pytest
from playwright.async_api import expect

from tests.lab.lab import PATIENCE

pytestmark = pytest.mark.timeout(300)  # the first one imports crewai and langchain

SETUP = """\
from contextlib import ExitStack

from hitl_nb import Session, frontend_tool, human_in_the_loop
from hitl_nb.cards import Checklist
from hitl_nb.testing import calls, says
from tests.flow.mars import generate_task_steps
from tests.foreign.test_langgraph import choose_city
from tests.lab.boards import agents, cities, go_on, model_of, told

served = ExitStack()
where = served.enter_context(agents())
STEPS = [{"description": name, "status": "enabled"} for name in ("pack", "launch", "land")]
rows, table = [1, 2, 3], []


@frontend_tool
def row_count(table: str) -> int:
    "Count the rows of a table in the notebook."
    return len(rows)


@frontend_tool
def load(path: str) -> dict[str, str]:
    "Load a file."
    return {"loaded": path}
"""

PLAN = """\
model = model_of(
    [calls("row_count", table="orders"), calls("generate_task_steps", steps=STEPS)],
    says("On my way with **two** steps."),
    says("A file."),
)
plan = Session(where["{where}"]["plan"], tools=[row_count, load, generate_task_steps], journal=None)
plan.suggestions(("Mars", "Plan a trip to Mars"), instructions="next steps", count=1)
plan.render_tool_call("row_count", lambda call: f"Counted **{{call.result or '…'}}** rows")
plan.render_tool_call()
plan.chat(title="Planner {where}")
"""

BOARD = """\
go_on.clear()
table[:] = rows
model = model_of(says("All is done."), says("To the Moon."))
board = Session(
    where["{where}"]["board"],
    state={{"title": "Mars", "days": 3, "steps": [{{"id": 1, "title": "pack", "status": "pending"}}]}},
    journal=None,
)
board.agent_context("rows of the table", lambda: str(len(table)))
board.render_state(Checklist("steps"))
board.state.edit()
"""

CELLS = {"setup": SETUP}
for _where in ("inside", "served"):
    CELLS |= {
        f"plan-{_where}": PLAN.format(where=_where),
        f"told-{_where}": "print('TOLD', told(model))",
        f"tool-{_where}": "call = await plan.run_tool('load', {'path': 'a.csv'}, follow_up='What is it?')",
        f"tool-told-{_where}": "print('TOLD', told(model))",
        f"board-{_where}": BOARD.format(where=_where),
        f"talk-{_where}": f"board.chat(title='Board {_where}')",
        f"go-{_where}": "go_on.set()",
        f"board-told-{_where}": "table.append(4)\nprint('TOLD', told(model))",
        f"again-{_where}": "print('TOLD', told(model))",
    }
CELLS |= {
    "graph": "Session(where['graph']['cities'], tools=[choose_city], journal=None).chat(title='Cities')",
    "graph-told": "print([[m.type, m.content] for m in cities.requests[-1]])",
}


@pytest.fixture(scope="module")
async def notebook(lab):
    async with lab.one(CELLS, patience=150) as opened:
        yield opened


async def panel(notebook, cell):
    """Run a cell with a chat, and give the panel."""
    await notebook.run(cell)
    shown = notebook.cell(cell).locator(".hitl-chat")
    await expect(shown.get_by_role("textbox", name="Message")).to_be_visible(timeout=PATIENCE * 1000)
    return shown


async def say(shown, text):
    box = shown.get_by_role("textbox", name="Message")
    await box.fill(text)
    await expect(shown.get_by_role("button", name="Send", exact=True)).to_be_enabled()  # the run before may go on
    await box.press("Enter")


async def printed(notebook, cell):
    await notebook.run(cell)
    output = await notebook.output(cell)  # CrewAI prints in a server what it does
    return json.loads(output.partition("TOLD ")[2].splitlines()[0])


@pytest.fixture(scope="module", params=["inside", "served"])
def where(request):
    """Where the Flow runs: first all of it in the kernel, then all of it behind a server."""
    return request.param


async def test_in_a_chat_the_model_calls_a_function_and_asks_and_is_told_what_came_of_both(notebook, where):
    shown = await panel(notebook, f"plan-{where}")
    log = shown.locator(".hitl-chat-log")
    await expect(shown.get_by_role("button", name="Go on")).to_be_visible()  # by the model
    await shown.get_by_role("button", name="Mars").click()
    await expect(log.get_by_text("Counted")).to_have_text("Counted 3 rows")
    card = log.get_by_role("group", name="Generate task steps", exact=True)
    await expect(card.get_by_role("button", name="Confirm")).to_be_enabled()
    await card.get_by_role("checkbox", name="launch").click()
    await notebook.rested()
    await card.get_by_role("button", name="Confirm").click()
    await expect(log.get_by_text("On my way with two steps.")).to_be_visible()
    asked, counted, chosen = (await printed(notebook, f"told-{where}"))[-3:]
    assert [call["function"]["name"] for call in asked["tool_calls"]] == ["row_count", "generate_task_steps"]
    assert [counted["tool_call_id"], chosen["tool_call_id"]] == [call["id"] for call in asked["tool_calls"]]
    assert counted["content"] == "3"
    steps = json.loads(chosen["content"])
    assert [step["status"] for step in steps] == ["enabled", "disabled", "enabled"]


async def test_code_runs_a_tool_and_the_model_finds_call_and_result(notebook, where):
    await notebook.run(f"tool-{where}")
    assert "Load (load), done" in await notebook.output(f"tool-{where}")
    asked, result, user = (await printed(notebook, f"tool-told-{where}"))[-3:]
    assert asked["tool_calls"][0]["function"] == {"name": "load", "arguments": '{"path":"a.csv"}'}
    assert (result["tool_call_id"], result["content"]) == (asked["tool_calls"][0]["id"], '{"loaded":"a.csv"}')
    assert user["content"] == "What is it?"
    chat = notebook.cell(f"plan-{where}").locator(".hitl-chat-log")
    await expect(chat.get_by_text("A file.")).to_be_visible()  # it hears of each run


async def test_a_board_is_edited_by_both_at_once_and_the_model_is_told_what_the_person_has_made_of_it(notebook, where):
    await notebook.run(f"board-{where}")
    editor = notebook.cell(f"board-{where}").get_by_role("region", name="Shared state")
    title = editor.get_by_role("textbox", name="Title").first
    await expect(title).to_have_value("Mars")
    await editor.get_by_role("spinbutton", name="Days").fill("5")
    await editor.get_by_role("spinbutton", name="Days").press("Tab")
    shown = await panel(notebook, f"talk-{where}")
    log = shown.locator(".hitl-chat-log")
    await say(shown, "Go")
    await expect(log.get_by_text("0 of 1 done")).to_be_visible()
    await expect(log.get_by_text("● pack")).to_be_visible()
    await title.fill("Moon")  # while the agent works
    await title.press("Tab")
    await notebook.run(f"go-{where}")
    await expect(log.get_by_text("1 of 1 done")).to_be_visible()
    await expect(log.get_by_text("All is done.")).to_be_visible()
    conflict = editor.get_by_role("group").filter(has_text="both changed title")
    await expect(conflict).to_be_visible()
    await expect(title).to_have_value("Moon")
    system, user = await printed(notebook, f"board-told-{where}")
    known = json.loads(system["content"])
    assert (known["board"]["days"], user["content"]) == (5, "Go")
    assert [each["value"] for each in known["context"]] == ["3"]

    await conflict.get_by_role("button", name="Keep mine: Moon").click()
    await expect(conflict).to_have_count(0)
    await say(shown, "Again")
    await expect(log.get_by_text("To the Moon.")).to_be_visible()
    known = json.loads((await printed(notebook, f"again-{where}"))[0]["content"])
    assert known["board"] == {"title": "Moon", "days": 5, "steps": [{"id": 1, "title": "pack", "status": "completed"}]}
    assert [each["value"] for each in known["context"]] == ["4"]  # read again each run
    await expect(editor.get_by_text("copilotkit")).to_have_count(0)


async def test_a_chat_with_a_langgraph_agent_over_http(notebook):
    shown = await panel(notebook, "graph")
    log = shown.locator(".hitl-chat-log")
    await say(shown, "Hello")
    await expect(log.get_by_text("Where to?")).to_be_visible()
    await say(shown, "You choose")
    card = log.get_by_role("group", name="Choose city", exact=True)
    await expect(card.get_by_role("button", name="Confirm")).to_be_enabled()
    await card.get_by_role("textbox").first.fill("Köln")
    await notebook.rested()
    await card.get_by_role("button", name="Confirm").click()
    await expect(log.get_by_text("Köln it is.")).to_be_visible()
    await notebook.run("graph-told")
    told = await notebook.output("graph-told")
    assert told.startswith("[['human', 'Hello'], ['ai', 'Where **to**?'], ['human', 'You choose'], ['ai', '']")
    assert told.rstrip().endswith("['tool', 'Köln']]")


async def test_what_was_said_and_done_is_in_the_saved_file(notebook):
    for cell, words in (("talk-served", "To the Moon."), ("plan-served", "A file."), ("graph", "Köln it is.")):
        await notebook.page.wait_for_function("([cell, words]) => lab.output(cell).includes(words)", arg=[cell, words])
    await notebook.save()
    saved = {each.id: str(each.outputs) for each in notebook.saved().cells}
    assert "1 of 1 done" in saved["talk-inside"]
    assert "1 of 1 done" in saved["talk-served"]
    assert "On my way with" in saved["plan-inside"]
