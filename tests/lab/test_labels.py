"""A queue in JupyterLab: the tutorial by its keys alone, over a reload; and on after a restart of the kernel."""

from playwright.async_api import expect
from sklearn.datasets import load_digits  # type: ignore[import-untyped]

from tests.lab.hands import Hands, tutorial

TRUTH = load_digits().target[1700:1750].tolist()
SETUP = """\
from hitl_nb import label, use

use(journal="labels.sqlite").__enter__()
texts = [f"text {at}." for at in range(6)]
"""
ASK = "labels = await label(texts, ['good', 'bad'], 'Good or bad?', key='texts')"
RESULT = "print(list(labels))"


async def at(hands, question):
    """Go to the item that is shown."""
    card = await hands.notebook.question(question)
    await expect(card.get_by_text("Item ").first).to_be_visible()
    await hands.click(card.locator(".hitl-queue-stage"))
    return card


async def test_the_tutorial_is_fifty_labels_at_fifty_keys_also_over_a_reload(open_notebook):
    notebook = await open_notebook(book := tutorial("09_label"))
    code = [cell.id for cell in book.cells if cell.cell_type == "code"]
    await notebook.run(code[0])
    await notebook.finished(code[0], patience=90)
    await notebook.run(code[1])
    hands = Hands(notebook)
    card = await at(hands, "Which digit is it?")
    seen = [1 if at == 3 else digit for at, digit in enumerate(TRUTH)]
    await hands.press(*map(str, seen[:20]))
    await expect(card.get_by_text("all saved")).to_be_visible()

    await notebook.save()
    await notebook.reload()
    card = await at(hands, "Which digit is it?")
    await expect(card.get_by_text("Item 21 of 50")).to_be_visible()
    await hands.press(*map(str, seen[20:]))
    keys = hands.keys
    await expect(card.get_by_role("button", name="Confirm: 50 labelled")).to_be_focused()
    await hands.press("Enter")
    await expect(card).to_contain_text("50 of 50 labelled")
    print(f"50 labels: {keys} keys, 1 to confirm; {hands.clicks} clicks, one to begin and one after the reload")
    assert keys == 50

    for cell in code[2:4]:
        await notebook.run(cell)
    assert "and bea: " in await notebook.output(code[3])
    await notebook.run(code[4])
    card = await at(hands, "You two differ. Which digit is it?")
    await expect(card.get_by_text("bea: ")).to_be_visible()
    await expect(card.get_by_role("button", name="Skip")).to_be_enabled()
    while await card.get_by_role("button", name="Skip").is_enabled():
        place = await card.locator(".hitl-queue-place").text_content()
        await hands.press("1")
        await expect(card.locator(".hitl-queue-place")).not_to_have_text(place)
    await hands.press("Enter")
    await notebook.finished(code[4])
    await notebook.run(code[5])
    assert "'you alone': '98%'" in await notebook.output(code[5])


async def test_after_a_restart_the_queue_goes_on_where_it_was(open_notebook):
    notebook = await open_notebook({"setup": SETUP, "ask": ASK, "result": RESULT})
    for cell in ("setup", "ask"):
        await notebook.run(cell)
    hands = Hands(notebook)
    card = await at(hands, "Good or bad?")
    await hands.press("1", "2", "0")
    await expect(card.get_by_text("all saved")).to_be_visible()

    await notebook.restart()
    await expect(card.get_by_text("Disconnected from the kernel")).to_be_visible()
    await hands.press("1")
    await expect(card.get_by_text("2 of 6 labelled · 1 skipped")).to_be_visible()
    for cell in ("setup", "ask"):
        await notebook.run(cell)
    await expect(notebook.cell("ask").get_by_text("Item 4 of 6")).to_be_visible()
    card = await at(hands, "Good or bad?")
    await hands.press("Backspace", "2", "1", "1", "1")
    await hands.press("Enter")
    await notebook.run("result")
    assert await notebook.output("result") == "['good', 'bad', 'bad', 'good', 'good', 'good']\n"
