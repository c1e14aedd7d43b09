"""One decision after the other: where the focus goes, which keys and clicks count, how far one has come."""

import pytest
from playwright.async_api import expect

from tests.browser.items import call, message, record
from tests.browser.small_states import approval


async def three(cards):
    await cards.put(*(call(f"c{number}", title=f"Number {number}") for number in range(3)))


def number(cards, which):
    return cards.card_named(f"Number {which}")


async def test_three_questions_take_three_keys(cards):
    await three(cards)
    await number(cards, 0).get_by_role("button", name="Confirm").focus()
    for _ in range(3):
        await cards.page.keyboard.press("Enter")
        await cards.settled()
    assert [answer["call_id"] for answer in await cards.answers()] == ["call_c0", "call_c1", "call_c2"]
    await expect(number(cards, 2)).to_be_focused()


async def test_the_next_question_gets_the_focus_when_it_comes_later_too(cards):
    await cards.put(call("c0", title="Number 0"))
    await number(cards, 0).get_by_role("button", name="Confirm").focus()
    await cards.page.keyboard.press("Enter")
    await expect(number(cards, 0)).to_be_focused()
    await cards.put(call("c1", title="Number 1"))
    await expect(number(cards, 1).get_by_role("button", name="Confirm")).to_be_focused()


async def test_the_focus_is_taken_out_of_no_editor(cards):
    await three(cards)
    await cards.run(
        "(() => { const box = document.createElement('textarea'); document.body.append(box); box.focus() })()"
    )
    await cards.put(call("c0", title="Number 0", status="complete", record=record("answered", "Confirmed")))
    assert await cards.run("document.activeElement.tagName") == "TEXTAREA"
    await cards.run("document.querySelector('body > textarea').remove()")


async def test_a_key_that_is_held_down_decides_once(cards):
    await three(cards)
    await number(cards, 0).get_by_role("button", name="Confirm").focus()
    await cards.page.keyboard.down("Enter")
    for _ in range(3):
        await cards.settled()
        await cards.page.keyboard.down("Enter")  # again, while it is down: a repeat
    await cards.page.keyboard.up("Enter")
    assert len(await cards.answers()) == 1


async def test_a_click_or_key_right_after_a_card_was_drawn_decides_nothing(cards):
    await cards.page.evaluate("(item) => run.kernel.put(item)", call("c0", title="Number 0"))
    await cards.run("document.querySelector('.hitl-primary').click()")
    await cards.run("document.querySelector('.hitl-primary').focus()")
    await cards.page.keyboard.press("Enter")
    assert await cards.sent("respond") == []
    await cards.settled()
    await cards.page.keyboard.press("Enter")
    assert len(await cards.answers()) == 1


async def test_a_card_that_has_moved_rests_too(cards):
    await three(cards)
    first = call("c0", title="Number 0", status="complete", record=record("answered", "Confirmed", footer="x\n" * 40))
    await cards.page.evaluate("(item) => run.kernel.put(item)", first)
    await cards.run("document.querySelectorAll('.hitl-primary')[0].click()")
    assert await cards.sent("respond") == []


async def test_control_and_enter_confirm_from_anywhere_and_escape_leaves(cards):
    await three(cards)
    await number(cards, 1).focus()
    await cards.page.keyboard.press("Escape")
    assert await cards.run("document.activeElement === document.body")
    await number(cards, 1).focus()
    await cards.page.keyboard.press("Control+Enter")
    assert [answer["call_id"] for answer in await cards.answers()] == ["call_c1"]


async def test_what_was_decided_folds_and_can_be_unfolded(cards):
    done = [
        call(f"c{at}", title=f"Number {at}", status="complete", record=record("answered", "Confirmed"))
        for at in range(5)
    ]
    await cards.put(*done, call("c5", title="Number 5"), call("c6", title="Number 6"))
    await expect(cards.text("2 waiting · 5 decided")).to_be_visible()
    await expect(cards.page.get_by_role("group", name="Number")).to_have_count(4)
    await cards.button("Show all that was decided").click()
    await expect(cards.page.get_by_role("group", name="Number")).to_have_count(7)


async def test_between_messages_nothing_folds(cards):
    done = [
        call(f"c{at}", title=f"Number {at}", status="complete", record=record("answered", "Confirmed"))
        for at in range(5)
    ]
    await cards.put(message("m", "Hello"), *done)
    await expect(cards.page.get_by_role("group", name="Number")).to_have_count(5)


# -- what is of high risk takes no stray key ----------------------------------------------------------------------


@pytest.mark.parametrize("key", ["Enter", "Space", "y", "1", "n"])
@pytest.mark.parametrize("before", ["Enter", "click", "Control+Enter"])
async def test_after_an_answer_no_stray_key_decides_on_a_card_of_high_risk(cards, key, before):
    await cards.put(
        approval("c0", title="Number 0", keys=True),
        approval("c1", title="Number 1", keys=True, risk="high"),
    )
    button = number(cards, 0).get_by_role("button", name="Approve")
    await button.focus()
    if before == "click":
        await button.click()
    else:
        await cards.page.keyboard.press(before)
    await expect(number(cards, 1)).to_be_focused()  # the card, and neither of its buttons
    await cards.settled()
    await cards.page.keyboard.press(key)
    assert [each["call_id"] for each in await cards.answers()] == ["call_c0"]
    await cards.page.keyboard.press("Tab")
    await cards.page.keyboard.press("Enter")
    assert len(await cards.answers()) == 2  # whoever goes there means it


async def test_a_card_of_high_risk_that_comes_later_or_was_taken_back_has_its_focus_on_no_button(cards):
    await cards.put(approval("c0", title="Number 0"))
    await number(cards, 0).get_by_role("button", name="Approve").focus()
    await cards.page.keyboard.press("Enter")
    await cards.put(approval("c1", title="Number 1", risk="high", reason="optional"))
    await expect(number(cards, 1)).to_be_focused()
    await cards.page.evaluate("run.kernel.hold = { words: 'Approved', until: Date.now() + 9_000 }")
    await number(cards, 1).get_by_role("button", name="Approve").click()
    await cards.page.keyboard.press("Control+z")
    await expect(number(cards, 1)).to_be_focused()
    await cards.settled()
    await cards.page.keyboard.press("Enter")
    assert [each["call_id"] for each in await cards.answers()] == ["call_c0"]
