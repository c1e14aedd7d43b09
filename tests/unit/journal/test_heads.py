"""The head of the chain: a hash that stands in the notebook and tells whether the journal was cut off since."""

import json
from pathlib import Path

import pytest

from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal
from tests.unit.journal.asking import answered, asked, tamper


def notebook(tmp_path: Path, *heads: str | None) -> Path:
    """A notebook with one record a head, as Jupyter saves it."""
    outputs = [
        {"output_type": "display_data", "data": {}, "metadata": {"hitl_nb": {"journal_head": head}} if head else {}}
        for head in heads
    ]
    cells = [
        {"cell_type": "markdown", "source": "# Text"},
        *({"cell_type": "code", "outputs": [{"output_type": "stream", "text": "x"}, output]} for output in outputs),
        {"cell_type": "code", "outputs": []},
    ]
    target = tmp_path / "notebook.ipynb"
    target.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}))
    return target


async def test_the_head_is_that_of_the_last_row(journal, path, tmp_path):
    assert journal.head == journal.verify().head == "0" * 64
    for number in range(3):
        answered(journal, id=f"call_{number}")
        assert journal.head == journal.verify().head
    with Journal(path) as other:
        assert other.head == journal.head
    assert len(journal.head) == 64


async def test_another_process_moves_it_when_it_is_seen(journal, path, tmp_path):
    call = asked(journal)
    with Journal(path) as other:
        answered(other, id="call_2")
        before = journal.head
        journal.shown(call)
        assert journal.head != before
        assert journal.head == journal.verify().head


async def test_all_heads_of_a_notebook_are_in_an_untouched_journal(journal, path, tmp_path):
    heads = []
    for number in range(3):
        answered(journal, id=f"call_{number}")
        heads.append(journal.head)
    found = journal.verify(notebook=notebook(tmp_path, *heads, None))
    assert (found.ok, found.heads) == (True, 3)
    assert str(found).endswith(", 3 kept heads found")
    assert journal.verify(head=heads[1], notebook=str(notebook(tmp_path, heads[0]))).heads == 2
    assert journal.verify(notebook=notebook(tmp_path, None)).heads == 0


async def test_rows_cut_off_at_the_end_show(journal, path, tmp_path):
    answered(journal)
    first = journal.head
    answered(journal, id="call_2")
    kept = notebook(tmp_path, first, journal.head)
    journal.close()
    tamper(path, "DELETE FROM events WHERE id > 2")
    with Journal(path) as cut:
        assert cut.verify().ok
        found = cut.verify(notebook=kept)
    assert not found.ok
    assert "that `notebook.ipynb` keeps in cell 3: rows were cut off" in str(found)


async def test_a_journal_that_was_written_anew_shows(journal, path, tmp_path):
    answered(journal)
    kept = notebook(tmp_path, journal.head, "f" * 64)
    with Journal(tmp_path / "forged.sqlite") as forged:
        answered(forged, value="no")
        found = forged.verify(notebook=kept)
    assert not found.ok
    assert "(and 1 more)" in found.what


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cells": 3}', '{"cells": ["x"]}', "\xff"])
def test_what_is_no_notebook_is_named(journal, path, tmp_path, text):
    target = tmp_path / "other.ipynb"
    target.write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"`notebook='other.ipynb'` is no notebook .*Write `notebook="):
        journal.verify(notebook=target)
    with pytest.raises(UsageError, match="missing.ipynb"):
        journal.verify(notebook=(tmp_path / "missing.ipynb"))
