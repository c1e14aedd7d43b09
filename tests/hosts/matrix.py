"""The host matrix: ``python -m tests.hosts.matrix [--write] [HOST …]`` (``make matrix``) runs hosts × situations.

``--write`` keeps what was found in ``result.json`` beside this file, and writes the README's table from it. A host that
cannot be installed on the machine is left as it was found last, and said to be. A cell of a host with a browser is the
journey of ``tests/lab`` that stands for it.

Each host has a process of its own, and `LIMIT` seconds: one that hangs ends with what it started, and the next begins.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from packaging.version import Version

from tests.conftest import REPO
from tests.hosts import lite, marimo_pages, pages, programs, raw, serving
from tests.hosts.cell import Cell
from tests.kernel import environments
from tests.lab.lab import HOST
from tests.lab.server import PYTHON

RESULT = Path(__file__).with_name("result.json")
README = REPO / "README.md"
BEGIN, END = "<!-- hosts: begin -->", "<!-- hosts: end -->"
LIMIT = 900
"""Seconds for one host, its installation included."""

_LAB = {
    "a click while a cell awaits": ("test_checkpoints", "test_a_plain_cell_waits"),
    "in the background": ("test_never_lost", "test_whatever_waits"),
    "awaited before the click": ("test_never_lost", "test_awaited_before_the_click"),
    "stop": ("test_stopping", "test_the_stop_button"),
    "restart": ("test_stopping", "test_after_a_restart"),
    "re-run": ("test_never_lost", "test_run_again"),
    "clear": ("test_never_lost", "test_cleared_outputs"),
    "reload": ("test_coming_back", "test_a_pending_question_comes_back"),
    "save and reopen": ("test_coming_back", "test_a_decision_is_readable"),
    "two tabs": ("test_two_tabs", "test_either_of_two_pages"),
}
_OTHER_LABS = {
    "JupyterLab 4.0": ("lab-oldest", "jupyterlab==4.0.13", "notebook==7.0.8", "ipykernel>=7.4"),
    "JupyterLab 4, two users on one document": (
        "collaboration",
        "jupyterlab",
        "jupyter-collaboration",
        "ipykernel>=7.4",
    ),
}
"""The name of an environment, and what is in it."""


def _journeys(host: str, python: str) -> dict[str, str]:
    """What became of each journey, "" if it went well, by its name; one JupyterLab and one browser for all.

    Args:
        host: "lab" or "notebook": which of both the server shows.
        python: Of the environment that has the JupyterLab; the kernel is always the one of these tests.
    """
    files = sorted({f"tests/lab/{file}.py" for file, _ in _LAB.values()})
    chosen = (
        f"({' or '.join(words for _, words in _LAB.values())}) and not [{'lab' if host == 'notebook' else 'notebook'}]"
    )
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *files, "-k", chosen]
        subprocess.run(
            command, cwd=REPO, capture_output=True, check=False, env={**os.environ, PYTHON: python, HOST: host}
        )
        tree = ElementTree.parse(report)
    found: dict[str, str] = {}
    for case in tree.iter("testcase"):  # a test that fails, and then fails to clean up, is there twice
        name = str(case.get("name"))
        found[name] = "; ".join(filter(None, [found.get(name), *(str(each.get("message")) for each in case)]))
    return found


def _other_lab(environment: str, *packages: str) -> dict[str, Cell]:
    return _lab("lab", str(serving.environment(environment, *packages) / "python"))


def _lab(host: str, python: str = sys.executable) -> dict[str, Cell]:
    found = {}
    journeys = _journeys(host, python)
    for name, (file, words) in _LAB.items():
        wanted = re.compile(f"{words}.*" + (rf"\[{host}\]" if file == "test_never_lost" else ""))
        faults = [fault for journey, fault in journeys.items() if wanted.fullmatch(journey)]
        found[name] = Cell("yes") if faults and not any(faults) else Cell("no", " ".join("".join(faults).split())[:300])
    return found


def _raw(version: str) -> dict[str, Cell]:
    with raw.ipykernel(version) as kernel:
        return raw.looked_at(kernel, list(raw.SITUATIONS))


def _python(version: str) -> dict[str, Cell]:
    home = serving.environment(f"python{version}", "ipykernel>=7.4", python=version).parent
    with raw.kernel_of(_spec(home, "python3"), "python3") as kernel:
        assert kernel.run("import sys; print(sys.version)").startswith(version)
        return raw.looked_at(kernel, list(raw.SITUATIONS))


def _patched(name: str) -> dict[str, Cell]:
    what, situations = raw.PATCHED[name]
    with raw.kernel_of(_spec(_others(), "python3"), "python3") as kernel:
        kernel.run(what, 30)
        return raw.looked_at(kernel, situations)


def _others() -> Path:
    packages = ["papermill", "xeus-python", "ipykernel>=7.4", "anyio", "nest_asyncio", "uvloop"]
    return serving.environment("hosts", *packages).parent


def _spec(home: Path, name: str, *, begin: str = "") -> Path:
    """The folder of a kernelspec of that environment, with its own Python written out.

    Args:
        home: The environment.
        name: The kernel's.
        begin: What an ipykernel runs before it begins.
    """
    spec = json.loads((home / "share/jupyter/kernels" / name / "kernel.json").read_text())
    spec["argv"][0] = str(home / "bin" / "python")
    if begin:
        spec["argv"][1:3] = ["-c", f"{begin}; from ipykernel.kernelapp import launch_new_instance as run; run()"]
    folder = home / ("specs-begun" if begin else "specs")
    (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / name / "kernel.json").write_text(json.dumps(spec))
    return folder


def _uvloop() -> dict[str, Cell]:
    specs = _spec(_others(), "python3", begin="import uvloop; uvloop.install()")
    with raw.kernel_of(specs, "python3") as kernel:
        loop = kernel.run("print(type(asyncio.get_running_loop()).__module__)", 30)
        assert loop.startswith("uvloop"), loop
        return raw.looked_at(kernel, list(raw.SITUATIONS))


def _xeus() -> dict[str, Cell]:
    with raw.kernel_of(_spec(_others(), "xpython"), "xpython") as kernel:
        # Last what ends the kernel itself.
        return raw.looked_at(kernel, [*(name for name in raw.SITUATIONS if name != "stop"), "stop"])


def _program(name: str) -> dict[str, Cell]:
    bin_ = Path(sys.executable).parent
    if name == "papermill":
        bin_ = _others() / "bin"
    elif name.startswith("marimo"):
        bin_ = marimo_pages.environment_of()
    with tempfile.TemporaryDirectory() as folder:
        return programs.looked_at(name, Path(folder), bin_)


GROUPS: dict[str, dict[str, Callable[[], dict[str, Cell]]]] = {
    "Pages, clicked in a browser": {
        "JupyterLab 4": partial(_lab, "lab"),
        **{name: partial(_other_lab, *what) for name, what in _OTHER_LABS.items()},
        "Notebook 7": partial(_lab, "notebook"),
        "nbclassic": pages.nbclassic,
        "Voila": pages.voila,
        "JupyterLite": lite.looked_at,
        "marimo edit": partial(marimo_pages.looked_at, "edit"),
        "marimo run": partial(marimo_pages.looked_at, "run"),
    },
    "Kernels, behind a client that sends on the main shell channel only": {
        **{
            f"ipykernel {version}": partial(_raw, version)
            for version in sorted({*environments.VERSIONS, *environments.OTHERS}, key=Version)
        },
        **{f"Python {version}, ipykernel 7.4": partial(_python, version) for version in ("3.12", "3.13")},
        **{f"ipykernel 7.4 with {name}": partial(_patched, name) for name in raw.PATCHED},
        "ipykernel 7.4 with uvloop": _uvloop,
        "xeus-python": _xeus,
    },
    "Programs, while nobody looks": {
        **{name: partial(_program, name) for name in programs.COMMANDS},
    },
}
"""The hosts, by what they are: each has a table, whose columns are what there is in hosts of its kind."""

HOSTS = {name: looked_at for hosts in GROUPS.values() for name, looked_at in hosts.items()}
CHEAP = ("nbclient (`jupyter execute`)", "ipython", "a script", "ipykernel 7.4.0")
"""What every run of the tests looks at; the rest is `make matrix`."""


KNOWN: dict[tuple[str, str], str] = {
    ("xeus-python", "stop"): "xeus-python 0.19 itself ends at the stop button, whatever runs (a `time.sleep`, too). "
    "Nothing waits there for long: a cell that would is refused in words.",
    ("JupyterLite", "reload"): "Its kernel is in the page and goes with it. What was decided is in the notebook, once "
    "it is saved; what was open has no answer: run its cells again, and it is asked anew.",
}
"""Why a host fails in a situation, by both, and what to do instead; for what is not ours to mend."""

NOTES = {
    "JupyterLite": "`%pip install hitl-nb`, then two cells: `q = approve(...).start()`, and `await q` in a later one. "
    "Run without the net: Pyodide from npm, packages from PyPI. Of rpds-py PyPI has no wheel for WebAssembly, "
    "Pyodide's own server does; something of ours stands in for it here, and `approve` does not load it.",
}
"""What is to be known of a row."""

NOT_RUN = {
    "VS Code, Colab": "not run themselves. The kernels above are behind a client that sends as they do, 6.17.1 with "
    "Colab's IPython 7.34.",
}
"""Hosts without a row, and why."""

Found = dict[str, dict[str, dict[str, str]]]
"""By host and situation, a cell."""


def table(found: Found) -> str:
    """The tables, as Markdown: a row a host, a column a situation; each no with its reason."""
    reasons = list(dict.fromkeys(cell["why"] for cells in found.values() for cell in cells.values() if cell.get("why")))

    def sign(cell: dict[str, str] | None) -> str:
        if cell is None:
            return "–"
        if cell["found"] != "no":
            return cell["found"]
        return f"no ({reasons.index(cell['why']) + 1})" if cell.get("why") else "**no**"

    def rows(kind: str, hosts: Found) -> str:
        columns = list(dict.fromkeys(name for cells in hosts.values() for name in cells))
        head = [f"| {kind} | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}"]
        body = [
            f"| {host} | {' | '.join(sign(cells.get(name)) for name in columns)} |" for host, cells in hosts.items()
        ]
        return "\n".join([*head, *body])

    kinds = {kind: {host: found[host] for host in hosts if host in found} for kind, hosts in GROUPS.items()}
    tables = [rows(kind, hosts) for kind, hosts in kinds.items() if hosts]
    notes = [f"({number}) {why}" for number, why in enumerate(reasons, 1)]
    return "\n\n".join([*tables, *notes, *(f"{host}: {why}" for host, why in (NOTES | NOT_RUN).items())])


def unexplained(found: Found) -> list[str]:
    """What fails, and nobody has said why."""
    return [
        f"{host}: {name}: {cell['said']}"
        for host, cells in found.items()
        for name, cell in cells.items()
        if cell["found"] == "no" and not cell.get("why")
    ]


def kept() -> Found:
    """What was found when somebody looked last."""
    found: Found = json.loads(RESULT.read_text(encoding="utf-8"))["hosts"]
    return found


def _write(found: Found) -> None:
    before = kept() if RESULT.exists() else {}
    merged = {name: found.get(name, before.get(name)) for name in HOSTS}
    result = {
        "run": f"{datetime.now(UTC):%Y-%m-%d}",
        "hosts": {name: cells for name, cells in merged.items() if cells},
    }
    RESULT.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    readme = README.read_text(encoding="utf-8")
    put = f"{BEGIN}\n{table(kept())}\n{END}"
    README.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: put, readme, flags=re.DOTALL), encoding="utf-8")


def as_found(host: str, cells: dict[str, Cell]) -> dict[str, dict[str, str]]:
    """The cells of a host as they are kept: a reason only with a no, and only the one that we know."""
    found = {}
    for name, cell in cells.items():
        why = KNOWN.get((host, name), "") if cell.found == "no" else ""
        found[name] = {key: value for key, value in asdict(replace(cell, why=why)).items() if key != "why" or value}
    return found


def _looked_at(host: str) -> dict[str, dict[str, str]] | str:
    """What is found in a host, by a process that may take its time, or why nothing is."""
    command = [sys.executable, "-m", "tests.hosts.matrix", "--only", host]
    process = subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return f"not over after {LIMIT} s"
    finally:
        with suppress(ProcessLookupError, PermissionError):  # what it started has its process group
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    last = said.strip().splitlines()[-1:]
    if process.returncode or not last:
        return last[0] if last else f"ended with {process.returncode}"
    found: dict[str, dict[str, str]] = json.loads(last[0])
    return found


def _only(host: str) -> int:
    """Look at one host in this process; the last line is what was found, or why nothing was."""
    try:
        print(json.dumps(as_found(host, HOSTS[host]())))
    except (subprocess.CalledProcessError, OSError) as error:
        print(f"cannot be installed here: {error}")
        return 75
    except Exception as error:
        print(f"{type(error).__name__}: {error}".replace("\n", " "))
        return 1
    return 0


def _line(cells: dict[str, dict[str, str]]) -> str:
    return ", ".join(f"{situation}: {cell['found']}" for situation, cell in cells.items())


def main(arguments: list[str]) -> int:
    """Run the hosts that are named, by default all; gives 1 if one fails and nobody has said why."""
    names = [each for each in arguments if not each.startswith("--")] or list(HOSTS)
    if "--only" in arguments:
        return _only(names[0])
    found: Found = {}
    wrong = []
    for number, name in enumerate(names, 1):
        begun = time.monotonic()
        cells = _looked_at(name)
        took = f"[{number}/{len(names)}, {time.monotonic() - begun:.0f} s] {name}"
        if isinstance(cells, str):
            print(f"{took}: left as it was found last: {cells}", flush=True)
            wrong += [] if cells.startswith("cannot be installed") else [f"{name}: {cells}"]
            continue
        found[name] = cells
        print(f"{took}: {_line(cells)}", flush=True)
        if "--write" in arguments:
            _write(found)  # after each: it takes long, and somebody may stop it
    wrong += unexplained(found)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    raise SystemExit(main(sys.argv[1:]))
