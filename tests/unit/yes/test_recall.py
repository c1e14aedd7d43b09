"""What answers in a person's place matches the whole question, and who had to answer it."""

import sqlite3
from contextlib import closing
from typing import Any

import pandas
import pytest
from pydantic import BaseModel, SecretStr

import hitl_nb
from hitl_nb import Journal, Session, approve, choose, human_in_the_loop, interrupt
from hitl_nb.errors import ChangedWhileWaiting, Declined
from hitl_nb.people import AllOf, Person, Policy, Remember, ScriptedPerson, allow, deny
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.yes.desk import Stops

asked: list[str] = []


async def ada(call):
    """Somebody at a card, as far as a journal can tell."""
    asked.append(call.message)
    call.respond(True, by="Ada", via="card")


async def bob(call):
    asked.append(call.message)
    call.respond(True, by="Bob", via="card")


@pytest.fixture(autouse=True)
def nobody_was_asked():
    asked.clear()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "journal.sqlite"
    with hitl_nb.use(journal=path):
        yield path


async def test_run_all_by_the_same_person_does_not_ask_again(path):
    for _ in range(3):
        assert await approve("Drop?", {"rows": 3}, key="drop", people=ada) is True
    assert len(asked) == 1


async def test_a_card_then_ci_asks_ci(path):
    await approve("Drop?", key="drop", people=ada)
    ci = ScriptedPerson([lambda call: call.decline("not in CI")])
    assert await approve("Drop?", key="drop", people=ci) is False
    plain = ScriptedPerson([True])
    await approve("Drop?", key="drop", people=plain)
    assert len(plain.asked) == 1


async def test_ci_then_a_card_asks_the_person(path):
    assert await approve("Drop?", key="drop", people=ScriptedPerson([True])) is True
    await approve("Drop?", key="drop", people=ada)
    assert len(asked) == 1


async def test_ci_twice_with_the_same_script_is_one_decision_and_with_another_script_two(path):
    first, same, other = ScriptedPerson([True]), ScriptedPerson([True]), ScriptedPerson([False])
    assert await approve("Drop?", key="drop", people=first) is True
    assert await approve("Drop?", key="drop", people=same) is True
    assert await approve("Drop?", key="drop", people=other) is False
    assert [len(person.asked) for person in (first, same, other)] == [1, 0, 1]


@pytest.mark.parametrize(
    "changed",
    [
        {"message": "Really drop?"},
        {"payload": {"rows": 4}},
        {"payload": {"rows": 3.0}},
        {"payload": {"rows": "3"}},
        {"people": bob},
        {"people": [ada, bob]},
        {"people": AllOf(ada, bob)},
        {"people": lambda call: ada(call)},
        {"kind": "feedback"},
        {"key": "other"},
    ],
)
async def test_whatever_differs_in_the_question_or_in_who_had_to_answer_asks_again(path, changed):
    base: dict[str, Any] = {"message": "Drop?", "payload": {"rows": 3}, "people": ada, "key": "drop"}
    await approve(**base)
    count = len(asked)
    await approve(**{**base, **changed})
    assert len(asked) > count


async def test_one_yes_is_not_the_yes_of_two(path):
    await approve("Drop?", key="drop", people=ada)
    await approve("Drop?", key="drop", people=AllOf(ada, bob))
    assert len(asked) == 3
    await approve("Drop?", key="drop", people=AllOf(ada, bob))
    assert len(asked) == 3


async def test_a_lambda_is_asked_each_time(path):
    said = []

    async def local(call):
        said.append(call)
        call.respond(True)

    for _ in range(2):
        await approve("Drop?", key="drop", people=local)
    assert len(said) == 2


async def test_other_options_or_another_type_ask_again(path):
    first = await choose("Which?", ["a", "b"], key="which", people=picks)
    assert await choose("Which?", ["a", "b"], key="which", people=picks) == first
    before = len(asked)
    await choose("Which?", ["a", "b", "c"], key="which", people=picks)
    await choose("Which?", ["a", 1], key="which", people=picks)
    assert len(asked) == before + 2


async def picks(call):
    asked.append(call.message)
    call.respond("a", by="Ada", via="card")


async def test_a_cell_of_a_frame_and_a_secret_ask_again(path):
    frame = pandas.DataFrame({"a": range(1000)})
    await approve("Use?", frame, key="frame", people=ada)
    await approve("Use?", frame.copy(), key="frame", people=ada)
    frame.loc[500, "a"] = -1
    await approve("Use?", frame, key="frame", people=ada)
    assert len(asked) == 2
    for secret in ("one", "two", "two"):
        await approve("Login?", {"password": SecretStr(secret)}, key="login", people=ada)
    assert len(asked) == 5  # a secret is compared with nothing that left the process: asked each time


async def test_a_rule_neither_takes_nor_leaves_a_persons_decision(path):
    people: list[Person] = [Policy(allow("approve", kind="interrupt", answer=yes)), ada]
    assert await approve("Drop?", key="drop", people=people) is True
    assert asked == []
    assert [event["event"] for event in Journal(path)].count("remembered") == 0


def yes(args):
    return True


async def test_a_rule_that_forbids_comes_before_what_was_remembered(path):
    people: list[Person] = [ada, Policy(deny("approve"))]
    await approve("Drop?", key="drop", people=ada)
    assert await approve("Drop?", key="drop", people=people) is False


async def test_another_notebook_and_another_user_are_asked(path, monkeypatch):
    await approve("Drop?", key="drop", people=ada)
    monkeypatch.setattr("hitl_nb.interrupts._sticky.notebook_name", lambda: "another.ipynb")
    await approve("Drop?", key="drop", people=ada)
    assert len(asked) == 2
    monkeypatch.setattr("hitl_nb.journal.Journal.who", lambda self: "somebody else")
    await approve("Drop?", key="drop", people=ada)
    assert len(asked) == 3


async def test_a_row_that_was_edited_by_hand_is_not_believed(path):
    with pytest.raises(Declined):
        await interrupt("Spend?", {"euros": 3}, key="spend", people=says_no)
    Journal(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER no_update")
        connection.execute("UPDATE events SET outcome = 'answered', answer = '{\"euros\":3}' WHERE event = 'answered'")
        connection.commit()
    assert not Journal(path).verify().ok
    with pytest.raises(Declined):
        await interrupt("Spend?", {"euros": 3}, key="spend", people=says_no)
    assert len(asked) == 2


async def says_no(call):
    asked.append(call.message)
    call.decline("too much", by="Ada", via="card")


# -- the memory of a process ------------------------------------------------------------------------------------


class Rows(BaseModel):
    """Touch rows."""

    rows: list[int]


async def asked_by(person, message, rows=(1,), answer=bool):
    agent = ScriptedAgent([calls("touch", rows=list(rows)), says("ok")])
    made = human_in_the_loop(Rows, name="touch", description=message, answer=answer)
    return (await Session(agent, tools=[made], people=[person], journal=None).run("go")).calls[0]


async def test_a_remembered_yes_is_for_the_same_words():
    person = Remember(ada)
    await asked_by(person, "Back up these rows?")
    await asked_by(person, "Back up these rows?")
    assert len(asked) == 1
    await asked_by(person, "DELETE these rows?")
    assert len(asked) == 2
    await asked_by(person, "Back up these rows?", rows=[1, 2])
    await asked_by(person, "Back up these rows?", answer=bool | str)
    assert len(asked) == 4


async def test_a_remembered_yes_to_a_tool_does_not_answer_an_interrupt_that_is_called_so():
    person = Remember(ada)
    agent = Stops(["approval"], ["approval"])
    reply = await Session(agent, people=[person], journal=None).run("go")
    assert len(reply.calls) == 2
    assert len(asked) == 2  # without arguments nothing is remembered at all


async def test_a_memory_does_not_hold_what_came_to_nothing_since_code_had_changed_it():
    asked = []

    async def ada(call):
        asked.append(call)
        call.respond(call.args)
        if len(asked) == 1:
            call.args["rows"].append(99)

    people = Remember(ada)
    with pytest.raises(ChangedWhileWaiting, match="Nothing was approved"):
        await interrupt("Back up?", {"rows": [1, 2]}, people=people)
    assert await interrupt("Back up?", {"rows": [1, 2]}, people=people) == {"rows": [1, 2]}
    assert len(asked) == 2


async def test_a_memory_holds_what_was_said_and_not_what_its_object_has_become():
    asked = []

    async def ada(call):
        asked.append(call)
        rows = [1, 2]
        call.respond({"rows": rows, "amount": 7})
        rows.append(99)

    people = Remember(ada)
    await interrupt("Back up?", {"rows": [1, 2], "amount": 100}, people=people)
    again = await interrupt("Back up?", {"rows": [1, 2], "amount": 100}, people=people)
    assert again == {"rows": [1, 2], "amount": 7}
    assert len(asked) == 1
