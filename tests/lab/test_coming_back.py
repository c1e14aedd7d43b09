"""A notebook is a document: what happens to a question and to a decision when the page goes and comes back."""

import json

from playwright.async_api import expect

from tests.lab.cells import ASK, TITLE, setup

RESULT = "print(agent.results(1)['call_1'])"


async def test_a_decision_is_readable_in_the_saved_file_without_a_kernel(open_notebook):
    notebook = await open_notebook({"setup": setup("[propose, says('Off we go.')]"), "ask": ASK})
    await notebook.run("setup")
    await notebook.run("ask")
    card = await notebook.question(TITLE)
    await card.get_by_role("checkbox", name="launch").uncheck()
    await card.get_by_role("button", name="Confirm 2 of 3").click()
    await notebook.finished("ask")
    await notebook.save()
    await notebook.shut_down()

    again = await open_notebook(notebook.saved(), kernel=None)
    record = again.cell("ask")
    await expect(record).to_contain_text("Confirmed 2 of 3 steps")
    await expect(record.locator("s")).to_have_text("launch")
    await expect(record).to_contain_text("generate_task_steps · by ")
    await expect(record).to_contain_text("Off we go.")
    await expect(record.get_by_role("button", name="Confirm")).to_have_count(0)


async def test_a_pending_question_comes_back_after_a_reload_and_can_be_answered(open_notebook):
    cells = {"setup": setup("[propose, says('Off we go.')]"), "ask": ASK, "result": RESULT}
    notebook = await open_notebook(cells)
    await notebook.run("setup")
    await notebook.run("ask")
    await notebook.question(TITLE)
    await notebook.save()
    await notebook.reload()

    card = await notebook.question(TITLE)
    await card.get_by_role("checkbox", name="land").uncheck()
    await card.get_by_role("button", name="Confirm 2 of 3").click()
    await expect(card).to_contain_text("Confirmed 2 of 3 steps")
    await notebook.run("result")
    result = json.loads(await notebook.output("result"))
    assert [step["status"] for step in result] == ["enabled", "enabled", "disabled"]
