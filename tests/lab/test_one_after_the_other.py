"""One decision after the other, by keyboard only, from the first card to the last: in JupyterLab and in Notebook 7."""

import pytest
from playwright.async_api import expect

SETUP = """\
from hitl_nb import approve, choose

said, many = [], {many}
"""
MANY = {"lab": 50, "notebook": 10}
CELLS = {
    "loop": "for number in range(8):\n    said.append(await approve(f'Number {number}?'))",
    "fifty": "for number in range(many):\n    said.append(await approve(f'Row {number}?', one_key=True))",
    "clicks": "for number in range(many):\n    said.append(await choose(f'Side {number}?', ['l', 'r'], one_key=True))",
    "last": "print(''.join(str(each)[0] for each in said[-many:]))",
    "said": "print(said)",
    "colours": "for number in range(4):\n    said.append(await choose(f'Colour {number}?', ['red', 'green']))",
    "all": "print(said[-4:])",
}


@pytest.fixture(scope="module", params=["lab", "notebook"])
async def notebook(lab, request):
    cells = {**CELLS, "setup": SETUP.format(many=MANY[request.param])}
    async with lab.one(cells, host=request.param) as opened:
        yield opened


@pytest.fixture
def many(request):
    """Fifty, and not so many where they have been made in the other host."""
    return MANY[request.node.callspec.params["notebook"]]


async def test_eight_approvals_take_eight_keys_and_what_was_decided_folds(notebook):
    await notebook.run("loop")
    for number in range(8):
        card = notebook.card(f"Number {number}?")
        confirm = card.get_by_role("button", name="Approve")
        await expect(confirm).to_be_enabled()
        if number == 0:
            await confirm.focus()
        await expect(confirm).to_be_focused()
        await expect(confirm).to_be_in_viewport()
        if number == 5:
            await expect(notebook.page.get_by_role("group", name="Number")).to_have_count(3)
            await expect(notebook.page.get_by_text("5 decided")).to_be_visible()
        await notebook.page.keyboard.press("Enter")
    await notebook.finished("loop")
    await notebook.run("said")
    assert await notebook.output("said") == f"{[True] * 8}\n"
    assert await notebook.outputs("loop") == 1


async def test_choices_take_a_digit_and_control_with_enter_each(notebook):
    await notebook.run("colours")
    for number in range(4):
        card = notebook.card(f"Colour {number}?")
        await expect(card.get_by_role("button", name="Confirm")).to_be_enabled()
        if number == 0:
            await card.get_by_role("radio", name="red").focus()
        await expect(card.get_by_role("radio", name="red")).to_be_focused()
        await notebook.page.keyboard.press("2")
        await notebook.page.keyboard.press("Control+Enter")
    await notebook.finished("colours")
    await notebook.run("all")
    assert await notebook.output("all") == f"{['green'] * 4}\n"


async def test_fifty_decisions_take_fifty_keys_and_no_hand_leaves_the_keyboard(notebook, many):
    await notebook.run("fifty")
    keys = ""
    for number in range(many):
        card = notebook.card(f"Row {number}?")
        button = card.get_by_role("button", name="Approve")
        if number == 0:
            await expect(button).to_be_visible()
            await button.focus()  # the one way there: by Tab, or by the mouse
        await expect(button).to_be_focused()
        await expect(button).to_be_in_viewport()
        await expect(button).not_to_have_attribute("aria-disabled", "true")
        key = "yn"[number % 2]
        await notebook.page.keyboard.press(key)
        keys += key
    await notebook.finished("fifty")
    await notebook.run("last")
    assert await notebook.output("last") == "TF" * (many // 2) + "\n"
    print(f"{many} decisions: {len(keys)} keys")
    assert len(keys) <= many


async def test_fifty_decisions_take_fifty_clicks_and_nobody_scrolls(notebook, many):
    await notebook.run("clicks")
    clicks = 0
    for number in range(many):
        button = notebook.card(f"Side {number}?").get_by_role("button", name="r", exact=True)
        if number == 0:
            await button.scroll_into_view_if_needed()
        await expect(button).to_be_enabled()
        await expect(button).to_be_in_viewport(ratio=1)
        await expect(notebook.page.locator(".hitl-card[data-resting]")).to_have_count(0)
        place = await button.bounding_box()
        await notebook.page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
        clicks += 1
    await notebook.finished("clicks")
    await notebook.run("last")
    assert await notebook.output("last") == "r" * many + "\n"
    print(f"{many} decisions: {clicks} clicks")
    assert clicks <= many
