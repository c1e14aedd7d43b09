"""Opening a schema: references followed, `allOf` merged, "or null" taken apart. What is left can be drawn.

The same thing has many spellings. A text that may be null is `{"type": ["string", "null"]}`, `{"anyOf":
[{"type": "string"}, {"type": "null"}]}`, `{"type": "string", "nullable": true}`, or a `$ref` to one of these;
whoever reads an `Opened` does not care which.
"""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urljoin

from hitl_nb._schema._keywords import subschemas
from hitl_nb._schema._merge import merged
from hitl_nb._schema._repair import standard_schema

__all__ = ["TYPE_TITLE", "Document", "Opened"]

TYPE_TITLE: Final = "$title"
"""Where `Opened.schema` keeps the title of the type behind a `$ref`: it names the type, not this use."""

_TWICE: Final = 2
"""A recursive type is drawn inside itself once (a tree's children, not the children's children)."""


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A schema that can be drawn: no `$ref`, no `allOf`, and null only as `nullable`."""

    schema: dict[str, Any]
    """What the value must be when it is not null; `{"type": "null"}` if it can be nothing else."""

    nullable: bool
    """Whether null is allowed as well."""

    trail: tuple[int, ...]
    """The references followed on the way here (by identity of their target), to notice recursion."""

    obstacle: str = ""
    """Why a reference was not followed, in words; empty if all were."""


class Document:
    """A whole JSON Schema, in whose definitions references are looked up; nothing is ever fetched.

    Args:
        schema: Any JSON Schema, as found in the wild.
        repeats: How often a recursive type may be followed on one path.
    """

    def __init__(self, schema: Any, *, repeats: int = _TWICE) -> None:
        self.root = standard_schema(schema)
        self._repeats = repeats
        self._by_address: dict[str, Any] = {}
        self._base: dict[int, str] = {}
        self._index(self.root, "")

    def open(self, schema: Any, trail: tuple[int, ...] = ()) -> Opened:
        """Open one schema of this document (or one made of its parts).

        Args:
            schema: A dict or boolean that stands in the document.
            trail: The `Opened.trail` of the schema around it.
        """
        flat, trail, obstacle = self._flat(schema, trail)
        nullable = False
        while True:
            flat, null_found = _without_null(flat)
            nullable = nullable or null_found
            rest = self._branches_without_null(flat, trail)
            if rest is None:
                return Opened(schema=flat, nullable=nullable, trail=trail, obstacle=obstacle)
            keyword, branches, null_found = rest
            nullable = nullable or null_found
            around = {name: part for name, part in flat.items() if name != keyword}
            if len(branches) != 1:
                flat = {**around, keyword: branches} if branches else {**around, "type": "null"}
                return Opened(schema=flat, nullable=nullable, trail=trail, obstacle=obstacle)
            inner, trail, further = self._flat(branches[0], trail)
            flat, obstacle = merged(inner, around), obstacle or further

    def _flat(self, schema: Any, trail: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...], str]:
        """Follow `$ref` and merge `allOf` until neither is left: the schema, the trail, the obstacle."""
        if not isinstance(schema, dict):
            return ({} if schema is not False else {"not": {}}), trail, ""
        result: dict[str, Any] = {}
        obstacle = ""
        if "$ref" in schema:
            target, problem = self._target(schema, trail)
            if problem:
                obstacle = problem
            else:
                result, trail, obstacle = self._flat(target, (*trail, id(target)))
                result = _titled_by_its_type(result)
        for part in schema.get("allOf", []):
            inner, trail, problem = self._flat(part, trail)
            result, obstacle = merged(result, inner), obstacle or problem
        own = {keyword: value for keyword, value in schema.items() if keyword not in ("$ref", "allOf")}
        return merged(result, own), trail, obstacle

    def _branches_without_null(
        self, schema: dict[str, Any], trail: tuple[int, ...]
    ) -> tuple[str, list[Any], bool] | None:
        """The first of `anyOf`, `oneOf` with a null branch, or only one: keyword, the others, had null."""
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if branches is None:
                continue
            others = [branch for branch in branches if not self._is_null(branch, trail)]
            if len(others) != len(branches) or len(others) == 1:
                return keyword, others, len(others) != len(branches)
        return None

    def _is_null(self, schema: Any, trail: tuple[int, ...]) -> bool:
        flat, _, _ = self._flat(schema, trail)
        return flat.get("type") in ("null", ["null"]) or flat.get("enum") == [None] or flat.get("const", 0) is None

    def _target(self, schema: dict[str, Any], trail: tuple[int, ...]) -> tuple[Any, str]:
        reference = schema["$ref"]
        target = self._look_up(urljoin(self._base.get(id(schema), ""), reference), reference)
        if target is None:
            return None, f"The schema refers to {reference}, which is not part of it."
        if trail.count(id(target)) >= self._repeats:
            return None, "The type contains itself."
        return target, ""

    def _look_up(self, address: str, reference: str) -> Any:
        for candidate in (address, reference):
            if candidate in self._by_address:
                return self._by_address[candidate]
            document, _, fragment = candidate.partition("#")
            root = self._by_address.get(document) if document else self.root
            found = _at_pointer(root, unquote(fragment)) if root is not None else None
            if found is not None:
                return found
        return None

    def _index(self, schema: Any, base: str) -> None:
        if not isinstance(schema, dict):
            return
        name = schema.get("$id", schema.get("id"))
        base = urljoin(base, name) if isinstance(name, str) else base
        self._base[id(schema)] = base
        if isinstance(name, str):
            self._by_address.setdefault(base.removesuffix("#"), schema)
        for anchor in ("$anchor", "$dynamicAnchor"):
            if isinstance(schema.get(anchor), str):
                self._by_address.setdefault(f"{base.partition('#')[0]}#{schema[anchor]}", schema)
        for part in subschemas(schema):
            self._index(part, base)


def _titled_by_its_type(schema: dict[str, Any]) -> dict[str, Any]:
    if "title" not in schema:
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword != "title"}
    return {**rest, TYPE_TITLE: schema["title"]}


def _without_null(schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Take null out of `type` and `enum` (unless nothing else is there), and say whether null is allowed."""
    found = False
    words = schema.get("type")
    if isinstance(words, list):
        others = [word for word in words if word != "null"]
        found = len(others) < len(words) and bool(others)
        kept = others or words
        schema = {**schema, "type": kept[0] if len(kept) == 1 else kept}
    choices = schema.get("enum")
    if isinstance(choices, list) and None in choices:
        others = [choice for choice in choices if choice is not None]
        schema = {**schema, "enum": others} if others else {**schema, "type": "null"}
        # `{"type": "string", "enum": ["a", null]}` does not allow null; `type` has to allow it, too.
        found = bool(others) and (found or words is None)
    elif isinstance(choices, list):
        found = False
    return schema, found


def _at_pointer(root: Any, pointer: str) -> Any:
    """The part of `root` a JSON Pointer (RFC 6901) names, or None; `""` is the root."""
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
    return root if isinstance(root, dict | bool) else None
