"""A change to code on a page: taken, left and edited by keys and by mouse, also after a reload."""

import pytest
from playwright.async_api import expect

from hitl_nb import review_code
from tests.browser.access import begin_with_axe, violations
from tests.browser.halves import Reader, halves

HOSTILE = "<img src=x onerror=window.hacked=1>"
OLD = "import os\n" + "x = 1\n" * 20 + f"print('{HOSTILE}')\n"
NEW = "import sys\n" + "x = 1\n" * 20 + f"print('{HOSTILE}2')  # a comment\n"
ada = Reader()


async def test_by_keys_a_change_is_left_and_another_edited(cards):
    async with halves(cards, review_code(NEW, before=OLD, people=ada)):
        first = cards.page.get_by_role("checkbox", name="Change 1 of 2")
        await first.press("Space")
        await expect(cards.button("Confirm 1 of 2 changes")).to_be_visible()
        await cards.page.get_by_role("button", name="Edit").nth(1).press("Enter")
        box = cards.page.get_by_role("textbox", name="Change 2 of 2, edited")
        await expect(box).to_be_focused()
        await box.fill("print(1)")
        await cards.button("Take all").click()
        await expect(cards.button("Confirm")).to_be_visible()
        await first.press("Space")
        await cards.page.get_by_role("button", name="Edit").nth(1).click()
        await box.fill("print(1)")
        await expect(cards.button("Confirm 1 of 2 changes")).to_be_visible()


@pytest.mark.parametrize("left", [True, False])
async def test_the_answer_is_what_stands_there(cards, left):
    async with halves(cards, review_code(NEW, before=OLD, people=ada)) as both:
        if left:
            await cards.page.get_by_role("checkbox", name="Change 1 of 2").uncheck()
        await cards.page.locator(".hitl-primary").click()
        assert await both.question == (NEW.replace("sys", "os") if left else NEW)


async def test_lines_that_stay_are_folded_and_can_be_read(cards):
    async with halves(cards, review_code(NEW, before=OLD, people=ada)):
        await expect(cards.page.get_by_text("x = 1").locator("visible=true")).to_have_count(6)
        await cards.button("Show 14 lines that stay").click()
        await expect(cards.page.get_by_text("x = 1").locator("visible=true")).to_have_count(20)


async def test_code_is_text(cards):
    async with halves(cards, review_code(NEW, before=OLD, people=ada)):
        await expect(cards.page.get_by_text(f"print('{HOSTILE}2')")).to_be_visible()
        assert await cards.page.locator(".hitl-run img").count() == 0
        assert await cards.run("window.hacked") is None


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_in_a_change(blank, theme):
    await begin_with_axe(blank, theme)
    async with halves(blank, review_code(NEW + "y = [1, 'a'] # é\n", before=OLD, people=ada)):
        await blank.page.clock.resume()
        await expect(blank.page.get_by_role("checkbox")).to_have_count(2)
        found = await violations(blank)
        await blank.page.get_by_role("checkbox", name="Change 1 of 2").uncheck()
        await blank.page.get_by_role("button", name="Edit").nth(1).click()
        found += await violations(blank)
    assert found == []
