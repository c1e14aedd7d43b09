"""Open questions at one table on a page: by mouse and by keys, and what the button says is what happens."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from hitl_nb import approve, pending, review_calls
from hitl_nb._waiting import until_decided
from tests.browser.access import begin_with_axe, unnamed, violations
from tests.browser.halves import Reader, halves
from tests.browser.test_safety import ATTACKS

ada = Reader()


async def waits(call):
    await until_decided(call)


@asynccontextmanager
async def table(cards, *, text="a"):
    """Three questions of one kind and one of high risk, their answers, and the table of them on the page."""
    asked = [
        *(asyncio.ensure_future(approve("Pay?", {"to": f"{text} {n}", "euro": n}, people=waits)) for n in range(3)),
        asyncio.ensure_future(approve("Wipe?", {"disk": text}, risk="high", name="wipe", people=waits)),
    ]
    while len(pending()) < 4:
        await asyncio.sleep(0)
    open_ = pending()
    async with halves(cards, review_calls(open_, people=ada)) as both:
        yield both, asked
        await asyncio.wait([both.question], timeout=5)
    for call in open_:
        call.decided or call.cancel()
    await asyncio.wait(asked)


def box(cards, word, name):
    return cards.page.get_by_role("checkbox", name=f"{word} {name}")


async def test_what_is_of_high_risk_is_in_no_approve_all_and_the_button_counts(cards):
    async with table(cards) as (both, asked):
        assert await cards.page.locator("input:checked").count() == 0
        await cards.button("Approve all 3 that are not of high risk").click()
        await expect(cards.button("Approve 3")).to_be_visible()
        await cards.page.get_by_role("checkbox").nth(0).check()  # high risk comes first
        await expect(cards.button("Approve 4 (1 of high risk)")).to_be_visible()
        await cards.page.get_by_role("checkbox").nth(5).check()  # decline the second payment
        await cards.button("Approve 3 (1 of high risk), decline 1").click()
        batch = await both.question
        assert [await each for each in asked] == [True, False, True, True]
        assert (len(batch.approved), len(batch.declined)) == (3, 1)


async def test_by_keys_alone(cards):
    async with table(cards) as (both, asked):
        press = cards.page.keyboard.press
        await cards.page.get_by_role("checkbox").nth(0).focus()
        for key in ("ArrowDown", "Space", "ArrowDown", "ArrowDown", "Tab", "Space", "Control+Enter"):
            await press(key)
        await both.question
        assert [each.done() and each.result() for each in asked[:3]] == [True, False, False]
        assert not asked[1].done()


async def test_nothing_chosen_is_nothing_decided(cards):
    async with table(cards) as (both, _):
        await cards.button("Decide").click()
        await expect(cards.alert).to_have_text("Approve or decline at least one of them.")
        both.call.decline()


async def test_no_text_of_a_question_becomes_an_element(cards):
    attack = " ".join(ATTACKS)
    async with table(cards, text=attack) as (both, _):
        await expect(cards.button("Decline all 4")).to_be_visible()
        assert attack in await cards.page.locator("#el").inner_text()
        await cards.settled()
        await cards.button("Decline all 4").click()
        await cards.page.locator(".hitl-primary").click()
        await both.question
        assert await cards.run("window.owned") is None
        assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a)').length") == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_at_the_table(blank, theme):
    await begin_with_axe(blank, theme)
    async with table(blank) as (both, _):
        await blank.page.clock.resume()
        found = await violations(blank)
        await blank.button("Approve all 3 that are not of high risk").click()
        found += [*await violations(blank), *await unnamed(blank)]
        both.call.decline()
    assert found == []
