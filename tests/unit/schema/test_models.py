"""The models that other form libraries lose values of, with every control touched once."""

import pytest

from hitl_nb._schema import to_wire
from tests.conformance.schema_browser import typed
from tests.conformance.schemas import differences
from tests.unit.schema import models
from tests.unit.schema.page import Page

ALL = pytest.mark.parametrize("sample", models.SAMPLES.values(), ids=models.SAMPLES)


@ALL
def test_untouched_is_the_identical_instance(sample):
    page = Page(type(sample), sample)

    assert page.resend() is sample
    assert page.resend_as_text() is sample


@ALL
def test_an_edit_of_one_control_changes_exactly_that_place(sample):
    page = Page(type(sample), sample)
    for leaf in list(page.browser.leaves())[:20]:
        if (new := typed(leaf)) is not None and not isinstance(leaf.wire, list):
            edited = page.edit("set", list(leaf.path), new)

            if leaf.node["kind"] == "secret":
                assert edited["password"] == "another"
            else:
                changed = differences(to_wire(sample), to_wire(edited))
                assert changed
                assert {path[: len(leaf.path)] for path in changed} == {leaf.path}


@ALL
def test_what_the_form_shows_is_valid_as_it_stands(sample):
    page = Page(type(sample), sample)
    names = [name for name, _ in page.form.children]
    shown = {name: page.edit("set", [name], page.browser.value[name]) for name in names}

    assert all(page.validator.validate(value) == sample for value in shown.values())


@pytest.mark.parametrize(
    ("model", "kinds"),
    {
        "M01": "text integer number boolean",
        "M04": "choice choice choice constant",
        "M05": "text integer number boolean",
        "M06": "union union",
        "M07": "table",
        "M08": "text object",
        "M09": "union",
        "M10": "dict",
        "M11": "date datetime time duration",
        "M13": "number number",
        "M14": "list dict",
        "M15": "tuple tuple list list",
        "M16": "text list",
        "M17": "text secret",
        "M19": "long_text",
        "M23": "json",
    }.items(),
)
def test_each_kind_of_field_has_its_control(model, kinds):
    page = Page(type(models.SAMPLES[model]), models.SAMPLES[model])

    assert [node.kind for _, node in page.form.children] == kinds.split()


def test_optional_fields_may_be_null_and_absent():
    page = Page(models.Optionals, models.Optionals())

    assert all(node.nullable and not node.required for _, node in page.form.children)


def test_required_fields_are_marked():
    assert all(node.required for _, node in Page(models.Required, models.SAMPLES["M02"]).form.children)


def test_limits_reach_the_controls():
    page = Page(models.Constrained, models.Constrained())

    assert (page.child("number").minimum, page.child("number").maximum) == (1, 10)
    assert (page.child("fraction").exclusive_minimum, page.child("fraction").exclusive_maximum) == (0, 1)
    assert page.child("fives").step == 5
    assert page.child("code").pattern == r"^[A-Z]{2}-\d{2}$"
    assert (page.child("code").min_length, page.child("code").max_length) == (5, 5)


def test_a_discriminated_union_knows_its_branch():
    page = Page(models.Discriminated, models.Discriminated())
    union = page.child("pet")

    assert (union.discriminator, [branch.tags for branch in union.branches]) == ("kind", [("cat",), ("dog",)])
    assert page.validator.validate(page.edit("set", ["pet"], {"kind": "cat", "lives": 3})).pet == models.Cat(lives=3)


def test_a_recursive_model_is_drawn_once_inside_itself_and_then_as_json():
    children = dict(Page(models.Recursive, models.SAMPLES["M16"]).child("children").item.children)

    assert children["name"].kind == "text"
    assert children["children"].item.kind == "json"
    assert children["children"].item.note


def test_a_deep_part_of_a_recursive_model_can_be_edited_as_json():
    page = Page(models.Recursive, models.SAMPLES["M16"])
    edited = page.edit("set", ["children", 0, "children", 0], {"$": "json", "text": '{"name": "new"}'})

    assert page.validator.validate(edited).children[0].children[0] == models.Recursive(name="new")


def test_a_secret_never_reaches_the_page():
    page = Page(models.Secret, models.Secret())

    assert "hunter2" not in page.sent
    assert page.validator.validate(page.edit("set", ["user"], "bob")).password.get_secret_value() == "hunter2"


def test_a_decimal_edited_on_the_page_keeps_its_digits():
    page = Page(models.Decimals, models.Decimals())
    edited = page.validator.validate(page.edit("set", ["price"], {"$": "decimal", "text": "10.20"}))

    assert str(edited.price) == "10.20"


def test_an_aware_datetime_keeps_its_zone_and_microseconds_when_something_else_changes():
    class Two(models.AwareDatetime):
        note: str = ""

    page = Page(Two, Two())

    assert page.validator.validate(page.edit("set", ["note"], "x")).moment == models.AwareDatetime().moment
    assert "10:30:00.250000+00:00" in page.sent


def test_aliases_are_the_names_on_the_page():
    page = Page(models.Alias, models.Alias())

    assert page.browser.value == {"from": "here", "class": "first"}
    assert page.validator.validate(page.edit("set", ["from"], "there")) == models.Alias(from_="there")


def test_one_row_of_two_hundred_changes_alone():
    sample = models.List200()
    edited = Page(models.List200, sample).edit("set", ["steps", 99, "status"], "disabled")

    assert edited["steps"][99] == {"description": "step 99", "status": "disabled"}
    assert all(row is sample.steps[place] for place, row in enumerate(edited["steps"]) if place != 99)
