"""A form on its way to the browser: exact, and yet nothing in it is invisible.

A value that a person edits must not be changed by making it readable. So a text with invisible or direction-changing
characters goes as it is, and its place is shown as JSON text, in which these characters are written out.
"""

import json
from typing import Any, Final

from hitl_nb.cards._text import suspicious, visible

Wire = Any
Path = list[str | int]

_WORDS: Final = frozenset({"title", "description", "note", "label"})
"""What a form has to read; all else in it is data."""


def readable_form(form: Wire) -> tuple[Wire, bool]:
    """Give a form tree (as of `FormNode.to_wire`) with readable words, and whether any of them hid something."""
    if isinstance(form, list):
        parts = [readable_form(part) for part in form]
        return [part for part, _ in parts], any(found for _, found in parts)
    if not isinstance(form, dict):
        return form, False
    shown, hid = {}, False
    for key, part in form.items():
        if key in _WORDS and isinstance(part, str):
            shown[key], found = visible(part), suspicious(part)
        elif key in ("children", "branches", "item", "options"):
            shown[key], found = readable_form(part)
        else:
            shown[key], found = part, False
        hid = hid or found
    return shown, hid


def readable_value(value: Wire, layout: list[dict[str, Any]]) -> tuple[Wire, list[dict[str, Any]], bool]:
    """Give a value (as of `to_wire`) and its layout, with a JSON box wherever a text hides something."""
    boxes: list[Path] = []
    shown = _boxed(value, [], boxes)
    if not boxes:
        return value, layout, False
    others = [entry for entry in layout if entry["path"] not in boxes]
    return shown, [*others, *({"path": path, "branch": None} for path in boxes)], True


def _boxed(wire: Wire, path: Path, boxes: list[Path]) -> Wire:
    # Line ends of the other kind hide nothing; the browser keeps them.
    if isinstance(wire, str) and suspicious(wire.replace("\r\n", "\n")):
        boxes.append(path)
        return {"$": "escaped", "text": json.dumps(wire)}
    if isinstance(wire, list):
        return [_boxed(part, [*path, place], boxes) for place, part in enumerate(wire)]
    if not isinstance(wire, dict):
        return wire
    if "$" not in wire and not any(map(suspicious, wire)):
        return {key: _boxed(part, [*path, key], boxes) for key, part in wire.items()}
    if "$" not in wire or wire["$"] == "object":
        return _boxed_object(list(wire["entries"] if "$" in wire else wire.items()), path, boxes)
    if wire["$"] == "escaped":  # a lone surrogate
        boxes.append(path)
    return wire


def _boxed_object(entries: list[Any], path: Path, boxes: list[Path]) -> Wire:
    # A key that hides something cannot be shown as a label: the whole object becomes JSON text.
    if any(isinstance(key, str) and suspicious(key) for key, _ in entries):
        boxes.append(path)
    shown = [[_escaped(key), _boxed(part, [*path, _key(key)], boxes)] for key, part in entries]
    return {"$": "object", "entries": shown}


def _escaped(key: Wire) -> Wire:
    hides = isinstance(key, str) and suspicious(key)
    return {"$": "escaped", "text": json.dumps(key)} if hides else key


def _key(key: Wire) -> str:
    return str(json.loads(key["text"]) if isinstance(key, dict) else key)
