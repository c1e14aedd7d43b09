r"""Values on their way to the browser and back, without losing a digit, and what stands in them at which key.

JSON in a browser is lossy: 2**60 + 1 becomes 1152921504606847000, NaN is an error, `{"10": …, "9": …}` changes its
order, `__proto__` is not a key like others. So these travel as a mark, an object with the key `$`, which says what it
stands for:

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

From the browser come the same, and three more: `{"$": "number", "text": "0.1"}` for what was typed into a number
field, `{"$": "secret", "text": "new"}` for a secret typed anew, and `{"$": "json", "text": "…"}` for the text of a
JSON box, which is parsed here and not in the browser.

A model or dataclass is read by the names its schema shows (the aliases), so that a path means the same in the form,
in an edit and in an error.
"""

import base64
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias, TypeGuard, TypeVar, cast

from pydantic import AliasChoices, RootModel, SecretBytes, SecretStr, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._limits import brief, contained, is_deep
from hitl_nb.errors import InvalidValue

__all__ = [
    "HIDDEN",
    "MARK",
    "STARS",
    "Json",
    "Path",
    "as_text",
    "by_text",
    "equal_wires",
    "from_mark",
    "is_hidden_mark",
    "is_sequence",
    "key_text",
    "look_of",
    "looks_same",
    "mark",
    "name_of",
    "opened",
    "read_wire",
    "real_key",
    "to_wire",
]

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""Plain JSON data; only ever lists and dicts, said this way because one that holds texts is one that holds JSON."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root of a value."""

K = TypeVar("K")

MARK: Final = "$"
"""The key that says: this is no object of the value, but a mark."""

STARS: Final = "**********"
"""pydantic's own sign for a secret."""

_SAFE: Final = 2**53 - 1
"""JavaScript's Number.MAX_SAFE_INTEGER."""


class Hidden:
    """The type of `HIDDEN`."""

    def __repr__(self) -> str:
        return "<hidden>"


HIDDEN: Final = Hidden()
"""Stands in a value at the place of what stays in the kernel: a secret, an object without JSON form."""


# -- a whole value ------------------------------------------------------------------------------------------------


def to_wire(value: object) -> Json:
    """Return `value` as plain JSON data that a browser reads without loss, key order included.

    Args:
        value: Plain data, and in it anything that pydantic knows: models and dataclasses become objects by
            their aliases, sets and tuples lists, UUIDs, paths and URLs text.
    """
    try:
        return mark("opaque", "<nested too deeply>") if is_deep(value) else _wire_of(value)
    except RecursionError:
        return mark("opaque", "<nested too deeply>")


def _wire_of(value: object) -> Json:
    value = opened(value)
    marked = _to_mark(value)
    if marked is not None:
        return marked
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return _object([(name, _wire_of(value[key])) for name, key in by_text(value).items()])
    if is_sequence(value):
        return [_wire_of(part) for part in value]
    if isinstance(value, Iterator):
        return mark("opaque", _in_its_words(value))  # to look at it would use it up
    try:
        return _wire_of(to_jsonable_python(value))
    except (PydanticSerializationError, ValueError, RecursionError):
        return mark("opaque", _in_its_words(value))


def _in_its_words(value: object) -> str:
    """Return the `repr` of a Python object, which may be long, or fail."""
    try:
        with contained("Its `repr`"):
            return brief(repr(value))
    except Exception:
        return f"<{type(value).__name__}>"


def _object(entries: list[tuple[str, Json]]) -> Json:
    if any(_is_awkward(name) for name, _ in entries):
        return {MARK: "object", "entries": [[_wire_of(name), part] for name, part in entries]}
    return dict(entries)


def _is_awkward(name: str) -> bool:
    """JavaScript sorts keys that look like an index to the front, and `__proto__` may set a prototype."""
    return name in (MARK, "__proto__") or (name.isascii() and name.isdecimal()) or _has_surrogate(name)


def read_wire(wire: Json) -> object:
    """Return the value that plain JSON data with marks stand for.

    Raises:
        InvalidValue: a mark that cannot be read.
    """
    if isinstance(wire, list):
        return [read_wire(part) for part in wire]
    if not isinstance(wire, dict):
        return wire
    if MARK not in wire:
        return {key: read_wire(part) for key, part in wire.items()}
    if wire[MARK] != "object":
        return from_mark(wire)
    try:
        entries = [(read_wire(key), read_wire(part)) for key, part in wire["entries"]]
        value = dict(entries)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidValue("An object's `entries` are not a list of `[key, value]` pairs.") from error
    if len(value) < len(entries):
        raise InvalidValue("An object has the same key twice.")
    return value


def as_text(wire: Json, *, keeps_hidden: bool = False) -> Json:
    """Return the digits and texts that the marks of a value's wire form stand for: what a person reads.

    Args:
        wire: As `to_wire` makes it.
        keeps_hidden: What stayed in the kernel is its mark, as in a JSON box, where `is_hidden_mark` finds it again;
            otherwise stars for a secret, and the words of an object without JSON form.
    """
    if isinstance(wire, list):
        return [as_text(part, keeps_hidden=keeps_hidden) for part in wire]
    if not isinstance(wire, dict):
        return wire
    match wire.get(MARK):
        case None:
            return {key: as_text(part, keeps_hidden=keeps_hidden) for key, part in wire.items()}
        case "object":
            pairs = [[as_text(part, keeps_hidden=keeps_hidden) for part in pair] for pair in wire["entries"]]
            return {cast("str", key): part for key, part in pairs}
        case "integer" | "float" | "escaped":
            return cast("Json", from_mark(wire))
        case "secret" | "opaque" if keeps_hidden:
            return wire
        case "secret":
            return STARS
    return cast("str", wire["text"])


def looks_same(first: object, second: object) -> bool:
    """Whether two values look the same in the browser: type, order and every digit; 1 and 1.0 are one number there."""
    return equal_wires(to_wire(first), to_wire(second))


def look_of(value: object) -> str:
    """Return a text that two values share if, and only if, one `looks_same` as the other: to find one of many."""
    return json.dumps(_in_one_spelling(to_wire(value)))


def _in_one_spelling(wire: Json) -> Json:
    if isinstance(wire, float) and wire.is_integer():
        return int(wire)  # 1.0 and -0.0 are 1 and 0 in the browser
    if isinstance(wire, dict):
        return {key: _in_one_spelling(part) for key, part in wire.items()}
    return [_in_one_spelling(part) for part in wire] if isinstance(wire, list) else wire


def equal_wires(first: object, second: object) -> bool:
    """The same for two values that are on the wire already."""
    if isinstance(first, dict) and isinstance(second, dict):
        # Two dicts in another order are equal to Python, and look different to a person.
        return list(first) == list(second) and all(equal_wires(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(equal_wires, first, second))
    # To Python True equals 1.
    return isinstance(first, bool) == isinstance(second, bool) and bool(first == second)


# -- marks --------------------------------------------------------------------------------------------------------


def mark(kind: str, text: str) -> dict[str, str]:
    """Return one mark."""
    return {MARK: kind, "text": text}


def _to_mark(value: object) -> dict[str, str] | None:
    """Return the mark of one scalar; None if plain JSON carries it exactly (or it is no scalar)."""
    match value:
        case str():
            return mark("escaped", json.dumps(value)) if _has_surrogate(value) else None
        case bool():  # before int, which it is, too
            return None
        case int():
            # `int`, because a subclass (an enum, numpy's) may print itself as something else.
            return mark("integer", str(int(value))) if abs(value) > _SAFE else None
        case float():
            # Asked this way round, NaN is beyond.
            return None if abs(value) <= _SAFE else mark("float", json.dumps(float(value)))
        case SecretStr() | SecretBytes() | Hidden():
            return {MARK: "secret"}
        case Decimal():
            return mark("decimal", str(value))
        case datetime():  # before date, which it is, too
            return mark("datetime", value.isoformat())
        case date():
            return mark("date", value.isoformat())
        case time():
            return mark("time", value.isoformat())
        case timedelta():
            return mark("duration", to_jsonable_python(value))
        case bytes() | bytearray() | memoryview():
            return mark("bytes", base64.b64encode(value).decode())
    return None


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def from_mark(wire: Mapping[str, Json]) -> object:
    """Return the value of a mark (an `object` mark is `read_wire`'s); `HIDDEN` for what stayed in the kernel.

    Raises:
        InvalidValue: the text is not what the mark says.
    """
    kind, text = wire.get(MARK), wire.get("text")
    if kind == "opaque" or (kind == "secret" and "text" not in wire):
        return HIDDEN
    if not isinstance(kind, str) or kind not in _READ or not isinstance(text, str):
        raise InvalidValue(f"`{kind}` is no mark of a value that could be set.")
    noun, read = _READ[kind]
    try:
        return read(text)
    except (ArithmeticError, ValueError, RecursionError) as error:
        reason = f"The text is not valid JSON: {error}" if kind == "json" else f"`{text[:40]}` is no {noun}"
        raise InvalidValue(f"{reason}.") from error


def is_hidden_mark(wire: object) -> bool:
    """Whether `wire` is the mark of something that stayed in the kernel."""
    return isinstance(wire, dict) and wire.get(MARK) in ("opaque", "secret") and wire.keys() <= {MARK, "text"}


def _int_or_float(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_READ: Final[dict[str, tuple[str, Callable[[str], object]]]] = {
    "integer": ("whole number", int),
    "number": ("number", _int_or_float),
    "decimal": ("number", Decimal),
    "float": ("number", float),
    "datetime": ("date and time", datetime.fromisoformat),
    "date": ("date", date.fromisoformat),
    "time": ("time", time.fromisoformat),
    "duration": ("duration", TypeAdapter(timedelta).validate_python),
    "bytes": ("base64 text", lambda text: base64.b64decode(text, validate=True)),
    "escaped": ("JSON text", json.loads),
    "secret": ("text", str),
    "json": ("JSON text", json.loads),
}
"""Mark → what its text should be, and how it is read."""


# -- one level of a value -----------------------------------------------------------------------------------------


def opened(value: object) -> object:
    """Return a model, a dataclass or an enum member as a plain mapping or sequence; anything else as it is."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, RootModel):
        return opened(value.root)
    # Models and pydantic's own dataclasses both have these.
    declared: Mapping[str, FieldInfo] | None = getattr(type(value), "__pydantic_fields__", None)
    if declared is not None:
        own = {
            _input_name(name, info): getattr(value, name) for name, info in declared.items() if info.init is not False
        }
        return own | (getattr(value, "__pydantic_extra__", None) or {})
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value) if each.init}
    if isinstance(value, Enum):
        return value.value
    # numpy's numbers are numbers.
    scalar = getattr(value, "shape", None) == () and hasattr(value, "dtype")
    return value.item() if scalar else value  # type: ignore[attr-defined]


_PLAIN: Final = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""What nearly every value is made of: no need to ask what else it might be."""


def _input_name(name: str, info: FieldInfo) -> str:
    """Return the key under which pydantic takes the field, and its JSON Schema shows it."""
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        alias = next((choice for choice in alias.choices if isinstance(choice, str)), None)
    return alias if isinstance(alias, str) else name


def is_sequence(value: object) -> TypeGuard[Collection[object]]:
    """Whether `value` is a list to a form: a list, tuple, set, deque, … but no text and no bytes."""
    return isinstance(value, Sequence | Set) and not isinstance(value, str | bytes | bytearray | memoryview)


def key_text(key: object) -> str:
    """Return a key as the text that JSON has for it: `1` for 1, `true` for True."""
    if _is_text_key(key):
        return str(key)
    try:
        plain = to_jsonable_python(key)
    except (PydanticSerializationError, TypeError, ValueError):
        return repr(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def by_text(mapping: Mapping[K, object]) -> dict[str, K]:
    """Return the keys of `mapping`, in order, by the texts they go by; no two share one.

    Python tells 1 from "1", JSON does not: where both are there, the text keeps its name, and the other says what it
    is, `1 (int)`.
    """
    if all(type(key) is str for key in mapping):  # nearly always, and every value on its way passes here
        return cast("dict[str, K]", {key: key for key in mapping})
    texts = [(key_text(key), key) for key in mapping]
    counts = Counter(text for text, _ in texts)
    taken = {text for text, key in texts if _is_text_key(key)}
    named: dict[str, K] = {}
    for text, key in texts:
        name = text
        if not _is_text_key(key):
            if counts[text] > 1:
                name = _longer(text, key)
            while name in taken:
                name = _longer(name, key)
            taken.add(name)
        named[name] = key
    return named


def name_of(mapping: Mapping[K, object], key: object) -> str:
    """Return the text that a key of `mapping` goes by."""
    names = (
        name for name, each in by_text(mapping).items() if each is key or (type(each) is type(key) and each == key)
    )
    return next(names, key_text(key))


def real_key(mapping: Mapping[K, object], step: object) -> K:
    """Return the key of `mapping` that the browser calls `step` (`dict[int, …]` has ints).

    Raises:
        KeyError: there is none.
    """
    if step in mapping:
        return cast("K", step)
    named = by_text(mapping)
    if isinstance(step, str) and step in named:
        return named[step]
    # Once an earlier edit has taken "1" away, the key 1 is still called by the longer name it had beside it.
    longer = [key for key in mapping if not _is_text_key(key) and _longer(key_text(key), key) == step]
    if len(longer) != 1:
        raise KeyError(step)
    return longer[0]


def _is_text_key(key: object) -> bool:
    return isinstance(key, str) and not isinstance(key, Enum)


def _longer(text: str, key: object) -> str:
    return f"{text} ({'None' if key is None else type(key).__name__})"
