"""What a form starts from when nothing is proposed: the schema's defaults, and no decision that nobody took."""

import copy
from typing import Any, Final

from hitl_nb._schema._branches import layout_of
from hitl_nb._schema._changes import STARS, readable
from hitl_nb._schema._node import MISSING, FormNode

__all__ = ["blank_of"]

Path = tuple[str | int, ...]

_GROUPS: Final = frozenset({"object", "dict", "list", "table", "tuple"})


def blank_of(form: FormNode) -> tuple[Any, list[dict[str, Any]]]:
    """The empty value of a form, with its layout (as of `layout_of`).

    Defaults and constants are there, objects and lists that are required are there and empty, a union has its first
    form. All else is absent (None at the root): a person has to enter it, and an untouched form is then not valid.
    """
    layout: list[dict[str, Any]] = []
    return _blank(form, (), layout), layout


def _blank(node: FormNode, path: Path, layout: list[dict[str, Any]]) -> Any:
    if _has_default(node):
        inner = layout_of(node, node.default)
        layout.extend({**entry, "path": [*path, *entry["path"]]} for entry in inner)
        return copy.deepcopy(node.default)
    if node.nullable:
        return None
    match node.kind:
        case "object":
            return {name: _blank(child, (*path, name), layout) for name, child in node.children if _is_there(child)}
        case "dict":
            return {}
        case "list" | "table":
            return []
        case "tuple":
            return [_blank(child, (*path, place), layout) for place, child in node.children]
        case "constant":
            return node.options[0].value
        case "union":
            layout.append({"path": list(path), "branch": 0})
            return _blank(node.branches[0], path, layout)
    return None


def _has_default(node: FormNode) -> bool:
    # A default that holds a secret stays in the kernel; whoever validates fills it in.
    return node.default is not MISSING and STARS not in repr(readable(node.default))


def _is_there(child: FormNode) -> bool:
    if _has_default(child):
        return True
    if not child.required or child.nullable:
        return False
    if child.kind == "union":
        return child.branches[0].kind in _GROUPS
    return child.kind == "constant" or child.kind in _GROUPS
