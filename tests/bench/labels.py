"""From a key to the next item of a queue, in a real JupyterLab: `python -m tests.bench.labels`.

The anchor is a bare anywidget in the same JupyterLab that sends a key to the kernel and changes a text when it is back.
Each is measured to the frame after the change. Goal: median of 200 ≤ 1.2 × the echo.
"""

import asyncio
import statistics
import tempfile
from pathlib import Path

from playwright.async_api import expect

from tests.bench.figure import tell
from tests.browser.chromium import executable, launched
from tests.lab.lab import Lab, Notebook
from tests.lab.server import Server

COUNT = 200
SETUP = """\
import anywidget
from hitl_nb import label, use

use(journal="bench.sqlite").__enter__()

class Echo(anywidget.AnyWidget):
    _esm = '''
    export default { render({ model, el }) {
      const stage = Object.assign(document.createElement("div"), { tabIndex: 0, className: "echo" });
      const place = Object.assign(document.createElement("p"), { className: "echo-place", textContent: "0" });
      stage.append(place);
      el.append(stage);
      let at = 0;
      model.on("msg:custom", ({ at }) => (place.textContent = String(at)));
      stage.addEventListener("keydown", ({ key }) => model.send({ key, at: ++at }));
    } };
    '''

    def __init__(self):
        super().__init__()
        self.on_msg(lambda _, content, __: self.send(content))

texts = [f"text {at}: a few words about something, as people write them." for at in range(COUNT + 1)]
"""
TIMED = """async ([stage, place]) => {
    const [el, text] = [document.querySelector(stage), document.querySelector(place)];
    const before = text.textContent;
    const start = performance.now();
    el.dispatchEvent(new KeyboardEvent("keydown", { key: "1", code: "Digit1", bubbles: true }));
    while (text.textContent === before) await new Promise((resolve) => setTimeout(resolve, 0));
    await new Promise((resolve) => requestAnimationFrame(resolve));
    return performance.now() - start;
}"""


async def measured(notebook: Notebook, stage: str, place: str) -> list[float]:
    """Milliseconds from a key to what comes next, in the frame after it."""
    return [await notebook.page.evaluate(TIMED, [stage, place]) for _ in range(COUNT)]


async def main() -> None:
    """Start a JupyterLab and a Chromium, and measure."""
    path = executable()
    assert path is not None, "Chromium is needed: `make browser`"
    cells = {
        "setup": SETUP.replace("COUNT", str(COUNT)),
        "echo": "Echo()",
        "ask": "labels = await label(texts, ['good', 'bad'], 'Good or bad?', key='bench')",
    }
    with tempfile.TemporaryDirectory() as folder:
        async with Server(Path(folder)).running() as server, launched(path) as browser:
            notebook = await Lab(server, browser).open(cells)
            try:
                for cell in ("setup", "echo"):
                    await notebook.run(cell)
                    await notebook.finished(cell)
                await notebook.page.locator(".echo").focus()
                echo = await measured(notebook, ".echo", ".echo-place")
                await notebook.run("ask")
                card = await notebook.question("Good or bad?")
                await expect(card.locator(".hitl-queue-stage")).to_contain_text("text 0:")
                await card.locator(".hitl-queue-stage").click()
                await expect(card).not_to_have_attribute("data-resting", "")
                ours = await measured(notebook, ".hitl-queue-stage", ".hitl-queue-place")
                await expect(card.get_by_text(f"{COUNT} of {COUNT + 1} labelled")).to_be_visible()
                await expect(card.get_by_text("all saved")).to_be_visible()
                await notebook.interrupt()
            finally:
                await notebook.close()
    for name, of in (("median", statistics.median), ("95th of 100", lambda took: statistics.quantiles(took, n=20)[-1])):
        mine, bare = of(ours), of(echo)
        tell(
            f"key → next of {COUNT} items / a bare anywidget echo, {name}",
            mine / bare,
            1.2,
            note=f"{mine:.1f} ms to {bare:.1f} ms",
        )


if __name__ == "__main__":
    asyncio.run(main())
