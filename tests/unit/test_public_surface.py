"""Conventions that are worth a test: what is public, documented, and never loaded or called by accident."""

import ast
import copy
import dataclasses
import importlib
import inspect
import os
import pickle
import pkgutil
import pydoc
import subprocess
import sys
import typing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

import hitl_nb
from hitl_nb import errors
from hitl_nb._tools import SessionTool
from hitl_nb.people import ScriptedPerson

PACKAGE = Path(hitl_nb.__file__).parent
NO_DOORS = {"hitl_nb.cli", "hitl_nb.demo", "hitl_nb.pytest_plugin"}
"""A command, a Flow to play with, and what pytest looks for: nobody imports names from them."""

MODULES = [found.name for found in pkgutil.iter_modules(hitl_nb.__path__, "hitl_nb.") if "._" not in found.name]
DOORS = ["hitl_nb", *(module for module in MODULES if module not in NO_DOORS)]
PLAIN: Any = vars(pydoc)["plaintext"]
SHOWN = [(door, name) for door in DOORS for name in importlib.import_module(door).__all__]


def home_of(name: str) -> str:
    """The first door that shows a name; the package's own before all others."""
    return next(door for door, shown in SHOWN if shown == name)


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


@pytest.mark.parametrize(("door", "name"), SHOWN)
def test_each_public_class_and_function_says_its_home_in_repr_help_and_pickles(door, name):
    thing = getattr(importlib.import_module(door), name)
    if not inspect.isclass(thing) and not inspect.isfunction(thing):
        assert name.isupper()  # a constant
        return
    assert (thing.__module__, thing.__qualname__) == (home_of(name), name)
    assert f"in module {home_of(name)}" in pydoc.render_doc(thing, renderer=PLAIN).splitlines()[0]
    assert f"{home_of(name)}.{name}" in repr(thing) or inspect.isfunction(thing)
    assert pickle.loads(pickle.dumps(thing)) is thing


@pytest.mark.parametrize(("door", "name"), SHOWN)
def test_each_public_function_has_named_parameters_and_its_docstring_says_what_each_is(door, name):
    thing = getattr(importlib.import_module(door), name)
    if not inspect.isfunction(thing):
        return
    parameters = inspect.signature(thing).parameters.values()
    assert [each.name for each in parameters if f"\n    {each.name}: " not in str(inspect.getdoc(thing))] == []
    handed_on = {"calls"}  # to a tool of any name, as its arguments
    assert name in handed_on or all(each.kind is not each.VAR_KEYWORD for each in parameters)


def test_the_sync_form_of_a_question_is_at_home_there_too():
    assert (hitl_nb.interrupt.sync.__module__, hitl_nb.interrupt.sync.__qualname__) == ("hitl_nb", "interrupt.sync")
    assert pickle.loads(pickle.dumps(hitl_nb.interrupt.sync)) is hitl_nb.interrupt.sync


@pytest.mark.parametrize(("door", "name"), SHOWN)
def test_a_name_that_stands_at_another_door_fails_with_the_line_to_write(door, name):
    if name in hitl_nb.__all__:
        return
    line = rf"Write `from {home_of(name)} import {name}`\."
    with pytest.raises(ImportError, match=line):
        exec(f"from hitl_nb import {name}")
    with pytest.raises(AttributeError, match=line):
        getattr(hitl_nb, name)
    assert not hasattr(hitl_nb, name)


def test_a_name_of_nothing_is_told_what_there_is():
    with pytest.raises(AttributeError, match="it has Batch, Call, Journal"):
        hitl_nb.Nothing  # noqa: B018
    with pytest.raises(ImportError, match="Nothing"):
        exec("from hitl_nb import Nothing")


def test_a_name_of_before_is_told_the_new_one():
    with pytest.raises(ImportError, match=r"Write `from hitl_nb\.cards import QuickReply`\."):
        exec("from hitl_nb.cards import Reply")


ERRORS = [getattr(errors, name) for name in errors.__all__]
DATA: set[Any] = {
    thing
    for door, name in SHOWN
    if inspect.isclass(thing := getattr(importlib.import_module(door), name))
    and dataclasses.is_dataclass(thing)
    and not issubclass(thing, SessionTool)  # a function, decorated
}


def example(hint):
    """A value for an annotation."""
    if hint in EXAMPLES:
        return EXAMPLES[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return arguments[0]
    return None if type(None) in arguments else EXAMPLES.get(origin, "x")


EXAMPLES: dict[Any, Any] = {
    str: "x",
    int: 3,
    bool: True,
    float: 0.5,
    list: [],
    dict: {},
    tuple: (),
    datetime: datetime.now(UTC),
}
EXAMPLES |= {Any: {"rows": [1, None, "ä"]}}


@pytest.mark.parametrize("kind", sorted(DATA, key=repr))
@pytest.mark.parametrize("copied", [lambda value: pickle.loads(pickle.dumps(value)), copy.copy, copy.deepcopy])
def test_public_data_goes_to_another_process_and_comes_back(kind, copied):
    hints = typing.get_type_hints(kind)
    value = kind(**{field.name: example(hints[field.name]) for field in dataclasses.fields(kind)})
    assert copied(value) == value


TOLD: dict[Any, Any] = {
    errors.InvalidValue: {"errors": [{"path": ["a"], "message": "b"}]},
    errors.AgentError: {"code": "c"},
    errors.ReplayMismatch: {"diff": "- a"},
}


@pytest.mark.parametrize("kind", ERRORS)
def test_an_error_goes_to_another_process_and_comes_back(kind):
    error = kind("`x` is wrong. Write `y`.", **TOLD.get(kind, {}))
    error.add_note("in cell 3")
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back), vars(back)) == (kind, str(error), vars(error))


async def test_a_refusal_leaves_its_call_behind_when_it_goes_to_another_process():
    with pytest.raises(errors.Declined) as caught:
        await hitl_nb.interrupt("Go?", people=ScriptedPerson([lambda call: call.decline("no")]))
    back = pickle.loads(pickle.dumps(caught.value))
    assert (type(back), str(back), back.call) == (errors.Declined, str(caught.value), None)
    assert caught.value.call.reason == "no"


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
    print(type(error).__name__, time.monotonic() - begin < 20)
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
