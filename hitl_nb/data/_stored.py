"""A table that is reviewed elsewhere: the cells as they were stored with the question, and what was typed into them.

Nobody there has the column itself, so an edit is what was typed, and not the value that it makes: whoever asks reads it
as if it had been typed at home. What can be told from a column's kind is refused where it is typed; the rest there.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from hitl_nb._secrets import MASK, is_secret_name
from hitl_nb._text import visible
from hitl_nb.data._cells import Cell, Kind, cell_of, null_of, typed
from hitl_nb.data._frames import (
    Column,
    Edits,
    Frame,
    Operator,
    RecordsFrame,
    Rows,
    Typed,
    check_operator,
    numpy,
    refused,
    rows_of,
)
from hitl_nb.data._table import Table
from hitl_nb.errors import InvalidValue

MOST_CELLS: Final = 100_000
"""Cells of a table that is reviewed elsewhere, at the most."""

_MOST_CHARACTERS: Final = 10_000_000
"""Characters of such a table, at the most."""

_WHOLE: Final = re.compile(r"(u?)int(8|16|32|64)\b", re.IGNORECASE)
"""The name of a type of whole numbers in each of the libraries."""


def stored_table(table: Table, *, drop: bool, edit: Sequence[int]) -> dict[str, Any] | None:
    """Return a table as it is stored with its question, as JSON data; None for one that is too large.

    Reads all of it, which takes its time.

    Args:
        table: The table.
        drop: Whether rows may be dropped.
        edit: The places of the columns whose cells may be edited.
    """
    frame = table.frame
    if frame.rows * len(frame.columns) > MOST_CELLS:
        return None
    rows = numpy().arange(frame.rows)
    hidden = [is_secret_name(column.label, in_rows=True) for column in frame.columns]
    cells = [
        [MASK] * frame.rows if hides else frame.cells(column.place, rows)
        for column, hides in zip(frame.columns, hidden, strict=True)
    ]
    if sum(len(cell if isinstance(cell, str) else cell[1]) for column in cells for cell in column) > _MOST_CHARACTERS:
        return None
    columns = [
        {
            "name": column.name,
            "dtype": column.dtype,
            "kind": "text" if hides else column.kind,
            "choices": [] if hides else list(column.choices),
            "nullable": _takes_nothing(frame, column.place),
        }
        for column, hides in zip(frame.columns, hidden, strict=True)
    ]
    return {
        "rows": frame.rows,
        "columns": columns,
        "cells": cells,
        "labels": frame.labels(rows),
        "content": table.content()[0],
        "drop": drop,
        "edit": [place for place in edit if not hidden[place]],
        "stars": [column.name for column, hides in zip(frame.columns, hidden, strict=True) if hides],
    }


def _takes_nothing(frame: Frame, place: int) -> bool:
    try:
        frame.stored(place, None)
    except InvalidValue:
        return False
    return True


class Unread:
    """A cell whose value is not there: what it says."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


class StoredFrame(RecordsFrame):
    """A table of what was stored; in code elsewhere it stands for the table: ``TableAnswer.of(call.proposal.data)``.

    Args:
        stored: What `stored_table` has given.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._numpy = numpy()
        self._stored = stored
        self.rows = int(stored["rows"])
        self.columns = tuple(
            Column(
                place=place,
                label=each["name"],
                name=each["name"],
                dtype=each["dtype"],
                kind=each["kind"],
                choices=tuple(each["choices"]),
            )
            for place, each in enumerate(stored["columns"])
        )
        self.shown: object = self
        self._read: dict[int, list[object]] = {}

    @property
    def __content__(self) -> str:
        """What it is a copy of, as `Table.content` has it there."""
        return str(self._stored["content"])

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        return f"<the table as it was put to the inbox: {self.rows:,} rows of {', '.join(self._names())}>"

    def _names(self) -> list[str]:
        return [column.name for column in self.columns]

    def _cells(self, place: int) -> list[Cell]:
        return cast("list[Cell]", self._stored["cells"][place])

    # -- to look at ------------------------------------------------------------------------------------------

    def labels(self, rows: Rows) -> list[str] | None:
        labels = self._stored["labels"]
        return None if labels is None else [labels[row] for row in rows.tolist()]

    def label(self, row: int) -> object:
        return None if self._stored["labels"] is None else self._stored["labels"][row]

    def cells(self, place: int, rows: Rows) -> list[Cell]:
        column = self._cells(place)
        return [column[row] for row in rows.tolist()]

    def cell(self, place: int, value: object) -> Cell:
        if null_of(value) or (isinstance(value, Typed) and value.text is None):
            nothing = (cell for cell in self._cells(place) if not isinstance(cell, str) and cell[0] == "null")
            return next(nothing, ["null", "None"])
        if isinstance(value, Typed) and value.value is None:
            return [self.columns[place].kind, visible(str(value.text))]
        return cell_of(value.value if isinstance(value, Typed) else value)

    def values(self, place: int, rows: Rows) -> list[object]:
        kind, cells = self.columns[place].kind, self.cells(place, rows)
        return [_value(kind, cell) for cell in cells]

    def _of(self, place: int) -> list[object]:
        """The values to compare: a moment without its nanoseconds, None for what cannot be read here."""
        if place not in self._read:
            kind = self.columns[place].kind
            self._read[place] = [_sortable(kind, cell) for cell in self._cells(place)]
        return self._read[place]

    def _now(self, place: int, edits: Edits) -> list[object]:
        found = super()._now(place, edits)
        return [value.value if isinstance(value, Typed) else value for value in found]

    def mask(self, place: int, operator: Operator, text: str, edits: Edits) -> Rows:
        if operator not in ("missing", "present"):
            return super().mask(place, operator, text, edits)
        check_operator(self.columns[place], operator)
        missing = rows_of([not isinstance(cell, str) and cell[0] == "null" for cell in self._cells(place)], "bool")
        for row, value in zip(*edits.get(place, ((), ())), strict=True):
            missing[row] = isinstance(value, Typed) and value.text is None
        return missing if operator == "missing" else ~missing

    # -- to edit ---------------------------------------------------------------------------------------------

    def read(self, place: int, text: str) -> object:
        column = self.columns[place]
        try:
            return Typed(text, self._checked(column, typed(column.kind, text)))
        except InvalidValue:
            # A library reads more of these than Python does: nanoseconds, "1h30m". Whoever has it says.
            if column.kind in ("datetime", "date", "time", "duration"):
                return Typed(text, None)
            raise

    def stored(self, place: int, value: object) -> object:
        column = self.columns[place]
        if isinstance(value, Typed):
            return value
        if null_of(value):
            if not self._stored["columns"][place]["nullable"]:
                raise refused(column, value)
            return Typed(None, None)
        cell = cell_of(value)
        kind = "text" if isinstance(value, str) else cell[0]
        fits = kind == column.kind or (kind, column.kind) in (("text", "category"), ("int", "float"))
        if not fits:
            raise refused(column, value)
        text = value if isinstance(value, str) else cell[1]
        return Typed(text, self._checked(column, typed(column.kind, text)))

    @staticmethod
    def _checked(column: Column, value: object) -> object:
        match = _WHOLE.search(column.dtype)
        if column.kind == "int" and match and isinstance(value, int):
            bits = int(match[2])
            least, most = (0, 2**bits - 1) if match[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
            if not least <= value <= most:
                raise refused(column, value)
        if column.kind == "category" and column.choices and value not in column.choices:
            raise refused(column, value, "it is none of the categories")
        return value

    def built(self, keep: Rows | None, edits: Edits) -> object:
        cells = [list(column) for column in self._stored["cells"]]
        for place, (rows, values) in edits.items():
            for row, value in zip(rows, values, strict=True):
                cells[place][row] = self.cell(place, value)
        stay = range(self.rows) if keep is None else self._numpy.flatnonzero(keep).tolist()
        labels = self._stored["labels"]
        changed = {
            "rows": len(stay),
            "cells": [[column[row] for row in stay] for column in cells],
            "labels": None if labels is None else [labels[row] for row in stay],
            "content": f"edited {self._stored['content']}",
        }
        return StoredFrame({**self._stored, **changed})


def _value(kind: Kind, cell: Cell) -> object:
    """What a cell holds, if it can be told to the last digit; else what it says."""
    if isinstance(cell, str):
        return cell
    what, text = cell[:2]
    if what == "null":
        return float("nan") if text == "NaN" and kind == "float" else None
    if what == "escaped":
        return json.loads(text)
    value = _sortable(kind, cell)
    return value if value is not None and cell_of(value) == cell else Unread(text)


def _sortable(kind: Kind, cell: Cell) -> object:
    if isinstance(cell, str):
        return cell
    what, text = cell[:2]
    if what in ("null", "escaped"):
        return None if what == "null" else json.loads(text)
    if kind == "other":
        return Unread(text)
    try:
        return typed(kind, text)
    except InvalidValue:
        return None
