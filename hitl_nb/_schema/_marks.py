r"""Marks: how a value that plain JSON would damage is written for the browser.

JSON in a browser is lossy: 2**60 + 1 becomes 1152921504606847000, NaN is an error, `{"10": …, "9": …}`
changes its order, `__proto__` is not a key like others (facts/failure_modes.md B1, B2). So these travel as an
object with the key `$`, which says what it stands for:

=====================================================  ======================================================
``{"$": "integer", "text": "1152921504606846977"}``    an int beyond ±(2**53 - 1)
``{"$": "decimal", "text": "10.10"}``                  a Decimal; every digit counts
``{"$": "float", "text": "NaN"}``                      `NaN`, `Infinity`, and floats beyond ±(2**53 - 1)
``{"$": "datetime", "text": "2024-02-29T10:00:00"}``   naive or with offset; likewise `date`, `time`, `duration`
``{"$": "bytes", "text": "aGk="}``                     base64
``{"$": "escaped", "text": "\"\\ud83d\""}``            a string with a lone surrogate, as ASCII JSON text
``{"$": "object", "entries": [[key, value], …]}``      an object with keys that JavaScript drops or reorders
``{"$": "secret"}``                                    something that never leaves the kernel
``{"$": "opaque", "text": "<Thing>"}``                 a Python object without JSON form, to look at only
=====================================================  ======================================================

From the browser come the same, and three more: `{"$": "number", "text": "0.1"}` for what was typed into a
number field, `{"$": "secret", "text": "new"}` for a secret typed anew, and `{"$": "json", "text": "…"}` for
the text of a JSON box, which is parsed here and not in the browser.
"""

import base64
import json
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from pydantic import SecretBytes, SecretStr, TypeAdapter
from pydantic_core import to_jsonable_python

from hitl_nb.errors import InvalidValue

__all__ = ["HIDDEN", "MARK", "from_mark", "is_hidden_mark", "mark", "to_mark"]

MARK: Final = "$"
"""The key that says: this is no object of the value, but a mark."""

_SAFE: Final = 2**53 - 1
"""JavaScript's Number.MAX_SAFE_INTEGER."""


class Hidden:
    """The type of `HIDDEN`."""

    def __repr__(self) -> str:
        return "<hidden>"


HIDDEN: Final = Hidden()
"""Stands in a value at the place of what stays in the kernel: a secret, an object without JSON form."""


def mark(kind: str, text: str) -> dict[str, str]:
    """One mark."""
    return {MARK: kind, "text": text}


def to_mark(value: Any) -> dict[str, str] | None:
    """The mark of one scalar; None if plain JSON carries it exactly (or it is no scalar)."""
    if isinstance(value, str):
        return mark("escaped", json.dumps(value)) if _has_surrogate(value) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return mark("integer", str(int(value))) if abs(value) > _SAFE else None
    if isinstance(value, float):
        return None if abs(value) <= _SAFE else mark("float", json.dumps(float(value)))
    if isinstance(value, SecretStr | SecretBytes | Hidden):
        return {MARK: "secret"}
    for type_, kind, write in _WRITTEN:
        if isinstance(value, type_):
            return mark(kind, write(value))
    return None


def from_mark(wire: dict[str, Any]) -> Any:
    """The value of a mark (an `object` mark is `from_wire`'s); `HIDDEN` for what stayed in the kernel.

    Raises:
        InvalidValue: the text is not what the mark says.
    """
    kind, text = wire.get(MARK), wire.get("text")
    if kind == "opaque" or (kind == "secret" and "text" not in wire):
        return HIDDEN
    if kind not in _READ or not isinstance(text, str):
        raise InvalidValue(f"`{kind}` is no mark of a value that could be set.")
    try:
        return _READ[kind](text)
    except (ArithmeticError, ValueError, RecursionError) as error:
        reason = f"The text is not valid JSON: {error}" if kind == "json" else f"`{text[:40]}` is no {_NOUNS[kind]}"
        raise InvalidValue(f"{reason}.") from error


def is_hidden_mark(wire: Any) -> bool:
    """Whether `wire` is the mark of something that stayed in the kernel."""
    return isinstance(wire, dict) and wire.get(MARK) in ("opaque", "secret") and wire.keys() <= {MARK, "text"}


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _base64(value: bytes | bytearray | memoryview) -> str:
    return base64.b64encode(value).decode()


_WRITTEN: Final[tuple[tuple[Any, str, Callable[[Any], str]], ...]] = (
    (Decimal, "decimal", str),
    (datetime, "datetime", lambda value: value.isoformat()),  # before date, which it is, too
    (date, "date", lambda value: value.isoformat()),
    (time, "time", lambda value: value.isoformat()),
    (timedelta, "duration", to_jsonable_python),
    ((bytes, bytearray, memoryview), "bytes", _base64),
)

_DURATION: Final[TypeAdapter[timedelta]] = TypeAdapter(timedelta)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_NOUNS: Final = {
    **{kind: kind for kind in ("number", "date", "time", "duration")},
    **dict.fromkeys(("decimal", "float"), "number"),
    "integer": "whole number",
    "datetime": "date and time",
    "bytes": "base64 text",
    "escaped": "JSON text",
}

_READ: Final[dict[str, Callable[[str], Any]]] = {
    "integer": int,
    "number": _number,
    "decimal": Decimal,
    "float": float,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "duration": _DURATION.validate_python,
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "escaped": json.loads,
    "secret": str,
    "json": json.loads,
}
