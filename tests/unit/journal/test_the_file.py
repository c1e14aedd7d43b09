"""The file itself: its owner's alone, and if it vanishes while it is in use, recording goes on and says so."""

import asyncio
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from hitl_nb.journal import Journal, JournalError
from tests.unit.journal.asking import a_call, answered, asked, events

REPO = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path):
    """In a folder of its own."""
    return tmp_path / "kept" / "journal.sqlite"


def warnings(caplog) -> list[str]:
    return [record.message for record in caplog.records if record.levelname == "WARNING"]


@contextmanager
def somebody_else():
    """Nobody in particular; the superuser may write everything."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


def delete_file(path):
    path.unlink()


def delete_all(path):
    for file in path.parent.iterdir():
        file.unlink()


def delete_folder(path):
    shutil.rmtree(path.parent)


def set_back(path):
    """Restore it from a backup in place, as SQLite does it: the file is the same, and its rows are not."""
    backup = path.with_name("backup")
    Journal(backup).close()
    with closing(sqlite3.connect(backup)) as older, closing(sqlite3.connect(path)) as live:
        older.backup(live)


def move_folder_away(path):
    path.parent.rename(path.parent.with_name(f"moved {len(list(path.parent.parent.iterdir()))}"))


def move_file_away(path):
    path.rename(path.with_name("moved.sqlite"))


def replace_by_another(path):
    with Journal(path.with_name("another.sqlite")) as another:
        answered(another, id="anothers")
    path.with_name("another.sqlite").rename(path)


WAYS = [delete_file, delete_all, delete_folder, move_folder_away, move_file_away, replace_by_another, set_back]


# -- whose it is -----------------------------------------------------------------------------------------------------


async def test_the_file_and_what_stands_beside_it_are_its_owners_alone(journal, path):
    answered(journal)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    assert modes == {"journal.sqlite": 0o600, "journal.sqlite-wal": 0o600, "journal.sqlite-shm": 0o600}


async def test_a_file_that_was_there_keeps_the_mode_that_it_has(path):
    path.parent.mkdir()
    path.touch(0o640)
    path.chmod(0o640)
    with Journal(path) as journal:
        answered(journal)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_may_only_be_read_is_refused_at_once_and_not_at_the_first_question(path):
    with Journal(path) as journal:
        asked(journal)
    path.chmod(0o444)
    with somebody_else(), pytest.raises(JournalError, match="Write"):
        Journal(path)  # somewhere in a folder that is closed to others
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        target = shutil.copy(path, folder)
        with somebody_else(), pytest.raises(JournalError, match="may not be written. Write `Journal"):
            Journal(target)


# -- deleted or replaced while it is open ----------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
async def test_what_is_recorded_afterwards_is_in_the_file_that_is_there_then(journal, path, way, caplog):
    answered(journal, id="before")
    way(path)
    answered(journal, id="after")
    with Journal(path) as other:
        assert other.winner("after").answer == "yes"
        assert other.winner("before") is None
        assert other.verify().ok
    assert journal.head == journal.verify().head
    answered(journal, id="later")
    [words] = warnings(caplog)
    assert f"`{path}` was deleted or replaced while it was open" in words


@pytest.mark.parametrize("way", WAYS)
async def test_an_answer_takes_its_question_along(journal, path, way):
    call = asked(journal, {"n": 1})
    row = events(journal)[-1]
    way(path)
    call.respond("yes", by="ada")
    assert await asyncio.wrap_future(journal.begin_answered(call)) is True
    *_, question, answer = journal
    assert (question["event"], answer["event"], answer["question"]) == ("asked", "answered", question["id"])
    for column in ("ts", "args", "message", "occurrence", "kind", "schema_sha256"):
        assert question.get(column) == row.get(column)
    with Journal(path) as other:
        assert other.winner(call).answer == "yes"


@pytest.mark.parametrize("way", WAYS)
async def test_a_grant_takes_question_and_approval_along_and_stays_one(journal, path, way):
    call = answered(journal)
    way(path)
    assert journal.start(call) is True
    assert [row["event"] for row in journal][-3:] == ["asked", "answered", "started"]
    way(path)
    assert journal.start(call) is False
    journal.ended(call, "done")
    assert [row["event"] for row in journal][-4:] == ["asked", "answered", "started", "ended"]
    with Journal(path) as other:
        assert other.started(call).ended == "done"


@pytest.mark.parametrize("decided", [True, False])
async def test_an_answer_never_goes_to_the_question_that_has_its_number_now(journal, path, decided):
    answered(journal, id="before")
    with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(path.with_name("backup"))) as backup:
        live.backup(backup)
    mine = asked(journal, {"delete": "tmp"}, id="mine")
    with closing(sqlite3.connect(path.with_name("backup"))) as backup, closing(sqlite3.connect(path)) as live:
        backup.backup(live)
    with Journal(path) as other:
        theirs = asked(other, {"delete": "everything"}, id="theirs")
        if decided:
            theirs.decline("no")
            assert other.answered(theirs)
        assert journal.winner(mine) is None
        mine.respond("yes", by="ada")
        assert journal.answered(mine)
        assert (journal.winner(mine).answer, other.winner(mine).answer) == ("yes", "yes")
        assert journal.start(mine)
        if decided:
            assert other.winner(theirs).outcome == "declined"
        else:
            assert other.winner(theirs) is None
            theirs.decline("no")
            assert other.answered(theirs)
        assert other.started(theirs) is None
        assert journal.verify().ok


async def test_a_file_that_was_moved_away_is_whole(journal, path):
    answered(journal)
    move_file_away(path)
    answered(journal, id="call_2")
    with Journal(path.with_name("moved.sqlite")) as moved:
        # What was on its way when it was moved may be in both.
        assert [row["call"] for row in moved] == ["call_1", "call_1", "call_2"]
        assert moved.verify().ok
    assert [row["call"] for row in journal] == ["call_2", "call_2"]


async def test_a_copy_that_was_put_back_has_its_questions_and_they_are_not_asked_twice(journal, path):
    call = asked(journal)
    journal.close()
    with Journal(path) as journal:
        known = asked(journal, id="known")
        shutil.copy(path, path.with_name("copy"))  # without what is in the -wal: `known` is not in it
        path.with_name("copy").rename(path)
        call.respond("yes")
        assert journal.answered(call)
        known.respond("yes")
        assert journal.answered(known)
        assert [row["event"] for row in journal] == ["asked", "answered", "asked", "answered"]
        assert journal.verify().ok


@pytest.mark.parametrize("way", WAYS)
async def test_reading_finds_what_is_there_now(journal, path, way):
    answered(journal, id="before")
    way(path)
    assert journal.winner("before") is None
    assert "before" not in list(journal.to_frame()["id"])
    assert journal.load_thread("elsewhere") is None
    assert path.is_file()


@pytest.mark.parametrize("way", WAYS)
async def test_a_conversation_is_written_whole_into_a_new_file(journal, path, way):
    journal.save_thread("t", '[{"id":"1"},{"id":"2"}]', '{"n":1}')
    way(path)
    journal.save_thread("t", '[{"id":"1"},{"id":"2"},{"id":"3"}]', '{"n":1}')
    record = journal.load_thread("t")
    assert [message["id"] for message in record.messages] == ["1", "2", "3"]
    assert record.state == {"n": 1}


async def test_a_file_that_is_deleted_again_and_again_loses_nothing_that_was_acknowledged(journal, path):
    for number in range(20):
        call = a_call(id=f"call_{number}")
        begun = journal.begin_asked(call, arguments="{}")
        path.unlink()
        await asyncio.wrap_future(begun)
        call.respond(number)
        assert await asyncio.wrap_future(journal.begin_answered(call))
        with Journal(path) as other:
            assert other.winner(call.id).answer == number


async def test_where_no_file_can_be_made_any_more_it_is_an_error(journal, path):
    call = asked(journal)
    delete_folder(path)
    path.parent.write_text("a file is in the way")
    with pytest.raises(JournalError, match="cannot be made"):
        journal.shown(call)
    path.parent.unlink()
    journal.shown(call)
    assert [row["event"] for row in journal] == ["asked", "shown"]


def test_closing_a_file_that_was_deleted_makes_no_new_one(journal, path):
    delete_folder(path)
    journal.close()
    assert not path.parent.exists()


async def test_the_default_folder_explains_itself_again(tmp_path):
    code = """
import shutil
from hitl_nb.journal import Journal
journal = Journal()
shutil.rmtree(".hitl_nb")
journal.save_thread("t", "[]", "1")
"""
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(REPO), "PATH": ""}
    await asyncio.to_thread(subprocess.run, command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    folder = tmp_path / ".hitl_nb"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (folder / "README.txt").is_file()
    with Journal(folder / "journal.sqlite") as journal:
        assert journal.load_thread("t").state == 1


async def test_another_kernel_that_still_has_the_old_file_open_does_no_harm_to_the_new_one(journal, path):
    """SQLite deletes the -wal by its name when the last connection is closed."""
    with Journal(path) as other:
        answered(other, id="before")
        delete_file(path)
        answered(journal, id="after")
    answered(journal, id="later")
    with Journal(path) as third:
        assert [row["call"] for row in events(third, "asked")] == ["after", "later"]
