"""An answer that can be taken back: what the card says meanwhile, where the focus is, and what was entered."""

import re

import pytest
from playwright.async_api import expect

from hitl_nb import approve, ask, choose
from hitl_nb.errors import Declined, Expired
from tests.browser.halves import Reader, halves
from tests.browser.items import call
from tests.browser.small_states import approval


def undo(cards):
    return cards.page.get_by_role("button", name="Undo")


async def test_the_card_says_what_was_answered_and_undo_gives_back_what_was_entered(cards):
    async with halves(cards, ask("What is it called?", undo=30, people=Reader())) as both:
        await cards.page.get_by_role("textbox").fill("Titanic")
        await cards.button("Answer").click()
        await expect(cards.status.filter(has_text="Answered")).to_be_visible()
        await expect(undo(cards)).to_have_text(re.compile(r"Undo \((30|29) s\)"))
        await expect(cards.button("Answer")).to_be_hidden()
        await expect(cards.page.get_by_role("textbox")).to_be_disabled()
        assert (both.call.decided, both.call.status, both.question.done()) == (False, "executing", False)
        await undo(cards).click()
        await expect(cards.page.get_by_role("textbox")).to_have_value("Titanic")
        await expect(cards.page.get_by_role("textbox")).to_be_focused()
        await cards.settled()
        await cards.page.get_by_role("textbox").fill("Olympic")
        await cards.button("Answer").click()
        await expect(undo(cards)).to_be_visible()
        both.call._handle.grace.end()
        assert await both.question == "Olympic"


async def test_a_grace_that_is_over_is_an_answer(cards):
    async with halves(cards, choose("Which?", ["a", "b"], one_key=True, undo=0.2, people=Reader())) as both:
        await cards.button("b").click()
        assert await both.question == "b"
        await expect(cards.text("Chose b")).to_be_visible()
        await expect(undo(cards)).to_have_count(0)


async def test_a_no_can_be_taken_back_too(cards):
    async with halves(cards, approve("Go?", one_key=True, undo=60, people=Reader())) as both:
        await cards.settled()
        await cards.button("Approve").focus()
        await cards.page.keyboard.press("n")
        await expect(cards.text("Answered: Declined")).to_be_visible()
        await cards.page.keyboard.press("Control+z")
        await expect(cards.button("Approve")).to_be_focused()
        await cards.settled()
        await cards.page.keyboard.press("y")
        await expect(cards.text("Answered: Approved")).to_be_visible()
        both.call._handle.grace.end()
        assert await both.question is True


async def test_a_second_tab_and_a_reload_see_it_and_may_take_it_back(cards):
    async with halves(cards, approve("Go?", undo=60, people=Reader())) as both:
        await cards.button("Approve").click()
        await expect(undo(cards)).to_be_visible()
        await both.connect()
        await cards.run("run.addView('el2')")
        await expect(undo(cards)).to_have_count(2)
        await undo(cards).last.click()
        await expect(undo(cards)).to_have_count(0)
        await expect(cards.button("Approve")).to_have_count(2)
        assert both.call.held is None


@pytest.mark.parametrize("lost", [1, 2])
async def test_whatever_message_is_lost_undo_is_undo(cards, lost):
    async with halves(cards, approve("Go?", undo=60, people=Reader())) as both:
        await cards.button("Approve").click()
        await expect(undo(cards)).to_be_visible()
        both.lose(lost)
        await undo(cards).click()
        for _ in range(4):
            await cards.wait(2100)
        await expect(undo(cards)).to_have_count(0)
        await expect(cards.button("Approve")).to_be_enabled()
        await cards.button("Approve").click()
        await expect(cards.text("Answered: Approved")).to_be_visible()


async def test_what_ends_the_question_meanwhile_is_said_and_is_no_yes(cards):
    async with halves(cards, approve("Go?", undo=60, people=Reader())) as both:
        await cards.button("Approve").click()
        await expect(undo(cards)).to_be_visible()
        both.call.cancel("not needed")
        assert await both.question is False
        await expect(cards.text("This ended before your answer counted:")).to_be_visible()
        await expect(cards.text("Cancelled: not needed")).to_be_visible()


async def test_the_focus_goes_on_while_an_answer_is_held_and_control_and_z_brings_it_back(cards):
    await cards.put(*(approval(f"c{at}", title=f"Number {at}") for at in range(2)))
    first, second = (cards.card_named(f"Number {at}") for at in range(2))
    await first.get_by_role("button", name="Approve").focus()
    await cards.page.evaluate("run.kernel.hold = { words: 'Approved', until: Date.now() + 9_000 }")
    await cards.page.keyboard.press("Enter")
    await expect(second.get_by_role("button", name="Approve")).to_be_focused()
    await expect(undo(cards)).to_be_visible()
    await cards.page.keyboard.press("Control+z")
    await expect(first.get_by_role("button", name="Approve")).to_be_focused()
    assert [each["op"] for each in await cards.run("run.model.sent") if each["op"] in ("respond", "undo")] == [
        "respond",
        "undo",
    ]


# -- time that is left ------------------------------------------------------------------------------------------


async def test_time_that_is_left_is_counted_by_the_kernels_clock(cards):
    ahead = 1_000_000_000
    await cards.run(f"run.kernel.ahead = {ahead}")
    until = await cards.run("Date.now()") + ahead + 63_000 + 350
    await cards.put(call(deadline={"words": "Expires", "until": until}))
    await expect(cards.text("Expires in 1:03 min")).to_be_visible()
    await cards.wait(4000)
    await expect(cards.text("Expires in 59 s")).to_be_visible()
    await cards.wait(59_000)
    await expect(cards.text("Time is up…")).to_be_visible()


async def test_a_question_that_expires_says_so_and_one_that_is_passed_on_to_whom(cards):
    async with halves(cards, approve("Go?", timeout=90, people=Reader())) as both:
        await expect(cards.text("Expires in 1:")).to_be_visible()
        both.call._handle.expire("nobody answered in time")
        assert await both.question is False
        await expect(cards.text("Expires in")).to_be_hidden()

    class Boss(Reader):
        name = "Grace"

    async with halves(cards, approve("Go?", timeout=90, escalate_to=Boss(), people=Reader())):
        await expect(cards.text("Goes to Grace in 1:")).to_be_visible()


async def test_an_answer_that_was_given_in_time_counts_although_it_could_be_taken_back(cards):
    async with halves(cards, approve("Go?", timeout=0.5, undo=60, people=Reader())) as both:
        await cards.button("Approve").click()
        assert await both.question is True


async def test_nobody_answers_in_time_after_they_took_it_back(cards):
    async with halves(cards, ask("What?", timeout=1.5, undo=60, people=Reader())) as both:
        await cards.page.get_by_role("textbox").fill("x")
        await cards.button("Decline").click()
        await cards.button("Decline").click()
        await expect(undo(cards)).to_be_visible()
        await undo(cards).click()
        with pytest.raises((Expired, Declined)) as caught:
            await both.question
        assert caught.type is Expired
