"""One decision is one row in the journal, however it is pressed and whatever is lost on the way."""

import pytest
from playwright.async_api import expect

from hitl_nb import Journal, approve, ask, use
from tests.browser.halves import Reader, halves


async def double_click(cards):
    await cards.page.locator(".hitl-primary").dblclick()


async def keys(cards):
    await cards.page.locator(".hitl-primary").focus()
    for key in ("Enter", "Control+Enter", "Space", "Enter"):
        await cards.page.keyboard.press(key)


async def in_the_box(cards):
    await cards.page.get_by_role("textbox").fill("because")
    for key in ("Enter", "Control+Enter", "Enter"):
        await cards.page.keyboard.press(key)


async def hidden_and_back(cards):
    """The page asks at once when it is looked at again, and sends what is not acknowledged."""
    await cards.page.locator(".hitl-primary").click()
    for _ in range(3):
        await cards.run("document.dispatchEvent(new Event('visibilitychange'))")
        await cards.run("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")


ASKED = {"approve": lambda: approve("Drop?", people=Reader()), "ask": lambda: ask("Why?", people=Reader())}


@pytest.mark.parametrize("lost", [0, 2])
@pytest.mark.parametrize(
    ("question", "press"),
    [("approve", double_click), ("approve", keys), ("ask", in_the_box), ("approve", hidden_and_back)],
)
async def test_no_click_is_late_after_its_own_answer(cards, tmp_path, question, press, lost):
    journal = Journal(tmp_path / "j.db")
    with use(journal=journal):
        async with halves(cards, ASKED[question]()) as both:
            await expect(cards.page.locator(".hitl-primary")).to_be_enabled()
            both.lose(lost)
            await press(cards)
            for _ in range(6):
                await cards.wait(2_500)
            await both.question
    events = [row["event"] for row in journal]
    assert events.count("answered") == 1
    assert "late" not in events


async def test_who_comes_second_in_another_tab_is_told_who_was_first(cards):
    async with halves(cards, approve("Drop?", people=Reader())) as both:
        await expect(cards.page.locator(".hitl-primary")).to_be_enabled()
        both.lose(2)
        first = {"op": "decline", "call_id": both.call.occurrence, "turn": both.call.turn.token, "click": "elsewhere"}
        both._list.updates.receive(first)
        await cards.page.locator(".hitl-primary").click()
        await expect(cards.text("Already answered by Ada. This is what counts:")).to_be_visible()
        await expect(cards.page.locator(".hitl-card")).to_contain_text("Declined")
        assert await both.question is False
