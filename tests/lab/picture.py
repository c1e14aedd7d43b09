"""Pictures of a run in JupyterLab, made by the same hands as the journeys.

``python -m tests.lab.picture`` makes the README's; ``python -m tests.lab.picture OUTDIR`` takes the pending question
and the record in both themes and two widths, to look at.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import expect

from tests.browser.chromium import executable, launched
from tests.lab.lab import NARROW, WIDE, Lab, Notebook
from tests.lab.server import Server
from tests.lab.test_the_quickstart import quickstart
from tests.notebooks import FOLDER

README = FOLDER / "images" / "quickstart.png"


@asynccontextmanager
async def pending_question(lab: Lab, width: int) -> AsyncIterator[Notebook]:
    """The quickstart as far as its question, with one step unticked."""
    notebook = await lab.open(quickstart(), width=width)
    try:
        await notebook.run_all()
        box = notebook.card("Generate task steps").get_by_role("checkbox").last
        await expect(box).to_be_enabled(timeout=90_000)
        await box.uncheck()
        await notebook.page.mouse.move(0, 0)
        yield notebook
    finally:
        await notebook.close()


async def take_for_readme(lab: Lab) -> None:
    """The waiting cell, wide and light."""
    async with pending_question(lab, WIDE) as notebook:
        await notebook.cell("run").screenshot(path=README, animations="disabled")
    print(f"{README}: {README.stat().st_size / 1000:.0f} kB")


async def take_all(lab: Lab, folder: Path) -> None:
    """Question and record, light and dark, wide and narrow."""
    for theme in ("Light", "Dark"):
        lab.set_theme(theme)
        for width in (WIDE, NARROW):
            async with pending_question(lab, width) as notebook:
                cell = notebook.cell("run")
                await cell.screenshot(path=folder / f"question-{theme}-{width}.png", animations="disabled")
                await notebook.card("Generate task steps").get_by_role("button", name="Confirm").click()
                await notebook.finished("headless")
                await cell.screenshot(path=folder / f"record-{theme}-{width}.png", animations="disabled")
    print(f"8 pictures in {folder}")


async def main(arguments: list[str]) -> None:
    """Start JupyterLab and take the pictures."""
    path = executable()
    if path is None:
        raise SystemExit("No Chromium: `make browser`, or `apt-get install chromium`")
    with tempfile.TemporaryDirectory() as folder:
        async with Server(Path(folder)).running() as server, launched(path) as browser:
            lab = Lab(server, browser)
            await (take_all(lab, Path(arguments[0])) if arguments else take_for_readme(lab))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
