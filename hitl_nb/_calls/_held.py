"""What a value holds, by its type: what counts where two are compared; and a copy that has all of it."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import PurePath
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel

_ADDRESSES: Final = (IPv4Address, IPv4Network, IPv6Address, IPv6Network)
SCALARS: Final = (
    *(bool, int, float, complex, str, Decimal, Fraction, datetime, date, time, timedelta, UUID, PurePath),
    *_ADDRESSES,
)
SIMPLE: Final = frozenset((bool, int, float, str))
_LIBRARIES: Final = ("numpy", "pandas", "polars", "pyarrow")
_AS_THEIR_ITEMS: Final = frozenset(("builtins", "collections", "types", *_LIBRARIES))
"""Modules of types that are what they hold, and nothing else."""
ZONES: Final = ("builtins", "datetime", "zoneinfo")
"""Modules of time zones that `repr` tells apart; no zone is of the first."""


def library_of(kind: type) -> str | None:
    """Whose array or frame it is: a GeoDataFrame is pandas'."""
    return _library_of(kind)  # which takes what can be hashed, and a type checker says that a type cannot


@functools.lru_cache(maxsize=1024)
def _library_of(kind: type) -> str | None:
    tops = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((top for top in tops if top in _LIBRARIES), None)


def is_a_subclass(kind: type) -> bool:
    """Whether a type is somebody's own, so that it says more than its items."""
    return kind.__module__.partition(".")[0] not in _AS_THEIR_ITEMS


@functools.lru_cache(maxsize=1024)
def worked_out(kind: type) -> frozenset[str]:
    """Attributes that are there once somebody has looked at them."""
    return frozenset(
        name
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, functools.cached_property)
    )


@functools.lru_cache(maxsize=1024)
def _slots(kind: type) -> tuple[str, ...]:
    """What instances of a subclass hold without a dict."""
    own = [base for base in kind.__mro__ if "__slots__" in vars(base)]
    return tuple(
        name for base in own for name, member in vars(base).items() if isinstance(member, MemberDescriptorType)
    )


def attributes_of(value: Any) -> dict[str, Any]:
    """What somebody's own type holds beside its items: its fields, else what is public."""
    kind: Any = type(value)
    fields_ = _field_names(kind)
    names = [*fields_, *getattr(value, "__dict__", ()), *_slots(kind)]
    counts = [name for name in names if name in fields_ or not (name.startswith("_") or name in worked_out(kind))]
    held = {name: getattr(value, name) for name in counts if hasattr(value, name)}
    if library_of(kind) != "pandas":
        return held
    # pandas' own copies say None for what was not said.
    return {name: part for name, part in held.items() if part is not None}


@functools.lru_cache(maxsize=1024)
def _field_names(kind: type) -> tuple[str, ...]:
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return tuple(field.name for field in getattr(kind, "__attrs_attrs__", ()))


def has_fields(value: object) -> bool:
    """Whether it is an object of a dataclass, of attrs, or a namespace."""
    kind = type(value)
    return is_dataclass(kind) or hasattr(kind, "__attrs_attrs__") or isinstance(value, SimpleNamespace)


def names_in(row: Any) -> list[Any] | None:
    """The names of what stands in a row: of a named tuple, or from a database."""
    if type(row).__module__ == "builtins":
        return None
    names = getattr(row, "_fields", None)
    if names is None and callable(getattr(row, "keys", None)):
        names = row.keys()
    return list(names) if names is not None and len(list(names)) == len(row) else None


def exact(value: Any, base: Any) -> str:
    """A scalar to the last digit; as its base writes it, whatever a subclass prints."""
    if isinstance(value, datetime | time) and type(value.tzinfo).__module__ not in ZONES:
        # A zone may print as its address.
        own = type(value.tzinfo).__repr__ is not object.__repr__
        return f"{base.__repr__(value.replace(tzinfo=None))} {repr(value.tzinfo) if own else ''}"
    write: Callable[[Any], str] = base.__repr__ if base in (int, float, complex, datetime, time) else base.__str__
    try:
        return write(value)
    except ValueError:  # an int of more digits than Python writes
        return value.hex() if isinstance(value, float) else f"{value.numerator:x}/{value.denominator:x}"


# -- a copy that nobody else holds --------------------------------------------------------------------------------


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
        return _having(_twin(value), attributes_of(value))
    if kind is dict:
        return {frozen(key): frozen(part) for key, part in value.items()}
    if kind in (list, tuple, set, frozenset):
        return kind(frozen(item) for item in value)
    library = library_of(kind)
    if library == "polars" and hasattr(value, "clone"):
        return value.clone()
    if library == "numpy" and getattr(getattr(value, "dtype", None), "hasobject", False):
        return _copied(value)
    if library in ("numpy", "pandas") and hasattr(value, "copy"):
        # A subclass that does not hand its attributes on has none in a copy.
        return _having(value.copy(), attributes_of(value)) if is_a_subclass(kind) else value.copy()
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


def _having(made: Any, attributes: dict[str, Any]) -> Any:
    for name, part in attributes.items():
        object.__setattr__(made, name, frozen(part))
    return made


def _copied(value: object) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:
        return value
