"""How a value is laid out in a form: the branch of a union, and what no control can show."""

import pytest

from hitl_nb._schema import form_tree, layout_of


def field(schema):
    return dict(form_tree({"type": "object", "properties": {"x": schema}}).children)["x"]


def test_branches_are_called_by_what_they_are():
    union = field({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}, {"type": "boolean"}]})

    assert [branch.title for branch in union.branches] == ["Text", "List of: whole number", "Yes or no"]


def test_a_property_that_differs_in_every_branch_tells_them_apart():
    def branch(kind, name):
        return {"properties": {"type": {"const": kind}, name: {"type": "string"}}, "required": ["type"]}

    union = field({"anyOf": [branch("page", "page_id"), branch("workspace", "name")]})

    assert (union.discriminator, [each.tags for each in union.branches]) == ("type", [("page",), ("workspace",)])


def test_the_branch_of_a_value_is_found_by_its_shape():
    file = {"properties": {"name": {"type": "string"}}}
    folder = {"properties": {"name": {"type": "string"}, "children": {"type": "array"}}}
    form = form_tree({"properties": {"x": {"type": "array", "items": {"oneOf": [file, folder, {"type": "integer"}]}}}})
    value = {"x": [{"name": "a"}, {"name": "b", "children": []}, 5, "none of them"]}

    assert [each["branch"] for each in layout_of(form, value)] == [0, 1, 2, None]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "format": "date"}, "tomorrow"),
        ({"type": "integer"}, "5"),
        ({"type": "integer"}, 1.5),
        ({"type": "string"}, 5),
        ({"type": "boolean"}, "yes"),
        ({"enum": ["a", "b"]}, "c"),
        ({"type": "array"}, "a, b"),
        ({"properties": {"a": {}}}, [1]),
        ({"type": "array", "prefixItems": [{}, {}]}, [1]),
        ({"type": "string"}, None),
    ],
    ids=str,
)
def test_what_a_control_cannot_show_is_shown_as_json(schema, value):
    assert layout_of(form_tree({"properties": {"x": schema}}), {"x": value}) == [{"path": ["x"], "branch": None}]


def test_a_missing_field_is_no_reason_to_show_an_object_as_json():
    form = form_tree({"properties": {"x": {"properties": {"a": {}}, "required": ["a"]}}})

    assert layout_of(form, {"x": {}}) == []
