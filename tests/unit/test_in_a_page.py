"""A Python in a page (JupyterLite) has no threads, and no disk that takes a database: questions do without both.

It is really run in ``tests/hosts/lite.py``; here, what it has not is refused.
"""

import ast
import asyncio
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from hitl_nb import Journal, _doctor, _process, doctor, label, review_table
from hitl_nb.cards import _view
from hitl_nb.errors import JournalError
from hitl_nb.journal import _open, open_journal
from hitl_nb.people import ScriptedPerson
from tests.unit.cards.desk import opened
from tests.unit.cards.test_door import Screen, shown

SOURCES = Path(_process.__file__).parent


@pytest.fixture
def page(monkeypatch, tmp_path):
    """A Python that cannot start a thread, beside a notebook of nobody's."""

    def refuse(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(sys, "_emscripten_info", SimpleNamespace(pthreads=False), raising=False)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.setattr(_process, "_started_in", tmp_path)
    monkeypatch.setattr(_process, "_started", {})
    monkeypatch.delenv("HITL_NB_JOURNAL", raising=False)
    monkeypatch.setattr(_open, "_told", set())
    return tmp_path


async def test_a_table_and_labels_are_read_in_the_loop_itself(page):
    frame = pd.DataFrame({"city": ["a", "b"], "notes": [[1], [2]]})
    answer = await review_table(frame, people=ScriptedPerson([lambda call: call.proposal]))
    assert answer.data is frame
    labels = await label(["a text"], ["x", "y"], key="texts", people=ScriptedPerson([["y"]]))
    assert list(labels) == ["y"]


async def test_what_is_decided_is_put_into_the_document_by_the_loops_clock(page, monkeypatch):
    saved = []
    monkeypatch.setattr(_view, "update_display", lambda bundle, **_: saved.append(bundle["text/plain"]))
    screen = Screen(monkeypatch)
    monkeypatch.setattr(_view, "display", lambda *_, **__: SimpleNamespace(display_id="here"))
    screen.view.display()
    with opened({"rows": 3}) as call:
        shown(screen, call)
        call.respond({"rows": 3})
        before = len(saved)
        async with asyncio.timeout(5):
            while len(saved) == before:
                await asyncio.sleep(0.01)
    assert saved[-1].startswith("✓")


async def test_nobody_is_told_to_reload_the_page_that_the_kernel_is_in(page, monkeypatch):
    screen = Screen(monkeypatch)
    with opened({"rows": 3}) as call:
        shown(screen, call)
        said = screen.view.live_bundle()["text/plain"]
    assert "or write `hitl_nb.pending()` in a cell." in said
    assert "reload" not in said


def test_by_default_decisions_are_kept_in_memory_which_is_said_and_no_file_is_left(page, monkeypatch):
    monkeypatch.setattr(_open, "_used", [])
    with pytest.warns(UserWarning, match=r"take no database.*is in the notebook.*use\(journal=\"memory\"\)") as said:
        assert [open_journal().path for _ in range(2)] == [None, None]
    assert len(said) == 1
    assert "HITL_NB_JOURNAL" not in str(said[0].message)  # nobody can start a page with a variable
    with pytest.raises(JournalError, match="take no database"):
        Journal()
    assert list(page.iterdir()) == []


def test_a_file_that_takes_no_database_is_refused_with_what_does(page):
    (page / "journal.sqlite").write_bytes(b"what a page has made of it" * 100)
    with pytest.raises(JournalError, match=r"take no database\. Write `Journal\('memory'\)`"):
        Journal(page / "journal.sqlite")


async def test_the_doctor_has_no_advice_for_another_machine(page, monkeypatch):
    monkeypatch.setattr(_open, "_used", [])
    monkeypatch.setattr(_doctor, "current_kernel", lambda: SimpleNamespace(implementation="pyodide"))
    monkeypatch.setattr(_doctor, "delivery", lambda: "unknown")
    monkeypatch.setattr(_doctor, "server_of_kernel", lambda: None)
    report = doctor()
    assert "JupyterLite" in report["host"].found
    assert report["journal"].write == 'hitl_nb.use(journal="memory") says that this is meant'
    assert (report["browser half"].level, report["browser half"].write) == ("ok", "")
    finding = await report.click()
    assert "not tried" in finding.found
    assert "`await q` in a later one" in finding.write


@pytest.mark.parametrize("room", ["cards", "data", "interrupts", "session", "people", "_calls", "_awaiting"])
def test_whatever_a_question_needs_is_read_by_what_can_do_without_a_thread(room):
    calls = [
        f"{path.name}: {ast.unparse(node)}"
        for path in sorted((SOURCES / room).glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("asyncio.to_thread", "threading.Thread")
    ]
    assert calls == []
