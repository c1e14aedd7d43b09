"""A change hunk by hunk: what is taken is exactly that, whatever the lines are made of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hitl_nb import human_in_the_loop, review_code
from hitl_nb._waiting import until_decided
from hitl_nb.data import DiffReview
from hitl_nb.data.diff_review import blocks_of
from hitl_nb.errors import Declined, InvalidValue, UsageError
from hitl_nb.people import ScriptedPerson
from tests.unit.cards.desk import ask, record
from tests.unit.data.test_exact import examples
from tests.unit.test_shorthands import at_the_desk

OLD = "import os\n\n\ndef f(a):\n    return a\n\n\nprint(f(1))\n"
NEW = "import sys\n\n\ndef f(a, b=2):\n    return a\n\n\nprint(f(1))\nprint(f(2))"

lines = st.lists(st.sampled_from(["a", "b", "", "x\r", "\u2028", "\x0c", "\u202e", "\ud800", " a"]), max_size=12)
texts = st.tuples(lines, st.booleans()).map(lambda pair: "\n".join(pair[0]) + ("\n" if pair[1] else ""))


async def waits(call):
    await until_decided(call)


@pytest.mark.timeout(1800)
@examples(300, 3000)
@given(texts, texts)
def test_all_taken_is_the_one_text_and_none_taken_the_other(before, after):
    blocks = blocks_of(before, after)
    assert "".join(line for block in blocks for line in block.before) == before
    assert "".join(line for block in blocks for line in block.after) == after


def test_thousands_of_equal_lines_are_compared_in_no_time():
    blocks = blocks_of("x\n" * 3_000 + "y\n" + "x\n" * 3_000, "y\n" * 20 + "x\n" * 6_000 + "z\n")
    assert "".join(line for block in blocks for line in block.after).endswith("x\nz\n")


def choices(*each):
    return lambda desk: desk.send({"choices": list(each)})


@pytest.mark.parametrize(
    ("chosen", "source"),
    [
        ((True, True, True), NEW),
        ((False, False, False), OLD),
        ((False, True, False), OLD.replace("f(a)", "f(a, b=2)", 1)),
        ((True, "def f(*a):", False), OLD.replace("os", "sys").replace("def f(a)", "def f(*a)")),
        (("", True, True), NEW.removeprefix("import sys\n")),
    ],
)
async def test_each_hunk_is_taken_left_or_edited(chosen, source):
    question = review_code(NEW, before=OLD, people=waits)
    assert await at_the_desk(question, choices(*chosen)) == source


async def test_taken_as_it_is_it_is_the_text_itself():
    assert await review_code(NEW, before=OLD, people=ScriptedPerson([lambda call: call.proposal])) is NEW


@pytest.mark.parametrize("wrong", [[True], [True] * 4, [True, 1, None], "all"])
async def test_what_is_no_choice_for_each_change_is_refused(wrong):
    def act(desk):
        with pytest.raises(InvalidValue):
            desk.send({"choices": wrong})
        desk.call.decline()

    with pytest.raises(Declined):
        await at_the_desk(review_code(NEW, before=OLD, people=waits), act)


async def test_the_record_is_the_diff_of_what_was_approved():
    person = ScriptedPerson([NEW.replace("sys", "json")], name="ada")
    await review_code(NEW, "Change it?", before=OLD, people=person)
    text = record(person.asked[0])
    assert text.startswith("✎ Approved with changes\n    • Change it?\n    • change:\n      │ @@ -1,8 +1,9 @@\n")
    assert "│ +import json" in text
    assert "sys" not in text


async def test_colours_lose_nothing_and_hidden_characters_are_written_out():
    seen = {}

    def act(desk):
        seen.update(desk.item)
        desk.send({"choices": [True]})

    await at_the_desk(review_code("x = 'a\u202eb'\r\n", people=waits), act)
    (block,) = seen["props"]["blocks"]
    assert "".join(text for _, text in block["new"][0]) == "x = 'a\\u202eb'\\u000d"
    assert "invisible" in seen["warning"]
    assert block["text"] is None  # a box would lose them


async def test_a_tool_gets_its_arguments_back_with_the_text_that_was_made():
    @human_in_the_loop(render=DiffReview)
    def write_file(path: str, before: str, after: str) -> None:
        """Write a file."""

    call, _ = await ask(write_file, choices(False), path="a.py", before="a\n", after="b\n")
    assert (call.answer.after, call.answer.path, call.outcome) == ("a\n", "a.py", "edited")
    call, _ = await ask(write_file, choices(True), path="a.py", before="a\n", after="b\n")
    assert call.outcome == "answered"


def test_what_is_no_text_is_told_at_once():
    with pytest.raises(UsageError, match="two texts"):
        review_code(b"x")  # type: ignore[call-overload]
