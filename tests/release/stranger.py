"""A stranger's path, by the documentation alone: an empty environment, the lines of one page, a person who clicks.

``make release`` runs it with the built wheel; it takes a minute, most of it pip's, and is no part of the other tests.
"""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.chromium import executable, launched
from tests.conftest import REPO
from tests.lab.lab import Lab
from tests.lab.server import Server
from tests.release.extras import built_wheel

PAGE = (REPO / "notebooks" / "guide" / "first.md").read_text(encoding="utf-8")
pytestmark = pytest.mark.timeout(1800)


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


class Theirs(Server):
    """JupyterLab of the stranger's environment, which knows nothing of this checkout."""

    def __init__(self, folder: Path, home: Path) -> None:
        super().__init__(folder)
        self._home = home

    def _command(self) -> list[str]:
        return [str(self._home / "bin" / "python"), *super()._command()[1:]]

    def _environment(self) -> dict[str, str]:
        # The environment's own kernelspec: the settings are this test's, the kernel is theirs.
        mine = super()._environment()
        return {name: value for name, value in mine.items() if name != "PYTHONPATH"} | {"JUPYTER_PREFER_ENV_PATH": "1"}


async def test_from_an_empty_environment_to_an_approved_frame_in_at_most_twelve_lines(tmp_path):
    shell, cell = block("sh"), block("python")
    lines = [line for line in (shell + cell).splitlines() if line.strip()]
    assert len(lines) <= 12
    make, install, start = shell.splitlines()
    began = time.monotonic()
    wheel = built_wheel(tmp_path)
    for command in (
        make.replace("python ", f"{sys.executable} "),
        install.replace('"hitl-nb[data]"', f'"{wheel}[data]"'),
    ):
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)  # noqa: ASYNC221
        assert done.returncode == 0, done.stderr[-2000:]
    assert start == "env/bin/jupyter lab"
    installed = time.monotonic()
    chromium = executable()
    assert chromium is not None
    async with Theirs(tmp_path / "lab", tmp_path / "env").running() as server, launched(chromium) as browser:
        # The kernelspec that `Server` writes is that of this checkout's Python.
        shutil.rmtree(tmp_path / "lab" / "data" / "kernels", ignore_errors=True)
        notebook = await Lab(server, browser).open(
            {"first": cell, "then": "print(list(kept.name), kept.index.tolist())"}
        )
        opened = time.monotonic()
        await notebook.run("first")
        card = await notebook.question("Which rows stay?")
        drawn = time.monotonic()
        await card.get_by_role("grid").focus()
        for key in ("ArrowDown", "ArrowDown", "Space"):
            await notebook.page.keyboard.press(key)
        await card.get_by_role("button", name="Confirm: keep 2 of 3 rows").click()
        await notebook.finished("first")
        await expect(notebook.cell("first")).to_contain_text("kept 2 of 3 rows")
        await notebook.run("then")
        assert await notebook.output("then") == "['Ada', 'Bob'] [0, 1]\n"
        await notebook.close()
    seconds = {"install": installed - began, "open": opened - installed, "card": drawn - opened}
    print(f"{len(lines)} lines;", ", ".join(f"{name} {value:.0f} s" for name, value in seconds.items()))
