"""The first run in a fresh folder: it asks the network for nothing, and writes below `.hitl_nb` and nowhere else.

In a process of its own, with hooks that no code can take out again: every connection and every look-up of a name is an
error, and every file that is opened for writing is written down.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPO

WATCH = """
import json, os, sys

touched, opened = [], []

def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
        touched.append(f"{event} {args[1:] if event != 'socket.getaddrinfo' else args[:2]}")
        raise OSError(f"the network was asked: {event}")
    if event == "open" and isinstance(args[0], str) and (
        (isinstance(args[1], str) and set(args[1]) & set("wax+")) or (args[2] or 0) & (os.O_WRONLY | os.O_RDWR)
    ):
        opened.append(os.path.abspath(args[0]))
    elif event in ("os.mkdir", "os.rename", "sqlite3.connect") and isinstance(args[0], (str, os.PathLike)):
        opened.append(os.path.abspath(args[0]))

sys.addaudithook(watch)
"""

SAY = """
print("FOUND " + json.dumps({"touched": touched, "opened": opened}))
"""

CORE = """
import asyncio
import hitl_nb
from hitl_nb import Session, approve, human_in_the_loop
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent

@human_in_the_loop
def plan(steps: list[str]) -> list[str]:
    "Propose steps."

async def main():
    hitl_nb.use(people=[ScriptedPerson([lambda call: call.proposal, True])])
    reply = await Session(ScriptedAgent([calls("plan", steps=["a"]), says("ok")]), tools=[plan]).run("go")
    assert await approve("Drop?")
    assert reply.text == "ok"

asyncio.run(main())
"""

CREWAI = """
import asyncio
import hitl_nb
from hitl_nb import Session
import hitl_nb.crewai
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says

cells = [
    "".join(cell["source"])
    for cell in json.load(open(QUICKSTART))["cells"]
    if cell["cell_type"] == "code"
]
import ast
space = {"__name__": "__main__"}

async def main():
    hitl_nb.use(people=[ScriptedPerson([lambda call: call.proposal])])
    for cell in cells:
        result = eval(compile(cell, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), space)
        if result is not None:
            await result

asyncio.run(main())
"""

KEYS = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-test", "GEMINI_API_KEY": "test"}


def first_run(code: str, folder: Path, keys: dict[str, str]) -> dict[str, list[str]]:
    """Run `code` in a fresh folder with a fresh home; gives what it touched, files relative to the folder."""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    root = Path(__file__).parents[2]
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(folder / "tmp"),
        "PYTHONPATH": str(root),
        "PYTHONDONTWRITEBYTECODE": "1",
        **keys,
    }
    (folder / "tmp").mkdir()
    code = code.replace("QUICKSTART", repr(str(root / "notebooks" / "01_quickstart.ipynb")))
    done = subprocess.run(
        [sys.executable, "-c", WATCH + code + SAY], cwd=work, env=env, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    found: dict[str, list[str]] = json.loads(line.removeprefix("FOUND "))
    # What is there afterwards counts too, however it came.
    found["there"] = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    return found


def outside(found: dict[str, list[str]], folder: Path) -> list[str]:
    """What was written that is not below the notebook's `.hitl_nb`."""
    ours = folder / "work" / ".hitl_nb"
    quiet = ("/dev/", "/proc/")
    written = [path for path in found["opened"] if not path.startswith(quiet)]
    return [path for path in written if not Path(path).is_relative_to(ours)] + [
        path for path in found["there"] if not path.startswith("work/.hitl_nb/")
    ]


@pytest.mark.parametrize("keys", [{}, KEYS], ids=["without keys", "with keys"])
def test_the_first_run_asks_no_network_and_writes_below_hitl_nb_only(tmp_path, keys):
    found = first_run(CORE, tmp_path, keys)
    assert found["touched"] == []
    assert outside(found, tmp_path) == []


CREWAIS_OWN = "home/.local/share/"
"""CrewAI keeps its storage where the system keeps a user's data, by the name of the folder; it is not ours to move."""


@pytest.mark.timeout(300)
def test_the_quickstart_on_crewai_asks_no_network_and_leaves_nothing_of_ours_elsewhere(tmp_path):
    found = first_run(CREWAI, tmp_path, KEYS)
    assert found["touched"] == []
    assert [path for path in found["there"] if not path.startswith(("work/.hitl_nb/", CREWAIS_OWN))] == []


def test_make_demo_says_each_step_before_it_takes_its_time_and_lets_the_installer_speak():
    plan = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=REPO, capture_output=True, text=True, check=True
    ).stdout
    steps = [plan.index(words) for words in ("1/3: ", "-m venv", "2/3: ", "uv pip install", "2/3: installed", "3/3: ")]
    assert steps == sorted(steps)
    assert "uv pip install -q" not in plan


LOADING = """
import sys
if sys.argv[1] == "cell":
    from IPython.core.interactiveshell import InteractiveShell
    InteractiveShell.instance()
sys.modules["ag_ui_crewai"] = None  # it ends where the long part would begin
try:
    import hitl_nb.demo
except ImportError:
    pass
"""


@pytest.mark.parametrize(("where", "said"), [("cell", "Loading CrewAI, about ten seconds …\n"), ("script", "")])
def test_the_demo_says_in_a_cell_that_crewai_is_loading_before_it_is(tmp_path, where, said):
    env = {**os.environ, "PYTHONPATH": str(REPO), "IPYTHONDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", LOADING, where]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    assert done.stdout == said
