"""The stop button, and a kernel that goes away: a question is closed, never answered."""

import time

from playwright.async_api import expect

from tests.lab.cells import ASK, TITLE, setup

HISTORY = "print([message.role for message in session.messages], session.messages[-1].content)"


async def test_the_stop_button_ends_a_waiting_cell_and_the_same_cell_works_again(open_notebook):
    cells = {"setup": setup("[propose, propose, says('Off we go.')]"), "ask": ASK, "history": HISTORY}
    notebook = await open_notebook(cells)
    await notebook.run("setup")
    await notebook.run("ask")
    await notebook.question(TITLE)

    pressed = time.monotonic()
    await notebook.interrupt()
    await notebook.finished("ask")
    assert time.monotonic() - pressed < 2

    await expect(notebook.cell("ask")).to_contain_text("Stopped before an answer")
    assert "CancelledError" in await notebook.output("ask")
    await notebook.run("history")
    assert await notebook.output("history") == (
        "['user', 'assistant', 'tool'] Error: Human-in-the-loop interaction aborted\n"
    )

    await notebook.run("ask")
    card = await notebook.question(TITLE)
    await card.get_by_role("button", name="Confirm 3 of 3").click()
    assert "Off we go." in await notebook.output("ask")


async def test_after_a_restart_of_the_kernel_the_old_card_says_that_it_is_dead(open_notebook):
    notebook = await open_notebook({"setup": setup("[propose, says('Off we go.')]"), "ask": ASK})
    await notebook.run("setup")
    await notebook.run("ask")
    card = await notebook.question(TITLE)

    await notebook.restart()
    await expect(card).to_contain_text("Disconnected")
    await expect(card.get_by_role("button", name="Confirm")).to_be_disabled()
    await expect(card.get_by_role("checkbox").first).to_be_disabled()

    await notebook.run("setup")
    await notebook.run("ask")
    card = await notebook.question(TITLE)
    await card.get_by_role("button", name="Confirm 3 of 3").click()
    assert "Off we go." in await notebook.output("ask")
