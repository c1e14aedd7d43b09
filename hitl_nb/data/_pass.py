"""What people have done in a queue: each item has what a person gave it last; and how far several people agree.

What is done says what an item is to have, never what is to become of it: done twice, it is done once, and all of it
can be taken back.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, Generic, Literal, overload

from typing_extensions import TypeVar

from hitl_nb._calls import fingerprint
from hitl_nb.data._batch import Batch, Mark
from hitl_nb.errors import InvalidValue, UsageError

_TAIL: Final = 200
"""How many steps a page can take back after a reload."""
_LONGEST_NOTE: Final = 2_000
_OPS: Final = ("label", "skip", "all", "undo", "note")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One thing that was done."""

    op: str
    """What; only for whoever reads it."""

    sets: tuple[tuple[int, Mark], ...] = ()
    """What items have from now on."""

    note: str | None = None
    """The note of the one item in `noted`."""

    noted: int = -1

    page: str = ""
    """The page that it was pressed on."""

    number: int = 0
    """Which one it was there."""


class Pass:
    """The labels of one person.

    Args:
        batch: The items.
        written: What they have done before, as it was written down.
    """

    def __init__(self, batch: Batch, written: Iterable[Mapping[str, Any]] = ()) -> None:
        self._batch = batch
        self.marks: list[Mark] = [None] * len(batch)
        self.notes: dict[int, str] = {}
        self.version = 0
        """How many things were done; what is confirmed is what was seen."""
        self.done: dict[str, int] = {}
        """The last number that each page has sent."""
        self._undo: list[tuple[tuple[int, Mark], ...]] = []
        for each in written:
            self.apply(self._from_written(each))

    # -- what is done -------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Do one thing."""
        before = tuple((at, self.marks[at]) for at, _ in entry.sets)
        for at, mark in entry.sets:
            self.marks[at] = mark
        if entry.note is not None:
            self.notes[entry.noted] = entry.note
        takes_back = entry.op == "undo" and self._undo and {at for at, _ in self._undo[-1]} == {at for at, _ in before}
        if takes_back:
            self._undo.pop()
        elif before:
            self._undo.append(before)
        if entry.number:
            self.done[entry.page] = entry.number
        self.version += 1

    def read(self, sent: Mapping[str, Any], page: str, number: int) -> Entry:
        """Return what a page says was done.

        Args:
            sent: What it says.
            page: The page.
            number: Which one it is there.

        Raises:
            InvalidValue: It is nothing that can be done.
        """
        op, sets = sent.get("op"), sent.get("sets") or []
        if op not in _OPS or not isinstance(sets, list):
            raise InvalidValue(f"There is no `{op}`.")
        note, noted = sent.get("note"), sent.get("item", -1)
        if op == "note":
            if not isinstance(note, str) or len(note) > _LONGEST_NOTE:
                raise InvalidValue(f"A note has at most {_LONGEST_NOTE:,} characters.")
            self._check_place(noted)
        return Entry(
            op=str(op),
            sets=tuple(self._set(each) for each in sets),
            note=note if op == "note" else None,
            noted=noted,
            page=page,
            number=number,
        )

    def _set(self, pair: object) -> tuple[int, Mark]:
        if not isinstance(pair, list) or len(pair) != 2:
            raise InvalidValue("This says nothing about an item.")
        at, mark = pair
        self._check_place(at)
        if mark is None or mark is False:
            return at, mark
        places = mark if isinstance(mark, list) else [mark]
        if not all(type(place) is int and 0 <= place < len(self._batch.labels) for place in places):
            raise InvalidValue("There is no such label.")
        if not self._batch.multi and len(places) != 1:
            raise InvalidValue("An item has one label here.")
        return at, tuple(sorted(set(places)))

    def _check_place(self, at: object) -> None:
        if type(at) is not int or not 0 <= at < len(self._batch):
            raise InvalidValue("There is no such item.")

    # -- as it is written down ----------------------------------------------------------------------------

    def written(self, entry: Entry) -> dict[str, Any]:
        """Return one thing as a journal keeps it: labels by their words, so that a longer list of them stays right."""
        sets = [[at, words_of_mark(self._batch, mark)] for at, mark in entry.sets]
        found: dict[str, Any] = {"op": entry.op, **({"sets": sets} if sets else {})}
        if entry.note is not None:
            found |= {"item": entry.noted, "note": entry.note}
        return {**found, "page": entry.page, "n": entry.number} if entry.number else found

    def _from_written(self, written: Mapping[str, Any]) -> Entry:
        sets = [(int(at), self._mark(words)) for at, words in written.get("sets", ()) if int(at) < len(self._batch)]
        return Entry(
            op=str(written["op"]),
            sets=tuple(sets),
            note=written.get("note"),
            noted=int(written.get("item", -1)),
            page=str(written.get("page", "")),
            number=int(written.get("n", 0)),
        )

    def _mark(self, words: Any) -> Mark:
        if words is None or words is False:
            return None if words is None else False
        places = [self._batch.place_of(word) for word in words]
        # A label that is none any more, or that was a secret, is asked for again.
        return None if -1 in places else tuple(sorted(places))

    # -- as a page draws it -------------------------------------------------------------------------------

    def drawn(self) -> dict[str, Any]:
        """Return all of it, as plain JSON."""
        undo = [[[at, _wired(mark)] for at, mark in step] for step in self._undo[-_TAIL:]]
        notes = {str(at): note for at, note in self.notes.items() if note}
        return {"marks": list(map(_wired, self.marks)), "notes": notes, "undo": undo, "version": self.version}

    def counts(self) -> dict[str, int]:
        """Return how far it is."""
        left = sum(mark is None for mark in self.marks)
        skipped = sum(mark is False for mark in self.marks)
        return {"labelled": len(self.marks) - left - skipped, "skipped": skipped, "left": left}


def _wired(mark: Mark) -> Any:
    return list(mark) if isinstance(mark, tuple) else mark


def words_of_mark(batch: Batch, mark: Mark) -> Literal[False] | list[str] | None:
    """Return what an item has, in words."""
    return [batch.words[place] for place in mark] if isinstance(mark, tuple) else mark


def mark_of(batch: Batch, label: Any) -> Mark:
    """Return what an item has from an answer in code: a label, a list of them where there may be several, or None.

    Raises:
        InvalidValue: It is no label.
    """
    if label is None or (isinstance(label, float) and label != label):
        return False
    several = batch.multi and isinstance(label, list | tuple | set | frozenset)
    places = [batch.place_of(each) for each in (label if several else [label])]
    if -1 in places:
        raise InvalidValue(f"`{label!r}` is none of the labels. Write one of {', '.join(map(repr, batch.labels))}.")
    return tuple(sorted(set(places)))


# -- several people ---------------------------------------------------------------------------------------------------

T = TypeVar("T", default=Any)


class Agreement:
    """How far several people agree, who have labelled the same items.

    Only items count that two people have given a label; what one has skipped is no disagreement. With several labels an
    item, two agree where all of them are the same.

    Args:
        batch: The items.
        people: Who, in the order in which they began.
        marks: For each person, what each item has.
    """

    def __init__(self, batch: Batch, people: Sequence[str], marks: Sequence[Sequence[Mark]]) -> None:
        self._batch, self._all = batch, [list(each) for each in marks]
        self.people = list(people)
        """Who has labelled, in the order in which they began."""

    @classmethod
    def of(cls, batch: Batch) -> "Agreement":
        """Return how far those agree whom the journal has."""
        passes = [each for each in batch.passes() if each.entries]
        names = [each.by for each in passes]
        called = [
            name if names.count(name) == 1 else f"{name} ({each.via})" for name, each in zip(names, passes, strict=True)
        ]
        return cls(batch, called, [Pass(batch, each.entries).marks for each in passes])

    @property
    def marks(self) -> list[list[Mark]]:
        """For each item the labels that it was given, by their places; nothing of whoever has skipped it."""
        return [[mark for mark in column if mark is not None and mark is not False] for column in self._columns]

    @property
    def _columns(self) -> list[tuple[Mark, ...]]:
        return list(zip(*self._all, strict=True)) if self._all else [() for _ in range(len(self._batch))]

    @property
    def common(self) -> int:
        """How many items two people have labelled, or more."""
        return sum(len(marks) > 1 for marks in self.marks)

    @property
    def share(self) -> float | None:
        """The share of pairs of labels that are the same; None where nobody has labelled what another has.

        With two people, that is the share of the items that both have labelled.
        """
        pairs = [first == second for marks in self.marks for first, second in combinations(marks, 2)]
        return sum(pairs) / len(pairs) if pairs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: how much of the agreement is more than chance; 1 is all, 0 is none of it.

        It is (p - e) / (1 - e), with p the share of items on which two agree, and e the share on which they would if
        each gave their labels as often as they did, to any items. Of more people, the mean of all pairs. None where it
        is not defined: no item in common, or one label only.
        """
        found = [_kappa(*pair) for pair in combinations(self._all, 2)]
        known = [each for each in found if each is not None]
        return sum(known) / len(known) if known else None

    @property
    def disputed(self) -> "Disputed[Any]":
        """The items that two people have labelled differently."""
        return Disputed(self._batch, {at: self._said(at) for at, marks in enumerate(self.marks) if len(set(marks)) > 1})

    def _said(self, at: int) -> str:
        found = [
            (who, words_of_mark(self._batch, marks[at])) for who, marks in zip(self.people, self._all, strict=True)
        ]
        return " · ".join(
            f"{who}: {', '.join(words) or 'none of them'}" for who, words in found if isinstance(words, list)
        )

    def __repr__(self) -> str:
        who = " and ".join([", ".join(self.people[:-1]), self.people[-1]]) if len(self.people) > 1 else "one person"
        if self.share is None:
            return f"<Agreement: {who if self.people else 'nobody'} has labelled, and there is nothing to compare>"
        kappa = "" if self.kappa is None else f", kappa {self.kappa:.2f}"
        return f"<Agreement of {who}: {self.share:.0%} of {self.common} items{kappa}; {len(self.disputed)} disputed>"


def _kappa(first: Sequence[Mark], second: Sequence[Mark]) -> float | None:
    pairs = [pair for pair in zip(first, second, strict=True) if not {None, False} & set(pair)]
    if not pairs:
        return None
    alike = sum(one == other for one, other in pairs) / len(pairs)
    often = [Counter(side) for side in zip(*pairs, strict=True)]
    by_chance = sum(often[0][mark] * often[1][mark] for mark in often[0]) / len(pairs) ** 2
    return None if by_chance == 1 else (alike - by_chance) / (1 - by_chance)


class Disputed(Sequence[Any], Generic[T]):
    """The items that two people have labelled differently: ``await label(labels.disputed)`` asks for another look.

    It keeps labels, guidelines, keys and how an item is shown, and says what each person has chosen.
    """

    def __init__(self, batch: Batch, said: Mapping[int, str]) -> None:
        self._batch, self._said = batch, dict(said)
        self.positions: list[int] = list(said)
        """Where they stand among all items, from 0."""

    @overload
    def __getitem__(self, at: int) -> Any: ...
    @overload
    def __getitem__(self, at: slice) -> list[Any]: ...
    def __getitem__(self, at: int | slice) -> Any:
        found = self._batch.items
        if isinstance(at, slice):
            return [found[place] for place in self.positions[at]]
        return found[self.positions[at]]

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        return f"<Disputed: {len(self)} of {len(self._batch)} items>"

    @property
    def key(self) -> str:
        """The name of their queue: another one as soon as other items are disputed."""
        return f"disputed {fingerprint([self._batch.content, self.positions])[:16]}"

    def batch(self) -> Batch:
        """Return them as a queue of their own.

        Raises:
            UsageError: There are none.
        """
        if not self.positions:
            raise UsageError("No item is disputed. Write `if labels.disputed: ... await label(labels.disputed)`.")
        return self._batch.part(self.positions, list(self._said.values()))
