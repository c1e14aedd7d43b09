"""A whole schema, and each part of it opened: references followed, `allOf` merged, "or null" taken apart.

The same thing has many spellings. A text that may be null is `{"type": ["string", "null"]}`, `{"anyOf": [{"type":
"string"}, {"type": "null"}]}`, `{"type": "string", "nullable": true}`, or a `$ref` to one of these; whoever reads an
`Opened` does not care which. What is left can be drawn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import unquote, urljoin

from hitl_nb._limits import MERGE_STEPS
from hitl_nb._schema._keywords import TYPE_TITLE, Part, Schema, map_schemas, standard_schema, subschemas, without
from hitl_nb._schema._wire import Json, look_of

__all__ = ["Document", "Opened", "is_secret", "mentions_secret", "schema_for_model"]

_ANYTHING: Final[Schema] = {}
_NOTHING: Final = cast("Schema", {"not": {}})

Trail: TypeAlias = tuple[int, ...]
Alternatives: TypeAlias = Literal["anyOf", "oneOf"]
_ALTERNATIVES: Final[tuple[Alternatives, ...]] = ("anyOf", "oneOf")


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A schema that can be drawn: no `$ref`, no `allOf`, and null only as `nullable`."""

    schema: Schema
    """What the value must be when it is not null; `{"type": "null"}` if it can be nothing else."""

    nullable: bool
    """Whether null is allowed as well."""

    trail: Trail
    """The references followed on the way here (by identity of their target), to notice recursion."""

    obstacle: str = ""
    """Why a reference was not followed, in words; empty if all were."""


class Document:
    """A whole JSON Schema, in whose definitions references are looked up; nothing is ever fetched.

    Args:
        schema: Any JSON Schema, as found in the wild.
        repeats: How often a recursive type may be followed on one path.
    """

    def __init__(self, schema: object, *, repeats: int) -> None:
        self.root: Part = standard_schema(schema) if isinstance(schema, dict) else schema is not False
        self._repeats = repeats
        self._merges = 0
        self._by_address: dict[str, Part] = {}
        # By identity: schemas that are equal may stand below different `$id`s.
        self._base: dict[int, str] = {}
        self._index(self.root, "")

    def open(self, schema: Part, trail: Trail = ()) -> Opened:
        """Open one schema of this document (or one made of its parts).

        Args:
            schema: A dict or boolean that stands in the document.
            trail: The `Opened.trail` of the schema around it.
        """
        flat, trail, obstacle = self._flat(schema, trail)
        nullable = False
        while True:
            flat, null_found = _without_null(flat)
            keyword, branches, null_branch_found = self._branches_without_null(flat, trail)
            nullable = nullable or null_found or null_branch_found
            if keyword is None:
                return Opened(schema=flat, nullable=nullable, trail=trail, obstacle=obstacle)
            around = without(flat, keyword)
            if len(branches) != 1:
                around[keyword] = branches
                flat = around if branches else {**around, "type": "null"}
                return Opened(schema=flat, nullable=nullable, trail=trail, obstacle=obstacle)
            # One branch is no choice. It may have branches in its turn.
            inner, trail, further = self._flat(branches[0], trail)
            flat, obstacle = merged(inner, around), obstacle or further

    def _flat(self, schema: Part, trail: Trail) -> tuple[Schema, Trail, str]:
        """Follow `$ref` and merge `allOf` until neither is left: the schema, the trail, the obstacle."""
        if not isinstance(schema, dict):
            return _NOTHING if schema is False else _ANYTHING, trail, ""
        self._merges += 1
        if self._merges > MERGE_STEPS:
            return _ANYTHING, trail, "The schema is too intricate."
        result: Schema = {}
        obstacle = ""
        if "$ref" in schema:
            target = self._target(schema, trail)
            if isinstance(target, str):
                obstacle = target
            else:
                result, trail, obstacle = self._flat(target, (*trail, id(target)))
                result = _titled_by_its_type(result)
        # The trail grows along the parts: each may hold the type that contains itself.
        for part in schema.get("allOf", []):
            inner, trail, problem = self._flat(part, trail)
            result, obstacle = merged(result, inner), obstacle or problem
        return merged(result, without(schema, "$ref", "allOf")), trail, obstacle

    def _branches_without_null(self, schema: Schema, trail: Trail) -> tuple[Alternatives | None, list[Part], bool]:
        """Return the first of `anyOf`, `oneOf` with a null branch, or only one: keyword, the others, had null."""
        for keyword in _ALTERNATIVES:
            if keyword in schema:
                branches = schema[keyword]
                others = [branch for branch in branches if not self._is_null(branch, trail)]
                if len(others) != len(branches) or len(others) == 1:
                    return keyword, others, len(others) != len(branches)
        return None, [], False

    def _is_null(self, schema: Part, trail: Trail) -> bool:
        flat, _, _ = self._flat(schema, trail)
        return flat.get("type") in ("null", ["null"]) or flat.get("enum") == [None] or flat.get("const", 0) is None

    def _target(self, schema: Schema, trail: Trail) -> Part | str:
        """Return the schema that `$ref` points to; words if it cannot be followed."""
        reference = schema["$ref"]
        target = self._look_up(urljoin(self._base.get(id(schema), ""), reference), reference)
        if target is None:
            return f"The schema refers to {reference}, which is not part of it."
        return "The type contains itself." if trail.count(id(target)) >= self._repeats else target

    def _look_up(self, address: str, reference: str) -> Part | None:
        # Many point from the root of the document, although an `$id` in between has moved the base.
        for candidate in (address, reference):
            if candidate in self._by_address:
                return self._by_address[candidate]
            document, _, fragment = candidate.partition("#")
            found = _at_pointer(self._by_address.get(document) if document else self.root, unquote(fragment))
            if found is not None:
                return found
        return None

    def _index(self, schema: Part, base: str) -> None:
        if isinstance(schema, bool):
            return
        name = schema.get("$id", schema.get("id"))  # as draft 4 says it
        base = urljoin(base, name) if isinstance(name, str) else base
        self._base[id(schema)] = base
        if isinstance(name, str):
            self._by_address.setdefault(base.removesuffix("#"), schema)
        # A `$dynamicAnchor` is an anchor, too. Which of several is meant, only a value could say.
        for anchor in (schema.get("$anchor"), schema.get("$dynamicAnchor")):
            if isinstance(anchor, str):
                self._by_address.setdefault(f"{base.partition('#')[0]}#{anchor}", schema)
        for part in subschemas(schema):
            self._index(part, base)


def _titled_by_its_type(schema: Schema) -> Schema:
    if "title" in schema:
        title, schema = schema["title"], without(schema, "title")
        schema[TYPE_TITLE] = title
    return schema


def _without_null(schema: Schema) -> tuple[Schema, bool]:
    """Take null out of `type` and `enum` (unless nothing else is there), and say whether null is allowed."""
    found = False
    words = schema.get("type")
    if isinstance(words, list):
        others = [word for word in words if word != "null"]
        found = len(others) < len(words) and bool(others)
        kept = others or words
        schema = {**schema, "type": kept[0] if len(kept) == 1 else kept}
    choices = schema.get("enum")
    if choices is not None and None in choices:
        other_choices = [choice for choice in choices if choice is not None]
        schema = {**schema, "enum": other_choices} if other_choices else {**schema, "type": "null"}
        # `{"type": "string", "enum": ["a", null]}` does not allow null; `type` has to allow it, too.
        found = bool(other_choices) and (found or words is None)
    elif choices is not None:
        found = False
    return schema, found


def _at_pointer(root: object, pointer: str) -> Part | None:
    """Return the part of `root` a JSON Pointer (RFC 6901) names, or None; `""` is the root."""
    if pointer and not pointer.startswith("/"):
        return None
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(root, dict) and key in root:
            root = root[key]
        elif isinstance(root, list) and key.isdecimal() and int(key) < len(root):
            root = root[int(key)]
        else:
            return None
    return cast("Part", root) if isinstance(root, dict | bool) else None


# -- two schemas as one -------------------------------------------------------------------------------------------


def merged(first: Schema, second: Schema) -> Schema:
    """Return one schema that asks for both; for words (`title`, `description`, `default`) `second` wins.

    Neither may hold `$ref` or `allOf` at its top. Properties that both have become an `allOf` of the two, to be opened
    when their turn comes. The result is for drawing, not for checking: where two rules cannot be written as one (two
    different patterns), the later stays. The validator reads the original.
    """
    result: dict[str, object] = {**first}
    for keyword, value in second.items():
        combine = _COMBINE.get(keyword)
        result[keyword] = combine(result[keyword], value) if combine and keyword in result else value
    return cast("Schema", result)


def _properties(first: dict[str, Part], second: dict[str, Part]) -> dict[str, Part]:
    both = {name: _both(first[name], part) if name in first else part for name, part in second.items()}
    return {**first, **both}


def _both(first: Part, second: Part) -> Part:
    return first if first == second else {"allOf": [first, second]}


def _extra(first: Part, second: Part) -> Part:
    if first is False or second is True:
        return first
    return second if second is False or first is True else _both(first, second)


def _required(first: list[str], second: list[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _types(first: str | list[str], second: str | list[str]) -> str | list[str]:
    """Return the types both allow (an integer is a number, too); with none in common the later, to draw something."""
    one, other = ([words] if isinstance(words, str) else words for words in (first, second))
    kept = [word for word in one if _allows(other, word)]
    kept += [word for word in other if word not in kept and _allows(one, word)]
    return (kept if len(kept) > 1 else kept[0]) if kept else second


def _allows(words: list[str], word: str) -> bool:
    return word in words or (word == "integer" and "number" in words)


def _enum(first: list[object], second: list[object]) -> list[object]:
    kept = set(map(look_of, second))
    return [choice for choice in first if look_of(choice) in kept] or second


_COMBINE: Final[dict[str, Callable[[Any, Any], object]]] = {
    "properties": _properties,
    "patternProperties": _properties,
    "additionalProperties": _extra,
    "items": _both,
    "required": _required,
    "type": _types,
    "enum": _enum,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
    # Both lists of alternatives hold at once, which no form can show; the first draws a form of one of them.
    **dict.fromkeys(("anyOf", "oneOf"), lambda first, _: first),
}
"""Keywords that both may have; for any other the later wins."""


# -- what others want to know of a schema -------------------------------------------------------------------------


def schema_for_model(schema: Mapping[str, object]) -> dict[str, Json]:
    """Return `schema` as the `parameters` of a tool, the way other AG-UI clients (CopilotKit) send it.

    `$schema` is dropped, every `additionalProperties` is stripped, the root is an `object` and has `properties`. A
    root that is only a `$ref` (a recursive model) is opened, because providers refuse a root without `type`.
    """
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/$defs/"):
        target = _at_pointer(schema, reference.removeprefix("#"))
        if isinstance(target, dict):
            schema = {**target, **{keyword: value for keyword, value in schema.items() if keyword != "$ref"}}
    stripped = map_schemas(schema, lambda part: {key: part[key] for key in part if key != "additionalProperties"})
    head = cast("dict[str, Json]", stripped)
    head.pop("$schema", None)
    return {**head, "type": "object", "properties": head.get("properties", {})}


def is_secret(schema: Mapping[str, object]) -> bool:
    """Whether values of `schema` are secrets, whatever their type is."""
    return schema.get("writeOnly") is True or schema.get("format") == "password"


def mentions_secret(schema: object) -> bool:
    """Whether a secret might stand somewhere in values of `schema`; a quick look, which may say yes for no reason."""
    if isinstance(schema, dict):
        return is_secret(schema) or any(map(mentions_secret, schema.values()))
    return isinstance(schema, list) and any(map(mentions_secret, schema))
