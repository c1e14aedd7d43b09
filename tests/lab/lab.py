"""A person at a notebook: open it, run cells, press stop, look at what is there.

::

    notebook = await lab.open({"setup": SETUP, "ask": "reply = await session.run('Go')"})
    await notebook.run("setup")
    await notebook.run("ask")
    card = await notebook.question("Generate task steps")
    await card.get_by_role("button", name="Confirm").click()
    assert "Off we go." in await notebook.output("ask")

Cells have names (their nbformat ids). What a person reads is looked up in the page by role and text; what a cell
put out is read from Lab's model of the notebook, whether or not that cell is on screen.
"""

import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, cast

import anyio
import nbformat
from nbformat import NotebookNode
from playwright.async_api import Browser, Error, Locator, Page, expect

from tests.lab.server import PYTHON, Server
from tests.lab.wire import Wire

PATIENCE = 30.0
"""Seconds until something missing is a failure; nothing waits longer than it has to."""

WIDE, NARROW = 1400, 700
"""Widths of a window in pixels: a desktop, and half of one."""

Host = Literal["lab", "notebook"]
"""What shows the notebook: JupyterLab, Notebook 7."""

HOST = "HITL_NB_LAB_HOST"
"""The variable that names the host of all journeys that name none, for the host matrix."""

expect.set_options(timeout=PATIENCE * 1000)

_SCRIPT = (Path(__file__).parent / "page.js").read_text()


class Lab:
    """A JupyterLab and a browser."""

    def __init__(self, server: Server, browser: Browser) -> None:
        self.server = server
        self._browser = browser
        self._opened = 0

    async def page(self, url: str, headers: dict[str, str]) -> Page:
        """Open a page that is no notebook, in a window of its own."""
        context = await self._browser.new_context(extra_http_headers=headers)
        page = await context.new_page()
        await page.goto(url)
        return page

    def set_theme(self, theme: Literal["Light", "Dark"]) -> None:
        """Choose the theme of the pages that are opened from now on."""
        self.server.set("@jupyterlab/apputils-extension:themes", theme=f"JupyterLab {theme}")

    async def open(
        self,
        cells: Mapping[str, str] | NotebookNode,
        *,
        width: int = WIDE,
        kernel: str | None = "python3",
        host: Host | None = None,
    ) -> "Notebook":
        """Write a notebook under a fresh name and open it in a window of its own.

        Args:
            cells: A notebook, or its code cells: name → source.
            width: Of the window, in pixels.
            kernel: None opens it as on a machine that cannot run it.
            host: JupyterLab, or Notebook 7 of the same server; None is JupyterLab, or what `HOST` names.
        """
        notebook = cells if isinstance(cells, NotebookNode) else _notebook(cells)
        self._opened += 1
        path = self.server.files / f"journey-{self._opened}.ipynb"
        notebook.metadata = _metadata(kernel)
        nbformat.write(notebook, path)
        context = await self._browser.new_context(viewport={"width": width, "height": 1400})
        host = host or cast("Host", os.environ.get(HOST, "lab"))
        opened = Notebook(await context.new_page(), self.server, path, host)
        try:
            await opened.load(with_kernel=kernel is not None)
        except BaseException:
            await opened.close()
            raise
        return opened

    @asynccontextmanager
    async def one(
        self, cells: Mapping[str, str], *, first: Sequence[str] = ("setup",), patience: float = PATIENCE, **options: Any
    ) -> AsyncIterator["Notebook"]:
        """Open one notebook for all journeys of a module; it is closed afterwards, and the page must have had no fault.

        Args:
            cells: Its code cells.
            first: Cells that are run before the first journey.
            patience: Seconds that each of these may take.
            **options: As for `open`.
        """
        opened = await self.open(cells, **options)
        try:
            for cell in first:
                await opened.run(cell)
                await opened.finished(cell, patience=patience)
            yield opened
        finally:
            await opened.close()
        assert not opened.faults, "\n\n".join(opened.faults)

    async def open_again(self, notebook: "Notebook") -> "Notebook":
        """Open a notebook that is open, in the window of another user or in another tab: its kernel is the same."""
        context = await self._browser.new_context(viewport={"width": WIDE, "height": 1400})
        again = Notebook(await context.new_page(), self.server, notebook.path, notebook.host)
        await again.load(with_kernel=True, busy=True)
        return again


class Notebook:
    """A notebook that is open in the browser.

    Attributes:
        page: Playwright's page.
        wire: What comes from the kernel to the page.
        path: The file.
        host: What shows it.
    """

    def __init__(self, page: Page, server: Server, path: Path, host: Host) -> None:
        self.page = page
        self.host = host
        self.path = path
        self.wire = Wire()
        self.faults: list[str] = []
        """Uncaught errors of the page."""
        self._server = server
        page.on("pageerror", self._failed)
        page.on("dialog", lambda dialog: dialog.accept())

    def _failed(self, error: Error) -> None:
        # Notebook 7 has faults of its own when it starts (it reads settings before they are there).
        if self.host == "lab" or re.search(r"blob:|labextensions", error.stack or ""):
            self.faults.append(f"{error.message}\n{error.stack}")

    # -- what a person does ----------------------------------------------------------------------------------

    async def run(self, cell: str) -> None:
        """Run one cell, and go on as soon as it has begun."""
        await self.page.evaluate("cell => lab.run(cell)", cell)
        await self._until("cell => lab.begun(cell)", cell)

    async def run_again(self, cell: str) -> None:
        """Run a cell that may be waiting: it stands in line behind itself."""
        await self.page.evaluate("cell => lab.run(cell)", cell)

    async def on(self, cell: str, command: str) -> None:
        """Execute a command of the notebook on a cell: clear it, delete it."""
        await self.page.evaluate("([cell, command]) => lab.on(cell, command)", [cell, command])

    async def has(self, cell: str) -> bool:
        """Whether the cell is still there."""
        there: bool = await self.page.evaluate("cell => lab.has(cell)", cell)
        return there

    async def trusts(self, cell: str) -> bool:
        """Whether the host shows what is active in the cell's outputs."""
        trusted: bool = await self.page.evaluate("cell => lab.trusts(cell)", cell)
        return trusted

    async def trusted(self, cell: str) -> None:
        """Trust the notebook, unless it is: a second user of a shared document has to."""
        if not await self.trusts(cell):
            await self.command("notebook:trust")
            await self.page.locator(".jp-Dialog button.jp-mod-accept").click()
            await self._until("cell => lab.trusts(cell)", cell)

    async def run_all(self) -> None:
        """Choose "Run All Cells"."""
        await self.command("notebook:run-all-cells")

    async def interrupt(self) -> None:
        """Press the stop button."""
        await self.command("notebook:interrupt-kernel")

    async def until_idle(self) -> None:
        """See to it that no cell runs: press the stop button if one does."""
        if await self.page.evaluate("() => lab.kernelIs('busy')"):
            await self.interrupt()
        await self._until("() => lab.kernelIs('idle')")

    async def restart(self) -> None:
        """Restart the kernel, and say yes when asked."""
        await self.page.evaluate("() => lab.watchRestart()")
        await self.command("kernelmenu:restart")
        await self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        await self._until("() => lab.restarted && lab.kernelIs('idle')")

    async def save(self) -> None:
        """Save the file; a shared document is written by its server, in a moment."""
        await self.page.evaluate("() => lab.save()")
        if os.environ.get(PYTHON):
            shown = await self.page.evaluate("() => lab.texts()")
            with anyio.fail_after(PATIENCE):
                while _texts(self.saved()) != shown:
                    await anyio.sleep(0.1)

    async def reload(self) -> None:
        """Reload the page, as after a lost connection; the kernel goes on."""
        await self.page.reload()
        await self._until("() => lab.kernelIs('idle', 'busy')")

    async def command(self, name: str) -> None:
        """Execute a command of JupyterLab without waiting for its end."""
        await self.page.evaluate("name => lab.command(name)", name)

    async def shut_down(self) -> None:
        """End the kernel."""
        await self.page.evaluate("() => lab.shutDown()")

    async def close(self) -> None:
        """End the kernel and close the window."""
        sessions = await self.page.request.get(f"{self._server.url}/api/sessions")
        for session in await sessions.json():
            if session["path"] == self.path.name:
                await self.page.request.delete(f"{self._server.url}/api/sessions/{session['id']}")
        await self.page.context.close()

    # -- what a person sees ----------------------------------------------------------------------------------

    def card(self, title: str) -> Locator:
        """The card with this title; inside it, look up buttons and boxes by role and name.

        In its first moment, and when it has moved, it decides nothing: see `rested`.
        """
        return self.page.get_by_role("group", name=title, exact=True)

    async def rested(self) -> None:
        """Wait until each card takes clicks."""
        await expect(self.page.locator(".hitl-card[data-resting]")).to_have_count(0)

    async def question(self, title: str) -> Locator:
        """The card with this title, once it can be answered. (While the model writes, boxes may yet change.)"""
        card = self.card(title)
        confirm = card.get_by_role("button", name="Confirm")
        await expect(confirm).to_be_enabled(timeout=PATIENCE * 1000)
        return card

    def cell(self, name: str) -> Locator:
        """A cell as it is on the page."""
        return self.page.locator(f'[data-cell="{name}"]')

    async def text(self) -> str:
        """Everything that can be read in the notebook."""
        return await self.page.locator(".jp-Notebook").inner_text()

    async def output(self, cell: str, *, patience: float = PATIENCE) -> str:
        """What a cell printed, displayed and raised, as text, once it is over."""
        await self.finished(cell, patience=patience)
        outputs: str = await self.page.evaluate("cell => lab.output(cell)", cell)
        return outputs

    async def outputs(self, cell: str) -> int:
        """How many outputs a cell has so far."""
        count: int = await self.page.evaluate("cell => lab.outputs(cell)", cell)
        return count

    async def finished(self, cell: str, *, patience: float = PATIENCE) -> None:
        """Wait until a cell is over."""
        await self._until("cell => lab.finished(cell)", cell, patience=patience)

    async def is_over(self, cell: str) -> bool:
        """Whether a cell has been run to its end."""
        over: bool = await self.page.evaluate("cell => lab.finished(cell)", cell)
        return over

    async def counts(self) -> dict[str, int | None]:
        """The execution count of each code cell, by name."""
        counts: dict[str, int | None] = await self.page.evaluate("() => lab.counts()")
        return counts

    def saved(self) -> Any:
        """The file as it is on disk."""
        return nbformat.read(self.path, as_version=4)

    # -- until the page is there -----------------------------------------------------------------------------

    async def load(self, *, with_kernel: bool, busy: bool = False) -> None:
        """Go to the notebook's page, and wait until cells can be run; without a kernel, until they can be read."""
        self.page.set_default_timeout(PATIENCE * 1000)
        await self.wire.attach(self.page)
        await self.page.add_init_script(_SCRIPT)
        place = {"lab": f"lab/tree/{self.path.name}?reset", "notebook": f"notebooks/{self.path.name}"}
        await self.page.goto(f"{self._server.url}/{place[self.host]}")
        if with_kernel:
            await self._until("() => lab.kernelIs('idle', 'busy')" if busy else "() => lab.kernelIs('idle')")
            return
        await self.page.locator(".jp-Dialog button.jp-mod-reject").click()  # "No Kernel"
        await self._until("() => lab.isShown()")

    async def _until(self, condition: str, argument: Any = None, *, patience: float = PATIENCE) -> None:
        await self.page.wait_for_function(condition, arg=argument, timeout=patience * 1000)


def _texts(notebook: NotebookNode) -> dict[str, str]:
    """What the outputs of each code cell say, as `lab.texts` of the page has it."""

    def text(output: NotebookNode) -> str:
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}"
        return str(output.get("text", output.get("data", {}).get("text/plain", "")))

    return {cell.id: "\n".join(map(text, cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"}


def _notebook(cells: Mapping[str, str]) -> NotebookNode:
    code = [nbformat.v4.new_code_cell(source, id=name) for name, source in cells.items()]
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=code)
    return notebook


def _metadata(kernel: str | None) -> NotebookNode:
    # Lab takes any kernel of the notebook's language if it has not the one that is named; so name another language.
    name, language = (kernel, "python") if kernel else ("not-installed-here", "another-language")
    return NotebookNode(kernelspec={"name": name, "display_name": name, "language": language})
