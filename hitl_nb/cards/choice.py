"""One or several of a few options; the answer is the option itself, not its label."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar, Final

from hitl_nb._calls import Call
from hitl_nb._schema import readable
from hitl_nb.cards._card import Card, Row, answer_row, argument_rows, names_of, row_props, value_of
from hitl_nb.cards._text import plain
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
    ) -> None:
        super().__init__(call)
        if options is not None and (isinstance(options, str) or not list(options)):
            raise ToolDefinitionError(
                f'`Choice` got `{options!r}` to choose from. Write `options=["keep", "drop"]`, with one or more.'
            )
        self._given = None if options is None else list(options)
        self._multiple = multiple
        self._min, self._max = (min, max) if multiple else (1, 1)
        self._label, self._note = label, note

    def props(self) -> dict[str, Any]:
        """Give the rows to read and the options that are there so far."""
        return {
            "rows": row_props(self._questions()),
            "options": [{"label": option.label, "note": option.note} for option in self._options()],
            "multiple": self._multiple,
            "min": self._min,
            "max": self._max,
        }

    def answer(self, value: Any) -> Any:
        """Give the chosen option itself, or the list of them.

        Raises:
            InvalidValue: No choice, too few or too many.
        """
        chosen = [option.value for option in chosen_of(value, self._options(), at_least=self._min, at_most=self._max)]
        return chosen if self._multiple else chosen[0]

    def headline(self) -> str:
        """Give the choice, or how many were chosen."""
        options = self._options()
        chosen = self._chosen(options)
        if not chosen and self.call.answer not in ([], ()):
            return "Answered"
        return f"Chose {len(chosen)} of {len(options)}" if self._multiple else f"Chose {chosen[0].label}"

    def rows(self) -> Sequence[Row]:
        """Give what was asked, every option with whether it was chosen, and an answer that is none of them."""
        options, decided = self._options(), self.call.approved
        chosen = self._chosen(options)
        rows = [
            Row(text=_line(option), mark=("on" if option in chosen else "off") if decided else "") for option in options
        ]
        other = [answer_row(self.call)] if decided and not chosen and self.call.answer not in ([], (), None) else []
        return [*self._questions(), *rows, *other]

    def _chosen(self, options: Sequence[Described]) -> list[Described]:
        answer = self.call.answer
        answers = answer if self._multiple and isinstance(answer, list) else [answer]
        return [option for option in options if any(is_option(option, each) for each in answers)]

    def _questions(self) -> list[Row]:
        return argument_rows(self.call, without=() if self._given is not None else (self._field() or "",))

    def _options(self) -> list[Described]:
        values: Any = self._given
        if values is None:
            field = self._field()
            values = value_of(self.call.args, field) if field is not None else []
        return [described(value, label=self._label, note=self._note) for value in values]

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


def _line(option: Described) -> str:
    return f"{option.label} ({option.note})" if option.note else option.label
