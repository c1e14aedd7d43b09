"""Programs that run a notebook or a script while nobody sits there."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import nbformat

from tests.conftest import REPO
from tests.hosts.cell import Cell, words

ASKS = "from hitl_nb import approve\nprint(await approve('Anybody?', name='go'))"
STARTS = """\
from hitl_nb import Session, approve, human_in_the_loop
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

@human_in_the_loop
def fly(to: str) -> bool:
    "Ask whether to fly."

question = approve('Anybody?', name='go').start()
run = Session(ScriptedAgent([calls('fly', to='Mars'), says('Done.')]), tools=[fly]).start('Go')
"""
SCRIPT = f"import asyncio\nasync def main():\n    {ASKS.replace(chr(10), chr(10) + '    ')}\nasyncio.run(main())\n"

_MARIMO = """\
import marimo

app = marimo.App()

@app.cell
async def _():
{cell}
    return

if __name__ == "__main__":
    app.run()
"""
_SAYS = "nobody can click|needs a person|needs a running event loop"
COMMANDS = {
    "nbclient (`jupyter execute`)": ["jupyter", "execute", "--inplace", "asks.ipynb"],
    "nbconvert": ["jupyter", "nbconvert", "--execute", "--to", "notebook", "--inplace", "asks.ipynb"],
    "papermill": ["papermill", "-k", "python3", "asks.ipynb", "asks.ipynb"],
    "nbval": ["pytest", "-q", "-p", "no:cacheprovider", "--nbval-lax", "--nbval-current-env", "asks.ipynb"],
    "ipython": ["ipython", "--quick", "asks.ipy"],
    "marimo, run as a script": ["python", "marimo_asks.py"],
    "a script": ["python", "asks.py"],
}


def looked_at(program: str, folder: Path, bin_: Path = Path(sys.executable).parent) -> dict[str, Cell]:
    """Nobody there, a script that answers, and a question that nothing awaits."""
    nobody = _run(program, folder, bin_, ASKS)
    answered = _run(program, folder, bin_, ASKS, HITL_NB_PEOPLE="script:answers.py")
    found = {
        "nobody there": _refused(nobody),
        "a script answers": Cell("yes")
        if re.search(r"True|1 passed", answered) and "NoHumanError" not in answered
        else Cell("no", answered[-200:]),
    }
    if program not in ("a script", "nbval"):  # there `asyncio.run` ends with what it was given; here stderr is dropped
        started = _run(program, folder, bin_, STARTS)
        said = [line for line in started.splitlines() if re.search(_SAYS, line)]
        # A question and a run, each for itself; where no loop runs between the lines, the first is an error.
        enough = 1 if program.startswith(("ipython", "marimo")) else 2
        found["started, never awaited"] = (
            Cell("words", said[0][:160]) if len(said) >= enough else Cell("no", f"only {said}")
        )
    return found


def _refused(text: str) -> Cell:
    where = text.rfind("NoHumanError")
    return words(text[where:].partition(": ")[2]) if where >= 0 else Cell("no", "no NoHumanError")


def _run(program: str, folder: Path, bin_: Path, code: str, **environment: str) -> str:
    (folder / "answers.py").write_text("answers = {'go': [True]}")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    nbformat.write(notebook, folder / "asks.ipynb")
    (folder / "asks.ipy").write_text(code)
    (folder / "asks.py").write_text(SCRIPT)
    (folder / "marimo_asks.py").write_text(_MARIMO.format(cell=indent(code, "    ")))
    command = COMMANDS[program]
    env = {**os.environ, "PYTHONPATH": str(REPO), "HITL_NB_PEOPLE": "", "HITL_NB_JOURNAL": "off", **environment}
    env |= {"NO_COLOR": "1", "PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}", "IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run(
        [str(bin_ / command[0]), *command[1:]],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    cells = nbformat.read(folder / "asks.ipynb", as_version=4).cells
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    shown = "".join(
        output.get("text", "") + "\n".join(output.get("traceback", [])) + str(output.get("evalue", ""))
        for output in outputs
    )
    return done.stdout + done.stderr + shown
