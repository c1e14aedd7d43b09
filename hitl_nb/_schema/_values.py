"""Values on their way to the browser and back, without losing a digit; the marks are listed in `_marks`."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._schema._marks import MARK, from_mark, mark, to_mark
from hitl_nb._schema._parts import by_text, is_sequence, opened
from hitl_nb.errors import InvalidValue

if TYPE_CHECKING:
    from hitl_nb._schema._node import FormNode

__all__ = ["equal_wires", "from_wire", "same", "to_wire"]


def to_wire(value: Any) -> Any:
    """`value` as plain JSON data that a browser reads without loss, key order included.

    Args:
        value: Plain data, and in it anything that pydantic knows: models and dataclasses become objects by
            their aliases, sets and tuples lists, UUIDs, paths and URLs text.
    """
    value = opened(value)
    marked = to_mark(value)
    if marked is not None:
        return marked
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return _object([(name, to_wire(value[key])) for name, key in by_text(value).items()])
    if is_sequence(value):
        return [to_wire(part) for part in value]
    return _other(value)


def from_wire(wire: Any, node: "FormNode | None" = None) -> Any:
    """What the browser sent, as the Python value it stands for.

    Args:
        wire: Plain JSON data with marks.
        node: The node of the form it was entered in. A choice then gives the schema's own value back (1.0,
            not JavaScript's 1), an integer field an int.

    Raises:
        InvalidValue: a mark that cannot be read.
    """
    value = _read(wire)
    if node is None:
        return value
    if node.kind in ("choice", "constant"):
        return next((option.value for option in node.options if same(option.value, value)), value)
    if node.kind == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # beyond, a float says what was meant more honestly than its 300 digits
    return value


def same(first: Any, second: Any) -> bool:
    """Whether two values look the same in the browser: type, order and every digit; 1 and 1.0 are one number there."""
    return equal_wires(to_wire(first), to_wire(second))


def _read(wire: Any) -> Any:
    if isinstance(wire, list):
        return [_read(part) for part in wire]
    if not isinstance(wire, dict):
        return wire
    if MARK not in wire:
        return {key: _read(part) for key, part in wire.items()}
    if wire[MARK] != "object":
        return from_mark(wire)
    try:
        entries = [(_read(key), _read(part)) for key, part in wire["entries"]]
        value = dict(entries)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("An object's `entries` are not a list of `[key, value]` pairs.") from error
    if len(value) < len(entries):
        raise InvalidValue("An object has the same key twice.")
    return value


def _object(entries: list[tuple[str, Any]]) -> dict[str, Any]:
    if any(_is_awkward(name) for name, _ in entries):
        return {MARK: "object", "entries": [[to_wire(name), part] for name, part in entries]}
    return dict(entries)


def _is_awkward(name: str) -> bool:
    """JavaScript sorts keys that look like an index to the front, and `__proto__` may set a prototype."""
    return name in (MARK, "__proto__") or (name.isascii() and name.isdecimal()) or to_mark(name) is not None


def _other(value: Any) -> Any:
    if isinstance(value, Iterator):
        return mark("opaque", repr(value))  # to look at it would use it up
    try:
        return to_wire(to_jsonable_python(value))
    except (PydanticSerializationError, ValueError, RecursionError):
        return mark("opaque", repr(value))


def equal_wires(first: Any, second: Any) -> bool:
    """The same for two values that are on the wire already."""
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(equal_wires(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal_wires, first, second))
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)
