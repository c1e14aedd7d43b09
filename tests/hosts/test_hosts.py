"""The cheap part of the host matrix, and that the README says what the last whole run has found."""

import pytest

from tests.hosts import matrix, raw
from tests.hosts.cell import words
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


def test_no_host_of_the_last_run_fails_without_words():
    wrong = [
        (host, name) for host, cells in matrix.kept().items() for name, cell in cells.items() if cell["found"] == "no"
    ]
    assert wrong == []


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
