"""Schemas as people write them, put right: type words of other languages, `nullable`, broken keywords.

The words are counted in facts/peers.md section 5 (3,469 functions of a function-calling benchmark use `dict`,
`float`, `HashMap`, …). A keyword of the wrong shape (`"required": true`, `"minimum": "0"`) says nothing that
could be checked, so it is dropped; everything that can be read is kept.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from hitl_nb._schema._keywords import map_schemas

__all__ = ["standard_schema"]

_SPELLINGS: Final = {
    "object": "dict hashmap hashtable dictionary object map",
    "array": "tuple list array arraylist set queue stack",
    "string": "string str char text",
    "number": "number float double decimal",
    "integer": "integer int long bigint byte short",
    "boolean": "boolean bool",
    "null": "null none",
}
_WORDS: Final = {word: name for name, words in _SPELLINGS.items() for word in words.split()}


def standard_schema(schema: Any) -> Any:
    """A copy of `schema` in JSON Schema's own words, which allows the same values.

    =============================================  =============================================
    ``{"type": "dict"}``                           ``{"type": "object"}``
    ``{"type": "any"}``, ``{"type": ""}``          ``{}``
    ``{"type": "String", "nullable": true}``       ``{"type": ["string", "null"]}``
    ``{"type": "float", "minimum": "0"}``          ``{"type": "number"}``
    =============================================  =============================================
    """
    return map_schemas(schema, _standard)


def _standard(schema: dict[str, Any]) -> dict[str, Any]:
    readable = {
        keyword: value for keyword, value in schema.items() if keyword not in _SHAPES or _SHAPES[keyword](value)
    }
    return _nullable(_enum_of_its_type(_typed(_with_schemas_only(readable))))


def _with_schemas_only(schema: dict[str, Any]) -> dict[str, Any]:
    """A property described by something that is no schema (`{"city": "string"}`) may be anything."""
    for keyword in _MAPS & schema.keys():
        schema[keyword] = {name: part if _is_schema(part) else {} for name, part in schema[keyword].items()}
    return schema


def _typed(schema: dict[str, Any]) -> dict[str, Any]:
    if "type" not in schema:
        return schema
    declared = schema["type"]
    words = declared if isinstance(declared, list) else [declared]
    names = [_WORDS.get(word.lower()) if isinstance(word, str) else None for word in words]
    if not names or None in names:
        # One word without meaning (`any`) allows everything, so the others say nothing.
        return {keyword: value for keyword, value in schema.items() if keyword != "type"}
    return {**schema, "type": list(dict.fromkeys(names)) if isinstance(declared, list) else names[0]}


def _enum_of_its_type(schema: dict[str, Any]) -> dict[str, Any]:
    """Read an `enum` that no value of the declared type can meet: `{"type": "integer", "enum": ["1", "2"]}`.

    On an array whose `enum` lists no array, the choices are meant for the items.
    """
    type_, choices = schema.get("type"), schema.get("enum")
    if not isinstance(type_, str) or not choices or any(_IS_OF_TYPE[type_](choice) for choice in choices):
        return schema
    if type_ == "array" and isinstance(schema.get("items", {}), dict):
        rest = {keyword: value for keyword, value in schema.items() if keyword != "enum"}
        return {**rest, "items": {"enum": choices, **schema.get("items", {})}}
    if type_ == "string":
        return {**schema, "enum": [choice if choice is None else str(choice) for choice in choices]}
    read = [_read(choice) for choice in choices]
    fitting = [choice for choice in read if _IS_OF_TYPE[type_](choice)]
    return {**schema, "enum": fitting} if fitting else {**schema, "type": list(_IS_OF_TYPE)}


def _read(text: Any) -> Any:
    try:
        return json.loads(text.lower()) if isinstance(text, str) else text
    except ValueError:
        return text


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAPI 3.0 says `nullable: true` where JSON Schema lists the type `null`."""
    if schema.get("nullable") is not True:
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != "nullable"}
    if not {"type", "enum"} & rest.keys():
        composed = rest.keys() & {"$ref", "allOf", "anyOf", "oneOf"}
        return {"anyOf": [rest, {"type": "null"}]} if composed else rest
    if "type" in rest:
        words = rest["type"] if isinstance(rest["type"], list) else [rest["type"]]
        rest["type"] = list(dict.fromkeys([*words, "null"]))
    if "enum" in rest and None not in rest["enum"]:
        rest["enum"] = [*rest["enum"], None]
    return rest


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_schema_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_schema(part) for part in value)


def _is_pattern(value: Any) -> bool:
    """A pattern that Python's `re` does not know (JavaScript's own escapes) cannot be checked here."""
    try:
        return isinstance(value, str) and re.compile(value) is not None
    except re.error:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_name_list(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


_IS_OF_TYPE: Final[dict[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": _is_text,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == int(value),
    "boolean": _is_flag,
    "null": lambda value: value is None,
}

_MAPS: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})

_SHAPES: Final[dict[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(("title", "description", "format", "$comment", "$id", "$schema", "$ref", "$anchor"), _is_text),
    **dict.fromkeys(("contentMediaType", "contentEncoding"), _is_text),
    **dict.fromkeys(("minimum", "maximum"), _is_number),
    **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), lambda value: isinstance(value, int | float)),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties", "minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), _is_flag),
    **dict.fromkeys(("properties", "$defs", "definitions", "dependentSchemas"), lambda value: isinstance(value, dict)),
    "patternProperties": lambda value: isinstance(value, dict) and all(map(_is_pattern, value)),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _is_schema_list),
    **dict.fromkeys(("additionalProperties", "propertyNames", "not", "contains", "if", "then", "else"), _is_schema),
    "items": lambda value: _is_schema(value) or (isinstance(value, list) and all(map(_is_schema, value))),
    "required": _is_name_list,
    **dict.fromkeys(("enum", "examples"), lambda value: isinstance(value, list)),
    "pattern": _is_pattern,
}
"""Keyword → whether a value of it can be read."""
