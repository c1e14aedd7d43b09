"""Values on the wire: what JavaScript would damage comes back to the last digit."""

import json
import math
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, SecretStr

from hitl_nb._schema import form_tree, from_wire, hide_secrets, to_wire
from hitl_nb.errors import InvalidValue
from tests.conformance.schema_browser import parsed_by_javascript
from tests.conformance.schemas import differences


def through_the_browser(value):
    return from_wire(parsed_by_javascript(json.dumps(to_wire(value), allow_nan=False)))


@pytest.mark.parametrize(
    "value",
    [
        *(2**60 + 1, -(2**60) - 1, 2**53 + 1, 2**53, 2**53 - 1, 10**400, 0, -1e-12, 0.1, 1e300),
        *(Decimal("10.10"), Decimal("1E+40"), Decimal("-0.0"), Decimal("NaN")),
        *(float("inf"), float("-inf")),
        *(date(2024, 2, 29), time(10, 30, 0, 1), datetime(2024, 2, 29, 10, 30)),
        *(datetime(2024, 2, 29, 10, 30, 0, 250_000, tzinfo=UTC), time(1, 2, tzinfo=UTC)),
        datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=5, minutes=45))),
        *(timedelta(hours=1, minutes=30), timedelta(microseconds=1), timedelta(days=-1, seconds=5)),
        *(b"\x00\xff", b"", "", "x" * 18_000, "line\r\nline\u2028", "\ud83d", "<img src=x onerror=alert(1)>"),
        *(None, True, False, [], {}, [[]], {"a": {}}),
        {"__proto__": 1, "constructor": 2, "": 3},
        {"10": "a", "9": "b", "x": "c"},
        {"$": "integer", "text": "5"},
        {"\ud83d": 1},
    ],
    ids=lambda value: str(to_wire(value))[:40],
)
def test_a_value_comes_back_as_it_was(value):
    assert differences(value, through_the_browser(value)) == []


def test_nan_comes_back_as_nan():
    assert math.isnan(through_the_browser(float("nan")))


def test_the_order_of_keys_is_kept():
    value = {"b": 1, "2": 2, "a": 3, "1": 4}

    assert list(through_the_browser(value)) == ["b", "2", "a", "1"]


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.dates(), st.times()
) | st.one_of(st.datetimes(), st.timedeltas(), st.decimals(allow_nan=False))


@given(st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10))
def test_anything_comes_back_as_it_was(value):
    assert through_the_browser(value) == value
    assert to_wire(through_the_browser(value)) == parsed_by_javascript(json.dumps(to_wire(value)))


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: float


class Holder(BaseModel):
    point: Point
    colour: Colour


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (Holder(point=Point(1, 0.5), colour=Colour.RED), {"point": {"x": 1, "y": 0.5}, "colour": "red"}),
        ((1, "a"), [1, "a"]),
        ({"only"}, ["only"]),
        (OrderedDict(a=1), {"a": 1}),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Path("a/b"), "a/b"),
        ({1: "a"}, {"$": "object", "entries": [["1", "a"]]}),
        (SecretStr("hunter2"), {"$": "secret"}),
    ],
    ids=str,
)
def test_python_objects_travel_as_what_a_form_shows(value, wire):
    assert to_wire(value) == wire


def test_an_object_without_json_form_is_shown_and_not_looked_into():
    numbers = iter([1, 2])

    assert to_wire(numbers)["$"] == "opaque"
    assert list(numbers) == [1, 2]


def test_a_plain_string_at_the_place_of_a_secret_is_hidden():
    password = {"type": "string", "format": "password"}
    form = form_tree({"properties": {"user": {"type": "string"}, "keys": {"type": "array", "items": password}}})
    value = {"user": "ada", "keys": ["hunter2"]}

    assert to_wire(hide_secrets(value, form)) == {"user": "ada", "keys": [{"$": "secret"}]}


def test_without_a_secret_nothing_is_copied_to_hide_it():
    value = {"user": "ada"}

    assert hide_secrets(value, form_tree({"properties": {"user": {"type": "string"}}})) is value


def test_a_secret_default_is_hidden_too():
    wire = form_tree({"type": "string", "format": "password", "default": "hunter2"}).to_wire()

    assert wire["default"] == {"$": "secret"}


@pytest.mark.parametrize(
    "wire",
    [
        {"$": "integer", "text": "12.5"},
        {"$": "decimal", "text": "ten"},
        {"$": "date", "text": "2023-02-29"},
        {"$": "datetime", "text": "tomorrow"},
        {"$": "duration", "text": "long"},
        {"$": "bytes", "text": "§"},
        {"$": "number", "text": ""},
        {"$": "json", "text": '{"a": '},
        {"$": "object", "entries": [["a"]]},
        {"$": "integer"},
        {"$": "unheard of", "text": "1"},
    ],
    ids=str,
)
def test_a_mark_that_cannot_be_read_is_refused(wire):
    with pytest.raises(InvalidValue, match=r"\.$"):
        from_wire(wire)


def test_the_text_of_a_new_secret_is_not_repeated_in_an_error():
    with pytest.raises(InvalidValue) as refused:
        from_wire({"$": "secret", "text": ["hunter2"]})

    assert "hunter2" not in str(refused.value)


def test_a_choice_gives_the_schemas_own_value():
    node = form_tree({"enum": [1.0, "1", True]})

    assert [type(from_wire(wire, node)) for wire in (1, "1", True)] == [float, str, bool]


def test_an_integer_field_gives_an_int():
    assert type(from_wire(3.0, form_tree({"type": "integer"}))) is int
