"""Servers and environments of hosts that have their own, and a browser before them."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, Error, Page, expect

from tests.browser.chromium import executable, launched
from tests.conftest import REPO
from tests.hosts.cell import Cell, words
from tests.kernel import environments
from tests.lab.server import free_port

PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
SHIMS = {"PYENV_VERSION": ":".join(path.name for path in PYENV.glob("versions/*"))} if PYENV.is_dir() else {}
"""pyenv's `python3.13` is found on the path and runs nothing unless its version is switched on."""

PATIENCE = 60_000
"""Milliseconds until something that does not come is a failure."""


def environment(name: str, *packages: str, python: str = sys.executable) -> Path:
    """The ``bin`` of an environment with these packages and what hitl_nb depends on, made if it is not there.

    Args:
        name: Of its folder.
        packages: What is in it.
        python: Its Python, or the version of one.

    Raises:
        subprocess.CalledProcessError: They cannot be installed here.
    """
    home = environments.ENVIRONMENTS / name
    wanted = "\n".join(sorted([*packages, *environments.requirements()]))
    receipt = home / "installed"
    if not receipt.exists() or receipt.read_text() != wanted:
        uv = [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads"]
        subprocess.run([*uv, "venv", "--clear", "--python", python, str(home)], check=True, env=os.environ | SHIMS)
        subprocess.run(
            [*uv, "pip", "install", "--python", str(home / "bin" / "python"), *wanted.splitlines()], check=True
        )
        receipt.write_text(wanted)
    return home / "bin"


@asynccontextmanager
async def served(command: list[str], folder: Path, path: str, **variables: str) -> AsyncIterator[str]:
    """The address of a program that serves at the port in place of ``{port}``, for as long as the block lasts."""
    port = str(free_port())
    address = f"http://127.0.0.1:{port}{path}"
    env = {**os.environ, "PYTHONPATH": str(REPO), "HITL_NB_PEOPLE": "", "HITL_NB_JOURNAL": "off", **variables}
    log = folder / "server.log"
    with log.open("wb") as out:
        command = [part.replace("{port}", port) for part in command]
        process = await asyncio.to_thread(subprocess.Popen, command, cwd=folder, env=env, stdout=out, stderr=out)
        try:
            last = time.monotonic() + PATIENCE / 1000
            while not await asyncio.to_thread(_answers, address):
                if process.poll() is not None or time.monotonic() > last:
                    raise RuntimeError(f"{command[0]} does not serve:\n{log.read_text()[-2000:]}")
                await asyncio.sleep(0.2)
            yield address
        finally:
            process.terminate()
            await asyncio.to_thread(process.wait, 30)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """A browser."""
    path = executable()
    if path is None:
        raise OSError("there is no Chromium: `make browser`")
    async with launched(path) as found:
        yield found


@asynccontextmanager
async def folder() -> AsyncIterator[Path]:
    """A folder that is thrown away; a server may still be writing to it."""
    path = Path(tempfile.mkdtemp())
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


async def click(page: Page, question: str, button: str = "Approve") -> None:
    """Answer a card, the first of those that show the question, as soon as it takes clicks."""
    card = page.get_by_role("group", name=question, exact=True).first
    await expect(card).to_be_visible(timeout=PATIENCE)
    await expect(page.locator(".hitl-card[data-resting]")).to_have_count(0, timeout=PATIENCE)
    await card.get_by_role("button", name=button).click(timeout=PATIENCE)


async def reads(page: Page, text: str) -> None:
    """Wait until a text stands in the page."""
    await expect(page.get_by_text(text).first).to_be_visible(timeout=PATIENCE)


def unexpected(error: Exception) -> Cell:
    """What a situation is that went wrong."""
    kind = "not there in time" if isinstance(error, AssertionError | Error) else type(error).__name__
    lines = str(error).strip().splitlines()
    return Cell("no", f"{kind}: {lines[0] if lines else ''}"[:200])


__all__ = ["Cell", "browser", "click", "environment", "folder", "reads", "served", "unexpected", "words"]
