"""A table of pandas, of pyarrow by way of pandas' Arrow types, or of polars: each as its library has it, and stays so.

pandas keeps dtypes, index and names; a table of polars never changes, and polars' own way to set a cell writes null
where a value does not fit.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from hitl_nb._library import library
from hitl_nb.data._cells import Cell, Kind, cell_of, null_of, typed
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

# -- pandas and pyarrow -----------------------------------------------------------------------------------------------


class PandasFrame:
    """A `pandas.DataFrame`, of pandas 2 or 3."""

    def __init__(self, frame: Any) -> None:
        self._pandas = library("pandas", extra="data", what="This table")
        self._numpy = numpy()
        # pandas 3 copies when somebody writes, pandas 2 has to be copied.
        lazy = int(self._pandas.__version__.partition(".")[0]) >= 3
        self.shown: object = frame.copy(deep=not lazy)
        self._frame: Any = self.shown
        self._arrays = [self._frame.iloc[:, place].array for place in range(self._frame.shape[1])]
        self.rows = len(self._frame)
        self.columns = tuple(self._column(place) for place in range(len(self._arrays)))

    def _column(self, place: int) -> Column:
        dtype, label = self._arrays[place].dtype, self._frame.columns[place]
        kind = self._kind(place)
        choices = tuple(map(_choice, dtype.categories)) if kind == "category" else ()
        name = " / ".join(map(str, label)) if isinstance(label, tuple) else str(label)
        return Column(place=place, label=label, name=name, dtype=str(dtype), kind=kind, choices=choices)

    def _kind(self, place: int) -> Kind:
        array, types = self._arrays[place], self._pandas.api.types
        dtype = array.dtype
        if isinstance(dtype, self._pandas.CategoricalDtype):
            return "category"
        if _holds_objects(dtype):
            inferred = types.infer_dtype(array[:_SAMPLE].to_numpy(), skipna=True)
            return _INFERRED.get(inferred, "other")
        tests: tuple[tuple[Kind, Callable[[Any], bool]], ...] = (
            ("bool", types.is_bool_dtype),
            ("int", types.is_integer_dtype),
            ("float", types.is_float_dtype),
            ("datetime", types.is_datetime64_any_dtype),
            ("duration", types.is_timedelta64_dtype),
            ("text", types.is_string_dtype),
        )
        if isinstance(dtype, self._pandas.ArrowDtype):
            return _ARROW.get(str(dtype.pyarrow_dtype).partition("[")[0].partition("(")[0], "other")
        if types.is_complex_dtype(dtype) or isinstance(dtype, self._pandas.SparseDtype):
            return "other"
        return next((kind for kind, test in tests if test(dtype)), "other")

    def labels(self, rows: Rows) -> list[str] | None:
        """Return the labels of rows to read; None where rows have none but their number."""
        return None if self._is_numbered else [_label(each) for each in self._frame.index.take(rows)]

    def label(self, row: int) -> object:
        """Return the label of a row as the library has it; None where rows have none but their number."""
        return None if self._is_numbered else self._frame.index[row]

    @property
    def _is_numbered(self) -> bool:
        index = self._frame.index
        return bool(
            isinstance(index, self._pandas.RangeIndex) and (index.start, index.step, index.name) == (0, 1, None)
        )

    def values(self, place: int, rows: Rows) -> list[object]:
        """Return cells of a column."""
        return list(self._arrays[place].take(rows))

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        """Return cells of a column as they are shown."""
        return [cell_of(value) for value in self.values(place, rows)]

    def cell(self, place: int, value: object) -> Cell:
        """Return a value of a column as it is shown."""
        return cell_of(value)

    def read(self, place: int, text: str) -> object:
        """Return what was typed for a column, as the column would have it.

        Raises:
            InvalidValue: It cannot be read, or the column cannot hold exactly this.
        """
        column = self.columns[place]
        return self.stored(place, self._typed(column, text))

    def _typed(self, column: Column, text: str) -> object:
        if column.kind == "category":
            if text not in column.choices:
                raise refused(column, text, "it is none of its categories")
            return self._arrays[column.place].dtype.categories[column.choices.index(text)]
        if column.kind in ("datetime", "duration") and not _holds_objects(self._arrays[column.place].dtype):
            return self._moment(column, text)
        return typed(column.kind, text)

    def _moment(self, column: Column, text: str) -> object:
        make = self._pandas.Timestamp if column.kind == "datetime" else self._pandas.Timedelta
        try:
            value = make(text.strip())
            zone = getattr(self._arrays[column.place].dtype, "tz", None)
            if column.kind == "datetime" and zone is not None:
                return value.tz_localize(zone) if value.tzinfo is None else value.tz_convert(zone)
        except Exception as error:  # pandas raises what it likes: hours that a clock change leaves out, say
            raise InvalidValue(f"`{text[:80]}` cannot be read for `{column.name}`: {error}") from error
        if value is self._pandas.NaT:
            raise InvalidValue(f"`{text[:80]}` is no value; the Delete key makes a cell missing.")
        return value

    def stored(self, place: int, value: object) -> object:
        """Return a value as the column would have it; None is nothing.

        Raises:
            InvalidValue: The column cannot hold exactly this.
        """
        return self._taken(place, [value])[0]

    def _taken(self, place: int, values: Sequence[object]) -> Any:
        """Return values as an array of the column's type, all at once."""
        column = self.columns[place]
        try:
            new = self._array(place, values)
        except Exception as error:  # ValueError, TypeError, OverflowError, ArrowInvalid, …
            raise refused(column, values[0] if len(values) == 1 else values) from error
        if not _holds_objects(self._arrays[place].dtype):
            for given, stored in zip(values, new, strict=True):
                if not same(given, stored):
                    raise refused(column, given)
        return new

    def _array(self, place: int, values: Sequence[object]) -> Any:
        dtype = self._arrays[place].dtype
        if not _holds_objects(dtype):
            return self._pandas.array(list(values), dtype=dtype)
        new = self._numpy.empty(len(values), dtype=object)
        new[:] = values
        return new

    def _now(self, place: int, edits: Edits) -> Any:
        """Return the column as it was edited; each value has been checked when it was `stored`."""
        array = self._arrays[place]
        if place not in edits:
            return array
        rows, values = edits[place]
        edited = array.copy()
        edited[self._numpy.asarray(rows)] = self._array(place, values)
        return edited

    def mask(self, place: int, operator: Operator, text: str, edits: Edits) -> Rows:
        """Return for each row whether it meets a condition.

        Raises:
            InvalidValue: The condition means nothing for this column.
        """
        column = self.columns[place]
        check_operator(column, operator)
        array = self._now(place, edits)
        if operator in ("missing", "present"):
            missing = self._numpy.asarray(self._pandas.isna(array))
            return rows_of(missing if operator == "missing" else ~missing)
        if column.kind == "category":
            return self._mask_of_categories(array, column, operator, text)
        series = self._pandas.Series(array)
        if operator in ("contains", "starts"):
            return self._mask_of_texts(series, column, operator, text)
        try:
            found = COMPARE[operator](series, self._typed(column, text))
        except TypeError as error:
            raise meaningless(column, operator) from error
        missing = self._pandas.isna(array)
        return rows_of(self._numpy.asarray(found.fillna(False), dtype=bool) & ~self._numpy.asarray(missing))

    def _mask_of_texts(self, series: Any, column: Column, operator: str, text: str) -> Rows:
        if column.kind == "text":
            found = series.str.contains(text, regex=False) if operator == "contains" else series.str.startswith(text)
            return rows_of(found.fillna(False).astype(bool))
        return rows_of(self._numpy.fromiter(map(has(operator, text), series), dtype=bool, count=len(series)))

    def _mask_of_categories(self, array: Any, column: Column, operator: str, text: str) -> Rows:
        tests: dict[str, Callable[[str], bool]] = {
            "=": lambda choice: choice == text,
            "!=": lambda choice: choice != text,
            "contains": lambda choice: text in choice,
            "starts": lambda choice: choice.startswith(text),
        }
        # One more for code -1, which is nothing.
        wanted = self._numpy.array([*map(tests[operator], column.choices), False])
        return rows_of(wanted[array.codes])

    def order(self, place: int, descending: bool, edits: Edits) -> Rows:
        """Return the positions of the rows sorted by a column, stable, nothing last.

        Raises:
            InvalidValue: The values have no order.
        """
        array = self._now(place, edits)
        try:
            return rows_of(array.argsort(ascending=not descending, kind="stable", na_position="last"))
        except TypeError as error:
            raise InvalidValue(f"The values of `{self.columns[place].name}` have no order.") from error

    def numbers(self, place: int, edits: Edits) -> Rows | None:
        """Return the column as floats, for a histogram; None where it is no number."""
        if self.columns[place].kind not in ("int", "float") or _holds_objects(self._arrays[place].dtype):
            return None
        array = self._now(place, edits)
        return rows_of(self._pandas.Series(array).to_numpy(dtype="float64", na_value=float("nan")))

    def built(self, keep: Rows | None, edits: Edits) -> object:
        """Return the table with these cells and rows: same type, index, dtypes, names, order."""
        result = self._frame.copy(deep=False)
        for place in edits:
            array = self._now(place, edits)
            result.isetitem(place, self._pandas.Series(array, index=result.index, dtype=array.dtype, copy=False))
        return result if keep is None else result.iloc[self._numpy.flatnonzero(keep)]


def _holds_objects(dtype: object) -> bool:
    """Whether a column is of Python's objects: pandas' own types have this kind, too, and are none."""
    return str(dtype) == "object"


_SAMPLE: Final = 2_000
_INFERRED: Final[Mapping[str, Kind]] = {
    "string": "text",
    "integer": "int",
    "floating": "float",
    "boolean": "bool",
    "decimal": "decimal",
    "date": "date",
    "time": "time",
}
_ARROW: Final[Mapping[str, Kind]] = {
    **{f"{sign}int{bits}": "int" for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **dict.fromkeys(("float", "double", "halffloat"), "float"),
    **dict.fromkeys(("string", "large_string", "string_view"), "text"),
    **dict.fromkeys(("decimal128", "decimal256"), "decimal"),
    **dict.fromkeys(("date32", "date64"), "date"),
    **dict.fromkeys(("time32", "time64"), "time"),
    "bool": "bool",
    "timestamp": "datetime",
    "duration": "duration",
}


def _label(label: object) -> str:
    if isinstance(label, tuple):
        return " / ".join(map(_label, label))
    cell = cell_of(label)
    return cell if isinstance(cell, str) else cell[1]


def _choice(category: object) -> str:
    cell = cell_of(category)
    return cell if isinstance(cell, str) else cell[1]


# -- pyarrow -----------------------------------------------------------------------------------------------------


class ArrowFrame(PandasFrame):
    """A `pyarrow.Table`: looked at through pandas' Arrow types, which keep its values; built by pyarrow itself."""

    def __init__(self, table: Any) -> None:
        pandas = library("pandas", extra="data", what="This table")
        self._table = table
        super().__init__(table.to_pandas(types_mapper=pandas.ArrowDtype, ignore_metadata=True))
        self.shown = table

    def built(self, keep: Rows | None, edits: Edits) -> object:
        """Return the table with these cells and rows: same type, index, dtypes, names, order."""
        arrow = library("pyarrow", extra="data", what="This table")
        table = self._table
        for place, (rows, values) in edits.items():
            field = self._table.schema.field(place)
            new = arrow.array([None if null_of(value) else value for value in values], type=field.type)
            index = self._numpy.arange(self.rows)
            index[self._numpy.asarray(rows)] = self.rows + self._numpy.arange(len(rows))
            column = arrow.chunked_array([*self._table.column(place).chunks, new], type=field.type)
            table = table.set_column(place, field, column.take(arrow.array(index)))
        return table if keep is None else table.filter(arrow.array(self._numpy.asarray(keep, dtype=bool)))


# -- polars ----------------------------------------------------------------------------------------------------------


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
        """Return the labels of rows to read; None where rows have none but their number."""
        return None

    def label(self, row: int) -> object:
        """Return the label of a row as the library has it; None where rows have none but their number."""
        return None

    def values(self, place: int, rows: Rows) -> list[object]:
        """Return cells of a column."""
        return list(self._series[place].gather(self._numpy.asarray(rows, dtype="int64")).to_list())

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        """Return cells of a column as they are shown."""
        return self._shown(place, self._series[place].gather(self._numpy.asarray(rows, dtype="int64")))

    def cell(self, place: int, value: object) -> Cell:
        """Return a value of a column as it is shown."""
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
        """Return what was typed for a column, as the column would have it.

        Raises:
            InvalidValue: It cannot be read, or the column cannot hold exactly this.
        """
        column = self.columns[place]
        if column.kind == "category" and text not in column.choices:
            raise refused(column, text, "it is none of its categories")
        value = typed(column.kind, text)
        zone = getattr(self._series[place].dtype, "time_zone", None)
        if zone is not None and isinstance(value, datetime):
            value = _in_zone(value, zone, column)
        return self.stored(place, value)

    def stored(self, place: int, value: object) -> object:
        """Return a value as the column would have it; None is nothing.

        Raises:
            InvalidValue: The column cannot hold exactly this.
        """
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
        """Return for each row whether it meets a condition.

        Raises:
            InvalidValue: The condition means nothing for this column.
        """
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
        """Return the positions of the rows sorted by a column, stable, nothing last.

        Raises:
            InvalidValue: The values have no order.
        """
        series = self._now(place, edits)
        try:
            by = self._polars.arg_sort_by("by", descending=descending, nulls_last=True, maintain_order=True)
            order = series.alias("by").to_frame().select(by)
            return rows_of(order.to_series().to_numpy(), "int64")
        except Exception as error:  # polars' own errors are of many kinds
            raise InvalidValue(f"The values of `{self.columns[place].name}` have no order.") from error

    def numbers(self, place: int, edits: Edits) -> Rows | None:
        """Return the column as floats, for a histogram; None where it is no number."""
        if self.columns[place].kind not in ("int", "float"):
            return None
        series = self._now(place, edits).cast(self._polars.Float64).fill_null(float("nan"))
        return rows_of(series.to_numpy())

    def built(self, keep: Rows | None, edits: Edits) -> object:
        """Return the table with these cells and rows: same type, index, dtypes, names, order."""
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
