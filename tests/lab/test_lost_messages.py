"""The notebook server drops widget messages when there are many (facts/performance.md §2.2): no question may vanish."""

import itertools

from tests.lab.cells import ASK, TITLE, setup

STREAMED = 6
"""Messages that a run sends at least; fewer, and the script would be too quick to lose one in each of its phases."""


async def test_whichever_single_message_is_lost_the_question_appears_and_can_be_answered(open_notebook):
    turns = "[says('Let me think about it.'), propose], says('Off we go.')"
    notebook = await open_notebook({"setup": setup(f"[{turns}] * 40", pace=0.03), "ask": ASK})
    await notebook.run("setup")
    for which in itertools.count(1):
        notebook.wire.lose(which)
        await notebook.run("ask")
        card = notebook.card(TITLE)
        await card.get_by_role("checkbox", name="launch").uncheck()
        await card.get_by_role("button", name="Confirm 2 of 3").click()
        answer = await notebook.output("ask")
        assert "☐ launch" in answer, f"without message {which}: {notebook.wire.lost}"
        if notebook.wire.lost is None:  # all that there are have been lost once
            break
    assert which > STREAMED
