"""Who answers and where it is recorded: variables as the process was started with them, `use` in code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hitl_nb
from hitl_nb import Journal, Session, _process, approve, use
from hitl_nb.errors import JournalError, NoHumanError, ReplayMismatch, ScriptError, UsageError
from hitl_nb.journal import default_journal, open_journal
from hitl_nb.people import NotebookPerson, Policy, ScriptedPerson, allow, stand_in, take_stand_in_note
from hitl_nb.testing import record
from tests.agents import ScriptedAgent
from tests.unit.testing.installed import environment

PYTHON = """
import asyncio, os, sys, warnings
warnings.simplefilter("always")
def ask(*questions, **options):
    async def all():
        from hitl_nb import approve
        from hitl_nb.errors import NoHumanError
        for question in questions:
            try:
                print(question, await approve(question, **options))
            except NoHumanError as error:
                print(question, "NoHumanError:", error)
    asyncio.run(all())
"""


def python(folder: Path, code: str, **variables: str) -> str:
    """What a process prints that was started in `folder` with these variables, and what it says on stderr."""
    # No variable of ours but those of the test.
    env = {name: value for name, value in environment(folder).items() if not name.startswith(("HITL_NB_", "JPY_"))}
    done = subprocess.run(
        [sys.executable, "-c", PYTHON + code],
        capture_output=True,
        text=True,
        env={**env, **variables},
        cwd=folder,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def script(tmp_path):
    """A script that says yes; running it leaves a file."""
    ran = str(tmp_path / "ran")
    (tmp_path / "answers.py").write_text(f"open({ran!r}, 'w').close()\nanswers = [True]")
    return tmp_path / "answers.py"


# -- variables ------------------------------------------------------------------------------------------------


def test_what_a_process_is_started_with_is_believed(tmp_path, script):
    said = python(
        tmp_path,
        "from hitl_nb.people import take_stand_in_note as note; print(note(), note())\n"
        "ask('Delete?', 'And this?')\n"
        "from hitl_nb.journal import open_journal; print(open_journal().path)",
        HITL_NB_PEOPLE="script:answers.py",
        HITL_NB_JOURNAL="kept/here.sqlite",
    )
    assert "Delete? True\nAnd this? True\n" in said
    assert "HITL_NB_PEOPLE=script:answers.py answers here, not a person None" in said
    assert f"{tmp_path}/kept/here.sqlite" in said
    assert "Warning" not in said


@pytest.mark.parametrize("imported", ["", "import hitl_nb; "], ids=["before the import", "after it"])
@pytest.mark.parametrize("value", ["script:answers.py", "replay:case.json", "oracle:delphi"])
def test_a_value_that_appears_later_as_from_a_dotenv_is_not_believed_and_both_ways_out_are_said_once(
    tmp_path, script, imported, value
):
    said = python(tmp_path, f"{imported}os.environ['HITL_NB_PEOPLE'] = {value!r}\nask('Delete?', 'And this?')")
    assert not (tmp_path / "ran").exists()
    assert said.count("NoHumanError: `approve`") == 2
    words = f"`HITL_NB_PEOPLE={value}` was set after this process was started"
    way_out = "Start the process with it, or say it in code: `hitl_nb.use(people=…)`."
    assert said.count(f"VariableNotBelieved: {words}") == 1
    assert said.count(way_out) == 1 + 2, "the warning, and each question that nobody could be asked"


def test_a_value_that_changes_later_is_not_believed_either_and_the_one_at_the_start_counts(tmp_path, script):
    said = python(
        tmp_path,
        "os.environ['HITL_NB_PEOPLE'] = 'script:other.py'\nask('Delete?')",
        HITL_NB_PEOPLE="script:answers.py",
    )
    assert "Delete? True" in said
    assert "`HITL_NB_PEOPLE=script:answers.py` counts, with which it was started" in said


def test_a_value_that_was_removed_later_counts_and_it_is_said(tmp_path, script):
    said = python(tmp_path, "del os.environ['HITL_NB_PEOPLE']\nask('Delete?')", HITL_NB_PEOPLE="script:answers.py")
    assert "Delete? True" in said
    assert said.count("was removed after this process was started with `HITL_NB_PEOPLE=script:answers.py`") == 1


def test_a_journal_that_appears_later_is_not_believed(tmp_path):
    said = python(
        tmp_path,
        "os.environ['HITL_NB_JOURNAL'] = 'off'\n"
        "from hitl_nb.journal import open_journal\n"
        "for _ in range(3): print(open_journal().path)\n"
        "os.environ['HITL_NB_JOURNAL'] = 'elsewhere.sqlite'\n"
        "print(open_journal().path)",
    )
    assert said.count(f"{tmp_path}/.hitl_nb/journal.sqlite") == 4
    assert said.count("VariableNotBelieved: `HITL_NB_JOURNAL=") == 2, "once a value"
    assert "hitl_nb.use(journal=…)" in said


def test_who_says_it_in_code_is_not_warned_and_is_believed(tmp_path, script):
    said = python(
        tmp_path,
        "import hitl_nb\n"
        "os.environ['HITL_NB_PEOPLE'] = 'script:other.py'; os.environ['HITL_NB_JOURNAL'] = 'other.sqlite'\n"
        "hitl_nb.use(people='script:answers.py', journal='off')\n"
        "ask('Delete?')",
    )
    assert "Delete? True" in said
    assert "Warning" not in said
    assert not (tmp_path / ".hitl_nb").exists()


def test_another_working_directory_changes_neither_the_script_nor_the_journal(tmp_path, script):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "answers.py").write_text("answers = [False]")
    said = python(tmp_path, "import hitl_nb; os.chdir('elsewhere'); ask('Delete?')", HITL_NB_PEOPLE="script:answers.py")
    assert "Delete? True" in said
    assert not (elsewhere / ".hitl_nb").exists()
    assert (tmp_path / ".hitl_nb" / "journal.sqlite").is_file()


def test_in_ipython_the_folder_is_where_it_was_started_also_if_a_cell_left_it_before_the_import(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    said = python(
        tmp_path,
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance()\n"
        "os.chdir('elsewhere')\n"
        "from hitl_nb._process import notebook_folder; print(notebook_folder())",
        IPYTHONDIR=str(tmp_path / "ipython"),
    )
    assert said == f"{tmp_path}\n"


def test_importing_does_not_load_ipython_to_find_the_folder(tmp_path):
    code = "from hitl_nb._process import notebook_folder; print(notebook_folder(), 'IPython' in sys.modules)"
    assert python(tmp_path, code) == f"{tmp_path} False\n"


NAME = "from hitl_nb._process import notebook_name; print(notebook_name())"


def test_the_notebooks_name_is_what_the_host_says_it_is(tmp_path):
    in_code = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "InteractiveShell.instance().user_ns['__vsc_ipynb_file__'] = 'vs/code.ipynb'\n"
        "os.environ['JPY_SESSION_NAME'] = 'later.ipynb'\n"
    )
    assert python(tmp_path, NAME) == "None\n"
    assert python(tmp_path, NAME, JPY_SESSION_NAME="a/b.ipynb") == "a/b.ipynb\n"
    assert python(tmp_path, in_code + NAME, IPYTHONDIR=str(tmp_path / "ipython")) == "vs/code.ipynb\n"


@pytest.mark.timeout(300)
def test_a_kernel_started_by_the_runner_is_not_answered_by_what_a_cell_sets(tmp_path, script):
    import nbformat

    cells = [
        "import os; os.environ['HITL_NB_PEOPLE'] = 'script:answers.py'; os.chdir('/')",
        "from hitl_nb import approve\nawait approve('Delete?')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, tmp_path / "notebook.ipynb")
    command = [sys.executable, "-m", "hitl_nb.testing", "notebook.ipynb"]
    env = environment(tmp_path, IPYTHONDIR=str(tmp_path / "ipython"))
    del env["HITL_NB_JOURNAL"]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, timeout=150)
    assert done.returncode == 75, done.stdout + done.stderr
    assert "is not believed: it was started without" in done.stdout
    assert not (tmp_path / "ran").exists()
    assert (tmp_path / ".hitl_nb" / "journal.sqlite").is_file(), "beside the notebook, not in /"


# -- how the system tells -------------------------------------------------------------------------------------

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="=\0"), min_size=1)
VALUES = st.text(st.characters(codec="utf-8", exclude_characters="\0"))


@given(st.lists(st.tuples(NAMES, VALUES)))
def test_the_block_that_linux_gives_is_read_without_a_loss_and_of_two_the_first_counts(tmp_path_factory, variables):
    block = tmp_path_factory.getbasetemp() / "environ"
    block.write_bytes(b"".join(f"{name}={value}".encode() + b"\0" for name, value in variables))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_process, "_ENVIRON", block)
        assert _process._environment() == dict(reversed(variables))


@pytest.mark.parametrize("damage", [b"\0" * 300, b"my title\0\0\0HITL_NB_PEOPLE=x\0"])
def test_where_a_title_was_written_over_the_block_the_first_import_is_the_start(tmp_path, monkeypatch, damage):
    (tmp_path / "environ").write_bytes(damage)
    monkeypatch.setattr(_process, "_ENVIRON", tmp_path / "environ")
    assert _process._environment() == dict(os.environ)


def test_where_there_is_no_block_the_first_import_is_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(_process, "_ENVIRON", tmp_path / "nothing")
    assert _process._environment() == dict(os.environ)


# -- in code --------------------------------------------------------------------------------------------------


def saying(answer, name):
    """Somebody who always answers the same."""

    async def person(call):
        call.respond(answer, by=name)

    return person


yes, no = saying(True, "yes"), saying(False, "no")


async def test_use_says_who_is_asked_until_its_block_ends():
    with use(people=yes):
        assert await approve("Delete?") is True
        with use(people=[no]):
            assert await approve("Delete?") is False
        assert await approve("Delete?") is True
    with pytest.raises(NoHumanError):
        await approve("Delete?")


async def test_who_is_named_at_the_question_or_by_the_session_comes_before_use():
    with use(people=no):
        assert await approve("Delete?", people=yes) is True
        assert Session(ScriptedAgent([]), people=[yes]).people == [yes]
        assert Session(ScriptedAgent([])).people == [no]


async def test_recording_and_replaying_come_before_use(tmp_path):
    with use(people=yes), record(tmp_path / "case.json"):
        await approve("Delete?")
    with use(people=no), hitl_nb.testing.replay(tmp_path / "case.json"):
        assert await approve("Delete?") is True


async def test_a_recorded_session_answers_by_use_until_its_block_ends(tmp_path):
    with record(tmp_path / "case.json"):
        await approve("Delete?", people=yes)
    text = f"replay:{tmp_path}/case.json"
    with use(people=text) as used:
        assert "replay:case.json instead of" in repr(used)
        assert await approve("Delete?", people=no) is True
    assert await approve("Delete?", people=no) is False
    with pytest.raises(ScriptError, match="not replayed to its end"), use(people=text):
        pass
    with pytest.raises(ReplayMismatch), use(people=text):
        await approve("Something else?")
    assert await approve("Delete?", people=no) is False


async def test_a_script_begins_anew_with_each_session_or_checkpoint_as_from_the_variable(tmp_path, monkeypatch):
    (tmp_path / "answers.json").write_text("[true]")
    monkeypatch.chdir(tmp_path)
    with use(people="script:answers.json"):
        monkeypatch.chdir("/")
        assert [await approve("Delete?"), await approve("Delete?")] == [True, True]


async def test_without_a_block_it_holds_although_nobody_keeps_what_use_gave(tmp_path):
    code = "import gc, hitl_nb; hitl_nb.use(people='replay:case.json', journal='off'); gc.collect(); ask('Delete?')"
    with record(tmp_path / "case.json"):
        await approve("Delete?", people=yes)
    assert "Delete? True" in python(tmp_path, code)


def test_use_says_which_journal_is_kept(tmp_path):
    path = tmp_path / "j.sqlite"
    with use(journal=path):
        kept = open_journal()
        assert kept.path == path
        assert open_journal() is kept
        kept.close()
        assert not open_journal().closed
        with use(journal="off"):
            assert open_journal() is None
            with Journal("memory") as replaying, default_journal(replaying):
                assert open_journal() is replaying, "what is replayed comes first"
            assert open_journal("memory").path is None
        with Journal("memory") as mine, use(journal=mine):
            assert open_journal() is mine
        assert open_journal().path == path
    assert open_journal().path is None


def test_none_leaves_things_as_they_are(tmp_path):
    with use(journal=tmp_path / "j.sqlite"), use(people=yes, journal=None):
        assert open_journal().path == tmp_path / "j.sqlite"


@given(st.lists(st.booleans(), max_size=6), st.randoms())
def test_in_whatever_order_blocks_end_the_last_that_has_not_ended_counts(kinds, random):
    begun = [(kind, use(journal="off" if kind else "memory")) for kind in kinds]
    try:
        while begun:
            assert (open_journal() is None) == begun[-1][0]
            place = random.randrange(len(begun))
            _, ended = begun.pop(place)
            for _ in range(2):  # the second time says nothing new
                ended.__exit__(None, None, None)
    finally:
        for _, used in begun:
            used.__exit__(None, None, None)
    assert open_journal() is not None, "what conftest says"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({}, "says nothing"),
        ({"people": 3}, "`people` holds `3`"),
        ({"people": [yes, "script:answers.py"]}, "`people` holds `'script:answers.py'`"),
        ({"people": NotebookPerson}, r"Write `people=NotebookPerson\(...\)`"),
        ({"people": "answers.py"}, "is none of .*`script:<file>`"),
        ({"people": "oracle:delphi"}, "is none of .*Write `hitl_nb.use"),
        ({"people": "script:nothing.py"}, "no such file"),
        ({"people": "script:"}, "is no script"),
        ({"journal": 3}, "`journal=3` is no journal"),
        ({"journal": True}, "is no journal"),
        ({"journal": ""}, "is no journal"),
        ({"people": no, "journal": ["x"]}, "is no journal"),
        ({"people": 3, "journal": "made.sqlite"}, "`people` holds"),
    ],
)
async def test_what_cannot_be_meant_is_refused_with_the_line_to_write_and_nothing_has_changed(
    tmp_path, monkeypatch, said, words
):
    monkeypatch.chdir(tmp_path)
    with use(people=yes, journal="off"):
        with pytest.raises(UsageError, match=words) as caught:
            use(**said)
        assert re.search("Write .*`.*(person|people|journal)", str(caught.value))
        assert await approve("Delete?") is True
        assert open_journal() is None
    assert list(tmp_path.iterdir()) == []


def test_a_journal_that_cannot_be_opened_changes_nothing_and_ends_what_had_begun(tmp_path):
    with record(tmp_path / "case.json"):
        pass
    for _ in range(2):  # the second would say that something is being replayed already
        with pytest.raises(JournalError, match="is a folder"):
            use(people=f"replay:{tmp_path}/case.json", journal=tmp_path)
    assert open_journal().path is None


def test_what_has_ended_does_not_begin_again():
    with use(journal="off") as used:
        pass
    with pytest.raises(UsageError, match="once more"), used:
        pass


def test_its_repr_says_what_stands_in_for_what_and_names_no_folder(tmp_path, script):
    with use(people=f"script:{script}", journal=tmp_path / "j.sqlite") as used:
        assert repr(used) == (
            "<use people: script:answers.py instead of whoever sits at the notebook · "
            "journal: j.sqlite instead of memory>"
        )
        with use(people=[Policy(allow("x")), NotebookPerson("Ada")]) as inner:
            assert repr(inner) == "<use people: [Policy, NotebookPerson] instead of script:answers.py>"
    assert repr(used).endswith("(ended)>")


def test_the_record_is_told_who_stands_in_by_the_files_name_only(script):
    assert stand_in() is None
    with use(people=f"script:{script}"):
        assert stand_in() == 'hitl_nb.use(people="script:answers.py") answers here, not a person'
    with use(people=ScriptedPerson([])):
        assert stand_in() == "hitl_nb.use(people=ScriptedPerson) answers here, not a person"
    with use(people=[yes, NotebookPerson("Ada")]):
        assert stand_in() == "hitl_nb.use(people=[person, NotebookPerson]) says who is asked here"
    with use(people=lambda call: None):  # type: ignore[arg-type]
        assert stand_in() == "hitl_nb.use(people=a lambda) says who is asked here"
    with use(people=NotebookPerson("Ada")):
        assert stand_in() is None, "that is a person"


def test_the_note_is_given_once_until_somebody_else_stands_in():
    async def before(call): ...

    async def after(call): ...

    assert take_stand_in_note() is None
    with use(people=before):
        first = stand_in()
        assert [take_stand_in_note() for _ in range(3)] == [first, None, None]
        with use(people=after):
            assert take_stand_in_note() == stand_in() != first
        assert take_stand_in_note() is None
