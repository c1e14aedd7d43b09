"""The tutorials, run as a reader would: ``python -m tests.notebooks`` compares every stored output, strictly.

``python -m tests.notebooks --refresh [NOTEBOOK …]`` runs them and stores the outputs; a second refresh changes no
byte, so that a diff shows real changes only.

Either way a script answers in place of the human, no key is set and nothing leaves the machine.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.conftest import REPO

FOLDER = REPO / "notebooks"
CELL_TIMEOUT = 180
"""Seconds a cell may take: one of them imports crewai, on whatever machine this is."""

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def environment() -> dict[str, str]:
    """The environment of the kernels: ours, with a script in place of the human and without a key."""
    # `tests.conftest` has set the offline switches.
    mine = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    mine["HITL_NB_JOURNAL"] = "memory"  # what an earlier run decided must not answer this one
    mine["HITL_NB_PEOPLE"] = "script:answers.py"  # a kernel's working directory is the notebook's folder
    mine["PYTHONPATH"] = os.pathsep.join([str(REPO), *filter(None, [os.environ.get("PYTHONPATH")])])
    mine["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    return mine


def check(notebooks: Sequence[Path]) -> int:
    """Run them by nbval, strictly; gives pytest's exit code."""
    options = [
        "--nbval",
        "--nbval-current-env",
        f"--nbval-cell-timeout={CELL_TIMEOUT}",
        f"--nbval-sanitize-with={FOLDER / 'sanitize.cfg'}",
        f"--timeout={CELL_TIMEOUT + 60}",  # nbval's own timeout tells more, so it comes first
        "-pno:cacheprovider",
    ]
    command = [sys.executable, "-m", "pytest", *options, *map(str, notebooks)]
    return subprocess.run(command, cwd=REPO, env=environment(), check=False).returncode


def refresh(path: Path) -> None:
    """Run one notebook and store its outputs without what changes from run to run."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
        store_widget_state=False,
        record_timing=False,
    )
    client.execute(env=environment())
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(_WIDGET_VIEW, None)  # a random id
            # Where the journal's chain was, so that a file that was cut short is found out: these are in memory.
            output.get("metadata", {}).pop("hitl_nb", None)
    notebook.metadata["language_info"] = {"name": "python"}  # else the Python version that happened to run it
    nbformat.write(notebook, path)


def main(arguments: Sequence[str]) -> int:
    """Check, or refresh, the named notebooks; by default all."""
    names = [argument for argument in arguments if argument != "--refresh"]
    notebooks = [Path(name).resolve() for name in names] or sorted(FOLDER.glob("*.ipynb"))
    if "--refresh" not in arguments:
        return check(notebooks)
    for path in notebooks:
        refresh(path)
        print(f"refreshed {path.relative_to(REPO)}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
