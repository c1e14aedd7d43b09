"""The small cards: a yes or no, a choice, words, a time."""

import pytest
from playwright.async_api import expect

from tests.browser.small_states import SLOTS, approval, choice, slot, text, times

SEATS = ("Window", "Aisle", "Middle")
MANY = tuple(f"Seat {row}{letter}" for row in range(1, 5) for letter in "AB")


async def value(cards):
    """What the one answer says."""
    (answer,) = await cards.answers()
    return answer["value"]


def radio(cards, name):
    return cards.page.get_by_role("radio", name=name)


# ---- approval ----


async def test_a_yes_is_approved_true(cards):
    await cards.put(approval())
    await expect(cards.page.get_by_role("group", name="version")).to_have_text("2.1")
    await cards.button("Approve").click()
    assert await value(cards) == {"approved": True}


async def test_a_no_is_a_decline_with_a_reason(cards):
    await cards.put(approval())
    await cards.button("Decline").click()
    await cards.page.keyboard.type("not today")
    await cards.page.keyboard.press("Enter")
    assert await cards.answers() == [{"op": "decline", "call_id": "call_c1", "reason": "not today"}]


@pytest.mark.parametrize(("risk", "words"), [("high", "High risk: look twice"), ("low", "Low risk")])
async def test_a_risk_is_said_in_words(cards, risk, words):
    await cards.put(approval(risk=risk))
    await expect(cards.text(words)).to_be_visible()


@pytest.mark.parametrize("risk", [None, "constructor"])
async def test_without_a_risk_nothing_is_said(cards, risk):
    await cards.put(approval(risk=risk))
    await expect(cards.page.locator(".hitl-risk")).to_be_hidden()


async def test_a_reason_may_go_with_the_yes(cards):
    await cards.put(approval(reason="optional"))
    await cards.page.get_by_role("textbox", name="Reason (optional)").fill("tested twice")
    await cards.button("Approve").click()
    assert await value(cards) == {"approved": True, "reason": "tested twice"}


async def test_a_reason_that_is_needed_is_asked_for(cards):
    await cards.put(approval(reason="required"))
    await cards.button("Approve").click()
    await expect(cards.alert).to_have_text("Please say why.")
    reason = cards.page.get_by_role("textbox", name="Reason", exact=True)
    await expect(reason).to_be_focused()
    await reason.fill("tested twice")
    await expect(cards.alert).to_have_count(0)
    await cards.button("Approve").click()
    assert await value(cards) == {"approved": True, "reason": "tested twice"}


async def test_a_no_needs_the_reason_too(cards):
    await cards.put(approval(reason="required"))
    await cards.button("Decline").click()
    await cards.page.keyboard.press("Enter")
    await expect(cards.alert).to_have_text("Please say why.")
    assert await cards.sent("decline") == []
    await cards.page.keyboard.type("too early")
    await cards.page.keyboard.press("Enter")
    assert (await cards.answers())[0]["reason"] == "too early"


async def test_a_reason_that_was_written_before_the_no_is_not_lost(cards):
    await cards.put(approval(reason="optional"))
    await cards.page.get_by_role("textbox", name="Reason (optional)").fill("too early")
    await cards.button("Decline").click()
    await cards.page.keyboard.press("Enter")
    assert (await cards.answers())[0]["reason"] == "too early"


# ---- choice ----


async def test_one_of_a_few_is_chosen(cards):
    await cards.put(choice(*SEATS))
    await radio(cards, "Aisle").check()
    await cards.button("Confirm").click()
    assert await value(cards) == {"chosen": [1]}


async def test_several_are_chosen_in_the_order_of_the_options(cards):
    await cards.put(choice(*SEATS, multiple=True))
    for name in ("Middle", "Window"):
        await cards.box(name).check()
    await cards.button("Confirm 2 of 3").click()
    assert await value(cards) == {"chosen": [0, 2]}


async def test_nothing_is_chosen_from_the_start(cards):
    await cards.put(choice(*SEATS))
    await cards.button("Confirm").click()
    await expect(cards.alert).to_have_text("Choose one.")
    await expect(radio(cards, "Window")).to_be_focused()
    assert await cards.sent("respond") == []


@pytest.mark.parametrize(
    ("limits", "ticks", "words"),
    [
        ((2, None), 1, "Choose at least 2."),
        ((1, 2), 3, "Choose 1 to 2."),
        ((2, 2), 1, "Choose exactly 2."),
        ((0, 1), 2, "Choose up to 1."),
    ],
)
async def test_too_few_or_too_many_are_not_sent(cards, limits, ticks, words):
    await cards.put(choice(*SEATS, multiple=True, limits=limits))
    for name in SEATS[:ticks]:
        await cards.box(name).check()
    await cards.button(f"Confirm {ticks} of 3").click()
    await expect(cards.alert).to_have_text(words)
    assert await cards.sent("respond") == []


async def test_none_is_a_choice_where_it_may_be(cards):
    await cards.put(choice(*SEATS, multiple=True, limits=(0, None)))
    await cards.button("Confirm 0 of 3").click()
    assert await value(cards) == {"chosen": []}


async def test_the_number_keys_choose(cards):
    await cards.put(choice(*SEATS))
    await cards.button("Confirm").focus()
    await cards.page.keyboard.press("3")
    await expect(radio(cards, "Middle")).to_be_checked()
    await expect(cards.button("Confirm")).to_be_focused()
    await cards.page.keyboard.press("9")
    await cards.page.keyboard.press("0")
    await cards.page.keyboard.press("Control+1")
    await cards.page.keyboard.press("Enter")
    assert await value(cards) == {"chosen": [2]}


async def test_the_number_keys_choose_several_and_drop_again(cards):
    await cards.put(choice(*SEATS, multiple=True))
    await cards.box("Window").focus()
    for key in ("1", "3", "1"):
        await cards.page.keyboard.press(key)
    await cards.button("Confirm 1 of 3").click()
    assert await value(cards) == {"chosen": [2]}


async def test_number_keys_are_letters_where_one_types(cards):
    await cards.put(choice(*MANY))
    await cards.page.get_by_role("searchbox", name="Filter").focus()
    await cards.page.keyboard.type("2")
    await expect(cards.page.get_by_role("radio")).to_have_count(2)
    await cards.button("Decline").click()
    await cards.page.keyboard.type("1 is taken")
    await expect(cards.page.get_by_role("radio", checked=True)).to_have_count(0)


async def test_number_keys_do_nothing_before_the_question_is_open(cards):
    await cards.put(choice(*SEATS, status="inProgress"))
    await cards.run("document.querySelector('.hitl-card').focus()")
    await cards.page.keyboard.press("1")
    await expect(cards.page.get_by_role("radio", checked=True)).to_have_count(0)


async def test_many_options_have_a_filter_that_forgets_no_choice(cards):
    await cards.put(choice(*MANY, multiple=True))
    await cards.box("Seat 1A").check()
    await cards.page.get_by_role("searchbox", name="Filter").fill("4b")
    await expect(cards.page.get_by_role("checkbox")).to_have_count(1)
    await cards.box("Seat 4B").check()
    await cards.button("Confirm 2 of 8").click()
    assert await value(cards) == {"chosen": [0, 7]}


async def test_a_few_options_need_no_filter(cards):
    await cards.put(choice(*SEATS))
    await expect(cards.page.get_by_role("searchbox")).to_have_count(0)


async def test_a_note_describes_its_option(cards):
    await cards.put(choice(*SEATS, notes="free"))
    await expect(radio(cards, "Aisle")).to_have_accessible_description("free")


async def test_options_appear_while_the_model_writes(cards):
    await cards.put(choice("Window", status="inProgress"))
    await expect(radio(cards, "Window")).to_be_disabled()
    await cards.put(choice(*SEATS))
    await radio(cards, "Middle").check()
    await cards.button("Confirm").click()
    assert await value(cards) == {"chosen": [2]}


# ---- words ----


async def test_enter_sends_one_line(cards):
    await cards.put(text(placeholder="a name"))
    box = cards.page.get_by_role("textbox", name="Your answer")
    await expect(box).to_have_attribute("placeholder", "a name")
    await box.fill("Ada")
    await cards.page.keyboard.press("Enter")
    assert await value(cards) == {"text": "Ada"}


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
async def test_enter_alone_is_a_new_line_in_a_long_text(cards, keys):
    await cards.put(text(long=True))
    await cards.page.get_by_role("textbox", name="Your answer").focus()
    await cards.page.keyboard.type("Ada")
    await cards.page.keyboard.press("Enter")
    await cards.page.keyboard.type("Grace")
    await cards.page.keyboard.press(keys)
    assert await value(cards) == {"text": "Ada\nGrace"}


async def test_no_words_are_no_answer(cards):
    await cards.put(text())
    await cards.button("Answer").click()
    await expect(cards.alert).to_have_text("Nothing is written yet.")
    await expect(cards.page.get_by_role("textbox", name="Your answer")).to_be_focused()
    assert await cards.sent("respond") == []


async def test_what_was_there_at_first_can_be_sent_as_it_is(cards):
    await cards.put(text(long=True, initial="Dear Ada,\r\n  "))
    await cards.button("Answer").click()
    assert await value(cards) == {"text": "Dear Ada,\r\n  "}


async def test_words_that_were_refused_are_still_there(cards):
    await cards.run("run.kernel.refuse.call_c1 = 'Too short.'")
    await cards.put(text())
    box = cards.page.get_by_role("textbox", name="Your answer")
    await box.fill("A")
    await cards.page.keyboard.press("Enter")
    await expect(cards.alert).to_have_text("Too short.")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("A")


# ---- times ----


async def test_a_slot_is_chosen_under_its_day(cards):
    await cards.put(times(SLOTS))
    day = cards.page.get_by_role("radiogroup", name="Tuesday 3 March 2026")
    await day.get_by_role("radio", name="11:00").check()
    await cards.button("Confirm").click()
    assert await value(cards) == {"chosen": [5]}


async def test_all_days_are_one_choice(cards):
    await cards.put(times(SLOTS))
    await radio(cards, "09:00").check()
    await radio(cards, "08:00").check()
    await expect(cards.page.get_by_role("radio", checked=True)).to_have_count(1)
    await cards.page.keyboard.press("ArrowUp")
    await expect(radio(cards, "16:00")).to_be_checked()


async def test_slots_without_a_day_have_no_heading(cards):
    await cards.put(times([slot("now"), slot("later", note="perhaps")]))
    await expect(cards.page.locator(".hitl-day-name")).to_be_hidden()
    await expect(radio(cards, "later")).to_have_accessible_description("perhaps")


async def test_slots_that_come_later_can_be_chosen_then(cards):
    await cards.put(times(loading=True))
    await expect(cards.text("Looking for free times…")).to_be_visible()
    await cards.button("Confirm").click()
    await expect(cards.alert).to_have_text("The times are still being loaded.")
    await cards.put(times(SLOTS))
    await expect(cards.text("Looking for free times…")).to_have_count(0)
    await radio(cards, "10:30").check()
    await cards.button("Confirm").click()
    assert await value(cards) == {"chosen": [1]}


async def test_where_no_time_is_free_it_says_so(cards):
    await cards.put(times())
    await expect(cards.text("There is no time to choose from.")).to_be_visible()
    await cards.button("Confirm").click()
    await expect(cards.alert).to_have_text("Choose a time.")
    assert await cards.sent("respond") == []
