"""A form in front of a person: what stands in its controls, and the edits that leave it."""

import math
import re
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import pytest
from playwright.async_api import expect
from pydantic import BaseModel, SecretStr

from hitl_nb._schema import apply_edits, validator_for
from tests.browser.forms import control, edits, form, menu, set_to, tree


def record(**types: Any) -> Any:
    """A JSON Schema of an object whose keys are all required, or a model of types."""
    if any(isinstance(each, dict) for each in types.values()):
        return {"type": "object", "properties": types, "required": list(types)}
    return type("Record", (BaseModel,), {"__annotations__": types})


ROUND_TRIPS = [
    (str, "two\nlines", "textbox", "two\nlines!", "two\nlines!"),
    (str, "ends\r\nof\r\nlines", "textbox", "ends\nof\nfile", "ends\r\nof\r\nfile"),
    (str, '<b>bold</b> & "quoted" 日本 \U0001f600', "textbox", "<i>", "<i>"),
    (str, "word " * 3_600, "textbox", "short", "short"),
    (int, 2**60 + 1, "textbox", str(2**60 + 3), 2**60 + 3),
    (int, -5, "textbox", "-6", -6),
    (float, 0.1, "textbox", "0.30000000000000004", 0.30000000000000004),
    (float, 1e-12, "textbox", "1e300", 1e300),
    (float, math.inf, "textbox", "-Infinity", -math.inf),
    (Decimal, Decimal("10.10"), "textbox", "10.100", Decimal("10.100")),
    (date, date(2024, 2, 29), "textbox", "2024-03-01", date(2024, 3, 1)),
    (time, time(10, 0), "textbox", "10:30", time(10, 30)),
    (datetime, datetime(2024, 2, 29, 10, 0, 30), "textbox", "2024-02-29T11:00:30", datetime(2024, 2, 29, 11, 0, 30)),
    (
        datetime,
        datetime(2024, 2, 29, 10, 0, 0, 250_001, tzinfo=UTC),
        "textbox",
        "2024-02-29T10:00:00.250002+00:00",
        datetime(2024, 2, 29, 10, 0, 0, 250_002, tzinfo=UTC),
    ),
    (timedelta, timedelta(hours=1, minutes=30), "textbox", "PT2H", timedelta(hours=2)),
    (SecretStr, SecretStr("hunter2"), "textbox", "hunter3", SecretStr("hunter3")),
]


@pytest.mark.parametrize(("type_", "value", "role", "typed", "expected"), ROUND_TRIPS, ids=lambda each: repr(each)[:24])
async def test_what_is_typed_is_what_python_gets_to_the_last_digit(cards, type_, value, role, typed, expected):
    spec = record(x=type_)
    await cards.put(form(spec, {"x": value}))
    await control(cards, "X").fill(typed)
    sent = await edits(cards)
    assert [edit["path"] for edit in sent] == [["x"]]
    result = validator_for(spec).validate(apply_edits({"x": value}, sent, form=tree(spec)))
    assert repr(result.x) == repr(expected)


@pytest.mark.parametrize(("type_", "value"), [row[:2] for row in ROUND_TRIPS], ids=lambda each: repr(each)[:24])
async def test_untouched_nothing_is_sent(cards, type_, value):
    await cards.put(form(record(x=type_), {"x": value}))
    assert await edits(cards) == []


async def test_what_was_typed_and_taken_back_is_no_edit(cards):
    await cards.put(form(record(x=str, n=int), {"x": "one", "n": 2**60 + 1}))
    for label, other, first in (("X", "two", "one"), ("N", "3", str(2**60 + 1))):
        box = control(cards, label)
        await box.fill(other)
        await expect(cards.button("Confirm changes")).to_be_visible()
        await box.fill(first)
        await expect(cards.button("Confirm")).to_be_visible()
    assert await edits(cards) == []


async def test_reset_takes_everything_back(cards):
    await cards.put(form(record(x=str), {"x": "one"}))
    await expect(cards.button("Reset")).to_have_count(0)
    await control(cards, "X").fill("two")
    await cards.button("Reset").click()
    await expect(control(cards, "X")).to_have_value("one")
    await expect(cards.button("Confirm")).to_be_focused()
    assert await edits(cards) == []


async def test_up_to_five_choices_are_radio_buttons_and_more_a_list(cards):
    few, many = {"enum": [*"abcde"]}, {"enum": [*"abcdef"]}
    await cards.put(form(record(few=few, many=many), {"few": "a", "many": "a"}))
    await expect(cards.page.get_by_role("radio")).to_have_count(5)
    await cards.page.get_by_role("radio", name="e").check()
    await cards.page.get_by_role("combobox", name="many").select_option("f")
    assert await edits(cards) == [set_to("e", "few"), set_to("f", "many")]


async def test_a_choice_keeps_the_type_of_its_values(cards):
    await cards.put(form(record(x={"enum": ["1", 1, True, None, 1.5]}), {"x": 1}))
    labels = await cards.page.get_by_role("radio").evaluate_all("(all) => all.map((box) => box.labels[0].textContent)")
    assert labels == ["1", "1", "true", "1.5", "null"]
    await cards.page.get_by_role("radio").nth(2).check()
    assert await edits(cards) == [set_to(True, "x")]


async def test_yes_or_no_is_a_box_where_it_must_be_there(cards):
    await cards.put(form(record(x=bool), {"x": True}))
    await cards.page.get_by_role("checkbox", name="X").uncheck()
    assert await edits(cards) == [set_to(False, "x")]


async def test_yes_or_no_that_may_be_missing_or_null_has_a_button_for_each(cards):
    schema = {"type": "object", "properties": {"x": {"type": ["boolean", "null"]}}}
    await cards.put(form(schema, {"x": None}))
    group = cards.page.get_by_role("radiogroup", name="x")
    assert await group.get_by_role("radio").evaluate_all("(all) => all.map((box) => box.labels[0].textContent)") == [
        *("Yes", "No", "null", "left out"),
    ]
    await expect(group.get_by_role("radio", name="null")).to_be_checked()
    await group.get_by_role("radio", name="left out").check()
    assert await edits(cards) == [{"path": ["x"], "op": "unset"}]


async def test_an_optional_field_can_be_set_and_left_out(cards):
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "string"}}}
    await cards.put(form(schema, {"c": "there"}))
    await control(cards, "a").fill("now")
    await control(cards, "b").fill("5")
    await menu(cards, "c").select_option("left out")
    assert await edits(cards) == [
        set_to("now", "a"),
        set_to({"$": "number", "text": "5"}, "b"),
        {"path": ["c"], "op": "unset"},
    ]


async def test_an_empty_text_is_not_the_same_as_none(cards):
    schema = {"properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string"}}}
    await cards.put(form(schema, {"b": "there"}))
    await menu(cards, "a").select_option("filled in")
    await control(cards, "b").fill("")
    await control(cards, "c").fill("typed")
    await control(cards, "c").fill("")
    assert await edits(cards) == [set_to("", "a"), set_to("", "b")]


async def test_null_has_a_control_of_its_own(cards):
    spec = record(x={"type": ["string", "null"]}, y={"type": ["integer", "null"]}, z={"type": ["string", "null"]})
    await cards.put(form(spec, {"x": "there", "y": 5, "z": None}))
    await menu(cards, "x").select_option("null")
    await control(cards, "y").fill("")
    await control(cards, "z").fill("no longer")
    assert await edits(cards) == [set_to(None, "x"), set_to(None, "y"), set_to("no longer", "z")]


async def test_what_was_there_comes_back_after_null(cards):
    await cards.put(form(record(x={"type": ["string", "null"]}), {"x": "there"}))
    await menu(cards, "x").select_option("null")
    await menu(cards, "x").select_option("filled in")
    await expect(control(cards, "x")).to_have_value("there")
    assert await edits(cards) == []


async def test_a_constant_is_shown_and_cannot_be_changed(cards):
    await cards.put(form(record(x={"const": "fixed"}), {"x": "fixed"}))
    await expect(control(cards, "x")).to_have_text("fixed")
    assert await edits(cards) == []


async def test_a_secret_is_never_shown_and_can_be_typed_anew(cards):
    item = form(record(token={"type": "string", "format": "password"}), {"token": "s3cret"})
    assert "s3cret" not in str(item)
    await cards.put(item)
    box = control(cards, "token")
    await expect(box).to_have_attribute("type", "password")
    await expect(box).to_have_value("")
    await box.fill("new")
    await box.fill("")
    assert await edits(cards) == []


async def test_enter_in_one_line_adds_no_line(cards):
    await cards.put(form(record(x=str), {"x": "one"}))
    await control(cards, "X").focus()
    await cards.page.keyboard.press("End")
    await cards.page.keyboard.press("Enter")
    await expect(control(cards, "X")).to_have_value("one")
    await cards.page.keyboard.press("Shift+Enter")
    await cards.page.keyboard.type("two")
    assert await edits(cards) == [set_to("one\ntwo", "x")]


async def test_long_text_grows_and_keeps_every_line(cards):
    text = "\n".join(f"line {number}" for number in range(12))
    await cards.put(form(record(x=str, y=str), {"x": "one", "y": text}))
    heights = [(await control(cards, name).bounding_box())["height"] for name in ("X", "Y")]
    assert heights[1] > 5 * heights[0]
    await expect(control(cards, "Y")).to_have_value(text)


@pytest.mark.parametrize("value", [{"a": [1, {"b": None}]}, [1.5, "x"], "text", 2**60 + 1, None, {"10": 1, "9": 2}])
async def test_anything_is_a_box_of_json(cards, value):
    await cards.put(form(record(x={}), {"x": value}))
    box = control(cards, "x")
    text = await box.input_value()
    await box.fill(f"[{text}, NaN]")
    sent = await edits(cards)
    assert sent == [set_to({"$": "json", "text": f"[{text}, NaN]"}, "x")]
    edited = apply_edits({"x": value}, sent, form=tree(record(x={})))["x"]
    assert edited[0] == value
    assert math.isnan(edited[1])


async def test_json_is_checked_while_it_is_typed(cards):
    await cards.put(form(record(x={}), {"x": {"a": 1}}))
    box = control(cards, "x")
    await box.fill("[oops]")
    await expect(cards.text("This is not JSON: a bracket or a quote may be missing.")).to_be_visible()
    await box.fill('{"a": NaN, 1')
    await expect(cards.text("This is not JSON: look at line 1, character 12.")).to_be_visible()
    await expect(box).to_have_attribute("aria-invalid", "true")
    await cards.button("Confirm changes").click()
    await expect(cards.alert).to_have_text("Please look at the marked fields.")
    await expect(box).to_be_focused()
    assert await cards.sent("respond") == []
    await box.fill('{"a": 2}')
    await expect(cards.text("This is not JSON")).to_have_count(0)
    await expect(cards.alert).to_have_count(0)
    assert await edits(cards) == [set_to({"$": "json", "text": '{"a": 2}'}, "x")]


@pytest.mark.parametrize("text", ["three", "1,5", "1.2.3", "", "--1"])
async def test_what_is_no_number_is_said_at_once_and_not_sent(cards, text):
    await cards.put(form(record(x=float, y=str), {"x": 1.5, "y": "a"}))
    await control(cards, "X").fill(text)
    await expect(control(cards, "X")).to_have_attribute("aria-invalid", "true")
    await control(cards, "Y").fill("b")
    await cards.button("Confirm changes").click()
    await expect(control(cards, "X")).to_be_focused()
    assert await cards.sent("respond") == []


async def test_a_half_typed_date_is_not_sent(cards):
    await cards.put(form(record(x=date), {"x": date(2024, 2, 29)}))
    await control(cards, "X").focus()
    await cards.page.keyboard.press("Delete")
    await cards.button("Confirm changes").click()
    await expect(cards.text("This is not complete.")).to_be_visible()
    assert await cards.sent("respond") == []


UNION = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "array", "items": {"type": "string"}}]}


async def test_a_union_has_a_switch_and_remembers_what_was_in_each_form(cards):
    await cards.put(form(record(x=UNION), {"x": "seven"}))
    switch = cards.page.get_by_role("combobox", name="Type x")
    await switch.select_option("Whole number")
    await cards.page.get_by_role("textbox", name="x").fill("7")
    await switch.select_option("Text")
    await expect(cards.page.get_by_role("textbox", name="x")).to_have_value("seven")
    await expect(cards.button("Confirm")).to_be_visible()
    await switch.select_option("Whole number")
    assert await edits(cards) == [set_to({"$": "number", "text": "7"}, "x")]


async def test_a_form_of_a_union_that_is_empty_is_not_sent(cards):
    await cards.put(form(record(x=UNION), {"x": "seven"}))
    await cards.page.get_by_role("combobox", name="Type x").select_option("Whole number")
    await cards.button("Confirm changes").click()
    await expect(cards.text("Nothing is entered here.")).to_be_visible()
    assert await cards.sent("respond") == []


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    breed: str


async def test_the_property_that_tells_the_forms_apart_is_sent_along(cards):
    spec = record(pet=Cat | Dog)
    await cards.put(form(spec, {"pet": {"kind": "cat", "lives": 3}}))
    await cards.page.get_by_role("combobox", name="Type Pet").select_option("Dog")
    await control(cards, "Breed").fill("Pug")
    sent = await edits(cards)
    assert sent == [set_to({"kind": "dog", "breed": "Pug"}, "pet")]
    changed = apply_edits({"pet": {"kind": "cat", "lives": 3}}, sent, form=tree(spec))
    assert validator_for(spec).validate(changed).pet == Dog(breed="Pug")


async def test_an_edit_inside_a_union_changes_only_its_place(cards):
    await cards.put(form(record(pet=Cat | Dog), {"pet": Dog(breed="Pug")}))
    await control(cards, "Breed").fill("Poodle")
    assert await edits(cards) == [set_to("Poodle", "pet", "breed")]


async def test_a_nested_object_that_is_not_there_can_be_set_and_taken_away_again(cards):
    inner = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    await cards.put(form({"properties": {"home": inner, "work": inner}}, {"work": {"city": "Bern"}}))
    await menu(cards, "home").select_option("filled in")
    await cards.page.get_by_role("group", name="home").get_by_role("textbox").fill("Basel")
    await menu(cards, "work").select_option("left out")
    assert await edits(cards) == [set_to({"city": "Basel"}, "home"), {"path": ["work"], "op": "unset"}]


async def test_a_value_that_its_control_cannot_show_is_shown_as_json(cards):
    spec = record(day={"type": "string", "format": "date"}, n={"type": "integer"})
    await cards.put(form(spec, {"day": "tomorrow", "n": [1]}))
    await expect(control(cards, "day")).to_have_value('"tomorrow"')
    await expect(control(cards, "n")).to_have_value("[1]")
    assert await edits(cards) == []


async def test_keys_that_the_form_does_not_know_are_there_all_the_same(cards):
    await cards.put(form(record(a=str), {"a": "x", "extra": {"deep": 1}, "": "nameless"}))
    await expect(control(cards, "extra")).to_have_value('{"deep": 1}')
    await expect(control(cards, '""')).to_have_value('"nameless"')
    await menu(cards, "extra").select_option("left out")
    assert await edits(cards) == [{"path": ["extra"], "op": "unset"}]


KEY = re.compile("^Key")
AWKWARD = {"__proto__": 1, "10": 2, "9": 3, "": 4, "$": 5, "constructor": 6}


async def test_awkward_keys_are_keys_like_others(cards):
    spec = record(x={"type": "object", "additionalProperties": {"type": "integer"}})
    await cards.put(form(spec, {"x": AWKWARD}))
    keys = await cards.page.get_by_role("textbox", name=KEY).evaluate_all("(all) => all.map((key) => key.value)")
    assert keys == list(AWKWARD)
    await cards.page.locator(".hitl-item [data-kind=integer]").first.fill("7")
    sent = await edits(cards)
    changed = apply_edits({"x": AWKWARD}, sent, form=tree(spec))["x"]
    assert changed == {**AWKWARD, "__proto__": 7}
    assert list(changed) == list(AWKWARD)


async def test_two_fields_of_one_title_are_told_apart(cards):
    spec = record(a={"type": "string", "title": "Name"}, b={"type": "string", "title": "Name"})
    await cards.put(form(spec, {"a": "x", "b": "y"}))
    await control(cards, "Name (b)").fill("z")
    assert await edits(cards) == [set_to("z", "b")]


async def test_a_field_says_what_the_schema_says_about_it(cards):
    schema = {"type": "integer", "description": "How many.", "minimum": 1, "exclusiveMaximum": 9, "default": 3}
    await cards.put(form({"properties": {"n": schema}}, {"n": 3}))
    box = control(cards, "n")
    await expect(box).to_have_accessible_description("How many. at least 1 · less than 9 · default 3")


@pytest.mark.parametrize(
    ("type_", "typed", "value"),
    [(int, "7", {"$": "number", "text": "7"}), (str, "seven", "seven"), (Any, "[1]", {"$": "json", "text": "[1]"})],
)
async def test_a_form_may_be_of_one_value(cards, type_, typed, value):
    await cards.put(form(type_, None, mode="answer"))
    await cards.page.get_by_role("textbox", name="Value").fill(typed)
    assert await edits(cards) == [set_to(value)]


async def test_the_menu_of_a_field_goes_by_keys_and_keeps_the_focus(cards):
    await cards.put(form(record(x={"type": ["string", "null"]}), {"x": "there"}))
    await control(cards, "x").focus()
    await cards.page.keyboard.press("Tab")
    await expect(menu(cards, "x")).to_be_focused()
    await cards.page.keyboard.press("n")
    await expect(menu(cards, "x")).to_have_value("1")
    await expect(menu(cards, "x")).to_be_focused()
    assert await edits(cards) == [set_to(None, "x")]


async def test_what_the_browser_can_know_is_said_while_one_types_and_gone_when_corrected(cards):
    schema = {
        "properties": {
            "code": {"type": "string", "minLength": 2, "maxLength": 4},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
            "seats": {"type": "integer", "multipleOf": 2},
        },
        "required": ["code", "tags", "seats"],
    }
    await cards.put(form(schema, {"code": "ab", "tags": ["x"], "seats": 2}))
    for label, wrong, words, right in (
        ("code", "a", "At least 2 characters.", "abc"),
        ("code", "a\U0001f600bcd", "At most 4 characters.", "\U0001f600bcd"),
        ("seats", "3", "In steps of 2.", "4"),
    ):
        await control(cards, label).fill(wrong)
        await expect(cards.text(words)).to_be_visible()
        await control(cards, label).fill(right)
        await expect(cards.text(words)).to_be_hidden()
    await cards.button("Add tags").click()
    await expect(cards.text("At most 1 item.")).to_be_visible()
    await cards.page.get_by_role("button", name="Remove tags 2").click()
    await expect(cards.text("At most 1 item.")).to_be_hidden()


async def test_an_empty_form_is_not_wrong_before_anybody_has_come(cards):
    spec = record(name={"type": "string", "minLength": 2}, tags={"type": "array", "items": {}, "minItems": 1})
    await cards.put(form(spec, None, mode="answer"))
    await expect(cards.page.locator(".hitl-wrong:visible")).to_have_count(0)
    await cards.button("Confirm").click()
    await expect(cards.page.locator(".hitl-wrong:visible")).to_have_text(["At least 1 item."])


async def test_what_was_corrected_is_not_wrong_again_in_another_view(cards):
    told = [{"path": ["n"], "message": "Not that one."}]
    await cards.put(form(record(n=int), {"n": 5}, errors=told))
    await expect(cards.text("Not that one.")).to_be_visible()
    await control(cards, "N").fill("6")
    await expect(cards.text("Not that one.")).to_be_hidden()
    await cards.run("run.addView('el2')")
    await cards.put(form(record(n=int), {"n": 5}, errors=told, warning="Look."))
    await expect(cards.page.locator(".hitl-wrong:visible")).to_have_count(0)
