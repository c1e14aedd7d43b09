"""The tutorial as a newcomer meets it: a real CrewAI Flow, the real litellm call path, a person with a mouse."""

import json
from typing import Any

import nbformat
from playwright.async_api import expect

from tests.notebooks import FOLDER

STEPS = 6


def quickstart() -> Any:
    notebook = nbformat.read(FOLDER / "01_quickstart.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":  # nothing that was stored may pass for something that happened
            cell.outputs, cell.execution_count = [], None
    return notebook


async def test_the_model_proposes_the_cell_waits_a_person_clicks_and_the_run_goes_on_with_that_choice(open_notebook):
    notebook = await open_notebook(quickstart())
    await notebook.run_all()
    card = notebook.card("Generate task steps")

    # The model still writes: steps are there to read, and nothing can be answered.
    await card.get_by_role("checkbox").first.wait_for(timeout=90_000)
    early = await card.evaluate(
        """card => ({
            steps: card.querySelectorAll("input[type=checkbox]").length,
            open: [...card.querySelectorAll("input:enabled, button:enabled")]
                .filter((each) => each.checkVisibility()).map((each) => each.outerHTML),
            status: card.querySelector("[role=status]").textContent,
        })"""
    )
    assert 1 <= early["steps"] < STEPS
    assert early["open"] == []
    assert "writing" in early["status"]

    # The question is complete: one step goes by mouse, the next by keyboard.
    boxes = card.get_by_role("checkbox")
    await expect(boxes.first).to_be_enabled()
    await expect(boxes).to_have_count(STEPS)
    await boxes.nth(1).uncheck()
    await notebook.page.keyboard.press("Tab")
    await expect(boxes.nth(2)).to_be_focused()
    await notebook.page.keyboard.press("Space")
    await expect(boxes.nth(2)).not_to_be_checked()
    assert not await notebook.is_over("run")
    assert (await notebook.counts())["given"] is None
    await card.get_by_role("button", name=f"Confirm 4 of {STEPS}").click()

    # The awaiting cell ends, and what the model is asked next holds exactly that choice.
    await notebook.finished("run")
    given = json.loads(await notebook.output("given"))
    assert [step["status"] for step in given] == ["enabled", "disabled", "disabled", "enabled", "enabled", "enabled"]
    assert given[1]["description"] == "Pack food, water and air for 900 days"
    await expect(notebook.cell("run")).to_contain_text(f"Confirmed 4 of {STEPS} steps")
    await expect(notebook.cell("run")).to_contain_text("Then these 4 steps it is")

    # The cells below had their turn afterwards, in order.
    await notebook.finished("headless")
    counts = list((await notebook.counts()).values())
    assert counts == list(range(1, len(counts) + 1))
