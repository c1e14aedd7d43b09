"""From a key to the next card's focus, in a real JupyterLab: `python -m tests.bench.next_card [QUESTIONS]`.

The anchor is a bare anywidget that sends a message and moves the focus when the kernel has answered, in the same
JupyterLab. Goals: median and 95th of 200 ≤ 2 × the echo; of 1,000 questions in one cell the last ≤ 1.2 × the tenth. A
card rests for 0.3 s, so those between the first 200 and the last 30 are answered by code as soon as they are asked, in
the same view and with a record each. And the size of the notebook that is saved then.
"""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path

from tests.bench.figure import tell
from tests.browser.chromium import executable, launched
from tests.lab.lab import Lab, Notebook
from tests.lab.server import Server

COUNT = 200
LOOP = 1_000
LAST = 30
SETUP = """\
import anywidget
import asyncio
from hitl_nb import approve, pending, use

use(journal="bench.sqlite").__enter__()

class Echo(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
      const make = (at) => Object.assign(document.createElement("button"), { textContent: `echo ${at}` });
      const buttons = [make(0), make(1)];
      el.append(...buttons);
      model.on("msg:custom", ({ at }) => buttons[1 - at].focus());
      buttons.forEach((button, at) => button.addEventListener("click", () => model.send({ at })));
    } };
    '''

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _, content, __: self.send(content))

async def yes():
    while not (asked := pending()):
        await asyncio.sleep(0)
    asked[0].respond(True)

async def loop(count, first, last):
    for number in range(count + 1):
        question = approve(f"Number {number}?")
        await (asyncio.gather(question, yes()) if first < number < count - last else question)
"""
TIMED = """async () => {
    const before = document.activeElement;
    const start = performance.now();
    before.click();
    const next = () => document.activeElement !== before && document.activeElement.matches("button");
    while (!next()) await new Promise((resolve) => setTimeout(resolve, 0));
    return performance.now() - start;
}"""
RESTED = """() => document.activeElement.matches("button") && !document.activeElement.ariaDisabled"""


async def measured(notebook: Notebook, *, rests: bool, count: int) -> list[float]:
    """Milliseconds from a press to the focus on what comes next, `count` times."""
    took = []
    for _ in range(count):
        if rests:
            await notebook.page.wait_for_function(RESTED)
        took.append(await notebook.page.evaluate(TIMED))
    return took


def said(took: list[float]) -> tuple[float, float]:
    """The median and the 95th of a hundred."""
    return statistics.median(took), statistics.quantiles(took, n=20)[-1]


async def main(questions: int) -> None:
    """Start a JupyterLab and a Chromium, and measure."""
    path = executable()
    assert path is not None, "Chromium is needed: `make browser`"
    cells = {"setup": SETUP, "echo": "Echo()", "loop": f"await loop({questions}, {COUNT}, {LAST})"}
    with tempfile.TemporaryDirectory() as folder:
        async with Server(Path(folder)).running() as server, launched(path) as browser:
            notebook = await Lab(server, browser).open(cells)
            try:
                for cell in ("setup", "echo"):
                    await notebook.run(cell)
                    await notebook.finished(cell)
                await notebook.page.get_by_role("button", name="echo 0").focus()
                echo = said(await measured(notebook, rests=False, count=COUNT))
                await notebook.run("loop")
                await notebook.card("Number 0?").get_by_role("button", name="Approve").focus()
                took = await measured(notebook, rests=True, count=COUNT)
                for name, mine, bare in zip(("median", "95th of a hundred"), said(took), echo, strict=True):
                    what = f"key → next card focused, {COUNT} of them / a bare anywidget echo, {name}"
                    tell(what, mine / bare, 2, note=f"{mine:.1f} ms to {bare:.1f} ms")
                await notebook.rested()
                await notebook.card(f"Number {COUNT}?").get_by_role("button", name="Approve").click()
                approve = notebook.card(f"Number {questions - LAST}?").get_by_role("button", name="Approve")
                await approve.focus(timeout=100_000)
                last = await measured(notebook, rests=True, count=LAST)
                await notebook.interrupt()
                await notebook.finished("loop")
                await notebook.save()
                size = notebook.path.stat().st_size
            finally:
                await notebook.close()
    tenth, end = statistics.median(took[5:15]), statistics.median(last)
    tell(
        f"the last of {questions:,} questions in one cell / the tenth",
        end / tenth,
        1.2,
        note=f"{end:.1f} ms to {tenth:.1f} ms, medians of {LAST} and of 10",
    )
    tell(
        f"saved notebook with {questions:,} records",
        size / 1000,
        unit="kB",
        note=f"{size / questions / 1000:.2f} kB each",
    )


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else LOOP))
