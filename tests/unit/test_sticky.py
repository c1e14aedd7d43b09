"""A decision with a key sticks: the same question about the same input is not asked twice."""

from typing import Any

import pandas
import pytest

from hitl_nb import Journal, approve, choose, interrupt, review, use
from hitl_nb.errors import Declined, UsageError
from hitl_nb.people import Policy, ScriptedPerson, deny


@pytest.fixture(autouse=True)
def journal(tmp_path):
    """A journal of this test's own; `Journal(path)` again is the next kernel."""
    with use(journal=tmp_path / "journal.sqlite"):
        yield tmp_path / "journal.sqlite"


async def test_the_second_time_nobody_is_asked_and_the_record_says_so():
    person = ScriptedPerson([True])
    for _ in range(2):
        assert await approve("Delete?", {"rows": 12}, key="delete", people=person) is True
    assert len(person.asked) == 1


async def test_changed_input_words_or_type_ask_again():
    person = ScriptedPerson([True] * 4)
    await approve("Delete?", {"rows": 12}, key="delete", people=person)
    await approve("Delete?", {"rows": 13}, key="delete", people=person)
    await approve("Really delete?", {"rows": 12}, key="delete", people=person)
    await approve("Delete?", {"rows": 12}, key="other", people=person)
    assert len(person.asked) == 4


class Mind:
    """What somebody thinks now."""

    says: Any = None
    asked = 0


async def ada(call):
    Mind.asked += 1
    Mind.says(call)


@pytest.fixture(autouse=True)
def open_minded():
    Mind.says, Mind.asked = lambda call: call.respond(True), 0


async def test_again_asks_again_and_the_new_decision_sticks():
    await approve("Delete?", key="delete", people=ada)
    Mind.says = lambda call: call.decline("not any more")
    assert await approve("Delete?", key="delete", people=ada) is True
    assert await approve("Delete?", key="delete", refresh=True, people=ada) is False
    assert await approve("Delete?", key="delete", people=ada) is False
    assert Mind.asked == 2


async def test_a_no_sticks_too_but_an_expired_question_does_not():
    Mind.says = lambda call: call.decline("too much")
    for _ in range(2):
        with pytest.raises(Declined, match="too much"):
            await interrupt("Spend?", key="spend", people=ada)
    assert Mind.asked == 1

    async def sleeps(call):
        import asyncio

        await asyncio.Event().wait()

    assert await approve("Later?", key="later", people=sleeps, timeout=0.01) is False
    assert await approve("Later?", key="later", people=ScriptedPerson([True])) is True


async def test_who_is_asked_when_time_is_up_is_part_of_the_question():
    await approve("Delete?", key="delete", people=ada)
    for _ in range(2):
        boss = ScriptedPerson([True])
        await approve("Delete?", key="delete", people=ada, timeout=5, escalate_to=boss)
    assert Mind.asked == 2  # once without a boss, and once with


async def test_what_the_rule_forbids_that_comes_last_is_not_recalled():
    await approve("Delete?", key="delete", people=ada, timeout=5, escalate_to=Policy())
    await approve("Delete?", key="delete", people=ada, timeout=5, escalate_to=Policy(deny("approve")))
    assert Mind.asked == 2


async def test_without_a_key_every_question_is_asked():
    person = ScriptedPerson([True, True])
    for _ in range(2):
        await approve("Delete?", people=person)
    assert len(person.asked) == 2


async def test_a_table_is_compared_by_content():
    frame = pandas.DataFrame({"a": [1, 2]})
    person = ScriptedPerson([True, True])
    await approve("Use it?", frame, key="frame", people=person)
    await approve("Use it?", frame.copy(), key="frame", people=person)
    frame.loc[0, "a"] = 3
    await approve("Use it?", frame, key="frame", people=person)
    assert len(person.asked) == 2


async def test_typed_answers_come_back_typed():
    rows = [{"id": 1, "keep": True}]
    edited = [{"id": 1, "keep": False}]
    Mind.says = lambda call: call.respond(edited)
    for _ in range(2):
        assert await review(rows, "Right?", key="rows", people=ada) == edited
    Mind.says = lambda call: call.respond("b")
    for _ in range(2):
        assert await choose("Which?", ["a", "b"], key="which", people=ada) == "b"
    assert Mind.asked == 2


async def test_every_question_of_the_code_is_in_the_journal(journal):
    await approve("Delete?", {"rows": 1}, people=ScriptedPerson([True]))
    await approve("Delete?", {"rows": 1}, people=ScriptedPerson([lambda call: call.decline("no")]))
    frame = Journal(journal).to_frame()
    assert list(frame["outcome"]) == ["answered", "declined"]


async def test_a_key_without_a_journal_says_the_line_to_write():
    with use(journal="off"), pytest.raises(UsageError, match="journal="):
        await approve("Delete?", key="delete", people=ScriptedPerson([True]))
