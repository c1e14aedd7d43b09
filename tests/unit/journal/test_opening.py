"""Which journal: the one beside the notebook, unless somebody says otherwise; and what a file can be that is none."""

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from hitl_nb import _process, use
from hitl_nb.errors import UsageError
from hitl_nb.journal import DEFAULT, Journal, JournalError, _open, _place, open_journal
from tests.unit.journal.asking import answered, asked


@pytest.fixture(autouse=True)
def notebook_folder(tmp_path, monkeypatch):
    """Where this process was started, with no word about the journal.

    That a kernel's start is read rightly: tests/unit/test_variables.py, in processes of its own.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(_process, "_started_in", tmp_path)
    monkeypatch.setattr(_process, "_started", {})
    monkeypatch.delenv("HITL_NB_JOURNAL", raising=False)
    monkeypatch.setattr(_open, "_used", [])  # what conftest says
    return tmp_path


def started_with(monkeypatch, value):
    monkeypatch.setattr(_process, "_started", {"HITL_NB_JOURNAL": value})
    monkeypatch.setenv("HITL_NB_JOURNAL", value)


def test_by_default_it_lies_beside_the_notebook_in_a_folder_that_explains_itself(notebook_folder):
    with Journal() as journal:
        assert journal.path == notebook_folder / ".hitl_nb" / "journal.sqlite"
        assert repr(journal) == "<Journal .hitl_nb/journal.sqlite · 0 calls>"
    folder = notebook_folder / ".hitl_nb"
    assert (folder / ".gitignore").read_text() == "*\n"
    readme = (folder / "README.txt").read_text()
    for word in ("hitl_nb", "journal.sqlite", "Deleting", "HITL_NB_JOURNAL=off"):
        assert word in readme


def test_a_readme_that_somebody_edited_is_left_alone(notebook_folder):
    Journal().close()
    readme = notebook_folder / ".hitl_nb" / "README.txt"
    readme.write_text("mine")
    Journal().close()
    assert readme.read_text() == "mine"


def test_a_path_is_meant_as_it_was_when_it_was_written(notebook_folder, monkeypatch):
    with Journal("a/b.sqlite") as journal:
        (notebook_folder / "elsewhere").mkdir()
        monkeypatch.chdir(notebook_folder / "elsewhere")
        assert journal.path == notebook_folder / "a" / "b.sqlite"
        assert journal.path.is_file()


def test_another_working_directory_is_no_other_journal(notebook_folder, monkeypatch):
    (notebook_folder / "elsewhere").mkdir()
    with open_journal() as journal:
        monkeypatch.chdir(notebook_folder / "elsewhere")
        assert open_journal() is journal
    with open_journal() as journal:
        assert journal.path == notebook_folder / ".hitl_nb" / "journal.sqlite"


def test_the_default_folder_is_the_users_alone(notebook_folder):
    Journal().close()
    assert stat.S_IMODE((notebook_folder / ".hitl_nb").stat().st_mode) == 0o700


def test_a_default_folder_that_others_could_write_is_closed_to_them(notebook_folder):
    folder = notebook_folder / ".hitl_nb"
    folder.mkdir()
    folder.chmod(0o777)
    Journal().close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755


def symbolic_link(folder: Path, monkeypatch):
    target = folder.with_name("elsewhere")
    target.mkdir()
    folder.symlink_to(target)


def link_to_nowhere(folder: Path, monkeypatch):
    folder.symlink_to(folder.with_name("nowhere"))


def somebody_elses(folder: Path, monkeypatch):
    """Only who we are is pretended: one user cannot make another's folder."""
    folder.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (symbolic_link, "is a symbolic link"),
        (link_to_nowhere, "is a symbolic link"),
        (somebody_elses, "belongs to another user"),
    ],
)
def test_a_default_folder_that_is_not_the_users_is_not_written_to_and_the_words_say_how(
    notebook_folder, monkeypatch, make, words
):
    folder = notebook_folder / ".hitl_nb"
    make(folder, monkeypatch)
    with pytest.warns(UserWarning, match=rf"{words}.*hitl_nb\.use\(journal='.*lost with the kernel"):
        assert open_journal().path is None
    with pytest.raises(JournalError, match=words):
        Journal()
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_path_that_the_user_gives_is_believed_also_through_a_link(notebook_folder, monkeypatch):
    symbolic_link(notebook_folder / ".hitl_nb", monkeypatch)
    with use(journal=".hitl_nb/journal.sqlite"), open_journal() as journal:
        assert journal.path == notebook_folder / ".hitl_nb" / "journal.sqlite"
    assert (notebook_folder / "elsewhere" / "journal.sqlite").is_file()


def test_a_link_in_the_place_of_a_readme_is_not_followed(notebook_folder):
    victim = notebook_folder / "victim"
    (notebook_folder / ".hitl_nb").mkdir()
    (notebook_folder / ".hitl_nb" / "README.txt").symlink_to(victim)
    Journal().close()
    assert not victim.exists()


async def test_memory_leaves_no_file(notebook_folder):
    with Journal("memory") as journal:
        answered(journal)
        assert journal.verify().rows == 2
    assert list(notebook_folder.iterdir()) == []


@pytest.mark.parametrize("value", [None, "off"])
def test_off_is_no_journal(value):
    assert open_journal(value) is None


def test_a_journal_is_itself(journal):
    assert open_journal(journal) is journal


def test_who_means_the_same_file_gets_the_same_journal(notebook_folder):
    first = open_journal("x.sqlite")
    assert open_journal(notebook_folder / "x.sqlite") is first
    assert open_journal(DEFAULT) is open_journal()
    first.close()
    again = open_journal("x.sqlite")
    assert again is not first
    assert repr(again).startswith("<Journal x.sqlite")


def test_memory_is_one_for_the_whole_process():
    first = open_journal("memory")
    assert open_journal("memory") is first
    first.close()
    assert not open_journal("memory").closed


def test_the_environment_says_which_if_the_code_does_not(notebook_folder, monkeypatch):
    started_with(monkeypatch, "off")
    assert open_journal() is None
    started_with(monkeypatch, "memory")
    assert open_journal().path is None
    monkeypatch.setenv("HOME", str(notebook_folder))
    started_with(monkeypatch, "~/j.sqlite")
    with open_journal() as journal:
        assert journal.path == notebook_folder / "j.sqlite"
    started_with(monkeypatch, "off")
    with open_journal("mine.sqlite") as journal:
        assert journal.path == notebook_folder / "mine.sqlite"


def test_a_path_in_the_environment_is_meant_from_where_the_process_was_started(notebook_folder, monkeypatch):
    started_with(monkeypatch, "sub/j.sqlite")
    (notebook_folder / "elsewhere").mkdir()
    monkeypatch.chdir(notebook_folder / "elsewhere")
    with open_journal() as journal:
        assert journal.path == notebook_folder / "sub" / "j.sqlite"


@pytest.mark.parametrize("value", [True, 3, b"x"])
def test_something_else_is_refused_with_what_to_write(value):
    with pytest.raises(UsageError, match="Write `journal="):
        open_journal(value)


def test_where_the_folder_cannot_be_made_the_default_is_memory_with_a_warning(notebook_folder):
    (notebook_folder / ".hitl_nb").write_text("a file is in the way")
    with pytest.warns(UserWarning, match=r"\.hitl_nb.* lost with the kernel"):
        journal = open_journal()
    assert journal.path is None
    with pytest.raises(JournalError, match="Write `Journal"):
        Journal()


@pytest.mark.only_sqlite
@pytest.mark.parametrize("content", [b"this is no database" * 100, b"\0" * 5000])
def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path, content):
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"journal\.sqlite` cannot be used"):
        Journal(path)
    assert path.read_bytes() == content


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(JournalError, match="is a folder. Write `Journal"):
        Journal(tmp_path)


async def test_a_closed_journal_says_so(path):
    journal = Journal(path)
    call = asked(journal)
    journal.close()
    journal.close()
    assert journal.closed
    with pytest.raises(JournalError, match="closed"):
        journal.shown(call)


@pytest.mark.only_sqlite
def test_a_journal_that_nobody_holds_closes_itself(path):
    Journal(path)
    # Warnings are errors here: an unclosed database would be one.
    assert sorted(file.name for file in path.parent.iterdir() if "journal" in file.name) == ["journal.sqlite"]


# -- the file system -----------------------------------------------------------------------------------------


def mode(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]


@pytest.mark.only_sqlite
def test_a_local_file_uses_the_write_ahead_log(journal, path):
    assert mode(path) == "wal"


@pytest.mark.only_sqlite
@pytest.mark.parametrize(
    ("mounts", "expected"),
    [
        ("server:/home {here} nfs4 rw 0 0\n", "delete"),
        ("//server/share {here} cifs rw 0 0\n", "delete"),
        ("sshfs {here} fuse.sshfs rw 0 0\n", "delete"),
        ("server:/home /somewhere/else nfs4 rw 0 0\n", "wal"),
        ("server:/home {parent} nfs4 rw 0 0\n/dev/sda1 {here} ext4 rw 0 0\n", "wal"),
    ],
)
async def test_on_a_network_file_system_it_falls_back_to_the_rollback_journal(path, monkeypatch, mounts, expected):
    """Only the table of mounts is pretended; there is no network file system to test on."""
    table = path.with_name("mounts")
    here = path.parent
    table.write_text("/dev/sda2 / ext4 rw 0 0\n" + mounts.format(here=here, parent=here.parent))
    monkeypatch.setattr(_place, "_MOUNTS", table)
    with Journal(path) as journal, Journal(path) as other:
        call = answered(journal)
        assert other.winner(call.id).answer == "yes"
        assert journal.verify().ok
        assert mode(path) == expected


@pytest.mark.only_sqlite
async def test_an_answer_is_synced_to_disk_and_a_question_need_not_be(journal):
    """`synchronous=FULL` exactly where it matters; the levels are read from SQLite itself, as the row is written."""
    connection, levels = journal._store._file.connection, {}

    def level() -> int:
        return connection.execute("PRAGMA synchronous").fetchone()[0]

    connection.create_function("note", 1, lambda event: levels.setdefault(event, level()))
    connection.execute("CREATE TEMP TRIGGER watch AFTER INSERT ON main.events BEGIN SELECT note(new.event); END")
    answered(journal)
    journal.delivered(["call_1"])
    normal, full = 1, 2
    assert levels == {"asked": normal, "answered": full, "delivered": normal}
    assert level() == normal


# -- who answers ---------------------------------------------------------------------------------------------


def test_who_answers_is_the_given_name_else_the_hub_user_else_the_systems(monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_USER", "hub-user")
    monkeypatch.setenv("LOGNAME", "system-user")
    with Journal("memory", name="ada") as journal:
        assert journal.who() == "ada"
    with Journal("memory") as journal:
        assert journal.who() == "hub-user"
        monkeypatch.delenv("JUPYTERHUB_USER")
        assert journal.who() == "system-user"


def test_a_user_without_any_name_is_unknown(monkeypatch):
    import getpass

    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)

    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nobody)
    with Journal("memory") as journal:
        assert journal.who() == "unknown user"
