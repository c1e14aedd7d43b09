"""A queue of items at its card: one key a label, in order, by keys or by mouse, and nothing is lost on the way."""

from contextlib import suppress

import numpy as np
import pytest
from playwright.async_api import expect

from hitl_nb import Journal, label, use
from hitl_nb._calls import Handle
from tests.browser.access import begin_with_axe, violations
from tests.browser.halves import Reader, halves

HOSTILE = "<img src=x onerror=window.hacked=1>"
MOODS = ["positive", "negative", "neutral"]
ada = Reader()


class Queue:
    """What a person sees of the queue, and does with it."""

    def __init__(self, cards, both):
        self.page, self.both = cards.page, both
        self.stage = self.page.locator(".hitl-queue-stage")

    async def press(self, *keys):
        for key in keys:
            await self.page.keyboard.press(key)

    async def shows(self, text):
        await expect(self.stage).to_contain_text(text)

    async def saved(self):
        await expect(self.page.get_by_text("all saved")).to_be_visible()

    def button(self, name, exact=True):
        return self.page.get_by_role("button", name=name, exact=exact)

    async def confirm(self):
        await self.button("Confirm", exact=False).click()


async def queue_of(cards, both, first):
    queue = Queue(cards, both)
    await queue.shows(first)
    await cards.settled()
    await queue.stage.focus()
    return queue


def texts(count):
    return [f"text {at}." for at in range(count)]


async def test_fifty_labels_are_fifty_keys(cards):
    async with halves(cards, label(texts(50), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        for at in range(50):
            await queue.shows(f"text {at}.")  # what nobody has seen takes no label
            await queue.press(str(at % 3 + 1))
        await expect(queue.button("Confirm: 50 labelled")).to_be_focused()
        await queue.press("Enter")
        labels = await both.question
    assert list(labels) == [MOODS[at % 3] for at in range(50)]


async def test_by_mouse_with_skip_undo_and_note(cards):
    async with halves(cards, label(texts(4), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        await queue.button("positive").click()
        await queue.button("Skip").click()
        await queue.shows("text 2.")
        await queue.button("Undo").click()
        await queue.shows("text 1.")
        await queue.button("negative").click()
        await queue.button("Note").click()
        await cards.page.get_by_label("Note (Enter keeps it)").fill("hm")
        await queue.press("Enter")
        await queue.shows("Note: hm")
        await queue.button("neutral").click()
        await queue.saved()
        await queue.confirm()
        await expect(cards.alert.filter(has_text="1 item has no label yet")).to_be_visible()
        await queue.button("Confirm: 3 labelled, 1 left out").click()
        labels = await both.question
    assert list(labels) == ["positive", "negative", "neutral", None]
    assert (labels.missing, labels.skipped, labels.notes) == ([3], [], ["", "", "hm", ""])


async def test_by_keys_alone_with_undo_note_filter_and_arrows(cards):
    async with halves(cards, label([*texts(12), "last"], MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        await queue.press("1", "2", "0", "Backspace")
        await queue.shows("text 2.")
        await queue.press("3", "Control+z", "3", "n")
        await cards.page.keyboard.type("12/n")  # what is typed in a box is no key
        await queue.press("Enter")
        await queue.shows("Note: 12/n")
        await queue.press("/")
        await cards.page.keyboard.type("text 1")
        await queue.press("Enter")
        await queue.shows("text 10.")
        await expect(cards.page.get_by_text("3 items, 2 without a label")).to_be_visible()
        everything = queue.button("Label all 2 neutral")
        drawn = await everything.element_handle()
        await queue.press("ArrowRight")
        await queue.shows("text 11.")
        await queue.press("ArrowLeft")
        await queue.shows("text 10.")
        assert await drawn.evaluate("(button) => button.isConnected")  # a press on one that is replaced would be lost
        await everything.press("Enter")
        await expect(cards.page.get_by_text("No item without a label found with “text 1”")).to_be_visible()
        await queue.button("End the filter").press("Enter")
        await queue.shows("text 3.")
        await queue.press("ArrowLeft")
        await expect(cards.page.get_by_text("Item 3 of 13 · neutral")).to_be_visible()
        await queue.press("1")
        await queue.shows("text 3.")
        for _ in range(8):
            await queue.press("2")
        await expect(queue.button("Confirm: 13 labelled")).to_be_focused()
        await queue.press("Backspace")  # ten back, and from the end
        await queue.shows("last")
        for _ in range(9):
            await queue.press("Backspace")
        await expect(queue.button("Confirm: 3 labelled, 10 left out")).to_be_visible()
        both.call.decline()


async def test_a_key_that_is_held_down_labels_one_item(cards):
    async with halves(cards, label(texts(5), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        for _ in range(4):
            await cards.page.keyboard.down("1")  # the second and all later ones repeat
        await cards.page.keyboard.up("1")
        await queue.shows("text 1.")
        await expect(queue.button("Confirm: 1 labelled, 4 left out")).to_be_visible()
        both.call.decline()


async def test_keys_as_fast_as_they_come_count_in_order_before_the_kernel_has_said_a_word(cards):
    async with halves(cards, label(texts(8), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        both.lose(1_000)
        await cards.run(
            """() => { for (const key of "12312310")
                document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })); }"""
        )
        await expect(cards.page.get_by_text("not saved yet")).to_be_visible()
        await expect(queue.button("Confirm: 7 labelled, 1 skipped")).to_be_visible()
        both.find()
        await queue.press("Enter")  # what was pressed last goes with the answer
        labels = await both.question
    assert list(labels) == [*MOODS, *MOODS, "positive", None]


async def test_several_labels_are_switched_and_enter_goes_on(cards):
    async with halves(cards, label(texts(3), MOODS, multi=True, shortcuts={"p": "positive"}, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        await queue.press("p", "1", "2", "1")
        await expect(queue.button("positive")).to_have_attribute("aria-pressed", "true")
        await expect(queue.button("negative")).to_have_attribute("aria-pressed", "false")
        await queue.press("Enter")
        await queue.shows("text 1.")
        await expect(queue.button("positive")).to_have_attribute("aria-pressed", "false")
        await queue.press("Enter")
        await queue.shows("text 2.")
        await queue.button("neutral").click()
        await queue.button("Go on").click()
        await queue.confirm()
        labels = await both.question
    assert list(labels) == [["positive", "neutral"], [], ["neutral"]]


async def test_markup_stays_text_wherever_it_stands(cards):
    names = [HOSTILE, "a\u202eb", f"{HOSTILE}2"]
    items = [f"{HOSTILE} of {at}" for at in range(3)]
    asked = label(items, names, HOSTILE, guidelines=f"{HOSTILE}\n\n{HOSTILE}", shortcuts={"<": HOSTILE}, people=ada)
    async with halves(cards, asked) as both:
        queue = await queue_of(cards, both, f"{HOSTILE} of 0")
        await queue.press("n")
        await cards.page.keyboard.type(HOSTILE)
        await queue.press("Enter")
        await queue.shows(f"Note: {HOSTILE}")
        await queue.press("/")
        await cards.page.keyboard.type(HOSTILE)
        await queue.press("Enter")
        await expect(cards.page.get_by_text(f"found with “{HOSTILE}”")).to_be_visible()
        await expect(queue.button("a\\u202eb")).to_be_visible()
        await queue.press("<")
        await queue.button(f"Label all 2 {HOSTILE}2").click()
        assert await cards.page.locator(".hitl-run img").count() == 0
        await queue.confirm()
        labels = await both.question
        await expect(cards.page.get_by_text("3 of 3 labelled")).to_be_visible()
        assert await cards.page.locator(".hitl-run img").count() == 0
        assert await cards.run("window.hacked") is None
    assert list(labels) == [HOSTILE, f"{HOSTILE}2", f"{HOSTILE}2"]


async def test_a_reload_in_the_middle_goes_on_where_it_was_and_can_take_back(cards):
    async with halves(cards, label(texts(4), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        await queue.press("1", "2")
        await queue.saved()
        await both.connect()
        queue = await queue_of(cards, both, "text 2.")
        await queue.press("Backspace", "3", "3", "3")  # what it leads back to is here
        await queue.confirm()
        assert list(await both.question) == ["positive", "neutral", "neutral", "neutral"]


async def test_what_was_pressed_and_never_arrived_outlives_the_page_and_the_kernel(cards):
    with use(journal=Journal("memory")):
        async with halves(cards, label(texts(4), MOODS, key="k", people=ada)) as both:
            queue = await queue_of(cards, both, "text 0.")
            await cards.run("run.model.onsent = () => {}")  # the line is dead
            await queue.press("1", "2")
            await expect(cards.page.get_by_text("2 not saved yet")).to_be_visible()
        async with halves(cards, label(texts(4), MOODS, key="k", people=ada)) as both:  # another kernel
            queue = await queue_of(cards, both, "text 2.")
            await queue.saved()
            await queue.press("3", "3")
            await queue.confirm()
            assert list(await both.question) == ["positive", "negative", "neutral", "neutral"]


async def test_two_views_show_what_is_done_in_either(cards):
    async with halves(cards, label(texts(4), MOODS, people=ada)) as both:
        await queue_of(cards, both, "text 0.")
        await cards.run("run.addView('el2')")
        first, second = (cards.page.locator(f"#{view}") for view in ("el", "el2"))
        await expect(second.locator(".hitl-queue-stage")).to_contain_text("text 0.")
        await first.get_by_role("button", name="positive").click()
        await expect(second.get_by_text("1 of 4 labelled", exact=True)).to_be_visible()
        await second.get_by_role("button", name="On →").click()
        await second.get_by_role("button", name="negative").click()
        await expect(first.get_by_text("2 of 4 labelled", exact=True)).to_be_visible()
        both.call.decline()


async def test_messages_that_are_lost_are_asked_for_again_and_nothing_is_done_twice(cards):
    with use(journal=Journal("memory")):
        async with halves(cards, label(texts(4), MOODS, key="lost", people=ada)) as both:
            queue = await queue_of(cards, both, "text 0.")
            both.lose(1_000)
            await queue.press("1", "2", "3", "1")
            await expect(cards.page.get_by_text("4 not saved yet")).to_be_visible()
            both.find()
            for _ in range(20):  # a poll without an answer is asked again after 5 s of the page's clock
                await cards.wait(6_000)
                with suppress(AssertionError):
                    await expect(cards.page.get_by_text("all saved")).to_be_visible(timeout=500)
                    break
            await queue.saved()
            await queue.confirm()
            labels = await both.question
    assert list(labels) == [*MOODS, "positive"]
    assert labels.agreement.people == ["Ada"]


async def test_pictures_and_what_others_have_chosen_are_drawn(cards):
    images = np.arange(2 * 64).reshape(2, 8, 8)
    async with halves(cards, label(images, ["a", "b"], show="image", people=ada)) as both:
        queue = Queue(cards, both)
        await expect(queue.stage.get_by_role("img", name="Picture, 8 × 8 pixels, values from 0 to 63")).to_be_visible()
        both.call.decline()


async def test_while_somebody_else_is_asked_nothing_can_be_pressed(cards):
    async with halves(cards, label(texts(2), MOODS, people=ada)) as both:
        queue = await queue_of(cards, both, "text 0.")
        with Handle.of(both.call).turns.put_to(Rule()):
            await expect(queue.button("positive")).to_be_disabled()
            await queue.press("1")
        await expect(queue.button("positive")).to_be_enabled()
        await queue.shows("text 0.")
        both.call.decline()


class Rule:
    """Not at a card."""

    via, name = "policy", "rule"


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_while_labelling_searching_noting_and_reading(blank, theme):
    await begin_with_axe(blank, theme)
    asked = label(["a\u202eb", *texts(4)], MOODS, multi=True, guidelines="* *one*\n* **two**", people=ada)
    async with halves(blank, asked) as both:
        queue = await queue_of(blank, both, "a\\u202eb")
        await blank.page.clock.resume()
        found = await violations(blank)
        await queue.press("1", "Enter", "n")
        found += await violations(blank)
        await queue.press("Escape", "/")
        await blank.page.keyboard.type("text")
        await queue.press("Enter")
        await expect(queue.button("Label all 4 neutral")).to_be_visible()
        found += await violations(blank)
        await queue.button("Label all 4 neutral").click()
        await queue.button("End the filter").click()
        found += await violations(blank)
        await queue.confirm()
        await both.question
        await expect(blank.page.get_by_text("5 of 5 labelled")).to_be_visible()
        found += await violations(blank)
    assert found == []
