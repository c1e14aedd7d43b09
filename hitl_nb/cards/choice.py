"""One or several of a few options; the answer is the option itself, not its label."""

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Final

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card, Row, answer_row, argument_rows, names_of, row_props, value_of
from hitl_nb.cards._nodes import line_text, tree_text
from hitl_nb.cards._seen import OpenPage, seen
from hitl_nb.errors import InvalidValue, ToolDefinitionError

# -- options of the application as a person reads them: each keeps its own object, which is the answer -------

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

    fields: Mapping[str, Any] = field(default_factory=dict)
    """What else is known about it, by name."""


def described(
    value: object, *, label: str | None = None, note: str | None = None, group: str | None = None
) -> Described:
    """Return an option in words.

    Args:
        value: A text, number or date, or a dict or object with fields.
        label: The field that names it; default: ``label``, ``title``, ``name`` or ``description``, whichever it has.
        note: The field that says more; default: ``note`` or ``description``.
        group: The field with its heading; default: ``group``.
    """
    named = label or _first_of(_LABELS, value)
    if named is None:
        return Described(value=value, label=_words(value))
    noted = note or next((name for name in _NOTES if name != named and _has(value, name)), None)
    grouped = group or "group"
    return Described(
        value=value,
        label=_words(value_of(value, named)),
        note=_words(said) if noted and (said := value_of(value, noted)) not in (None, "") else "",
        group=_words(heading) if (heading := value_of(value, grouped)) not in (None, "") else "",
        fields={name: value_of(value, name) for name in _fields_of(value) if name not in (named, noted, grouped)},
    )


def _fields_of(value: object) -> Sequence[str]:
    return names_of(value) or list(getattr(value, "__dataclass_fields__", ()))


def _first_of(names: Sequence[str], value: object) -> str | None:
    return next((name for name in names if _has(value, name)), None)


def _has(value: object, name: str) -> bool:
    return name in _fields_of(value)


def _words(value: object) -> str:
    if isinstance(value, str) and not isinstance(value, Enum):
        return value or '""'
    if value is None:
        return "None"
    nodes = seen(value)
    return line_text(nodes) or tree_text(nodes)


def told_apart(options: Sequence[Described]) -> list[Described]:
    """Return the options with labels that no two share: a text in quotes where it looks like a number, else a place."""
    others = {option.label for option in options if not isinstance(option.value, str)}
    quoted = [
        replace(option, label=json.dumps(option.label, ensure_ascii=False))
        if isinstance(option.value, str) and option.label in others
        else option
        for option in options
    ]
    counts, places = Counter(option.label for option in quoted), Counter[str]()
    return [_numbered(option, counts, places) for option in quoted]


def _numbered(option: Described, counts: Counter[str], places: Counter[str]) -> Described:
    if counts[option.label] == 1 or option.fields or option.note:
        return option
    places[option.label] += 1
    return replace(option, label=f"{option.label} ({places[option.label]} of {counts[option.label]})")


def columns_of(options: Sequence[Described]) -> list[str]:
    """Return the names of the other fields of options, which stand beside their labels."""
    return list(dict.fromkeys(name for option in options for name in option.fields))


def chosen_of(value: object, options: Sequence[Described], *, at_least: int, at_most: int | None) -> list[Described]:
    """Return the options of ``{"chosen": [indices]}``, in their own order.

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


def is_option(option: Described, answer: object) -> bool:
    """Whether an answer is this option: the same object, or an equal one of the same type."""
    if option.value is answer:
        return True
    try:
        return type(option.value) is type(answer) and bool(option.value == answer)
    except (TypeError, ValueError):  # an array compares to an array
        return False


# -- the card ------------------------------------------------------------------------------------------------


class Choice(Card):
    """Options to choose from: ``render=partial(Choice, options=["keep", "drop"])``.

    Args:
        call: The call.
        options: Texts, numbers, dates, dicts or objects. Default: the first list among the call's arguments, so that a
            tool ``def pick(question: str, options: list[str]) -> str`` lets the model propose them.
        multiple: Whether several may be chosen; the answer is then a list, in the order of the options.
        min: How many at least, where several may be chosen.
        max: How many at most; None for all.
        label: The field of an option that names it; default: ``label``, ``title``, ``name`` or ``description``.
        note: The field that says more about it; default: ``note`` or ``description``.
        one_key: Whether each option is a button, and a press of it, or of the key that stands on it (1 to 9, A to Z),
            answers at once.
    """

    module: ClassVar[str | Path] = "choice"
    style: ClassVar[str | Path | None] = "choice"

    def __init__(
        self,
        call: Call,
        *,
        options: Sequence[Any] | None = None,
        multiple: bool = False,
        min: int = 1,  # noqa: A002 - the field's own word
        max: int | None = None,  # noqa: A002
        label: str | None = None,
        note: str | None = None,
        one_key: bool = False,
    ) -> None:
        super().__init__(call)
        if one_key and multiple:
            raise ToolDefinitionError(
                "`Choice` cannot take several options by one key. Leave out `multiple=True` or `one_key=True`."
            )
        if options is not None and (isinstance(options, str) or not list(options)):
            raise ToolDefinitionError(
                f'`Choice` got `{options!r}` to choose from. Write `options=["keep", "drop"]`, with one or more.'
            )
        self._given = None if options is None else list(options)
        self._multiple = multiple
        self._min, self._max = (min, max) if multiple else (1, 1)
        self._label, self._note = label, note
        self.one_key = one_key
        self._taken: tuple[list[int], Any] | None = None

    def props(self) -> dict[str, Any]:
        """Give the rows to read and the options that are there so far."""
        options = self._options()
        columns = columns_of(options)
        return {
            "rows": row_props(self._questions(self.page)),
            "columns": columns,
            "options": [
                {"label": option.label, "note": option.note, "cells": _cells_of(option, columns)} for option in options
            ],
            "multiple": self._multiple,
            "min": self._min,
            "max": self._max,
            **({"keys": True} if self.one_key else {}),
        }

    def answer(self, value: Any) -> Any:
        """Return the chosen option itself, or the list of them.

        Raises:
            InvalidValue: No choice, too few or too many.
        """
        options = self._options()
        chosen = chosen_of(value, options, at_least=self._min, at_most=self._max)
        answer = [option.value for option in chosen] if self._multiple else chosen[0].value
        self._taken = ([options.index(option) for option in chosen], answer)  # equal options are told by their places
        return answer

    def headline(self) -> str:
        """Return the choice, or how many were chosen."""
        options = self._options()
        chosen = self._chosen(options)
        if not chosen and self.call.answer not in ([], ()):
            return "Answered"
        return f"Chose {len(chosen)} of {len(options)}" if self._multiple else f"Chose {chosen[0].label}"

    def rows(self) -> Sequence[Row]:
        """Return what was asked, every option with whether it was chosen, and an answer that is none of them."""
        options, decided = self._options(), self.call.approved
        chosen = self._chosen(options)
        rows = [
            Row(text=_line(option), mark=("on" if option in chosen else "off") if decided else "") for option in options
        ]
        other = [answer_row(self.call)] if decided and not chosen and self.call.answer not in ([], (), None) else []
        return [*self._questions(), *rows, *other]

    def _chosen(self, options: Sequence[Described]) -> list[Described]:
        answer = self.call.answer
        if self._taken is not None and self._taken[0] and _is_same(self._taken[1], answer):
            return [options[at] for at in self._taken[0]]
        chosen: list[Described] = []
        for each in answer if self._multiple and isinstance(answer, list) else [answer]:
            rest = [option for option in options if option not in chosen and is_option(option, each)]
            chosen += [option for option in rest if option.value is each][:1] or rest[:1]
        return [option for option in options if option in chosen]

    def _questions(self, page: OpenPage = None) -> list[Row]:
        without = () if self._given is not None else (self._field() or "",)
        return argument_rows(self.call, without=without, page=page)

    def _options(self) -> list[Described]:
        values: Any = self._given
        if values is None:
            field = self._field()
            values = value_of(self.call.args, field) if field is not None else []
        return told_apart([described(value, label=self._label, note=self._note) for value in values])

    def _field(self) -> str | None:
        """The argument that holds the options."""
        args = self.call.args
        field = next((name for name in names_of(args) if isinstance(value_of(args, name), list)), None)
        if field is None and self.call.status != "inProgress":
            raise ToolDefinitionError(
                f"`Choice` finds nothing to choose from among the arguments of `{self.call.name}` "
                f"({', '.join(names_of(args)) or 'none'}). Write `render=partial(Choice, options=[...])`, or a tool "
                "with `options: list[str]`."
            )
        return field


def _cells_of(option: Described, columns: Sequence[str]) -> list[str]:
    return [_words(option.fields[name]) if name in option.fields else "" for name in columns]


def _is_same(taken: object, answer: object) -> bool:
    if isinstance(taken, list) and isinstance(answer, list):
        return len(taken) == len(answer) and all(one is other for one, other in zip(taken, answer, strict=True))
    return taken is answer


def _line(option: Described) -> str:
    about = [option.note] if option.note else []
    about += [f"{name}: {_words(value)}" for name, value in option.fields.items()]
    return f"{option.label} ({'; '.join(about)})" if about else option.label


class TimePicker(Card):
    """Slots under their days; the answer is the chosen slot itself: ``render=partial(TimePicker, slots=free_slots)``.

    Args:
        call: The call; its arguments say what is scheduled.
        slots: Datetimes, dates, texts, dicts or objects (with ``label``, ``note``, ``group``); or a function, plain or
            async, that gets the `Call` and gives them (a calendar, a database). It is called once, when the question
            opens, and the card says that it is loading meanwhile.
    """

    module: ClassVar[str | Path] = "time_picker"
    style: ClassVar[str | Path | None] = "time_picker"

    def __init__(self, call: Call, *, slots: Iterable[Any] | Callable[[Call], Any]) -> None:
        super().__init__(call)
        if isinstance(slots, str) or not (callable(slots) or isinstance(slots, Iterable)):
            raise ToolDefinitionError(
                f"`TimePicker` got `{slots!r}` as slots. Write `slots=[datetime(2026, 3, 2, 10), ...]`, or "
                "`slots=free_slots` with `async def free_slots(call): ...`."
            )
        self._source = slots if callable(slots) else None
        self._slots: list[Described] | None = None if callable(slots) else [_slot(slot) for slot in slots]
        self._fetching: asyncio.Task[None] | None = None

    def props(self) -> dict[str, Any]:
        """Return the rows to read and the slots, once they are there."""
        slots = self._slots or []
        return {
            "rows": self.context(),
            "slots": [{"label": slot.label, "note": slot.note, "group": slot.group} for slot in slots],
            "loading": self._slots is None,
        }

    async def prepare(self) -> None:
        """Fetch the slots from the application, once.

        Raises:
            Exception: Whatever the application raised.
        """
        if self._slots is None:
            # Shown in two cells, it is still asked once.
            self._fetching = self._fetching or asyncio.ensure_future(self._fetch())
            await asyncio.shield(self._fetching)

    async def _fetch(self) -> None:
        assert self._source is not None
        found = self._source(self.call)
        if inspect.isawaitable(found):
            found = await found
        self._slots = [_slot(slot) for slot in found]

    def answer(self, value: Any) -> Any:
        """Return the chosen slot itself.

        Raises:
            InvalidValue: The slots are not there yet, or none was chosen.
        """
        if self._slots is None:
            raise InvalidValue("The times are still being loaded.")
        return chosen_of(value, self._slots, at_least=1, at_most=1)[0].value

    def headline(self) -> str:
        """Return the time that was chosen."""
        return f"Chose {self._words()}"

    def rows(self) -> Sequence[Row]:
        """Return what was scheduled."""
        return argument_rows(self.call)

    def _words(self) -> str:
        answer = self.call.answer
        slot = next((slot for slot in self._slots or () if is_option(slot, answer)), None) or _slot(answer)
        words = f"{slot.group}, {slot.label}" if slot.group else slot.label
        return f"{words} ({slot.note})" if slot.note else words


# Not `strftime`: what stands in a notebook must not depend on the machine's language.
_DAYS: Final = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_MONTHS: Final = "January February March April May June July August September October November December".split()


def _slot(value: object) -> Described:
    if isinstance(value, datetime):
        offset = value.strftime("%z")
        zone = "UTC" if offset == "+0000" else f"UTC{offset[:3]}:{offset[3:5]}" if offset else ""
        return Described(value=value, label=f"{value:%H:%M}", note=zone, group=_day(value))
    if isinstance(value, date):
        return Described(value=value, label=_day(value))
    return described(value)


def _day(day: date) -> str:
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"
