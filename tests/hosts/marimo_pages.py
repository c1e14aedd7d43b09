"""marimo, as its readers have it (``marimo run``) and as its writers do (``marimo edit``)."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import Page, expect

from tests.hosts.cell import Cell
from tests.hosts.serving import PATIENCE, browser, click, environment, folder, reads, served, unexpected

HEAD = """\
import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    from hitl_nb import approve, pending

    return approve, mo, pending

"""

AWAITS = """
@app.cell
async def _(approve, mo):
    sure = await approve("Send it?", {"to": "1,204 people"})
    mo.md(f"it is {sure}")
    return (sure,)

"""
STARTS = """
@app.cell
def _(approve):
    question = approve("Later?").start()
    question
    return (question,)


@app.cell
async def _(mo, question):
    later = await question
    mo.md(f"later it is {later}")
    return

"""
SHOWN_TWICE = STARTS.replace("    later = ", "    mo.output.append(question)\n    later = ")

_RUNS_AT_ONCE = "[tool.marimo.runtime]\nauto_instantiate = true\n"
"""As a page of ``marimo run`` does; without it a writer presses a button first."""


def environment_of() -> Path:
    """Its ``bin``."""
    return environment("marimo", "marimo")


async def _awaits(page: Page) -> Cell:
    await click(page, "Send it?")
    await reads(page, "it is True")
    return Cell("yes")


async def _later(page: Page) -> Cell:
    await click(page, "Later?")
    await reads(page, "later it is True")
    return Cell("yes")


async def _two_readers(page: Page) -> Cell:
    """Each has a notebook of their own, and is asked what concerns the other not at all."""
    other = await page.context.new_page()
    await other.goto(page.url.partition("?")[0])  # behind which stands whose session it is
    theirs = other.get_by_role("group", name="Send it?", exact=True)
    await expect(theirs).to_be_visible(timeout=PATIENCE)
    await page.bring_to_front()
    await click(page, "Send it?")
    await reads(page, "it is True")
    await expect(theirs.get_by_role("button", name="Decline")).to_be_enabled()
    await other.bring_to_front()
    await click(other, "Send it?")
    await reads(other, "it is True")
    return Cell("yes")


async def _shown_again(page: Page) -> Cell:
    cards = page.get_by_role("group", name="Later?", exact=True)
    await expect(cards).to_have_count(2, timeout=PATIENCE)
    await click(page, "Later?")
    await reads(page, "later it is True")
    await reads(page, "Approved")  # the second cell's last value has taken the place of its card
    return Cell("yes")


async def _stopped(page: Page) -> Cell:
    await expect(page.get_by_role("group", name="Send it?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.get_by_test_id("interrupt-button").click()
    await reads(page, "This cell was interrupted")
    return Cell("yes")


async def _run_again(page: Page) -> Cell:
    await _stopped(page)
    await page.get_by_test_id("run-button").last.click()
    return await _awaits(page)


async def _reloaded(page: Page) -> Cell:
    await expect(page.get_by_role("group", name="Send it?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.reload()
    await click(page, "Send it?")
    await reads(page, "it is True")
    return Cell("yes")


Situation = tuple[str, Callable[[Page], Awaitable[Cell]]]

SITUATIONS: dict[str, dict[str, Situation]] = {
    "run": {
        "a click while a cell awaits": (AWAITS, _awaits),
        "in the background": (STARTS, _later),
        "two tabs": (AWAITS, _two_readers),
        "reload": (AWAITS, _reloaded),
    },
    "edit": {
        "a click while a cell awaits": (AWAITS, _awaits),
        "in the background": (SHOWN_TWICE, _shown_again),
        "stop": (AWAITS, _stopped),
        "re-run": (AWAITS, _run_again),
        "reload": (AWAITS, _reloaded),
    },
}


def looked_at(mode: str, *only: str) -> dict[str, Cell]:
    """Each situation in turn, with a server and a page of its own."""
    return asyncio.run(_looked_at(environment_of(), mode, only or tuple(SITUATIONS[mode])))


async def _looked_at(bin_: Path, mode: str, only: tuple[str, ...]) -> dict[str, Cell]:
    found = {}
    async with browser() as chromium:
        for name in only:
            cells, what = SITUATIONS[mode][name]
            async with folder() as place:
                (place / "notebook.py").write_text(HEAD + cells)
                (place / "pyproject.toml").write_text(_RUNS_AT_ONCE)
                command = [str(bin_ / "marimo"), "-q", mode, "--headless", "--no-token", "--port", "{port}"]
                async with served([*command, "notebook.py"], place, "/health") as address:
                    context = await chromium.new_context(viewport={"width": 1200, "height": 1400})
                    page = await context.new_page()
                    try:
                        await page.goto(address.removesuffix("/health"))
                        found[name] = await what(page)
                    except Exception as error:
                        found[name] = unexpected(error)
                    finally:
                        await context.close()
    return found
