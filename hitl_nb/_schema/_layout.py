"""A value held against a form: which control can show it, which branch of a union it has, what must stay hidden.

All of it is decided here, once, and sent along with the value: the browser knows the branch a person picks, it never
has to guess one.
"""

import copy
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from hitl_nb._schema._node import MISSING, FormNode
from hitl_nb._schema._wire import (
    HIDDEN,
    MARK,
    STARS,
    Json,
    Path,
    as_text,
    by_text,
    from_mark,
    is_sequence,
    looks_same,
    mark,
    opened,
    real_key,
    to_wire,
)
from hitl_nb.errors import InvalidValue

__all__ = ["blank_of", "branch_of", "hide_secrets", "layout_of", "node_at", "readable"]

Layout = list[dict[str, Json]]

_DEEP: Final = 8
"""Levels of a value that are looked at to tell which branch it has."""


# -- which branch, which node -------------------------------------------------------------------------------------


def branch_of(node: FormNode, value: object) -> int | None:
    """Return the branch of the union `node` that `value` has; None if it fits none (then it is shown as JSON).

    The discriminator decides if there is one. Otherwise the first branch that knows every key, else the first
    that fits in depth, else the first that fits on the surface.
    """
    inside = opened(value)
    if node.discriminator and isinstance(inside, Mapping) and node.discriminator in inside:
        tag = inside[node.discriminator]
        named = (
            place for place, branch in enumerate(node.branches) if any(looks_same(tag, each) for each in branch.tags)
        )
        return next(named, None)
    # Models ignore keys they do not know, so "knows every key" says more than "fits".
    for depth, known_keys_only in ((_DEEP, True), (_DEEP, False), (0, False)):
        for place, branch in enumerate(node.branches):
            if _can_show(branch, value, depth=depth, known_keys_only=known_keys_only):
                return place
    return None


def layout_of(form: FormNode, value: object) -> Layout:
    """Return how the parts of `value` are shown where the form alone does not say it.

    Returns:
        ``{"path": […], "branch": index}`` for every union that `value` reaches, and ``{"path": […], "branch": None}``
        wherever no control can show what is there ("tomorrow" in a date field): a JSON box, so that nothing is hidden.
    """
    return [{"path": list(path), "branch": branch} for path, branch in _laid_out(form, value, ())]


def _laid_out(node: FormNode, value: object, path: Path) -> Iterator[tuple[Path, int | None]]:
    if value is None and node.nullable:
        return
    if node.kind == "union":
        place = branch_of(node, value)
        yield path, place
        if place is not None:
            yield from _laid_out(node.branches[place], value, path)
    elif not _has_room(node, value):
        yield path, None
    elif node.kind != "json":
        for step, part, inner in _inside(node, value):
            if inner is not None:
                yield from _laid_out(inner, part, (*path, step))


def _inside(node: FormNode, value: object) -> Iterator[tuple[str | int, object, FormNode | None]]:
    """Yield each part of `value` with its step and its node."""
    value = opened(value)
    children = dict(node.children)
    if isinstance(value, Mapping):
        for name, key in by_text(value).items():
            yield name, value[key], children.get(name, node.item)
    elif is_sequence(value):
        for place, part in enumerate(value):
            yield place, part, children.get(place, node.item)


def node_at(form: FormNode, value: object, path: Path) -> FormNode | None:
    """Return the node that shows what stands (or is to stand) at `path` of `value`; None if no node knows about it."""
    node: FormNode | None = form
    for step in path:
        node = _without_union(node, value)
        if node is None:
            return None
        node, value = dict(node.children).get(step, node.item), _part(value, step)
    return _without_union(node, value)


def _part(value: object, step: str | int) -> object:
    """Return what stands at `step`; None if nothing does (yet)."""
    value = opened(value)
    try:
        if isinstance(value, Mapping):
            return value[real_key(value, step)]
        return list(value)[int(step)] if is_sequence(value) else None
    except (LookupError, ValueError):
        return None


def _without_union(node: FormNode | None, value: object) -> FormNode | None:
    if node is None or node.kind != "union":
        return node
    place = branch_of(node, value)
    return None if place is None else node.branches[place]


# -- whether a control can show a value; limits (`minimum`, `pattern`) do not matter here: those are faults -----------


def _has_room(node: FormNode, value: object) -> bool:
    """Whether the control itself can show `value`, whatever becomes of the parts: each of them is asked in its turn."""
    inside = opened(value)
    if node.kind in ("object", "dict"):
        return isinstance(inside, Mapping)
    if node.kind in ("list", "table"):
        return is_sequence(inside)
    return _can_show(node, value, depth=0)


def _can_show(node: FormNode, value: object, *, depth: int, known_keys_only: bool = False) -> bool:
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
            return node.option_for(value) is not None
        case "union":
            branches = node.branches
            return any(_can_show(each, value, depth=depth, known_keys_only=known_keys_only) for each in branches)
        case "list" | "table" | "tuple":
            return is_sequence(inside) and _can_show_items(node, list(inside), depth, known_keys_only)
        case "object" | "dict":
            return isinstance(inside, Mapping) and _can_show_keys(node, inside, depth, known_keys_only)
    return _can_show_scalar(node, value)


def _can_show_items(node: FormNode, items: list[object], depth: int, known_keys_only: bool) -> bool:
    fixed = [child for _, child in node.children]
    if len(items) < len(fixed) or (node.item is None and len(items) > len(fixed)):
        return False
    nodes = [*fixed, *[node.item or _BOX] * (len(items) - len(fixed))]
    return depth == 0 or all(
        _can_show(inner, item, depth=depth - 1, known_keys_only=known_keys_only)
        for inner, item in zip(nodes, items, strict=True)
    )


def _can_show_keys(node: FormNode, value: Mapping[object, object], depth: int, known_keys_only: bool) -> bool:
    entries = {name: value[key] for name, key in by_text(value).items()}
    children = dict(node.children)
    if any(child.required and name not in entries for name, child in children.items()):
        return False
    if known_keys_only and node.item is None and entries.keys() - children.keys():
        return False
    return depth == 0 or all(
        _can_show(children.get(name) or node.item or _BOX, part, depth=depth - 1, known_keys_only=known_keys_only)
        for name, part in entries.items()
    )


_BOX: Final = FormNode(kind="json")


def _can_show_scalar(node: FormNode, value: object) -> bool:
    if node.kind == "boolean":
        return isinstance(value, bool)
    if node.kind in ("integer", "number"):
        exact = node.exact and isinstance(value, str) and _is_text_of("decimal", value)
        return exact or _can_show_number(value, whole=node.kind == "integer")
    # What a control gets is the wire form: a UUID is a text there, a date a mark.
    wire = to_wire(value)
    if isinstance(wire, str):
        return node.kind not in _TIMES or _is_text_of(node.kind, wire)
    return isinstance(wire, dict) and wire.get(MARK) in (node.kind, *_TEXT_MARKS[node.kind == "secret"])


_TIMES: Final = frozenset({"date", "time", "datetime", "duration"})
_TEXT_MARKS: Final = {False: ("bytes", "escaped"), True: ("secret",)}


def _can_show_number(value: object, *, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return False
    return not whole or isinstance(value, int) or (math.isfinite(value) and value == round(value))


def _is_text_of(kind: str, text: str) -> bool:
    try:
        from_mark(mark(kind, text))
    except InvalidValue:
        return False
    return True


# -- what must stay hidden ----------------------------------------------------------------------------------------


def hide_secrets(value: object, form: FormNode) -> object:
    """Return `value` with `HIDDEN` in the place of all that `form` calls a secret; the same object if nothing is.

    For values that hold a secret as a plain string (tools defined by JSON Schema). A `SecretStr` hides
    itself.
    """
    if value is None or not _holds_secret(form):
        return value
    if form.kind == "secret":
        return HIDDEN
    if form.kind == "union":
        # Whatever branch it may be: what is a secret in one of them is hidden.
        for branch in form.branches:
            value = hide_secrets(value, branch)
        return value
    parts = [hide_secrets(part, node) if node else part for _, part, node in _inside(form, value)]
    inside = opened(value)
    if isinstance(inside, Mapping):
        # Keys of their own type: 1 and "1" must not become one.
        return dict(zip(inside, parts, strict=True))
    return parts if is_sequence(inside) else value


def _holds_secret(node: FormNode) -> bool:
    inner = (*(child for _, child in node.children), *node.branches, *([node.item] if node.item else []))
    return node.kind == "secret" or any(map(_holds_secret, inner))


def readable(value: object, form: FormNode | None = None) -> Json:
    """Return `value` as plain JSON data to read: dates and exact numbers as text, stars in the place of secrets."""
    return as_text(to_wire(value if form is None else hide_secrets(value, form)))


# -- where nothing is proposed ------------------------------------------------------------------------------------


def blank_of(form: FormNode) -> tuple[object, Layout]:
    """Return what a form starts from when nothing is proposed, with its layout (as of `layout_of`).

    The schema's defaults and constants are there, objects and lists that are required are there and empty, a union
    has its first form. All else is absent (None at the root): a person has to enter it, and an untouched form is then
    not valid, because nobody has taken that decision.
    """
    layout: Layout = []
    return _defaults(form, (), layout), layout


def _defaults(node: FormNode, path: Path, layout: Layout) -> object:
    if _has_default(node):
        inner = _laid_out(node, node.default, path)
        layout.extend({"path": list(place), "branch": branch} for place, branch in inner)
        return copy.deepcopy(node.default)
    if node.nullable:
        return None
    match node.kind:
        case "object":
            return {name: _defaults(child, (*path, name), layout) for name, child in node.children if _is_there(child)}
        case "dict":
            return {}
        case "list" | "table":
            return []
        case "tuple":
            return [_defaults(child, (*path, place), layout) for place, child in node.children]
        case "constant":
            return node.options[0].value
        case "union":
            layout.append({"path": list(path), "branch": 0})
            return _defaults(node.branches[0], path, layout)
    return None


def _has_default(node: FormNode) -> bool:
    # A default that holds a secret stays in the kernel; whoever validates fills it in.
    return node.default is not MISSING and STARS not in repr(readable(node.default))


def _is_there(child: FormNode) -> bool:
    if _has_default(child):
        return True
    if not child.required or child.nullable:
        return False
    # An absent group has nothing to fill in: a person could not even see that it is asked for.
    kind = child.branches[0].kind if child.kind == "union" else child.kind
    return kind in _GROUPS or child.kind == "constant"


_GROUPS: Final = frozenset({"object", "dict", "list", "table", "tuple"})
