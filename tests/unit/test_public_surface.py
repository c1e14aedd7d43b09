"""Conventions that are worth a test: what is public, documented, and never loaded or called by accident."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hitl_nb

PACKAGE = Path(hitl_nb.__file__).parent
DOORS = [
    "hitl_nb",
    "hitl_nb.agents",
    "hitl_nb.agui",
    "hitl_nb.cards",
    "hitl_nb.crewai",
    "hitl_nb.errors",
    "hitl_nb.people",
    "hitl_nb.testing",
]


def python(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("door", DOORS)
def test_all_is_the_sorted_list_of_public_names_and_each_has_a_docstring(door):
    module = importlib.import_module(door)
    assert module.__doc__
    assert list(module.__all__) == sorted(module.__all__)
    for name in module.__all__:
        assert inspect.getdoc(getattr(module, name)), f"{door}.{name} has no docstring"


def test_import_loads_no_agent_framework_and_calls_nobody():
    code = (
        "import socket; socket.socket.connect = lambda *a: 1/0\n"
        "import hitl_nb, sys\n"
        "heavy = {'crewai', 'litellm', 'ag_ui_crewai', 'pandas', 'jsonpatch', 'jsonschema', 'httpx'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = python(code)
    assert done.stdout.strip() == "[]", done.stderr


def test_import_switches_telemetry_off_unless_the_user_has_said_otherwise():
    code = (
        "import hitl_nb, os; print(os.environ['CREWAI_DISABLE_TELEMETRY'], os.environ['LITELLM_LOCAL_MODEL_COST_MAP'])"
    )
    assert python(code, CREWAI_DISABLE_TELEMETRY="false").stdout.split() == ["false", "True"]


def test_a_process_without_a_front_end_raises_at_once_with_the_three_ways_out():
    code = """
import asyncio, time
from hitl_nb import Session, human_in_the_loop
from hitl_nb.testing import calls
from tests.agents import ScriptedAgent

@human_in_the_loop
def ask(question: str) -> str:
    "Ask."

async def main():
    await Session(ScriptedAgent([calls("ask", question="well?")]), tools=[ask]).run("go")

begin = time.monotonic()
try:
    asyncio.run(main())
except Exception as error:
    print(type(error).__name__, time.monotonic() - begin < 2)
    print(error)
"""
    done = python(code)
    lines = done.stdout.splitlines()
    assert lines[0] == "NoHumanError True", done.stderr
    assert "`ask` (call_1)" in lines[1]
    for way in ("a script:", "a policy:", "a front end:"):
        assert way in done.stdout


def test_nothing_calls_input():
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not names & {"input", "getpass", "print"}, path


def test_the_changelog_names_the_version():
    changelog = (PACKAGE.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    project = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    version = project.split('\nversion = "')[1].split('"')[0]
    assert f"## {version}" in changelog


def test_layers_hold():
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout


def test_headless_loads_no_widgets():
    script = (
        "import sys, hitl_nb.session, hitl_nb.interrupts, hitl_nb.people, hitl_nb.gates, hitl_nb.journal\n"
        "import hitl_nb; hitl_nb.Session; hitl_nb.approve\n"
        "print(sorted({'ipywidgets', 'anywidget', 'IPython'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
