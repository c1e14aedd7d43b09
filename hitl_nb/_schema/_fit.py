"""Whether a control can show a value at all. Limits (`minimum`, `pattern`) do not matter here: those are faults."""

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from hitl_nb._schema._marks import MARK, from_mark, mark
from hitl_nb._schema._node import FormNode
from hitl_nb._schema._parts import by_text, is_sequence, opened
from hitl_nb._schema._values import same, to_wire
from hitl_nb.errors import InvalidValue

__all__ = ["fits"]

_DEEP: Final = 8


def fits(node: FormNode, value: Any, *, depth: int = _DEEP, known_keys_only: bool = False) -> bool:
    """Whether `node` can show `value`.

    Args:
        node: A node of a form.
        value: Plain data, or models and dataclasses.
        depth: How many levels of the value are looked at.
        known_keys_only: A key of an object that the form has no place for counts as a misfit.
    """
    if value is None and node.nullable:
        return True
    inside = opened(value)
    match node.kind:
        case "json":
            return True
        case "choice" | "constant":
            return any(same(option.value, value) for option in node.options)
        case "union":
            return any(fits(branch, value, depth=depth, known_keys_only=known_keys_only) for branch in node.branches)
        case "list" | "table" | "tuple":
            return is_sequence(inside) and _items_fit(node, list(inside), depth, known_keys_only)
        case "object" | "dict":
            return isinstance(inside, Mapping) and _keys_fit(node, inside, depth, known_keys_only)
        case _:
            return _scalar_fits(node, value)


def _items_fit(node: FormNode, items: list[Any], depth: int, known_keys_only: bool) -> bool:
    fixed = [child for _, child in node.children]
    if len(items) < len(fixed) or (node.item is None and len(items) > len(fixed)):
        return False
    nodes = [*fixed, *[node.item or _BOX] * (len(items) - len(fixed))]
    return depth == 0 or all(
        fits(inner, item, depth=depth - 1, known_keys_only=known_keys_only)
        for inner, item in zip(nodes, items, strict=True)
    )


def _keys_fit(node: FormNode, value: Mapping[Any, Any], depth: int, known_keys_only: bool) -> bool:
    entries = {name: value[key] for name, key in by_text(value).items()}
    children = dict(node.children)
    if any(child.required and name not in entries for name, child in children.items()):
        return False
    if known_keys_only and node.item is None and entries.keys() - children.keys():
        return False
    return depth == 0 or all(
        fits(children.get(name) or node.item or _BOX, part, depth=depth - 1, known_keys_only=known_keys_only)
        for name, part in entries.items()
    )


_BOX: Final = FormNode(kind="json")


def _scalar_fits(node: FormNode, value: Any) -> bool:
    if node.kind == "boolean":
        return isinstance(value, bool)
    if node.kind in ("integer", "number"):
        return _is_number(value, whole=node.kind == "integer") or (node.exact and _is_decimal(value))
    wire = to_wire(value)
    if isinstance(wire, str):
        return node.kind not in _TIMES or _is_text_of(node.kind, wire)
    return isinstance(wire, dict) and wire.get(MARK) in (node.kind, *_TEXT_MARKS[node.kind == "secret"])


_TIMES: Final = frozenset({"date", "time", "datetime", "duration"})
_TEXT_MARKS: Final = {False: ("bytes", "escaped"), True: ("secret",)}


def _is_number(value: Any, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return not whole or isinstance(value, int) or (math.isfinite(value) and value == round(value))


def _is_decimal(value: Any) -> bool:
    return isinstance(value, str) and _is_text_of("decimal", value)


def _is_text_of(kind: str, text: str) -> bool:
    try:
        from_mark(mark(kind, text))
    except InvalidValue:
        return False
    return True
