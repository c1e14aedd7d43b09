"""One cell of a table: as a text to look at, with its kind, and back from what was typed, without loss.

A cell is made in the kernel from the value itself, never from a float or a date of JavaScript's: `2**60 + 1`, None and
NaN, a Decimal's scale and a zone's offset arrive as they are. A plain text stands for itself; all else is
``[kind, text]``, with a third part where a reader has to be told of words that look like others.
"""

import json
import math
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final, Literal

from hitl_nb._text import json_line, warning_about_words
from hitl_nb.cards import suspicious, visible
from hitl_nb.errors import InvalidValue

Cell = str | list[str]

Kind = Literal["int", "float", "bool", "text", "category", "decimal", "datetime", "date", "time", "duration", "other"]
"""What a column holds, as far as it matters to filters and editors."""

EDITABLE: Final[frozenset[Kind]] = frozenset(
    ("int", "float", "bool", "text", "category", "decimal", "datetime", "date", "time", "duration")
)
"""Kinds whose cells can be typed; lists, bytes and objects are shown only."""

LONGEST: Final = 600
"""Characters of a cell in a page; the rest is asked for when somebody stands on it."""


def cell_of(value: object) -> Cell:
    """Return a value as it is shown."""
    if isinstance(value, str):
        return _text_cell(str(value))
    null = null_of(value)
    if null:
        return ["null", null]
    kind, text = _written(value)
    return _with_warning([kind, visible(text)], text)


def _text_cell(text: str) -> Cell:
    if suspicious(text):
        return _with_warning(["escaped", json.dumps(text)], text)
    words = warning_about_words(text)
    return ["mixed", text, words] if words else text


def _with_warning(cell: list[str], text: str) -> list[str]:
    """Return a cell with what a reader of its text has to be told, if anything."""
    words = warning_about_words(text)
    return [*cell, words] if words else cell


def text_of(value: object) -> str:
    """Return a value as one text to read, in a record say, which writes out and warns of what it hides."""
    if isinstance(value, str):
        return json_line(str(value))
    return null_of(value) or _written(value)[1]


def shortened(cell: Cell) -> Cell:
    """Return a cell as a page has it: a long one says how much there is."""
    kind, text, *told = ("text", cell) if isinstance(cell, str) else cell
    return cell if len(text) <= LONGEST else ["cut", text[:LONGEST], kind, str(len(text)), *told]


def null_of(value: object) -> str:
    """Return which kind of nothing a value is; empty if it is something."""
    if value is None:
        return "None"
    name = type(value).__name__
    if name in ("NAType", "NaTType"):
        return {"NAType": "<NA>", "NaTType": "NaT"}[name]
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else ""
    try:
        return "NaN" if name.startswith(("float", "longdouble")) and bool(value != value) else ""
    except (TypeError, ValueError):
        return ""


def _written(value: object) -> tuple[str, str]:
    name = type(value).__name__
    if isinstance(value, bool) or name in ("bool_", "bool"):
        return "bool", str(bool(value))
    if isinstance(value, int) or name.startswith(("int", "uint")):
        return "int", str(value)
    if isinstance(value, float) and type(value) is not float:
        return "float", repr(float(value))  # numpy's own repr has its type in it
    if isinstance(value, float) or name.startswith(("float", "longdouble")):
        return "float", str(value)
    for kind, write in _WRITE.items():
        if isinstance(value, kind):
            try:
                return write(value)
            except Exception:  # a moment of pandas in the year -1
                return "opaque", _repr(value)
    return "opaque", _repr(value)


_WRITE: Final[Mapping[type, Callable[[object], tuple[str, str]]]] = {
    Decimal: lambda value: ("decimal", str(value)),
    datetime: lambda value: ("datetime", str(value)),
    date: lambda value: ("date", str(value)),
    time: lambda value: ("time", str(value)),
    timedelta: lambda value: ("duration", str(value)),
    bytes: lambda value: ("bytes", repr(value)),
}


def _repr(value: object) -> str:
    try:
        return repr(value)
    except Exception as error:  # somebody's `__repr__`: a cell is not to take the table with it
        return f"<{type(value).__name__}: {type(error).__name__}>"


# -- from what was typed ---------------------------------------------------------------------------------------


def typed(kind: Kind, text: str) -> object:
    """Return what was typed for a column of this kind, as plain Python; the column then says whether it takes it.

    Raises:
        InvalidValue: It cannot be read as such.
    """
    read = _READ.get(kind)
    if read is None:
        raise InvalidValue("Cells of this column are shown only.")
    try:
        return read(text)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise InvalidValue(f"`{visible(text[:80])}` is not {_WORDS[kind]}.") from error


def _read_bool(text: str) -> bool:
    found = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.strip().lower())
    if found is None:
        raise ValueError(text)
    return found


def _read_int(text: str) -> int:
    if "_" in text:
        raise ValueError(text)
    return int(text.strip())


def _read_float(text: str) -> float:
    plain = text.strip()
    value = float(plain)
    if "_" in plain or math.isnan(value):
        raise ValueError(text)  # to make a cell missing has a key of its own
    if plain.lstrip("+-").isdecimal() and math.isfinite(value) and Fraction(value) != Fraction(plain):
        raise ValueError(text)
    return value


_DAY: Final = 86_400
_UNITS: Final = {"d": _DAY, "day": _DAY, "days": _DAY, "h": 3600, "m": 60, "min": 60, "s": 1}


def _read_duration(text: str) -> timedelta:
    """Read ``3 days, 4:05:06.7``, ``-1 days +23:00:00``, ``90 min`` or ``12:30:00``."""
    total = Fraction(0)
    parts = text.replace(",", " ").split()
    if not parts:
        raise ValueError(text)
    while parts:
        word = parts.pop(0)
        if ":" in word:
            sign = -1 if word.startswith("-") else 1
            numbers = [Fraction(each) for each in word.lstrip("+-").split(":")]
            if len(numbers) not in (2, 3):
                raise ValueError(text)
            hours, minutes, seconds = (*numbers, Fraction(0))[:3]
            total += sign * (hours * 3600 + minutes * 60 + seconds)
        else:
            total += (
                Fraction(word) * _UNITS[parts.pop(0).lower()] if parts and parts[0].lower() in _UNITS else _bad(text)
            )
    micro = total * 1_000_000
    if micro.denominator != 1:
        raise ValueError(text)
    return timedelta(microseconds=int(micro))


def _bad(text: str) -> Fraction:
    raise ValueError(text)


def _read_decimal(text: str) -> Decimal:
    return Decimal(text.strip())


_READ: Final[Mapping[Kind, Callable[[str], object]]] = {
    "int": _read_int,
    "float": _read_float,
    "bool": _read_bool,
    "text": str,
    "category": str,
    "decimal": _read_decimal,
    "datetime": lambda text: datetime.fromisoformat(text.strip()),
    "date": lambda text: date.fromisoformat(text.strip()),
    "time": lambda text: time.fromisoformat(text.strip()),
    "duration": _read_duration,
}

_WORDS: Final[Mapping[Kind, str]] = {
    "int": "a whole number",
    "float": "a number that a float holds",
    "bool": "true or false",
    "decimal": "a number",
    "datetime": "a time; write `2026-03-02 14:30`, with `+01:00` behind it where the zone matters",
    "date": "a date; write `2026-03-02`",
    "time": "a time of day; write `14:30:00`",
    "duration": "a duration; write `2 days 03:00:00`",
}
