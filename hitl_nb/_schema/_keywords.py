"""Where inside a JSON Schema other schemas live.

A schema is data about data: `{"properties": {"type": {...}}}` has a *property* called `type`, and an `enum`
may hold anything. So nothing here looks for a key at any depth; every change walks along the keywords that
hold schemas.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["map_schemas", "schema_for_model", "subschemas"]

_SINGLE: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items"),
        *("not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_MAPS: Final = frozenset(
    {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}
)


def subschemas(schema: Mapping[str, Any]) -> list[Any]:
    """The schemas (dicts or booleans) that stand directly inside `schema`, in the order they are written."""
    found: list[Any] = []
    for keyword, value in schema.items():
        if keyword in _LISTS and isinstance(value, list):
            found.extend(value)
        elif keyword in _SINGLE:
            found.append(value)
        elif keyword in _MAPS and isinstance(value, dict):
            found.extend(value.values())
    return [part for part in found if isinstance(part, dict | bool)]


def map_schemas(schema: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    """A copy of `schema` in which `change` was applied to every schema, the innermost first.

    Args:
        schema: A JSON Schema; a boolean schema (or anything odd in the place of a schema) comes back as it
            is.
        change: Gets a fresh dict and returns the dict to use instead; it may change the one it got.
    """
    if not isinstance(schema, dict):
        return schema
    return change({keyword: _inside(keyword, value, change) for keyword, value in schema.items()})


def _inside(keyword: str, value: Any, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
    if keyword in _LISTS and isinstance(value, list):
        return [map_schemas(part, change) for part in value]
    if keyword in _SINGLE:
        return map_schemas(value, change)
    if keyword in _MAPS and isinstance(value, dict):
        return {name: map_schemas(part, change) for name, part in value.items()}
    return value


def schema_for_model(schema: dict[str, Any]) -> dict[str, Any]:
    """`schema` as the `parameters` of a tool, the way the field's clients send it (facts/copilotkit.md 1).

    `$schema` is dropped, every `additionalProperties` is stripped, the root is an `object` and has
    `properties`. A root that is only a `$ref` (a recursive model) is opened, because providers refuse a root
    without `type`.
    """
    opened = _opened_root(schema)
    stripped: dict[str, Any] = map_schemas(opened, _without_additional_properties)
    head = {keyword: value for keyword, value in stripped.items() if keyword != "$schema"}
    return {**head, "type": "object", "properties": head.get("properties", {})}


def _opened_root(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
        return schema
    target = schema.get("$defs", {}).get(reference.removeprefix("#/$defs/"))
    if not isinstance(target, dict):
        return schema
    return {**target, **{keyword: value for keyword, value in schema.items() if keyword != "$ref"}}


def _without_additional_properties(schema: dict[str, Any]) -> dict[str, Any]:
    schema.pop("additionalProperties", None)
    return schema
