"""A long table in a real JupyterLab: seconds from the cell's start until its last row can be edited.

Run: python -m tests.bench.lab_rows. The anchor is one plain anywidget that draws the same number of inputs, in the same
JupyterLab; goals: 200 rows within 3 s, 2,000 within 10 s.
"""

import asyncio
import tempfile
import time
from pathlib import Path

from tests.bench.figure import tell
from tests.browser.chromium import executable, launched
from tests.lab.lab import Lab, Notebook
from tests.lab.server import Server

SETUP = """\
import anywidget, traitlets
from hitl_nb import review

class Inputs(anywidget.AnyWidget):
    count = traitlets.Int().tag(sync=True)
    _esm = '''
    export default { render({ model, el }) {
      for (let row = 0; row < model.get("count"); row++) {
        const line = document.createElement("div");
        for (const name of ["step", "owner"]) {
          const input = document.createElement("input");
          input.setAttribute("aria-label", `plain ${name} ${row}`);
          input.value = `plain ${name} ${row}`;
          line.append(input);
        }
        el.append(line);
      }
    } };
    '''

def rows(count):
    return [{"step": f"step {row}", "owner": f"owner {row}"} for row in range(count)]
"""
LIMITS = {200: 3, 2000: 10}
"""Rows, and seconds until the last of them can be edited."""


async def seconds(notebook: Notebook, cell: str, value: str) -> float:
    """From the cell's start until the input that holds `value` is on screen and can be edited."""
    begin = time.perf_counter()
    await notebook.run(cell)
    there = """value => [...document.querySelectorAll("input, textarea")].some(
        (input) => input.value === value && input.matches(":enabled"))"""
    await notebook.page.wait_for_function(there, arg=value, timeout=120_000)
    return time.perf_counter() - begin


async def measure(lab: Lab) -> None:
    """Print one line a size."""
    for count in LIMITS:
        cells = {"setup": SETUP, "plain": f"Inputs(count={count})", "form": f"await review(rows({count}))"}
        notebook = await lab.open(cells)
        try:
            await notebook.run("setup")
            await notebook.finished("setup")
            plain = await seconds(notebook, "plain", f"plain owner {count - 1}")
            form = await seconds(notebook, "form", f"owner {count - 1}")
            tell(
                f"{count:,} rows in JupyterLab, start of the cell → its last row can be edited",
                form,
                LIMITS[count],
                unit="s",
                note=f"{form / plain:.1f} × a plain widget with as many boxes, {plain:.2f} s",
            )
            await notebook.interrupt()
        finally:
            await notebook.close()


async def main() -> None:
    """Start a JupyterLab and a Chromium, and measure."""
    path = executable()
    assert path is not None, "Chromium is needed: `make browser`"
    with tempfile.TemporaryDirectory() as folder:
        async with Server(Path(folder)).running() as server, launched(path) as browser:
            await measure(Lab(server, browser))


if __name__ == "__main__":
    asyncio.run(main())
