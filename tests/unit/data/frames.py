"""Frames of every dtype of pandas and polars, with the values that tables lose on their way."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

BERLIN = ZoneInfo("Europe/Berlin")
TEXTS = ["", "a", "b\u202ec", "x\0y", "a\nb", "<img src=x onerror=alert(1)>", '"quoted"', "Łódź", "\ufeff", " pad "]
HALVES = [*TEXTS, "\ud800", "a\udfff"]
MOMENTS = [
    pd.Timestamp("2026-10-25 00:30", tz="UTC"),
    pd.Timestamp("2026-10-25 01:30", tz="UTC"),  # the same clock in Berlin
    pd.Timestamp("2026-03-29 01:00:00.000000001", tz="UTC"),
    pd.Timestamp("1999-12-31 23:59:59.999999", tz="UTC"),
]
CLASSES = ["low", "high", "<b>", "1"]

PANDAS: dict[str, tuple[Any, list[Any]]] = {
    "int64": ("int64", [0, -1, 2**60 + 1, 2**63 - 1]),
    "int8": ("int8", [-128, 0, 127]),
    "uint64": ("uint64", [0, 2**64 - 1]),
    "Int64": ("Int64", [2**60 + 1, -5, None]),
    "UInt8": ("UInt8", [0, 255, None]),
    "float64": ("float64", [0.1, -0.0, float("inf"), float("nan"), 1e300, 5e-324]),
    "float32": ("float32", [np.float32(0.1), np.float32(1e30), float("nan")]),
    "Float64": ("Float64", [0.1, None, -2.5]),
    "bool": ("bool", [True, False]),
    "boolean": ("boolean", [True, False, None]),
    "str": ("str", [*TEXTS, None]),
    "string": ("string", [*TEXTS, None]),
    "object text": ("object", [*HALVES, None]),
    "object mixed": ("object", [None, float("nan"), pd.NaT, 2**70, 1, 1.0, True, "1", [1, 2], {"a": 1}, b"\xff"]),
    "object decimal": ("object", [Decimal("1.10"), Decimal("1E+2"), Decimal("-0"), None]),
    "category": (pd.CategoricalDtype(CLASSES), [*CLASSES, None]),
    "ordered": (pd.CategoricalDtype([3, 1, 2], ordered=True), [1, 2, 3, None]),
    "datetime": ("datetime64[ns]", [each.tz_localize(None) for each in MOMENTS] + [pd.NaT]),
    "datetime s": ("datetime64[s]", [pd.Timestamp("2026-01-01"), pd.NaT]),
    "berlin": ("datetime64[ns, Europe/Berlin]", [each.tz_convert(BERLIN) for each in MOMENTS] + [pd.NaT]),
    "timedelta": ("timedelta64[ns]", [pd.Timedelta(1), pd.Timedelta("-3 days +04:05:06.7"), pd.NaT]),
    "complex": ("complex128", [1 + 2j, complex("nan")]),
    "period": ("period[M]", [pd.Period("2026-01", "M"), pd.NaT]),
    "interval": (pd.IntervalDtype("int64", "right"), [pd.Interval(0, 1), pd.Interval(2, 5)]),
}

POLARS: dict[str, tuple[Any, list[Any]]] = {
    "i8": (pl.Int8, [-128, 127, None]),
    "i64": (pl.Int64, [2**60 + 1, 0, None]),
    "i128": (pl.Int128, [2**100, -1, None]),
    "u8": (pl.UInt8, [0, 255, None]),
    "u64": (pl.UInt64, [2**64 - 1, None]),
    "f32": (pl.Float32, [0.5, float("inf"), float("nan"), None]),
    "f64": (pl.Float64, [0.1, -0.0, float("nan"), None, 5e-324]),
    "bool": (pl.Boolean, [True, False, None]),
    "str": (pl.String, [*TEXTS, None]),
    "cat": (pl.Categorical, ["low", "high", None]),
    "enum": (pl.Enum(CLASSES), [*CLASSES, None]),
    "decimal": (pl.Decimal(10, 2), [Decimal("1.10"), Decimal("-0.01"), None]),
    "us": (pl.Datetime("us"), [datetime(2026, 10, 25, 2, 30), datetime(1, 1, 1), None]),
    "berlin": (
        pl.Datetime("us", "Europe/Berlin"),
        [each.to_pydatetime().astimezone(UTC) for each in MOMENTS[:2]] + [None],
    ),
    "date": (pl.Date, [date(2026, 2, 28), date(1, 1, 1), None]),
    "time": (pl.Time, [time(0, 0), time(23, 59, 59, 999999), None]),
    "duration": (pl.Duration("us"), [timedelta(microseconds=1), timedelta(days=-3, hours=5), None]),
    "list": (pl.List(pl.Int64), [[1, None], [], None]),
    "struct": (pl.Struct({"a": pl.Int64}), [{"a": 1}, {"a": None}]),
    "binary": (pl.Binary, [b"\xff\x00", b"", None]),
}

NAMES = ["income", "income", "a\u202eb", "<img src=x onerror=alert(1)>", "", "Łódź"]
LABELS = [0, 1, "1", "k", "k", 2.5, ("a", 1)]


@st.composite
def pandas_frames(draw, least=0):
    """A frame of up to four columns and five rows, its names and labels possibly doubled, multi-level or named."""
    kinds = draw(st.lists(st.sampled_from(sorted(PANDAS)), min_size=1, max_size=4))
    rows = draw(st.integers(least, 5))
    columns = [_series(draw, kind, rows) for kind in kinds]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    names = draw(st.lists(st.sampled_from(NAMES), min_size=len(kinds), max_size=len(kinds)))
    frame.columns = pd.Index(names, name=draw(st.sampled_from([None, "axis"])))
    if draw(st.booleans()):
        frame.columns = pd.MultiIndex.from_tuples([("top", name) for name in names])
    frame.index = draw(_indexes(rows))
    frame.attrs["source"] = "a test"
    return frame


def _series(draw, kind, rows):
    dtype, values = PANDAS[kind]
    chosen = draw(st.lists(st.sampled_from(range(len(values))), min_size=rows, max_size=rows))
    if dtype == "object":
        array = np.empty(rows, dtype=object)
        for place, at in enumerate(chosen):
            array[place] = values[at]
        return pd.Series(array, dtype=object)
    return pd.Series(pd.array([values[at] for at in chosen], dtype=dtype))


def _indexes(rows):
    labels = st.lists(st.sampled_from(LABELS[:6]), min_size=rows, max_size=rows)
    return st.one_of(
        st.just(pd.RangeIndex(rows)),
        st.just(pd.RangeIndex(3, 3 + 2 * rows, 2, name="id")),
        labels.map(lambda each: pd.Index(each, dtype=object, name="key")),
        st.just(pd.MultiIndex.from_product([["a"], range(rows)], names=["x", None])),
        st.just(pd.date_range("2026-10-24", periods=rows, freq="h", tz="Europe/Berlin")),
    )


@st.composite
def polars_frames(draw, least=0):
    """The same of polars."""
    kinds = draw(st.lists(st.sampled_from(sorted(POLARS)), min_size=1, max_size=4, unique=True))
    rows = draw(st.integers(least, 5))
    columns = []
    for kind in kinds:
        dtype, values = POLARS[kind]
        chosen = draw(st.lists(st.sampled_from(range(len(values))), min_size=rows, max_size=rows))
        columns.append(pl.Series(kind, [values[at] for at in chosen], dtype=dtype))
    return pl.DataFrame(columns)
