"""A table of polars: one that never changes, and whose own way to set a cell writes null where a value does not fit."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hitl_nb._library import library
from hitl_nb.data._cells import Cell, Kind, cell_of, typed
from hitl_nb.data._frames import (
    COMPARE,
    Column,
    Edits,
    Operator,
    Rows,
    check_operator,
    has,
    meaningless,
    numpy,
    refused,
    rows_of,
    same,
)
from hitl_nb.errors import InvalidValue


class PolarsFrame:
    """A `polars.DataFrame`; it never changes, so it is its own snapshot."""

    def __init__(self, frame: Any) -> None:
        self._polars = library("polars", extra="data", what="This table")
        self._numpy = numpy()
        self.shown: object = frame.clone()
        self._frame: Any = self.shown
        self._series = self._frame.get_columns()
        self.rows = self._frame.height
        self.columns = tuple(self._column(place, each) for place, each in enumerate(self._series))

    def _column(self, place: int, series: Any) -> Column:
        kind = _POLARS.get(type(series.dtype).__name__, "other")
        choices = ()
        if kind == "category":
            is_enum = type(series.dtype).__name__ == "Enum"
            choices = tuple(series.dtype.categories if is_enum else series.drop_nulls().unique(maintain_order=True))
        return Column(
            place=place, label=series.name, name=series.name, dtype=str(series.dtype), kind=kind, choices=choices
        )

    def labels(self, rows: Rows) -> list[str] | None:
        return None

    def label(self, row: int) -> object:
        return None

    def values(self, place: int, rows: Rows) -> list[object]:
        return list(self._series[place].gather(self._numpy.asarray(rows, dtype="int64")).to_list())

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        return self._shown(place, self._series[place].gather(self._numpy.asarray(rows, dtype="int64")))

    def cell(self, place: int, value: object) -> Cell:
        return self._shown(place, self._taken(place, [value]))[0]

    def _shown(self, place: int, part: Any) -> list[Cell]:
        kind = self.columns[place].kind
        exact = getattr(part.dtype, "time_unit", "us") != "ns"
        if kind not in ("datetime", "time") and (kind != "duration" or exact):
            return [cell_of(value) for value in part.to_list()]
        # As polars writes them: a nanosecond does not fit into Python's own.
        texts = part.dt.to_string("iso") if kind == "duration" else part.cast(self._polars.String)
        return [["null", "None"] if text is None else [kind, text] for text in texts]

    def read(self, place: int, text: str) -> object:
        column = self.columns[place]
        if column.kind == "category" and text not in column.choices:
            raise refused(column, text, "it is none of its categories")
        value = typed(column.kind, text)
        zone = getattr(self._series[place].dtype, "time_zone", None)
        if zone is not None and isinstance(value, datetime):
            value = _in_zone(value, zone, column)
        return self.stored(place, value)

    def stored(self, place: int, value: object) -> object:
        return self._taken(place, [value]).to_list()[0]

    def _taken(self, place: int, values: Sequence[object]) -> Any:
        column, series = self.columns[place], self._series[place]
        zone = getattr(series.dtype, "time_zone", None)
        for value in values:
            if isinstance(value, datetime) and (value.tzinfo is None) != (zone is None):
                raise refused(column, value, "a time with a zone and one without are not the same")
        if column.kind == "category" and any(each is not None and each not in column.choices for each in values):
            raise refused(column, values[0], "it is none of its categories")
        try:
            new = self._polars.Series(series.name, list(values), dtype=series.dtype, strict=True)
        except Exception as error:  # TypeError, OverflowError, InvalidOperationError, …
            raise refused(column, values[0] if len(values) == 1 else list(values)) from error
        for given, stored in zip(values, new.to_list(), strict=True):
            if not same(given, stored):
                raise refused(column, given)
        return new

    def _now(self, place: int, edits: Edits) -> Any:
        series = self._series[place]
        if place not in edits:
            return series
        rows, values = edits[place]
        new = self._polars.Series(series.name, list(values), dtype=series.dtype, strict=True)
        if self.columns[place].kind in ("int", "float"):
            return series.clone().scatter(self._numpy.asarray(rows), new)  # of one type, so that nothing is converted
        index = self._numpy.arange(self.rows)
        index[self._numpy.asarray(rows)] = self.rows + self._numpy.arange(len(rows))
        return self._polars.concat([series, new]).gather(index)

    def mask(self, place: int, operator: Operator, text: str, edits: Edits) -> Rows:
        column = self.columns[place]
        check_operator(column, operator)
        series = self._now(place, edits)
        missing = series.is_null()
        if column.kind == "float":
            missing = missing | series.is_nan().fill_null(False)
        if operator in ("missing", "present"):
            return self._as_numpy(missing if operator == "missing" else ~missing)
        if operator in ("contains", "starts"):
            return self._mask_of_texts(series, column, operator, text)
        value = self._of_text(column, text)
        try:
            found = COMPARE[operator](series, value)
        except Exception as error:  # polars' own errors are of many kinds
            raise meaningless(column, operator) from error
        return self._as_numpy(found.fill_null(False) & ~missing)

    def _of_text(self, column: Column, text: str) -> object:
        value = typed(column.kind, text)
        zone = getattr(self._series[column.place].dtype, "time_zone", None)
        return _in_zone(value, zone, column) if zone is not None and isinstance(value, datetime) else value

    def _mask_of_texts(self, series: Any, column: Column, operator: str, text: str) -> Rows:
        if column.kind == "other":
            return rows_of(
                self._numpy.fromiter(map(has(operator, text), series.to_list()), dtype=bool, count=len(series))
            )
        texts = series.cast(self._polars.String).str
        found = texts.contains(text, literal=True) if operator == "contains" else texts.starts_with(text)
        return self._as_numpy(found.fill_null(False))

    def _as_numpy(self, series: Any) -> Rows:
        return rows_of(series.to_numpy(), "bool")

    def order(self, place: int, descending: bool, edits: Edits) -> Rows:
        series = self._now(place, edits)
        try:
            by = self._polars.arg_sort_by("by", descending=descending, nulls_last=True, maintain_order=True)
            order = series.alias("by").to_frame().select(by)
            return rows_of(order.to_series().to_numpy(), "int64")
        except Exception as error:  # polars' own errors are of many kinds
            raise InvalidValue(f"The values of `{self.columns[place].name}` have no order.") from error

    def numbers(self, place: int, edits: Edits) -> Rows | None:
        if self.columns[place].kind not in ("int", "float"):
            return None
        series = self._now(place, edits).cast(self._polars.Float64).fill_null(float("nan"))
        return rows_of(series.to_numpy())

    def built(self, keep: Rows | None, edits: Edits) -> object:
        result = self._frame
        for place in edits:
            result = result.with_columns(self._now(place, edits))
        return result if keep is None else result.filter(self._polars.Series(self._numpy.asarray(keep, dtype=bool)))


_POLARS: Final[Mapping[str, Kind]] = {
    **{f"{sign}nt{bits}": "int" for sign in ("I", "UI") for bits in (8, 16, 32, 64, 128)},
    **dict.fromkeys(("Float32", "Float64"), "float"),
    **dict.fromkeys(("Categorical", "Enum"), "category"),
    "Boolean": "bool",
    "String": "text",
    "Decimal": "decimal",
    "Datetime": "datetime",
    "Date": "date",
    "Time": "time",
    "Duration": "duration",
}


def _in_zone(value: datetime, zone: str, column: Column) -> datetime:
    """Return a time in a column's zone; one without is the clock there, unless that clock shows it twice or never."""
    from zoneinfo import ZoneInfo

    if value.tzinfo is not None:
        return value.astimezone(ZoneInfo(zone))
    first, second = (value.replace(tzinfo=ZoneInfo(zone), fold=fold) for fold in (0, 1))
    if first.utcoffset() != second.utcoffset():
        raise InvalidValue(
            f"The clock of {zone} shows {value} twice or never. Write it with its offset, e.g. `+01:00`."
        )
    return first
