"""The grid of a table: real pages from the kernel's half, by keys alone and by mouse, also after a reload."""

import pandas as pd
import polars as pl
import pytest
from playwright.async_api import expect

from hitl_nb import review, review_table
from hitl_nb.errors import ChangedWhileWaiting
from tests.browser.access import begin_with_axe, violations
from tests.browser.halves import Reader, halves

HOSTILE = "<img src=x onerror=window.hacked=1>"
ada = Reader()


@pytest.fixture
def df():
    return pd.DataFrame(
        {
            "income": [float(n * 100) for n in range(200)],
            "city": pd.Categorical([["Berlin", HOSTILE, "a\u202eb"][n % 3] for n in range(200)]),
            HOSTILE: [HOSTILE] * 199 + ["a\u202eb"],
        }
    )


class Grid:
    """What a person sees of the grid, and does with it."""

    def __init__(self, cards, both):
        self.page, self.both = cards.page, both
        self.el = self.page.get_by_role("grid")

    async def ready(self):
        await expect(self.page.locator("[data-waiting]")).to_have_count(0)
        await expect(self.page.get_by_role("rowheader").first).not_to_be_empty()

    async def press(self, *keys):
        for key in keys:
            await self.page.keyboard.press(key)

    def row(self, number):
        return self.el.get_by_role("row").filter(has=self.page.get_by_role("rowheader", name=f"{number}", exact=True))

    def confirm(self, text="Confirm"):
        return self.page.get_by_role("button", name=text)


async def grid_of(cards, both):
    grid = Grid(cards, both)
    await grid.ready()
    return grid


async def test_by_keys_alone_rows_go_and_a_cell_changes(cards, df):
    async with halves(cards, review_table(df, "Drop?", drop=True, edit=["income", "city"], people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("ArrowDown", "Shift+ArrowDown", "Space")  # rows 1 and 2
        await expect(grid.confirm("Confirm: keep 198 of 200 rows")).to_be_visible()
        await grid.press("Control+End", "Home", "ArrowRight")
        await grid.ready()
        await grid.press("Enter")
        await cards.page.keyboard.type("41200")
        await grid.press("Enter")
        await expect(grid.confirm("Confirm: keep 198 of 200 rows, change 1 cell")).to_be_visible()
        await expect(cards.page.locator("[data-changed] s")).to_have_text("19900.0")
        await grid.press("Control+z", "Control+z")
        await expect(grid.confirm("Confirm")).to_have_text("Confirm")
        await grid.press("Control+Home", "Space")
        await expect(grid.confirm("Confirm: keep 199 of 200 rows")).to_be_visible()
        await grid.confirm().press("Enter")
        answer = await both.question
    assert answer.keep.tolist() == [False] + [True] * 199
    assert answer.changes == []


async def test_outliers_of_two_hundred_rows_are_dropped_in_six_actions(cards, df):
    async with halves(cards, review(df, "Drop the outliers?", drop=True, people=ada)) as both:
        grid = await grid_of(cards, both)
        actions = 0
        await grid.el.focus()
        for act in (
            lambda: grid.press("/"),
            lambda: cards.page.keyboard.type("15000"),
            lambda: grid.press("Enter"),
            lambda: cards.page.get_by_role("button", name="Drop all 49 shown").click(),
            lambda: grid.confirm("Confirm: keep 151 of 200 rows").click(),
        ):
            await act()
            actions += 1
        kept = await both.question
    print(f"outliers of 200 rows: {actions} actions")
    assert actions <= 6
    assert kept.income.max() == 15000
    assert list(kept.index) == list(range(151))


async def test_one_of_a_list_of_values_is_looked_for_and_taken_back(cards):
    places = ["Berlin", "Paris, Texas", "Rome", 'a "b"'] * 50
    df = pd.DataFrame({"place": places, "n": range(200)})
    async with halves(cards, review(df, drop=True, people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("/")
        await cards.page.get_by_role("combobox", name="Condition").select_option("is one of")
        await cards.page.get_by_role("textbox", name="Value").fill('Rome,, "Paris, Texas", a "b"')
        await grid.press("Enter")
        chip = cards.page.get_by_text('place is one of Rome, "Paris, Texas", a "b"')
        await expect(chip).to_be_visible()
        await cards.page.get_by_role("button", name="Drop all 150 shown").click()
        await grid.el.focus()
        await grid.press("Control+z", "/")
        await expect(grid.confirm()).to_have_text("Confirm")
        await cards.page.get_by_role("combobox", name="Column").select_option("n")
        await cards.page.get_by_role("combobox", name="Condition").select_option("is one of")
        await cards.page.get_by_role("textbox", name="Value").fill("1, two")
        await grid.press("Enter")
        await expect(cards.page.get_by_role("alert").filter(has_text="`two` is not a whole number")).to_be_visible()
        await cards.page.get_by_role("textbox", name="Value").fill("1, 2, 5")
        await cards.page.get_by_role("button", name="Filter").click()
        await cards.page.get_by_role("button", name="Drop all 3 shown").click()
        await grid.confirm("Confirm: keep 197 of 200 rows").click()
        kept = await both.question
    assert sorted(set(range(200)) - set(kept.n)) == [1, 2, 5]


async def test_by_mouse_a_row_goes_and_a_column_is_sorted(cards, df):
    async with halves(cards, review(df, drop=True, people=ada)) as both:
        grid = await grid_of(cards, both)
        head = cards.page.get_by_role("columnheader", name="income")
        await head.click()
        await head.click()
        await expect(head).to_have_attribute("aria-sort", "descending")
        await expect(cards.page.get_by_role("rowheader").first).to_have_text("✓ 199")
        await cards.page.get_by_role("rowheader").nth(1).dblclick()
        await expect(cards.page.get_by_role("rowheader").nth(1)).to_have_text("✕ 198")
        await grid.confirm("Confirm: keep 199 of 200 rows").click()
        kept = await both.question
    assert 198 not in kept.index
    assert list(kept.index) == [n for n in range(200) if n != 198]  # sorting is for looking


async def test_the_whole_length_can_be_reached(cards):
    df = pl.DataFrame({"n": range(1_000_000)})
    async with halves(cards, review(df, people=ada)) as both:
        grid = await grid_of(cards, both)
        await expect(grid.el).to_have_attribute("aria-rowcount", "1000001")
        await grid.el.focus()
        await grid.press("Control+End")
        await expect(cards.page.get_by_role("rowheader").last).to_have_text("999999")
        await grid.el.evaluate("el => el.scrollTop = el.scrollHeight / 2")
        await expect(cards.page.get_by_role("rowheader").first).not_to_have_text("999988")
        await grid.ready()
        middle = await cards.page.get_by_role("rowheader").first.text_content()
        assert abs(int(middle) - 500_000) < 200
        await grid.el.evaluate("el => el.scrollTop = el.scrollHeight")
        await expect(cards.page.get_by_role("rowheader").last).to_have_text("999999")
        assert await cards.page.locator(".hitl-run *").count() < 400
        await grid.confirm().click()
        assert await both.question is df


async def test_markup_stays_text_wherever_it_stands(cards, df):
    async with halves(cards, review(df, drop=True, edit=["city", HOSTILE], people=ada)) as both:
        grid = await grid_of(cards, both)
        await expect(cards.page.get_by_role("columnheader", name=HOSTILE)).to_have_count(1)
        await grid.el.focus()
        await grid.press("End", "i", "Enter")
        await cards.page.get_by_role("textbox", name=f"{HOSTILE}, row 0").fill(HOSTILE + "2")
        await grid.press("Enter")
        await cards.page.get_by_role("button", name="Changes (1)").click()
        await expect(cards.page.get_by_role("listitem")).to_have_text(f'row 0 · {HOSTILE}: "{HOSTILE}" → "{HOSTILE}2"')
        await grid.press("Control+End")
        assert "\u202e" not in await cards.page.locator(".hitl-run").inner_text()
        assert await cards.page.locator(".hitl-run img").count() == 0
        await grid.confirm("Confirm: change 1 cell").click()
        await both.question
        assert await cards.page.locator(".hitl-run img").count() == 0
        assert await cards.run("window.hacked") is None


async def test_a_category_is_chosen_and_hidden_characters_are_typed_as_they_are_shown(cards, df):
    async with halves(cards, review_table(df, edit=["city", HOSTILE], people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("ArrowRight", "Enter")
        await cards.page.get_by_role("combobox", name="city, row 0").select_option("2")
        await grid.press("Enter")
        await grid.press("Control+End", "End")
        await grid.ready()
        await grid.press("Enter")
        box = cards.page.get_by_role("textbox", name=f"{HOSTILE}, row 199")
        await expect(box).to_have_value('"a\\u202eb"')
        await box.fill('"a\\u202ec"')
        await grid.press("Enter")
        await grid.confirm("Confirm: change 2 cells").click()
        answer = await both.question
    assert [change[-1] for change in answer.changes] == ["a\u202eb", "a\u202ec"]


async def test_a_text_may_have_several_lines(cards, df):
    async with halves(cards, review_table(df, edit=[HOSTILE], people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("End", "Enter")
        await cards.page.keyboard.type("one")
        await grid.press("Shift+Enter")
        await cards.page.keyboard.type("two")
        await grid.press("Enter")
        await expect(cards.page.locator("[data-changed] b")).to_have_text("one ⏎ two")
        await grid.confirm("Confirm: change 1 cell").click()
        answer = await both.question
    assert answer.changes[0].after == "one\ntwo"


async def test_what_a_column_cannot_hold_is_refused_beside_the_grid(cards, df):
    async with halves(cards, review(df, edit=["income"], people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("Enter")
        await cards.page.keyboard.type("many")
        await grid.press("Enter")
        await expect(cards.page.get_by_role("alert").filter(has_text="not a number")).to_be_visible()
        await expect(cards.page.locator("[data-changed]")).to_have_count(0)
        await expect(cards.page.get_by_role("gridcell").first).to_have_text("0.0")
        await grid.confirm().click()
        assert await both.question is df


async def test_a_reload_and_a_second_view_show_what_was_done(cards, df):
    async with halves(cards, review(df, drop=True, people=ada)) as both:
        grid = await grid_of(cards, both)
        await grid.el.focus()
        await grid.press("Space")
        await expect(grid.confirm("Confirm: keep 199 of 200 rows")).to_be_visible()
        await both.connect()
        await grid.ready()
        await expect(cards.page.get_by_role("rowheader").first).to_have_text("✕ 0")
        await grid.confirm("Confirm: keep 199 of 200 rows").click()
        assert len(await both.question) == 199


async def test_two_views_show_what_is_done_in_either(cards, df):
    async with halves(cards, review(df, drop=True, people=ada)) as both:
        await grid_of(cards, both)
        await cards.run("run.addView('el2')")
        first, second = (cards.page.locator(f"#{view} [role=rowheader]").nth(0) for view in ("el", "el2"))
        await expect(second).to_have_text("✓ 0")
        await first.dblclick()
        for row in (first, second):
            await expect(row).to_have_text("✕ 0")
        await second.dblclick()
        for row in (first, second):
            await expect(row).to_have_text("✓ 0")
        await cards.page.locator("#el2").get_by_role("button", name="Confirm", exact=True).click()
        assert await both.question is df


async def test_a_message_that_is_lost_is_asked_for_again(cards, df):
    async with halves(cards, review(df, drop=True, people=ada)) as both:
        grid = await grid_of(cards, both)
        both.lose(2)  # that the item has changed, and the reply
        await grid.el.focus()
        await grid.press("Space")
        await expect(cards.page.get_by_role("rowheader").first).to_have_text("✕ 0")
        await grid.confirm().click()
        await expect(cards.page.get_by_role("alert").filter(has_text="still on its way")).to_be_visible()
        await cards.wait(2_000)
        await expect(grid.confirm("Confirm: keep 199 of 200 rows")).to_be_visible()
        await grid.confirm().click()
        assert len(await both.question) == 199


async def test_a_frame_that_code_has_changed_is_not_approved(cards, df):
    async with halves(cards, review(df, people=ada)) as both:
        grid = await grid_of(cards, both)
        df.loc[0, "income"] = -1.0
        await grid.confirm().click()
        with pytest.raises(ChangedWhileWaiting):
            await both.question


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_axe_finds_nothing_while_looking_editing_and_reading(blank, df, theme):
    await begin_with_axe(blank, theme)
    async with halves(blank, review(df, drop=True, edit=["income"], people=ada)) as both:
        grid = await grid_of(blank, both)
        await blank.page.clock.resume()
        found = await violations(blank)
        await grid.el.focus()
        await grid.press("Space", "ArrowDown", "Enter")
        found += await violations(blank)
        await blank.page.keyboard.type("5")
        await grid.press("Enter", "i")
        await blank.page.get_by_role("button", name="Changes (1)").click()
        found += await violations(blank)
    assert found == []
