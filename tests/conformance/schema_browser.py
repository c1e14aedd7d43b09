"""A browser without a browser: what JavaScript makes of a form's JSON, and what it would send back.

It is as lossy as the real one: every number becomes a double, number-like keys of an object move to the front,
`__proto__` is lost. What survives this survives Chromium.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]
Wire = Any


def parsed_by_javascript(text: str) -> Wire:
    """`JSON.parse(text)` into an ordinary JavaScript object."""
    return json.loads(text, parse_int=_double, parse_float=_double, object_pairs_hook=_javascript_object)


def _double(digits: str) -> int | float:
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < 1e21 else number


def _javascript_object(pairs: list[tuple[str, Wire]]) -> dict[str, Wire]:
    entries = {key: part for key, part in pairs if key != "__proto__"}
    indices = sorted((key for key in entries if re.fullmatch(r"0|[1-9]\d*", key)), key=int)
    return {key: entries[key] for key in [*indices, *(key for key in entries if key not in indices)]}


def box_text(wire: Wire) -> str:
    """The text in a JSON box: digits and texts in the place of marks (`card` code does the same in JavaScript)."""
    if isinstance(wire, list):
        return f"[{', '.join(map(box_text, wire))}]"
    if isinstance(wire, dict) and "$" not in wire:
        return _braces(wire.items())
    if isinstance(wire, dict):
        if wire["$"] == "object":
            return _braces(wire["entries"])
        if wire["$"] in ("integer", "float", "escaped"):
            return str(wire["text"])
        return json.dumps(wire if wire["$"] in ("secret", "opaque") else wire["text"])
    return json.dumps(wire)


def _braces(entries: Any) -> str:
    return "{" + ", ".join(f"{box_text(key)}: {box_text(part)}" for key, part in entries) + "}"


@dataclass(frozen=True, kw_only=True)
class Leaf:
    """One control on the page."""

    path: Path
    node: Wire
    wire: Wire


class Browser:
    """The page: it has the form, the value and the layout, each as JSON text from the kernel."""

    def __init__(self, *, form: str, value: str, layout: str) -> None:
        self.form = parsed_by_javascript(form)
        self.value = parsed_by_javascript(value)
        self._layout = {tuple(each["path"]): each["branch"] for each in reversed(json.loads(layout))}

    def leaves(self) -> Iterator[Leaf]:
        """Every control that shows a part of the value, and every list (which can get a new item)."""
        yield from self._leaves(self.form, self.value, ())

    def _leaves(self, node: Wire, wire: Wire, path: Path) -> Iterator[Leaf]:
        node = self._shown(node, path)
        entries = _entries(wire)
        if entries is None or node["kind"] == "json":
            yield Leaf(path=path, node=node, wire=wire)
            return
        if isinstance(wire, list):
            yield Leaf(path=path, node=node, wire=wire)
        children = dict(node.get("children", []))
        for step, part in entries:
            yield from self._leaves(children.get(step) or node.get("item") or _BOX, part, (*path, step))

    def _shown(self, node: Wire, path: Path) -> Wire:
        if path not in self._layout:
            return node
        branch = self._layout[path]
        return _BOX if branch is None else node["branches"][branch]


_BOX = {"kind": "json", "title": "", "required": False}


def _is_object(wire: Wire) -> bool:
    return isinstance(wire, dict) and wire.get("$", "object") == "object"


def _entries(wire: Wire) -> list[tuple[str | int, Wire]] | None:
    if isinstance(wire, list):
        return list(enumerate(wire))
    if not _is_object(wire):
        return None
    if "$" in wire:
        return [(json.loads(box_text(key)), part) for key, part in wire["entries"]]
    return list(wire.items())


def typed(leaf: Leaf) -> Wire:
    """What a person could type or pick in this control, different from what is there; None if it cannot be edited."""
    kind, old = leaf.node["kind"], leaf.wire
    if kind == "choice":
        others = [option["value"] for option in leaf.node["options"] if box_text(option["value"]) != box_text(old)]
        return others[0]
    if kind == "json":
        return {"$": "json", "text": f"[{box_text(old)}]"}
    if kind == "boolean":
        return not old
    if kind in ("integer", "number"):
        return _another_number(kind, old)
    if kind in _SAMPLES:
        text = _SAMPLES[kind] if old != _SAMPLES[kind] else _SAMPLES[kind].replace("1", "2")
        return {"$": kind, "text": text} if isinstance(old, dict) else text
    if kind == "secret":
        return {"$": "secret", "text": "another"}
    if kind in ("text", "long_text"):
        return f"{old} ☃" if isinstance(old, str) else "☃"
    return None


_SAMPLES = {"date": "2021-01-31", "time": "11:11:00", "datetime": "2021-01-31T11:11:00", "duration": "PT1H"}


def _another_number(kind: str, old: Wire) -> Wire:
    if isinstance(old, dict) and old["$"] in ("integer", "decimal"):
        return {**old, "text": f"{old['text']}1"}
    number = old if isinstance(old, int | float) and math.isfinite(old) else 0
    return {"$": "number", "text": str(int(number) + 1 if kind == "integer" else number + 0.5)}
