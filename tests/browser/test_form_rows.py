"""Lists, tables and entries: added, taken away, put in order, found, picked and set together."""

import re
from typing import Literal

import pytest
from playwright.async_api import expect
from pydantic import BaseModel

from hitl_nb._schema import apply_edits, validator_for
from tests.browser.forms import control, edits, form, set_to, tree


class Tags(BaseModel):
    tags: list[str]


class Stage(BaseModel):
    name: str
    status: Literal["on", "off"] = "on"
    days: int | None = None


class Plan(BaseModel):
    stages: list[Stage]


class Limits(BaseModel):
    limits: dict[str, int]


def plan(count: int) -> dict[str, object]:
    return {"stages": [{"name": f"Stage {number}"} for number in range(1, count + 1)]}


def items(cards):
    return cards.page.get_by_role("listitem")


def rows(cards):
    return cards.page.locator(".hitl-tr:not(.hitl-th, .hitl-set)").and_(cards.page.get_by_role("row"))


async def result(cards, model, value):
    """Confirm, make the edits on `value`, and give what is there then, with the edits."""
    sent = await edits(cards)
    return apply_edits(value, sent, form=tree(model)), sent


async def test_an_item_is_added_changed_and_taken_away(cards):
    value = {"tags": ["a", "b", "c"]}
    await cards.put(form(Tags, value))
    await cards.button("Add Tags").click()
    await cards.page.keyboard.type("d")
    await cards.button("Remove Tags 2").click()
    await cards.page.get_by_role("textbox", name="Tags 1").fill("A")
    changed, sent = await result(cards, Tags, value)
    assert changed == {"tags": ["A", "c", "d"]}
    assert sent == [
        {"path": ["tags", 1], "op": "remove"},
        {"path": ["tags", 2], "op": "add", "value": "d"},
        set_to("A", "tags", 0),
    ]


async def test_moving_an_item_keeps_the_focus_on_its_button(cards):
    value = {"tags": ["a", "b", "c"]}
    await cards.put(form(Tags, value))
    await cards.button("Move down Tags 1").focus()
    await cards.page.keyboard.press("Enter")
    await expect(cards.button("Move down Tags 2")).to_be_focused()
    await expect(cards.button("Move up Tags 1")).to_be_disabled()
    assert await edits(cards) == [{"path": ["tags", 1], "op": "move", "value": 0}]


async def test_what_was_moved_there_and_back_is_no_edit(cards):
    await cards.put(form(Tags, {"tags": ["a", "b", "c"]}))
    await cards.button("Move down Tags 1").click()
    await cards.button("Move down Tags 2").click()
    await cards.button("Move up Tags 3").click()
    await cards.button("Move up Tags 2").click()
    await cards.button("Add Tags").click()
    await cards.button("Remove Tags 4").click()
    await expect(cards.button("Confirm")).to_be_visible()
    assert await edits(cards) == []


async def test_removing_an_item_leaves_the_focus_in_the_list(cards):
    await cards.put(form(Tags, {"tags": ["a", "b"]}))
    await cards.button("Remove Tags 1").click()
    await expect(cards.page.get_by_role("textbox", name="Tags 1")).to_be_focused()
    await cards.button("Remove Tags 1").click()
    await expect(cards.button("Add Tags")).to_be_focused()
    assert await edits(cards) == [{"path": ["tags", 1], "op": "remove"}, {"path": ["tags", 0], "op": "remove"}]


async def test_removing_one_of_many_leaves_the_focus_beside_it(cards):
    await cards.put(form(Tags, {"tags": list("abcdefgh")}))
    await cards.button("Remove Tags 6").click()
    await expect(cards.page.get_by_role("textbox", name="Tags 6")).to_be_focused()
    await cards.button("Remove Tags 7").click()
    await expect(cards.page.get_by_role("textbox", name="Tags 6")).to_be_focused()


async def test_a_new_item_that_is_no_text_must_be_something(cards):
    await cards.put(form({"properties": {"n": {"type": "array", "items": {"type": "integer"}}}}, {"n": [1]}))
    await cards.button("Add n").click()
    await cards.button("Confirm changes").click()
    await expect(cards.page.get_by_role("textbox", name="n 2")).to_be_focused()
    assert await cards.sent("respond") == []
    await cards.page.keyboard.type("2")
    assert await edits(cards) == [{"path": ["n", 1], "op": "add", "value": {"$": "number", "text": "2"}}]


async def test_the_fixed_items_of_a_tuple_stay_and_the_rest_may_change(cards):
    schema = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "string"}}
    value = {"x": [1, "a", "b", "c"]}
    await cards.put(form({"properties": {"x": schema}}, value))
    await expect(cards.page.get_by_role("button", name=re.compile("^Remove"))).to_have_count(2)
    await expect(cards.button("Move up x 3")).to_be_disabled()
    await cards.button("Move up x 4").click()
    assert await edits(cards) == [{"path": ["x", 3], "op": "move", "value": 2}]


async def test_items_that_are_objects_are_groups_of_fields(cards):
    inner = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}
    value = {"x": [{"a": ["one"]}, {"a": []}]}
    await cards.put(form({"properties": {"x": {"type": "array", "items": inner}}}, value))
    second = cards.page.get_by_role("group", name="x 2")
    await second.get_by_role("button", name="Add a").click()
    await cards.page.keyboard.type("two")
    assert await edits(cards) == [{"path": ["x", 1, "a", 0], "op": "add", "value": "two"}]


async def test_entries_are_added_renamed_and_taken_away(cards):
    value = {"limits": {"a": 1, "b": 2, "c": 3}}
    await cards.put(form(Limits, value))
    await cards.page.get_by_role("textbox", name="Key b Limits").fill("B")
    await cards.button("Remove Limits Key a").click()
    await cards.button("Add Limits").click()
    await cards.page.keyboard.type("d")
    await cards.page.keyboard.press("Tab")
    await cards.page.keyboard.type("4")
    changed, sent = await result(cards, Limits, value)
    assert changed == {"limits": {"B": 2, "c": 3, "d": 4}}
    assert [edit["op"] for edit in sent] == ["remove", "move", "set"]


async def test_two_keys_can_change_places(cards):
    value = {"limits": {"a": 1, "b": 2}}
    await cards.put(form(Limits, value))
    await cards.page.get_by_role("textbox", name="Key a Limits").fill("c")
    await cards.page.get_by_role("textbox", name="Key b Limits").fill("a")
    await cards.page.get_by_role("textbox", name="Key c Limits").fill("b")
    changed, _ = await result(cards, Limits, value)
    assert changed == {"limits": {"b": 1, "a": 2}}


async def test_no_key_can_be_there_twice(cards):
    await cards.put(form(Limits, {"limits": {"a": 1, "b": 2}}))
    await cards.page.get_by_role("textbox", name="Key b Limits").fill("a")
    await expect(cards.text('The key "a" is there twice.')).to_be_visible()
    await cards.button("Confirm changes").click()
    assert await cards.sent("respond") == []


async def test_a_table_has_a_row_for_every_item_and_a_column_for_every_field(cards):
    await cards.put(form(Plan, plan(3)))
    table = cards.page.get_by_role("table", name="Stages")
    await expect(table.get_by_role("columnheader")).to_have_text(["Name", "Status", "Days"])
    await expect(rows(cards)).to_have_count(3)
    await expect(table.get_by_role("textbox", name="Name 2")).to_have_value("Stage 2")


async def test_a_cell_is_edited_in_its_place(cards):
    await cards.put(form(Plan, plan(3)))
    await cards.page.get_by_role("textbox", name="Name 2").fill("New")
    await cards.page.get_by_role("combobox", name="Status 3").select_option("off")
    await cards.page.get_by_role("textbox", name="Days 1").fill("4")
    assert await edits(cards) == [
        set_to({"$": "number", "text": "4"}, "stages", 0, "days"),
        set_to("New", "stages", 1, "name"),
        set_to("off", "stages", 2, "status"),
    ]


async def test_what_a_cell_may_be_besides_its_value_comes_with_the_focus(cards):
    await cards.put(form(Plan, {"stages": [{"name": "A", "days": 3}]}))
    menu = cards.page.get_by_role("combobox", name="What is here Days 1")
    await expect(menu).to_have_count(0)
    await cards.page.get_by_role("textbox", name="Days 1").focus()
    await cards.page.keyboard.press("Tab")
    await expect(menu).to_be_focused()
    await menu.select_option("null")
    await expect(cards.page.get_by_role("textbox", name="Days 1")).to_have_attribute("placeholder", "null")
    assert await edits(cards) == [set_to(None, "stages", 0, "days")]


async def test_a_row_is_added_and_its_first_cell_has_the_focus(cards):
    value = plan(2)
    await cards.put(form(Plan, value))
    await cards.button("Add Stages").click()
    await expect(cards.page.get_by_role("textbox", name="Name 3")).to_be_focused()
    await cards.page.keyboard.type("Last")
    changed, sent = await result(cards, Plan, value)
    assert sent == [{"path": ["stages", 2], "op": "add", "value": {"name": "Last"}}]
    assert validator_for(Plan).validate(changed).stages[2] == Stage(name="Last")


async def test_rows_are_moved_and_removed_one_by_one(cards):
    value = plan(3)
    await cards.put(form(Plan, value))
    await cards.button("Move down Stages 1").click()
    await cards.button("Remove Stages 3").click()
    changed, _ = await result(cards, Plan, value)
    assert [stage["name"] for stage in changed["stages"]] == ["Stage 2", "Stage 1"]


async def test_all_or_none_are_selected_at_once(cards):
    await cards.put(form(Plan, plan(3)))
    every = cards.box("Select all Stages")
    await every.check()
    await expect(cards.text("3 of 3 rows, 3 selected")).to_be_visible()
    await cards.box("Select Stages 2").uncheck()
    assert await every.evaluate("(box) => box.indeterminate")
    await every.check()
    await every.uncheck()
    await expect(cards.button("Remove selected Stages")).to_have_count(0)


async def test_what_is_set_goes_to_all_selected_rows(cards):
    value = plan(4)
    await cards.put(form(Plan, value))
    for number in (1, 3):
        await cards.box(f"Select Stages {number}").check()
    await cards.page.get_by_role("combobox", name="Set Status").select_option("off")
    await cards.page.get_by_role("textbox", name="Set Days").fill("7")
    changed, sent = await result(cards, Plan, value)
    assert {tuple(edit["path"][:2]) for edit in sent} == {("stages", 0), ("stages", 2)}
    assert [validator_for(Stage).validate(stage) for stage in changed["stages"]] == [
        Stage(name="Stage 1", status="off", days=7),
        Stage(name="Stage 2"),
        Stage(name="Stage 3", status="off", days=7),
        Stage(name="Stage 4"),
    ]


async def test_the_same_can_be_set_for_others_afterwards(cards):
    await cards.put(form(Plan, plan(4)))
    setting = cards.page.get_by_role("combobox", name="Set Status")
    for number in (1, 3):
        await cards.box(f"Select Stages {number}").check()
        await setting.select_option("off")
        await cards.box(f"Select Stages {number}").uncheck()
    assert [edit["path"] for edit in await edits(cards)] == [["stages", 0, "status"], ["stages", 2, "status"]]


async def test_selected_rows_are_removed_together(cards):
    value = plan(4)
    await cards.put(form(Plan, value))
    for number in (2, 4):
        await cards.box(f"Select Stages {number}").check()
    await cards.button("Remove selected Stages").click()
    await expect(cards.button("Add Stages")).to_be_focused()
    assert await edits(cards) == [{"path": ["stages", 3], "op": "remove"}, {"path": ["stages", 1], "op": "remove"}]


async def test_the_filter_finds_rows_and_what_is_done_reaches_only_these(cards):
    value = plan(12)
    await cards.put(form(Plan, value))
    await cards.page.get_by_role("searchbox", name="Filter Stages").fill("STAGE 1")
    await expect(cards.text("4 of 12 rows, 0 selected")).to_be_visible()
    await cards.box("Select all Stages").check()
    await cards.page.get_by_role("combobox", name="Set Status").select_option("off")
    await cards.page.get_by_role("searchbox", name="Filter Stages").fill("")
    changed, _ = await result(cards, Plan, value)
    off = [stage["name"] for stage in changed["stages"] if stage.get("status") == "off"]
    assert off == ["Stage 1", "Stage 10", "Stage 11", "Stage 12"]


async def test_a_row_that_holds_more_than_the_columns_is_shown_whole(cards):
    value = {"stages": [{"name": "A"}, {"name": "B", "extra": {"deep": 1}}, "no stage at all"]}
    await cards.put(form(Plan, value))
    await expect(control(cards, "extra")).to_have_value('{"deep": 1}')
    await expect(cards.page.get_by_role("textbox", name="3", exact=True)).to_have_value('"no stage at all"')
    assert await edits(cards) == []


async def test_a_new_row_is_there_whatever_the_filter(cards):
    await cards.put(form(Plan, plan(12)))
    await cards.page.get_by_role("searchbox", name="Filter Stages").fill("Stage 3")
    await cards.button("Add Stages").click()
    await expect(cards.page.get_by_role("textbox", name="Name 13")).to_be_focused()


@pytest.mark.parametrize("count", [200, 2_000])
async def test_many_rows_are_all_there_and_can_be_reached(cards, count):
    value = plan(count)
    await cards.put(form(Plan, value))
    await expect(rows(cards)).to_have_count(count)
    await rows(cards).last.locator("textarea").fill("The end")
    assert await edits(cards) == [set_to("The end", "stages", count - 1, "name")]


class Toppings(BaseModel):
    toppings: set[Literal["cheese", "olives", "basil"]]
    extra: set[Literal["salad", "bread"]] = set()


def tick(cards, name):
    return cards.page.get_by_role("checkbox", name=name, exact=True)


async def test_some_of_a_few_options_are_ticked_and_sent_in_their_order(cards):
    await cards.put(form(Toppings, {"toppings": []}, mode="answer"))
    await tick(cards, "basil").click()
    await tick(cards, "cheese").click()
    await tick(cards, "bread").click()
    await expect(cards.page.get_by_role("group", name="Toppings", exact=True).first).to_be_visible()
    changed, _ = await result(cards, Toppings, {"toppings": []})
    assert changed == {"toppings": ["cheese", "basil"], "extra": ["bread"]}


async def test_a_tick_is_taken_away_and_the_others_stay(cards):
    value = {"toppings": ["olives", "cheese"], "extra": ["salad"]}
    await cards.put(form(Toppings, value))
    await expect(tick(cards, "olives")).to_be_checked()
    await tick(cards, "olives").click()
    await tick(cards, "salad").click()
    changed, sent = await result(cards, Toppings, value)
    assert changed == {"toppings": ["cheese"], "extra": []}
    assert sent == [
        {"path": ["toppings", 0], "op": "remove"},
        {"path": ["extra", 0], "op": "remove"},
    ]


async def test_what_is_no_option_or_is_there_twice_keeps_its_rows(cards):
    schema = {
        "type": "object",
        "properties": {"tags": {"type": "array", "uniqueItems": True, "items": {"type": "string", "enum": ["a", "b"]}}},
        "required": ["tags"],
    }
    await cards.put(form(schema, {"tags": ["a", "gone"]}))
    await expect(cards.page.get_by_role("checkbox")).to_have_count(0)
    await expect(cards.button("Remove tags 2")).to_be_visible()


async def test_too_few_ticks_are_said_and_not_sent(cards):
    several = {
        "type": "array",
        "uniqueItems": True,
        "minItems": 2,
        "items": {"type": "string", "enum": ["a", "b", "c"]},
    }
    schema = {"type": "object", "properties": {"tags": several}, "required": ["tags"]}
    await cards.put(form(schema, {"tags": []}, mode="answer"))
    await tick(cards, "a").click()
    await expect(cards.page.locator(".hitl-wrong")).to_have_text("At least 2 items.")
    await tick(cards, "c").click()
    await expect(cards.page.locator(".hitl-wrong")).to_be_hidden()
    changed, _ = await result(cards, schema, {"tags": []})
    assert changed == {"tags": ["a", "c"]}
