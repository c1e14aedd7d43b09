"""The card with buttons that answer at once, and a box for words."""

import pytest
from playwright.async_api import expect

from tests.browser.items import Item, arg, call

BOX = "Or in your own words"


def reply(*choices: str, **changes: Item) -> Item:
    rows = [arg("output", "A draft.")]
    props = {"rows": rows, "choices": list(choices or ("approved", "rejected")), "label": BOX}
    return call(card="reply", confirm="Send", props=props, **changes)


async def test_a_button_is_the_answer(cards):
    await cards.put(reply())
    await expect(cards.text("A draft.")).to_be_visible()
    await cards.button("rejected").click()
    assert await cards.answers() == [{"op": "respond", "call_id": "call_c1", "value": {"choice": 1}}]


async def test_words_are_the_answer(cards):
    await cards.put(reply())
    await cards.page.get_by_label(BOX).fill("Almost.\nAdd a title.")
    await cards.button("Send").click()
    assert (await cards.answers())[0]["value"] == {"text": "Almost.\nAdd a title."}


async def test_words_are_sent_by_the_keyboard(cards):
    await cards.put(reply())
    await cards.page.get_by_label(BOX).fill("Almost.")
    await cards.page.keyboard.press("Control+Enter")
    assert (await cards.answers())[0]["value"] == {"text": "Almost."}


async def test_an_empty_box_sends_nothing_and_says_so(cards):
    await cards.put(reply())
    await cards.button("Send").click()
    await expect(cards.alert).to_have_text("Nothing is written yet.")
    assert await cards.answers() == []
    await cards.button("approved").click()
    assert (await cards.answers())[0]["value"] == {"choice": 0}


async def test_a_button_that_was_refused_does_not_answer_for_the_words_that_follow(cards):
    await cards.put(reply())
    await cards.run("run.kernel.refuse.call_c1 = 'Not now.'")
    await cards.button("approved").click()
    await expect(cards.alert).to_have_text("Not now.")
    await cards.page.get_by_label(BOX).fill("Rather not.")
    await cards.button("Send").click()
    assert [answer["value"] for answer in await cards.answers()] == [{"text": "Rather not."}]


@pytest.mark.parametrize("status", ["inProgress"])
async def test_nothing_can_be_pressed_before_the_question_is_open(cards, status):
    await cards.put(reply(status=status))
    await expect(cards.button("approved")).to_be_disabled()


async def test_text_of_a_model_on_a_button_is_text(cards):
    await cards.put(reply("<img src=x onerror=alert(1)>"))
    await expect(cards.button("<img src=x onerror=alert(1)>")).to_be_visible()
