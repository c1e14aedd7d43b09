"""Whose turn it is: a card takes a click only of whoever is being asked, and a click says whom it was drawn for."""

import pytest
from playwright.async_api import expect

from tests.browser.items import STEPS, call, record, review, turn

ONE, TWO, THREE = STEPS
RULE = turn("A rule decides first", is_open=False, token="t1")
ADA = turn("Waiting for Ada", token="t2")
BOB = turn("Waiting for Bob", token="t3")
SEVERAL = turn("Asked of Ada and Bob, one card each", is_open=False, several=True, token="t4")


async def test_while_a_rule_decides_the_card_is_shut_and_says_so(cards):
    await cards.put(review(turn=RULE))
    await expect(cards.status).to_have_text("A rule decides first")
    for control in (cards.button("Confirm 3 of 3"), cards.button("Decline"), cards.box(ONE)):
        await expect(control).to_be_disabled()
    await cards.run("document.querySelector('.hitl-primary').disabled = false")
    await cards.button("Confirm 3 of 3").click(force=True)
    assert await cards.sent("respond") == []


async def test_a_click_carries_the_turn_it_was_drawn_for(cards):
    await cards.put(review(turn=RULE))
    await cards.put(review(turn=ADA))
    await expect(cards.status).to_have_text("Waiting for Ada")
    await cards.button("Confirm 3 of 3").click()
    assert [sent["turn"] for sent in await cards.sent("respond")] == ["t2"]


async def test_a_draft_outlives_a_change_of_turn(cards):
    await cards.put(review(turn=ADA))
    await cards.box(TWO).uncheck()
    await cards.button("Decline").click()
    await cards.page.keyboard.type("not th")
    await cards.put(review(turn=RULE))
    await cards.put(review(turn=BOB))
    await expect(cards.page.get_by_label("Reason (optional)")).to_have_value("not th")
    await cards.button("Back").click()
    await expect(cards.box(TWO)).not_to_be_checked()
    await cards.button("Confirm 2 of 3").click()
    assert [sent["turn"] for sent in await cards.sent("respond")] == ["t3"]


async def test_keys_go_on_to_the_card_when_its_turn_is_over_and_not_to_the_page(cards):
    await cards.put(review(turn=ADA))
    await cards.box(TWO).focus()
    await cards.put(review(turn=RULE))
    await expect(cards.card).to_be_focused()
    await cards.page.keyboard.press("d")
    assert await cards.card.evaluate("(el) => el.hasAttribute('data-lm-suppress-shortcuts')")


async def test_a_click_that_is_still_on_its_way_stays_one_of_its_own_turn(cards):
    await cards.put(review(turn=ADA))
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    await cards.put(review(turn=BOB))
    await cards.wait(12_000)
    sent = await cards.sent("respond")
    assert len(sent) > 1
    assert {each["turn"] for each in sent} == {"t2"}
    await cards.run("run.kernel.resume()")
    await expect(cards.alert).to_have_text("It is asked anew.")
    await expect(cards.status).to_have_text("Waiting for Bob")
    assert await cards.answers() == []
    await cards.button("Confirm 3 of 3").click()
    assert [each["turn"] for each in await cards.sent("respond")][-1] == "t3"
    assert len(await cards.answers()) == 1


async def test_a_word_about_an_earlier_turn_is_gone_in_the_next(cards):
    await cards.put(review(turn=ADA))
    await cards.run("run.kernel.refuse.call_c1 = 'It is put to a rule first.'")
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.alert).to_be_visible()
    await cards.put(review(turn=BOB))
    await expect(cards.alert).to_have_count(0)
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()


async def test_where_several_are_asked_the_question_itself_has_no_controls(cards):
    await cards.put(review(turn=SEVERAL, props={}))
    await expect(cards.status).to_have_text("Asked of Ada and Bob, one card each")
    await expect(cards.page.get_by_role("button")).to_have_count(0)
    await expect(cards.page.get_by_role("checkbox")).to_have_count(0)


async def test_the_question_that_several_were_asked_can_come_back(cards):
    await cards.put(review(turn=SEVERAL, props={}))
    await cards.put(review(turn=ADA))
    await cards.box(ONE).uncheck()
    await cards.button("Confirm 2 of 3").click()
    assert len(await cards.answers()) == 1


async def test_two_calls_of_one_name_are_two_cards(cards):
    await cards.put(call("one", title="First"), call("two", title="Second"))
    second = cards.page.get_by_role("group", name="Second")
    await second.get_by_role("button", name="Confirm").click()
    await expect(second.get_by_text("by a test")).to_be_visible()
    await cards.page.get_by_role("group", name="First").get_by_role("button", name="Confirm").click()
    assert [answer["call_id"] for answer in await cards.answers()] == ["call_two", "call_one"]


# -- an answer counts when it is on disk ------------------------------------------------------------------------------


async def _click(cards, **fate):
    """Confirm, and let the kernel say this of the click."""
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    sent = (await cards.sent("respond"))[-1]
    seq = await cards.run("run.kernel.seq")
    told = {"op": "answered", "call_id": "call_c1", "click": sent["click"], "accepted": False, "error": None}
    await cards.receive(**{**told, **fate}, seq=seq, live=True)


async def test_until_then_it_is_on_its_way(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    await cards.put(review(turn=turn("The answer is being written down…", is_open=False)))
    await expect(cards.status).to_have_text("Sending…")
    await expect(cards.box(ONE)).to_be_disabled()


async def test_what_could_not_be_written_opens_the_card_again_with_the_draft(cards):
    await cards.put(review())
    await cards.box(ONE).uncheck()
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 2 of 3").click()
    await cards.put(review(turn=turn("The answer is being written down…", is_open=False)))
    error = "Your answer could not be written down and does not count: the disk is full"
    await cards.put(review(error=error))
    sent = (await cards.sent("respond"))[-1]
    told = {"op": "answered", "call_id": "call_c1", "click": sent["click"], "accepted": False, "error": error}
    await cards.receive(**told, seq=3, live=True)
    await expect(cards.alert).to_have_text(error)
    await expect(cards.box(ONE)).not_to_be_checked()
    await expect(cards.button("Confirm 2 of 3")).to_be_focused()
    await cards.run("run.kernel.busy = false")
    await cards.button("Confirm 2 of 3").click()
    assert [answer["value"]["checked"] for answer in await cards.answers()] == [[False, True, True]]


async def test_a_lost_race_says_so_above_what_counts(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    await cards.put(review(status="complete", record=record("declined", "Declined: no", footer="by bob")))
    sent = (await cards.sent("respond"))[-1]
    told = {"op": "answered", "call_id": "call_c1", "click": sent["click"], "accepted": False, "error": None}
    await cards.receive(**told, seq=2, live=True)
    await expect(cards.status).to_contain_text("Already answered elsewhere")
    await expect(cards.text("Declined: no")).to_be_visible()
    await cards.wait(8_000)
    assert len(await cards.sent("respond")) == 1


async def test_a_checkpoint_that_was_changed_says_why_above_its_record(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    await cards.put(review(status="complete", record=record("cancelled", "Cancelled")))
    sent = (await cards.sent("respond"))[-1]
    told = {"op": "answered", "call_id": "call_c1", "click": sent["click"], "accepted": False}
    await cards.receive(**told, error="Not approved: it was changed.", seq=2, live=True)
    await expect(cards.status).to_have_text("Not approved: it was changed.")


async def test_a_card_that_was_late_for_an_answer_that_did_not_hold_is_open_again(cards):
    await cards.put(review())
    await _click(cards)
    await expect(cards.status).to_have_text("Already answered elsewhere")
    await cards.put(review(error="The other answer could not be written down."))
    await expect(cards.status).to_have_text("Waiting for you")
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()


async def test_a_click_whose_word_got_lost_gets_it_again_and_is_no_second_answer(cards):
    await cards.put(review())
    await cards.run("run.kernel.lost.push(run.kernel.told, run.kernel.told + 1)")
    await cards.button("Confirm 3 of 3").click()
    await cards.wait(8_000)
    await expect(cards.text("by a test")).to_be_visible()
    await expect(cards.status).to_have_count(0)
    assert len(await cards.answers()) == 1
    assert len({sent["click"] for sent in await cards.sent("respond")}) == 1


@pytest.mark.parametrize("again", ["patch", "snapshot"])
async def test_that_it_was_too_late_stays_when_the_kernel_says_it_again(cards, again):
    await cards.put(review())
    await _click(cards)
    done = review(status="complete", record=record("declined", "Declined"))
    await cards.receive(op=again, seq=2, live=True, items=[done])
    await cards.receive(op="snapshot", seq=3, live=True, items=[done])
    await expect(cards.status).to_contain_text("Already answered elsewhere")


async def test_what_is_compared_by_identity_is_said_quietly(cards):
    words = "Compared by identity, not by content: sqlite3.Connection"
    await cards.put(review(about=words))
    await expect(cards.text(words)).to_be_visible()
    await cards.put(review(about=words, status="complete", record=record("answered", "Confirmed", [])))
    await expect(cards.text(words)).to_have_count(0)
