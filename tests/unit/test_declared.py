"""Who has to answer, as plain data: what a decision is found again by."""

import functools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from hitl_nb import approve
from hitl_nb.people import NotebookPerson, ScriptedPerson, declared, declared_all, people_of
from hitl_nb.testing import record, replay
from tests.conftest import REPO


async def boss(call):
    call.respond(True)


async def other(call):
    call.respond(True)


renamed = lambda call: None  # noqa: E731
renamed.__name__ = renamed.__qualname__ = "boss"


def decorated(function):
    @functools.wraps(function)
    async def inside(call):
        return await function(call)

    return inside


@decorated
async def logged(call):
    call.respond(True)


class Bot:
    def __init__(self, who=None):
        self.who = who

    async def __call__(self, call):
        call.respond(True)

    async def answer(self, call):
        call.respond(True)

    @classmethod
    async def of_the_class(cls, call):
        call.respond(True)

    @staticmethod
    async def static(call):
        call.respond(True)


class Declaring(Bot):
    def declared(self):
        return self.who and ["Bot", self.who]


class Colleague(NotebookPerson):
    pass


def test_a_function_is_its_module_and_its_name():
    assert declared(boss) == ["function", __name__, "boss"]
    assert declared(boss) != declared(other)
    assert declared(Bot.static) == ["function", __name__, "Bot.static"]


def test_what_a_name_does_not_tell_is_nobody_to_be_found_again():
    async def local(call):
        call.respond(True)

    nobody = [
        lambda call: None,
        local,
        renamed,
        decorated(boss),
        logged,
        functools.partial(boss),
        functools.partial(local),
        Bot(),
        Bot("ada"),
        Bot,
        Declaring,
        Bot().answer,
        Bot.of_the_class,
        Declaring(),
        len,
        None,
    ]
    assert [declared(person) for person in nobody] == [None] * len(nobody)


def test_an_object_says_itself_who_it_is_and_its_method_is_another():
    assert declared(Declaring("ada")) == ["Bot", "ada"]
    assert declared(Declaring("ada").answer) == ["method", ["Bot", "ada"], "answer"]


def test_a_person_is_a_kind_and_a_name_and_a_subclass_is_somebody_else():
    assert declared(NotebookPerson("Ada")) == ["NotebookPerson", "Ada"]
    assert declared(NotebookPerson("Ada", handshake=3)) == declared(NotebookPerson("Ada"))
    assert declared(Colleague("Ada")) == [f"{__name__}.Colleague", "Ada"]

    class Local(NotebookPerson):
        pass

    assert declared(Local("Ada")) is None


def test_people_are_found_again_all_or_none():
    assert declared_all([NotebookPerson("Ada"), boss]) == [declared(NotebookPerson("Ada")), declared(boss)]
    assert declared_all([NotebookPerson("Ada"), lambda call: None]) is None
    assert declared_all([]) == []


# -- scripts ----------------------------------------------------------------------------------------------------

PLAIN = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists)


@given(st.lists(PLAIN), st.lists(PLAIN), st.text(), st.text())
def test_a_script_is_its_name_and_its_answers(answers, others, name, another):
    first = declared(ScriptedPerson(answers, name=name))
    assert first == declared(ScriptedPerson(list(answers), name=name))
    equal = (name, repr(answers)) == (another, repr(others))
    assert (first == declared(ScriptedPerson(others, name=another))) == equal


async def test_a_script_stays_who_it_is_while_it_answers():
    person = ScriptedPerson([True, False])
    before = declared(person)
    await approve("Delete?", people=person)
    assert declared(person) == before


def test_answers_for_a_tool_are_no_answers_in_turn():
    assert declared(ScriptedPerson({"": [1]})) != declared(ScriptedPerson([1]))
    assert declared(ScriptedPerson({"a": [1]})) != declared(ScriptedPerson({"b": [1]}))


@pytest.mark.parametrize("answer", [lambda call: True, SecretStr("x"), object()])
def test_answers_without_content_and_secrets_are_not_found_again(answer):
    assert declared(ScriptedPerson([True, answer])) is None


def test_a_script_from_a_file_is_the_file(tmp_path):
    file, copy = tmp_path / "answers.py", tmp_path / "copy.py"
    for path in (file, copy):
        path.write_text("answers = [lambda call: True]")
    first = declared(ScriptedPerson.from_file(file))
    assert first[:2] == ["ScriptedPerson", "scripted person"]
    assert first == declared(ScriptedPerson.from_variable(f"script:{copy}"))
    file.write_text("answers = [lambda call: False]")
    assert first != declared(ScriptedPerson.from_file(file))


async def test_a_recorded_session_is_its_content_and_recording_looks_through(tmp_path):
    def people_now():
        return declared_all(people_of([boss]))

    for name, question in {"a": "Delete?", "b": "Delete?", "c": "Drop?"}.items():
        with record(tmp_path / f"{name}.json"):
            assert declared_all(people_of([NotebookPerson("Ada")])) == [["NotebookPerson", "Ada"]]
            assert people_now() == [declared(boss)], "a witness is whoever it looks on at"
            await approve(question, people=boss)
    found = {}
    for name, question in {"a": "Delete?", "b": "Delete?", "c": "Drop?"}.items():
        with replay(tmp_path / f"{name}.json"):
            found[name] = people_now()
            await approve(question)
    assert found["a"] == found["b"] != found["c"]
    assert found["a"][0][0] == "ReplayedPerson"


def test_the_next_kernel_finds_the_same():
    code = (
        "from hitl_nb.people import ScriptedPerson, declared\n"
        "from tests.unit.test_declared import boss\n"
        "print(declared(boss), declared(ScriptedPerson([{'a': {1, 2, 3}, 'b': 'x'}])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPO, timeout=60)
    assert done.stdout.strip() == f"{declared(boss)} {declared(ScriptedPerson([{'a': {1, 2, 3}, 'b': 'x'}]))}"
