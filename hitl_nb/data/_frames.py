"""One way to look at a table of pandas, polars, pyarrow or records, and to build the edited one: by position.

Dtypes are kept. Two adapters of our own and no neutral layer between: the ones that exist refuse doubled names, take
NaN for null, or write null where a value does not fit, without a word.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

from pydantic import BaseModel

from hitl_nb._calls import frozen
from hitl_nb._library import library
from hitl_nb.data._cells import Cell, Kind, cell_of, null_of, text_of, typed
from hitl_nb.errors import InvalidValue

Rows: TypeAlias = Any
"""An array of numpy: positions of rows, or a yes or no for each."""

Edits = Mapping[int, tuple[Sequence[int], Sequence[object]]]
"""By the place of a column: the positions of the edited rows, and their values."""

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "contains", "starts", "missing", "present"]

ORDERED: Final = frozenset(("int", "float", "decimal", "datetime", "date", "time", "duration"))
"""Kinds for which less and more mean something."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What is known of a column before its cells are looked at."""

    place: int
    """Where it stands, from 0; two columns may have one name."""

    label: object
    """Its name, as the library has it."""

    name: str
    """Its name as a text."""

    dtype: str
    """Its type, in the library's words."""

    kind: Kind
    """What its cells are."""

    choices: tuple[str, ...] = ()
    """What a cell can be, where that is a closed list."""


@dataclass(frozen=True)
class Typed:
    """What was typed for a cell elsewhere, where its column is not."""

    text: str | None
    """To its last character; None: the cell is to be missing."""

    value: object
    """What it most likely is, to look at and to sort by; None where only the column can read it."""


class Frame(Protocol):
    """A snapshot of a table."""

    columns: tuple[Column, ...]
    rows: int
    shown: object
    """The snapshot itself."""

    def labels(self, rows: Rows) -> list[str] | None:
        """Return the labels of rows to read; None where rows have none but their number."""
        ...

    def label(self, row: int) -> object:
        """Return the label of a row as the library has it; None where rows have none but their number."""
        ...

    def values(self, place: int, rows: Rows) -> list[object]:
        """Return cells of a column."""
        ...

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        """Return cells of a column as they are shown."""
        ...

    def cell(self, place: int, value: object) -> Cell:
        """Return a value of a column as it is shown."""
        ...

    def stored(self, place: int, value: object) -> object:
        """Return a value as the column would have it; None is nothing.

        Raises:
            InvalidValue: The column cannot hold exactly this.
        """
        ...

    def read(self, place: int, text: str) -> object:
        """Return what was typed for a column, as the column would have it.

        Raises:
            InvalidValue: It cannot be read, or the column cannot hold exactly this.
        """
        ...

    def mask(self, place: int, operator: Operator, text: str, edits: Edits) -> Rows:
        """Return for each row whether it meets a condition.

        Raises:
            InvalidValue: The condition means nothing for this column.
        """
        ...

    def order(self, place: int, descending: bool, edits: Edits) -> Rows:
        """Return the positions of the rows sorted by a column, stable, nothing last.

        Raises:
            InvalidValue: The values have no order.
        """
        ...

    def numbers(self, place: int, edits: Edits) -> Rows | None:
        """Return the column as floats, for a histogram; None where it is no number."""
        ...

    def built(self, keep: Rows | None, edits: Edits) -> object:
        """Return the table with these cells and rows: same type, index, dtypes, names, order."""
        ...


def numpy() -> Any:
    """Return numpy, in which masks and orders are."""
    return library("numpy", extra="data", what="A review of a table")


def rows_of(found: object, dtype: str | None = None) -> Rows:
    """Return what is found as an array of numpy."""
    return cast("Rows", numpy().asarray(found, dtype=dtype))


def refused(column: Column, value: object, why: str = "") -> InvalidValue:
    """Return the error that says why a column cannot hold a value."""
    because = f": {why}" if why else ""
    return InvalidValue(
        f"`{column.name}` ({column.dtype}) cannot hold {text_of(value)} exactly{because}. "
        f"Leave the cell, or convert the column first, e.g. `df.astype(...)`."
    )


def _is_bool(value: object) -> bool:
    return type(value).__name__ in ("bool", "bool_")


def same(given: object, stored: object) -> bool:
    """Whether a column has kept exactly what it was given: 1 is not True, and nothing is not a number."""
    if null_of(given) or null_of(stored):
        return bool(null_of(given)) and bool(null_of(stored))
    if _is_bool(given) != _is_bool(stored):
        return False
    if isinstance(given, str) != isinstance(stored, str):
        return False
    try:
        if isinstance(given, datetime) and type(stored) is datetime and given.tzinfo and stored.tzinfo:
            return given.astimezone(UTC) == stored.astimezone(UTC)  # Python's own `==` is False where a clock repeats
        if isinstance(given, float) and type(stored).__name__ in ("float16", "float32"):
            return bool(given == float(stored)) or str(given) == str(stored)  # type: ignore[arg-type]
        return bool(given == stored)
    except (TypeError, ValueError):
        return False


COMPARE: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": lambda column, value: column == value,
    "!=": lambda column, value: column != value,
    "<": lambda column, value: column < value,
    "<=": lambda column, value: column <= value,
    ">": lambda column, value: column > value,
    ">=": lambda column, value: column >= value,
}


def meaningless(column: Column, operator: str) -> InvalidValue:
    """Return the error that says that a condition means nothing for a column."""
    return InvalidValue(f"`{operator}` means nothing for `{column.name}` ({column.dtype}).")


def check_operator(column: Column, operator: Operator) -> None:
    """Check that an operator means something for a column.

    Raises:
        InvalidValue: It does not.
    """
    if operator in ("missing", "present"):
        return
    if operator in ("<", "<=", ">", ">=") and column.kind not in ORDERED:
        raise meaningless(column, operator)
    if operator in ("=", "!=") and column.kind == "other":
        raise meaningless(column, operator)
    if operator in ("contains", "starts") and column.kind not in ("text", "category", "other"):
        raise meaningless(column, operator)
    if operator not in (*COMPARE, "contains", "starts"):
        raise meaningless(column, str(operator))


def has(operator: str, part: str) -> Callable[[object], bool]:
    """A literal test of a cell's text; never a regular expression, which could run for ever."""

    def test(value: object) -> bool:
        text = value if isinstance(value, str) else "" if null_of(value) else text_of(value)
        return part in text if operator == "contains" else text.startswith(part)

    return test


# -- a table that a model has sent ------------------------------------------------------------------------------------

_KINDS: Final[Mapping[type, Kind]] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "text",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "duration",
}


def is_records(value: object) -> bool:
    """Whether a value is a list of records: dicts with names for keys, or models."""
    if not isinstance(value, list) or not value:
        return False
    return all(
        isinstance(item, BaseModel) or (type(item) is dict and all(type(key) is str for key in item)) for item in value
    )


def _field(item: object, name: str) -> object:
    return item.get(name) if isinstance(item, dict) else getattr(item, name, None)


def _fields(item: Any) -> list[str]:
    return list(item) if isinstance(item, dict) else list(type(item).model_fields)


class RecordsFrame:
    """A list of dicts or models."""

    def __init__(self, items: list[Any]) -> None:
        self._numpy = numpy()
        self._items: list[Any] = list(items)
        self.shown: object = frozen(items)
        names = dict.fromkeys(name for item in items for name in _fields(item))
        self._values = {name: [_field(item, name) for item in items] for name in names}
        self.rows = len(items)
        self.columns = tuple(self._column(place, name) for place, name in enumerate(names))

    def _column(self, place: int, name: str) -> Column:
        kinds = {type(value) for value in self._values[name] if value is not None}
        kind: Kind = _KINDS.get(next(iter(kinds)), "other") if len(kinds) == 1 else "other"
        if kinds == {int, float}:
            kind = "float"
        words = " or ".join(sorted(each.__name__ for each in kinds)) or "nothing"
        return Column(place=place, label=name, name=name, dtype=words, kind=kind)

    def _of(self, place: int) -> list[object]:
        return self._values[self.columns[place].name]

    def labels(self, rows: Rows) -> list[str] | None:
        """Return the labels of rows to read; None where rows have none but their number."""
        return None

    def label(self, row: int) -> object:
        """Return the label of a row as the library has it; None where rows have none but their number."""
        return None

    def values(self, place: int, rows: Rows) -> list[object]:
        """Return cells of a column."""
        column = self._of(place)
        return [column[row] for row in rows.tolist()]

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        """Return cells of a column as they are shown."""
        return [cell_of(value) for value in self.values(place, rows)]

    def cell(self, place: int, value: object) -> Cell:
        """Return a value of a column as it is shown."""
        return cell_of(value)

    def stored(self, place: int, value: object) -> object:
        """Return a value as the column would have it; None is nothing.

        Raises:
            InvalidValue: The column cannot hold exactly this.
        """
        column = self.columns[place]
        if value is None:
            if None in self._of(place):
                return None
            raise refused(column, value)
        kind = _KINDS.get(type(value), "other")
        if column.kind not in ("other", kind) and (column.kind, kind) != ("float", "int"):
            raise refused(column, value)
        return value

    def read(self, place: int, text: str) -> object:
        """Return what was typed for a column, as the column would have it.

        Raises:
            InvalidValue: It cannot be read, or the column cannot hold exactly this.
        """
        return self.stored(place, typed(self.columns[place].kind, text))

    def _now(self, place: int, edits: Edits) -> list[object]:
        found = list(self._of(place))
        for row, value in zip(*edits.get(place, ((), ())), strict=True):
            found[row] = value
        return found

    def mask(self, place: int, operator: Operator, text: str, edits: Edits) -> Rows:
        """Return for each row whether it meets a condition.

        Raises:
            InvalidValue: The condition means nothing for this column.
        """
        column = self.columns[place]
        check_operator(column, operator)
        return self._tested(self._now(place, edits), self._test(column, operator, text))

    def _test(self, column: Column, operator: Operator, text: str) -> Callable[[object], bool]:
        if operator in ("missing", "present"):
            return lambda value: bool(null_of(value)) == (operator == "missing")
        if operator in ("contains", "starts"):
            return has(operator, text)
        wanted = typed(column.kind, text)

        def test(value: object) -> bool:
            try:
                return not null_of(value) and bool(COMPARE[operator](value, wanted))
            except TypeError as error:
                raise meaningless(column, operator) from error

        return test

    def _tested(self, values: Sequence[object], test: Callable[[object], bool]) -> Rows:
        return rows_of([test(value) for value in values], "bool")

    def order(self, place: int, descending: bool, edits: Edits) -> Rows:
        """Return the positions of the rows sorted by a column, stable, nothing last.

        Raises:
            InvalidValue: The values have no order.
        """
        values: list[Any] = self._now(place, edits)
        there = [row for row, value in enumerate(values) if not null_of(value)]
        try:
            there.sort(key=lambda row: values[row])
        except TypeError as error:
            raise InvalidValue(f"The values of `{self.columns[place].name}` have no order.") from error
        if descending:
            there.reverse()
        return rows_of([*there, *(row for row, value in enumerate(values) if null_of(value))], "int64")

    def numbers(self, place: int, edits: Edits) -> Rows | None:
        """Return the column as floats, for a histogram; None where it is no number."""
        if self.columns[place].kind not in ("int", "float"):
            return None
        return rows_of([float("nan") if null_of(value) else value for value in self._now(place, edits)], "float64")

    def built(self, keep: Rows | None, edits: Edits) -> object:
        """Return the table with these cells and rows: same type, index, dtypes, names, order."""
        items = list(self._items)
        for place, (rows, values) in edits.items():
            for row, value in zip(rows, values, strict=True):
                items[row] = _with(items[row], self.columns[place].name, value)
        return items if keep is None else [item for item, stays in zip(items, keep.tolist(), strict=True) if stays]


def _with(item: Any, name: str, value: object) -> object:
    return {**item, name: value} if isinstance(item, dict) else item.model_copy(update={name: value})
