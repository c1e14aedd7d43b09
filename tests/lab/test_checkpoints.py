"""The code decides: a checkpoint in a plain cell, and one inside a run, answered by clicks."""

from playwright.async_api import expect

PLAIN = {
    "setup": "from hitl_nb import approve, interrupt",
    "ask": "print(await approve('Delete the old rows?', {'rows': 12, 'table': 'orders'}))",
    "after": "print('went on')",
}


async def test_a_plain_cell_waits_for_a_yes_and_goes_on_with_it(open_notebook):
    notebook = await open_notebook(PLAIN)
    await notebook.run("setup")
    await notebook.run("ask")
    await notebook.run("after")
    card = notebook.page.get_by_role("group", name="Delete the old rows?")
    await expect(card.get_by_text("orders")).to_be_visible()
    assert not await notebook.is_over("ask")
    await card.get_by_role("button", name="Approve").click()
    await notebook.finished("after")
    assert "True" in await notebook.output("ask")
    assert await notebook.output("after") == "went on\n"


async def test_a_no_with_a_reason_is_false_and_stands_in_the_record(open_notebook):
    notebook = await open_notebook(PLAIN)
    await notebook.run("setup")
    await notebook.run("ask")
    card = notebook.page.get_by_role("group", name="Delete the old rows?")
    await card.get_by_role("button", name="Decline").click()
    await notebook.page.keyboard.type("still needed")
    await notebook.page.keyboard.press("Enter")
    await notebook.finished("ask")
    assert "False" in await notebook.output("ask")
    assert "Declined: still needed" in await notebook.text()
