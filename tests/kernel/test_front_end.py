"""Is there anybody who could click? What a kernel can know about it."""

import sys
from subprocess import run

from hitl_nb._kernel import comm_delivery, current_kernel, delivering, front_end

from .client import Kernel

ASK = "print(front_end())"


def test_a_plain_script_has_no_front_end() -> None:
    script = "from hitl_nb._kernel import front_end; print(front_end())"
    assert run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "none\n"


def test_outside_a_kernel_there_is_nothing_to_deliver() -> None:
    assert current_kernel() is None
    assert comm_delivery(current_kernel()) == "none"
    assert front_end() == "none"
    with delivering():
        pass


def test_a_front_end_that_takes_input_is_possible(kernel: Kernel) -> None:
    assert kernel.run(ASK) == "possible"


def test_a_program_that_runs_notebooks_is_nobody(kernel: Kernel) -> None:
    assert kernel.run(ASK, allow_stdin=False) == "absent"


def test_voila_refuses_input_and_has_a_reader(kernel: Kernel) -> None:
    ask = "import os; os.environ['VOILA_KERNEL_ID'] = 'x'; print(front_end()); del os.environ['VOILA_KERNEL_ID']"
    assert kernel.run(ask, allow_stdin=False) == "possible"


def test_in_voila_no_cell_can_wait_for_a_click_and_a_task_can(kernel: Kernel) -> None:
    ask = """
        import os
        from hitl_nb._kernel import delivery
        os.environ['VOILA_KERNEL_ID'] = 'x'
        async def ask():
            return delivery()
        try:
            print(delivery(), await ask(), await asyncio.create_task(ask()) == comm_delivery(current_kernel()))
        finally:
            del os.environ['VOILA_KERNEL_ID']
    """
    kernel.run("from hitl_nb._kernel import comm_delivery, current_kernel")
    assert kernel.run(ask) == "unknown unknown True"


def test_a_callback_goes_by_the_last_cell_that_asked(kernel: Kernel) -> None:
    kernel.run("""
        import ipywidgets
        box = ipywidgets.Checkbox(description="asks")
        box.observe(lambda _: print(front_end()), "value")
    """)
    box = kernel.widget("CheckboxModel", description="asks")
    for value, allow_stdin, expected in ((True, False, "absent"), (False, True, "possible")):
        kernel.run(ASK, allow_stdin=allow_stdin)
        change = box.change(value=value)
        kernel.until_idle(change)
        assert kernel.printed(change) == f"{expected}\n"


def test_a_background_task_goes_by_the_cell_that_began_it(kernel: Kernel) -> None:
    begin = """
        async def later():
            card = Question("begun")
            await card.answer()
            card.label = front_end()

        task = asyncio.create_task(later())
        await asyncio.sleep(0)
        front_end()
    """
    kernel.run(begin, allow_stdin=False)
    card = kernel.widget(label="begun")
    card.send("go on")
    kernel.until(lambda: card.state["label"] != "begun", "answer of the task")
    assert card.state["label"] == "absent"
