"""The journal as a DataFrame: pandas if it is installed, else polars."""

import importlib.util
import json
from collections.abc import Sequence
from typing import Any, Final

from hitl_nb.errors import MissingExtraError

_TIMES: Final = frozenset({"ts", "asked_at", "answered_at"})
_JSON: Final = frozenset({"args", "answer", "edited"})


def frame(columns: Sequence[str], rows: list[tuple[Any, ...]], *, expand: bool = False) -> Any:
    """Give a DataFrame.

    Args:
        columns: The names.
        rows: The values; times as stored, JSON as text.
        expand: Parse the JSON: one column ``args.<name>`` an argument in place of `args`, and answers as Python data.
            Costs ten times the rest (facts/performance.md §6), hence not the default.

    Raises:
        MissingExtraError: Neither pandas nor polars is installed.
    """
    if expand:
        columns, rows = _expanded(columns, rows)
    if importlib.util.find_spec("pandas") is not None:
        return _pandas(columns, rows)
    if importlib.util.find_spec("polars") is not None:
        return _polars(columns, rows)
    raise MissingExtraError(
        "A DataFrame needs pandas or polars. Install one with `pip install pandas` and restart the kernel, "
        'or write `journal.to_jsonl("journal.jsonl")`.'
    )


def _pandas(columns: Sequence[str], rows: list[tuple[Any, ...]]) -> Any:
    import pandas

    made = pandas.DataFrame(rows, columns=list(columns))
    for name in _TIMES & set(columns):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601")
    return made


def _polars(columns: Sequence[str], rows: list[tuple[Any, ...]]) -> Any:
    import polars

    series = []
    for place, name in enumerate(columns):
        values = [row[place] for row in rows]
        if name in _TIMES:
            series.append(polars.Series(name, values, dtype=polars.String).str.to_datetime(time_zone="UTC"))
            continue
        try:
            series.append(polars.Series(name, values))
        except (TypeError, polars.exceptions.PolarsError):
            # Answers of several types in one column.
            series.append(polars.Series(name, values, dtype=polars.Object))
    return polars.DataFrame(series)


def _expanded(columns: Sequence[str], rows: list[tuple[Any, ...]]) -> tuple[list[str], list[tuple[Any, ...]]]:
    parsed = [dict(zip(columns, map(_parsed, columns, row), strict=True)) for row in rows]
    found: dict[str, None] = {}
    for row in parsed:
        args = row.pop("args")
        for name, value in args.items() if isinstance(args, dict) else [("", args)]:
            column = f"args.{name}" if name else "args"
            row[column] = value
            found[column] = None
    place = list(columns).index("args")
    names = [*columns[:place], *found, *columns[place + 1 :]]
    return names, [tuple(row.get(name) for name in names) for row in parsed]


def _parsed(column: str, value: Any) -> Any:
    return json.loads(value) if column in _JSON and value is not None else value
