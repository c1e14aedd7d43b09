"""A cell that puts out a lot: JupyterLab shows fifty outputs of it, and no question is behind the rest unseen."""

from playwright.async_api import expect

from tests.lab.lab import PATIENCE

SETUP = "from hitl_nb import approve\nfrom IPython.display import display\nsaid = []\n"
CELLS = {
    "setup": SETUP,
    "sixty": "for number in range(60):\n    print('row', number)\n    said.append(await approve(f'Row {number}?'))",
    "late": "for number in range(55):\n    display(number)\nprint(await approve('Behind all of it?'))",
    "said": "print(len(said), all(said))",
}


async def test_sixty_questions_with_a_print_each_can_all_be_answered_where_they_stand(open_notebook):
    notebook = await open_notebook(CELLS)
    await notebook.run("setup")
    await notebook.run("sixty")
    for number in range(60):
        approve = notebook.card(f"Row {number}?").get_by_role("button", name="Approve")
        await expect(approve).to_be_enabled(timeout=PATIENCE * 1000)
        if number == 59:
            await expect(notebook.cell("sixty")).to_contain_text("its further questions are asked here")
        await approve.click()
    await notebook.finished("sixty")
    await notebook.run("said")
    assert await notebook.output("said") == "60 True\n"
    assert await notebook.outputs("sixty") <= 60 + 20


async def test_a_question_behind_show_more_outputs_is_pointed_to(open_notebook):
    notebook = await open_notebook(CELLS)
    await notebook.run("setup")
    await notebook.run("late")
    link = notebook.cell("late").get_by_text("A question waits for you here")
    await link.click(timeout=PATIENCE * 1000)
    await notebook.card("Behind all of it?").get_by_role("button", name="Approve").click()
    assert "True" in await notebook.output("late")
