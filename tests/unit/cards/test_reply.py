"""Buttons that answer at once, or words: what a click means, and what the record says."""

from functools import partial

import pytest

from hitl_nb import interrupt
from hitl_nb.cards._registry import card_of
from hitl_nb.cards.words import QuickReply
from hitl_nb.errors import InvalidValue


async def answered(sent, **options):
    """Ask, send this as the browser does, and give the answer and the card."""
    calls = []

    async def person(call):
        calls.append(call)
        card_of(call).decide(sent)

    render = partial(QuickReply, choices={"Accept": True, "Reject": "no"}, **options)
    answer = await interrupt("Good?", {"result": "A draft."}, render=render, people=person)
    return answer, card_of(calls[0])


async def test_a_button_answers_with_what_it_stands_for():
    answer, card = await answered({"choice": 0})
    assert answer is True
    assert card.headline() == "Answered: Accept"
    assert [row.text for row in card.rows()] == ["A draft."]


async def test_words_are_the_answer_as_they_were_typed():
    answer, card = await answered({"text": " Shorter,\nplease "})
    assert answer == " Shorter,\nplease "
    assert card.headline() == "Answered in words"
    assert [(row.label, row.text) for row in card.rows()] == [("result", "A draft."), ("answer", " Shorter,\nplease ")]


@pytest.mark.parametrize(
    "sent",
    [None, {}, {"text": " "}, {"choice": 2}, {"choice": -1}, {"choice": True}, {"choice": "0", "text": "yes"}],
)
async def test_what_is_no_answer_is_refused(sent):
    with pytest.raises(InvalidValue, match="Press a button or write something"):
        await answered(sent)
