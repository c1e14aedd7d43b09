"""Types of answers that nobody wrote down: one of these options, or more of the same kind as this value."""

from collections.abc import Sequence
from typing import Any

from hitl_nb._calls import AnswerType
from hitl_nb._schema import JsonSchemaValidator, PydanticValidator
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError


class OneOf:
    """An answer that is one of these objects; the object itself is what comes back."""

    def __init__(self, options: Sequence[Any]) -> None:
        self._options = list(options)

    def validate(self, value: Any) -> Any:
        """Give the option that `value` is, or equals.

        Raises:
            InvalidValue: It is none of them.
        """
        for same in (_is, _equals):
            for option in self._options:
                if same(option, value):
                    return option
        raise InvalidValue(f"The answer, a `{type(value).__name__}`, is none of the {len(self._options)} options.")


class SomeOf(OneOf):
    """A list of such answers."""

    def validate(self, value: Any) -> list[Any]:
        """Give the options that the items of `value` are.

        Raises:
            InvalidValue: It is no list, or an item is none of them.
        """
        if not isinstance(value, list | tuple):
            raise InvalidValue(f"The answer is a `{type(value).__name__}`, not a list of options.")
        return [super(SomeOf, self).validate(item) for item in value]


def _is(option: Any, value: Any) -> bool:
    return option is value


def _equals(option: Any, value: Any) -> bool:
    try:
        return type(option) is type(value) and bool(option == value)
    except (TypeError, ValueError):  # an array compares to an array
        return False


def type_like(value: Any) -> AnswerType:
    """Give the type of the values of the same kind as `value`: what it may be edited to.

    Raises:
        UsageError: It cannot be told from the value.
    """
    if _is_json(value):
        return JsonSchemaValidator(_schema_of(value))
    try:
        if isinstance(value, list | tuple):
            (item,) = {type(item) for item in value} or {None}
            return PydanticValidator(list[item] if isinstance(value, list) else tuple[item, ...])  # type: ignore[valid-type]
        if not isinstance(value, dict | set | frozenset):
            return PydanticValidator(type(value))
    except (ToolDefinitionError, ValueError):
        pass
    raise UsageError(
        f"`review` cannot tell what a `{type(value).__name__}` may be edited to. Write `review(value, answer=...)` with "
        'its type, e.g. `answer=list[Row]`; a DataFrame as `df.to_dict("records")`.'
    )


def _is_json(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_json(part) for key, part in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    return value is None or type(value) in _SCALARS


_SCALARS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _schema_of(value: Any) -> dict[str, Any]:
    """A schema that `value` fits, as narrow as a person would expect: numbers stay numbers, rows keep their columns."""
    if isinstance(value, dict):
        properties = {key: _schema_of(part) for key, part in value.items()}
        return {"type": "object", "properties": properties, "required": list(value), "additionalProperties": True}
    if isinstance(value, list):
        return {"type": "array", "items": _common([_schema_of(item) for item in value])}
    if value is None:
        return {}
    long = isinstance(value, str) and ("\n" in value or len(value) > 80)
    return {"type": _SCALARS[type(value)], **({"format": "textarea"} if long else {})}


def _common(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """One schema for all items of a list; anything goes where they have nothing in common."""
    types = {schema.get("type") for schema in schemas}
    if types == {"object"}:
        return _common_object(schemas)
    if types == {"array"}:
        return {"type": "array", "items": _common([schema["items"] for schema in schemas])}
    if types <= {"integer", "number", None}:
        return {} if types <= {None} else _or_null({"type": "integer" if "number" not in types else "number"}, types)
    if types - {None} == {"string"}:
        return _or_null(max(schemas, key=len), types)
    return schemas[0] if len(types) == 1 else {}


def _common_object(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    names = dict.fromkeys(name for schema in schemas for name in schema["properties"])
    found = {name: [each["properties"][name] for each in schemas if name in each["properties"]] for name in names}
    required = [name for name in names if len(found[name]) == len(schemas)]
    properties = {name: _common(parts) for name, parts in found.items()}
    extra = any(schema["additionalProperties"] for schema in schemas) and not names
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": extra}


def _or_null(schema: dict[str, Any], types: set[Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"]} if None in types else schema
