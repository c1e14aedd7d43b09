"""Edits: what a person changed, and nothing else.

The browser never sends the whole value back, because then it could change what nobody touched (five of six
form libraries do, facts/peers.md 3.2). It says *where* something changed; here the change is made on the
original, and everything beside it stays the identical object.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast, get_args

from hitl_nb._schema._branches import node_at
from hitl_nb._schema._containers import added, moved, part_at, removed, with_part
from hitl_nb._schema._keep import keep_equal, keep_shown
from hitl_nb._schema._marks import HIDDEN, MARK
from hitl_nb._schema._node import FormNode
from hitl_nb._schema._values import from_wire
from hitl_nb.errors import InvalidValue

__all__ = ["apply_edits"]

Op = Literal["set", "add", "remove", "move", "unset"]
Path = tuple[str | int, ...]
_OPS: Final = get_args(Op)


@dataclass(frozen=True, kw_only=True)
class _Edit:
    """One edit, its shape checked."""

    path: Path
    op: Op
    value: Any = None


def apply_edits(value: Any, edits: Iterable[Mapping[str, Any]], *, form: FormNode | None = None) -> Any:
    """`value` with the edits made, in order; copied only along the paths that change.

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


def _checked(edit: Mapping[str, Any]) -> _Edit:
    op, path = edit.get("op"), edit.get("path")
    if op not in _OPS:
        raise InvalidValue(f"`{op}` is no edit. Send one of {', '.join(f'`{each}`' for each in _OPS)}.")
    if not isinstance(path, list | tuple) or not all(type(step) in (str, int) for step in path):
        raise InvalidValue(f'`{path}` is no path. Send a list of keys and indices, e.g. `["steps", 0]`.')
    if not path and op != "set":
        raise InvalidValue(f'`{op}` needs a place inside the value. Send a path, e.g. `["steps", 0]`.')
    return _Edit(path=tuple(path), op=cast("Op", op), value=edit.get("value"))


def _edited(value: Any, edit: _Edit, path: Path, node: FormNode | None) -> Any:
    if not path:
        return _set(value, edit, node)
    if len(path) == 1 and edit.op != "set":
        return _restructured(value, edit, path[0], node)
    old = part_at(value, path[0], edit.path, new_allowed=len(path) == 1)
    new = _edited(old, edit, path[1:], node)
    return value if new is old else with_part(value, path[0], new)


def _restructured(value: Any, edit: _Edit, step: str | int, node: FormNode | None) -> Any:
    match edit.op:
        case "add":
            return added(value, step, _complete(_decoded(edit, node)), edit.path)
        case "move":
            return moved(value, step, edit.value, edit.path)
        case _:
            return removed(value, step, edit.path, missing_allowed=edit.op == "unset")


def _set(old: Any, edit: _Edit, node: FormNode | None) -> Any:
    new = _decoded(edit, node)
    is_text = isinstance(edit.value, dict) and edit.value.get(MARK) == "json"
    return _complete(keep_shown(old, new) if is_text else keep_equal(old, new))


def _decoded(edit: _Edit, node: FormNode | None) -> Any:
    try:
        return from_wire(edit.value, node)
    except InvalidValue as error:
        raise InvalidValue(str(error), [{"path": list(edit.path), "message": str(error)}]) from error


def _complete(new: Any) -> Any:
    """Refuse a new value with a hole where something stayed in the kernel: there is nothing to fill it with."""
    if new is HIDDEN:
        raise InvalidValue("A secret cannot be copied to another place; type it anew.")
    parts = new.values() if isinstance(new, dict) else new if isinstance(new, list) else ()
    for part in parts:
        _complete(part)
    return new
