"""What an empty form holds: defaults and empty groups, and no decision that nobody took."""

from typing import Literal

import pytest
from pydantic import BaseModel, SecretStr

from hitl_nb._schema import blank_of, form_tree, validator_for


def blank(type_):
    return blank_of(form_tree(validator_for(type_).json_schema))


class Inner(BaseModel):
    text: str
    flag: bool = True


class Outer(BaseModel):
    name: str
    size: Literal["s", "m"] = "m"
    fixed: Literal["x"]
    inner: Inner
    other: Inner | None
    maybe: Inner | None = None
    rows: list[Inner]
    words: dict[str, int]
    pair: tuple[int, str]
    either: Inner | list[int]
    number_or_text: int | str
    key: SecretStr = SecretStr("hunter2")


def test_an_object_has_its_defaults_and_its_empty_groups():
    value, layout = blank(Outer)
    assert value == {
        "size": "m",
        "fixed": "x",
        "inner": {"flag": True},
        "maybe": None,
        "rows": [],
        "words": {},
        "pair": [None, None],
        "either": {"flag": True},
    }
    assert layout == [{"path": ["either"], "branch": 0}]


@pytest.mark.parametrize(
    ("type_", "value"),
    [(str, None), (int, None), (bool, None), (list[str], []), (int | None, None), (Literal["x"], "x"), (dict, {})],
)
def test_a_scalar_is_nothing_yet(type_, value):
    assert blank(type_) == (value, [])


def test_the_default_of_a_schema_is_a_copy():
    schema = {"type": "object", "properties": {"tags": {"type": "array", "default": ["a"]}}}
    value, _ = blank(schema)
    value["tags"].append("b")
    assert schema["properties"]["tags"]["default"] == ["a"]
    assert blank(schema)[0] == {"tags": ["a"]}


def test_a_recursive_type_ends():
    assert blank(
        {
            "$defs": {
                "T": {
                    "type": "object",
                    "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
                    "required": ["kids"],
                }
            },
            "$ref": "#/$defs/T",
        }
    )[0] == {"kids": []}
