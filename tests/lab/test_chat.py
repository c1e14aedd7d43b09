"""The chat panel: talk, stop, say it again, cards in their place, by keyboard, and what stays in the file."""

from playwright.async_api import expect

SETUP = """\
import asyncio

from ag_ui.core import ReasoningMessageContentEvent, ReasoningMessageEndEvent, ReasoningMessageStartEvent
from hitl_nb import Session, frontend_tool, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


@human_in_the_loop
def ask_name(hint: str) -> str:
    "Ask for a name."


@frontend_tool
def row_count(table: str) -> int:
    "Count rows."
    return 42


def thinks(input):
    yield ReasoningMessageStartEvent(message_id="t1", role="reasoning")
    yield ReasoningMessageContentEvent(message_id="t1", delta="They greet me.")
    yield ReasoningMessageEndEvent(message_id="t1")
    yield from agent._events(says("Hello **Ada**!"), "m1")


def forever(input):
    yield from agent._events(says("I begin"), "m2")
    while True:
        yield from ()
        raise RuntimeError("the provider is down")


"""


async def test_a_conversation_from_the_first_word_to_the_file(open_notebook):
    turns = (
        "agent = ScriptedAgent([thinks, [calls('row_count', table='orders'), calls('ask_name', hint='first')],"
        " says('Done.'), forever, says('Now it works.'), says('Something else.')])\n"
        "session = Session(agent, tools=[ask_name, row_count])\n"
        "session.suggestions('What can you do?')\n"
        "chat = session.chat(title='Planner')\n"
    )
    notebook = await open_notebook(
        {
            "setup": SETUP + turns,
            "chat": "chat",
            "told": "print([[m.role for m in i.messages] for i in agent.inputs][-1], agent.results(2))",
        }
    )
    page = notebook.page
    await notebook.run("setup")
    await notebook.finished("setup")
    await notebook.run("chat")
    box = page.get_by_role("textbox", name="Message")
    stop = page.get_by_role("button", name="Stop", exact=True)
    await expect(page.get_by_role("button", name="What can you do?")).to_be_visible()
    await expect(stop).to_be_disabled()
    await box.fill("Hello")
    await box.press("Enter")
    log = page.locator(".hitl-chat-log")
    await expect(log.get_by_text("Hello Ada!")).to_be_visible()
    await expect(box).to_have_value("")
    await expect(log.get_by_text("They greet me.")).to_be_hidden()
    await log.locator("summary").first.press("Enter")
    await expect(log.get_by_text("They greet me.")).to_be_visible()

    await page.get_by_role("button", name="What can you do?").press("Enter")
    await expect(log.locator(".hitl-tool-call")).to_contain_text("done")
    card = await notebook.question("Ask name")
    await expect(stop).to_be_enabled()
    await card.get_by_role("textbox").first.fill("Grace")
    await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0)
    await card.get_by_role("button", name="Confirm").press("Enter")
    await expect(log.get_by_text("Done.", exact=True)).to_be_visible()

    await box.fill("Plan")
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(log.get_by_text("RuntimeError: the provider is down")).to_be_visible()
    await page.get_by_role("button", name="Say it again").click()
    await expect(log.get_by_text("Now it works.")).to_be_visible()
    await expect(log.get_by_text("the provider is down")).to_have_count(0)

    await box.press("ArrowUp")
    await expect(box).to_have_value("Plan")
    await box.fill("Plan the moon")
    await box.press("Enter")
    await expect(log.get_by_text("Something else.")).to_be_visible()
    await expect(log.get_by_text("Now it works.")).to_have_count(0)
    await expect(box).to_have_value("")

    await notebook.run("told")
    told = await notebook.output("told")
    assert told.startswith(
        "['user', 'reasoning', 'assistant', 'user', 'assistant', 'tool', 'tool', 'assistant', 'user'] {"
    )
    assert "'Grace'" in told
    await page.wait_for_function("() => lab.output('chat').includes('Plan the moon')")  # a moment after the last word
    await notebook.save()
    saved = str(notebook.saved().cells[1].outputs)
    assert "Plan the moon" in saved
    assert "Now it works." not in saved
