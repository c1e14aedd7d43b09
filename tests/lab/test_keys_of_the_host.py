"""Keys that are pressed in a card are not JupyterLab's, nor Notebook 7's, but for those that harm nothing."""

import pytest
from playwright.async_api import expect

SETUP = """\
from pydantic import BaseModel

from hitl_nb import approve, ask, choose


class Form(BaseModel):
    name: str = "ada"
    yes: bool = True
    days: int = 3
    kind: str = "a"
"""
CELLS = {
    "setup": SETUP,
    "options": "options = choose('Which?', ['red', 'green', 'blue']).start()",
    "boxes": "boxes = choose('Which of them?', ['one', 'two'], multiple=True).start()",
    "form": "form = ask('Fill in', answer=Form).start()",
    "last": "print('never run')",
}
HARMFUL = (
    "d d", "x", "c", "v", "z", "m", "y", "r", "a", "b", "j", "k", "0 0", "i i", "1", "h", "l", "o", "Enter",
    "Shift+Enter", "Control+Enter", "Alt+Enter", "Shift+M", "Control+Shift+Minus", "ArrowUp", "ArrowDown", "Space",
    "Shift+Space", "Escape", "Backspace", "Delete", "Control+Shift+ArrowUp", "Control+A", "Control+Z",
)  # fmt: skip
"""Keys that JupyterLab or Notebook 7 have something bound to, in command mode or in edit mode."""

CONTROLS = {
    "radio": ("Which?", "radio", "green"),
    "checkbox": ("Which of them?", "checkbox", "two"),
    "button": ("Which?", "button", "Decline"),
    "text": ("Fill in", "textbox", "Name"),
    "record": ("Which?", "", ""),
}
STATE = """() => {
    const { content } = window.jupyterapp.shell.currentWidget;
    const dialogs = document.querySelectorAll(".jp-Dialog").length;
    return [content.widgets.map(({ model }) => [model.sharedModel.id, model.type, model.sharedModel.getSource(),
        model.executionCount]), content.mode, dialogs, getComputedStyle(document.querySelector(".jp-Cell")).display];
}"""


@pytest.fixture(scope="module", params=["lab", "notebook"])
async def notebook(lab, request):
    async with lab.one(CELLS, first=("setup", "options", "boxes", "form"), host=request.param) as opened:
        yield opened


async def test_saving_from_inside_a_card_saves(notebook):
    await notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.context.model.dirty = true }")
    await notebook.card("Which?").get_by_role("radio", name="blue").focus()
    await notebook.page.keyboard.press("Control+S")
    await notebook.page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")


async def test_the_palette_opens_from_inside_a_card(notebook):
    await notebook.card("Which?").get_by_role("radio", name="blue").focus()
    await notebook.page.keyboard.press("Control+Shift+C")
    await expect(notebook.page.locator("#modal-command-palette, .jp-ModalCommandPalette")).to_be_visible()
    await notebook.page.keyboard.press("Escape")


@pytest.mark.parametrize("control", CONTROLS)
async def test_no_key_on_a_control_reaches_the_notebook(notebook, control):
    question, role, name = CONTROLS[control]
    card = notebook.card(question)
    at = card.get_by_role(role, name=name) if role else card
    await expect(at).to_be_visible()
    before = await notebook.page.evaluate(STATE)
    for keys in HARMFUL:
        if (control, keys) in _MEANT:
            continue
        await at.focus()
        for key in keys.split():
            await notebook.page.keyboard.press(key)
        assert await notebook.page.evaluate(STATE) == before, f"{keys} on a {control}"


_MEANT = {
    ("button", "Enter"), ("button", "Space"), ("button", "Shift+Enter"), ("button", "Control+Enter"),
    ("button", "Alt+Enter"), ("button", "Shift+Space"), ("text", "Enter"), ("text", "Control+Enter"),
    ("radio", "Control+Enter"), ("checkbox", "Control+Enter"), ("record", "Control+Enter"),
}  # fmt: skip
"""What a card does by itself with a key."""
