"""A table in JupyterLab: reviewed by keys, also after a reload of the page; and dead after a restart."""

from playwright.async_api import expect

SETUP = """\
import pandas as pd

from hitl_nb import review

df = pd.DataFrame({"income": [1_000.0 * n for n in range(1_000)], "city": ["Berlin", "Paris"] * 500})
"""
ASK = "clean = await review(df, 'Drop the outliers?', drop=True, edit=['city'])"
RESULT = "print(len(clean), clean.city[0])"


async def asked(open_notebook):
    """The notebook, and the card of a table whose rows are there."""
    notebook = await open_notebook({"setup": SETUP, "ask": ASK, "result": RESULT})
    await notebook.run("setup")
    await notebook.run("ask")
    card = await notebook.question("Drop the outliers?")
    await expect(card.get_by_role("rowheader").first).to_have_text("✓ 0")
    return notebook, card


async def test_what_was_done_is_there_after_a_reload_and_the_answer_goes_on_in_the_cell(open_notebook):
    notebook, card = await asked(open_notebook)
    await card.get_by_role("grid").focus()
    for key in ("ArrowRight", "Enter"):
        await notebook.page.keyboard.press(key)
    await notebook.page.keyboard.type("Łódź")
    for key in ("Enter", "Shift+ArrowDown", "Space"):
        await notebook.page.keyboard.press(key)
    confirm = card.get_by_role("button", name="Confirm: keep 998 of 1,000 rows, change 1 cell")
    await expect(confirm).to_be_visible()

    await notebook.save()
    await notebook.reload()
    card = await notebook.question("Drop the outliers?")
    await expect(card.get_by_role("rowheader").nth(1)).to_have_text("✕ 1")
    await expect(card.locator("[data-changed] b")).to_have_text("Łódź")
    await card.get_by_role("button", name="Confirm: keep 998 of 1,000 rows, change 1 cell").press("Enter")

    await expect(card).to_contain_text("Confirmed: kept 998 of 1,000 rows, 1 cell changed")
    await notebook.run("result")
    # After a reload the next cell also writes the record of what was decided.
    assert (await notebook.output("result")).endswith("998 Łódź\n")


async def test_after_a_restart_the_table_can_be_read_and_nothing_can_be_approved(open_notebook):
    notebook, card = await asked(open_notebook)
    await notebook.restart()
    await expect(card.get_by_text("Disconnected from the kernel")).to_be_visible()
    await expect(card.get_by_role("button", name="Confirm")).to_be_disabled()
    await card.get_by_role("grid").focus()
    for key in ("Space", "End", "PageDown"):
        await notebook.page.keyboard.press(key)
    await expect(card.get_by_role("rowheader").first).to_contain_text("✓")
