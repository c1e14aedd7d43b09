"""Public bugs of others about kernels, each with its fixed id, on every kernel."""

import ast

from .client import Kernel
from .test_sessions import SETUP, ask, card


def start(kernel: Kernel, code: str) -> str:
    kernel.run(SETUP, patience=60)
    return kernel.execute(code)


def answer(widget, checked=(True, True, True)):
    widget.respond(card(widget, "executing"), {"checked": list(checked)})


def test_A1_a_click_reaches_the_cell_that_awaits_it(kernel):
    cell = start(kernel, "print((await session.run('Go')).text)")
    answer(ask(kernel, cell))
    assert kernel.output(cell) == "Off we go."


def test_A2_an_answer_from_another_thread_wakes_the_waiting_cell_without_any_other_event(kernel):
    code = """
import threading
async def from_a_thread(call):
    threading.Thread(target=call.respond, args=(call.args.steps,)).start()
    from hitl_nb._waiting import until_decided
    await until_decided(call)
session = Session(agent, tools=[generate_task_steps], people=[from_a_thread])
print((await session.run('Go')).text)
"""
    assert kernel.output(start(kernel, code)) == "Off we go."


def test_A4_a_kernel_that_cannot_deliver_clicks_says_so_at_once_and_shows_the_two_cell_way(kernel):
    kernel.run(SETUP + "import hitl_nb.people._person as notebook; real = notebook.delivery", patience=60)
    kernel.run("notebook.delivery = lambda: 'unknown'")
    try:
        reply = kernel.reply(kernel.execute("await session.run('Go')"))
        assert reply["ename"] == "NoHumanError"
        assert "run = session.start" in reply["evalue"]
        assert "await run" in reply["evalue"]
    finally:
        kernel.run("notebook.delivery = real")


def test_A5_the_next_cell_does_not_run_before_the_answer(kernel):
    cell = start(kernel, "order = []; await session.run('Go'); order.append('answered')")
    after = kernel.execute("order.append('next'); print(order)")
    widget = ask(kernel, cell)
    assert not kernel.is_over(after)
    answer(widget)
    assert ast.literal_eval(kernel.output(after)) == ["answered", "next"]


def test_A6_the_stop_button_ends_the_wait_the_card_says_so_and_the_next_cell_runs(kernel):
    cell = start(kernel, "await session.run('Go')")
    widget = ask(kernel, cell)
    kernel.interrupt()
    assert kernel.reply(cell)["status"] == "error"
    kernel.until(lambda: card(widget, "complete"), "a closed card")
    assert kernel.run("print(session.messages[-1].role, session.pending)") == "tool []"


def test_A22_without_a_front_end_it_neither_hangs_nor_asks_for_input(kernel):
    kernel.run(SETUP, patience=60)
    cell = kernel.execute("await session.run('Go')", allow_stdin=False)
    assert kernel.reply(cell)["ename"] == "NoHumanError"
