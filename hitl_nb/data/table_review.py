"""A table to look through, thin out and correct, however long it is: pages come from the kernel when they are seen.

Nothing is sampled: every row can be reached, sorted, filtered. What a person looks at, and does to the table, is kept
in the kernel (`Draft`), so that it outlives a reload and is the same in two tabs. Everything is done once: the browser
numbers it, and sends it again until it hears of it.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

from pydantic import BaseModel

from hitl_nb._calls import NOT_ACCEPTED, Call, accepted_as, confirmed
from hitl_nb._limits import beside_the_loop
from hitl_nb.cards import Card, Plain, Row, argument_rows, card_of, names_of, value_of, visible
from hitl_nb.data._answer import TableAnswer, TableType
from hitl_nb.data._draft import Draft, Looked
from hitl_nb.data._stored import StoredFrame, stored_table
from hitl_nb.data._table import Table, is_frame, is_table
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError

S = TypeVar("S", bound=Any)
"""A decision as the journal has it."""

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
            return await beside_the_loop(self._replied, asked, open_to)

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
        await beside_the_loop(self._draft().table.check)

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
