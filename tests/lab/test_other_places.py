"""A card in places that are not the plain output of a cell in sight: an `Output` widget, a windowed notebook."""

import json

import pytest
from playwright.async_api import expect

from tests.lab.lab import PATIENCE

SETUP = "import ipywidgets\nfrom hitl_nb import approve\nout = ipywidgets.Output()\n"
CELLS = {
    "setup": SETUP,
    "shown": "display(out)",
    "ask": "with out:\n    question = approve('Inside?').start()",
    "answer": "print(await question)",
    "far": "print(await approve('Far away?'))",
    **{f"filler{number}": "\n".join(["x = 1"] * 40) for number in range(12)},
}


async def test_inside_an_output_widget_the_card_is_drawn_answered_and_recorded_on_screen(open_notebook):
    notebook = await open_notebook({name: CELLS[name] for name in ("setup", "shown", "ask", "answer")})
    for cell in ("setup", "shown", "ask"):
        await notebook.run(cell)
        await notebook.finished(cell)
    card = notebook.cell("shown").get_by_role("group", name="Inside?")
    await card.get_by_role("button", name="Approve").click()
    await notebook.run("answer")
    assert await notebook.output("answer") == "True\n"
    await expect(notebook.cell("shown")).to_contain_text("Approved")
    await notebook.save()
    saved = {each.id: json.dumps(each.outputs) for each in notebook.saved().cells}
    assert "Approved" not in saved["shown"]  # README says so: the file has the widget's name, and no record
    assert "Approved" not in saved["ask"]


@pytest.mark.parametrize("mode", ["full", "contentVisibility"])
async def test_scrolled_far_away_in_a_windowed_notebook_a_question_waits_and_can_be_answered(lab, open_notebook, mode):
    lab.server.set("@jupyterlab/notebook-extension:tracker", windowingMode=mode)
    try:
        notebook = await open_notebook(
            {name: source for name, source in CELLS.items() if name in ("setup", "far") or name.startswith("filler")}
        )
    finally:
        lab.server.set("@jupyterlab/notebook-extension:tracker")
    await notebook.run("setup")
    await notebook.run("far")
    approve = notebook.card("Far away?").get_by_role("button", name="Approve")
    await expect(approve).to_be_enabled(timeout=PATIENCE * 1000)
    await notebook.page.evaluate("() => lab.scrollTo('filler11')")
    await expect(approve).not_to_be_in_viewport()
    await notebook.page.wait_for_timeout(8_000)  # longer than a card may be drawn nowhere
    assert not await notebook.is_over("far")
    await notebook.page.evaluate("() => lab.scrollTo('far')")
    await approve.click()
    assert "True" in await notebook.output("far")
