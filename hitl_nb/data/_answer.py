"""What a review of a table is about, and what answers it: which rows stay, and which cells are other ones now.

A row is its position in the frame that was given: labels may be doubled. The answer holds positions and values; the
table that they make is built when somebody takes it, from what was shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, NamedTuple, cast

from pydantic_core import SchemaSerializer, core_schema
from typing_extensions import TypeVar

from hitl_nb._secrets import MASK, is_secret_name
from hitl_nb.cards import Row, column_words
from hitl_nb.data._cells import cell_of, text_of
from hitl_nb.data._frames import Column, Edits, Rows, Typed, numpy
from hitl_nb.data._table import Table, counted
from hitl_nb.errors import InvalidValue, UsageError

T = TypeVar("T", default=Any)
F = TypeVar("F")

LISTED: Final = 50
"""Changes that a record lists; the journal has all of them."""


class Change(NamedTuple):
    """One cell that is another one now."""

    position: int
    """The row, from 0, in the frame that was given."""

    label: object
    """The row's label, to read; None where rows have none but their number."""

    column: object
    """The name of the column."""

    before: object
    """What was there."""

    after: object
    """What is there now; None where nothing is."""


class TableAnswer(Generic[T]):
    """Which rows of a table stay, and which cells are other ones; made by a person, or by `TableAnswer.of`."""

    def __init__(self, table: Table, keep: Rows | None = None, edits: Edits | None = None) -> None:
        self._table = table
        self._keep = None if keep is None or bool(keep.all()) else keep
        self._edits = {place: pair for place, pair in (edits or {}).items() if len(pair[0])}

    @classmethod
    def of(
        cls, frame: F, *, keep: Sequence[bool] | None = None, changes: Iterable[tuple[int, object, object]] = ()
    ) -> "TableAnswer[F]":
        """Return the answer that a script or a rule gives.

        Args:
            frame: The frame that is being reviewed, the object itself.
            keep: For each row whether it stays; default: all do.
            changes: ``(position, column, value)`` each: the row from 0, the column's name, and what is there now.

        Raises:
            UsageError: `keep` has another length, or there is no such row or column.
            InvalidValue: A column cannot hold exactly the value that it is given.
        """
        table = Table(frame)
        return TableAnswer(table, _mask(table, keep), _edits(table, changes))

    @cached_property
    def data(self) -> T:
        """The table with these rows and cells: same type, index, dtypes, order; the given one if nothing was done."""
        if self.untouched:
            return cast("T", self._table.given)
        return cast("T", self._table.frame.built(self._keep, self._edits))

    @property
    def untouched(self) -> bool:
        """Whether nothing was done."""
        return self._keep is None and not self._edits

    @property
    def keep(self) -> Rows:
        """For each row of the given frame whether it stays, as a numpy array."""
        return numpy().ones(self._table.frame.rows, dtype=bool) if self._keep is None else self._keep.copy()

    @cached_property
    def changes(self) -> list[Change]:
        """The cells that are other ones, by row and column; also of rows that do not stay."""
        found = [(row, place, after) for place, pair in self._edits.items() for row, after in zip(*pair, strict=True)]
        found.sort(key=lambda each: each[:2])
        return [self._change(row, place, after) for row, place, after in found]

    def _change(self, row: int, place: int, after: object) -> Change:
        frame = self._table.frame
        [before] = frame.values(place, numpy().asarray([row]))
        return Change(
            int(row), _python(frame.label(int(row))), frame.columns[place].label, _python(before), _python(after)
        )

    @property
    def kept(self) -> int:
        """How many rows stay."""
        return self._table.frame.rows if self._keep is None else int(self._keep.sum())

    def __edits__(self) -> list[dict[str, Any]]:
        """Return what was changed, as ``call.edits`` has it."""
        whole = self._table.frame.rows
        rows = [] if self._keep is None else [{"path": "rows", "from": whole, "to": self.kept}]
        return [*rows, *(_told(change) for change in self.changes)]

    def rows(self) -> list[Row]:
        """Return what was done, as lines of a record."""
        dropped = whole_of(self._keep)
        found = (
            [Row(label="dropped", text=f"{counted(self._table.frame.rows - self.kept, 'row')}: {dropped}")]
            if dropped
            else []
        )
        for change in self.changes[:LISTED]:
            label = "" if change.label is None else f" ({column_words(change.label)})"
            name = f"changed row {change.position}{label} · {column_words(change.column)}"
            hides = _is_secret(change.column)
            before, after = (MASK if hides else text_of(value) for value in (change.before, change.after))
            found.append(Row(label=name, text=f"{before} → {after}"))
        more = len(self.changes) - LISTED
        return [*found, *([Row(text=f"… and {counted(more, 'more change')}")] if more > 0 else [])]

    def words(self) -> str:
        """Say it in one line."""
        if self.untouched:
            return f"all {counted(self._table.frame.rows, 'row')} as they were"
        kept = f"kept {self.kept:,} of {counted(self._table.frame.rows, 'row')}"
        parts = [*([] if self._keep is None else [kept]), *([_cells(len(self.changes))] if self._edits else [])]
        return ", ".join(parts)

    def wire(self) -> dict[str, Any]:
        """Return it as plain JSON: what a journal keeps, and what makes the same answer of the same frame again."""
        digest, durable = self._table.content()
        return {
            "rows": self._table.frame.rows,
            "kept": self.kept,
            "dropped": [list(each) for each in _ranges(self._keep)],
            "changes": self._written(),
            "content": digest if durable else None,
        }

    def _written(self) -> list[dict[str, Any]]:
        return [self._wired(change, *at) for change, at in zip(self.changes, self._values(), strict=True)]

    def _wired(self, change: Change, place: int, after: object) -> dict[str, Any]:
        frame = self._table.frame
        return {
            "row": change.position,
            "column": column_words(change.column),
            "place": place,
            "before": MASK if _is_secret(change.column) else frame.cell(place, change.before),
            "after": MASK if _is_secret(change.column) else frame.cell(place, after),
            # Where the column is not, what was typed is what whoever has it reads.
            **({"typed": after.text} if isinstance(after, Typed) else {}),
        }

    def __compared_by__(self) -> object:
        """Return what it is compared by."""
        return self.wire()

    def _values(self) -> list[tuple[int, object]]:
        """The place of each change, and the value as the frame has it, in the order of `changes`."""
        found = [(row, place, after) for place, pair in self._edits.items() for row, after in zip(*pair, strict=True)]
        return [(place, after) for _, place, after in sorted(found, key=lambda each: each[:2])]

    def about(self, table: Table) -> "TableAnswer[T]":
        """Return the same answer about a table that is being reviewed.

        Raises:
            InvalidValue: It is about another one.
        """
        if table is self._table:
            return self
        if table.given is not self._table.given:
            raise InvalidValue(
                "The answer is about another table than the one that is asked about. "
                "Write `call.respond(TableAnswer.of(call.proposal.data, keep=…, changes=…))`."
            )
        return TableAnswer(table, self._keep, self._edits)

    def __eq__(self, other: object) -> bool:
        """Whether the same is said about the same table."""
        if self is other:
            return True
        if not isinstance(other, TableAnswer) or other._table.given is not self._table.given:
            return False
        return bool((self.keep == other.keep).all()) and self._written() == other._written()

    def __hash__(self) -> int:
        return hash((id(self._table.given), self.kept, len(self._edits)))

    def __repr__(self) -> str:
        return f"<TableAnswer: {self.words()}>"

    __pydantic_serializer__: ClassVar[SchemaSerializer] = SchemaSerializer(
        core_schema.any_schema(
            serialization=core_schema.plain_serializer_function_ser_schema(lambda answer: answer.wire())
        )
    )
    """A table goes to a journal or a model as what was done with it, not as a million rows."""


def _python(value: object) -> object:
    """Return a number of numpy as Python's own, and what was typed as what it is."""
    if isinstance(value, Typed):
        return value.text if value.value is None else value.value
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def _mask(table: Table, keep: Sequence[bool] | None) -> Rows | None:
    if keep is None:
        return None
    given = list(keep)
    if len(given) != table.frame.rows or any(type(each).__name__ not in ("bool", "bool_") for each in given):
        raise UsageError(
            f"`keep` says yes or no for {len(given)} rows, and the table has {table.frame.rows:,}. Write a mask as "
            "long as the frame, e.g. `keep=df['income'] < 1e6`."
        )
    return cast("Rows", numpy().asarray(given, dtype=bool))


def _edits(table: Table, changes: Iterable[tuple[int, object, object]]) -> Edits:
    found: dict[int, tuple[list[int], list[object]]] = {}
    for position, name, value in changes:
        if isinstance(position, bool) or not 0 <= int(position) < table.frame.rows:
            raise UsageError(
                f"There is no row {position!r}; the table has {table.frame.rows:,}. Write the position from 0, e.g. "
                '`changes=[(3, "income", 41_200)]`.'
            )
        place = table.place_of(name)
        rows, values = found.setdefault(place, ([], []))
        stored = table.frame.stored(place, value)
        if position in rows:
            values[rows.index(position)] = stored
        else:
            rows.append(int(position))
            values.append(stored)
    return found


def _ranges(keep: Rows | None) -> list[tuple[int, int]]:
    """The rows that do not stay, as first and last of each stretch."""
    if keep is None:
        return []
    np = numpy()
    gone = np.flatnonzero(~keep)
    if not len(gone):
        return []
    breaks = np.flatnonzero(np.diff(gone) > 1)
    firsts = gone[np.concatenate(([0], breaks + 1))]
    lasts = gone[np.concatenate((breaks, [len(gone) - 1]))]
    return list(zip(firsts.tolist(), lasts.tolist(), strict=True))


def whole_of(keep: Rows | None) -> str:
    """Say which rows do not stay, the first of them by number."""
    ranges = _ranges(keep)
    words = [str(first) if first == last else f"{first}–{last}" for first, last in ranges[:LISTED]]
    more = [f"… and {counted(len(ranges) - LISTED, 'more stretch', 'more stretches')}"] if len(ranges) > LISTED else []
    return ", ".join([*words, *more])


def _told(change: Change) -> dict[str, Any]:
    path = f"rows[{change.position}].{column_words(change.column)}"
    if _is_secret(change.column):
        return {"path": path, "from": MASK, "to": MASK}
    return {"path": path, "from": _plain(change.before), "to": _plain(change.after)}


def _is_secret(column: object) -> bool:
    """Whether the name of a column says that its cells are shown to whoever decides, and kept by nobody."""
    return is_secret_name(column, in_rows=True)


def _plain(value: object) -> object:
    cell = cell_of(value)
    return cell if isinstance(cell, str) else None if cell[0] == "null" else cell[1]


def _cells(number: int) -> str:
    return f"{counted(number, 'cell')} changed"


# -- the type of the answer --------------------------------------------------------------------------------------


class TableType:
    """What checks an answer about one table.

    Args:
        table: The table.
        drop: Whether rows may go.
        edit: The places of the columns whose cells may be edited.
    """

    def __init__(self, table: Table, *, drop: bool, edit: Sequence[int]) -> None:
        self.table, self.drop, self.edit = table, drop, frozenset(edit)

    @property
    def schema(self) -> dict[str, object]:
        """What may be done: with other columns or rights it is another question."""
        columns = [[column.name, column.dtype] for column in self.table.frame.columns]
        return {"table": [self.table.frame.rows, columns], "drop": self.drop, "edit": sorted(self.edit)}

    def validate(self, value: object) -> "TableAnswer[Any]":
        """Return the answer; also of the given frame itself, which says that nothing was done, and of its JSON form.

        Raises:
            InvalidValue: It is about another table, or does what may not be done.
        """
        if value is self.table.given:
            return TableAnswer(self.table)
        if isinstance(value, Mapping):
            value = self._read(value)
        if not isinstance(value, TableAnswer):
            raise InvalidValue(
                f"A `{type(value).__name__}` does not say what was done with the table. Write "
                "`call.respond(TableAnswer.of(df, keep=mask, changes=[(3, 'income', 41_200)]))`, or "
                "`call.respond(call.proposal)` to leave it as it is."
            )
        answer = value.about(self.table)
        self._check(answer)
        return answer

    def _check(self, answer: "TableAnswer[Any]") -> None:
        if not self.drop and answer.kept < self.table.frame.rows:
            raise InvalidValue("No row may be dropped here. Write `drop=True` where the table is put up for review.")
        for place in {*answer._edits} - self.edit:
            name = self.table.frame.columns[place].name
            raise InvalidValue(
                f"`{name}` may not be edited here. Write `edit=[{name!r}]` where the table is put up for review."
            )

    def _read(self, written: Mapping[Any, Any]) -> "TableAnswer[Any]":
        """Return the answer that was written down."""
        frame = self.table.frame
        try:
            if written["rows"] != frame.rows or written["content"] != self.table.content()[0]:
                raise InvalidValue("The answer was given about a table with other content.")
            keep = numpy().ones(frame.rows, dtype=bool)
            for first, last in written["dropped"]:
                keep[first : last + 1] = False
            pairs: dict[int, list[tuple[int, object]]] = {}
            for change in written["changes"]:
                if "typed" not in change:
                    value = self._read_cell(frame.columns[change["place"]], change["after"])
                    pairs.setdefault(change["place"], []).append((change["row"], value))
            for place, found in self._typed(change for change in written["changes"] if "typed" in change).items():
                pairs.setdefault(place, []).extend(found)
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise InvalidValue(f"This is no answer about a table ({error!r}).") from error
        edits = {place: tuple(map(list, zip(*found, strict=True))) for place, found in pairs.items()}
        return TableAnswer(self.table, keep, cast("Edits", edits))

    def _typed(self, changes: Iterable[Mapping[str, Any]]) -> dict[int, list[tuple[int, object]]]:
        """Return what was typed elsewhere as it would be had it been typed here (`Draft`).

        Raises:
            InvalidValue: A column cannot hold what was typed; it says so of each cell.
        """
        frame = self.table.frame
        faults: list[dict[str, Any]] = []
        found: dict[int, list[tuple[int, object]]] = {}
        for change in changes:
            row, place, text = change["row"], change["place"], change["typed"]
            if not (type(row) is int and type(place) is int and 0 <= row < frame.rows and place >= 0):
                raise IndexError(f"row {row!r}, column {place!r}")
            column = frame.columns[place]
            [before] = frame.cells(place, numpy().asarray([row]))
            if text is None and before[:1] == ["null"]:
                continue  # nothing is nothing, whichever kind it was
            try:
                value = frame.stored(place, text) if text is None or column.kind == "text" else frame.read(place, text)
            except InvalidValue as error:
                message = f"Row {row}, {column.name}: {error}"
                faults.append({"path": ["rows", row, column_words(column.label)], "message": message})
                continue
            if frame.cell(place, value) != before:  # typed as it was, it is what it was, to the last bit
                found.setdefault(place, []).append((row, value))
        if faults:
            raise InvalidValue("\n".join(fault["message"] for fault in faults[:LISTED]), faults)
        return found

    def _read_cell(self, column: Column, cell: object) -> object:
        frame = self.table.frame
        if isinstance(cell, str):
            return frame.read(column.place, cell)
        kind, text = cast("list[str]", cell)[:2]
        if kind == "null":
            return frame.stored(column.place, float("nan") if text == "NaN" and column.kind == "float" else None)
        if kind == "escaped":
            import json

            return frame.stored(column.place, json.loads(text))
        return frame.read(column.place, text)
