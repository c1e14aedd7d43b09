"""How long a large table takes to be drawn, as a ratio to the plainest widget that draws as many controls.

``python -m tests.bench.form``: in one page of Chromium, from the message of the kernel to the next frame. The plain
widget draws the same rows as text box and select, without a label, a check or an edit: what no form can be faster than.
"""

import asyncio
import statistics
import sys
from typing import Literal

from playwright.async_api import Browser, Page
from pydantic import BaseModel

from tests.bench.figure import tell
from tests.browser.chromium import ADDRESS, executable, launched, serve
from tests.browser.forms import form

ROUNDS = 5
PLAIN = """
export default { render({ model, el }) {
  const { rows, options } = model.get("value");
  for (const { description, status } of rows) {
    const line = document.createElement("div");
    const box = document.createElement("input");
    box.value = description;
    const select = document.createElement("select");
    for (const option of options) select.append(new Option(option, option, false, option === status));
    line.append(box, select);
    el.append(line);
  }
} };
"""
MEASURE = """
async ([item, plain, rows]) => {
  const drawn = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const widget = await importLinked(plain);
  const value = { rows, options: ["enabled", "disabled", "executing"] };
  const el = document.getElementById("el2");
  await drawn();
  const started = performance.now();
  widget.render({ model: { get: () => value }, el });
  await drawn();
  const plainTime = performance.now() - started;
  el.replaceChildren();
  const run = await mount({ kernel: {} });
  await drawn();
  const again = performance.now();
  run.kernel.put(item);
  await drawn();
  const formTime = performance.now() - again;
  const box = document.querySelector("#el .hitl-tr textarea");
  const typed = performance.now();
  box.value = "changed";
  box.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
  const keyTime = performance.now() - typed;
  unmount(run);
  return [plainTime, formTime, keyTime];
}
"""


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled", "executing"]


class Plan(BaseModel):
    steps: list[Step]


async def measured(page: Page, count: int) -> tuple[float, float, float]:
    """Milliseconds for the plain widget, the form, and one key in it: medians."""
    rows = [{"description": f"Step {number} of a long plan", "status": "enabled"} for number in range(count)]
    item = form(Plan, {"steps": rows})
    times = [await page.evaluate(MEASURE, [item, PLAIN, rows]) for _ in range(ROUNDS)]
    plain, drawn, key = (statistics.median(column) for column in zip(*times, strict=True))
    return plain, drawn, key


async def report(browser: Browser) -> None:
    page = await browser.new_page(viewport={"width": 800, "height": 900})
    await serve(page)
    await page.goto(ADDRESS)
    await measured(page, 10)  # the first drawing compiles the code
    for count in (200, 2_000):
        plain, drawn, key = await measured(page, count)
        tell(
            f"{count:,} rows drawn in a page, the form / a plain widget with as many controls",
            drawn / plain,
            note=f"{drawn:.0f} ms to {plain:.0f} ms; a key in a cell {key:.0f} ms",
        )


async def main() -> None:
    path = executable()
    if path is None:
        sys.exit("No Chromium: apt-get install chromium")
    async with launched(path) as browser:
        await report(browser)


if __name__ == "__main__":
    asyncio.run(main())
