"""A person in front of a card: what they see, what they can do, and the one answer that leaves."""

import pytest
from playwright.async_api import expect

from tests.browser.items import STEPS, arg, call, record, review, row, step

ONE, TWO, THREE = STEPS


async def test_confirm_answers_with_the_choices(cards):
    await cards.put(review())
    await cards.box(THREE).uncheck()
    await cards.button("Confirm 2 of 3").click()
    assert await cards.answers() == [{"op": "respond", "call_id": "call_c1", "value": {"checked": [True, True, False]}}]


async def test_confirm_of_a_plain_card_answers_with_nothing_else(cards):
    await cards.put(call())
    await cards.button("Confirm").click()
    assert await cards.answers() == [{"op": "respond", "call_id": "call_c1", "value": {}}]


async def test_the_button_counts_along(cards):
    await cards.put(review())
    await cards.button("Select none").click()
    await expect(cards.button("Confirm 0 of 3")).to_be_enabled()
    await cards.box(TWO).check()
    await expect(cards.button("Confirm 1 of 3")).to_be_enabled()
    await cards.button("Select all").click()
    await cards.button("Confirm 3 of 3").click()
    assert (await cards.answers())[0]["value"] == {"checked": [True, True, True]}


async def test_nothing_chosen_is_an_answer_too(cards):
    await cards.put(review())
    await cards.button("Select none").click()
    await cards.button("Confirm 0 of 3").click()
    assert (await cards.answers())[0]["value"] == {"checked": [False, False, False]}


async def test_one_step_by_click_and_one_by_keyboard(cards):
    await cards.put(review())
    await cards.text(TWO).click()
    await cards.box(ONE).focus()
    await cards.page.keyboard.press("Space")
    await cards.button("Confirm 1 of 3").click()
    assert (await cards.answers())[0]["value"] == {"checked": [False, False, True]}


async def test_the_keyboard_alone_is_enough_to_confirm(cards):
    await cards.put(review())
    keys = cards.page.keyboard
    await cards.button("Select all").focus()
    for key in ("Tab", "Tab", "Space", "Tab", "Tab", "Tab"):
        await keys.press(key)
    await expect(cards.button("Confirm 2 of 3")).to_be_focused()
    await keys.press("Enter")
    assert (await cards.answers())[0]["value"] == {"checked": [False, True, True]}


async def test_the_keyboard_alone_is_enough_to_decline_with_a_reason(cards):
    await cards.put(review())
    keys = cards.page.keyboard
    await cards.button("Confirm 3 of 3").focus()
    await keys.press("Tab")
    await keys.press("Enter")
    await expect(cards.page.get_by_label("Reason (optional)")).to_be_focused()
    await keys.type("too dangerous")
    await keys.press("Enter")
    assert await cards.answers() == [{"op": "decline", "call_id": "call_c1", "reason": "too dangerous"}]


async def test_a_reason_is_optional(cards):
    await cards.put(call())
    await cards.button("Decline").click()
    await cards.button("Decline").click()
    assert await cards.answers() == [{"op": "decline", "call_id": "call_c1", "reason": ""}]


@pytest.mark.parametrize("way_back", ["Escape", "Back"])
async def test_declining_can_be_left_again(cards, way_back):
    await cards.put(review())
    await cards.button("Decline").click()
    if way_back == "Back":
        await cards.button("Back").click()
    else:
        await cards.page.keyboard.press("Escape")
    await expect(cards.button("Decline")).to_be_focused()
    await expect(cards.button("Confirm 3 of 3")).to_be_visible()
    assert await cards.answers() == []


async def test_enter_among_the_choices_confirms_nothing(cards):
    await cards.put(review())
    await cards.box(ONE).focus()
    await cards.page.keyboard.press("Enter")
    assert await cards.sent("respond") == []


async def test_nothing_can_be_answered_before_the_call_is_executing(cards):
    await cards.put(review(status="inProgress"))
    await expect(cards.status).to_have_text("The model is still writing…")
    await expect(cards.button("Confirm")).to_be_disabled()
    await expect(cards.button("Decline")).to_be_disabled()
    await expect(cards.box(ONE)).to_be_disabled()
    await cards.put(review(status="executing"))
    await expect(cards.status).to_have_text("Waiting for you")
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()
    await expect(cards.button("Decline")).to_be_enabled()
    await expect(cards.box(ONE)).to_be_enabled()


async def test_without_a_label_there_is_no_decline(cards):
    await cards.put(call(decline=None, confirm="Understood"))
    await expect(cards.button("Understood")).to_be_enabled()
    await expect(cards.button("Decline")).to_have_count(0)


async def test_a_double_click_sends_one_answer(cards):
    await cards.run("run.kernel.busy = true")
    await cards.put(review())
    await cards.button("Confirm 3 of 3").dblclick()
    await expect(cards.status).to_have_text("Sending…")
    assert len(await cards.sent("respond")) == 1


async def test_while_an_answer_travels_the_card_is_shut(cards):
    await cards.run("run.kernel.busy = true")
    await cards.put(review())
    await cards.button("Confirm 3 of 3").click()
    for control in (cards.button("Confirm 3 of 3"), cards.button("Decline"), cards.box(ONE)):
        await expect(control).to_be_disabled()
    await cards.button("Decline").click(force=True)
    assert await cards.sent("decline") == []


async def test_a_refused_answer_says_why_and_opens_the_card_again(cards):
    await cards.run("run.kernel.refuse.call_c1 = 'Step 3 is required.'")
    await cards.put(review())
    await cards.box(THREE).uncheck()
    await cards.button("Confirm 2 of 3").click()
    await expect(cards.alert).to_have_text("Step 3 is required.")
    await expect(cards.button("Confirm 2 of 3")).to_be_focused()
    await expect(cards.box(THREE)).not_to_be_checked()
    await cards.box(THREE).check()
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.text("Step 3 is required.")).to_have_count(0)
    assert [answer["value"]["checked"] for answer in await cards.answers()] == [[True, True, True]]


async def test_an_old_error_is_gone_while_the_next_answer_travels(cards):
    await cards.run("run.kernel.refuse.call_c1 = 'Step 3 is required.'")
    await cards.put(review())
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.alert).to_be_visible()
    await cards.put(review(error="Step 3 is required."))
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.alert).to_have_count(0)


async def test_a_refused_reason_is_still_there(cards):
    await cards.run("run.kernel.refuse.call_c1 = 'Say more.'")
    await cards.put(call())
    await cards.button("Decline").click()
    await cards.page.keyboard.type("no")
    await cards.page.keyboard.press("Enter")
    await expect(cards.alert).to_have_text("Say more.")
    await expect(cards.page.get_by_label("Reason (optional)")).to_have_value("no")


async def test_an_answer_given_elsewhere_is_never_sent_again(cards):
    await cards.put(review())
    done = review(status="complete", record=record("answered", "Confirmed 1 of 3 steps"))
    await cards.run("run.kernel.lose()")
    await cards.put(done)
    await cards.button("Confirm 3 of 3").click()
    await cards.wait(8_000)
    await expect(cards.text("Confirmed 1 of 3 steps")).to_be_visible()
    assert await cards.answers() == []
    assert len(await cards.sent("respond")) == 1


async def test_a_decision_becomes_a_record(cards):
    await cards.put(review())
    rows = [row(ONE, mark="on"), row(TWO, mark="off"), row("flat", label="tone")]
    await cards.put(review(status="complete", record=record("answered", "Confirmed 1 of 2", rows, "by ada")))
    await expect(cards.card.get_by_role("listitem")).to_have_text([f"✓chosen: {ONE}", f"–left out: {TWO}", "toneflat"])
    await expect(cards.text("Confirmed 1 of 2")).to_be_visible()
    await expect(cards.text("by ada")).to_be_visible()
    await expect(cards.page.get_by_role("button")).to_have_count(0)


@pytest.mark.parametrize(
    "outcome", ["declined", "cancelled", "expired", "invalid", "aborted", "superseded", "from a newer version"]
)
async def test_what_was_not_approved_bears_no_tick(cards, outcome):
    await cards.put(review(status="complete", record=record(outcome, "Nothing was done", [row(ONE, mark="on")])))
    await expect(cards.text("Nothing was done")).to_be_visible()
    await expect(cards.text("✓")).to_have_count(0)


async def test_focus_stays_at_the_card_when_its_button_is_gone(cards):
    await cards.put(review())
    await cards.button("Confirm 3 of 3").focus()
    await cards.page.keyboard.press("Enter")
    await expect(cards.card).to_be_focused()


async def test_a_record_takes_no_focus_from_another_card(cards):
    await cards.put(review(), call("c2", title="Other"))
    await cards.page.get_by_role("group", name="Other").get_by_role("button", name="Confirm").focus()
    await cards.put(review(status="complete", record=record("expired", "Expired")))
    await expect(cards.page.get_by_role("group", name="Other").get_by_role("button", name="Confirm")).to_be_focused()


async def test_a_late_click_on_one_card_does_not_answer_the_next(cards):
    await cards.put(call("c1", title="First"), call("c2", title="Second"))
    await cards.run("window.late = document.querySelector('.hitl-primary')")
    await cards.put(call("c1", title="First", status="complete", record=record("expired", "Expired")))
    await cards.run("late.click()")
    assert await cards.sent("respond") == []


async def test_long_texts_are_whole_and_scroll(cards):
    text = "first line\n  indented\n" + "word " * 4_000 + "the very end"
    await cards.put(call(props={"rows": [arg("subject", "Hello"), arg("body", text, long=True)]}))
    body = cards.page.get_by_role("region", name="body")
    assert await body.text_content() == text
    await body.focus()
    await cards.page.keyboard.press("End")
    assert await body.evaluate("(el) => el.scrollHeight > el.clientHeight")


async def test_a_step_note_describes_its_box(cards):
    await cards.put(review(props={"steps": [step(ONE, note="Cannot be undone"), step(TWO)]}))
    await expect(cards.box(ONE)).to_have_accessible_description("Cannot be undone")


async def test_cancel_is_a_third_answer_where_a_card_has_it(cards):
    await cards.put(call("c1", cancel="Cancel"), call("c2"))
    await expect(cards.button("Cancel")).to_have_count(1)
    await cards.button("Cancel").click()
    assert await cards.answers() == [{"op": "cancel", "call_id": "call_c1"}]
