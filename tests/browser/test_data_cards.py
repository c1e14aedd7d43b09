"""What holds for each card about data alike: keys alone, a second tab, a reload, a restart, axe, and hostile texts.

What each of them does for itself is in ``test_table.py``, ``test_diff.py``, ``test_plan.py``.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import pytest
from playwright.async_api import expect

from hitl_nb import interrupt, review, review_code
from hitl_nb._transcript import CallEntry
from hitl_nb.cards import PlanReview
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.data import SqlReview
from tests.browser.access import axe, unnamed, violations
from tests.browser.halves import Reader, halves
from tests.browser.test_safety import ATTACKS

ada = Reader()
HOSTILE = " ".join(ATTACKS)


@dataclass(frozen=True)
class Case:
    """A question of a card, and what a person does at it."""

    ask: Callable[[str, Any], Any]
    """Gives the question, with a text wherever one can be; the folder is the test's own."""

    begin: Callable[[Any], Any]
    """Does something by keys that an answer has to have in it."""

    button: str
    """What Confirm says then."""

    begun: Callable[[Any], bool]
    """Whether an answer has it in it."""


def _table(text: str, _: Any) -> Any:
    df = pd.DataFrame({text: [text, "b"], "city": pd.Categorical([text, "c"])}, index=[text, "x"])
    return review(df, "Right?", drop=True, edit=["city"], people=ada)


def _code(text: str, _: Any) -> Any:
    return review_code(f"one\n{text} 2\n", "Right?", before=f"zero\n{text}\n", language="sql", people=ada)


def _sql(text: str, folder: Any) -> Any:
    # A name with a slash is no table to a parser.
    name, quoted = text.replace('"', '""').replace("/", ""), text.replace("'", "''")
    shop = folder / "shop.sqlite"
    with sqlite3.connect(shop) as connection:
        connection.execute(f'CREATE TABLE IF NOT EXISTS "{name}" (id INTEGER, "{name}" TEXT)')
        connection.execute(f'INSERT INTO "{name}" VALUES (1, ?)', [text])
    connection.close()
    statement = f"SELECT *, '{quoted}' AS told FROM \"{name}\" -- {text}"
    card = partial(SqlReview, preview=shop)
    return interrupt("Right?", {"sql": statement, "params": {text: text}}, answer=bool, render=card, people=ada)


def _plan(text: str, _: Any) -> Any:
    steps = [{"description": text, text: text, "steps": [{"description": text}]}, {"description": "b"}]
    return review({"steps": steps, text: text}, "Right?", render=PlanReview, people=ada)


async def _drop_a_row(page: Any) -> None:
    await expect(page.get_by_role("rowheader").first).not_to_be_empty()
    await page.get_by_role("grid").focus()
    await page.keyboard.press("Space")


async def _leave_the_change(page: Any) -> None:
    await page.get_by_role("checkbox", name="Change 1 of 1").press("Space")


async def _look(page: Any) -> None:
    await expect(page.get_by_text("first rows")).to_be_visible()


async def _move_the_step(page: Any) -> None:
    await page.get_by_role("checkbox").first.press("Alt+ArrowDown")


CASES = {
    "table": Case(_table, _drop_a_row, "Confirm: keep 1 of 2 rows", lambda df: len(df) == 1),
    "code": Case(_code, _leave_the_change, "Confirm 0 of 1 changes", lambda text: text.startswith("zero")),
    "sql": Case(_sql, _look, "Confirm", lambda answer: answer is True),
    "plan": Case(_plan, _move_the_step, "Confirm 3 of 3 steps", lambda plan: plan["steps"][0]["description"] == "b"),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


async def test_it_is_answered_by_keys_alone(cards, case, tmp_path):
    async with halves(cards, case.ask("a", tmp_path)) as both:
        await case.begin(cards.page)
        await expect(cards.button(case.button)).to_be_visible()
        await cards.button(case.button).focus()
        await cards.page.keyboard.press("Enter")
        assert case.begun(await both.question)


async def test_what_was_begun_is_there_after_a_reload(cards, case, tmp_path):
    async with halves(cards, case.ask("a", tmp_path)) as both:
        await case.begin(cards.page)
        await expect(cards.button(case.button)).to_be_visible()
        await cards.wait(500)
        await both.connect()
        await expect(cards.button(case.button)).to_be_visible()
        await cards.settled()
        await cards.button(case.button).click()
        assert case.begun(await both.question)


async def test_of_two_tabs_one_answers_and_the_other_says_what_counts(cards, case, tmp_path):
    async with halves(cards, case.ask("a", tmp_path)) as both:
        await cards.run("run.addView('el2')")
        first, second = cards.page.locator("#el"), cards.page.locator("#el2")
        await expect(second.get_by_role("button", name="Confirm")).to_be_visible()
        await cards.settled()
        await expect(cards.page.locator("[data-resting]")).to_have_count(0)
        await second.get_by_role("button", name="Confirm").click()
        await asyncio.wait_for(both.question, 20)
        for view in (first, second):
            await expect(view.locator(".hitl-decided")).to_be_visible()
            await expect(view.get_by_role("button", name="Confirm")).to_have_count(0)


async def test_after_a_restart_it_can_be_read_and_not_be_answered(cards, case, tmp_path):
    async with halves(cards, case.ask("a", tmp_path)) as both:
        await case.begin(cards.page)
        await expect(cards.button(case.button)).to_be_visible()
        await cards.settled()  # a reply that is still on its way would come after the end
        await cards.run("run.model.disconnect()")
        await expect(cards.text("Disconnected from the kernel")).to_be_visible()
        await expect(cards.page.locator(".hitl-primary")).to_be_disabled()
        assert not both.call.decided


async def test_its_record_is_read_without_a_kernel_and_without_a_script(browser, cards, case, tmp_path):
    async with halves(cards, case.ask(HOSTILE, tmp_path)) as both:
        await case.begin(cards.page)
        await cards.page.locator(".hitl-primary").click()
        await both.question
        kept = bundle([(CallEntry(key=both.call.occurrence, call=both.call), record_of_call(both.call))])
    page = await browser.new_page()
    await page.set_content(kept["text/html"])
    await expect(page.get_by_text("Right?")).to_be_visible()
    await expect(page.get_by_text("by Ada")).to_be_visible()
    assert await page.evaluate("window.owned") is None
    assert await page.locator("img, script, svg, a").count() == 0
    await page.close()


async def test_no_text_of_it_becomes_code_or_an_element(cards, case, tmp_path):
    async with halves(cards, case.ask(HOSTILE, tmp_path)) as both:
        await case.begin(cards.page)
        await expect(cards.page.locator("#el")).to_contain_text(HOSTILE)
        await cards.page.locator(".hitl-primary").click()
        await both.question
        await expect(cards.page.locator(".hitl-decided")).to_be_visible()
        assert await cards.run("window.owned") is None
        assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a)').length") == 0


@pytest.fixture(scope="module")
async def axed(browser):
    """A page with axe-core in it."""
    from tests.browser.conftest import Cards

    cards = Cards(await browser.new_page())
    await cards.load()
    await cards.page.evaluate(f"{axe()}; 0")
    yield cards
    await cards.page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_while_it_is_open_begun_declined_and_decided(axed, case, theme, tmp_path):
    await axed.page.evaluate(
        """async (theme) => {
          document.querySelectorAll("link[href='/light.css'], link[href='/dark.css']").forEach((link) => link.remove());
          document.body.dataset.jpThemeLight = String(theme === "light");
          await addStylesheet(`/${theme}.css`);
        }""",
        theme,
    )
    await axed.page.clock.resume()
    await axed.mount()
    async with halves(axed, case.ask("a", tmp_path)) as both:
        found = await violations(axed)
        await case.begin(axed.page)
        found += [*await violations(axed), *await unnamed(axed)]
        await axed.button("Decline").click()
        found += await violations(axed)
        await axed.button("Back").click()
        await axed.page.locator(".hitl-primary").click()
        await both.question
        await expect(axed.page.locator(".hitl-decided")).to_be_visible()
        found += await violations(axed)
    assert found == []
