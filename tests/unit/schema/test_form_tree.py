"""From schemas as people write them to controls."""

import json

import pytest

from hitl_nb._schema import MISSING, form_tree


def field(schema, **around):
    return dict(form_tree({"type": "object", "properties": {"x": schema}, **around}).children)["x"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, {"type": "string"}]},
        {"anyOf": [{"type": "string"}, {"const": None}]},
        {"anyOf": [{"type": "string"}, {"enum": [None]}]},
        {"type": "string", "nullable": True},
        {"type": "String", "nullable": True},
        {"anyOf": [{"$ref": "#/$defs/maybe"}]},
        {"allOf": [{"$ref": "#/$defs/maybe"}]},
        {"$ref": "#/$defs/maybe", "description": "d"},
    ],
    ids=str,
)
def test_every_way_to_say_or_null_is_understood(schema):
    node = field(schema, **{"$defs": {"maybe": {"type": ["string", "null"]}}})

    assert (node.kind, node.nullable) == ("text", True)


@pytest.mark.parametrize(
    ("schema", "nullable"),
    [
        ({"type": "string", "enum": ["a", "b", None]}, False),
        ({"type": ["string", "null"], "enum": ["a", "b"]}, False),
        ({"type": ["string", "null"], "enum": ["a", "b", None]}, True),
        ({"enum": ["a", "b", None]}, True),
    ],
    ids=str,
)
def test_null_among_choices_needs_both_the_type_and_the_choice(schema, nullable):
    node = field(schema)

    assert (node.nullable, [option.value for option in node.options]) == (nullable, ["a", "b"])


@pytest.mark.parametrize(
    ("word", "kind"),
    {
        **dict.fromkeys(("dict", "HashMap", "Hashtable", "Dictionary", "Object", "object"), "dict"),
        **dict.fromkeys(("float", "double", "Float", "number"), "number"),
        **dict.fromkeys(("tuple", "list", "Array", "ArrayList", "Set", "Queue", "Stack", "array"), "list"),
        **dict.fromkeys(("String", "char", "string"), "text"),
        **dict.fromkeys(("long", "Integer", "Bigint", "byte", "short", "integer"), "integer"),
        **dict.fromkeys(("Boolean", "boolean"), "boolean"),
        **dict.fromkeys(("any", "", "unheard of"), "json"),
    }.items(),
)
def test_the_type_words_of_real_tools_are_understood(word, kind):
    assert field({"type": word}).kind == kind


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        (True, "json"),
        (False, "json"),
        ({}, "json"),
        ({"enum": ["a", "b"]}, "choice"),
        ({"enum": ["a"]}, "constant"),
        ({"const": 0}, "constant"),
        ({"oneOf": [{"const": 1, "title": "one"}, {"const": 2, "title": "two"}]}, "choice"),
        ({"type": "null"}, "constant"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "date-time"}, "datetime"),
        ({"type": "string", "format": "time"}, "time"),
        ({"type": "string", "format": "duration"}, "duration"),
        ({"type": "string", "format": "password"}, "secret"),
        ({"type": "string", "writeOnly": True}, "secret"),
        ({"type": "string", "maxLength": 2000}, "long_text"),
        ({"type": "string", "format": "textarea"}, "long_text"),
        ({"type": "array", "items": {"type": "string"}}, "list"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}, "table"),
        ({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "array"}}}}, "list"),
        ({"type": "array", "prefixItems": [{"type": "string"}]}, "tuple"),
        ({"type": "array", "items": [{"type": "string"}]}, "tuple"),
        ({"properties": {"a": {}}}, "object"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict"),
        ({"type": "object", "patternProperties": {"^a": {"type": "integer"}}}, "dict"),
        ({"type": ["integer", "string"]}, "union"),
        ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, "number"),
        ({"type": "object", "properties": {"a": {}}, "anyOf": [{"required": ["a"]}]}, "object"),
        ({"not": {"type": "string"}}, "json"),
    ],
    ids=str,
)
def test_a_schema_gets_the_control_that_can_show_it(schema, kind):
    assert field(schema).kind == kind


def test_options_keep_their_types():
    options = field({"enum": [1, "1", True, 1.5, {"a": 1}]}).options

    assert [(type(option.value), option.label) for option in options] == [
        *((int, "1"), (str, "1"), (bool, "true"), (float, "1.5")),
        (dict, '{"a": 1}'),
    ]


def test_options_may_have_labels_of_their_own():
    options = field({"oneOf": [{"const": "NEW"}, {"const": "OLD", "title": "Out of date"}]}).options

    assert [(option.value, option.label) for option in options] == [("NEW", "NEW"), ("OLD", "Out of date")]


def test_choices_of_the_wrong_type_are_read_as_they_were_meant():
    assert [option.value for option in field({"type": "integer", "enum": ["1", "2"]}).options] == [1, 2]
    assert field({"type": "array", "items": {"type": "string"}, "enum": ["a", "b"]}).item.kind == "choice"


def test_references_with_escapes_and_anchors_are_followed():
    schema = {
        "properties": {"a": {"$ref": "#/$defs/x~1y~0z%25"}, "b": {"$ref": "#here"}},
        "$defs": {"x/y~z%": {"type": "integer"}, "other": {"$anchor": "here", "type": "boolean"}},
    }

    assert [node.kind for _, node in form_tree(schema).children] == ["integer", "boolean"]


def test_a_reference_into_nowhere_is_a_box_that_says_so():
    node = field({"$ref": "other.json#/a"})

    assert node.kind == "json"
    assert "other.json#/a" in node.note


@pytest.mark.parametrize("loop", [{"$ref": "#"}, {"$ref": "#/properties/x"}, {"allOf": [{"$ref": "#/properties/x"}]}])
def test_a_schema_that_contains_itself_ends(loop):
    assert form_tree({"type": "object", "properties": {"x": loop}}).kind == "object"


def test_a_form_beyond_all_bounds_is_cut_and_not_refused():
    doubling = {
        f"d{depth}": {"properties": {x: {"$ref": f"#/$defs/d{depth + 1}"} for x in "ab"}} for depth in range(30)
    }
    wire = json.dumps(form_tree({"$ref": "#/$defs/d0", "$defs": doubling}).to_wire())

    assert len(wire) < 2_000_000


def test_all_of_is_one_object():
    schema = {
        "allOf": [
            {"properties": {"a": {"type": "string"}, "b": {"minimum": 1, "maximum": 20}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["b"]},
        ]
    }
    node = field(schema)
    children = dict(node.children)

    assert list(children) == ["a", "b"]
    assert (children["b"].kind, children["b"].minimum, children["b"].maximum) == ("integer", 1, 9)
    assert all(child.required for child in children.values())


def test_words_beside_a_reference_are_about_this_use_of_it():
    defs = {"Address": {"title": "Address", "description": "A place.", "properties": {"street": {"type": "string"}}}}
    schema = {"$ref": "#/$defs/Address", "description": "Where to send it."}
    node = field(schema, **{"$defs": defs})

    assert (node.title, node.description) == ("x", "Where to send it.")


def test_siblings_of_the_same_title_can_be_told_apart():
    schema = {"properties": {"a": {"type": "string", "title": "Name"}, "b": {"type": "string", "title": "Name"}}}

    assert [node.title for _, node in form_tree(schema).children] == ["Name (a)", "Name (b)"]


def test_every_child_has_a_title():
    assert [
        node.title
        for _, node in form_tree({"properties": {"est_rows": {}, "__proto__": {}, "": {"title": " "}}}).children
    ] == [
        "est_rows",
        "__proto__",
        '""',
    ]


def test_a_property_described_by_no_schema_may_be_anything():
    children = form_tree({"properties": {"city": "string", "days": {"type": "integer"}}}).children

    assert [node.kind for _, node in children] == ["json", "integer"]


def test_a_schema_nested_beyond_python_is_a_box():
    schema = {}
    for _ in range(5_000):
        schema = {"type": "array", "items": schema}

    assert form_tree(schema).kind == "json"


def test_extra_keys_are_allowed_where_the_schema_allows_them():
    assert form_tree({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}).item.kind == "integer"
    assert form_tree({"properties": {"a": {}}, "additionalProperties": False}).item is None


def test_a_tool_without_parameters_has_an_empty_form():
    node = form_tree({"type": "object", "properties": {}})

    assert (node.kind, node.children, node.item) == ("object", (), None)


def test_a_required_key_that_is_not_described_gets_a_box():
    children = dict(form_tree({"properties": {}, "required": ["x"]}).children)

    assert children["x"].kind == "json"


def test_no_default_is_not_the_default_null():
    assert field({"type": "string"}).default is MISSING
    assert field({"type": "string", "default": None}).default is None
    assert "default" not in field({"type": "string"}).to_wire()
    assert field({"type": "string", "default": None}).to_wire()["default"] is None


def test_zero_and_false_are_not_empty():
    wire = field({"type": "integer", "minimum": 0, "default": 0}).to_wire()

    assert (wire["minimum"], wire["default"]) == (0, 0)


def test_large_limits_and_defaults_survive_the_wire():
    wire = field({"type": "integer", "maximum": 2**63 - 1, "default": 2**60 + 1}).to_wire()

    assert wire["maximum"] == {"$": "integer", "text": "9223372036854775807"}
    assert wire["default"] == {"$": "integer", "text": "1152921504606846977"}


def test_broken_keywords_do_not_break_the_form():
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "minimum": "0", "required": True},
            "b": {"type": "string", "pattern": "(", "enum": None, "title": 5},
            "c": {"anyOf": []},
            "d": {"items": 7, "type": "array"},
        },
        "required": "a",
    }

    assert [node.kind for _, node in form_tree(schema).children] == ["integer", "text", "json", "list"]


def test_a_property_may_be_called_like_a_keyword():
    schema = {"properties": {"type": {"type": "dict"}, "properties": {"type": "float"}, "enum": {"type": "String"}}}

    assert [node.kind for _, node in form_tree(schema).children] == ["dict", "number", "text"]
