"""One key decides, where the caller allows it: which keys count, which never do, and what the mouse does instead."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.items import call, record
from tests.browser.small_states import approval, choice, quick


def number(cards, which):
    return cards.card_named(f"Number {which}")


async def test_the_key_on_the_button_approves_or_declines(cards):
    await cards.put(*(approval(f"c{at}", keys=True, title=f"Number {at}", head=[f"Number {at}"]) for at in range(3)))
    await expect(number(cards, 0).get_by_role("button", name="Approve", exact=True)).to_have_attribute(
        "aria-keyshortcuts", "Y"
    )
    await number(cards, 0).get_by_role("button", name="Approve").focus()
    for key in "ynY":
        await cards.page.keyboard.press(key)
        await cards.settled()
    assert [(each["call_id"], each["op"]) for each in await cards.answers()] == [
        ("call_c0", "respond"),
        ("call_c1", "decline"),
        ("call_c2", "respond"),
    ]


async def test_a_digit_sends_a_choice_and_a_click_does_too(cards):
    await cards.put(*(choice("red", "green", keys=True, key=f"c{at}", title=f"Number {at}") for at in range(3)))
    await number(cards, 0).focus()
    await cards.page.keyboard.press("2")
    await cards.settled()
    await expect(number(cards, 1)).to_be_focused()  # a stray Enter there decides nothing
    await cards.page.keyboard.press("Enter")
    await cards.page.keyboard.press("3")
    await cards.page.keyboard.press("1")
    await cards.settled()
    await number(cards, 2).get_by_role("button", name="green", exact=True).click()
    assert [each["value"]["chosen"] for each in await cards.answers()] == [[1], [0], [1]]
    assert await number(cards, 2).get_by_role("button", name="Confirm").count() == 0


async def test_the_tenth_option_has_a_letter_and_what_is_filtered_away_has_no_key(cards):
    await cards.put(choice(*(f"Option {at}" for at in range(12)), keys=True))
    await cards.page.get_by_role("searchbox").fill("11")
    await cards.card_named("Pick seat").focus()
    await cards.page.keyboard.press("a")
    assert await cards.answers() == []
    await cards.page.keyboard.press("c")
    await cards.page.keyboard.press("b")
    assert [each["value"]["chosen"] for each in await cards.answers()] == [[11]]


async def test_no_key_decides_while_somebody_types(cards):
    await cards.put(quick("Accept", "Later", keys=True))
    box = cards.page.get_by_role("textbox")
    await box.click()
    await cards.page.keyboard.type("1 or 2?")
    assert await cards.answers() == []
    await expect(box).to_have_value("1 or 2?")
    await cards.button("Later").focus()
    await cards.page.keyboard.press("1")
    assert [each["value"] for each in await cards.answers()] == [{"choice": 0}]


@pytest.mark.parametrize("held", ["Control+y", "Alt+y", "Meta+y"])
async def test_a_key_with_another_one_is_no_answer(cards, held):
    await cards.put(approval(keys=True))
    await cards.button("Approve").focus()
    await cards.page.keyboard.press(held)
    assert await cards.sent("respond") == []


async def test_a_key_that_is_held_down_answers_one_question(cards):
    await cards.put(*(approval(f"c{at}", keys=True, title=f"Number {at}") for at in range(3)))
    await cards.page.get_by_role("button", name="Approve").first.focus()
    await cards.page.keyboard.down("y")
    for _ in range(4):
        await cards.settled()
        await cards.page.keyboard.down("y")
    await cards.page.keyboard.up("y")
    assert len(await cards.answers()) == 1


async def test_a_key_right_after_the_card_was_drawn_answers_nothing(cards):
    await cards.page.evaluate("(item) => run.kernel.put(item)", approval(keys=True))
    await cards.run("document.querySelector('.hitl-card').focus()")
    await cards.page.keyboard.press("y")
    assert await cards.sent("respond") == []
    await cards.settled()
    await cards.page.keyboard.press("y")
    assert len(await cards.answers()) == 1


async def test_a_card_of_high_risk_has_no_key_whatever_the_kernel_says(cards):
    await cards.put(approval(keys=True, risk="high"))
    await cards.button("Approve").focus()
    await cards.page.keyboard.press("y")
    await cards.page.keyboard.press("n")
    assert await cards.sent("respond") + await cards.sent("decline") == []


@pytest.mark.parametrize("state", ["decided", "writing", "turn"])
async def test_a_question_that_is_not_open_takes_no_key(cards, state):
    changes: dict[str, dict[str, Any]] = {
        "decided": {"status": "complete", "record": record("declined", "Declined")},
        "writing": {"status": "inProgress"},
        "turn": {"turn": {"token": "t", "open": False, "several": False, "words": "Ada is asked first"}},
    }
    await cards.put(call("c0", title="Number 0"), approval(keys=True, **changes[state]))
    await cards.run("document.querySelectorAll('.hitl-card')[1].focus()")
    await cards.page.keyboard.press("y")
    assert await cards.sent("respond") == []
