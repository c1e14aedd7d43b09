"""Setting something to what it was is no change: the original object stays, with its type and every digit.

JavaScript has one kind of number, and a JSON box shows a Decimal as text. So a value that comes back looking
as the old one looked *is* the old one, down to each item of a list.
"""

from collections.abc import Mapping
from typing import Any

from hitl_nb._schema._containers import ABSENT
from hitl_nb._schema._marks import HIDDEN, MARK, from_mark, is_hidden_mark
from hitl_nb._schema._parts import by_text, is_sequence, opened
from hitl_nb._schema._values import equal_wires, to_wire

__all__ = ["box_value", "keep_equal", "keep_shown"]


def keep_equal(old: Any, new: Any) -> Any:
    """`new`, in which every part that travels like the part of `old` at the same place is that part."""
    return _kept(old, new, as_text=False)


def keep_shown(old: Any, new: Any) -> Any:
    """The same for a `new` parsed from the text of a JSON box, which showed `old` as `box_value` makes it."""
    return _kept(old, new, as_text=True)


def box_value(wire: Any) -> Any:
    """What a JSON box shows of a value: the digits and texts that the marks of its wire form stand for.

    A secret or an opaque object is shown as its mark; who leaves that alone keeps the original.
    """
    if isinstance(wire, list):
        return [box_value(part) for part in wire]
    if not isinstance(wire, dict):
        return wire
    match wire.get(MARK):
        case None:
            return {key: box_value(part) for key, part in wire.items()}
        case "object":
            return {box_value(key): box_value(part) for key, part in wire["entries"]}
        case "integer" | "float" | "escaped":
            return from_mark(wire)
        case "secret" | "opaque":
            return wire  # `is_hidden_mark` finds it again
        case _:
            return wire["text"]


def _kept(old: Any, new: Any, *, as_text: bool) -> Any:
    if old is ABSENT:
        return new
    if new is HIDDEN or (as_text and is_hidden_mark(new)):
        return old
    inside = opened(old)
    if isinstance(inside, Mapping) and type(new) is dict:
        return _kept_mapping(old, inside, new, as_text)
    if is_sequence(inside) and type(new) is list:
        return _kept_list(old, list(inside), new, as_text)
    before = to_wire(old)
    return old if equal_wires(box_value(before) if as_text else before, new if as_text else to_wire(new)) else new


def _kept_mapping(old: Any, inside: Mapping[Any, Any], new: dict[str, Any], as_text: bool) -> Any:
    named = by_text(inside)
    result = {
        named.get(name, name): _kept(inside[named[name]], part, as_text=as_text) if name in named else part
        for name, part in new.items()
    }
    unchanged = list(result) == list(inside) and all(result[key] is inside[key] for key in inside)
    return old if unchanged else result


def _kept_list(old: Any, inside: list[Any], new: list[Any], as_text: bool) -> Any:
    result = [
        _kept(inside[place], part, as_text=as_text) if place < len(inside) else part for place, part in enumerate(new)
    ]
    unchanged = len(result) == len(inside) and all(map(lambda a, b: a is b, result, inside))
    return old if unchanged else result
