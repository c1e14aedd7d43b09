"""Stored notebooks show what a fresh run gives, and nothing of the machine that made them."""

import json
import re
from typing import Any

import nbformat
import pytest

from tests.notebooks import FOLDER

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MAY_RAISE = {"raises-exception", "nbval-raises-exception"}
# What nbval does not replay, so that the stored output and a fresh one would differ.
CHANGES_OUTPUTS_LATER = ("clear_output", "display_id", "Output(")
ABSOLUTE_PATH = re.compile(r"(?<![\w.:/<])/(?:home|root|work|tmp|usr|opt|var|Users|private|mnt)/|\b[A-Z]:\\")

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(path: Any) -> list[Any]:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_quickstart():
    assert "01_quickstart" in {path.stem for path in NOTEBOOKS}


@each
def test_its_cells_were_run_once_from_top_to_bottom(path):
    counts = [cell.execution_count for cell in code_cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@each
def test_it_is_short_enough_to_read(path):
    assert len(code_cells(path)) <= 10


@each
def test_it_stores_no_widget_state_and_no_timing(path):
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.metadata["language_info"] == {"name": "python"}
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}, cell.id


@each
def test_only_a_cell_that_says_so_ends_in_an_error(path):
    for cell in code_cells(path):
        failed = any(output.output_type == "error" for output in cell.outputs)
        assert not failed or MAY_RAISE & set(cell.metadata.get("tags", [])), cell.id


@each
def test_no_output_changes_after_it_was_made(path):
    for cell in code_cells(path):
        found = [word for word in CHANGES_OUTPUTS_LATER if word in cell.source]
        assert not found, f"{cell.id}: change what is on screen through traits instead of {found}"


@each
def test_its_outputs_are_the_same_on_every_machine(path):
    for cell in code_cells(path):
        text = json.dumps(cell.outputs, ensure_ascii=False)
        assert not ABSOLUTE_PATH.search(text), cell.id
        assert "application/vnd.jupyter.widget-view+json" not in text, f"{cell.id}: run `make refresh`"
