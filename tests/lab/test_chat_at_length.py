"""A chat panel in use: two side by side, five hundred messages, what goes with them, and beside the notebook."""

import pytest
from playwright.async_api import expect

SETUP = """\
import sys

import matplotlib.pyplot as plt
from ag_ui.core import AssistantMessage, MessagesSnapshotEvent, UserMessage

from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


@human_in_the_loop
def ask_name(hint: str) -> str:
    "Ask for a name."


def remembers(input):
    known = [kind(id=f"{n}-{kind.__name__}", content=f"{words} {n}")
             for n in range(250) for kind, words in ((UserMessage, "question"), (AssistantMessage, "*answer*"))]
    yield MessagesSnapshotEvent(messages=[*known, *input.messages])
    yield from agent._events(says("I remember."), "m0")


agent = ScriptedAgent([remembers, says("The *501st* of them."), says("A fine curve.")])
agent.takes_images = True
long = Session(agent, journal=None)
left = Session(ScriptedAgent([calls("ask_name", hint="left"), says("Left done.")]), tools=[ask_name], journal=None)
right = Session(ScriptedAgent([says("Right here."), says("Right again.")]), journal=None)
"""
CELLS = {
    "setup": SETUP,
    "left": "left.chat(title='Left')",
    "right": "right.chat(title='Right')",
    "remember": "reply = await long.run('Do you remember?')",
    "long": "chat = long.chat(title='Long')\nchat",
    "attach": "figure, axes = plt.subplots()\naxes.plot([1, 4, 9])\nplt.close(figure)\n"
    "note = chat.attach(figure, 'squares').attach({'a': 1}, 'a note')",
    "sent": "print([part.type for part in agent.inputs[-1].messages[-1].content])",
    "docked": "right.chat(title='Docked', dock=True)",
    "words": "sys.modules['sidecar'] = None  # as where it is not installed\nright.chat(title='Words', dock=True)",
}


@pytest.fixture(scope="module")
async def notebook(lab):
    async with lab.one(CELLS) as opened:
        yield opened


async def panel(notebook, cell):
    await notebook.run(cell)
    shown = notebook.cell(cell).locator(".hitl-chat")
    await expect(shown.get_by_role("textbox", name="Message")).to_be_visible()
    return shown


async def say(shown, text):
    box = shown.get_by_role("textbox", name="Message")
    await box.fill(text)
    await expect(shown.get_by_role("button", name="Send", exact=True)).to_be_enabled()  # the run before may go on
    await box.press("Enter")


async def test_two_sessions_side_by_side_are_two_conversations(notebook):
    left, right = await panel(notebook, "left"), await panel(notebook, "right")
    await say(left, "Begin")
    card = left.get_by_role("group", name="Ask name", exact=True)
    await expect(card.get_by_role("button", name="Confirm")).to_be_enabled()
    await left.get_by_role("textbox", name="Message").fill("not yet sent")
    await say(right, "Hello")  # while the other one waits
    await expect(right.get_by_text("Right here.")).to_be_visible()
    await expect(right.get_by_role("button", name="Stop", exact=True)).to_be_disabled()
    await expect(left.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    await expect(left.get_by_text("Right here.")).to_have_count(0)
    await card.get_by_role("textbox").first.fill("Ada")
    await notebook.rested()
    await card.get_by_role("textbox").first.press("Control+Enter")
    await expect(left.get_by_text("Left done.")).to_be_visible()
    await expect(left.get_by_role("textbox", name="Message")).to_have_value("not yet sent")


async def test_of_five_hundred_messages_the_last_are_drawn_and_earlier_ones_are_a_key_away(notebook):
    await notebook.run("remember")
    await notebook.finished("remember")
    shown = await panel(notebook, "long")
    log = shown.locator(".hitl-chat-log")
    await expect(log.get_by_text("answer 249")).to_be_visible()
    await expect(log.locator(".hitl-message")).to_have_count(60)
    more = log.get_by_role("button", name="Show earlier (442)")
    await more.press("Enter")
    await expect(log.locator(".hitl-message")).to_have_count(120)
    await expect(log.get_by_role("button", name="Show earlier (382)")).to_be_visible()
    await log.evaluate("log => { log.scrollTop = log.scrollHeight; }")
    await say(shown, "And now?")
    await expect(log.get_by_text("The 501st of them.")).to_be_in_viewport()  # who reads the end follows it
    await expect(log.locator(".hitl-message")).to_have_count(120)


async def test_what_goes_with_a_message_is_named_before_and_seen_after(notebook):
    await notebook.run("attach")
    shown = notebook.cell("long").locator(".hitl-chat")
    attached = shown.get_by_role("group", name="Attached")
    await attached.get_by_role("button", name="a note").press("Enter")
    await expect(attached.get_by_role("button")).to_have_count(1)
    await say(shown, "What is this?")
    await expect(attached).to_be_hidden()
    await expect(shown.get_by_role("img", name="squares")).to_be_visible()
    await expect(shown.get_by_text("A fine curve.")).to_be_visible()
    await notebook.run("sent")
    assert "['text', 'image']" in await notebook.output("sent")


async def test_beside_the_notebook_it_is_the_same_conversation(notebook):
    await notebook.on("right", "notebook:create-output-view")
    beside = notebook.page.locator(".jp-LinkedOutputView .hitl-chat")
    await expect(beside.get_by_text("Right here.")).to_be_visible()
    await say(beside, "Again")
    await expect(beside.get_by_text("Right again.")).to_be_visible()
    await expect(notebook.page.locator(".hitl-chat").get_by_text("Right again.")).to_have_count(2)


async def test_with_sidecar_it_opens_beside_the_notebook_and_without_it_says_how(notebook):
    await notebook.cell("docked").locator(".jp-InputArea").first.click()  # back in the notebook
    await notebook.run("docked")
    docked = notebook.page.get_by_role("tabpanel", name="Docked")
    await expect(docked.locator(".hitl-chat").get_by_text("Right again.")).to_be_visible()
    await expect(notebook.cell("docked").locator(".hitl-chat")).to_have_count(0)
    await notebook.cell("words").locator(".jp-InputArea").first.click()
    await notebook.run("words")
    words = notebook.cell("words")
    await expect(words.locator(".hitl-chat")).to_be_visible()
    await expect(words).to_contain_text("Create New View for Cell Output")
    await expect(words).to_contain_text("pip install sidecar")
