"""A card that is drawn nowhere while its cell waits: shown again, then closed; and what runs afterwards."""

import time
from functools import partial

import pytest

from .client import Kernel, Widget
from .test_sessions import ask, card, root_of

SETUP = """
from hitl_nb import approve, pending
from hitl_nb.cards import _view

_view.UNSEEN = 0.05
said = []

async def sure(question):
    said.append("asked")
    said.append(await approve(question))
"""


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    kernel.run(SETUP, patience=60)
    return kernel


def root(kernel: Kernel, cell: str) -> Widget:
    return kernel.until(lambda: root_of(kernel, cell), "root widget of the cell")


def until_over(kernel: Kernel, cell: str, *, gone: float) -> dict:
    """Say again and again, as a living page does, that nothing is drawn."""
    widget = root(kernel, cell)
    widget.send({"op": "views", "page": "p", "views": 1})
    while not kernel.is_over(cell):
        said = widget.send({"op": "hello", "have": 1, "page": "p", "views": 0, "gone": gone * 1000})
        # A kernel of 7.4 leaves out "idle" for what comes while a cell ends.
        kernel.until(partial(_heard, kernel, said, cell), "an answer")
    return kernel.reply(cell)


def _heard(kernel: Kernel, message: str, cell: str) -> bool:
    return kernel.is_over(cell) or "idle" in kernel.statuses(message)


def displayed(kernel: Kernel, cell: str) -> int:
    return len(kernel.about(cell, "display_data"))


def test_the_card_is_shown_once_more_in_its_cell_and_then_the_question_is_closed(ready):
    cell = ready.execute("await sure('Drop?')")
    reply = until_over(ready, cell, gone=time.time())
    assert reply["ename"] == "NoHumanError"
    assert "run again or deleted" in reply["evalue"]
    assert displayed(ready, cell) == 2
    assert ready.run("print(said, pending())") == "['asked'] []"


def test_cells_that_were_started_with_it_do_not_run_and_those_that_were_started_later_do(ready):
    cell = ready.execute("await sure('Drop?')")
    behind = ready.execute("said.append('nobody allowed this')")
    gone = time.time() + 1.0  # by half a second: as if a person had run it again then
    while time.time() < gone:
        ready.until_idle(root(ready, cell).send({"op": "views", "page": "p", "views": 1}))
    again = ready.execute("said.append('run again')")
    until_over(ready, cell, gone=gone)
    assert [ready.reply(each)["status"] for each in (behind, again)] == ["aborted", "ok"]
    assert ready.run("print(said)") == "['asked', 'run again']"
    # It fails once the kernel has the cell behind it: what comes after a fault runs.
    failing, queued = ready.execute("await sure('Go?'); 1 / 0"), ready.execute("said.append('behind a fault')")
    widget = ask(ready, failing)
    widget.respond(card(widget, "executing"), {"approved": True, "edits": []})
    assert (ready.reply(failing)["ename"], ready.reply(queued)["status"]) == ("ZeroDivisionError", "aborted")


def test_a_question_in_the_background_is_never_closed_by_this(ready):
    cell = ready.execute("question = approve('Drop?').start()")
    widget = root(ready, cell)
    for _ in range(8):
        ready.until_idle(widget.send({"op": "hello", "have": 1, "page": "p", "views": 0, "gone": 0}))
    assert ready.run("print(question.status); question.stop()") == "waiting"


# Before 7.4 the reply of a cell takes the signal of a message that comes with it: without help 1 of 6 is never read.
@pytest.mark.parametrize("version", ["7.3.0"], scope="session")
def test_a_card_that_says_hello_while_its_cell_ends_is_heard(ready):
    for _ in range(25):
        cell = ready.execute("question = approve('Drop?').start()")
        widget = ask(ready, cell)
        widget.respond(card(widget, "executing"), {"approved": True, "edits": []})
        assert ready.run("print(await question)") == "True"


def test_while_no_page_says_anything_a_cell_waits(ready):
    cell = ready.execute("await sure('Drop?')")
    widget = root(ready, cell)
    ready.until_idle(widget.send({"op": "hello", "have": 1, "page": "p", "views": 0, "gone": 0}))
    ready.until_idle(widget.send({"op": "views", "page": "p", "views": 1}))
    assert not ready.is_over(cell)
    ready.interrupt()
    assert ready.reply(cell)["status"] == "error"


def test_questions_of_a_cell_share_an_output_until_it_puts_out_something_else(ready):
    cell = ready.execute("""
        import asyncio
        from hitl_nb.cards import _view

        async def answered(question):
            asking = asyncio.ensure_future(approve(question))
            while not pending():
                await asyncio.sleep(0)
            pending()[0].respond(True)
            return await asking

        for number in range(3):
            await answered(f"{number}?")
        print("something else")
        for number in range(3, 5):
            await answered(f"{number}?")
    """)
    ready.output(cell)
    assert displayed(ready, cell) == 2
    records = [update["data"]["text/plain"] for update in ready.about(cell, "update_display_data")]
    last = {said.count("Approved"): said for said in records}
    assert [number for number in range(5) if f"{number}?" in last[3]] == [0, 1, 2]
    assert [number for number in range(5) if f"{number}?" in last[2]] == [3, 4]
