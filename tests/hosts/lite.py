"""JupyterLite, built and looked at without the net: its kernel is Pyodide, a Python in the page.

Pyodide itself comes from npm, all packages from PyPI, and every one of them is served from 127.0.0.1 as by a site's
builder: those that Pyodide's distribution has, beside it and named by its lock; all others, hitl_nb too, as piplite's.
So ``%pip install hitl-nb`` in a cell is what a user writes. What asks for another machine is refused, and is a failure.

One package is not what a user has: PyPI has no rpds-py for WebAssembly. Pyodide's distribution has it; here `RPDS`
stands in for it, of which jsonschema needs three classes and `approve` none.
"""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

import nbformat
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename
from playwright.async_api import Browser, Error, Page, ProxySettings, expect

from tests.conftest import REPO
from tests.hosts.cell import Cell, words
from tests.hosts.serving import PATIENCE, browser, click, environment, folder, served, unexpected
from tests.kernel import environments

# -- the site -----------------------------------------------------------------------------------------------------

KERNEL = ["ipython", "comm", "jedi", "micropip"]
"""What the kernel loads before it runs a cell."""

RPDS = '''\
"""Stands in for rpds-py, of which there is no wheel for WebAssembly on PyPI: what referencing and jsonschema call."""


class HashTrieMap(dict):
    @classmethod
    def convert(cls, value):
        return value if isinstance(value, cls) else cls(value)

    def __hash__(self):
        return hash(frozenset(self.items()))

    def insert(self, key, value):
        return type(self)({**self, key: value})

    def remove(self, key):
        left = dict(self)
        del left[key]
        return type(self)(left)

    def update(self, *others):
        joined = dict(self)
        for other in others:
            joined.update(other)
        return type(self)(joined)


class HashTrieSet(frozenset):
    def insert(self, value):
        return type(self)(self | {value})

    def discard(self, value):
        return type(self)(self - {value})

    def update(self, *others):
        return type(self)(self.union(*others))


class List(tuple):
    def push_front(self, value):
        return type(self)((value, *self))
'''

_IN_A_PAGE = {"sys_platform": "emscripten", "platform_system": "Emscripten", "os_name": "posix", "extra": ""}
"""What markers of requirements are compared with."""


def _downloaded(bin_: Path) -> Path:
    """The folder that has Pyodide in ``package`` and all wheels in ``wheels``, made if it is not there."""
    ask = "from jupyterlite_pyodide_kernel.constants import PYODIDE_VERSION; print(PYODIDE_VERSION)"
    version = subprocess.run([bin_ / "python", "-c", ask], check=True, capture_output=True, text=True).stdout.strip()
    home = environments.ENVIRONMENTS / "lite-downloads"
    names = sorted([*environments.requirements(), *KERNEL])
    wanted = "\n".join([f"pyodide {version}", *names])
    receipt = home / "downloaded"
    if not receipt.exists() or receipt.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        (home / "wheels").mkdir(parents=True)
        subprocess.run(["npm", "pack", "--silent", f"pyodide@{version}"], check=True, cwd=home, capture_output=True)
        with tarfile.open(next(home.glob("pyodide-*.tgz"))) as package:
            package.extractall(home, filter="data")
        _download_wheels(bin_, home, names)
        receipt.write_text(wanted)
    return home


def _download_wheels(bin_: Path, home: Path, names: list[str]) -> None:
    info = _lock(home)["info"]
    major, minor, *_ = info["python"].split(".")
    # What is needed is resolved for a page (its name for it is older than this Pyodide, its answer is not); which wheel
    # that is, pip decides, which takes any platform by name.
    resolve = [*_uv(), "pip", "compile", "--no-header", "--no-annotate", "--python-platform", "wasm32-pyodide2024"]
    found = subprocess.run(
        [*resolve, "--python-version", f"{major}.{minor}", "-"],
        input="\n".join(names),
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    platform = ["--platform", f"pyemscripten_{info['abi_version']}_wasm32", "--implementation", "cp"]
    python = ["--python-version", f"{major}.{minor}", "--abi", f"cp{major}{minor}"]
    download = [str(bin_ / "python"), "-m", "pip", "--quiet", "download", "--no-deps", "--only-binary=:all:"]
    there = [each for each in found if not each.startswith("rpds-py==")]
    subprocess.run([*download, *platform, *python, "--dest", str(home / "wheels"), *there], check=True)
    _write_wheel(home / "wheels", "rpds", next(each for each in found if each not in there), RPDS)


def _write_wheel(folder: Path, module: str, pinned: str, code: str) -> None:
    name, _, version = pinned.partition("==")
    stem = f"{name.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{module}/__init__.py", code)
        about = f"{stem}.dist-info"
        wheel.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")


def _lock(home: Path) -> Any:
    return json.loads((home / "package" / "pyodide-lock.json").read_text())


def _uv() -> list[str]:
    return [sys.executable, "-m", "uv", "--quiet", "--no-python-downloads"]


def built(place: Path) -> Path:
    """The folder of a site that has hitl_nb as it is in this checkout."""
    bin_ = environment("lite", "jupyterlite-core", "jupyterlite-pyodide-kernel", "jupyter-server", "pip")
    home = _downloaded(bin_)
    pyodide = place / "lite" / "static" / "pyodide"
    shutil.copytree(home / "package", pyodide)
    others = _written_lock(home, pyodide)
    subprocess.run([*_uv(), "build", "--wheel", "--out-dir", place / "own", REPO], check=True, capture_output=True)
    others += (place / "own").glob("*.whl")
    settings = {"@jupyterlite/pyodide-kernel-extension:kernel": {"disablePyPIFallback": True}}
    config = {"exposeAppInBrowser": True, "litePluginSettings": settings}
    (place / "lite" / "jupyter-lite.json").write_text(
        json.dumps({"jupyter-lite-schema-version": 0, "jupyter-config-data": config})
    )
    wheels = [f"--piplite-wheels={each}" for each in others]
    subprocess.run(
        [bin_ / "jupyter", "lite", "build", "--lite-dir=.", f"--output-dir={place / 'site'}", *wheels],
        cwd=place / "lite",
        check=True,
        capture_output=True,
        env=os.environ | {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"},
    )
    return place / "site"


def _written_lock(home: Path, pyodide: Path) -> list[Path]:
    """Put the wheels that Pyodide's distribution has beside it, name them in its lock, and give all others.

    They are PyPI's versions, not the distribution's own, and of its hundreds of packages only those.
    """
    lock = _lock(home)
    theirs = {canonicalize_name(name): name for name in lock["packages"]}
    wheels = {canonicalize_name(parse_wheel_filename(each.name)[0]): each for each in (home / "wheels").glob("*.whl")}
    lock["packages"] = {
        theirs[name]: {
            **lock["packages"][theirs[name]],
            "version": str(parse_wheel_filename(wheel.name)[1]),
            "file_name": wheel.name,
            "sha256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
            "depends": [each for each in _requires(wheel, lock["info"]["python"]) if each in theirs and each in wheels],
        }
        for name, wheel in wheels.items()
        if name in theirs
    }
    (pyodide / "pyodide-lock.json").write_text(json.dumps(lock))
    for entry in lock["packages"].values():
        shutil.copy(home / "wheels" / entry["file_name"], pyodide)
    # The kernel brings its own in place of the last: in a page there is no server to extend.
    return [wheel for name, wheel in wheels.items() if name not in theirs and name != "widgetsnbextension"]


def _requires(wheel: Path, python: str) -> Iterable[str]:
    with zipfile.ZipFile(wheel) as opened:
        about = next(name for name in opened.namelist() if name.endswith(".dist-info/METADATA"))
        lines = HeaderParser().parsestr(opened.read(about).decode()).get_all("Requires-Dist", [])
    here = _IN_A_PAGE | {"python_full_version": python, "python_version": python.rpartition(".")[0]}
    for need in map(Requirement, lines):
        if need.marker is None or need.marker.evaluate(here):
            yield canonicalize_name(need.name)


# -- a page -------------------------------------------------------------------------------------------------------

_PAGE = (REPO / "tests" / "lab" / "page.js").read_text(encoding="utf-8")
_OPEN = """\
async ([path, content]) => {
  await window.jupyterapp.restored;
  await window.jupyterapp.serviceManager.contents.save(path, { type: "notebook", format: "json", content });
  window.jupyterapp.commands.execute("docmanager:open", { path });
}"""
_NOTEBOOK = "asking.ipynb"


_BROWSERS_OWN = "content-autofill.googleapis.com"
"""Chromium itself asks there how to fill in forms; no page does."""


@asynccontextmanager
async def no_way_out() -> AsyncIterator[tuple[ProxySettings, list[str]]]:
    """A proxy that lets nothing through, and what it was asked for."""
    asked: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = (await reader.readline()).decode(errors="replace").strip()
        writer.close()
        if _BROWSERS_OWN not in line:
            asked.append(line)

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield {"server": f"http://127.0.0.1:{port}", "bypass": "127.0.0.1"}, asked


@asynccontextmanager
async def notebook(chromium: Browser, site: Path, cells: Mapping[str, str]) -> AsyncIterator[Page]:
    """A page with a notebook of these cells, by their names, in which hitl_nb is installed.

    Raises:
        RuntimeError: Something in it asked for another machine.
    """
    serve = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1", "--directory", str(site)]
    async with served(serve, site.parent, "/lab/index.html") as address, no_way_out() as (proxy, asked):
        context = await chromium.new_context(viewport={"width": 1200, "height": 1400}, proxy=proxy)
        try:
            page = await context.new_page()
            await page.add_init_script(_PAGE)
            await page.goto(address)
            await _begun(page, cells)
            yield page
        finally:
            await context.close()
        if asked:
            raise RuntimeError(f"asks for another machine: {', '.join(sorted(set(asked)))}")


async def _begun(page: Page, cells: Mapping[str, str] | None = None) -> None:
    """Wait for a new kernel, and install hitl_nb as a user does; with cells, in a new notebook."""
    await page.wait_for_function("() => window.jupyterapp", timeout=PATIENCE)
    if cells is not None:
        code = [nbformat.v4.new_code_cell(text, id=name) for name, text in (INSTALL | dict(cells)).items()]
        spec = {"name": "python", "display_name": "Python (Pyodide)", "language": "python"}
        made = nbformat.v4.new_notebook(cells=code, metadata={"kernelspec": spec})
        await page.evaluate(_OPEN, [_NOTEBOOK, made])
    await page.wait_for_function("() => lab.kernelIs('idle')", timeout=PATIENCE)
    said = await run(page, "install")
    if "Error" in said:
        raise RuntimeError(f"cannot be installed in the page: {said}")


async def run(page: Page, cell: str) -> str:
    """Run a cell to its end, and give what it printed, showed and raised."""
    await page.evaluate("cell => lab.run(cell)", cell)
    await page.wait_for_function("cell => lab.begun(cell)", arg=cell, timeout=PATIENCE)
    await page.wait_for_function("cell => lab.finished(cell)", arg=cell, timeout=PATIENCE)
    said: str = await page.evaluate("cell => lab.output(cell)", cell)
    return said


# -- the situations -----------------------------------------------------------------------------------------------

INSTALL = {"install": "%pip install -q hitl-nb\nfrom hitl_nb import approve, pending"}


def _cells(name: str, *lines: str) -> dict[str, str]:
    return {f"{name}-{number}": line for number, line in enumerate(lines)}


CELLS = {
    **_cells("await", "print('it is', await approve('At once?'))"),
    **_cells("two", "two = approve('In two cells?').start()", "print('it is', await two)"),
    **_cells("early", "early = approve('Too early?').start()", "print('it is', await early)"),
    **_cells("again", "again = approve('Once more?').start()", "print('it is', await again)"),
    **_cells("clear", "clear = approve('Cleared?').start()", "print('it is', await clear)", "pending()"),
    **_cells("restart", "restart = approve('Restarted?').start()", "print('it is', await restart)"),
    **_cells("reload", "reload = approve('Reloaded?').start()", "print('it is', await reload)"),
}


async def _awaits(page: Page) -> Cell:
    said = await run(page, "await-0")
    return Cell("no", said[-200:]) if "open the notebook in JupyterLab" in said else _refused(said)


async def _later(page: Page) -> Cell:
    await run(page, "two-0")
    await click(page, "In two cells?")
    return _yes(await run(page, "two-1"))


async def _too_early(page: Page) -> Cell:
    await run(page, "early-0")
    said = _refused(await run(page, "early-1"))
    await click(page, "Too early?")
    answered = _yes(await run(page, "early-1"))
    return said if answered.found == "yes" else answered


async def _run_again(page: Page) -> Cell:
    await run(page, "again-0")
    await run(page, "again-0")
    await expect(page.get_by_role("group", name="Once more?", exact=True)).to_have_count(1, timeout=PATIENCE)
    await click(page, "Once more?")
    return _yes(await run(page, "again-1"))


async def _cleared(page: Page) -> Cell:
    """Its card does not come back by itself, since no cell waits for it; what the later cell says brings it."""
    await run(page, "clear-0")
    card = page.get_by_role("group", name="Cleared?", exact=True)
    await expect(card).to_have_count(1, timeout=PATIENCE)
    await page.evaluate("() => lab.on('clear-0', 'notebook:clear-cell-output')")
    await expect(card).to_have_count(0, timeout=PATIENCE)
    said = await run(page, "clear-1")
    if "`hitl_nb.pending()` shows it again" not in said:
        return Cell("no", said[-200:])
    await run(page, "clear-2")
    await click(page, "Cleared?")
    answered = _yes(await run(page, "clear-1"))
    return _refused(said) if answered.found == "yes" else answered


async def _restarted(page: Page) -> Cell:
    await run(page, "restart-0")
    card = page.get_by_role("group", name="Restarted?", exact=True)
    await expect(card).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => (lab.watchRestart(), lab.command('kernelmenu:restart'))")
    await page.get_by_role("button", name="Confirm Kernel Restart").click()
    await page.wait_for_function("() => lab.restarted && lab.kernelIs('idle')", timeout=PATIENCE)
    await expect(card).to_contain_text("Disconnected", timeout=PATIENCE)
    await run(page, "install")
    await run(page, "restart-0")
    await click(page, "Restarted?")
    return _yes(await run(page, "restart-1"))


async def _opened_again(page: Page) -> Cell:
    """The kernel has gone with the page; what was decided can be read."""
    await page.evaluate("() => lab.save()")
    await page.reload()
    await page.wait_for_function("() => lab.kernelIs('idle')", timeout=PATIENCE)
    decided = page.locator('[data-cell="two-0"]')
    await expect(decided.get_by_text("Approved")).to_be_visible(timeout=PATIENCE)
    return Cell("yes")


async def _reloaded(page: Page) -> Cell:
    """What was open goes with the kernel. That is known; that it has no answer, and is asked again, is not to change.

    Raises:
        RuntimeError: It has.
    """
    await run(page, "install")
    await run(page, "reload-0")
    await expect(page.get_by_role("group", name="Reloaded?", exact=True)).to_be_visible(timeout=PATIENCE)
    await page.evaluate("() => lab.save()")
    await page.reload()
    await _begun(page)
    early = await run(page, "reload-1")
    await run(page, "reload-0")
    await click(page, "Reloaded?")
    answered = await run(page, "reload-1")
    if "NameError" not in early or _yes(answered).found != "yes":
        raise RuntimeError(f"after a reload: {early[-200:]}; {answered[-200:]}")
    return Cell("no", "a new kernel")


def _refused(said: str) -> Cell:
    """What a cell raised, and nothing beside it: no fault of ours is to be in the way of the words."""
    if "Traceback" in said:
        return Cell("no", " ".join(said[said.rindex("Traceback") :].split())[-200:])
    _, _, raised = said.partition("Error'>: ")
    return words(raised)


def _yes(said: str) -> Cell:
    return Cell("yes") if said.strip() == "it is True" else Cell("no", said[-200:])


SITUATIONS: dict[str, Callable[[Page], Awaitable[Cell]]] = {
    "a click while a cell awaits": _awaits,
    "in the background": _later,
    "awaited before the click": _too_early,
    "re-run": _run_again,
    "clear": _cleared,
    "restart": _restarted,
    "save and reopen": _opened_again,
    "reload": _reloaded,
}


def looked_at() -> dict[str, Cell]:
    """Each situation in turn, in one page: a kernel takes its time to be there."""
    return asyncio.run(_looked_at())


async def _looked_at() -> dict[str, Cell]:
    found: dict[str, Cell] = {}
    async with browser() as chromium, folder() as place:
        site = await asyncio.to_thread(built, place)
        async with notebook(chromium, site, CELLS) as page:
            for name, what in SITUATIONS.items():
                try:
                    found[name] = await what(page)
                except (AssertionError, Error) as error:  # not there in time
                    found[name] = unexpected(error)
    return found
