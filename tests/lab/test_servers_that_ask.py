"""An MCP server over stdio asks in the middle of its tool: what it is told is what was done at the card.

One notebook for all of it. Each cell prints what the *server* got.
"""

import json

import pytest
from playwright.async_api import expect

SETUP = """\
import subprocess
import sys

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client

from hitl_nb.mcp import ElicitingSession, elicitation

TABLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2},
        "day": {"type": "string", "format": "date"},
        "people": {"type": "integer", "minimum": 1, "default": 2},
        "room": {"type": "string", "enum": ["g", "f"], "enumNames": ["Garden", "Fireplace"]},
        "needs": {"type": "array", "items": {"anyOf": [
            {"const": "veg", "title": "Vegetarian"}, {"const": "chair", "title": "High chair"}]}},
    },
    "required": ["name", "day", "people", "room"],
}
server = StdioServerParameters(command=sys.executable, args=["-m", "tests.unit.mcp.server"])


async def told(tool, **arguments):
    async with (
        stdio_client(server, errlog=subprocess.DEVNULL) as streams,
        ElicitingSession(*streams, elicitation_callback=elicitation("bakery")) as session,
    ):
        await session.initialize()
        print("TOLD", (await session.call_tool(tool, arguments)).content[0].text)
"""
CELLS = {
    "setup": SETUP,
    "accept": "await told('ask', schema=TABLE)",
    "decline": "await told('ask', schema=TABLE)",
    "cancel": "await told('ask', schema=TABLE)",
}


@pytest.fixture(scope="module")
async def notebook(lab):
    async with lab.one(CELLS) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def free_again(notebook):
    """Whatever a row has left: no cell waits when the next one begins."""
    yield
    await notebook.until_idle()


async def asked(notebook, cell):
    """Run a cell, and give its card once it takes clicks."""
    await notebook.run(cell)
    card = (
        notebook.cell(cell).get_by_role("group", name="Bakery asks", exact=True).first
    )  # a form in it is called so, too
    await expect(card.get_by_role("button", name="Cancel")).to_be_enabled()
    await notebook.rested()
    return card


async def told(notebook, cell):
    return json.loads((await notebook.output(cell)).rpartition("TOLD ")[2])


async def test_what_is_entered_is_what_the_server_gets(notebook):
    card = await asked(notebook, "accept")
    await expect(card.get_by_text("Order what?")).to_be_visible()
    await card.get_by_role("textbox", name="name").fill("A")
    await card.get_by_role("textbox", name="day").fill("2026-12-24")
    await card.get_by_role("radio", name="Fireplace").check()
    await card.get_by_role("checkbox", name="High chair").check()
    await card.get_by_role("button", name="Confirm").click()
    await expect(card.get_by_role("textbox", name="name")).to_have_attribute("aria-invalid", "true")
    assert not await notebook.is_over("accept")  # nothing has gone to the server
    await card.get_by_role("textbox", name="name").fill("Ada")
    await card.get_by_role("button", name="Confirm").click()
    entered = {"name": "Ada", "day": "2026-12-24", "people": 2, "room": "f", "needs": ["chair"]}
    assert await told(notebook, "accept") == {"action": "accept", "content": entered}


async def test_a_no_declines(notebook):
    card = await asked(notebook, "decline")
    await card.get_by_role("button", name="Decline").click()
    await notebook.page.keyboard.type("not today")
    await notebook.page.keyboard.press("Enter")
    assert await told(notebook, "decline") == {"action": "decline"}


async def test_cancel_is_neither(notebook):
    card = await asked(notebook, "cancel")
    await card.get_by_role("button", name="Cancel").click()
    assert await told(notebook, "cancel") == {"action": "cancel"}
