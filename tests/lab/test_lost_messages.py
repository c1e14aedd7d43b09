"""The notebook server drops widget messages when there are many: no question may vanish."""

import itertools

from tests.lab.cells import ASK, TITLE, setup
from tests.lab.test_own_widgets import setup_with_own_widget


async def test_whichever_single_message_is_lost_the_card_appears_and_can_be_answered(open_notebook):
    turns = "[[says('Let me think about it.'), propose], says('Off we go.')] * 40"
    notebook = await open_notebook({"setup": setup(turns, pace=0.03), "ask": ASK})
    await notebook.run("setup")
    for which in itertools.count(1):
        notebook.wire.lose(which)
        await notebook.run("ask")
        card = await notebook.question(TITLE)
        await card.get_by_role("checkbox", name="launch").uncheck()
        await card.get_by_role("button", name="Confirm 2 of 3").click()
        assert "☐ launch" in await notebook.output("ask"), f"without message {which}: {notebook.wire.lost}"
        if notebook.wire.lost is None:
            break
    # Messages while the model writes, with the question, and after the answer: each was lost once.
    assert which > 6


async def test_whichever_single_message_is_lost_an_own_widget_appears_and_can_answer(open_notebook):
    notebook = await open_notebook({"setup": setup_with_own_widget("[lunch, says('Bon appétit!')] * 40"), "ask": ASK})
    await notebook.run("setup")
    for which in itertools.count(1):
        notebook.wire.lose(which)
        await notebook.run("ask")
        await notebook.page.get_by_role("button", name="Order lunch").click()
        assert "Bon appétit!" in await notebook.output("ask"), f"without message {which}: {notebook.wire.lost}"
        if notebook.wire.lost is None:
            break
    assert which > 4
