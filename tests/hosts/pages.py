"""Hosts that show a whole notebook as a page of their own: nbclassic, Voila."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import nbformat
from playwright.async_api import Browser, Page, expect

from tests.hosts.cell import Cell, words
from tests.hosts.serving import PATIENCE, browser, click, environment, folder, reads, served, unexpected

AWAITS = "from hitl_nb import approve\nprint('it is', await approve('Go?'))"
STARTS = "from hitl_nb import approve\nquestion = approve('Go?').start()"
LATER = "print('it is', await question)"
IN_A_TASK = """\
import asyncio
import ipywidgets
from hitl_nb import approve
said = ipywidgets.Label()

async def go():
    said.value = f"it is {await question}"

question = approve('Go?').start()
going = asyncio.create_task(go())
said
"""

What = Callable[[Page], Awaitable[Cell]]


async def _answered(page: Page) -> Cell:
    await click(page, "Go?")
    await reads(page, "it is True")
    return Cell("yes")


async def _refused(page: Page) -> Cell:
    fault = page.get_by_text("Voila shows its page").first
    await expect(fault).to_be_visible(timeout=PATIENCE)
    said = await page.locator("body").inner_text()
    return words(said[said.index("Voila shows its page") :])


# -- nbclassic ----------------------------------------------------------------------------------------------------

_RUN = "cells => Jupyter.notebook.execute_cells(cells)"
_READY = "() => window.Jupyter?.notebook?.kernel?.info_reply?.protocol_version && Jupyter.notebook._fully_loaded"
"""Not only connected: the page then asks the kernel for its widgets, and draws anew what was there before the reply."""


async def _later(page: Page) -> Cell:
    await click(page, "Go?")
    await page.evaluate(_RUN, [1])
    await reads(page, "it is True")
    return Cell("yes")


async def _stopped(page: Page) -> Cell:
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => Jupyter.notebook.kernel.interrupt()")
    await reads(page, "CancelledError")
    await page.evaluate(_RUN, [0])
    return await _answered(page)


async def _run_again(page: Page) -> Cell:
    shown = page.get_by_role("group", name="Go?", exact=True)
    await expect(shown).to_be_visible(timeout=PATIENCE)
    await page.evaluate(_RUN, [0])
    await expect(shown).to_have_count(0, timeout=PATIENCE)
    return await _answered(page)


async def _cleared(page: Page) -> Cell:
    shown = page.get_by_role("group", name="Go?", exact=True)
    await expect(shown).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => Jupyter.notebook.get_cell(0).clear_output()")
    await expect(shown).to_have_count(0, timeout=PATIENCE)
    return await _answered(page)


async def _restarted(page: Page) -> Cell:
    card = page.get_by_role("group", name="Go?", exact=True)
    await expect(card).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => Jupyter.notebook.kernel.restart()")
    await expect(card).to_contain_text("Disconnected", timeout=PATIENCE)
    await page.wait_for_function(_READY, timeout=PATIENCE)
    await page.evaluate(_RUN, [0])
    await expect(card.get_by_role("button", name="Approve")).to_be_enabled(timeout=PATIENCE)
    return await _answered(page)


async def _reloaded(page: Page) -> Cell:
    """Answered on the page that came back, while the cell still waits."""
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => Jupyter.notebook.save_notebook()")
    await page.reload()
    await click(page, "Go?")
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_contain_text("Approved", timeout=PATIENCE)
    await page.wait_for_function(_READY, timeout=PATIENCE)
    await page.evaluate(_RUN, [1])
    await reads(page, "later: True")
    return Cell("yes")


async def _early(page: Page) -> Cell:
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.evaluate(_RUN, [1])
    return await _answered(page)


async def _reopened(page: Page) -> Cell:
    await _answered(page)
    await page.evaluate("() => Jupyter.notebook.save_notebook()")
    await page.evaluate("() => Jupyter.notebook.session.delete()")
    await page.goto(page.url + "?kernel_name=none")
    record = page.locator(".output_area").first
    await expect(record).to_contain_text("Approved", timeout=PATIENCE)
    await expect(record.get_by_role("button", name="Approve")).to_have_count(0)
    return Cell("yes")


async def _two_tabs(page: Page) -> Cell:
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => Jupyter.notebook.save_notebook()")
    other = await page.context.new_page()
    await other.goto(page.url)
    await click(other, "Go?")
    await reads(page, "it is True")
    await expect(other.get_by_role("group", name="Go?", exact=True)).to_contain_text("Approved", timeout=PATIENCE)
    return Cell("yes")


_NBCLASSIC: dict[str, tuple[list[str], What]] = {
    "a click while a cell awaits": ([AWAITS], _answered),
    "in the background": ([STARTS, LATER], _later),
    "awaited before the click": ([STARTS, LATER], _early),
    "stop": ([AWAITS], _stopped),
    "restart": ([AWAITS], _restarted),
    "re-run": ([AWAITS], _run_again),
    "clear": ([AWAITS], _cleared),
    "reload": ([AWAITS.replace("print('it is', ", "it = ("), "print('later:', it)"], _reloaded),
    "save and reopen": ([AWAITS], _reopened),
    "two tabs": ([AWAITS], _two_tabs),
}


def nbclassic() -> dict[str, Cell]:
    """The classic notebook, on a server of today."""
    bin_ = environment("nbclassic", "nbclassic", "ipykernel>=7.4")
    return asyncio.run(_nbclassic(bin_))


async def _nbclassic(bin_: Path) -> dict[str, Cell]:
    command = [str(bin_ / "jupyter-nbclassic"), *_quiet(), "--port={port}"]
    found = {}
    async with browser() as chromium, folder() as place:
        for name, (cells, _) in _NBCLASSIC.items():
            _write(place / f"{name}.ipynb", cells)
        async with served(command, place, "/api/status", **_jupyter(bin_, place)) as address:
            for name, (_, what) in _NBCLASSIC.items():
                url = f"{address.removesuffix('/api/status')}/notebooks/{name}.ipynb"
                found[name] = await _in_page(chromium, url, what, begin=_begin_classic)
    return found


async def _begin_classic(page: Page) -> None:
    await page.wait_for_function(_READY, timeout=PATIENCE)
    await page.evaluate(_RUN, [0])


# -- Voila --------------------------------------------------------------------------------------------------------


async def _read_again(page: Page) -> Cell:
    """A page that is loaded again is a notebook of its own, and asks anew."""
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.reload()
    return await _answered(page)


async def _two_readers(page: Page) -> Cell:
    """Each reader has a kernel, and answers what was asked in it."""
    await expect(page.get_by_role("group", name="Go?", exact=True)).to_be_visible(timeout=PATIENCE)
    other = await page.context.new_page()
    await other.goto(page.url)
    theirs = other.get_by_role("group", name="Go?", exact=True)
    await expect(theirs).to_be_visible(timeout=PATIENCE)
    await page.bring_to_front()
    await _answered(page)
    await expect(theirs.get_by_role("button", name="Decline")).to_be_enabled()
    await other.bring_to_front()
    return await _answered(other)


_VOILA: dict[str, tuple[list[str], What]] = {
    "a click while a cell awaits": ([AWAITS], _refused),
    "awaited before the click": ([STARTS, LATER], _refused),
    "in the background": ([IN_A_TASK], _answered),
    "reload": ([IN_A_TASK], _read_again),
    "two tabs": ([IN_A_TASK], _two_readers),
}


def voila() -> dict[str, Cell]:
    """Voila, which shows its page once all cells have run."""
    bin_ = environment("voila", "voila", "ipykernel>=7.4")
    return asyncio.run(_voila(bin_))


async def _voila(bin_: Path) -> dict[str, Cell]:
    found = {}
    async with browser() as chromium, folder() as place:
        for name, (cells, _) in _VOILA.items():
            _write(place / f"{name.replace(' ', '-')}.ipynb", cells)
        command = [str(bin_ / "voila"), "--no-browser", "--port={port}", "--show_tracebacks=True", "."]
        async with served(command, place, "/", **_jupyter(bin_, place)) as address:
            for name, (_, what) in _VOILA.items():
                url = f"{address}voila/render/{name.replace(' ', '-')}.ipynb"
                found[name] = await _in_page(chromium, url, what)
    return found


# -- both ---------------------------------------------------------------------------------------------------------


async def _nothing(page: Page) -> None:
    pass


async def _in_page(
    chromium: Browser, url: str, what: What, *, begin: Callable[[Page], Awaitable[None]] = _nothing
) -> Cell:
    context = await chromium.new_context(viewport={"width": 1200, "height": 1200})
    page = await context.new_page()
    try:
        await page.goto(url, timeout=PATIENCE)
        await begin(page)
        return await what(page)
    except Exception as error:
        return unexpected(error)
    finally:
        await context.close()


def _write(path: Path, cells: list[str]) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, path)


def _quiet() -> list[str]:
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [*root, "--no-browser", "--ServerApp.token=", "--IdentityProvider.token=", "--ServerApp.password="]


def _jupyter(bin_: Path, place: Path) -> Mapping[str, str]:
    """Settings, data and kernels of a folder that is thrown away."""
    spec = {"argv": [str(bin_ / "python"), "-m", "ipykernel_launcher", "-f", "{connection_file}"]}
    home = place / ".data" / "kernels" / "python3"
    home.mkdir(parents=True, exist_ok=True)
    (home / "kernel.json").write_text(json.dumps(spec | {"display_name": "Python 3", "language": "python"}))
    folders = {"CONFIG_DIR": ".config", "DATA_DIR": ".data", "RUNTIME_DIR": ".runtime"}
    return {f"JUPYTER_{name}": str(place / path) for name, path in folders.items()} | {
        "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"
    }
