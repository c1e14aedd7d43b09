"""From a JSON Schema to the tree of controls a form is drawn from.

The rule that everything else bends to: a node is never dropped. What has no control of its own (a recursive type at
depth, a reference into nowhere, `any`) becomes a box for JSON text.
"""

import functools
import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final, Literal

from hitl_nb._limits import is_deep
from hitl_nb._schema._document import Document, Opened, is_secret, mentions_secret
from hitl_nb._schema._keywords import TYPE_TITLE, Part, Schema, without
from hitl_nb._schema._layout import hide_secrets
from hitl_nb._schema._node import MISSING, FormNode, Kind, Option, choice_between, option_of
from hitl_nb._schema._types import JsonSchemaValidator, PydanticValidator
from hitl_nb._schema._wire import look_of
from hitl_nb.errors import ToolDefinitionError

__all__ = ["form_of", "form_tree", "secret_form_of"]

_BUDGET: Final = 3_000
"""Nodes a form may have; a page of more is no form. Beyond it, boxes."""

_REPEATS: Final = (2, 1)
"""A recursive type is drawn inside itself once (a tree's children, not the children's children); in a form that gets
too large by it, not at all."""


def form_of(type_: object) -> FormNode:
    """Return the tree of the values that a validator takes; built once a type, however many calls have it.

    Raises:
        ToolDefinitionError: The type has no JSON Schema.
    """
    if not isinstance(type_, PydanticValidator | JsonSchemaValidator):
        raise ToolDefinitionError(f"There is no form for `{type_!r}`. Write a type that pydantic knows, or a schema.")
    return _form_of(type_)


@functools.lru_cache(maxsize=256)
def _form_of(validator: PydanticValidator | JsonSchemaValidator) -> FormNode:
    return form_tree(validator.json_schema)


def secret_form_of(type_: object) -> FormNode | None:
    """Return the tree of the values that a validator takes if a secret may stand in them; None if nothing is to hide.

    Most types hold no secret, and that is seen without building a tree. None, too, where nothing is known of the type.
    """
    known = isinstance(type_, PydanticValidator | JsonSchemaValidator)
    return _secret_form_of(type_) if known else None


@functools.lru_cache(maxsize=256)
def _secret_form_of(validator: PydanticValidator | JsonSchemaValidator) -> FormNode | None:
    try:
        return _form_of(validator) if mentions_secret(validator.json_schema) else None
    except (ToolDefinitionError, RecursionError):
        # Without a schema, or with one too deep to look through, the form is a single box, which hides nothing.
        return None


def form_tree(schema: object) -> FormNode:
    """Return the tree of controls for values of `schema`.

    Args:
        schema: Any JSON Schema, also one with the type words of other languages. Take a validator's
            `json_schema`, not its `schema`, which has lost `additionalProperties`.

    Never raises for a schema: what cannot be read is a JSON box.
    """
    if is_deep(schema):
        return FormNode(kind="json", note="The schema is nested too deeply.")
    try:
        for repeats in _REPEATS:
            builder = _Builder(Document(schema, repeats=repeats))
            tree = builder.root()
            if builder.left > 0:
                break
    except RecursionError:
        return FormNode(kind="json", note="The schema is nested too deeply.")
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

    def _node(self, schema: Part, place: _Place) -> FormNode:
        opened = self._document.open(schema, place.trail)
        # What is beyond the budget is opened still: the box has a title, and says whether null is allowed.
        self.left -= 1
        if self.left < 0:
            return _dressed(FormNode(kind="json", note="The form is too large."), opened, place)
        # With something beside a reference into nowhere, that much can be drawn.
        if opened.obstacle and not _DRAWABLE & opened.schema.keys():
            return _dressed(FormNode(kind="json", note=opened.obstacle), opened, place)
        return _dressed(self._bare(opened, place.is_root), opened, place)

    def _bare(self, opened: Opened, is_root: bool = False) -> FormNode:
        """Return the node without the words around it (title, description, default)."""
        schema = opened.schema
        if is_secret(schema):
            return _text_node(schema)  # whatever its type is
        if "const" in schema:
            return _choice_node([schema["const"]])
        if schema.get("enum"):
            return _choice_node(schema["enum"])
        if "oneOf" in schema or "anyOf" in schema:
            return self._combined(opened, "oneOf" if "oneOf" in schema else "anyOf", is_root)
        type_ = schema.get("type") or _implied_type(schema)
        if isinstance(type_, list):
            return self._several_types(opened, type_)
        match type_:
            case "object":
                return self._object(opened, is_root)
            case "array":
                return self._array(opened)
            case "string":
                return _text_node(schema)
            case "number" | "integer":
                return _number_node(schema, type_)
            case "boolean":
                return FormNode(kind="boolean")
            case "null":
                return _choice_node([None])
        return FormNode(kind="json")

    def _inner(self, schema: Part, opened: Opened, name: str = "", *, required: bool = True) -> FormNode:
        return self._node(schema, _Place(name=name, required=required, trail=opened.trail))

    def _several_types(self, opened: Opened, types: list[str]) -> FormNode:
        if {"object", "array"} <= set(types):  # anything, in other words
            return FormNode(kind="json")
        # The words are the union's, not each branch's.
        bare = without(opened.schema, "title", "description", "default", TYPE_TITLE)
        return _union_node([self._inner({**bare, "type": type_}, opened) for type_ in types])

    def _combined(self, opened: Opened, keyword: Literal["anyOf", "oneOf"], is_root: bool) -> FormNode:
        """`anyOf` or `oneOf`: a choice between forms, unless it only adds rules to the one form around it."""
        schema = opened.schema
        around = without(schema, keyword, *_ANNOTATIONS)
        if all(isinstance(branch, dict) and branch.keys() <= _RULES for branch in schema[keyword]):
            return self._bare(replace(opened, schema=around), is_root)
        # Keywords around the branches hold for each of them.
        branches: list[Part] = [{"allOf": [around, branch]} if around else branch for branch in schema[keyword]]
        declared = schema.get("discriminator")
        name = declared.get("propertyName", "") if isinstance(declared, dict) else ""
        return _union_node([self._inner(branch, opened) for branch in branches], discriminator=name)

    def _object(self, opened: Opened, is_root: bool) -> FormNode:
        schema = opened.schema
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        required = dict.fromkeys(schema.get("required", []))
        names: dict[str, Part] = {**properties, **{name: {} for name in required if name not in properties}}
        extra = schema.get("additionalProperties")
        further = extra if isinstance(extra, dict) else next(iter(patterns.values()), extra)
        # An object that lists its keys has no others, unless it says so; one that lists none is a dict.
        closed = further is False or (further is None and bool(names or (is_root and "properties" in schema)))
        item = None if closed else self._inner(True if further is None else further, opened)
        if not names and item is not None:
            return FormNode(
                kind="dict",
                item=item,
                pattern=_key_pattern(schema, patterns),
                min_length=schema.get("minProperties"),
                max_length=schema.get("maxProperties"),
            )
        label = _pydantic_title if _is_titled_by_pydantic(properties) else _quoted_if_blank
        children = [
            (name, self._inner(part, opened, label(name), required=name in required)) for name, part in names.items()
        ]
        return FormNode(kind="object", children=_distinguished(children), item=item)

    def _array(self, opened: Opened) -> FormNode:
        schema = opened.schema
        items: Part | list[Part] = schema.get("items", True)
        prefix = schema.get("prefixItems", [])
        if isinstance(items, list):  # drafts up to 2019-09
            prefix, items = items, schema.get("additionalItems", True)
        if prefix:
            full = items is False or schema.get("maxItems") == len(prefix) or "items" not in schema
            rest = None if full else self._inner(items, opened)
            children = tuple((place, self._inner(part, opened)) for place, part in enumerate(prefix))
            node = FormNode(kind="tuple", children=children, item=rest)
        else:
            item = self._inner(items, opened)
            kind: Kind = "table" if item.is_row else "list"
            node = FormNode(kind=kind, item=item, unique=schema.get("uniqueItems", False))
        return replace(node, min_length=schema.get("minItems"), max_length=schema.get("maxItems"))


_ANNOTATIONS: Final = frozenset(
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


def _implied_type(schema: Schema) -> str | None:
    if "properties" in schema or "patternProperties" in schema:
        return "object"
    return "array" if "prefixItems" in schema or "items" in schema else None


# -- objects and tables -------------------------------------------------------------------------------------------


def _pydantic_title(name: str) -> str:
    """As pydantic names the other fields: it leaves out the title of a field that is a `$ref`."""
    return _quoted_if_blank(name.title().replace("_", " ").strip() or name)


def _quoted_if_blank(name: str) -> str:
    """Return a label that can be seen (and heard), also for the key `""`."""
    return name if name.strip() else f'"{name}"'


def _is_titled_by_pydantic(properties: dict[str, Part]) -> bool:
    return any(
        isinstance(part, dict) and part.get("title") == _pydantic_title(name) for name, part in properties.items()
    )


def _key_pattern(schema: Schema, patterns: dict[str, Part]) -> str:
    names = schema.get("propertyNames")
    named = names.get("pattern", "") if isinstance(names, dict) else ""
    return next(iter(patterns)) if len(patterns) == 1 and not named else named


def _distinguished(children: list[tuple[str, FormNode]]) -> tuple[tuple[str, FormNode], ...]:
    """Add their names to two siblings of the same title: a person must see which is which."""
    titles = Counter(node.title for _, node in children)
    return tuple(
        (name, replace(node, title=f"{node.title} ({name})") if titles[node.title] > 1 else node)
        for name, node in children
    )


# -- text, numbers, fixed values ----------------------------------------------------------------------------------

_BY_FORMAT: Final[dict[str, Kind]] = {
    "date": "date",
    "time": "time",
    "date-time": "datetime",
    "datetime": "datetime",
    "duration": "duration",
    **dict.fromkeys(("textarea", "multiline", "multi-line", "markdown", "html", "sql", "code"), "long_text"),
}

_MANY: Final = 300
"""A text that may be longer than this gets more than one line."""

_DECIMAL: Final = "^(?!^[-+.]*$)[+-]?0*"
"""How pydantic's pattern for the text of a Decimal begins, with and without limits on its digits."""


def _text_node(schema: Schema) -> FormNode:
    format_ = schema.get("format", "")
    is_long = schema.get("maxLength", 0) > _MANY or schema.get("contentMediaType", "").startswith("text/")
    kind = "secret" if is_secret(schema) else _BY_FORMAT.get(format_, "long_text" if is_long else "text")
    return FormNode(
        kind=kind,
        format=format_,
        pattern=schema.get("pattern", ""),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
    )


def _number_node(schema: Schema, kind: Literal["number", "integer"]) -> FormNode:
    minimum, exclusive_minimum = _limit(schema.get("minimum"), schema.get("exclusiveMinimum"))
    maximum, exclusive_maximum = _limit(schema.get("maximum"), schema.get("exclusiveMaximum"))
    return FormNode(
        kind=kind,
        format=schema.get("format", ""),
        step=schema.get("multipleOf"),
        minimum=minimum,
        maximum=maximum,
        exclusive_minimum=exclusive_minimum,
        exclusive_maximum=exclusive_maximum,
    )


def _limit(limit: float | None, exclusive: float | None) -> tuple[float | None, float | None]:
    """Draft 4 says `"exclusiveMinimum": true` beside `minimum`; later drafts give the number itself."""
    if isinstance(exclusive, bool):
        return (None, limit) if exclusive else (limit, None)
    return limit, exclusive


def _choice_node(values: list[object]) -> FormNode:
    return choice_between(map(option_of, values))


# -- alternatives -------------------------------------------------------------------------------------------------


def _union_node(branches: list[FormNode], *, discriminator: str = "") -> FormNode:
    """Return one node for several branches; a union only if there is something to choose.

    Args:
        branches: The node of each branch, in order.
        discriminator: The property the schema declares to tell the branches apart, if it does. Otherwise one
            is looked for: a property with a constant that is different in every branch.
    """
    # One null for the whole of it, not one a branch.
    nullable = any(node.nullable for node in branches)
    nodes = _distinct(branches)
    single = _as_one(nodes)
    if single is not None:
        return replace(single, nullable=single.nullable or nullable)
    name = _discriminator(nodes, discriminator)
    tagged = [replace(node, tags=_tags(node, name) if name else ()) for node in nodes]
    return FormNode(kind="union", nullable=nullable, branches=_titled(tagged), discriminator=name)


def _distinct(branches: list[FormNode]) -> list[FormNode]:
    """Return the branches that are really different, those of unions among them."""
    flat = [
        part
        for node in branches
        for part in (node.branches if node.kind == "union" else [replace(node, nullable=False)])
    ]
    # By what travels, because to Python 1 and True are equal.
    kept = list({json.dumps(node.to_wire()): node for node in reversed(flat)}.values())[::-1]
    any_number = any(node.kind == "number" and replace(node, title="") == FormNode(kind="number") for node in kept)
    return [node for node in kept if not (any_number and node.kind == "integer")]


def _as_one(nodes: list[FormNode]) -> FormNode | None:
    """Return the one node that has all values of these, if there is one."""
    if len(nodes) == 1:
        return nodes[0]
    if len(nodes) == 2 and nodes[0].kind == "number" and nodes[1].kind == "text":
        # `{"anyOf": [{"type": "number"}, {"type": "string", "pattern": …}]}` is pydantic's Decimal.
        return replace(nodes[0], exact=True) if nodes[1].pattern.startswith(_DECIMAL) else None
    if any(node.kind not in ("choice", "constant") for node in nodes):
        return None
    # `{"oneOf": [{"const": 1, "title": "Low"}, …]}` is an `enum` with labels.
    return choice_between(
        Option(value=each.value, label=node.title if node.kind == "constant" and node.title else each.label)
        for node in nodes
        for each in node.options
    )


def _discriminator(nodes: list[FormNode], declared: str) -> str:
    if not all(node.kind == "object" for node in nodes):
        return ""
    candidates = dict.fromkeys([declared, *(name for name, _ in nodes[0].children)])
    return next((str(name) for name in candidates if name and _tells_apart(nodes, str(name))), "")


def _tells_apart(nodes: list[FormNode], name: str) -> bool:
    tags = [_tags(node, name) for node in nodes]
    looks = [look_of(tag) for each in tags for tag in each]
    return all(tags) and len(set(looks)) == len(looks)


def _tags(node: FormNode, name: str) -> tuple[object, ...]:
    child = dict(node.children).get(name)
    return tuple(option.value for option in child.options) if child else ()


def _titled(nodes: list[FormNode]) -> tuple[FormNode, ...]:
    """Give every branch a title of its own: what the schema calls it, or what it holds; never "Option 1"."""
    titles = [node.title or node.contents() for node in nodes]
    all_of_them, so_far = Counter(titles), Counter[str]()
    titled = []
    for node, title in zip(nodes, titles, strict=True):
        so_far[title] += 1
        titled.append(replace(node, title=f"{title} {so_far[title]}" if all_of_them[title] > 1 else title))
    return tuple(titled)
