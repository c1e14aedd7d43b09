"""A table to look through, thin out and correct, however long it is: pages come from the kernel when they are seen.

Nothing is sampled: every row can be reached, sorted, filtered. What a person looks at, and does to the table, is kept
in the kernel (`Draft`), so that it outlives a reload and is the same in two tabs. Everything is done once: the browser
numbers it, and sends it again until it hears of it.
"""

import asyncio
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, TypeVar, cast

from pydantic import BaseModel

from hitl_nb._calls import NOT_ACCEPTED, Call, accepted_as, confirmed
from hitl_nb._text import SIGN, warning_about_words
from hitl_nb.cards import Card, Plain, Row, argument_rows, card_of, names_of, value_of, visible
from hitl_nb.data._answer import TableAnswer, TableType
from hitl_nb.data._cells import Cell, cell_of, shortened
from hitl_nb.data._frames import Edits, Operator, Rows, numpy
from hitl_nb.data._stored import StoredFrame, stored_table
from hitl_nb.data._table import Table, is_frame, is_table
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError

S = TypeVar("S", bound=Any)
"""A decision as the journal has it."""

# -- what somebody is doing to a table ---------------------------------------------------------------------------------

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


# -- the card --------------------------------------------------------------------------------------------------------

_CHOICES: Final = 500
"""Categories that are offered as a list; beyond, their name is typed."""


class Shown(dict[str, object]):
    """What a question about a table is about, in the journal's words: how much there is, and of what.

    It compares as changed once the frame is another one than the one that was drawn, for whoever compares what is
    approved with what was shown.

    Args:
        table: The table.
        call: The question.
    """

    def __init__(self, table: Table, call: Call) -> None:
        columns = [f"{column.name}: {column.dtype}" for column in table.frame.columns]
        super().__init__(table=table.words(), columns=columns)
        self.table = table
        self._call = call

    def __drawn__(self) -> object:
        """Return what it is drawn as elsewhere."""
        return {"table": self.table.frame.shown}

    def __compared_by__(self) -> object:
        """Return what it is compared by."""
        return [dict(self), self._call.status == "executing" and self.table.has_changed()]


class TableReview(Card):
    """A table to read, sort and filter; rows may be dropped and cells edited, where that is said.

    The answer of a question about a table (`review_table`) is a `TableAnswer`; of a tool or a gate, its arguments with
    the edited table among them.

    Args:
        call: The call; its arguments hold a DataFrame, or the list of records that a model sends for one.
        drop: Whether rows may be dropped.
        edit: The columns whose cells may be edited, by name.
        field: The name of the argument that is the table; default: the first.
    """

    module: ClassVar[str | Path] = "table"
    style: ClassVar[str | Path | None] = "table"

    note = ""
    """What is said below the grid."""

    def __init__(
        self, call: Call, *, drop: bool = False, edit: Iterable[object] = (), field: str | None = None
    ) -> None:
        super().__init__(call)
        self._drop, self._edit, self._field = drop, list(edit), field
        self._made: Draft | None = None
        self._args: object = None
        self._busy = asyncio.Lock()

    def _about(self) -> Any:
        """What the question is about; said beforehand where the answer is there before the question is open again."""
        return self.call.args if self._args is None else self._args

    def _draft(self) -> Draft:
        if self._made is None:
            args = self._about()
            table = args.table if isinstance(args, Shown) else Table(self._found())
            self._made = Draft(table, self._drop, frozenset(table.editable(self._edit)))
        return self._made

    def _found(self) -> object:
        args = self._about()
        names = names_of(args) if self._field is None else [self._field]
        found = next((value for name in names if is_table(value := value_of(args, name))), None)
        if found is None:
            raise ToolDefinitionError(
                f"`TableReview` finds no table among the arguments of `{self.call.name}` "
                f"({', '.join(names_of(args)) or 'none'}). Write a tool with `rows: list[Row]`, or "
                "`render=partial(TableReview, field='rows')`."
            )
        return found

    def props(self) -> dict[str, Any]:
        """Give what the grid needs before its first page: the columns, and how much was done."""
        if self.call.status == "inProgress":
            return {"columns": [], "version": 0, "counts": None, "drop": False}
        draft = self._draft()
        columns = [
            {
                "name": column.name,
                "dtype": column.dtype,
                "kind": column.kind,
                "editable": column.place in draft.edit,
                "choices": list(column.choices) if len(column.choices) <= _CHOICES else [],
            }
            for column in draft.table.frame.columns
        ]
        return {
            "columns": columns,
            "version": draft.version,
            "counts": draft.counts(),
            "drop": self._drop,
            **({"note": self.note} if self.note else {}),
        }

    async def reply(self, asked: Mapping[str, Any], *, open_to: bool) -> dict[str, Any]:
        """Give a page, a cell, a summary or the list of changes, and do what was done on the screen.

        Raises:
            InvalidValue: It cannot be given.
        """
        async with self._busy:
            return await asyncio.to_thread(self._replied, asked, open_to)

    def _replied(self, asked: Mapping[str, Any], open_to: bool) -> dict[str, Any]:
        draft = self._draft()
        refused = draft.act(str(asked.get("who")), asked.get("acts")) if open_to else []
        match asked.get("op"):
            case "page":
                looked = Looked.read(asked.get("look"), len(draft.table.frame.columns))
                if asked.get("again"):
                    draft.again(looked)
                found = draft.page(looked, int(asked["from"]), int(asked["count"]))
            case "cell":
                found = draft.whole_cell(int(asked["row"]), int(asked["place"]))
            case "changes":
                found = draft.changes(int(asked["from"]), int(asked["count"]))
                found["rows"] = [{**row, "column": visible(row["column"])} for row in found["rows"]]
            case "summary":
                found = draft.summary(int(asked["place"]))
            case other:
                raise InvalidValue(f"There is no `{other}`.")
        return {**found, "refused": refused}

    def instead(self) -> Card:
        """Give what says that there is a table which is not to be seen."""
        return Unseen(
            self.call,
            "The table could not be drawn here, so it cannot be confirmed. Decline, or look at it in a cell and write "
            "`pending()[0].respond(pending()[0].proposal)`.",
        )

    async def confirming(self) -> None:
        """Read the table once more, beside the loop, before an answer is decided on."""
        await asyncio.to_thread(self._draft().table.check)

    def decide(self, value: Any) -> bool:
        """Answer with what was done.

        Raises:
            InvalidValue: It was done on another screen, and not seen here.
        """
        try:
            return super().decide(value)
        finally:
            self._draft().table.forget()

    def answer(self, value: Any) -> Any:
        """Give what was done as the answer.

        Raises:
            InvalidValue: What is confirmed is not what was seen, or a column refuses what stands in it.
        """
        draft = self._draft()
        if not isinstance(value, Mapping) or value.get("version") != draft.version:
            raise InvalidValue("The table was changed on another screen. Look at it as it is now, and confirm again.")
        done = draft.answer()
        if isinstance(self.call.answer_type, TableType):
            return self.call.proposal if done.untouched else done
        return confirmed(self.call) if done.untouched else self._with(done.data)

    # -- elsewhere: what is stored with the question, and what comes back --------------------------------------

    def stored(self) -> dict[str, Any] | None:
        """Return the table as it is stored for whoever draws it elsewhere; None where it is too large.

        Raises:
            ToolDefinitionError: There is no table.
        """
        draft = self._draft()
        return stored_table(draft.table, drop=self._drop, edit=sorted(draft.edit))

    def take_up(self, args: object) -> None:
        """Be about `args` from now on, unless that is None."""
        self._args = args

    @property
    def field(self) -> str:
        """The name of the argument that is the table; empty for none."""
        given, args = self._draft().table.given, self._about()
        return next((name for name in names_of(args) if value_of(args, name) is given), "")

    @property
    def is_of_a_frame(self) -> bool:
        """Whether the table is a frame among the arguments, which no journal holds; records are plain data.

        Raises:
            ToolDefinitionError: There is no table.
        """
        return is_frame(self._draft().table.given)

    def answered(self, written: Mapping[str, Any]) -> Any:
        """Return the answer that somebody elsewhere has given, as `answer` gives it.

        Raises:
            InvalidValue: It is about another table, or a column refuses what was typed.
        """
        draft = self._draft()
        done = TableType(draft.table, drop=self._drop, edit=sorted(draft.edit)).validate(written)
        return confirmed(self.call) if done.untouched else self._with(done.data)

    def _with(self, data: object) -> Any:
        """Give the answer of a tool, a gate or a plain checkpoint, with the edited table in it."""
        given, args, kind = self._found(), self._about(), self.call.answer_type
        if self.call.offer is given or (kind is not None and accepted_as(kind, data) is not NOT_ACCEPTED):
            return data
        return args.model_copy(update={self.field: data}) if isinstance(args, BaseModel) else {**args, self.field: data}

    def headline(self) -> str:
        """Give what was done in one line."""
        answer = self.call.answer
        done = answer if isinstance(answer, TableAnswer) else self._draft().answer()
        return f"Confirmed: {done.words()}"

    def rows(self) -> Sequence[Row]:
        """Give how much there was, and each change."""
        answer = self.call.answer if self.call.approved else None
        about = [Row(label="table", text=self._draft().table.words())]
        if isinstance(self.call.args, Shown):
            return [*about, *(answer.rows() if isinstance(answer, TableAnswer) else [])]
        done = self._draft().answer().rows() if answer is not None else []
        others = [row for row in argument_rows(self.call) if not is_table(value_of(self.call.args, row.label))]
        return [*others, *about, *done]


def frame_review_of(call: Call, args: object = None) -> TableReview | None:
    """Return the card of a question with a frame in it whose answer is more than what was done to the table.

    Args:
        call: The question.
        args: What it is about, where it is not open yet.
    """
    kind = call.render
    while isinstance(kind, partial):
        kind = kind.func
    if not (isinstance(kind, type) and issubclass(kind, TableReview)) or isinstance(call.answer_type, TableType):
        return None
    try:
        card = card_of(call) if args is None else call.render(call)
        if not isinstance(card, TableReview):
            return None
        card.take_up(args)
        return card if card.is_of_a_frame else None
    except (ToolDefinitionError, UsageError):  # it finds no table; the plain view is drawn
        return None


def as_at_home(call: Call, stored: S, args: object = None) -> S:
    """Return a decision with the answer that the asker's own card makes of what was done to a table elsewhere.

    Args:
        call: The question.
        stored: The decision as the journal has it.
        args: What the question is about, where it is not open yet.

    Raises:
        InvalidValue: It is about another table, or a column refuses what was typed.
    """
    if not (stored.approved and isinstance(stored.answer, Mapping) and "dropped" in stored.answer):
        return stored
    card = frame_review_of(call, args)
    return stored if card is None else replace(stored, answer=card.answered(stored.answer))


class StoredReview(TableReview):
    """The same, drawn elsewhere: of what was stored with the question.

    Args:
        call: The call.
        stored: As of `stored_table`.
        without: Arguments that are not told in the record: those that say what the table is; None for all of them.
    """

    def __init__(self, call: Call, *, stored: Mapping[str, Any], without: Collection[str] | None) -> None:
        super().__init__(call, drop=bool(stored["drop"]))
        self._stored, self._without = stored, without
        self.note = _stars_note(stored["stars"])
        self.content: object = stored["content"]
        """What the table is a copy of."""

    def _draft(self) -> Draft:
        if self._made is None:
            kind = self.call.answer_type
            table = kind.table if isinstance(kind, TableType) else Table(StoredFrame(self._stored))
            self._made = Draft(table, self._drop, frozenset(self._stored["edit"]))
        return self._made

    def go_on(self, before: Card) -> None:
        """Go on with what was done at the card whose answer was refused, where that was the same table."""
        if not isinstance(before, StoredReview) or before.content != self.content:
            return
        made = before._draft()
        self._made = replace(made, table=self._draft().table, version=made.version + 1)

    def rows(self) -> Sequence[Row]:
        """Give how much there was, and each change."""
        answer = self.call.answer if self.call.approved else None
        others = argument_rows(self.call, without=self._without) if self._without else []
        done = answer.rows() if isinstance(answer, TableAnswer) else []
        return [*others, Row(label="table", text=self._draft().table.words()), *done]


def _stars_note(columns: Sequence[str]) -> str:
    if not columns:
        return ""
    names = ", ".join(columns)
    return f"Stars stand for secrets ({names}): they are not kept with a question, and cannot be edited here."


class Unseen(Plain):
    """What could not be drawn, a table or a queue: its size can be read, and nobody can answer what is not shown.

    Args:
        call: The call.
        why: What to say to whoever tries, with the line to write.
    """

    def __init__(self, call: Call, why: str) -> None:
        super().__init__(call)
        self._why = why

    def answer(self, value: Any) -> Any:
        """Refuse it.

        Raises:
            InvalidValue: Always.
        """
        raise InvalidValue(self._why)
