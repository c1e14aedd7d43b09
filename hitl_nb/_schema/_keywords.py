"""Schemas as people write them, put right; and where inside a schema other schemas stand.

Real tool schemas use the type words of other languages (`dict`, `float`, `HashMap`: 3,469 functions of one benchmark of
function calling do), OpenAPI's `nullable`, and keywords of the wrong shape. What says nothing that could be checked
(`"required": true`, `"minimum": "0"`) is dropped; everything that can be read is kept.

A schema is data about data: `{"properties": {"type": {...}}}` has a *property* called `type`, and an `enum` may hold
anything. So nothing here looks for a key at any depth; every change walks along the keywords that hold schemas.
"""

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, TypedDict, TypeGuard, cast

__all__ = ["TYPE_TITLE", "Part", "Schema", "map_schemas", "standard_schema", "subschemas", "without"]

Number: TypeAlias = int | float

TYPE_TITLE: Final = "$title"
"""Where an opened schema keeps the title of the type behind a `$ref`: it names the type, not this use."""

Schema = TypedDict(
    "Schema",
    {
        "$schema": str,
        "$id": str,
        "id": object,
        "$anchor": str,
        "$dynamicAnchor": object,
        "$ref": str,
        "$defs": dict[str, "Part"],
        "$title": str,
        "title": str,
        "description": str,
        "default": object,
        "format": str,
        "contentMediaType": str,
        "writeOnly": bool,
        "nullable": bool,
        "type": str | list[str],
        "enum": list[object],
        "const": object,
        "allOf": list["Part"],
        "anyOf": list["Part"],
        "oneOf": list["Part"],
        "discriminator": object,
        "properties": dict[str, "Part"],
        "patternProperties": dict[str, "Part"],
        "additionalProperties": "Part",
        "propertyNames": "Part",
        "required": list[str],
        "minProperties": int,
        "maxProperties": int,
        "items": "Part | list[Part]",
        "prefixItems": list["Part"],
        "additionalItems": "Part",
        "minItems": int,
        "maxItems": int,
        "uniqueItems": bool,
        "minimum": Number,
        "maximum": Number,
        "exclusiveMinimum": Number | bool,
        "exclusiveMaximum": Number | bool,
        "multipleOf": Number,
        "pattern": str,
        "minLength": int,
        "maxLength": int,
    },
    total=False,
)
"""A schema as `standard_schema` leaves it: each of these keywords that is there has this shape. Others may be there."""

Part: TypeAlias = Schema | bool
"""True is a schema, too: anything. False: nothing."""

# -- where schemas stand ------------------------------------------------------------------------------------------

_SINGLE: Final = frozenset(
    {
        *("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items"),
        *("not", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_LISTS: Final = frozenset({"allOf", "anyOf", "items", "oneOf", "prefixItems"})
_BY_NAME: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
_MAPS: Final = _BY_NAME | {"dependencies"}  # in which lists of names may stand beside schemas


def subschemas(schema: Mapping[str, object]) -> list[Part]:
    """Return the schemas (dicts or booleans) that stand directly inside `schema`, in the order they are written."""
    found: list[object] = []
    for keyword, value in schema.items():
        if keyword in _LISTS and isinstance(value, list):
            found.extend(value)
        elif keyword in _SINGLE:
            found.append(value)
        elif keyword in _MAPS and isinstance(value, dict):
            found.extend(value.values())
    return [part for part in found if _is_schema(part)]


def map_schemas(schema: object, change: Callable[[dict[str, object]], Mapping[str, object]]) -> object:
    """Return a copy of `schema` in which `change` was applied to every schema, the innermost first.

    Args:
        schema: A JSON Schema; a boolean schema (or anything odd in the place of a schema) comes back as it
            is.
        change: Gets a fresh dict and returns the dict to use instead; it may change the one it got.
    """
    if not isinstance(schema, dict):
        return schema
    return change({keyword: _mapped(keyword, value, change) for keyword, value in schema.items()})


def _mapped(keyword: str, value: object, change: Callable[[dict[str, object]], Mapping[str, object]]) -> object:
    if keyword in _LISTS and isinstance(value, list):
        return [map_schemas(part, change) for part in value]
    if keyword in _SINGLE:
        return map_schemas(value, change)
    if keyword in _MAPS and isinstance(value, dict):
        return {name: map_schemas(part, change) for name, part in value.items()}
    return value


def without(schema: Schema, *keywords: str) -> Schema:
    """Return a copy of `schema` that lacks these keywords."""
    return cast("Schema", {keyword: value for keyword, value in schema.items() if keyword not in keywords})


# -- put right ----------------------------------------------------------------------------------------------------


def standard_schema(schema: Mapping[str, object]) -> Schema:
    """Return a copy of `schema` in JSON Schema's own words, which allows the same values.

    =============================================  =============================================
    ``{"type": "dict"}``                           ``{"type": "object"}``
    ``{"type": "any"}``, ``{"type": ""}``          ``{}``
    ``{"type": "String", "nullable": true}``       ``{"type": ["string", "null"]}``
    ``{"type": "float", "minimum": "0"}``          ``{"type": "number"}``
    =============================================  =============================================
    """
    return cast("Schema", map_schemas(schema, _standard))


def _standard(schema: dict[str, object]) -> Schema:
    return _nullable(_enum_of_its_type(_in_standard_types(_readable_keywords(schema))))


def _readable_keywords(schema: dict[str, object]) -> Schema:
    """Return what of a schema can be read."""
    kept = {keyword: value for keyword, value in schema.items() if keyword not in _SHAPES or _SHAPES[keyword](value)}
    for keyword in _BY_NAME & kept.keys():
        # A property described by something that is no schema (`{"city": "string"}`) may be anything.
        parts = cast("dict[str, object]", kept[keyword])
        kept[keyword] = {name: part if _is_schema(part) else {} for name, part in parts.items()}
    return cast("Schema", kept)


def _in_standard_types(schema: Schema) -> Schema:
    if "type" not in schema:
        return schema
    declared: object = schema["type"]
    words = declared if isinstance(declared, list) else [declared]
    names = [_TYPES[word.lower()] for word in words if isinstance(word, str) and word.lower() in _TYPES]
    if not names or len(names) < len(words):
        # One word without meaning (`any`) allows everything, so the others say nothing.
        return without(schema, "type")
    return {**schema, "type": list(dict.fromkeys(names)) if isinstance(declared, list) else names[0]}


_TYPES: Final = {
    word: name
    for name, words in {
        "object": "dict hashmap hashtable dictionary object map",
        "array": "tuple list array arraylist set queue stack",
        "string": "string str char text",
        "number": "number float double decimal",
        "integer": "integer int long bigint byte short",
        "boolean": "boolean bool",
        "null": "null none",
    }.items()
    for word in words.split()
}
"""Type words of all languages → JSON Schema's."""


def _enum_of_its_type(schema: Schema) -> Schema:
    """Read an `enum` that no value of the declared type can meet: `{"type": "integer", "enum": ["1", "2"]}`.

    On an array whose `enum` lists no array, the choices are meant for the items.
    """
    type_, choices = schema.get("type"), schema.get("enum")
    if not isinstance(type_, str) or not choices or any(_IS_OF_TYPE[type_](choice) for choice in choices):
        return schema
    empty: Schema = {}
    items = schema.get("items", empty)
    if type_ == "array" and isinstance(items, dict):
        inner: Schema = {"enum": choices, **items}
        return {**without(schema, "enum"), "items": inner}
    if type_ == "string":
        return {**schema, "enum": [choice if choice is None else str(choice) for choice in choices]}
    fitting = [choice for choice in map(_as_meant, choices) if _IS_OF_TYPE[type_](choice)]
    return {**schema, "enum": fitting} if fitting else {**schema, "type": list(_IS_OF_TYPE)}


def _as_meant(text: object) -> object:
    try:
        return json.loads(text.lower()) if isinstance(text, str) else text
    except ValueError:
        return text


def _nullable(schema: Schema) -> Schema:
    """OpenAPI 3.0 says `nullable: true` where JSON Schema lists the type `null`."""
    if schema.get("nullable") is not True:
        return schema
    rest = without(schema, "nullable")
    if not {"type", "enum"} & rest.keys():
        composed = rest.keys() & {"$ref", "allOf", "anyOf", "oneOf"}
        return {"anyOf": [rest, {"type": "null"}]} if composed else rest
    if "type" in rest:
        words = rest["type"] if isinstance(rest["type"], list) else [rest["type"]]
        rest["type"] = list(dict.fromkeys([*words, "null"]))
    if "enum" in rest and None not in rest["enum"]:
        rest["enum"] = [*rest["enum"], None]
    return rest


# -- what can be read ---------------------------------------------------------------------------------------------


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_whole_number(value: object) -> TypeGuard[int | float]:
    return _is_number(value) and value % 1 == 0


def _is_count(value: object) -> bool:
    return _is_whole_number(value) and value >= 0


def _is_schema(value: object) -> TypeGuard[Part]:
    return isinstance(value, dict | bool)


def _is_schema_list(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_schema, value))


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_map(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_name_list(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


_IS_OF_TYPE: Final[dict[str, Callable[[object], bool]]] = {
    "object": _is_map,
    "array": _is_list,
    "string": _is_text,
    "number": _is_number,
    "integer": _is_whole_number,
    "boolean": _is_flag,
    "null": lambda value: value is None,
}

_SHAPES: Final[dict[str, Callable[[object], bool]]] = {
    **dict.fromkeys(("title", "description", "format", "$comment", "$id", "$schema", "$ref", "$anchor"), _is_text),
    **dict.fromkeys(("contentMediaType", "contentEncoding"), _is_text),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    # Draft 4 has a flag there, which opens the limit beside it.
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), lambda value: isinstance(value, int | float)),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), _is_flag),
    **dict.fromkeys(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"), _is_map),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _is_schema_list),
    **dict.fromkeys(("additionalItems", "additionalProperties", "propertyNames", "contains"), _is_schema),
    **dict.fromkeys(("not", "if", "then", "else"), _is_schema),
    "items": lambda value: _is_schema(value) or (isinstance(value, list) and all(map(_is_schema, value))),
    "required": _is_name_list,
    **dict.fromkeys(("enum", "examples"), _is_list),
    "pattern": _is_text,
}
"""Keyword → whether a value of it can be read."""
