"""A wait that outlives the cell that began it, and what is left of it afterwards."""

import pytest

from .client import Kernel

BEGIN = """
    card = Question({label!r})
    await until_parked({parked})
    task = asyncio.create_task(card.answer())
    await asyncio.sleep(0)  # its first step: now it waits
"""


def test_cells_run_and_wait_while_something_waits_in_the_background(kernel: Kernel) -> None:
    kernel.run(BEGIN.format(label="background", parked=0))
    assert kernel.run("print('a cell in between')") == "a cell in between"
    together = kernel.execute("""
        left, right = Question("left"), Question("right")
        print(await asyncio.gather(left.answer(), right.answer()))
    """)
    kernel.widget(label="right").send("R")
    kernel.widget(label="left").send("L")
    assert kernel.output(together) == "['L', 'R']"
    kernel.widget(label="left").send("late")
    assert kernel.run("print(leftovers())") != "[]"  # one still waits
    kernel.widget(label="background").send("B")
    assert kernel.run("print(await task, left.heard)") == "B ['L', 'late']"
    assert kernel.run("print(leftovers())") == "[]"


def test_cells_that_queued_up_before_the_wait_run_after_the_cell_that_began_it(kernel: Kernel) -> None:
    # The trap: on 7.0 - 7.3 these cells hold the real lock when they meet the stand-in (section 3.7).
    begins = kernel.execute(BEGIN.format(label="outlives its cell", parked=2))
    queued = [kernel.execute(f"print({n})") for n in range(2)]
    kernel.output(begins)
    assert [kernel.output(cell) for cell in queued] == ["0", "1"]
    kernel.widget(label="outlives its cell").send("done")
    assert kernel.run("print(await task)") == "done"


def test_a_cell_that_queued_up_before_the_wait_may_wait_itself(kernel: Kernel) -> None:
    begins = kernel.execute(BEGIN.format(label="outer", parked=2))
    waiting = kernel.execute("print(await Question('inner').answer())")
    last = kernel.execute("print('last')")
    kernel.output(begins)
    kernel.widget(label="inner").send("I")
    assert kernel.output(waiting) == "I"
    assert kernel.output(last) == "last"
    kernel.widget(label="outer").send("O")
    assert kernel.run("print(await task)") == "O"


def test_a_click_that_queued_up_before_the_wait_is_not_lost(kernel: Kernel) -> None:
    begins = kernel.execute(BEGIN.format(label="early", parked=1))
    kernel.widget(label="early").send("early bird")
    queued = kernel.execute("print('queued')")
    kernel.output(begins)
    assert kernel.output(queued) == "queued"
    assert kernel.run("print(await task)") == "early bird"


# 7.0 - 7.3 cannot: the click has a place at the real lock already. Hence `delivering()` around the whole run.
@pytest.mark.parametrize("version", ["6.31.0", "7.4.0"], scope="session")
def test_a_click_that_queued_up_before_the_wait_passes_the_cells_behind_it(kernel: Kernel) -> None:
    waiting = kernel.execute(BEGIN.format(label="drained", parked=2) + "    print(await task)")
    kernel.widget(label="drained").send("overtakes")
    queued = [kernel.execute(f"print({n})") for n in range(3)]
    assert kernel.output(waiting) == "overtakes"
    assert [kernel.output(cell) for cell in queued] == ["0", "1", "2"]
