"""What each database has to keep: nothing of one is known above the files that speak to it."""

import ast
from pathlib import Path

import hitl_nb.journal
from tests.unit.journal.asking import answered, events

ROOM = Path(hitl_nb.journal.__file__).parent


def test_sqlite_is_imported_by_its_own_two_files_only():
    importing = {
        file.name
        for file in ROOM.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        if "sqlite3" in {getattr(node, "module", None), *(alias.name for alias in node.names)}
    }
    assert importing == {"_file.py", "_sqlite.py"}


async def test_an_empty_list_of_filters_fits_nothing(journal):
    answered(journal)
    assert len(journal.to_frame()) == len(journal.to_frame(tool=None)) == 1
    assert journal.summary(tool=[]).asked == journal.summary(by=()).asked == 0


async def test_a_nul_in_a_text_is_kept_as_its_escape(journal):
    call = answered(journal, message="a\0b", by="a\0da")
    [question] = events(journal, "asked")
    assert (question["message"], journal.winner(call).by) == (r"a\x00b", r"a\x00da")


async def test_seconds_are_a_number_with_a_fraction(journal):
    answered(journal)
    assert journal.to_frame()["seconds"].dtype.kind == "f"
