"""What stands in the way of a card or a click is said, with the line to write, and nothing is changed by looking."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hitl_nb import _doctor, doctor
from hitl_nb._kernel import Server, server_of_kernel
from hitl_nb.cards import UNDER_WAY
from hitl_nb.errors import NoHumanError
from hitl_nb.people import NOT_DRAWN

REPO = Path(__file__).parents[2]


def looked(tmp_path, *arguments, **variables):
    """What ``hitl-nb doctor`` says in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HITL_NB")}
    done = subprocess.run(
        [sys.executable, "-m", "hitl_nb.cli", "doctor", *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**kept, "PYTHONPATH": os.environ.get("PYTHONPATH", str(REPO)), **variables},
    )
    return done.returncode, done.stdout


def test_each_line_is_a_sign_a_word_and_what_is_the_case():
    lines = str(doctor()).splitlines()
    assert lines[0].startswith("✓ python")
    assert {finding.about for finding in doctor().findings} >= set(
        "python kernel host people widgets loop journal name libraries".split()
    )


def test_a_script_is_healthy_and_nothing_is_made_by_looking(tmp_path):
    code, said = looked(tmp_path)
    assert code == 0, said
    assert "✓ journal" in said
    assert list(tmp_path.iterdir()) == []


def test_as_json_it_is_a_list_of_findings(tmp_path):
    code, said = looked(tmp_path, "--json")
    findings = json.loads(said)
    assert code == 0
    assert all(set(finding) == {"about", "level", "found", "write"} for finding in findings)


def test_model_keys_are_named_and_never_shown(tmp_path):
    _, said = looked(tmp_path, OPENAI_API_KEY="sk-hunter2")
    assert "present: OPENAI_API_KEY" in said
    assert "hunter2" not in said


def test_who_would_answer_in_a_persons_place_is_named(tmp_path):
    (tmp_path / "answers.py").write_text("def answer(call):\n    return True\n")
    _, said = looked(tmp_path, HITL_NB_PEOPLE="script:answers.py")
    assert "! people" in said
    assert "HITL_NB_PEOPLE=script:answers.py answers here, not a person" in said


@pytest.mark.parametrize(
    ("value", "sign"),
    [("memory", "!"), ("off", "!"), ("j.sqlite", "✓"), ("postgresql://ada:hunter2@localhost:1/x", "✕")],
)
def test_a_journal_that_cannot_keep_anything_is_said_without_its_password(tmp_path, value, sign):
    _, said = looked(tmp_path, HITL_NB_JOURNAL=value)
    assert f"{sign} journal" in said
    assert "hunter2" not in said


def test_a_program_that_runs_the_notebook_is_named_with_what_to_write(monkeypatch):
    monkeypatch.setattr(_doctor, "front_end", lambda: "absent")
    report = doctor()
    assert not report.ok
    assert "HITL_NB_PEOPLE" in report["front end"].write


def test_a_kernel_that_delivers_no_clicks_is_told_the_two_cell_form(monkeypatch):
    monkeypatch.setattr(_doctor, "current_kernel", lambda: object())
    monkeypatch.setattr(_doctor, "delivery", lambda: "unknown")
    assert "await q" in doctor()["kernel"].write


def test_what_cannot_be_looked_at_is_a_finding_too(monkeypatch):
    def broken():
        raise OSError("no such folder")

    monkeypatch.setattr(_doctor, "notebook_folder", broken)
    assert doctor()["journal"].found == "cannot be looked at: OSError"


def test_a_script_that_cannot_be_read_is_said_before_a_night_depends_on_it(tmp_path):
    _, said = looked(tmp_path, HITL_NB_PEOPLE="script:answers.py")
    assert "✕ script" in said
    assert "there is no such file" in said
    (tmp_path / "answers.py").write_text("answers = [")
    assert "cannot be read: SyntaxError" in looked(tmp_path, HITL_NB_PEOPLE="script:answers.py")[1]


def test_a_journal_that_another_program_holds_is_said(tmp_path):
    with closing(sqlite3.connect(tmp_path / "held.sqlite", isolation_level=None)) as other:
        other.execute("CREATE TABLE something (x)")
        other.execute("BEGIN EXCLUSIVE")
        _, said = looked(tmp_path, HITL_NB_JOURNAL="held.sqlite")
    assert "! journal" in said
    assert "database is locked" in said


@pytest.mark.parametrize(
    ("variable", "line"),
    [
        ("COLAB_RELEASE_TAG", "enable_custom_widget_manager"),
        ("VOILA_KERNEL_ID", "asyncio.create_task(go())"),
        ("DEEPNOTE_PROJECT_ID", "open the notebook in JupyterLab"),
    ],
)
def test_a_host_that_needs_something_is_told_with_the_line(tmp_path, variable, line):
    assert line in looked(tmp_path, **{variable: "x"})[1]


SERVER = """\
import subprocess, sys
code = "from hitl_nb._kernel import server_of_kernel as of; print(of(), of().draws_widgets, sep='|')"
print(subprocess.run([sys.argv[1], "-c", code], capture_output=True, text=True, check=True).stdout)
"""


def named_by_a_kernel_of(home):
    """What a process says that a JupyterLab in this environment has started."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("JPY_")}
    command = [home / "bin" / "python", home / "bin" / "jupyter-lab", sys.executable]
    env |= {"PYTHONPATH": os.environ.get("PYTHONPATH", str(REPO)), "JUPYTER_DATA_DIR": str(home / "nobody's")}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return done.stdout.strip()


def test_the_server_is_named_with_its_version_and_whether_it_draws_widgets(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "bin" / "jupyter-lab").write_text(SERVER)
    for package in ("jupyterlab-4.2.7", "notebook-7.2.3"):
        (tmp_path / "lib/python3.11/site-packages" / f"{package}.dist-info").mkdir(parents=True)
    assert named_by_a_kernel_of(tmp_path) == "JupyterLab 4.2.7 (installed beside it: Notebook 7.2.3)|False"
    (tmp_path / "share/jupyter/labextensions/anywidget").mkdir(parents=True)
    assert named_by_a_kernel_of(tmp_path).endswith("|True")


def test_what_no_notebook_server_has_started_has_none():
    assert server_of_kernel() is None


def in_a_lab(monkeypatch, *, draws_widgets):
    lab = Server(
        name="JupyterLab", python="/lab/bin/python", versions={"JupyterLab": "4.6.6"}, draws_widgets=draws_widgets
    )
    monkeypatch.setattr(_doctor, "current_kernel", lambda: object())
    monkeypatch.setattr(_doctor, "delivery", lambda: "native")
    monkeypatch.setattr(_doctor, "server_of_kernel", lambda: lab)


def test_a_server_in_another_environment_without_anywidget_is_told_the_line_that_installs_it_there(monkeypatch):
    in_a_lab(monkeypatch, draws_widgets=False)
    report = doctor()
    assert report["host"].found == "JupyterLab 4.6.6"
    assert report["browser half"].level == "fail"
    assert "`/lab/bin/python -m pip install anywidget`" in report["browser half"].write


def test_a_server_that_draws_widgets_is_fine(monkeypatch):
    in_a_lab(monkeypatch, draws_widgets=True)
    assert doctor()["browser half"].level == "ok"


def test_preheated_voila_is_said(tmp_path):
    assert "preheated" in looked(tmp_path, VOILA_KERNEL_ID="x", VOILA_PREHEAT="True")[1]
    assert "preheated" not in looked(tmp_path, VOILA_KERNEL_ID="x", VOILA_PREHEAT="False")[1]


def test_that_somebody_watches_a_program_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(_doctor, "front_end", lambda: "possible")
    monkeypatch.setattr(_doctor, "started_with", lambda name: "1" if name == "HITL_NB_FRONT_END" else "")
    assert doctor()["front end"].found == "somebody sits here (that says HITL_NB_FRONT_END)"


@pytest.mark.parametrize(
    ("why", "found", "line"),
    [
        (f"`doctor` needs a person, and {NOT_DRAWN}.", "draws it nowhere", "Trust Notebook"),
        ("`doctor` needs a person, and no browser has drawn it within 10 s.", "no page has said a word", "pip install"),
    ],
)
async def test_a_card_that_arrived_and_is_drawn_nowhere_is_told_from_nothing_at_all(monkeypatch, why, found, line):
    async def refused(*_, **__):
        raise NoHumanError(why)

    monkeypatch.setattr(_doctor, "approve", refused)
    report = doctor()
    await report.click()
    assert (report["drawing"].level, report["click"].level) == ("fail", "fail")
    assert found in report["drawing"].found
    assert line in report["drawing"].write
    assert {"drawing", "click"} <= {each["about"] for each in json.loads(report.to_json())}


async def test_the_milliseconds_of_a_click_are_without_the_persons_time(monkeypatch):
    async def clicked(*_, **__):
        UNDER_WAY.append(12.4)
        return True

    monkeypatch.setattr(_doctor, "approve", clicked)
    finding = await doctor().click()
    assert finding.level == "ok"
    assert "a click arrived while this cell waited, 12 ms after it was made" in finding.found


async def test_trying_it_where_nobody_is_says_so():
    report = doctor()
    finding = await report.click(timeout=1)
    assert (finding.level, report["click"]) == ("fail", finding)
    assert "needs a person" in finding.found


def test_it_is_readable_in_a_cell():
    assert doctor()._repr_html_().startswith("<table><tr><td>✓</td>")
