"""A value held against a form: which branch of a union it has, which node an edit was made in, what must stay hidden.

All of it is decided here, once, and sent along with the value: the browser knows the branch a person picks,
it never has to guess one.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from hitl_nb._schema._fit import fits
from hitl_nb._schema._marks import HIDDEN
from hitl_nb._schema._node import FormNode, Kind
from hitl_nb._schema._parts import by_text, is_sequence, opened, real_key
from hitl_nb._schema._values import same

__all__ = ["branch_of", "hide_secrets", "layout_of", "node_at"]

Path = tuple[str | int, ...]


def branch_of(node: FormNode, value: Any) -> int | None:
    """The branch of the union `node` that `value` has; None if it fits none (then it is shown as JSON).

    The discriminator decides if there is one. Otherwise the first branch that knows every key, else the first
    that fits in depth, else the first that fits on the surface.
    """
    inside = opened(value)
    if node.discriminator and isinstance(inside, Mapping) and node.discriminator in inside:
        tag = inside[node.discriminator]
        return _first(node, lambda branch: any(same(tag, each) for each in branch.tags))
    for how in ({"known_keys_only": True}, {}, {"depth": 0}):
        place = _first(node, lambda branch, how=how: fits(branch, value, **how))
        if place is not None:
            return place
    return None


def layout_of(form: FormNode, value: Any) -> list[dict[str, Any]]:
    """How the parts of `value` are shown where the form alone does not say it.

    Returns:
        ``{"path": […], "branch": index}`` for every union that `value` reaches, and ``{"path": […], "branch": None}``
        wherever no control can show what is there ("tomorrow" in a date field): a JSON box, so that nothing is hidden.
    """
    return list(_layout(form, value, ()))


def _layout(node: FormNode, value: Any, path: Path) -> Iterator[dict[str, Any]]:
    if value is None and node.nullable:
        return
    if node.kind == "union":
        place = branch_of(node, value)
        yield {"path": list(path), "branch": place}
        if place is not None:
            yield from _layout(node.branches[place], value, path)
    elif not _can_show(node, value):
        yield {"path": list(path), "branch": None}
    elif node.kind != "json":
        for step, part, inner in _inside(node, value):
            if inner is not None:
                yield from _layout(inner, part, (*path, step))


def _can_show(node: FormNode, value: Any) -> bool:
    inside = opened(value)
    if node.kind in ("object", "dict"):
        return isinstance(inside, Mapping)
    if node.kind in ("list", "table"):
        return is_sequence(inside)
    return fits(node, value, depth=0)


def _inside(node: FormNode, value: Any) -> Iterator[tuple[str | int, Any, FormNode | None]]:
    """Each part of `value` with its step and its node."""
    value = opened(value)
    children = dict(node.children)
    if isinstance(value, Mapping):
        for name, key in by_text(value).items():
            yield name, value[key], children.get(name, node.item)
    elif is_sequence(value):
        for place, part in enumerate(value):
            yield place, part, children.get(place, node.item)


def node_at(form: FormNode, value: Any, path: Path) -> FormNode | None:
    """The node that shows what stands (or is to stand) at `path` of `value`; None if no node knows about it."""
    node: FormNode | None = form
    for step in path:
        node = _without_union(node, value)
        if node is None:
            return None
        node, value = dict(node.children).get(step, node.item), _part(value, step)
    return _without_union(node, value)


def _part(value: Any, step: str | int) -> Any:
    """What stands at `step`; None if nothing does (yet)."""
    value = opened(value)
    try:
        if isinstance(value, Mapping):
            return value[real_key(value, step)]
        return value[int(step)] if isinstance(value, list | tuple) else list(value)[int(step)]
    except (LookupError, TypeError, ValueError):
        return None


def _without_union(node: FormNode | None, value: Any) -> FormNode | None:
    if node is None or node.kind != "union":
        return node
    place = branch_of(node, value)
    return None if place is None else node.branches[place]


def hide_secrets(value: Any, form: FormNode) -> Any:
    """`value` with `HIDDEN` in the place of everything that `form` calls a secret; the same object if nothing is.

    For values that hold a secret as a plain string (tools defined by JSON Schema). A `SecretStr` hides
    itself.
    """
    if value is None or not _holds(form, "secret"):
        return value
    if form.kind == "secret":
        return HIDDEN
    if form.kind == "union":
        # Whatever branch it may be: what is a secret in one of them is hidden.
        for branch in form.branches:
            value = hide_secrets(value, branch)
        return value
    parts = [(step, hide_secrets(part, node) if node else part) for step, part, node in _inside(form, value)]
    inside = opened(value)
    if isinstance(inside, Mapping):
        return dict(zip(inside, (part for _, part in parts), strict=True))
    return [part for _, part in parts] if is_sequence(inside) else value


def _holds(node: FormNode, kind: Kind) -> bool:
    inner = (*(child for _, child in node.children), *node.branches, *([node.item] if node.item else []))
    return node.kind == kind or any(_holds(each, kind) for each in inner)


def _first(node: FormNode, is_it: Any) -> int | None:
    return next((place for place, branch in enumerate(node.branches) if is_it(branch)), None)
