"""Arguments and answers as JSON text, whatever they are: a record is never refused because of what it records."""

import functools
import json
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from hashlib import sha256
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from hitl_nb._calls import fingerprint
from hitl_nb.errors import UsageError


def json_text(value: Any) -> str:
    """Give `value` as compact JSON text.

    Models and dataclasses are written by their aliases, a `SecretStr` as stars, bytes as base64, NaN as ``NaN``. What
    has no JSON form is described: a DataFrame by shape, columns and fingerprint, anything else by its type. JSON knows
    text keys only; one that is no text and would be written as another key's text is written with its type:
    ``{1: "a", "1": "b"}`` as ``{"int(1)":"a","1":"b"}``.
    """
    value = told_apart(value)
    try:
        return to_json(value, **_FORM).decode()
    except _NO_JSON:
        # A lone surrogate, say, which UTF-8 cannot hold but JSON's escapes can.
        return json.dumps(_data(value), separators=(",", ":"))


def _data(value: Any) -> Any:
    try:
        return to_jsonable_python(value, **_FORM)
    except _NO_JSON:
        return {"type": _name(value)}


def _described(value: Any) -> Any:
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()  # a numpy scalar
    found: dict[str, Any] = {"type": _name(value)}
    if hasattr(value, "shape"):
        found["shape"] = [int(size) for size in value.shape]
        if hasattr(value, "columns"):
            found["columns"] = [str(column) for column in value.columns]
        with suppress(UsageError):
            found["sha256"] = fingerprint(value)
    return found


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def sha256_of(text: str) -> str:
    """Give the hash of a stored text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def storable(text: object) -> str | None:
    """Give words as SQLite can hold them: a lone surrogate becomes its escape."""
    if text is None:
        return None
    words = str(text)
    return words if words.isascii() else words.encode("utf-8", "backslashreplace").decode()


_FORM: Final[dict[str, Any]] = {
    "by_alias": True,
    "inf_nan_mode": "constants",
    "bytes_mode": "base64",
    "fallback": _described,
}
_NO_JSON: Final = (PydanticSerializationError, ValueError, TypeError, RecursionError)


# -- keys that JSON would write alike: in a record, too, 1 and "1" of one dict are two ------------------------------

_TEXT: Final = frozenset((str,))
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))

_WITHOUT_KEYS: Final = frozenset(
    """
    bool date datetime decimal default definition-ref definitions enum float int list literal model model-field
    model-fields none nullable str time timedelta tuple union url uuid
    """.split()
)
"""The kinds of pydantic's core schema that are, or hold, nothing with keys of its own."""

_type: Callable[[Any], Any] = type


def told_apart(value: Any) -> Any:
    """Give `value` itself; or, if some keys of one dict have the same text, plain data in which they do not."""
    try:
        return _told_apart(value) if _has_a_collision(value) else value
    except RecursionError:
        return value


def _has_a_collision(value: Any) -> bool:
    # Not recursive, and by types first: this sees every part of everything that is recorded.
    todo, seen = [value], set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict) and set(map(type, each)) != _TEXT and len(set(map(_text, each))) < len(each):
            return True
        parts = _parts(each)
        if not all(map(_is_quiet, set(map(type, parts)))):
            todo += [part for part in parts if not _is_quiet(_type(part))]
    return False


def _parts(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if _is_quiet(_type(value)):
        return ()
    if isinstance(value, BaseModel):
        return (*value.__dict__.values(), *(value.__pydantic_extra__ or {}).values())
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return ()


@functools.lru_cache(maxsize=1024)
def _is_quiet(kind: Hashable) -> bool:
    """Whether whatever is of this type holds no keys but its fields' names."""
    if not isinstance(kind, type) or kind in _PLAIN:
        return True
    return issubclass(kind, BaseModel) and _is_plain(kind.__pydantic_core_schema__)


def _is_plain(schema: Any) -> bool:
    if isinstance(schema, list | tuple):
        return all(map(_is_plain, schema))
    if not isinstance(schema, dict):
        return True
    if isinstance(schema.get("type"), str) and schema["type"] not in _WITHOUT_KEYS:
        return False
    if "allow" in (schema.get("extra_behavior"), schema.get("extra_fields_behavior")):
        return False
    return all(_is_plain(part) for name, part in schema.items() if name not in ("metadata", "serialization"))


def _text(key: Any) -> str:
    """A key as JSON writes it."""
    if isinstance(key, str):
        return str(key)
    try:
        [text] = json.loads(to_json({key: None}))
    except (PydanticSerializationError, ValueError):
        return repr(key)
    return str(text)


def _told_apart(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _told_apart(value.model_dump(by_alias=True))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _told_apart(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [_told_apart(part) for part in value]
    if not isinstance(value, dict):
        return value
    taken = {str(key) for key in value if isinstance(key, str)}
    made: dict[str, Any] = {}
    for key, part in value.items():
        name = _text(key)
        if not isinstance(key, str):
            name = f"{type(key).__name__}({key!r})" if name in taken else name
            while name in taken:
                name += "'"
            taken.add(name)
        made[name] = _told_apart(part)
    return made
