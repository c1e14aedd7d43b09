"""The cheap part of the host matrix, and that the README says what the last whole run has found."""

import pytest

from tests.hosts import matrix, raw
from tests.hosts.cell import Cell, words
from tests.hosts.matrix import CHEAP, HOSTS

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize("host", CHEAP)
def test_a_host_asks_or_says_at_once_what_to_write(host):
    found = HOSTS[host]()
    assert found
    assert {name: cell.said for name, cell in found.items() if cell.found == "no"} == {}


def test_the_readme_has_the_table_of_the_last_run():
    readme = matrix.README.read_text(encoding="utf-8")
    assert readme.partition(matrix.BEGIN)[2].partition(matrix.END)[0].strip() == matrix.table(matrix.kept())


def test_no_host_of_the_last_run_fails_without_a_reason():
    assert matrix.unexplained(matrix.kept()) == []


def test_a_known_no_is_in_the_table_with_its_reason_and_any_other_is_a_failure(monkeypatch):
    monkeypatch.setattr(matrix, "KNOWN", {("Attic", "stop"): "It has no stop button: restart the kernel."})
    monkeypatch.setattr(matrix, "GROUPS", {"Rooms": {"Attic": dict}, "Gardens": {}})
    cells = {"stop": Cell("no", "TimeoutError"), "reload": Cell("no", "KeyError"), "clear": Cell("yes")}
    found = {"Attic": matrix.as_found("Attic", cells)}
    assert "| Rooms | stop | reload | clear |" in matrix.table(found)
    assert "| Attic | no (1) | **no** | yes |" in matrix.table(found)
    assert "(1) It has no stop button: restart the kernel." in matrix.table(found)
    assert matrix.unexplained(found) == ["Attic: reload: KeyError"]


def test_a_reason_is_not_kept_for_what_works(monkeypatch):
    monkeypatch.setattr(matrix, "KNOWN", {("Attic", "stop"): "It has no stop button."})
    assert matrix.as_found("Attic", {"stop": Cell("yes")}) == {"stop": {"found": "yes", "said": ""}}


def test_a_host_that_hangs_is_left_and_said(monkeypatch):
    monkeypatch.setattr(matrix, "LIMIT", 0.01)
    assert matrix._looked_at("a script") == "not over after 0.01 s"


def test_what_says_nothing_is_no_word():
    assert words("").found == "no"
    assert words("KeyError: 'content'").found == "no"
    assert words("it needs a person.\n  a script:     Session(...)").found == "words"


def test_captured_outputs_are_refused_in_words_in_the_cell_itself():
    with raw.ipykernel("7.4.0") as kernel:
        cell = kernel.execute("%%capture\nquestion = approve('Seen by nobody?').start()")
        kernel.reply(cell, 20)
        assert "Write the cell without `%%capture`" in kernel.printed(cell)
        assert kernel.run("print(hitl_nb.pending())") == "[]"


def test_where_nothing_was_drawn_it_says_to_reload_the_page_and_where_to_install():
    with raw.ipykernel("7.4.0") as kernel:
        ask = "from hitl_nb.people import NotebookPerson\nawait approve('Drawn?', people=NotebookPerson(handshake=0.2))"
        said = kernel.reply(kernel.execute(ask), 20)["evalue"]
        assert "Reload the page" in said
        assert "pip install anywidget" in said
