"""A value that may take one of several forms: which of them are really different, and how to tell which one it has."""

import json
from dataclasses import replace
from typing import Any, Final

from hitl_nb._schema._node import FormNode, Kind
from hitl_nb._schema._options import merged_options
from hitl_nb._schema._scalars import is_decimal_text
from hitl_nb._schema._values import same

__all__ = ["union_node"]


def union_node(branches: list[FormNode], *, discriminator: str = "") -> FormNode:
    """One node for several branches; a union only if there is something to choose.

    Args:
        branches: The node of each branch, in order.
        discriminator: The property the schema declares to tell the branches apart, if it does. Otherwise one
            is looked for: a property with a constant that is different in every branch.
    """
    nullable = any(node.nullable for node in branches)
    nodes = _distinct([part for node in branches for part in _flat(node)])
    single = _as_one(nodes)
    if single is not None:
        return replace(single, nullable=single.nullable or nullable)
    name = _discriminator(nodes, discriminator)
    tagged = [replace(node, tags=_tags(node, name) if name else ()) for node in nodes]
    return FormNode(kind="union", nullable=nullable, branches=_named(tagged), discriminator=name)


def _flat(node: FormNode) -> tuple[FormNode, ...]:
    return node.branches if node.kind == "union" else (replace(node, nullable=False),)


def _distinct(nodes: list[FormNode]) -> list[FormNode]:
    # By what travels, because to Python 1 and True are equal.
    kept = list({json.dumps(node.to_wire()): node for node in reversed(nodes)}.values())[::-1]
    numbers = [node for node in kept if node.kind == "number" and replace(node, title="") == _ANY_NUMBER]
    return [node for node in kept if not (numbers and node.kind == "integer")]


_ANY_NUMBER: Final = FormNode(kind="number")


def _as_one(nodes: list[FormNode]) -> FormNode | None:
    if len(nodes) == 1:
        return nodes[0]
    if len(nodes) == 2 and nodes[0].kind == "number" and is_decimal_text(nodes[1]):
        return replace(nodes[0], exact=True)
    return merged_options(nodes)


def _discriminator(nodes: list[FormNode], declared: str) -> str:
    if not all(node.kind == "object" for node in nodes):
        return ""
    candidates = dict.fromkeys([declared, *(name for name, _ in nodes[0].children)])
    return next((str(name) for name in candidates if name and _tells_apart(nodes, str(name))), "")


def _tells_apart(nodes: list[FormNode], name: str) -> bool:
    tags = [tag for node in nodes for tag in _tags(node, name)]
    if not all(_tags(node, name) for node in nodes):
        return False
    return not any(same(tag, other) for place, tag in enumerate(tags) for other in tags[:place])


def _tags(node: FormNode, name: str) -> tuple[Any, ...]:
    child = dict(node.children).get(name)
    return tuple(option.value for option in child.options) if child else ()


_WORDS: Final[dict[Kind, str]] = {
    "text": "Text",
    "long_text": "Text",
    "number": "Number",
    "integer": "Whole number",
    "boolean": "Yes or no",
    "choice": "Choice",
    "date": "Date",
    "time": "Time",
    "datetime": "Date and time",
    "duration": "Duration",
    "secret": "Secret",
    "constant": "Constant",
    "list": "List",
    "table": "Table",
    "object": "Fields",
    "dict": "Keys and values",
    "tuple": "Fixed list",
    "union": "Alternatives",
    "json": "JSON",
}


def _named(nodes: list[FormNode]) -> tuple[FormNode, ...]:
    """Every branch gets a title of its own: what the schema calls it, or what it holds; never "Option 1"."""
    titles = [node.title or _description_of(node) for node in nodes]
    return tuple(
        replace(node, title=f"{title} {titles[: place + 1].count(title)}" if titles.count(title) > 1 else title)
        for place, (node, title) in enumerate(zip(nodes, titles, strict=True))
    )


def _description_of(node: FormNode) -> str:
    if node.tags or node.kind == "constant":
        return ", ".join(str(tag) for tag in node.tags) or node.options[0].label
    if node.kind == "list" and node.item is not None:
        return f"List of: {_description_of(node.item).lower()}"
    if node.kind in ("object", "table"):
        columns = node.item.children if node.item else node.children
        return f"{_WORDS[node.kind]}: {', '.join(str(name) for name, _ in columns[:3])}"
    return _WORDS[node.kind]
