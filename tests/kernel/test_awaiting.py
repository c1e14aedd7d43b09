"""A forgotten `await` in a cell: said in that cell, and nothing asked. Started in one cell, awaited in a later one."""

import pytest

from .client import Kernel

SETUP = """
from contextlib import contextmanager
from hitl_nb._awaiting import current_question
from hitl_nb._transcript import Transcript
from IPython.display import display
from tests.unasked import unasked

@contextmanager
def stage(message):
    display(f"card: {message}")  # as a card is shown: by the cell that starts the question
    yield Transcript()

@unasked(write="if await {}:", stage=stage)
async def approve(message):
    print("asked")
    return await Question(message).answer() == "yes"
"""

LINE = "Write `if await approve('Drop?'):`"


@pytest.fixture
def ready(kernel: Kernel) -> Kernel:
    kernel.run(SETUP, patience=60)
    return kernel


def test_dropped_in_mid_cell_the_cell_says_so_in_one_line(ready: Kernel) -> None:
    cell = ready.execute("approve('Drop?'); print('over')")
    ready.reply(cell)
    ready.until_idle(cell)
    said = [each for each in ready.about(cell, "stream") if each["name"] == "stderr"]
    assert "".join(each["text"] for each in said) == (
        f"hitl_nb: `approve('Drop?')` was never awaited: nothing was asked. {LINE}.\n"
    )
    assert "asked\n" not in ready.printed(cell)


def test_as_the_last_line_of_a_cell_its_repr_says_so(ready: Kernel) -> None:
    cell = ready.execute("approve('Drop?')")
    ready.reply(cell)
    ready.until_idle(cell)
    (result,) = ready.about(cell, "execute_result")
    assert result["data"] == {"text/plain": f"<approve('Drop?') without await: nothing was asked yet. {LINE}>"}


def test_taken_for_its_answer_the_cell_ends_there(ready: Kernel) -> None:
    cell = ready.execute("if approve('Drop?'):\n    print('dropped')")
    reply = ready.reply(cell)
    assert reply["ename"] == "NotAwaitedError"
    assert reply["evalue"].endswith(f"{LINE}.")
    assert "".join(reply["traceback"]).count("hitl_nb/_awaiting") == 1  # IPython never hides the last frame
    assert ready.printed(cell) == ""


def test_started_in_one_cell_and_awaited_in_a_later_one(ready: Kernel) -> None:
    starts = ready.execute("question = approve('two cells').start()")
    ready.reply(starts)
    card = ready.widget(label="two cells")
    ready.until_idle(starts)
    assert [each["data"]["text/plain"] for each in ready.about(starts, "display_data")] == ["'card: two cells'"]
    assert ready.run("print(question.status)") == "running"
    waiting = ready.execute("if await question: print('dropped')")
    card.send("yes")
    assert ready.output(waiting) == "dropped"
    assert ready.run("print(await question)") == "True"


def test_what_has_expired_is_said_in_a_line(ready: Kernel) -> None:
    expired = ready.reply(ready.execute("from hitl_nb import ask; await ask('too late?', timeout=0.2)"))
    assert expired["ename"] == "Expired"
    (line,) = expired["traceback"]
    assert line.startswith("Expired: ")
    assert "too late?" in line


def test_the_stop_button_ends_the_wait_and_not_the_question(ready: Kernel) -> None:
    ready.run("question = approve('goes on').start()")
    card = ready.widget(label="goes on")
    waiting = ready.execute("print('waiting', flush=True); await question")
    ready.until(lambda: "waiting" in ready.printed(waiting), "waiting cell")
    ready.interrupt()
    stopped = ready.reply(waiting)
    assert stopped["ename"] == "CancelledError"
    assert stopped["traceback"] == [
        "CancelledError: stopped waiting. "
        "The question goes on: `hitl_nb.pending()` shows its card again, `.stop()` withdraws it."
    ]
    card.send("yes")
    assert ready.run("print(await question)") == "True"
