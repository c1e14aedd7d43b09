"""Arguments and answers as JSON text, whatever they are: a record is never refused because of what it records."""

import json
from contextlib import suppress
from hashlib import sha256
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from hitl_nb._calls import fingerprint
from hitl_nb.errors import UsageError
from hitl_nb.journal._keys import told_apart


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
