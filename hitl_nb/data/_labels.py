"""What comes of a queue of labels: one for each item, where two people differ, and what settles it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, overload

from pydantic_core import SchemaSerializer, core_schema
from typing_extensions import TypeVar

from hitl_nb.cards import Row
from hitl_nb.data._batch import Batch, Mark
from hitl_nb.data._pass import Agreement, Disputed, Entry, Pass, mark_of, words_of_mark
from hitl_nb.errors import InvalidValue, UsageError

T = TypeVar("T", default=Any)

_LISTED: Final = 20
"""Items that a record lists; the journal has all of them."""
_LONGEST: Final = 120
"""Characters of an item that a record shows."""
_THUMBNAIL: Final = 8_000
"""Characters of a picture that a record shows."""


class Labels(Sequence[T]):
    """A label for each item, in the order of the items; None where there is none.

    With ``multi=True`` each is a list of labels. Made by a person; a script answers with a plain list.
    """

    def __init__(self, batch: Batch, marks: Sequence[Mark], notes: Mapping[int, str]) -> None:
        self._batch, self._marks = batch, tuple(marks)
        self._notes = {at: note for at, note in notes.items() if note}

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        return self._values[at]

    def __len__(self) -> int:
        return len(self._marks)

    @cached_property
    def _values(self) -> list[Any]:
        return [self._value(mark) for mark in self._marks]

    def _value(self, mark: Mark) -> Any:
        if mark is None or mark is False:
            return None
        found = [self._batch.labels[place] for place in mark]
        return found if self._batch.multi else found[0]

    @property
    def notes(self) -> list[str]:
        """The note of each item, "" where there is none."""
        return [self._notes.get(at, "") for at in range(len(self))]

    @property
    def skipped(self) -> list[int]:
        """The places of the items that were skipped, from 0."""
        return [at for at, mark in enumerate(self._marks) if mark is False]

    @property
    def missing(self) -> list[int]:
        """The places of the items that nobody has come to yet."""
        return [at for at, mark in enumerate(self._marks) if mark is None]

    @property
    def series(self) -> Any:
        """The labels as a Series with the index of the items: of polars if they were, else of pandas.

        Raises:
            ImportError: Neither is installed.
        """
        given = self._batch.given
        if type(given).__module__.partition(".")[0] == "polars":
            import polars

            return polars.Series("label", self._values)
        import pandas

        index = given.index if isinstance(given, pandas.Series | pandas.DataFrame) else None
        return pandas.Series(self._values, index=index, name="label", dtype=None if self._values else object)

    # -- several people -----------------------------------------------------------------------------------

    @property
    def agreement(self) -> Agreement:
        """How far those who have labelled these items under this key agree, as the journal has it now."""
        return Agreement.of(self._batch)

    @property
    def disputed(self) -> Disputed[T]:
        """The items that two people have labelled differently, for another look: ``await label(labels.disputed)``."""
        return self.agreement.disputed

    def settled(self, decided: Sequence[T]) -> list[T]:
        """Return a label for each item: what those agree on who have labelled it, and for the disputed what is decided.

        Args:
            decided: One label each for `disputed`, as ``await label(labels.disputed)`` gives them.

        Raises:
            UsageError: There are more of them, or fewer.
        """
        agreement = self.agreement
        places = agreement.disputed.positions
        if len(decided) != len(places):
            raise UsageError(
                f"{len(places)} items are disputed, and {len(decided)} are decided. "
                "Write `labels.settled(await label(labels.disputed))`."
            )
        found = [self._value(next(iter(marks), None)) for marks in agreement.marks]
        for at, label in zip(places, decided, strict=True):
            found[at] = label
        return found

    # -- in words, and as plain data ----------------------------------------------------------------------

    @property
    def counts(self) -> dict[str, int]:
        """How many items have each label, by its words."""
        counts = Counter(place for mark in self._marks if mark for place in mark)
        return {word: counts[place] for place, word in enumerate(self._batch.words)}

    def words(self) -> str:
        """Say how much was done, in one line."""
        labelled = len(self) - len(self.skipped) - len(self.missing)
        more = [f"{len(self.skipped)} skipped"] * bool(self.skipped) + [f"{len(self.missing)} left"] * bool(
            self.missing
        )
        return ", ".join([f"{labelled} of {len(self)} labelled", *more])

    def rows(self) -> list[Row]:
        """Return what was done, as lines of a record."""
        counts = " · ".join(f"{word}: {count}" for word, count in self.counts.items())
        done = [at for at, mark in enumerate(self._marks) if mark is not None or at in self._notes]
        listed = [self._row(at) for at in done[:_LISTED]]
        titles = ["", "item", "label", *(["note"] if self._notes else [])]
        head = ["thead", {}, ["tr", {}, *(["th", {}, title] for title in titles)]]
        table = ["table", {"rows": len(listed), "columns": len(titles)}, head, ["tbody", {}, *listed]]
        more = [Row(text=f"… and {len(done) - _LISTED:,} more items")] if len(done) > _LISTED else []
        return [Row(label="labels", text=counts), *([Row.of("", [table])] if listed else []), *more]

    def _row(self, at: int) -> list[Any]:
        words = words_of_mark(self._batch, self._marks[at])
        said = "–" if words is None else "skipped" if words is False else ", ".join(words) or "none of them"
        note = [["td", {}, self._notes.get(at, "")]] if self._notes else []
        number = ["td", {"align": "right"}, f"{at + 1:,}"]
        return ["tr", {}, number, ["td", {}, self._item(at)], ["td", {}, said], *note]

    def _item(self, at: int) -> Any:
        picture = self._batch.thumbnail(at)
        if picture is not None and len(picture[1].get("src", "")) <= _THUMBNAIL:
            return picture
        text = " ".join(self._batch.text(at).split())
        return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

    def wire(self) -> dict[str, Any]:
        """Return it as plain JSON: what a journal keeps, and what makes the same answer of the same items again."""
        words = [words_of_mark(self._batch, mark) or [] for mark in self._marks]
        several = self._batch.multi
        given = [
            None if mark is None or mark is False else each if several else each[0]
            for mark, each in zip(self._marks, words, strict=True)
        ]
        notes = {str(at): note for at, note in sorted(self._notes.items())}
        return {"labels": given, "skipped": self.skipped, "notes": notes}

    def entries(self) -> list[dict[str, Any]]:
        """Return it as what somebody has done, one item after the other."""
        done = Pass(self._batch)
        sets = [(at, mark) for at, mark in enumerate(self._marks) if mark is not None]
        found = [Entry(op="skip" if mark is False else "label", sets=((at, mark),)) for at, mark in sets]
        found += [Entry(op="note", note=note, noted=at) for at, note in self._notes.items()]
        return [done.written(each) for each in found]

    def is_what(self, written: Iterable[Mapping[str, Any]]) -> bool:
        """Whether it is what comes of what was written down."""
        done = Pass(self._batch, written)
        return tuple(done.marks) == self._marks and {at: note for at, note in done.notes.items() if note} == self._notes

    def is_about(self, batch: Batch) -> bool:
        """Whether it has labels for exactly these items."""
        return batch is self._batch or (batch.given is self._batch.given and batch.words == self._batch.words)

    def about(self, batch: Batch) -> "Labels[T]":
        """Return the same labels for a batch of the same items."""
        return Labels(batch, self._marks, self._notes)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The labels by their places."""
        return self._marks

    def __eq__(self, other: object) -> bool:
        """Whether each item has the same label; a list of labels can be compared, too."""
        if isinstance(other, Labels):
            return self._values == other._values and self._notes == other._notes
        return isinstance(other, list) and self._values == other

    def __hash__(self) -> int:
        return hash((len(self), self._batch.content))

    def __repr__(self) -> str:
        return f"<Labels: {self.words()}>"

    def __compared_by__(self) -> object:
        """Return what it is compared by."""
        return self.wire()

    __pydantic_serializer__: ClassVar[SchemaSerializer] = SchemaSerializer(
        core_schema.any_schema(
            serialization=core_schema.plain_serializer_function_ser_schema(lambda answer: answer.wire())
        )
    )


# -- the type of the answer -------------------------------------------------------------------------------------------


class LabelsType:
    """What checks an answer about a queue.

    Args:
        batch: The items.
    """

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    @property
    def schema(self) -> dict[str, object]:
        """What there is to choose from: with other labels it is another question."""
        return {"labels": self.batch.words, "multi": self.batch.multi, "items": len(self.batch)}

    def validate(self, value: object) -> Labels[Any]:
        """Return the answer; also of a list with a label for each item (None: skipped), and of its JSON form.

        Raises:
            InvalidValue: It has labels for other items, or one that is none.
        """
        if isinstance(value, Labels):
            if not value.is_about(self.batch):
                raise InvalidValue(f"These are labels for other items. {self._write()}")
            return value.about(self.batch)
        notes: Mapping[Any, Any] = {}
        skipped: Iterable[Any] | None = None
        if isinstance(value, Mapping) and "labels" in value:
            notes, skipped, value = value.get("notes") or {}, value.get("skipped"), value["labels"]
        if hasattr(value, "to_list"):  # a Series
            value = value.to_list()
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise InvalidValue(f"A `{type(value).__name__}` is no list of labels. {self._write()}")
        if len(value) != len(self.batch):
            raise InvalidValue(f"There are {len(self.batch)} items, and {len(value)} labels. {self._write()}")
        marks = [mark_of(self.batch, each) for each in value]
        if skipped is not None:
            places = set(skipped)
            marks = [None if mark is False and at not in places else mark for at, mark in enumerate(marks)]
        return Labels(self.batch, marks, {int(at): str(note) for at, note in notes.items()})

    def _write(self) -> str:
        example = ", ".join(repr(word) for word in self.batch.labels[:2])
        return f"Write `call.respond([{example}, …])`, one for each item, None to skip."
