"""A copy that nobody else holds: what was shown is what runs."""

import copy
from collections.abc import Mapping, Sequence, Set
from enum import Enum
from typing import Any

from pydantic import BaseModel

from hitl_nb._calls._held import SCALARS, SIMPLE, attributes_of, has_fields, library_of


def frozen(value: Any) -> Any:
    """Return a copy of `value` that nobody else can change: what was shown is what runs.

    What has no content to copy (a connection, a function) is itself, as it is compared.
    """
    kind = type(value)
    if value is None or kind in SIMPLE or isinstance(value, (*SCALARS, bytes, Enum)):
        return value
    if isinstance(value, BaseModel):
        return _frozen_model(value)
    if has_fields(value):
        return _with(_twin(value), attributes_of(value))
    if kind is dict:
        return {frozen(key): frozen(part) for key, part in value.items()}
    if kind in (list, tuple, set, frozenset):
        return kind(frozen(item) for item in value)
    library = library_of(kind)
    if library == "polars" and hasattr(value, "clone"):
        return value.clone()
    if library == "numpy" and getattr(getattr(value, "dtype", None), "hasobject", False):
        return _copied(value)
    if library == "numpy" and hasattr(value, "copy"):
        # A subclass that does not hand its attributes on has none in a copy.
        return _with(value.copy(), attributes_of(value))
    if library == "pandas" and hasattr(value, "copy"):
        return value.copy()
    if isinstance(value, bytearray):
        return bytearray(value)
    if isinstance(value, Mapping | Sequence | Set):
        return _copied(value)
    return value


def _frozen_model(model: BaseModel) -> BaseModel:
    made = model.model_copy()
    for held in (made.__dict__, made.__pydantic_extra__ or {}, made.__pydantic_private__ or {}):
        for name, part in held.items():
            held[name] = frozen(part)
    return made


def _twin(value: object) -> Any:
    """Another object with the same attributes."""
    try:
        made = copy.copy(value)
    except Exception:
        made = value
    return object.__new__(type(value)) if made is value else made


def _with(made: Any, attributes: dict[str, Any]) -> Any:
    for name, part in attributes.items():
        object.__setattr__(made, name, frozen(part))
    return made


def _copied(value: object) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
