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
    await notebook.rested()  # a shared document may draw it a second time, and a card rests when it has moved
    await card.get_by_role("button", name="Confirm 2 of 3").click()
    await notebook.finished("ask")
    await notebook.save()
    await notebook.shut_down()

    again = await open_notebook(notebook.saved(), kernel=None)
    record = again.cell("ask")
    await expect(record).to_contain_text("Confirmed 2 of 3 steps")
    await expect(record.get_by_role("listitem")).to_contain_text(["☑ pack", "☐ launch", "☑ land"])
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
    _record, *_, said = (await notebook.output("result")).splitlines()  # the record has moved into this cell
    result = json.loads(said)
    assert [step["status"] for step in result] == ["enabled", "enabled", "disabled"]


QUICK = "from hitl_nb import approve\nfrom hitl_nb.testing import says"


async def test_decided_after_a_reload_the_next_cell_that_runs_puts_the_record_into_the_file(open_notebook):
    notebook = await open_notebook({"setup": QUICK, "ask": "print(await approve('Fly?'))", "next": "print('next')"})
    await notebook.run("setup")
    await notebook.run("ask")
    card = notebook.card("Fly?")
    await expect(card.get_by_role("button", name="Approve")).to_be_enabled()
    await notebook.save()
    await notebook.reload()
    await card.get_by_role("button", name="Approve").click()
    await expect(card).to_contain_text("Approved")
    await notebook.save()
    (asked,) = outputs(notebook, "ask")
    assert "Asked, and not answered when this was saved. The decision: call " in asked
    await notebook.run("next")
    await notebook.finished("next")
    await notebook.save()
    record, said = outputs(notebook, "next")
    assert said == "next\n"
    assert "✓ Approved" in record
    assert "Fly?" in record
    assert "decided after its page was reloaded" in record


async def test_what_was_recorded_before_a_reload_is_not_recorded_twice(open_notebook):
    cells = {
        "setup": QUICK,
        "ask": "first, second = approve('Fly?').start(), approve('Land?').start()",
        "one": "print(await first)",
        "two": "print(await second)",
    }
    notebook = await open_notebook(cells)
    await notebook.run("setup")
    await notebook.run("ask")
    for question, cell in (("Fly?", "one"), ("Land?", "two")):
        await notebook.card(question).wait_for()
        await notebook.rested()
        await notebook.card(question).get_by_role("button", name="Approve").click()
        await notebook.run(cell)
        await notebook.finished(cell)
    await notebook.save()
    await notebook.reload()
    await notebook.run("one")
    await notebook.finished("one")
    await notebook.save()
    assert outputs(notebook, "one") == ["True\n"]


async def test_an_open_question_in_a_file_that_is_not_trusted_says_what_to_do_and_asks_when_it_is_run(open_notebook):
    notebook = await open_notebook({"setup": QUICK, "ask": "print(await approve('Fly?'))"})
    await notebook.run("setup")
    await notebook.run("ask")
    await expect(notebook.card("Fly?").get_by_role("button", name="Approve")).to_be_enabled()
    await notebook.save()
    file = notebook.saved()
    await notebook.shut_down()
    file.cells[1].source += "  # changed by somebody else, so the signature of the file does not fit"

    again = await open_notebook(file)
    asked = again.cell("ask")
    await expect(asked).to_contain_text("Fly?")
    await expect(asked).to_contain_text("Asked, and not answered when this was saved.")
    await expect(asked).to_contain_text("No buttons? Trust this notebook, or reload the page.")
    assert not await again.trusts("ask")
    await expect(again.card("Fly?")).to_have_count(0)
    await expect(asked.get_by_role("button", name="Approve")).to_have_count(0)

    await again.run("setup")
    await again.run("ask")
    await again.card("Fly?").get_by_role("button", name="Approve").click()
    assert "True" in await again.output("ask")
    await expect(asked).to_contain_text("Approved")


def outputs(notebook, cell):
    (found,) = [each for each in notebook.saved().cells if each.id == cell]
    return [output["text"] if output.output_type == "stream" else output.data["text/plain"] for output in found.outputs]
