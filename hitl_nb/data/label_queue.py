"""A queue of items to label, one key each: the browser draws the next from its own store and sends what was pressed.

What was pressed is a numbered log. It is written down before it is acknowledged, done once however often it is sent,
and found again by whoever opens the same queue later: after a reload, in another kernel, on another day.
"""

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

from hitl_nb._calls import Call, Handle
from hitl_nb._limits import beside_the_loop
from hitl_nb._text import HIDDEN, visible_tree, warning_in
from hitl_nb.cards import Card, Row, argument_rows, markdown, names_of, value_of, visible
from hitl_nb.data._batch import Batch, Show
from hitl_nb.data._labels import Labels, LabelsType
from hitl_nb.data._pass import Entry, Pass
from hitl_nb.data.table_review import Unseen
from hitl_nb.errors import InvalidValue, ToolDefinitionError
from hitl_nb.journal import Journal, LabelPass

_MOST: Final = 100
"""Items of one page at most, whatever a browser asks for."""
_BYTES: Final = 600_000
"""Characters from which on a page has no further item: pictures come a few at a time."""


class Queued(dict[str, object]):
    """What a question about a queue is about, in the journal's words: how many items, which labels.

    It compares as changed once the items are other ones than those that are shown.

    Args:
        batch: The items.
        call: The question.
        key: The name of the queue; what was labelled under it is gone on with.
    """

    def __init__(self, batch: Batch, call: Call, key: str | None) -> None:
        super().__init__(items=f"{len(batch):,} item{'' if len(batch) == 1 else 's'}", labels=batch.words)
        self.batch, self.key = batch, key
        self._call = call

    def __compared_by__(self) -> object:
        """Return what it is compared by."""
        return [dict(self), self._call.status == "executing" and self.batch.has_changed()]


class LabelQueue(Card):
    """Items to label, one key each, with undo, notes, a filter and guidelines; what is labelled is never lost.

    The answer of a question about a queue (`label`) is `Labels`; of a tool, a list with a label for each item (None
    where it was skipped).

    Args:
        call: The call; its arguments hold the items.
        labels: What an item may be; default: the argument called ``labels``.
        multi: Whether an item may have several.
        field: The name of the argument that has the items; default: the first list.
        show: How an item is shown: ``text``, ``markdown``, ``image``, or a function that makes something of it.
        guidelines: Markdown that stands beside the queue.
        shortcuts: Key → label, in the place of digits.
    """

    module: ClassVar[str | Path] = "label"
    style: ClassVar[str | Path | None] = "label"

    def __init__(
        self,
        call: Call,
        *,
        labels: Iterable[Any] | None = None,
        multi: bool = False,
        field: str | None = None,
        show: Show = None,
        guidelines: str = "",
        shortcuts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(call)
        self._labels = None if labels is None else list(labels)
        self._field = field
        self._options: dict[str, Any] = {
            "multi": multi,
            "show": show,
            "guidelines": guidelines,
            "shortcuts": shortcuts,
        }
        self._made: Batch | None = None
        self._passes: dict[str, Pass] = {}
        self._busy = asyncio.Lock()

    # -- what it is about, and whose labels ---------------------------------------------------------------

    @property
    def _batch(self) -> Batch:
        if self._made is None:
            args = self.call.args
            self._made = args.batch if isinstance(args, Queued) else self._of_a_tool(args)
        return self._made

    def _of_a_tool(self, args: object) -> Batch:
        labels = self._labels if self._labels is not None else value_of(args, "labels")
        names = [name for name in names_of(args) if name != "labels"] if self._field is None else [self._field]
        items = next((value for name in names if isinstance(value := value_of(args, name), list)), None)
        if not items or not labels:
            raise ToolDefinitionError(
                f"`LabelQueue` finds no {'labels' if items else 'items'} among the arguments of `{self.call.name}` "
                f"({', '.join(names_of(args)) or 'none'}). Write a tool with `texts: list[str]`, and "
                '`render=partial(LabelQueue, labels=["good", "bad"])`.'
            )
        return Batch(items, labels, **self._options)

    @property
    def _who(self) -> str:
        turn = self.call.turn
        return (turn.by if turn is not None else None) or "somebody"

    @property
    def _pass(self) -> Pass | None:
        """What whoever is asked now has done; None as long as that was not looked up."""
        return self._passes.get(self._who)

    @property
    def _journal(self) -> Journal | None:
        recorder = Handle.of(self.call).recorder
        return recorder if isinstance(recorder, Journal) else None

    @property
    def _key(self) -> str | None:
        return self.call.args.key if isinstance(self.call.args, Queued) else None

    def _begun(self) -> Pass:
        """Go on where whoever is asked has been."""
        who, journal = self._who, self._journal
        if who not in self._passes:
            stored: list[LabelPass] = [] if journal is None else journal.labelling.passes(self._key, self.call)
            mine = next((each for each in stored if (each.by, each.via) == (who, "card")), None)
            usable = mine is not None and mine.batch == self._batch.content
            self._passes[who] = Pass(self._batch, mine.entries if mine is not None and usable else ())
        return self._passes[who]

    # -- for the browser ----------------------------------------------------------------------------------

    def props(self) -> dict[str, Any]:
        """Give how far it is; all else is asked for."""
        if self.call.status == "inProgress":
            return {"total": 0, "version": -1, "store": ""}
        done = self._pass
        # A page that comes back, also to another kernel, knows by it what it has not got rid of.
        store = f"{self._who} {self._key or self.call.occurrence} {self._batch.content}"
        return {"total": len(self._batch), "version": -1 if done is None else done.version, "store": store}

    async def reply(self, asked: Mapping[str, Any], *, open_to: bool) -> dict[str, Any]:
        """Give items to draw, or those that a filter finds, and do what was pressed.

        Raises:
            InvalidValue: It cannot be given, or who has pressed is not asked any more.
        """
        match asked.get("op"):
            case "open":
                async with self._busy:
                    done = await beside_the_loop(self._begun)
                return {**done.drawn(), **self._head(), "have": done.done.get(str(asked.get("kept")), 0)}
            case "items":
                return {"items": await self._items(asked.get("at"))}
            case "find":
                return {"at": await beside_the_loop(self._find, str(asked.get("text")))}
            case "log":
                if not open_to:
                    raise InvalidValue("Somebody else is asked now. What is not saved yet does not count.")
                async with self._busy:
                    return await self._log(asked)
            case other:
                raise InvalidValue(f"There is no `{other}`.")

    def _head(self) -> dict[str, Any]:
        batch = self._batch
        keys = batch.keys
        labels = [{"word": word, "key": key} for word, key in zip(batch.words, keys.labels, strict=True)]
        shown, _ = visible_tree(
            {
                "labels": labels,
                "keys": {"skip": keys.skip, "note": keys.note, "filter": keys.filter, "undo": keys.undo},
                "guidelines": markdown(batch.guidelines) if batch.guidelines else [],
                "multi": batch.multi,
                "order": batch.order,
            }
        )
        return shown

    async def _items(self, places: object) -> dict[str, Any]:
        found: dict[str, Any] = {}
        size = 0
        for at in places[:_MOST] if isinstance(places, list) else []:
            if type(at) is not int or not 0 <= at < len(self._batch) or size > _BYTES:
                continue
            found[str(at)] = item = self._drawn(at)
            size += len(json.dumps(item["tree"]))
            await asyncio.sleep(0)  # each figure takes its time, and others want to run between
        return found

    def _drawn(self, at: int) -> dict[str, Any]:
        try:
            nodes = self._batch.nodes(at)
        except Exception as error:  # a function of the user's own
            nodes = [["em", {}, f"It cannot be shown: {type(error).__name__}: {error}"]]
        shown, hidden = visible_tree({"tree": nodes, "before": self._batch.before.get(at, "")})
        alike = warning_in(shown) or ""
        return {**shown, "warning": f"{HIDDEN} {alike}".strip() if hidden and HIDDEN not in alike else alike}

    def _find(self, text: str) -> list[int]:
        wanted = text.casefold()
        return [at for at in range(len(self._batch)) if wanted in visible(self._batch.text(at)).casefold()]

    # -- what was pressed ---------------------------------------------------------------------------------

    async def _log(self, sent: Mapping[str, object]) -> dict[str, Any]:
        done = await beside_the_loop(self._begun)
        number, new, refused = self._new(done, sent)
        journal = self._journal
        if new and journal is not None:
            # On disk before anybody hears of it: what is acknowledged is never lost.
            await asyncio.wrap_future(self._noting(journal, done, new))
        self._take(done, str(sent.get("who")), number, new)
        return {"have": number, "version": done.version, "refused": refused}

    def _new(self, done: Pass, sent: Mapping[str, Any]) -> tuple[int, list[Entry], list[str]]:
        """Return what is new in a log, up to which number it goes, and what cannot be done."""
        number, new, refused = done.done.get(str(sent.get("who")), 0), [], []
        for each in sent.get("log") or []:
            if not isinstance(each, Mapping) or each.get("n") != number + 1:
                continue  # it came again; or others before it are missing, and are asked for by what is answered
            number += 1
            try:
                new.append(done.read(each, str(sent.get("who")), number))
            except InvalidValue as error:
                refused.append(str(error))
        return number, new, refused

    def _noting(self, journal: Journal, done: Pass, new: Sequence[Entry]) -> Any:
        return journal.labelling.begin_note(
            self.call,
            key=self._key,
            batch=self._batch.content,
            by=self._who,
            via="card",
            entries=[done.written(each) for each in new],
        )

    def _take(self, done: Pass, who: str, number: int, new: Sequence[Entry]) -> None:
        done.done[who] = number
        for each in new:
            done.apply(each)

    def answer(self, value: Any) -> Any:
        """Give the labels as the answer, with what was pressed last.

        Raises:
            InvalidValue: There are labels that were given on another screen, and not seen here.
        """
        done = self._pass
        sent = value if isinstance(value, Mapping) else {}
        if done is None:
            raise InvalidValue("The items are still on their way. Confirm again.")
        number, new, refused = self._new(done, sent)
        if refused or sent.get("version") != done.version + len(new):
            raise InvalidValue(
                "Items were labelled on another screen. Look at them as they are now, and confirm again."
            )
        if new and (journal := self._journal) is not None:
            self._noting(journal, done, new)  # the journal keeps the order: it is there before the answer
        self._take(done, str(sent.get("who")), number, new)
        labels: Labels[Any] = Labels(self._batch, done.marks, done.notes)
        return labels if isinstance(self.call.answer_type, LabelsType) else list(labels)

    def instead(self) -> Card:
        """Give what says that there is a queue which is not to be seen."""
        return Unseen(
            self.call,
            "The items could not be drawn here, so nothing can be labelled. Decline, or write "
            "`pending()[0].respond([label, …])` in a cell, with one for each item.",
        )

    # -- what stays ---------------------------------------------------------------------------------------

    def _answered(self) -> Labels[Any] | None:
        answer = self.call.answer if self.call.approved else None
        if isinstance(answer, list):
            return LabelsType(self._batch).validate(answer)
        return answer if isinstance(answer, Labels) else None

    def headline(self) -> str:
        """Give how many were labelled."""
        answer = self._answered()
        return "Answered" if answer is None else answer.words()

    def rows(self) -> Sequence[Row]:
        """Give how many have each label, and the first items with theirs."""
        answer, batch = self._answered(), self._batch
        others: list[Row] = []
        if not isinstance(self.call.args, Queued):
            others = [
                row for row in argument_rows(self.call) if row.label != "labels" and not self._is_items(row.label)
            ]
        about = [Row(label="items", text=f"{len(batch):,}")]
        done = answer.rows() if answer is not None else [Row(label="labels", text=" · ".join(batch.words))]
        return [*others, *about, *done]

    def _is_items(self, name: str) -> bool:
        return value_of(self.call.args, name) is self._batch.given
