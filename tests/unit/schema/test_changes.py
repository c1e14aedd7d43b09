"""What a person changed: each place once, with what was there and what is there now, and never a secret."""

import json
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from pydantic import BaseModel, Field, SecretStr

from hitl_nb._schema import changes_of, form_of, form_tree, readable, secret_form_of, validator_for


def changes(old, new, type_=None, **options):
    form = form_tree(validator_for(type_ if type_ is not None else type(old)).json_schema)
    return changes_of(old, new, form, **options)


ANY = {"type": "object", "additionalProperties": True}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 2}, [{"path": "a", "from": 1, "to": 2}]),
        ({"a": 1}, {"a": 1, "b": 2}, [{"path": "b", "to": 2}]),
        ({"a": 1, "b": 2}, {"b": 2}, [{"path": "a", "from": 1}]),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, [{"path": "a.b[1]", "from": 2, "to": 3}]),
        ({"a": 1}, {"a": "1"}, [{"path": "a", "from": 1, "to": "1"}]),
        ({"a": 1}, {"a": True}, [{"path": "a", "from": 1, "to": True}]),
        ({"a": None}, {"a": []}, [{"path": "a", "from": None, "to": []}]),
        ({"a": [1]}, {"a": {"b": 1}}, [{"path": "a", "from": [1], "to": {"b": 1}}]),
        (
            {"x y": 1, "": 2},
            {"x y": 3, "": 4},
            [
                {"path": '["x y"]', "from": 1, "to": 3},
                {"path": '[""]', "from": 2, "to": 4},
            ],
        ),
        ({"a": 2**60}, {"a": 2**60 + 1}, [{"path": "a", "from": 2**60, "to": 2**60 + 1}]),
        ({"a": 1}, {"a": 1}, []),
        ({"a": math.nan}, {"a": math.nan}, []),
        ({"a": 1}, {"a": 1.0}, []),
    ],
)
def test_each_place_that_differs_is_named_once(old, new, expected):
    assert changes(old, new, ANY) == expected


@pytest.mark.parametrize(
    ("old", "new", "paths"),
    [
        ("abcd", "acd", ["[1]"]),
        ("abcd", "abxcd", ["[2]"]),
        ("abcd", "bcda", ["[0]", "[3]"]),
        ("aabb", "xabb", ["[0]"]),
        ("aa", "xa", ["[0]"]),
        ("abcd", "axyd", ["[1]", "[2]"]),
        ("", "ab", ["[0]", "[1]"]),
        ("ab", "", ["[0]", "[1]"]),
    ],
)
def test_an_item_taken_out_or_put_in_does_not_change_the_others(old, new, paths):
    found = changes(list(old), list(new), list[str])
    assert sorted({change["path"] for change in found}) == paths


def test_an_item_that_was_moved_is_taken_out_and_put_in():
    assert changes(list("abcd"), list("bcda"), list[str]) == [
        {"path": "[0]", "from": "a"},
        {"path": "[3]", "to": "a"},
    ]


def test_two_thousand_rows_are_compared_at_once():
    rows = [{"n": place % 7} for place in range(2000)]
    edited = [*rows[:999], {"n": 99}, *rows[1001:]]
    assert {change["path"] for change in changes(rows, edited, list[dict[str, int]])} == {"[999].n", "[1000]"}


def test_two_thousand_rows_with_changes_far_apart_are_aligned():
    rows = [{"n": place} for place in range(2000)]
    edited = [*rows[1:999], {"n": -1}, *rows[1000:1900], {"n": -2}, *rows[1900:]]
    assert [change["path"] for change in changes(rows, edited, list[dict[str, int]])] == ["[0]", "[998].n", "[1899]"]


class Payment(BaseModel):
    to: str = Field(alias="recipient")
    price: Decimal
    day: date
    key: SecretStr


PAYMENT = Payment(recipient="ada", price=Decimal("1.10"), day=date(2026, 3, 2), key=SecretStr("old"))


def test_a_model_is_compared_by_its_aliases_and_told_in_plain_json():
    edited = PAYMENT.model_copy(update={"to": "bob", "price": Decimal("1.1"), "day": date(2026, 3, 3)})
    assert changes(PAYMENT, edited, name="args") == [
        {"path": "args.recipient", "from": "ada", "to": "bob"},
        {"path": "args.price", "from": "1.10", "to": "1.1"},
        {"path": "args.day", "from": "2026-03-02", "to": "2026-03-03"},
    ]


def test_a_secret_that_changed_is_a_change_without_words():
    assert changes(PAYMENT, PAYMENT.model_copy(update={"key": SecretStr("new")})) == [
        {"path": "key", "from": "**********", "to": "**********"}
    ]


def test_a_secret_in_a_row_is_compared_though_it_looks_the_same():
    old = [PAYMENT, PAYMENT]
    new = [PAYMENT, PAYMENT.model_copy(update={"key": SecretStr("new")})]
    assert [change["path"] for change in changes(old, new, list[Payment])] == ["[1].key"]


def test_what_is_read_has_no_secret_and_every_digit():
    form = form_tree({"type": "object", "properties": {"pin": {"type": "integer", "writeOnly": True}}})
    assert readable({"pin": 1234, "big": 2**60 + 1, "__proto__": date(2026, 3, 2)}, form) == {
        "pin": "**********",
        "big": 2**60 + 1,
        "__proto__": "2026-03-02",
    }
    assert readable(PAYMENT)["key"] == "**********"


class Wallet(BaseModel):
    owner: str
    payments: list[Payment]


def test_a_tree_is_built_to_compare_only_where_a_secret_may_stand():
    plain, secret = validator_for(list[dict[str, int]]), validator_for(Wallet)
    assert secret_form_of(plain) is None
    assert secret_form_of(secret) is form_of(secret)


@pytest.mark.parametrize("keyword", [{"writeOnly": True}, {"format": "password"}], ids=str)
@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"pin": {"$ref": "#/$defs/Pin"}}, "$defs": {"Pin": {"type": "string"}}},
        {"properties": {"pin": {"anyOf": [{"type": "null"}, {"allOf": [{"type": "string"}]}]}}},
        {"type": "object", "additionalProperties": {"type": "string"}},
    ],
    ids=str,
)
def test_a_secret_is_found_wherever_a_schema_may_say_it(schema, keyword):
    text = json.dumps(schema).replace('{"type": "string"}', json.dumps({"type": "string", **keyword}))
    form = secret_form_of(validator_for(json.loads(text)))

    assert changes_of({"pin": "1234"}, {"pin": "4321"}, form) == [{"path": "pin", "from": "*" * 10, "to": "*" * 10}]


@pytest.mark.parametrize("type_", [None, object(), [], validator_for(Callable)], ids=str)
def test_where_nothing_is_known_of_a_type_there_is_no_tree(type_):
    assert secret_form_of(type_) is None
