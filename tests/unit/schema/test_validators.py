"""The two validators, which answer alike."""

import json
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, field_validator
from typing_extensions import TypedDict  # pydantic refuses typing's before Python 3.12

from hitl_nb._schema import Validator, validator_for
from hitl_nb.errors import InvalidValue, ToolDefinitionError


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"


class Plan(BaseModel):
    steps: list[Step]
    budget: int | str = 0


PLAN_SCHEMA = Plan.model_json_schema()


@dataclass
class Point:
    x: int


class Row(TypedDict):
    x: int


def faults(spec: Any, value: Any) -> list[tuple[list[Any], str]]:
    with pytest.raises(InvalidValue) as refused:
        validator_for(spec).validate(value)
    assert all(error.keys() == {"path", "message"} for error in refused.value.errors)
    return [(error["path"], error["message"]) for error in refused.value.errors]


@pytest.mark.parametrize(
    ("spec", "value", "typed"),
    [
        (Plan, {"steps": [{"description": "a"}]}, Plan(steps=[Step(description="a")])),
        (list[Step], [{"description": "a"}], [Step(description="a")]),
        (Point, {"x": "3"}, Point(3)),
        (Row, {"x": 3}, {"x": 3}),
        (int | None, None, None),
        (Decimal, "10.10", Decimal("10.10")),
        (date, "2024-02-29", date(2024, 2, 29)),
        (Any, {"a": 1}, {"a": 1}),
    ],
    ids=str,
)
def test_a_type_gives_the_typed_value(spec, value, typed):
    assert validator_for(spec).validate(value) == typed


@pytest.mark.parametrize("value", [{"steps": []}, {"steps": [{"description": "a"}], "budget": 2**60 + 1}])
def test_a_schema_gives_the_identical_object(value):
    assert validator_for(PLAN_SCHEMA).validate(value) is value


@pytest.mark.parametrize("spec", [Plan, PLAN_SCHEMA], ids=["type", "schema"])
@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ({}, [["steps"]]),
        ({"steps": [{"description": "a"}, {}]}, [["steps", 1, "description"]]),
        ({"steps": [{"description": 5, "status": "x"}]}, [["steps", 0, "description"], ["steps", 0, "status"]]),
        ({"steps": {}}, [["steps"]]),
        ({"steps": [], "budget": []}, [["budget"]]),
        (5, [[]]),
    ],
    ids=str,
)
def test_faults_are_found_at_the_same_places(spec, value, paths):
    assert sorted({tuple(path) for path, _ in faults(spec, value)}) == sorted(map(tuple, paths))


def test_the_message_lists_the_places():
    with pytest.raises(InvalidValue, match=r"Not a valid `Plan`: `steps\.0\.description`: Field required"):
        validator_for(Plan).validate({"steps": [{}]})


def test_a_message_does_not_repeat_the_value():
    text = "hunter2" * 3_000

    for spec in (Plan, PLAN_SCHEMA, {"type": "object", "additionalProperties": False}):
        with pytest.raises(InvalidValue) as refused:
            validator_for(spec).validate({"steps": text})
        assert "hunter2" not in str(refused.value)


def test_a_message_of_the_models_own_is_kept_as_written():
    class Even(BaseModel):
        n: int

        @field_validator("n")
        @classmethod
        def even(cls, n: int) -> int:
            if n % 2:
                raise ValueError("must be even")
            return n

    assert faults(Even, {"n": 3}) == [(["n"], "must be even")]


def test_a_strict_model_takes_the_text_of_a_date_as_json_does():
    class Strict(BaseModel):
        model_config = ConfigDict(strict=True)
        day: date

    assert validator_for(Strict).validate({"day": "2024-02-29"}).day == date(2024, 2, 29)
    assert faults(Strict, {"day": 5})


def test_another_class_that_merely_looks_right_is_refused():
    class Other(BaseModel):
        description: str

    assert faults(Step, Other(description="a"))


def test_aliases_are_the_names_in_paths_and_schemas():
    class Aliased(BaseModel):
        from_: int = Field(alias="from")

    assert faults(Aliased, {"from": "x"})[0][0] == ["from"]
    assert list(validator_for(Aliased).schema["properties"]) == ["from"]


@pytest.mark.parametrize(
    ("schema", "valid", "invalid"),
    [
        ({"type": "dict", "properties": {"a": {"type": "float"}}}, {"a": 1.5}, {"a": "x"}),
        ({"type": "tuple", "items": {"type": "String"}}, ["a"], [1]),
        ({"type": "any"}, object(), None),
        ({"type": "string", "nullable": True, "enum": ["a"]}, None, "b"),
        ({"type": "integer", "enum": ["1", "2"]}, 1, 3),
        ({"items": [{"type": "integer"}], "additionalItems": False}, [1], [1, 2]),
        ({"type": "number", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
        ({"type": "integer", "minimum": "0"}, -1, "x"),
        ({"type": "string", "pattern": r"\p{L}+"}, "é", "1"),
        (True, {}, None),
    ],
    ids=str,
)
def test_schemas_as_people_write_them_are_understood(schema, valid, invalid):
    validator = validator_for(schema)

    assert validator.validate(valid) is valid
    if invalid is not None:
        assert faults(schema, invalid)


def test_a_reference_is_never_fetched(monkeypatch):
    def no_network(*args: Any, **kwargs: Any) -> None:
        pytest.fail("asked the network")

    monkeypatch.setattr("socket.create_connection", no_network)
    schema = {"properties": {"a": {"$ref": "http://example.com/schema.json"}}}

    assert validator_for(schema).validate({}) == {}
    assert "http://example.com/schema.json" in faults(schema, {"a": 1})[0][1]


def test_a_key_that_is_no_text_is_named_as_the_form_names_it():
    assert faults(dict[int, int], {1: "x"})[0][0] == ["1"]


def test_a_key_that_is_not_allowed_is_named():
    schema = {"properties": {"a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}

    assert faults(schema, {"a": 1, "x1": 1, "b": 1}) == [(["b"], "Key not allowed")]


def test_what_cannot_be_checked_is_refused():
    assert faults({"multipleOf": 0.1}, Decimal("0.3"))[0][1].startswith("The schema cannot be followed")
    elsewhere = {"$ref": "#/components/Pay", "components": {"Pay": {"type": "dict"}}}
    assert faults(elsewhere, {"key": "hunter2"}) == [([], "The schema cannot be followed: `dict` is no type")]


def test_a_schema_that_is_none_is_refused_when_the_tool_is_defined():
    with pytest.raises(ToolDefinitionError, match="wrong at `dependentRequired`"):
        validator_for({"dependentRequired": "x"})


def test_a_union_is_explained_by_its_nearest_branch():
    schema = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}

    assert faults(schema, [1, "x"]) == [([1], "Input should be of type integer")]


@pytest.mark.parametrize("spec", [Plan, PLAN_SCHEMA], ids=["type", "schema"])
def test_the_schema_for_a_model_is_an_object_with_properties(spec):
    schema = validator_for(spec).schema

    assert (schema["type"], list(schema["properties"])) == ("object", ["steps", "budget"])


def test_the_schema_for_a_model_is_cleaned_as_other_clients_do():
    declared = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "additionalProperties": False,
        "properties": {
            "additionalProperties": {"type": "dict", "additionalProperties": {"type": "string"}},
            "kept": {"default": {"additionalProperties": 1}, "enum": [{"additionalProperties": 2}]},
        },
    }
    before = json.dumps(declared)

    assert validator_for(declared).schema == {
        "type": "object",
        "properties": {
            "additionalProperties": {"type": "object"},
            "kept": {"default": {"additionalProperties": 1}, "enum": [{"additionalProperties": 2}]},
        },
    }
    assert json.dumps(declared) == before
    assert validator_for(declared).json_schema is declared


def test_a_recursive_model_has_an_object_at_the_root_of_its_schema():
    class Tree(BaseModel):
        children: list["Tree"] = []

    schema = validator_for(Tree).schema

    assert (schema["type"], list(schema["properties"])) == ("object", ["children"])
    assert "$ref" not in schema


def test_a_tool_without_parameters_still_has_properties():
    assert validator_for({}).schema == {"type": "object", "properties": {}}


class NoType: ...


def test_a_type_that_cannot_be_checked_is_named():
    with pytest.raises(ToolDefinitionError, match=r"`NoType` is no type pydantic can check.*`answer=list\[str\]`"):
        validator_for(NoType)


def test_both_are_validators():
    assert all(isinstance(validator_for(spec), Validator) for spec in (Plan, PLAN_SCHEMA))
    assert validator_for(validator_for(Plan)).validate({"steps": []}) == Plan(steps=[])
