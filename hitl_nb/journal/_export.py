"""The journal for others: JSON lines (one an event) and CSV (one row a call)."""

import csv
import json
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from pydantic_core import to_json

_JSON: Final = frozenset({"args", "answer", "edited", "value", "redacted"})


def write_jsonl(path: str | PathLike[str], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Path:
    """Write one JSON object a row; columns that are JSON are nested, those that are empty left out."""
    target = Path(path)
    with target.open("wb") as file:
        for values in rows:
            row = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
            row.update({name: json.loads(row[name]) for name in _JSON & row.keys()})
            # "NaN" as a text: JSON has no other way to keep it.
            file.write(_line(row) + b"\n")
    return target


def _line(row: dict[str, Any]) -> bytes:
    try:
        return to_json(row, inf_nan_mode="strings")
    except ValueError:
        # A lone surrogate, which UTF-8 cannot hold: as an escape, and by the slower way.
        exact = json.loads(json.dumps(row), parse_constant=str)
        return json.dumps(exact).encode()


def write_csv(path: str | PathLike[str], columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> Path:
    """Write one row a call, with a header."""
    target = Path(path)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_harmless(value) for value in row] for row in rows)
    return target


def _harmless(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front: a model may have written it.

    https://owasp.org/www-community/attacks/CSV_Injection
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
