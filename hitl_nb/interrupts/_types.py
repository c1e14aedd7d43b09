"""Types of answers that nobody wrote down: one of these options, or more of the same kind as this value."""

import json
from collections.abc import Sequence
from typing import Any, Final

from hitl_nb._calls import AnswerType
from hitl_nb._schema import JsonSchemaValidator, PydanticValidator, readable
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError


class OneOf:
    """An answer that is one of these objects; the object itself is what comes back."""

    def __init__(self, options: Sequence[object]) -> None:
        self.options = list(options)

    @property
    def schema(self) -> dict[str, object]:
        """What there is to choose from: with other options it is another question."""
        return {"enum": [readable(option) for option in self.options]}

    def validate(self, value: object) -> object:
        """Return the option that `value` is, or equals, or is the JSON form of (an answer that was stored).

        Raises:
            InvalidValue: It is none of them.
        """
        for same in (_is, _equals, _is_written):
            for option in self.options:
                if same(option, value):
                    return option
        raise InvalidValue(f"The answer, a `{type(value).__name__}`, is none of the {len(self.options)} options.")


class SomeOf(OneOf):
    """A list of such answers."""

    def validate(self, value: object) -> list[object]:
        """Return the options that the items of `value` are.

        Raises:
            InvalidValue: It is no list, or an item is none of them.
        """
        if not isinstance(value, list | tuple):
            raise InvalidValue(f"The answer is a `{type(value).__name__}`, not a list of options.")
        return [super(SomeOf, self).validate(item) for item in value]


def _is(option: object, value: object) -> bool:
    return option is value


def _equals(option: object, value: object) -> bool:
    try:
        return type(option) is type(value) and bool(option == value)
    except (TypeError, ValueError):  # an array compares to an array
        return False


def _is_written(option: object, value: object) -> bool:
    written = readable(option)
    return type(written) is type(value) and json.dumps(written) == json.dumps(value)


def type_like(value: object) -> AnswerType:
    """Return the type of the values of the same kind as `value`: what it may be edited to.

    Raises:
        UsageError: It cannot be told from the value.
    """
    if _is_json(value):
        return JsonSchemaValidator(_schema_of([value]))
    try:
        return PydanticValidator(_type_of(value))
    except ToolDefinitionError as error:
        raise UsageError(
            f"`review` cannot tell what a `{type(value).__name__}` may be edited to. Write its type, e.g. "
            '`review(rows, answer=list[Row])`; a DataFrame as `df.to_dict("records")`.'
        ) from error


def _type_of(value: object) -> Any:
    kinds = {type(item) for item in value} if isinstance(value, list | tuple) else set()
    if len(kinds) == 1:
        (kind,) = kinds
        return list[kind] if isinstance(value, list) else tuple[kind, ...]  # type: ignore[valid-type]
    if isinstance(value, dict | list | tuple | set | frozenset):
        raise ToolDefinitionError(f"A `{type(value).__name__}` of several types, or of none.")
    return type(value)


_SCALARS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _is_json(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_json(part) for key, part in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    return value is None or type(value) in _SCALARS


def _schema_of(values: Sequence[object], *, rows: bool = False) -> dict[str, Any]:
    """A schema that all values fit, as narrow as a person would expect: numbers stay numbers, rows keep columns."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1:
        return {}
    (kind,) = kinds
    real = [value for value in values if value is not None]
    schema = _schema_of_kind(kind, real, rows)
    return {**schema, "type": [schema["type"], "null"]} if len(real) < len(values) else schema


def _schema_of_kind(kind: Any, values: list[Any], rows: bool) -> dict[str, Any]:
    if kind is list:
        return {"type": "array", "items": _schema_of([item for value in values for item in value], rows=True)}
    if kind is not dict:
        long = kind is str and any("\n" in value or len(value) > _LINE for value in values)
        return {"type": _SCALARS[kind], **({"format": "textarea"} if long else {})}
    names = dict.fromkeys(name for value in values for name in value)
    parts = {name: [value[name] for value in values if name in value] for name in names}
    return {
        "type": "object",
        "properties": {name: _schema_of(part) for name, part in parts.items()},
        "required": [name for name, part in parts.items() if len(part) == len(values)],
        "additionalProperties": not rows or not names,
    }


_LINE: Final = 80
"""Characters that fit into a box of one line."""
