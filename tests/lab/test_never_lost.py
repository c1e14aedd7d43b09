"""A question is never lost while the kernel waits, in JupyterLab and in Notebook 7: whatever is done to its cell.

One notebook a host for all rows; each has cells of its own.
"""

import pytest
from playwright.async_api import expect

from tests.lab.lab import PATIENCE, Notebook

SETUP = """\
from hitl_nb import Session, approve, ask, pending
from hitl_nb.testing import says
asked = []

async def sure(question):
    asked.append(question)
    return await approve(question)
"""
CELLS = {
    "setup": SETUP,
    "cleared": "print(await sure('Clear me?'))",
    "again": "print(await sure('Run me again?'))",
    "behind": "print('nobody said yes to this')",
    "deleted": "print(await sure('Delete me?'))",
    "free": "print(asked[-1])",
    "started": "question = approve('In the background?').start()",
    "shown": "display(question)\nquestion.pending[0]",
    "listed": "pending()",
    "answer": "print(await question)",
    "early": "early = approve('Too early?').start()",
    "waits": "print(await early)",
    "loop": "for number in range(6):\n    asked.append(await sure(f'Number {number}?'))",
    "unsaved": "print(await sure('Reload me?'))",
}


@pytest.fixture(scope="module", params=["lab", "notebook"])
async def notebook(lab, request):
    async with lab.one(CELLS, host=request.param) as opened:
        yield opened


@pytest.fixture(autouse=True)
async def free_again(notebook: Notebook):
    """Whatever a row has left: no cell waits when the next one begins."""
    yield
    await notebook.until_idle()


def card(notebook: Notebook, question: str):
    return notebook.page.get_by_role("group", name=question, exact=True)


async def asked(notebook: Notebook, cell: str, question: str):
    await notebook.run(cell)
    shown = card(notebook, question)
    await expect(shown.get_by_role("button", name="Approve")).to_be_enabled()
    return shown


async def yes(shown) -> None:
    await shown.get_by_role("button", name="Approve").click()


async def test_cleared_outputs_the_card_is_shown_again_and_can_be_answered(notebook):
    shown = await asked(notebook, "cleared", "Clear me?")
    await notebook.on("cleared", "notebook:clear-cell-output")
    await expect(shown).to_have_count(0)
    await expect(shown).to_be_visible(timeout=PATIENCE * 1000)
    await yes(shown)
    assert "True" in await notebook.output("cleared")
    await expect(notebook.cell("cleared")).to_contain_text("Approved")


async def test_run_again_the_first_question_is_closed_and_the_second_asks_but_nothing_runs_without_a_yes(notebook):
    shown = await asked(notebook, "again", "Run me again?")
    await notebook.run_again("behind")
    # A person takes longer than "Run All" does.
    await notebook.page.wait_for_timeout(1000)
    await notebook.run_again("again")
    await expect(shown).to_have_count(0)
    await expect(shown).to_be_visible(timeout=PATIENCE * 1000)
    assert (await notebook.counts())["behind"] is None
    await yes(shown)
    assert "True" in await notebook.output("again")
    assert (await notebook.counts())["behind"] is None


async def test_a_deleted_cell_frees_the_kernel(notebook):
    await asked(notebook, "deleted", "Delete me?")
    await notebook.on("deleted", "notebook:delete-cell")
    assert not await notebook.has("deleted")
    await notebook.run("free")
    assert await notebook.output("free") == "Delete me?\n"


async def test_whatever_waits_shows_its_card_as_the_last_line_of_a_cell_as_often_as_one_likes(notebook):
    shown = await asked(notebook, "started", "In the background?")
    for cell, cards in (("shown", 3), ("listed", 4)):
        await notebook.run(cell)
        await expect(shown).to_have_count(cards)
    await notebook.on("started", "notebook:clear-cell-output")
    await expect(shown).to_have_count(3)
    await yes(shown.last)
    await notebook.run("answer")
    assert await notebook.output("answer") == "True\n"
    await expect(notebook.cell("listed")).to_contain_text("Approved")


async def test_a_loop_has_one_view_with_all_questions_and_its_record_in_the_end(notebook):
    await notebook.run("loop")
    for number in range(6):
        shown = card(notebook, f"Number {number}?")
        await expect(shown.get_by_role("button", name="Approve")).to_be_enabled()
        assert await notebook.outputs("loop") == 1
        await yes(shown)
    said = await notebook.output("loop")
    assert [said.index(f"Number {number}?") for number in range(6)] == sorted(
        said.index(f"Number {n}?") for n in range(6)
    )


async def test_reloaded_before_a_save_the_kernel_is_free_again_by_itself(notebook):
    await asked(notebook, "unsaved", "Reload me?")
    await notebook.reload()
    await notebook.run("free")
    # Pages say so twice, seconds apart: the one that is loaded, and then that the cards shown again are nowhere either.
    assert await notebook.output("free", patience=3 * PATIENCE) == "Reload me?\n"


async def test_awaited_before_the_click_the_click_ends_the_waiting_cell(notebook):
    shown = await asked(notebook, "early", "Too early?")
    await notebook.run("waits")
    await yes(shown)
    assert "True" in await notebook.output("waits")
