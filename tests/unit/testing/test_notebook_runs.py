"""`python -m hitl_nb.testing NOTEBOOK`: it ran, it failed, or it waits for somebody."""

import subprocess
import sys

import nbformat
import pytest

from hitl_nb.testing import PAUSED, ScriptedPerson, record
from tests.unit.testing.installed import environment

pytestmark = pytest.mark.timeout(300)

APPROVE = """
from hitl_nb import approve
print(await approve("Delete the rows?", {"rows": 3, "table": "trips"}))
"""


def run(folder, *cells, answers=None, **variables):
    path = folder / "notebook.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    stored = path.read_bytes()
    if answers is not None:
        (folder / "answers.py").write_text(f"answers = {answers}", encoding="utf-8")
        variables["HITL_NB_PEOPLE"] = "script:answers.py"
    command = [sys.executable, "-m", "hitl_nb.testing", str(path)]
    env = environment(folder, IPYTHONDIR=str(folder / "ipython"), **variables)
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=folder, timeout=150)
    assert path.read_bytes() == stored
    return done


def test_a_notebook_that_waits_for_a_person_is_paused_and_says_what_is_open(tmp_path):
    done = run(tmp_path, APPROVE, "print('never')")
    assert done.returncode == PAUSED == 75, done.stdout + done.stderr
    assert "paused: `approve` (interrupt_" in done.stdout
    for line in ("Delete the rows?", "rows: 3", "table: trips", "HITL_NB_PEOPLE=script:answers.py"):
        assert line in done.stdout


def test_a_notebook_whose_questions_are_answered_by_a_script_is_done(tmp_path):
    done = run(tmp_path, APPROVE, answers="[True]")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_notebook_that_fails_has_failed_with_its_traceback(tmp_path):
    done = run(tmp_path, "1/0")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stdout


def test_a_file_that_is_not_there_is_a_failure(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "hitl_nb.testing", "nothing.ipynb"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
    )
    assert done.returncode == 1
    assert "nothing.ipynb" in done.stderr


async def test_a_recorded_session_answers_a_notebook_also_where_it_names_people(tmp_path):
    from hitl_nb import approve

    with record(tmp_path / "case.json"):
        await approve("Delete the rows?", {"rows": 3, "table": "trips"}, people=ScriptedPerson([True]))
    named = APPROVE.replace('trips"}', 'trips"}, people=[None and 0 or print]')
    done = run(tmp_path, named, HITL_NB_PEOPLE="replay:case.json")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


async def test_a_recorded_session_that_was_not_played_to_its_end_is_a_failure(tmp_path):
    from hitl_nb import approve

    with record(tmp_path / "case.json"):
        await approve("Delete the rows?", {"rows": 3, "table": "trips"}, people=ScriptedPerson([True]))
        await approve("Really?", people=ScriptedPerson([True]))
    done = run(tmp_path, APPROVE, HITL_NB_PEOPLE="replay:case.json")
    assert done.returncode == 1
    assert "unused: the answer to `approve` (question_2)" in done.stdout


def test_a_kind_of_people_that_there_is_not_names_those_that_there_are(tmp_path):
    done = run(tmp_path, APPROVE, HITL_NB_PEOPLE="oracle:delphi")
    assert done.returncode == 1
    assert "`HITL_NB_PEOPLE=oracle:delphi` is none of `inbox:10m`, `replay:<file>`, `script:<file>`" in done.stdout
