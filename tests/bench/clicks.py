"""A click in a real kernel, what waiting for it costs, and what a question sends: `python -m tests.bench.clicks`.

The client is a front end reduced to its messages; no browser takes part. Click → code is from the moment in which the
client sends, to the line behind `await`, by the machine's clock, which both processes read. Beside us, in turn and in
the same kernel: a bare anywidget and an ipywidgets Button, each with a future that the cell awaits. jupyter_ui_poll
works on ipykernel 6 only, so there both are measured in a kernel of that. Idle is the processor time of all threads of
a kernel whose cell waits, less nothing.
"""

import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.bench.figure import tell
from tests.conftest import REPO
from tests.hosts.raw import ipykernel, open_card, root_of
from tests.kernel.client import Kernel, Widget

ROUNDS, SECONDS = 25, 8.0
NEWEST, OLD = "7.4.0", "6.31.0"
SETUP = """
import asyncio, time, os, anywidget, ipywidgets
from IPython.display import display
from hitl_nb import Session, human_in_the_loop, interrupt, pending
from hitl_nb.cards import StepReview

class Bare(anywidget.AnyWidget):
    _esm = "export default {}"

async def of_widget():
    widget, done = Bare(), asyncio.get_running_loop().create_future()
    widget.on_msg(lambda *_: done.done() or done.set_result(None))
    display(widget)
    await done

async def of_button():
    button, done = ipywidgets.Button(description="Go?"), asyncio.get_running_loop().create_future()
    button.on_click(lambda _: done.done() or done.set_result(None))
    display(button)
    await done

def of_ui_poll(sleep=0.02):
    from jupyter_ui_poll import ui_events
    button, done = ipywidgets.Button(description="Poll?"), []
    button.on_click(lambda _: done.append(1))
    display(button)
    with ui_events() as poll:
        while not done:
            poll(10)
            time.sleep(sleep)
"""
OPENS = """
from pydantic import BaseModel

class Step(BaseModel):
    description: str
    status: str = "enabled"

steps = [Step(description=f"Step {number}") for number in range(20)]
questions = []

def ours():
    questions.append(interrupt("Which?", steps, answer=list[Step], render=StepReview).start())

def per_item():
    boxes = [ipywidgets.Checkbox(description=step.description, value=True) for step in steps]
    display(ipywidgets.VBox([*boxes, ipywidgets.Button(description="Confirm")]))

async def cost(draw):
    begun = time.process_time()
    draw()
    await asyncio.sleep(0.2)
    return time.process_time() - begun
"""
STREAMS = """
import itertools
from tests.agents import ScriptedAgent
from hitl_nb.testing import calls, says

@human_in_the_loop(render=StepReview)
def plan(steps: list[Step]) -> list[Step]:
    "Propose steps."

async def streamed():
    turn = calls("plan", steps=[{"description": f"Step {n}: check the thing and write it down"} for n in range(220)])
    agent = ScriptedAgent([turn, says("ok")], pace=0.002)
    begun = time.monotonic()
    run = Session(agent, tools=[plan], journal=None).start("go")
    while not any(call.status == "executing" for call in pending()):
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.2)
    took = time.monotonic() - begun
    run.stop()
    return took
"""


def clicked(kernel: Kernel, cell: str, send: Callable[[Kernel, str], int]) -> float:
    """Milliseconds from the click to the code behind the question."""
    asked = kernel.execute(f"{cell}\nprint('T', time.monotonic_ns())")
    sent = send(kernel, asked)
    return (int(marked(kernel, asked, "T")) - sent) / 1e6


def marked(kernel: Kernel, cell: str, mark: str) -> str:
    """What a cell has printed behind a mark, once it is over."""
    printed = kernel.output(cell, 60)
    return next(line.removeprefix(f"{mark} ") for line in printed.splitlines() if line.startswith(f"{mark} "))


def at_our_card(kernel: Kernel, cell: str) -> int:
    widget, item = open_card(kernel, cell)
    sent = time.monotonic_ns()
    widget.respond(item, {"approved": True})
    return sent


def at_a_widget(model: str, message: dict[str, Any]) -> Callable[[Kernel, str], int]:
    """Clicks at the widget that the cell has shown."""

    def send(kernel: Kernel, cell: str) -> int:
        def opened() -> str | None:
            for content in kernel.about(cell, "comm_open"):
                if content["data"]["state"].get("_model_name") == model:
                    return str(content["comm_id"])
            return None

        comm = kernel.until(opened, model)
        kernel.until(lambda: kernel.about(cell, "display_data"), "what is displayed")
        time.sleep(0.02)  # until the cell awaits: measured is a click, not a start
        sent = time.monotonic_ns()
        kernel.comm_msg(comm, {"method": "custom", "content": message})
        return sent

    return send


at_a_bare_one = at_a_widget("AnyModel", {"go": True})
at_a_button = at_a_widget("ButtonModel", {"event": "click"})


def compared(what: str, ours: list[float], theirs: list[float], goal: float | None) -> None:
    ratio = statistics.median(mine / other for mine, other in zip(ours, theirs, strict=True))
    tell(what, ratio, goal, note=f"{statistics.median(ours):.1f} ms to {statistics.median(theirs):.1f} ms")


def clicks(kernel: Kernel) -> None:
    """Tell what a click takes beside a bare widget and a Button."""
    rows = []
    for _ in range(ROUNDS + 2):
        ours = clicked(kernel, "await approve('Go?')", at_our_card)
        bare = clicked(kernel, "await of_widget()", at_a_bare_one)
        rows.append((ours, bare, clicked(kernel, "await of_button()", at_a_button)))
    mine, bare_ones, buttons = (list(column) for column in zip(*rows[2:], strict=True))
    compared("click → code behind await / a bare anywidget and a future", mine, bare_ones, None)
    compared("click → code behind await / an ipywidgets Button and a future", mine, buttons, None)


# -- what waiting costs -----------------------------------------------------------------------------------------------


def used(pid: int) -> float:
    """Seconds of the processor that all threads of a process have had so far, exactly."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def share(pid: int) -> float:
    """Per cent of a core that a process takes."""
    before, begun = used(pid), time.monotonic()
    time.sleep(SECONDS)
    return 100 * (used(pid) - before) / (time.monotonic() - begun)


def idle(kernel: Kernel) -> None:
    """Tell what a cell that waits takes, beside a kernel that does nothing."""
    pid = int(kernel.run("print(os.getpid())"))
    shares: dict[str, list[float]] = {"nothing": [], "one": [], "many": []}
    ask = "import asyncio; many = [approve(f'{n}?').start() for n in range(100)]"
    for _ in range(2):
        shares["nothing"].append(share(pid))
        cell = kernel.execute("await approve('Still there?')")
        widget, item = open_card(kernel, cell)
        time.sleep(1)
        shares["one"].append(share(pid))
        widget.respond(item, {"approved": True})
        kernel.reply(cell)
    kernel.reply(asked := kernel.execute(ask))
    for content in kernel.about(asked, "comm_open"):
        if content["data"]["state"].get("_model_name") == "AnyModel":
            hello = {"op": "hello", "have": 0, "page": content["comm_id"], "views": 1}
            Widget(kernel, content["comm_id"]).send(hello)
    time.sleep(2)
    shares["many"].append(share(pid))
    kernel.run("for question in many: question.stop()")
    nothing, one, many = (min(found) for found in shares.values())
    note = f"{one:.2f} % of a core, an idle kernel {nothing:.2f} %"
    tell("a waiting cell, more than an idle kernel", max(0.0, one - nothing), 0.1, unit="%", note=note)
    note = f"{many:.2f} % of a core"
    tell(
        "100 that wait in the background, more than an idle kernel", max(0.0, many - nothing), 0.1, unit="%", note=note
    )


def beside_ui_poll() -> None:
    """Tell both beside jupyter_ui_poll, where it works."""
    there = REPO / ".kernels" / "ui_poll"
    if not (there / "jupyter_ui_poll").is_dir():
        command = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", str(there)]
        subprocess.run([*command, "jupyter-ui-poll"], check=True)
    with ipykernel(OLD) as kernel:
        kernel.run(f"import sys; sys.path.append({str(there)!r})\n{SETUP}")
        pairs = []
        for _ in range(12):
            ours = clicked(kernel, "await approve('Go?')", at_our_card)
            pairs.append((ours, clicked(kernel, "of_ui_poll()", at_a_button)))
        mine, polled = (list(column) for column in zip(*pairs[2:], strict=True))
        compared(f"click → code on ipykernel {OLD} / jupyter_ui_poll, every 20 ms", mine, polled, 1)
        pid = int(kernel.run("print(os.getpid())"))
        cell = kernel.execute("await approve('Still there?')")
        widget, item = open_card(kernel, cell)
        time.sleep(1)
        waits = share(pid)
        widget.respond(item, {"approved": True})
        kernel.reply(cell)
        cell = kernel.execute("of_ui_poll()")
        time.sleep(1)
        polls = share(pid)
        at_a_button(kernel, cell)
        kernel.reply(cell)
        note = f"{waits:.2f} % to {polls:.2f} % of a core"
        tell(f"CPU of a waiting cell on ipykernel {OLD} / jupyter_ui_poll", waits / polls, 1, note=note)


# -- what is sent -----------------------------------------------------------------------------------------------------


def opened(kernel: Kernel) -> None:
    """Tell what a question of twenty steps takes, beside ipywidgets, one an item."""
    kernel.run(OPENS)
    rows, sent = [], []
    for _ in range(9):
        found = []
        for draw in ("ours", "per_item"):
            cell = kernel.execute(f"print('C', await cost({draw}))")
            found.append(1e3 * float(marked(kernel, cell, "C")))
            sent.append(len(kernel.about(cell, "comm_open")) + len(kernel.about(cell, "comm_msg")))
        rows.append(found)
        kernel.run("for question in questions: question.stop()\nquestions.clear()")
    mine, theirs = (list(column) for column in zip(*rows[1:], strict=True))
    compared("CPU to open a question of 20 steps / ipywidgets, one an item", mine, theirs, 0.1)
    note = f"ipywidgets, one an item, {sent[-1]}"
    tell("comm messages to open a question of 20 steps", sent[-2], 2, unit="messages", note=note)


def streamed(kernel: Kernel) -> None:
    """Tell how many messages, and how many bytes, arguments of 13 KB send while they stream."""
    kernel.run(STREAMS)
    cell = kernel.execute("print('S', await streamed())")
    widget = root_of(kernel, cell)
    took = float(marked(kernel, cell, "S"))
    messages = widget.received
    size = sum(len(json.dumps(message)) for message in messages)
    document = 220 * 61
    tell(
        "messages while a call streams / 20 a second and two",
        len(messages) / (math.ceil(took / 0.05) + 2),
        1,
        note=f"{len(messages)} messages in {took:.1f} s",
    )
    tell(
        "bytes while a call streams / its arguments",
        size / document,
        21,
        note=f"{size / 1e3:.0f} to {document / 1e3:.0f} KB",
    )


def main() -> None:
    """Start kernels, and tell all of it."""
    with ipykernel(NEWEST) as kernel:
        kernel.run(SETUP)
        clicks(kernel)
        opened(kernel)
        streamed(kernel)
    with ipykernel(NEWEST) as kernel:
        kernel.run(SETUP)
        idle(kernel)
    beside_ui_poll()


if __name__ == "__main__":
    main()
