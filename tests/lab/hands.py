"""Somebody at a tutorial, who counts what each decision takes: keys, clicks, and acts (a word that is typed is one)."""

import nbformat
from nbformat import NotebookNode
from playwright.async_api import Locator

from tests.lab.lab import Notebook
from tests.notebooks import FOLDER


def tutorial(name: str) -> NotebookNode:
    """Give a tutorial without its outputs: nothing that was stored may pass for something that happened."""
    notebook: NotebookNode = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


class Hands:
    """What somebody does with keyboard and mouse."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook, self.keys, self.clicks, self.acts = notebook, 0, 0, 0

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            await self.notebook.page.keyboard.press(key)
            self.keys += 1
            self.acts += 1

    async def type(self, text: str) -> None:
        """Type a word."""
        await self.notebook.page.keyboard.type(text)
        self.keys += len(text)
        self.acts += 1

    async def click(self, at: Locator) -> None:
        """Click on something."""
        await at.click()
        self.clicks += 1
        self.acts += 1

    def told(self, decision: str) -> str:
        """Say what a decision took, and begin to count anew."""
        said = f"{decision}: {self.acts} acts ({self.keys} keys, {self.clicks} clicks)"
        self.keys = self.clicks = self.acts = 0
        return said
