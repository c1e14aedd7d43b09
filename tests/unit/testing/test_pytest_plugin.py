"""The fixtures, in a pytest of their own: what a user gets after `pip install hitl-nb`."""

import subprocess
import sys

import pytest

from tests.conftest import REPO
from tests.unit.testing.installed import environment

pytestmark = pytest.mark.timeout(300)


def run_pytest(folder, source, *options, **variables):
    (folder / "test_it.py").write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-pno:cacheprovider", *options, str(folder)]
    env = environment(folder, **variables)
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, timeout=100)
    return done.returncode, done.stdout + done.stderr


def test_the_fixtures_script_a_model_and_people_and_replay_a_file_beside_the_test(tmp_path):
    code, output = run_pytest(
        tmp_path,
        """
import asyncio, litellm
from hitl_nb import approve
from hitl_nb.testing import record, says

def ask(**options):
    return asyncio.run(litellm.acompletion(model="openai/gpt-4o", messages=[{"role": "user", "content": "Hi?"}]))

def test_a_model(scripted_model):
    model = scripted_model([says("Hi.")])
    assert ask().choices[0].message.content == "Hi."
    assert len(model.requests) == 1

def test_it_is_gone_afterwards():
    assert litellm.model_alias_map == {}

def test_a_person(scripted_person):
    assert asyncio.run(approve("Go?", people=scripted_person([True])))

def test_a_recorded_session(scripted_person, replay, tmp_path):
    with record(__file__.replace("test_it.py", "case.json")):
        asyncio.run(approve("Go?", people=scripted_person([True])))
    with replay("case.json"):
        assert asyncio.run(approve("Go?"))
""",
    )
    assert code == 0, output
    assert "4 passed" in output


def test_an_answer_that_nobody_asked_for_is_an_error_unless_the_test_has_failed_anyway(tmp_path):
    code, output = run_pytest(
        tmp_path,
        """
def test_passes(scripted_person):
    scripted_person([True, "twice"])

def test_fails(scripted_person):
    scripted_person([True])
    assert False
""",
    )
    assert code == 1
    assert "nused answers: [true, 'twice'] after 0 questions" in output
    assert "1 failed, 1 passed, 1 error" in output


def test_every_fixture_says_what_it_is_for(tmp_path):
    _, output = run_pytest(tmp_path, "", "--fixtures")
    for name in ("scripted_model", "scripted_person", "replay"):
        assert f"{name} -- " in output
    assert "no docstring available" not in output.split("fixtures defined from hitl_nb.pytest_plugin")[1]


def test_a_pytest_that_uses_none_of_them_imports_nothing_of_ours(tmp_path):
    code, output = run_pytest(
        tmp_path,
        """
import sys

def test_start_up_stays_fast():
    assert "hitl_nb.pytest_plugin" in sys.modules
    heavy = {"hitl_nb.people", "ipywidgets", "anywidget", "litellm", "crewai", "pydantic"} & set(sys.modules)
    assert heavy == set()
""",
        "-phitl_nb.pytest_plugin",
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",  # others may import what they like
    )
    assert code == 0, output


def test_the_project_names_the_plugin():
    text = (REPO / "pyproject.toml").read_text(encoding="utf-8")
    assert 'hitl_nb = "hitl_nb.pytest_plugin"' in text
