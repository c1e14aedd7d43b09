"""What a question is made of: the options that all have in common, and types of answers that nobody wrote down.

Such an answer is one of some options, or more of the same kind as a value.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from operator import is_
from typing import Annotated, Any, Final, Generic, Never, NotRequired

from pydantic import ConfigDict, WrapValidator
from typing_extensions import TypedDict, TypeVar

from hitl_nb._calls import AnswerType, Kind, equal, grace_of, print_of
from hitl_nb._schema import JsonSchemaValidator, PydanticValidator, readable
from hitl_nb._tools import Renderer
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError
from hitl_nb.people import Person

D = TypeVar("D", default=Never)  # what stands in for an answer that nobody gave: nothing

People = Person | Sequence[Person] | None
"""Who is asked: somebody, several in a row, or, for None, those that are asked here anyway."""


class _Raise:
    def __repr__(self) -> str:
        return "<raise Expired>"


RAISE: Final = _Raise()
"""The default of ``if_expired=``: no value."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is asked: what `interrupt`, `approve`, `ask`, `choose`, `review` and a gate have in common.

    Raises:
        UsageError: They contradict each other.
    """

    name: str
    """A word for the kind of checkpoint; it becomes ``call.name``."""

    title: str = ""
    """What stands above the question."""

    kind: Kind = "interrupt"
    """What the journal calls it."""

    render: Renderer | None = None
    """What draws it."""

    timeout: float | None = None
    """Seconds until nobody is waited for any longer."""

    if_expired: object = RAISE
    """The answer when time is up and nobody has answered."""

    escalate_to: Person | None = None
    """Who is asked when time is up."""

    key: str | None = None
    """The name under which the decision sticks."""

    refresh: bool = False
    """Whether it is asked although it sticks."""

    people: People = None
    """Who is asked."""

    undo: float = 0
    """Seconds in which the answer of a card can be taken back."""

    gated: bool = False
    """Whether a function runs with the answer."""

    def __post_init__(self) -> None:
        grace_of(self.undo)
        if self.escalate_to is not None and not callable(self.escalate_to):
            raise UsageError(
                f"`escalate_to` is `{self.escalate_to!r}`, which cannot be asked. For a value that stands in for the "
                "answer write `if_expired=`, for a person `timeout=60, escalate_to=NotebookPerson()`."
            )
        if self.escalate_to is not None and self.timeout is None:
            raise UsageError(
                "`escalate_to` is asked when time is up, and there is no `timeout`. "
                "Write `timeout=60, escalate_to=person`."
            )
        if self.escalate_to is not None and self.if_expired is not RAISE:
            raise UsageError(
                "With `escalate_to` the question does not expire when `timeout` is over, so `if_expired` would never "
                "count. Leave one out, or give both their time: "
                "`people=Escalate(first, after=60, to=boss), timeout=120, if_expired=None`."
            )
        if callable(self.if_expired) and not isinstance(self.if_expired, type):
            raise UsageError(
                f"`if_expired` is a value, and `{self.if_expired!r}` can be asked. Write `escalate_to=`, which asks it "
                "when time is up."
            )


class Asked(TypedDict, Generic[D], total=False):
    """The same as options of a function, for a type checker: each stands in the function's own signature, too."""

    name: str
    title: str
    render: Renderer | None
    timeout: float | None
    if_expired: D
    escalate_to: Person | None
    key: str | None
    refresh: bool
    people: People
    kind: Kind


class Undoable(Asked[D], total=False):
    """Those of a question whose answer can be taken back for a moment."""

    undo: float


# -- types of answers that nobody wrote down --------------------------------------------------------------------------


class OneOf:
    """An answer that is one of these objects; the object itself is what comes back."""

    def __init__(self, options: Sequence[object]) -> None:
        self.options = list(options)

    @property
    def schema(self) -> dict[str, object]:
        """What there is to choose from: with other options it is another question."""
        return {"enum": [readable(option) for option in self.options]}

    def validate(self, value: object) -> object:
        """Return the option that `value` is, or equals, or is the JSON form of (an answer that was stored).

        Raises:
            InvalidValue: It is none of them, or may be several.
        """
        for same in (is_, _is_the_same, _is_written, equal):
            found = [option for option in self.options if same(option, value)]
            if found and all(each is found[0] or _is_the_same(each, found[0]) for each in found):
                return found[0]
            if found:
                raise InvalidValue(
                    f"The answer, a `{type(value).__name__}`, may be any of {len(found)} of the options. Write "
                    "`call.respond(options[0])`, with the option itself."
                )
        raise InvalidValue(f"The answer, a `{type(value).__name__}`, is none of the {len(self.options)} options.")


class SomeOf(OneOf):
    """A list of such answers."""

    def validate(self, value: object) -> list[object]:
        """Return the options that the items of `value` are.

        Raises:
            InvalidValue: It is no list, or an item is none of them.
        """
        if not isinstance(value, list | tuple):
            raise InvalidValue(f"The answer is a `{type(value).__name__}`, not a list of options.")
        return [super(SomeOf, self).validate(item) for item in value]


def _is_the_same(option: object, value: object) -> bool:
    """Whether they are equal to the last type: ``{"a": 1}`` and ``{"a": True}`` are not."""
    return equal(option, value) and print_of(option).digest == print_of(value).digest


def _is_written(option: object, value: object) -> bool:
    written = readable(option)
    return type(written) is type(value) and json.dumps(written) == json.dumps(value)


def type_like(value: object) -> AnswerType:
    """Return the type of the values of the same kind as `value`: what it may be edited to.

    Raises:
        UsageError: It cannot be told from the value; the entry that does not fit is named.
    """
    if _is_json(value):
        return JsonSchemaValidator(_schema_of([value]))
    try:
        return PydanticValidator(_like([value], "the value"))
    except ToolDefinitionError as error:
        raise UsageError(
            f"`review` cannot tell what a `{type(value).__name__}` may be edited to: {error} Write its type, e.g. "
            '`review(rows, answer=list[Row])`; a DataFrame as `df.to_dict("records")`.'
        ) from error


def _like(values: Sequence[object], place: str) -> Any:
    """Give a type that takes all these values and gives each back as it is: a date stays one, a Timestamp, too."""
    real = [value for value in values if value is not None]
    kinds = {type(value) for value in real}
    if not real:
        return Any
    found = _like_kinds(real, kinds, place)
    return found if len(real) == len(values) else found | None


def _like_kinds(values: Sequence[Any], kinds: set[type], place: str) -> Any:
    if kinds == {dict}:
        return _like_records(values, place)
    if kinds == {list}:
        return list[_like([item for value in values for item in value], f"{place}[…]")]  # type: ignore[misc]
    if kinds == {set} or kinds == {frozenset}:
        (kind,) = kinds
        return kind[_like([item for value in values for item in value], f"{place}[…]")]  # type: ignore[index]
    if kinds == {tuple} and len({len(value) for value in values}) == 1:
        return tuple[tuple(_like(part, f"{place}[{at}]") for at, part in enumerate(zip(*values, strict=True)))]  # type: ignore[misc]
    if kinds == {int, float}:
        return Annotated[float, _as_it_is(float, kinds)]
    if len(kinds) > 1:
        for value in values:
            _like([value], place)  # each has to be something
        return Any
    (kind,) = kinds
    return _like_one(kind, values[0], place)


def _like_one(kind: type, value: Any, place: str) -> Any:
    if kind in _KNOWN or issubclass(kind, Enum):
        return kind
    base = next((base for base in _BASES if issubclass(kind, base)), None)
    if base is None and hasattr(kind, "dtype") and getattr(value, "shape", None) == ():
        base = type(value.item())  # a number of numpy's
    if base in _BASES:
        return Annotated[base, _as_it_is(kind, {kind})]
    try:
        PydanticValidator(kind)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"{place} is a `{kind.__name__}`, which is no data.") from error
    return kind


def _like_records(values: Sequence[Mapping[Any, Any]], place: str) -> Any:
    names = list(dict.fromkeys(name for value in values for name in value))
    if not all(type(name) is str for name in names) or not names:
        parts = [part for value in values for part in value.values()]
        return dict[_like(names, f"a key of {place}"), _like(parts, f"{place}[…]")]  # type: ignore[misc]
    fields = {}
    for name in names:
        parts = [value[name] for value in values if name in value]
        inside = _like(parts, f"`{name}`" if place == "the value" else f"{place}.{name}")
        fields[name] = inside if len(parts) == len(values) else NotRequired[inside]
    record = TypedDict("Record", fields)  # type: ignore[misc]
    made: Any = record
    made.__pydantic_config__ = ConfigDict(extra="forbid")
    return made


def _as_it_is(kind: Callable[[Any], Any], kinds: Collection[type]) -> WrapValidator:
    """A value of these kinds is not touched; another becomes one once it is checked."""

    def keep(value: object, check: Callable[[Any], Any]) -> Any:
        return value if type(value) in kinds else kind(check(value))

    return WrapValidator(keep)


_BASES: Final = (bool, int, float, str, datetime, date, time, timedelta, Decimal)
_KNOWN: Final = frozenset(_BASES)


_SCALARS: Final = {bool: "boolean", int: "integer", float: "number", str: "string"}


def _is_json(value: object) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_json(part) for key, part in value.items())
    if type(value) is list:
        return all(map(_is_json, value))
    return value is None or type(value) in _SCALARS


def _schema_of(values: Sequence[object], *, rows: bool = False) -> dict[str, Any]:
    """A schema that all values fit, as narrow as a person would expect: numbers stay numbers, rows keep columns."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        kinds = {float}
    if len(kinds) != 1:
        return {}
    (kind,) = kinds
    real = [value for value in values if value is not None]
    schema = _schema_of_kind(kind, real, rows)
    return {**schema, "type": [schema["type"], "null"]} if len(real) < len(values) else schema


def _schema_of_kind(kind: Any, values: list[Any], rows: bool) -> dict[str, Any]:
    if kind is list:
        return {"type": "array", "items": _schema_of([item for value in values for item in value], rows=True)}
    if kind is not dict:
        long = kind is str and any("\n" in value or len(value) > _LINE for value in values)
        return {"type": _SCALARS[kind], **({"format": "textarea"} if long else {})}
    names = dict.fromkeys(name for value in values for name in value)
    parts = {name: [value[name] for value in values if name in value] for name in names}
    return {
        "type": "object",
        "properties": {name: _schema_of(part) for name, part in parts.items()},
        "required": [name for name, part in parts.items() if len(part) == len(values)],
        "additionalProperties": not rows or not names,
    }


_LINE: Final = 80
"""Characters that fit into a box of one line."""
