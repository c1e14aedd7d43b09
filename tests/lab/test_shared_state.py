"""Shared state in a cell: a person edits it while the agent works, and both hear of what they have both changed."""

from playwright.async_api import expect

SETUP = """\
import asyncio
from typing import Literal

from ag_ui.core import StateSnapshotEvent
from pydantic import BaseModel

from hitl_nb import Session
from hitl_nb.testing import says
from tests.agents import ScriptedAgent


class Step(BaseModel):
    id: int
    title: str
    status: Literal["open", "done"] = "open"


class Trip(BaseModel):
    title: str
    days: int
    fast: bool = False
    steps: list[Step]


def turn(input):
    agent.went = input.state
    title = "Phobos" if len(agent.inputs) == 1 else input.state["title"]
    if len(agent.inputs) == 1:
        session.state["title"] = "Moon"  # while the agent works
    yield StateSnapshotEvent(snapshot={**input.state, "title": title, "days": 7})
    yield from agent._events(says("Planned."), f"m{len(agent.inputs)}")


agent = ScriptedAgent([turn, turn])
trip = Trip(title="Mars", days=3, steps=[Step(id=1, title="pack"), Step(id=2, title="launch")])
session = Session(agent, state=trip)
"""


async def test_a_person_edits_and_resolves_what_both_have_changed(open_notebook):
    notebook = await open_notebook(
        {
            "setup": SETUP,
            "edit": "session.state.edit()",
            "during": ("reply = await session.run('Go')"),
            "again": "reply = await session.run('Again')\nprint(agent.went)",
        }
    )
    page = notebook.page
    await notebook.run("setup")
    await notebook.finished("setup")
    await notebook.run("edit")
    editor = page.get_by_role("region", name="Shared state")
    await expect(editor.get_by_role("textbox", name="Title").first).to_have_value("Mars")
    rows = editor.get_by_role("listitem")
    await rows.nth(0).get_by_role("textbox", name="Title").fill("pack well")
    await rows.nth(0).get_by_role("combobox", name="Status").select_option("done")
    await editor.get_by_label("Fast").check()
    await editor.get_by_role("button", name="Add to Steps").press("Enter")
    await rows.nth(2).get_by_role("textbox", name="Title").fill("land")
    await rows.nth(2).get_by_role("textbox", name="Title").press("Tab")
    await rows.nth(2).get_by_role("button", name="Move up").first.press("Enter")
    await expect(rows.nth(1).get_by_role("textbox", name="Title")).to_have_value("land")

    await notebook.run("during")
    await notebook.finished("during")
    await expect(editor.get_by_role("spinbutton", name="Days")).to_have_value("7")
    conflict = editor.get_by_role("group").filter(has_text="both changed title")
    await expect(conflict).to_be_visible()
    await expect(editor.get_by_role("textbox", name="Title").first).to_have_value("Moon")
    await conflict.get_by_role("button", name="Take the agent's: Phobos").press("Enter")
    await expect(editor.get_by_role("textbox", name="Title").first).to_have_value("Phobos")
    await notebook.run("again")
    went = await notebook.output("again")
    await notebook.save()
    assert "Shared state" in str(notebook.saved())
    assert "'title': 'Phobos', 'days': 7, 'fast': True" in went
    assert "{'id': 1, 'title': 'pack well', 'status': 'done'}, {'id': 3, 'title': 'land', 'status': " in went
