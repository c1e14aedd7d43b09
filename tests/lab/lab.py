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

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import nbformat
from nbformat import NotebookNode
from playwright.async_api import Browser, Locator, Page, expect

from tests.lab.server import Server
from tests.lab.wire import Wire

PATIENCE = 30.0
"""Seconds until something missing is a failure; nothing waits longer than it has to."""

WIDE, NARROW = 1400, 700
"""Widths of a window in pixels: a desktop, and half of one."""

_SCRIPT = (Path(__file__).parent / "page.js").read_text()


class Lab:
    """A JupyterLab and a browser."""

    def __init__(self, server: Server, browser: Browser) -> None:
        self.server = server
        self._browser = browser
        self._opened = 0

    def set_theme(self, theme: Literal["Light", "Dark"]) -> None:
        """Choose the theme of the pages that are opened from now on."""
        self.server.set("@jupyterlab/apputils-extension:themes", theme=f"JupyterLab {theme}")

    async def open(
        self, cells: Mapping[str, str] | NotebookNode, *, width: int = WIDE, kernel: str | None = "python3"
    ) -> "Notebook":
        """Write a notebook under a fresh name and open it in a window of its own.

        Args:
            cells: A notebook, or its code cells: name → source.
            width: Of the window, in pixels.
            kernel: None opens it as on a machine that cannot run it.
        """
        notebook = cells if isinstance(cells, NotebookNode) else _notebook(cells)
        self._opened += 1
        path = self.server.files / f"journey-{self._opened}.ipynb"
        notebook.metadata = _metadata(kernel)
        nbformat.write(notebook, path)
        context = await self._browser.new_context(viewport={"width": width, "height": 1400})
        opened = Notebook(await context.new_page(), self.server, path)
        try:
            await opened.load(with_kernel=kernel is not None)
        except BaseException:
            await opened.close()
            raise
        return opened


class Notebook:
    """A notebook that is open in the browser.

    Attributes:
        page: Playwright's page.
        wire: What comes from the kernel to the page.
        path: The file.
    """

    def __init__(self, page: Page, server: Server, path: Path) -> None:
        self.page = page
        self.path = path
        self.wire = Wire()
        self.faults: list[str] = []
        """Uncaught errors of the page."""
        self._server = server
        page.on("pageerror", lambda error: self.faults.append(f"{error.message}\n{error.stack}"))
        page.on("dialog", lambda dialog: dialog.accept())

    # -- what a person does ----------------------------------------------------------------------------------

    async def run(self, cell: str) -> None:
        """Run one cell, and go on as soon as it has begun."""
        await self.page.evaluate("cell => lab.run(cell)", cell)
        await self._until("cell => lab.begun(cell)", cell)

    async def run_all(self) -> None:
        """Choose "Run All Cells"."""
        await self.command("notebook:run-all-cells")

    async def interrupt(self) -> None:
        """Press the stop button."""
        await self.command("notebook:interrupt-kernel")

    async def restart(self) -> None:
        """Restart the kernel, and say yes when asked."""
        await self.command("kernelmenu:restart")
        await self.page.get_by_role("button", name="Confirm Kernel Restart").click()
        await self._until("() => lab.kernelIs('idle')")

    async def save(self) -> None:
        """Save the file."""
        await self.page.evaluate("() => lab.save()")

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
        """The card with this title; inside it, look up buttons and boxes by role and name."""
        return self.page.get_by_role("group", name=title, exact=True)

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

    async def load(self, *, with_kernel: bool) -> None:
        """Go to the notebook's page, and wait until cells can be run; without a kernel, until they can be read."""
        self.page.set_default_timeout(PATIENCE * 1000)
        await self.wire.attach(self.page)
        await self.page.add_init_script(_SCRIPT)
        await self.page.goto(f"{self._server.url}/lab/tree/{self.path.name}?reset")
        if with_kernel:
            await self._until("() => lab.kernelIs('idle')")
            return
        await self.page.locator(".jp-Dialog button.jp-mod-reject").click()  # "No Kernel"
        await self._until("() => lab.isShown()")

    async def _until(self, condition: str, argument: Any = None, *, patience: float = PATIENCE) -> None:
        await self.page.wait_for_function(condition, arg=argument, timeout=patience * 1000)


def _notebook(cells: Mapping[str, str]) -> NotebookNode:
    code = [nbformat.v4.new_code_cell(source, id=name) for name, source in cells.items()]
    notebook: NotebookNode = nbformat.v4.new_notebook(cells=code)
    return notebook


def _metadata(kernel: str | None) -> NotebookNode:
    # Lab takes any kernel of the notebook's language if it has not the one that is named; so name another language.
    name, language = (kernel, "python") if kernel else ("not-installed-here", "another-language")
    return NotebookNode(kernelspec={"name": name, "display_name": name, "language": language})
