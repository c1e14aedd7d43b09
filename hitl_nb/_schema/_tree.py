"""From a JSON Schema to the tree of controls a form is drawn from.

The rule that everything else bends to: a node is never dropped. What has no control of its own (a recursive
type at depth, a reference into nowhere, `any`) becomes a box for JSON text. Which schemas people really have,
and how many of them each control covers: facts/peers.md 3.4.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any, Final

from hitl_nb._schema._branches import hide_secrets
from hitl_nb._schema._json_schema import JsonSchemaValidator
from hitl_nb._schema._node import MISSING, SCALARS, FormNode, Kind
from hitl_nb._schema._options import constant, options_node
from hitl_nb._schema._resolve import TYPE_TITLE, Document, Opened
from hitl_nb._schema._scalars import number_node, text_node
from hitl_nb._schema._union import union_node
from hitl_nb._schema._validate import PydanticValidator, Validator
from hitl_nb.errors import ToolDefinitionError

__all__ = ["form_of", "form_tree"]

_BUDGET: Final = 3_000
"""Nodes a form may have; a page of more is no form. Beyond it, boxes."""


def form_of(type_: object) -> FormNode:
    """The tree of the values that a validator takes; built once a type, however many calls have it.

    Raises:
        ToolDefinitionError: The type has no JSON Schema.
    """
    if not isinstance(type_, PydanticValidator | JsonSchemaValidator):
        raise ToolDefinitionError(f"There is no form for `{type_!r}`. Write a type that pydantic knows, or a schema.")
    return _tree_of(type_)


@functools.lru_cache(maxsize=256)
def _tree_of(validator: Validator) -> FormNode:
    return form_tree(validator.json_schema)


def form_tree(schema: dict[str, Any]) -> FormNode:
    """The tree of controls for values of `schema`.

    Args:
        schema: Any JSON Schema, also one with the type words of other languages. Take a validator's
            `json_schema`, not its `schema`, which has lost `additionalProperties`.

    Never raises for a schema: what cannot be read is a JSON box.
    """
    try:
        return _tree(schema)
    except RecursionError:
        return FormNode(kind="json", note="The schema is nested too deeply.")


def _tree(schema: Any) -> FormNode:
    for repeats in (2, 1):
        builder = _Builder(Document(schema, repeats=repeats))
        tree = builder.root()
        if builder.left > 0:
            break
    return tree


@dataclass(frozen=True, kw_only=True)
class _Place:
    """Where a schema stands, as far as its node depends on it."""

    name: str = ""
    required: bool = True
    trail: tuple[int, ...] = ()
    is_root: bool = False


class _Builder:
    """Builds the nodes of one document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.left = _BUDGET

    def root(self) -> FormNode:
        return self._node(self._document.root, _Place(is_root=True))

    def _node(self, schema: Any, place: _Place) -> FormNode:
        opened = self._document.open(schema, place.trail)
        self.left -= 1
        if self.left < 0:
            return _dressed(FormNode(kind="json", note="The form is too large."), opened, place)
        if opened.obstacle and not _DRAWABLE & opened.schema.keys():
            return _dressed(FormNode(kind="json", note=opened.obstacle), opened, place)
        return _dressed(self._bare(opened, place.is_root), opened, place)

    def _bare(self, opened: Opened, is_root: bool = False) -> FormNode:
        """The node without the words around it (title, description, default)."""
        schema = opened.schema
        if schema.get("writeOnly") or schema.get("format") == "password":
            return text_node({**schema, "writeOnly": True})  # whatever its type is
        if "const" in schema:
            return constant(schema["const"])
        if schema.get("enum"):
            return options_node(schema["enum"])
        combined = next((keyword for keyword in ("oneOf", "anyOf") if keyword in schema), None)
        if combined:
            return self._combined(opened, combined, is_root)
        type_ = schema.get("type") or _implied_type(schema)
        if isinstance(type_, list):
            return self._several_types(opened, type_)
        match type_:
            case "object":
                return self._object(opened, is_root)
            case "array":
                return self._array(opened)
            case "string":
                return text_node(schema)
            case "number" | "integer":
                return number_node(schema, type_)
            case "boolean":
                return FormNode(kind="boolean")
            case "null":
                return constant(None)
        return FormNode(kind="json")

    def _inner(self, schema: Any, opened: Opened, name: str = "", *, required: bool = True) -> FormNode:
        return self._node(schema, _Place(name=name, required=required, trail=opened.trail))

    def _several_types(self, opened: Opened, types: list[str]) -> FormNode:
        if {"object", "array"} <= set(types):  # anything, in other words
            return FormNode(kind="json")
        branches = [{**opened.schema, "type": type_} for type_ in types]
        words = ("title", "description", "default", TYPE_TITLE)
        bare = [{key: part for key, part in branch.items() if key not in words} for branch in branches]
        return union_node([self._inner(branch, opened) for branch in bare])

    def _combined(self, opened: Opened, keyword: str, is_root: bool) -> FormNode:
        """`anyOf` or `oneOf`: a choice between forms, unless it only adds rules to the one form around it."""
        schema = opened.schema
        around = {key: part for key, part in schema.items() if key not in (keyword, *_WORDS)}
        if all(isinstance(branch, dict) and branch.keys() <= _RULES for branch in schema[keyword]):
            return self._bare(replace(opened, schema=around), is_root)
        branches = [{"allOf": [around, branch]} if around else branch for branch in schema[keyword]]
        declared = schema.get("discriminator")
        name = declared.get("propertyName", "") if isinstance(declared, dict) else ""
        return union_node([self._inner(branch, opened) for branch in branches], discriminator=name)

    def _object(self, opened: Opened, is_root: bool) -> FormNode:
        schema = opened.schema
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        extra = schema.get("additionalProperties", MISSING)
        further = extra if isinstance(extra, dict) else next(iter(patterns.values()), extra)
        limits = _lengths(schema, "Properties")
        required = schema.get("required", [])
        names = {**properties, **{name: {} for name in required if name not in properties}}
        no_further = further is False or (further is MISSING and bool(names or (is_root and "properties" in schema)))
        item = None if no_further else self._inner({} if further is MISSING else further, opened)
        if not names and item is not None:
            return FormNode(kind="dict", item=item, pattern=_key_pattern(schema, patterns), **limits)
        label = _pydantic_title if _is_titled_by_pydantic(properties) else _quoted_if_blank
        children = [
            (name, self._inner(part, opened, label(name), required=name in required)) for name, part in names.items()
        ]
        return FormNode(kind="object", children=_told_apart(children), item=item)

    def _array(self, opened: Opened) -> FormNode:
        schema = opened.schema
        items, prefix = schema.get("items", {}), schema.get("prefixItems", [])
        if isinstance(items, list):  # drafts up to 2019-09
            items, prefix = schema.get("additionalItems", {}), items
        limits = _lengths(schema, "Items")
        if prefix:
            full = items is False or schema.get("maxItems") == len(prefix) or "items" not in schema
            children = [(place, self._inner(part, opened)) for place, part in enumerate(prefix)]
            rest = None if full else self._inner(items, opened)
            return FormNode(kind="tuple", children=tuple(children), item=rest, **limits)
        item = self._inner(items, opened)
        kind: Kind = "table" if _is_row(item) else "list"
        return FormNode(kind=kind, item=item, unique=schema.get("uniqueItems", False), **limits)


_WORDS: Final = frozenset(
    {
        *("title", "description", "default", "examples", "discriminator", "$schema", "$id", "$comment"),
        *("$defs", "definitions", TYPE_TITLE),
    }
)
"""Keywords that say nothing about the value."""

_RULES: Final = frozenset(
    {
        *("required", "not", "if", "then", "else", "dependentRequired", "minProperties", "maxProperties"),
        *("title", "description", "$comment"),
    }
)
"""Keywords of a branch that draws nothing: `"anyOf": [{"required": ["a"]}, {"required": ["b"]}]`."""

_DRAWABLE: Final = frozenset({"type", "properties", "items", "prefixItems", "enum", "const", "anyOf", "oneOf"})


def _dressed(node: FormNode, opened: Opened, place: _Place) -> FormNode:
    schema = opened.schema
    return replace(
        node,
        title=schema.get("title", "").strip() or place.name or schema.get(TYPE_TITLE, "") or node.title,
        description=schema.get("description", ""),
        required=place.required,
        nullable=opened.nullable or node.nullable,
        default=hide_secrets(schema["default"], node) if "default" in schema else MISSING,
    )


def _pydantic_title(name: str) -> str:
    """As pydantic names the other fields: it leaves out the title of a field that is a `$ref`."""
    return _quoted_if_blank(name.title().replace("_", " ").strip() or name)


def _quoted_if_blank(name: str) -> str:
    """A label that can be seen (and heard), also for the key `""`."""
    return name if name.strip() else f'"{name}"'


def _is_titled_by_pydantic(properties: dict[str, Any]) -> bool:
    return any(
        isinstance(part, dict) and part.get("title") == _pydantic_title(name) for name, part in properties.items()
    )


def _lengths(schema: dict[str, Any], of: str) -> dict[str, Any]:
    return {"min_length": schema.get(f"min{of}"), "max_length": schema.get(f"max{of}")}


def _implied_type(schema: dict[str, Any]) -> str | None:
    if "properties" in schema or "patternProperties" in schema:
        return "object"
    return "array" if "prefixItems" in schema or "items" in schema else None


def _key_pattern(schema: dict[str, Any], patterns: dict[str, Any]) -> str:
    names = schema.get("propertyNames")
    named = names.get("pattern", "") if isinstance(names, dict) else ""
    return next(iter(patterns)) if len(patterns) == 1 and not named else named


def _told_apart(children: list[tuple[str, FormNode]]) -> tuple[tuple[str, FormNode], ...]:
    """Two siblings of the same title get their names added: a person must see which is which."""
    titles = [node.title for _, node in children]
    return tuple(
        (name, replace(node, title=f"{node.title} ({name})" if titles.count(node.title) > 1 else node.title))
        for name, node in children
    )


def _is_row(node: FormNode) -> bool:
    """Whether an item fits into one row of a table: an object whose every value fits into one cell."""
    return (
        node.kind == "object"
        and not node.nullable
        and node.item is None
        and bool(node.children)
        and all(_is_cell(child) for _, child in node.children)
    )


def _is_cell(node: FormNode) -> bool:
    if node.kind == "union":
        return all(branch.kind in SCALARS for branch in node.branches)
    return node.kind in SCALARS or (node.kind == "json" and not node.note)
