"""Options of the application as a person reads them: each keeps its own object, which is the answer."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import Enum
from typing import Any, Final

from hitl_nb._schema import readable
from hitl_nb.cards._card import names_of, value_of
from hitl_nb.cards._text import plain
from hitl_nb.errors import InvalidValue

_LABELS: Final = ("label", "title", "name", "description")
_NOTES: Final = ("note", "description")


@dataclass(frozen=True, eq=False, kw_only=True)
class Described:
    """One option."""

    value: Any
    """The object itself."""

    label: str
    """What a person reads; never empty."""

    note: str = ""
    """What is said about it."""

    group: str = ""
    """Under which heading it stands."""


def described(value: Any, *, label: str | None = None, note: str | None = None, group: str | None = None) -> Described:
    """Give an option in words.

    Args:
        value: A text, number or date, or a dict or object with fields.
        label: The field that names it; default: ``label``, ``title``, ``name`` or ``description``, whichever it has.
        note: The field that says more; default: ``note`` or ``description``.
        group: The field with its heading; default: ``group``.
    """
    named = label or _first_of(_LABELS, value)
    if named is None:
        return Described(value=value, label=_words(value) or '""')
    noted = note or next((name for name in _NOTES if name != named and _has(value, name)), None)
    return Described(
        value=value,
        label=_words(value_of(value, named)) or '""',
        note=_words(value_of(value, noted)) if noted else "",
        group=_words(value_of(value, group or "group")),
    )


def _first_of(names: Sequence[str], value: Any) -> str | None:
    return next((name for name in names if _has(value, name)), None)


def _has(value: Any, name: str) -> bool:
    return name in names_of(value) or name in getattr(value, "__dataclass_fields__", ())


def _words(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Enum):
        return _words(value.value)
    if isinstance(value, date | time):
        return value.isoformat(sep=" ", timespec="minutes") if isinstance(value, datetime) else value.isoformat()
    shown = readable(value)
    return json.dumps(shown, ensure_ascii=False) if isinstance(shown, dict | list) else plain(shown)


def chosen_of(value: Any, options: Sequence[Described], *, at_least: int, at_most: int | None) -> list[Described]:
    """Give the options of ``{"chosen": [indices]}``, in their own order.

    Raises:
        InvalidValue: Not such a list, or too few or too many of them.
    """
    chosen = value.get("chosen") if isinstance(value, dict) else None
    if not isinstance(chosen, list) or not all(type(at) is int and 0 <= at < len(options) for at in chosen):
        raise InvalidValue(f"The card sent no choice among its {len(options)} options.")
    count = len(set(chosen))
    if count < at_least or (at_most is not None and count > at_most):
        raise InvalidValue(f"{count} are chosen; choose {_range(at_least, at_most)}.")
    return [options[at] for at in sorted(set(chosen))]


def _range(at_least: int, at_most: int | None) -> str:
    if at_least == at_most:
        return "one" if at_least == 1 else f"exactly {at_least}"
    return f"at least {at_least}" if at_most is None else f"{at_least} to {at_most}"


def is_option(option: Described, answer: Any) -> bool:
    """Whether an answer is this option: the same object, or an equal one of the same type."""
    if option.value is answer:
        return True
    try:
        return type(option.value) is type(answer) and bool(option.value == answer)
    except (TypeError, ValueError):  # an array compares to an array
        return False
