"""Edits on a value: what was not edited is the identical object."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal

import pytest
from pydantic import SecretStr

from hitl_nb._schema import apply_edits, form_tree
from hitl_nb.errors import InvalidValue


def edited(value, op, path, new=None, **how):
    return apply_edits(value, [{"op": op, "path": path, "value": new}], **how)


@pytest.mark.parametrize("value", [{}, [], {"a": [1]}, 5, "x", None, (1,), float("nan")], ids=repr)
def test_no_edits_give_the_identical_object(value):
    assert apply_edits(value, []) is value


def test_an_edit_leaves_the_original_and_everything_beside_it_alone():
    value = {"a": {"x": 1}, "b": {"y": [1, 2]}, "c": {"z": 3}}
    result = edited(value, "set", ["b", "y", 0], 9)

    assert value == {"a": {"x": 1}, "b": {"y": [1, 2]}, "c": {"z": 3}}
    assert result == {"a": {"x": 1}, "b": {"y": [9, 2]}, "c": {"z": 3}}
    assert result["a"] is value["a"]
    assert result["c"] is value["c"]


@pytest.mark.parametrize(
    ("op", "path", "new", "result"),
    [
        ("set", [], 5, 5),
        ("set", ["n"], 2, {"n": 2, "l": ["a", "b", "c"]}),
        ("set", ["new"], 2, {"n": 1, "l": ["a", "b", "c"], "new": 2}),
        ("set", ["l", 1], "x", {"n": 1, "l": ["a", "x", "c"]}),
        ("add", ["l", 3], "x", {"n": 1, "l": ["a", "b", "c", "x"]}),
        ("add", ["l", 0], "x", {"n": 1, "l": ["x", "a", "b", "c"]}),
        ("add", ["new"], None, {"n": 1, "l": ["a", "b", "c"], "new": None}),
        ("remove", ["l", 1], None, {"n": 1, "l": ["a", "c"]}),
        ("remove", ["n"], None, {"l": ["a", "b", "c"]}),
        ("unset", ["n"], None, {"l": ["a", "b", "c"]}),
        ("move", ["l", 0], 2, {"n": 1, "l": ["b", "c", "a"]}),
        ("move", ["l", 2], 0, {"n": 1, "l": ["c", "a", "b"]}),
        ("move", ["n"], "m", {"m": 1, "l": ["a", "b", "c"]}),
    ],
)
def test_each_edit_does_what_it_says(op, path, new, result):
    value = {"n": 1, "l": ["a", "b", "c"]}
    changed = edited(value, op, path, new)

    assert changed == result
    assert not isinstance(result, dict) or list(changed) == list(result)


def test_edits_are_made_in_order():
    edits = [{"op": "add", "path": [0], "value": "x"}, {"op": "set", "path": [0], "value": "y"}]

    assert apply_edits([], edits) == ["y"]


@pytest.mark.parametrize(
    ("value", "path", "wire"),
    [
        ({"a": 1.0}, ["a"], 1),
        ({"a": 2**60 + 1}, ["a"], {"$": "integer", "text": str(2**60 + 1)}),
        ({"a": Decimal("1.10")}, ["a"], {"$": "decimal", "text": "1.10"}),
        ({"a": [1, {"b": None}]}, [], {"a": [1, {"b": None}]}),
        ({"a": SecretStr("s")}, ["a"], {"$": "secret"}),
        ({"n": 1}, ["gone"], None),
    ],
    ids=repr,
)
def test_setting_what_is_there_already_changes_nothing(value, path, wire):
    op = "unset" if path == ["gone"] else "set"

    assert edited(value, op, path, wire) is value


@pytest.mark.parametrize(("old", "new"), [(1, True), ("1", 1), (Decimal("1.10"), "1.10"), (None, ""), ([], {})])
def test_what_merely_looks_alike_is_a_change(old, new):
    result = edited({"a": old}, "set", ["a"], new)["a"]

    assert type(result) is type(new)


def test_another_order_of_keys_is_a_change():
    value = {"a": 1, "b": 2}

    assert list(edited(value, "set", [], {"b": 2, "a": 1})) == ["b", "a"]


def test_an_edit_in_a_json_box_keeps_what_its_text_did_not_change():
    value = {"big": 2**60 + 1, "price": Decimal("10.10"), "ratio": 1.0, "key": SecretStr("s"), "note": "a"}
    text = '{"big": 1152921504606846977, "price": "10.10", "ratio": 1, "key": {"$": "secret"}, "note": "b"}'
    result = edited(value, "set", [], {"$": "json", "text": text})

    assert result["note"] == "b"
    assert all(result[key] is value[key] for key in ("big", "price", "ratio", "key"))


@pytest.mark.parametrize("key", ["__proto__", "", "$", "constructor", "a.b", "0"])
def test_awkward_keys_are_keys_like_others(key):
    assert edited({key: 1, "other": 2}, "set", [key], 3) == {key: 3, "other": 2}


Pair = namedtuple("Pair", "x y")


@pytest.mark.parametrize(
    ("value", "path", "result"),
    [
        ((1, 2), [0], (9, 2)),
        (Pair(1, 2), [1], Pair(1, 9)),
        (deque([1, 2]), [0], deque([9, 2])),
        ({1}, [0], {9}),
        (OrderedDict(a=1), ["a"], OrderedDict(a=9)),
        (defaultdict(list, a=1), ["a"], defaultdict(list, a=9)),
        ({1: "x"}, ["1"], {1: 9}),
    ],
    ids=repr,
)
def test_a_container_stays_of_its_kind(value, path, result):
    changed = edited(value, "set", path, 9)

    assert changed == result
    assert type(changed) is type(result)


@pytest.mark.parametrize(
    ("op", "path", "said"),
    [
        ("set", ["l", 3], "index 3"),
        ("set", ["l", -1], "index -1"),
        ("set", ["l", "0"], "no index"),
        ("set", ["gone", "x"], "no key `gone`"),
        ("set", ["n", "x"], "inside a `int`"),
        ("set", ["s", 0], "inside a `str`"),
        ("add", ["l", 4], "index 4"),
        ("add", ["n"], "there already"),
        ("remove", ["gone"], "no key `gone`"),
        ("remove", ["l", 3], "index 3"),
        ("unset", ["l", 0], "left out"),
        ("move", ["l", 0], "index 7"),
        ("remove", [], "Send a path"),
        ("set", "l", "no path"),
        ("set", [True], "no path"),
        ("replace", ["n"], "no edit"),
    ],
)
def test_an_edit_that_does_not_fit_says_why(op, path, said):
    with pytest.raises(InvalidValue, match=said):
        edited({"n": 1, "s": "text", "l": ["a", "b", "c"]}, op, path, 7)


def test_a_key_cannot_be_renamed_to_one_that_is_there():
    with pytest.raises(InvalidValue, match="renamed"):
        edited({"a": 1, "b": 2}, "move", ["a"], "b")


def test_a_value_that_cannot_be_read_is_reported_at_its_place():
    with pytest.raises(InvalidValue) as refused:
        edited({"a": 1}, "set", ["a"], {"$": "integer", "text": "x"})

    assert [error["path"] for error in refused.value.errors] == [["a"]]


@pytest.mark.parametrize("op", ["set", "add"])
def test_a_secret_cannot_be_copied_to_another_place(op):
    with pytest.raises(InvalidValue, match="secret"):
        edited({"a": SecretStr("s")}, op, ["b"], {"nested": [{"$": "secret"}]})


def test_a_choice_made_in_the_browser_is_the_schemas_own_value():
    form = form_tree({"properties": {"rate": {"enum": [1.0, 2.5]}}})
    result = edited({"rate": 2.5}, "set", ["rate"], 1, form=form)

    assert type(result["rate"]) is float


def test_rows_can_be_edited_by_the_thousand():
    rows = [{"keep": True, "n": place} for place in range(2_000)]
    result = apply_edits(rows, [{"op": "set", "path": [place, "keep"], "value": False} for place in range(2_000)])

    assert not any(row["keep"] for row in result)
    assert all(row["keep"] for row in rows)
