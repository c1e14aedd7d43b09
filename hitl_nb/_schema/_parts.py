"""A value taken apart by one level: what stands at which key, whatever kind of container it is.

A model or dataclass is read by the names its schema shows (the aliases), so that a path means the same in the
form, in an edit and in an error.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from pydantic import AliasChoices, BaseModel, RootModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError, to_jsonable_python

__all__ = ["by_text", "is_sequence", "key_text", "name_of", "opened", "real_key"]


def opened(value: Any) -> Any:
    """`value` as a plain mapping or sequence if it is a model, a dataclass or an enum member; else as it is."""
    if isinstance(value, RootModel):
        return opened(value.root)
    if isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type)):
        return dict(_fields(value))
    return value.value if isinstance(value, Enum) else value


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    declared: Mapping[str, FieldInfo] | None = getattr(type(value), "__pydantic_fields__", None)
    if declared is None:
        yield from ((each.name, getattr(value, each.name)) for each in fields(value) if each.init)
        return
    for name, info in declared.items():
        if info.init is not False:
            yield _input_name(name, info), getattr(value, name)
    yield from (getattr(value, "__pydantic_extra__", None) or {}).items()


def _input_name(name: str, info: FieldInfo) -> str:
    """The key under which pydantic takes the field, and its JSON Schema shows it."""
    alias = info.validation_alias
    if isinstance(alias, AliasChoices):
        alias = next((choice for choice in alias.choices if isinstance(choice, str)), None)
    return alias if isinstance(alias, str) else name


def is_sequence(value: Any) -> bool:
    """Whether `value` is a list to a form: a list, tuple, set, deque, … but no text and no bytes."""
    return isinstance(value, Sequence | Set) and not isinstance(value, str | bytes | bytearray | memoryview)


def key_text(key: Any) -> str:
    """A key as the text that JSON has for it: `1` for 1, `true` for True."""
    if _is_text(key):
        return str(key)
    try:
        plain = to_jsonable_python(key)
    except (PydanticSerializationError, TypeError, ValueError):
        return repr(key)
    return plain if isinstance(plain, str) else json.dumps(plain)


def by_text(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """The keys of `mapping`, in order, by the texts they go by; no two share one.

    Python tells 1 from "1", JSON does not: where both are there, the text keeps its name, and the other says what it
    is, `1 (int)`.
    """
    if all(type(key) is str for key in mapping):
        return {key: key for key in mapping}
    texts = [key_text(key) for key in mapping]
    counts = Counter(texts)
    taken = {text for key, text in zip(mapping, texts, strict=True) if _is_text(key)}
    named: dict[str, Any] = {}
    for key, text in zip(mapping, texts, strict=True):
        name = text
        if not _is_text(key):
            if counts[text] > 1:
                name = _longer(text, key)
            while name in taken:
                name = _longer(name, key)
            taken.add(name)
        named[name] = key
    return named


def name_of(mapping: Mapping[Any, Any], key: Any) -> str:
    """The text that a key of `mapping` goes by."""
    same = (name for name, each in by_text(mapping).items() if each is key or (type(each) is type(key) and each == key))
    return next(same, key_text(key))


def real_key(mapping: Mapping[Any, Any], step: Any) -> Any:
    """The key of `mapping` that the browser calls `step` (`dict[int, …]` has ints).

    Raises:
        KeyError: there is none.
    """
    if step in mapping:
        return step
    named = by_text(mapping)
    if step in named:
        return named[step]
    # Once an earlier edit has taken "1" away, the key 1 is still called by the longer name it had beside it.
    longer = [key for key in mapping if not _is_text(key) and _longer(key_text(key), key) == step]
    if len(longer) != 1:
        raise KeyError(step)
    return longer[0]


def _is_text(key: Any) -> bool:
    return isinstance(key, str) and not isinstance(key, Enum)


def _longer(text: str, key: Any) -> str:
    return f"{text} ({'None' if key is None else type(key).__name__})"
