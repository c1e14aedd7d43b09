"""Edits: what a person changed, and nothing else.

The browser never sends the whole value back, because then it could change what nobody touched: five of six form
libraries do. It says *where* something changed; here the change is made on the original, and everything beside it
stays the identical object. Setting something to what it was is no change either: JavaScript has one kind of number,
and a JSON box shows a Decimal as text, so a value that comes back looking as the old one looked *is* the old one, down
to each item of a list.
"""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import is_
from typing import Any, Final, Literal, cast, get_args

from hitl_nb._schema._layout import node_at
from hitl_nb._schema._node import FormNode, from_wire
from hitl_nb._schema._wire import (
    HIDDEN,
    MARK,
    Json,
    Path,
    as_text,
    by_text,
    equal_wires,
    is_hidden_mark,
    is_sequence,
    opened,
    real_key,
    to_wire,
)
from hitl_nb.errors import InvalidValue

__all__ = ["apply_edits"]

Op = Literal["set", "add", "remove", "move", "unset"]
Step = str | int
_OPS: Final = get_args(Op)

_ABSENT: Final = object()
"""What stands at a key that is not there (yet)."""


@dataclass(frozen=True, kw_only=True)
class _Edit:
    """One edit, its shape checked."""

    path: Path
    op: Op
    value: Json


def apply_edits(value: object, edits: Iterable[Mapping[str, Json]], *, form: FormNode | None = None) -> Any:
    """Return `value` with the edits made, in order; copied only along the paths that change.

    Args:
        value: Plain data, or models and dataclasses (of which the edited ones become dicts, to be validated
            again).
        edits: `{"path": [keys and indices], "op": …, "value": wire}` each:

            ==========  ====================================================================================
            ``set``     the value at `path`; a key of an object may be new (it comes last), `[]` is the root
            ``add``     insert into a list before the index (its length: at the end); a new key of an object
            ``remove``  the item or key, which must be there
            ``unset``   the key, if it is there: "leave it out"
            ``move``    the item to the index `value`; the key's new name is `value`
            ==========  ====================================================================================
        form: The tree the edits were made in; lets a choice give back the schema's own value.

    Returns:
        The identical object if nothing changed, also when something was set to what it was.

    Raises:
        InvalidValue: a path that leads nowhere, an unknown `op`, a mark that cannot be read. The value is
            untouched.
    """
    for edit in edits:
        checked = _checked(edit)
        value = _edited(value, checked, checked.path, node_at(form, value, checked.path) if form else None)
    return value


def _checked(edit: Mapping[str, Json]) -> _Edit:
    op, path = edit.get("op"), edit.get("path")
    if op not in _OPS:
        raise InvalidValue(f"`{op}` is no edit. Send one of {', '.join(f'`{each}`' for each in _OPS)}.")
    # `True` is an int to Python, and no index to anybody.
    if not isinstance(path, list | tuple) or not all(type(step) in (str, int) for step in path):
        raise InvalidValue(f'`{path}` is no path. Send a list of keys and indices, e.g. `["steps", 0]`.')
    if not path and op != "set":
        raise InvalidValue(f'`{op}` needs a place inside the value. Send a path, e.g. `["steps", 0]`.')
    return _Edit(path=tuple(path), op=cast("Op", op), value=edit.get("value"))


def _edited(value: object, edit: _Edit, path: Path, node: FormNode | None) -> object:
    if not path:
        return _set(value, edit, node)
    if len(path) == 1 and edit.op != "set":
        # All but `set` change the container, which may come out longer or shorter.
        return _restructured(value, edit, path[0], node)
    old = _part_at(value, path[0], edit.path, new_allowed=len(path) == 1)
    new = _edited(old, edit, path[1:], node)
    return value if new is old else _with_part(value, path[0], new, edit.path)


def _restructured(value: object, edit: _Edit, step: Step, node: FormNode | None) -> object:
    match edit.op:
        case "add":
            return _added(value, step, _complete(_decoded(edit, node)), edit.path)
        case "move":
            return _moved(value, step, edit.value, edit.path)
    return _removed(value, step, edit.path, missing_allowed=edit.op == "unset")


def _set(old: object, edit: _Edit, node: FormNode | None) -> object:
    is_text = isinstance(edit.value, dict) and edit.value.get(MARK) == "json"
    return _complete(_unchanged(old, _decoded(edit, node), is_text=is_text))


def _decoded(edit: _Edit, node: FormNode | None) -> object:
    try:
        return from_wire(edit.value, node)
    except InvalidValue as error:
        raise _wrong(edit.path, str(error)) from error


def _complete(new: object) -> object:
    """Refuse a new value with a hole where something stayed in the kernel: there is nothing to fill it with."""
    if new is HIDDEN:
        raise InvalidValue("A secret cannot be copied to another place; type it anew.")
    for part in new.values() if isinstance(new, dict) else new if isinstance(new, list) else ():
        _complete(part)
    return new


# -- what was not changed -----------------------------------------------------------------------------------------


def _unchanged(old: object, new: object, *, is_text: bool) -> object:
    """Return `new`, in which every part that looks like the part of `old` at the same place *is* that part.

    Args:
        old: What stood there.
        new: What came back.
        is_text: It was parsed from the text of a JSON box, which showed digits in the place of marks.
    """
    if old is _ABSENT:
        return new
    if new is HIDDEN or (is_text and is_hidden_mark(new)):
        return old
    inside = opened(old)
    # Read from the wire, `new` is exactly a dict or a list if it has parts.
    if isinstance(inside, Mapping) and type(new) is dict:
        return _unchanged_keys(old, inside, new, is_text)
    if is_sequence(inside) and type(new) is list:
        return _unchanged_items(old, list(inside), new, is_text)
    if is_text:
        return old if equal_wires(as_text(to_wire(old), keeps_hidden=True), new) else new
    return old if equal_wires(to_wire(old), to_wire(new)) else new


def _unchanged_keys(old: object, inside: Mapping[object, object], new: dict[str, object], is_text: bool) -> object:
    named = by_text(inside)
    result = {
        named.get(name, name): _unchanged(inside[named[name]], part, is_text=is_text) if name in named else part
        for name, part in new.items()
    }
    return old if list(result) == list(inside) and all(result[key] is inside[key] for key in inside) else result


def _unchanged_items(old: object, inside: list[object], new: list[object], is_text: bool) -> object:
    result = [
        _unchanged(inside[place], part, is_text=is_text) if place < len(inside) else part
        for place, part in enumerate(new)
    ]
    return old if len(result) == len(inside) and all(map(is_, result, inside)) else result


# -- one thing changed in a list or an object: always a copy, of the same kind, keys in the same order ----------------


def _part_at(value: object, step: Step, path: Path, *, new_allowed: bool = False) -> object:
    """Return what stands at `step`; `_ABSENT` for a new key of an object if that is allowed.

    Raises:
        InvalidValue: `step` leads nowhere; `path` is named as a whole.
    """
    value = opened(value)
    if isinstance(value, Mapping):
        try:
            return value[real_key(value, step)]
        except KeyError:
            if new_allowed and isinstance(step, str):
                return _ABSENT
            raise _nowhere(path, f"there is no key `{step}`") from None
    items = _items(value, step, path)
    return items[_index(value, step, path, len(items) - 1)]


def _with_part(value: object, step: Step, part: object, path: Path) -> object:
    """Return a copy of `value` with `part` at `step`, which `_part_at` has found."""
    value = opened(value)
    if isinstance(value, Mapping):
        try:
            key = real_key(value, step)
        except KeyError:
            key = step
        return _like_mapping(value, {**value, key: part})
    items = _items(value, step, path)
    items[int(step)] = part
    return _like_list(value, items)


def _added(value: object, step: Step, part: object, path: Path) -> object:
    """Return a copy with `part` before the index, or at a new key, `step`."""
    value = opened(value)
    if isinstance(value, Mapping):
        if step in by_text(value):
            raise _nowhere(path, f"the key `{step}` is there already; send `set` to change it")
        return _like_mapping(value, {**value, str(step): part})
    items = _items(value, step, path)
    items.insert(_index(value, step, path, len(items)), part)
    return _like_list(value, items)


def _removed(value: object, step: Step, path: Path, *, missing_allowed: bool) -> object:
    """Return a copy without what stands at `step`; `value` itself if nothing does and that is allowed."""
    inside = opened(value)
    if isinstance(inside, Mapping):
        if _part_at(value, step, path, new_allowed=missing_allowed) is _ABSENT:
            return value
        gone = real_key(inside, step)
        return _like_mapping(inside, {key: part for key, part in inside.items() if not _is_key(key, gone)})
    if missing_allowed:
        raise _nowhere(path, "only a key of an object can be left out; send `remove` for an item")
    items = _items(inside, step, path)
    del items[_index(inside, step, path, len(items) - 1)]
    return _like_list(inside, items)


def _moved(value: object, step: Step, target: Json, path: Path) -> object:
    """Return a copy with the item at another index, or with the key renamed at its place."""
    _part_at(value, step, path)
    inside = opened(value)
    if isinstance(inside, Mapping):
        old = real_key(inside, step)
        others = {name for name, key in by_text(inside).items() if not _is_key(key, old)}
        if not isinstance(target, str) or target in others:
            raise _nowhere(path, f"the key cannot be renamed to `{target}`")
        entries = {(target if _is_key(key, old) else key): part for key, part in inside.items()}
        return _like_mapping(inside, entries)
    items = _items(inside, step, path)
    place = _index(inside, target, path, len(items) - 1)
    items.insert(place, items.pop(int(step)))
    return value if place == step else _like_list(inside, items)


def _is_key(key: object, wanted: object) -> bool:
    return key is wanted or bool(key == wanted)  # a NaN is a key that equals nothing


def _items(value: object, step: Step, path: Path) -> list[object]:
    if is_sequence(value):
        return list(value)
    raise _nowhere(path, f"`{step}` would be inside a `{type(value).__name__}`")


def _index(value: object, step: Json, path: Path, last: int) -> int:
    if type(step) is not int:
        raise _nowhere(path, f"`{step}` is no index of a `{type(value).__name__}`")
    if not 0 <= step <= last:
        raise _nowhere(path, f"index {step} is beyond the end, {last}")
    return step


def _like_list(value: Any, items: list[object]) -> object:
    """Return `items` in the class of `value`, if that can be made of a list."""
    if isinstance(value, tuple) and hasattr(value, "_make"):  # a named tuple
        return value._make(items)
    try:
        return type(value)(items)
    except TypeError:  # a class that wants to be made otherwise; it is validated again in any case
        return items


def _like_mapping(value: Mapping[object, object], entries: dict[object, object]) -> object:
    if type(value) is dict:
        return entries
    try:
        other: Any = copy.copy(value)  # keeps what the class has besides, such as a `defaultdict`'s factory
        other.clear()
        other.update(entries)
    except (AttributeError, TypeError):
        return entries
    return other


def _nowhere(path: Path, reason: str) -> InvalidValue:
    return _wrong(path, f"The edit of `{'.'.join(map(str, path))}` does not fit the value: {reason}.")


def _wrong(path: Path, message: str) -> InvalidValue:
    return InvalidValue(message, [{"path": list(path), "message": message}])
