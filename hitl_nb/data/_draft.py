"""What somebody is doing to a table: how they look at it, which rows they drop, which cells they correct, and back.

Everything is done once: the browser numbers it, and sends it again until the kernel has said that it knows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

from hitl_nb._text import SIGN, warning_about_words
from hitl_nb.cards import visible
from hitl_nb.data._answer import TableAnswer
from hitl_nb.data._cells import Cell, cell_of, shortened
from hitl_nb.data._frames import Edits, Operator, Rows, numpy
from hitl_nb.data._table import Table
from hitl_nb.errors import InvalidValue

Mark = Literal["changed", "kept", "dropped"]
MARKS: Final[tuple[Mark, ...]] = ("changed", "kept", "dropped")

LARGEST: Final = 500
"""Rows of one page at most, whatever a browser asks for."""
MOST_VALUES: Final = 100
"""Values of one list of them at most: each is looked for in the whole column."""
_KEPT_VIEWS: Final = 6
_BINS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What somebody has chosen to look at: conditions joined by and, and an order."""

    where: tuple[tuple[int, str, str | tuple[str, ...]], ...] = ()
    """``(place, operator, value)``; a mark of a row (``changed``, ``kept``, ``dropped``) has the place -1, and ``in``
    has several values."""

    sort: tuple[int, bool] | None = None
    """The place of the column, and whether it descends."""

    @classmethod
    def read(cls, given: object, columns: int) -> "Looked":
        """Return what a browser asks for.

        Raises:
            InvalidValue: It is nothing that can be asked for.
        """
        asked = given if isinstance(given, Mapping) else {}
        try:
            where = tuple(
                (int(place), str(operator), _values(value) if operator == "in" else str(value))
                for place, operator, value in asked.get("where") or ()
            )
            sort = None if asked.get("sort") is None else (int(asked["sort"][0]), bool(asked["sort"][1]))
        except (TypeError, ValueError, IndexError, KeyError) as error:
            raise InvalidValue(f"This cannot be looked for: {given!r}.") from error
        places = [place for place, operator, _ in where if operator not in MARKS] + ([] if sort is None else [sort[0]])
        if any(not 0 <= place < columns for place in places):
            raise InvalidValue(f"There is no such column: {given!r}.")
        return cls(where=where, sort=sort)


def _values(given: object) -> tuple[str, ...]:
    if not isinstance(given, list) or not given:
        raise InvalidValue("`in` looks for values. Write some, with commas between.")
    if len(given) > MOST_VALUES:
        raise InvalidValue(f"`in` looks for {MOST_VALUES} values at most, and these are {len(given):,}.")
    return tuple(map(str, given))


@dataclass(kw_only=True)
class _View:
    """The rows that meet the conditions, in their order."""

    number: int
    order: Rows | None
    """Their positions; None for all, as they stand."""

    def positions(self, first: int, last: int, rows: int) -> Rows:
        """Return the positions of the rows from `first` to before `last`."""
        np = numpy()
        return cast("Rows", np.arange(first, min(last, rows)) if self.order is None else self.order[first:last])


@dataclass
class Draft:
    """One person's, or one screen's, work on a table."""

    table: Table
    drop: bool
    edit: frozenset[int]
    version: int = 0
    """Grows with everything that is done; what is confirmed is the one that was seen."""
    _keep: Rows | None = None
    _cells: dict[int, dict[int, object]] = field(default_factory=dict)
    _undo: list[Any] = field(default_factory=list)
    _done: dict[str, int] = field(default_factory=dict)
    _views: dict[Looked, _View] = field(default_factory=dict)
    _numbers: int = 0

    # -- what is seen ----------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Return how much was done."""
        rows = self.table.frame.rows
        kept = rows if self._keep is None else int(self._keep.sum())
        changed = sum(map(len, self._cells.values()))
        return {"rows": rows, "kept": kept, "dropped": rows - kept, "changed": changed, "undo": len(self._undo)}

    def page(self, looked: Looked, first: int, count: int) -> dict[str, Any]:
        """Return rows to draw, with where they stand in the view.

        Raises:
            InvalidValue: A condition or an order means nothing for its column.
        """
        frame = self.table.frame
        view = self._view(looked)
        total = frame.rows if view.order is None else len(view.order)
        first = max(0, min(first, total))
        rows = view.positions(first, first + min(max(count, 0), LARGEST), frame.rows)
        return {
            "version": self.version,
            "counts": self.counts(),
            "view": view.number,
            "total": total,
            "from": first,
            "rows": self._rows(rows),
        }

    def _rows(self, rows: Rows) -> list[dict[str, Any]]:
        frame = self.table.frame
        labels = frame.labels(rows)
        columns = [frame.cells(column.place, rows) for column in frame.columns]
        found = []
        for at, row in enumerate(rows.tolist()):
            cells: list[Cell] = [shortened(column[at]) for column in columns]
            before: dict[int, Cell] = {}
            for place, edited in self._cells.items():
                if row in edited:
                    before[place] = cells[place]
                    cells[place] = shortened(frame.cell(place, edited[row]))
            kept = self._keep is None or bool(self._keep[row])
            label = None if labels is None else labels[at]
            if label is not None and warning_about_words(label):
                label = f"{SIGN} {label}"
            found.append({"row": row, "label": label, "kept": kept, "cells": cells, "before": before})
        return found

    def _view(self, looked: Looked) -> _View:
        # Rows stay where they are while somebody works on them: they are looked for anew only when that is asked for.
        known = self._views.pop(looked, None) or self._made(looked)
        self._views[looked] = known
        while len(self._views) > _KEPT_VIEWS:
            del self._views[next(iter(self._views))]
        return known

    def again(self, looked: Looked) -> None:
        """Look anew: rows that were edited or dropped since may stand elsewhere now."""
        self._views.pop(looked, None)

    def _made(self, looked: Looked) -> _View:
        self._numbers += 1
        return _View(number=self._numbers, order=self._order(looked))

    def _order(self, looked: Looked) -> Rows | None:
        np, frame, edits = numpy(), self.table.frame, self._edits()
        order = None if looked.sort is None else frame.order(looked.sort[0], looked.sort[1], edits)
        mask = None
        for place, operator, value in looked.where:
            if operator in MARKS:
                found = self._marked(operator)
            elif isinstance(value, tuple):  # each as `=` reads it: a library's own test takes 1 for True, and rounds
                found = np.any([frame.mask(place, "=", each, edits) for each in dict.fromkeys(value)], axis=0)
            else:
                found = frame.mask(place, cast("Operator", operator), value, edits)
            mask = found if mask is None else mask & found
        if mask is None:
            return order
        return cast("Rows", np.flatnonzero(mask) if order is None else order[mask[order]])

    def _marked(self, mark: Mark) -> Rows:
        np = numpy()
        found = np.zeros(self.table.frame.rows, dtype=bool)
        if mark == "changed":
            for edited in self._cells.values():
                found[list(edited)] = True
            return cast("Rows", found)
        kept = ~found if self._keep is None else self._keep
        return cast("Rows", kept if mark == "kept" else ~kept)

    def whole_cell(self, row: int, place: int) -> dict[str, Any]:
        """Return one cell to its last character, with what was there before."""
        frame = self.table.frame
        if not (0 <= row < frame.rows and 0 <= place < len(frame.columns)):
            raise InvalidValue("There is no such cell.")
        [was] = frame.cells(place, numpy().asarray([row]))
        edited = self._cells.get(place, {})
        now = frame.cell(place, edited[row]) if row in edited else was
        return {"row": row, "place": place, "cell": now, "before": was if row in edited else None}

    def changes(self, first: int, count: int) -> dict[str, Any]:
        """Return what was done to cells, a stretch of it."""
        found = self.answer().changes
        listed = [
            {
                "row": each.position,
                "label": None if each.label is None else visible(str(each.label)),
                "column": str(each.column),
                "before": cell_of(each.before),
                "after": cell_of(each.after),
            }
            for each in found[first : first + min(count, LARGEST)]
        ]
        return {"from": first, "total": len(found), "rows": listed}

    def summary(self, place: int) -> dict[str, Any]:
        """Return what a column holds: missing, different, least, most, a histogram, or the most frequent."""
        if not 0 <= place < len(self.table.frame.columns):
            raise InvalidValue("There is no such column.")
        np, frame, edits = numpy(), self.table.frame, self._edits()
        missing = int(frame.mask(place, "missing", "", edits).sum())
        found: dict[str, Any] = {"place": place, "missing": missing, "rows": frame.rows}
        numbers = frame.numbers(place, edits)
        if numbers is not None:
            finite = numbers[np.isfinite(numbers)]
            if len(finite):
                counts, edges = np.histogram(finite, bins=_BINS)
                found |= {"histogram": counts.tolist(), "from": float(edges[0]), "to": float(edges[-1])}
                found["mean"] = float(finite.mean())
        try:
            order = frame.order(place, False, edits)
            if frame.rows > missing:
                ends = order[[0, frame.rows - missing - 1]]
                found["least"], found["most"] = (shortened(each) for each in self._cells_of(place, ends))
        except InvalidValue:
            pass  # what has no order has no ends
        return found

    def _cells_of(self, place: int, rows: Rows) -> list[Cell]:
        edited = self._cells.get(place, {})
        cells = self.table.frame.cells(place, rows)
        return [
            self.table.frame.cell(place, edited[row]) if row in edited else cell
            for row, cell in zip(rows.tolist(), cells, strict=True)
        ]

    # -- what is done ----------------------------------------------------------------------------------------

    def act(self, who: str, acts: object) -> list[dict[str, Any]]:
        """Do what a browser has done, each once; gives what could not be done, and why.

        Args:
            who: The screen that has numbered them.
            acts: ``{"n": 1, "op": "keep", …}`` each.
        """
        refused = []
        for act in acts if isinstance(acts, list) else []:
            if not isinstance(act, Mapping) or not isinstance(act.get("n"), int):
                continue
            if act["n"] <= self._done.get(who, 0):
                continue  # it came again
            self._done[who] = act["n"]
            try:
                self._do(act)
            except (InvalidValue, KeyError, TypeError, ValueError) as error:
                refused.append({"n": act["n"], "why": str(error)})
        return refused

    def _do(self, act: Mapping[str, Any]) -> None:
        match act.get("op"):
            case "keep":
                self._set_kept(act)
            case "edit":
                self._set_cell(int(act["row"]), int(act["place"]), act)
            case "undo":
                self._take_back()
            case other:
                raise InvalidValue(f"There is no `{other}`.")

    def _set_kept(self, act: Mapping[str, Any]) -> None:
        if not self.drop:
            raise InvalidValue("No row may be dropped here.")
        view = next((each for each in self._views.values() if each.number == act["view"]), None)
        if view is None:
            raise InvalidValue("The rows have moved since. Choose them again.")
        np, rows = numpy(), self.table.frame.rows
        chosen = view.positions(max(0, int(act["from"])), int(act["to"]), rows)
        keep = np.ones(rows, dtype=bool) if self._keep is None else self._keep
        changed = chosen[keep[chosen] != bool(act["on"])]
        if not len(changed):
            return
        keep[changed] = bool(act["on"])
        self._keep = keep
        self._note(("keep", changed, not act["on"]))

    def _set_cell(self, row: int, place: int, act: Mapping[str, object]) -> None:
        if place not in self.edit or not 0 <= row < self.table.frame.rows:
            raise InvalidValue("This cell may not be edited here.")
        edited = self._cells.setdefault(place, {})
        was = edited.get(row, _AS_GIVEN)
        frame = self.table.frame
        [before] = frame.cells(place, numpy().asarray([row]))
        if act.get("revert") or (act.get("missing") and before[:1] == ["null"]):
            now: object = _AS_GIVEN  # nothing is nothing, whichever kind it was
        else:
            now = frame.stored(place, None) if act.get("missing") else self._read(place, act)
            # Typed as it was, it is what it was, to the last bit.
            now = _AS_GIVEN if frame.cell(place, now) == before else now
        if now is was or (was is not _AS_GIVEN and now is not _AS_GIVEN and self._alike(place, was, now)):
            return
        self._put(row, place, now)
        self._note(("cell", row, place, was))

    def _alike(self, place: int, first: object, second: object) -> bool:
        return self.table.frame.cell(place, first) == self.table.frame.cell(place, second)

    def _read(self, place: int, act: Mapping[str, Any]) -> object:
        frame = self.table.frame
        if "choice" in act:
            return frame.read(place, frame.columns[place].choices[int(act["choice"])])
        text = json.loads(act["text"]) if act.get("escaped") else act["text"]
        if not isinstance(text, str):
            raise InvalidValue("A text with hidden characters is typed between quotes, with each written out.")
        return frame.stored(place, text) if frame.columns[place].kind == "text" else frame.read(place, text)

    def _put(self, row: int, place: int, value: object) -> None:
        edited = self._cells.setdefault(place, {})
        if value is _AS_GIVEN:
            edited.pop(row, None)
        else:
            edited[row] = value

    def _note(self, undo: object) -> None:
        self._undo.append(undo)
        self.version += 1

    def _take_back(self) -> None:
        if not self._undo:
            return
        kind, *what = self._undo.pop()
        if kind == "keep":
            rows, on = what
            assert self._keep is not None
            self._keep[rows] = on
        else:
            self._put(*what)
        self.version += 1

    def _edits(self) -> Edits:
        return {place: (list(edited), list(edited.values())) for place, edited in self._cells.items() if edited}

    def answer(self) -> TableAnswer[Any]:
        """Return what was done so far as an answer."""
        return TableAnswer(self.table, None if self._keep is None else self._keep.copy(), self._edits())


_AS_GIVEN: Final = object()
