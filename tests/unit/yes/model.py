"""What may run, in thirty lines that know nothing of turns, grants, fingerprints, threads or journals.

The tests play a random afternoon with the real thing (`world.py`) and take down, as bystanders, who was asked when,
what they said, and what they were told of it (`Word`). `Case` then says what such an afternoon may have come to;
whatever else came of it is a fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any, Literal

NO, CANNOT_TELL = "no", "cannot tell"

# -- who is asked, as plain data ----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Short:
    """Is shown as it would be written: without what is as usual."""

    def __repr__(self) -> str:
        told = [each for each in fields(self) if getattr(self, each.name) != each.default]
        return f"{type(self).__name__}({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in told)})"


@dataclass(frozen=True, repr=False)
class Ask(Short):
    """Somebody who holds the question until they do something: at a card, or in code."""

    name: str
    card: bool = True


@dataclass(frozen=True, repr=False)
class Rule(Short):
    """A `Policy` of one rule."""

    name: str
    effect: str = "deny"
    when: str = "always"
    kind: Literal["tool", "interrupt"] | None = None


@dataclass(frozen=True, repr=False)
class All(Short):
    """`AllOf`."""

    people: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Then(Short):
    """`Escalate`, or what ``timeout=`` and ``escalate_to=`` make of a question."""

    people: tuple[Any, ...]


@dataclass(frozen=True, repr=False)
class Memo(Short):
    """`Remember`."""

    people: tuple[Any]


@dataclass(frozen=True, repr=False)
class Row(Short):
    """One after the other."""

    people: tuple[Any, ...]


# -- what happened ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Word:
    """What somebody said, and was told that it counts."""

    who: str | None
    """None: code, while nobody was being asked."""

    says: str
    """`NO`, or the answer to the last type."""

    in_turn: bool
    """Whether it was them who were being asked, with the card that was clicked or in the code that ran."""

    changed: bool
    """Whether what it was about was not what had been shown any more."""

    asking: str
    """Which live question: that of everybody, or the own one of somebody among several."""


@dataclass(eq=False, kw_only=True)
class Case:
    """One question as one kernel put it to its people, and what it may have come to."""

    people: Any
    question: tuple[Any, ...]
    """Its kind, name and words, the type of its answer, and what it is about, to the last type."""

    proposal: str
    """What an untouched yes answers."""

    is_small: bool
    """What rules look at."""

    process: Any
    """What lives as long as a `Remember` does."""

    sticky: tuple[str, Any] | None = None
    """The name that makes it stick, and who has to answer."""

    again: bool = False
    """Whether to ask whatever was decided before."""

    earlier: list["Case"] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)

    def wrong(self) -> list[Word]:
        """What counted and must not have: out of turn, to something else than was shown, or a second time."""
        first = {word.asking: word for word in reversed(self.words)}
        unseen = [word for word in self.words if word.changed and word.says != NO]
        return unseen + [word for word in self.words if not word.in_turn or word is not first[word.asking]]

    def allowed(self) -> set[str | None]:
        """The answers that it may have been given; `NO` and None (nothing came of it) do no harm in any case."""
        if NO in [self.says(rule) for rule in rules(self.people, later=False)]:
            return {NO}
        same = [old for old in self.alike() if old.sticky == self.sticky is not None and not self.again]
        return self.said().union(*(old.said() for old in same if old.words))

    def said(self) -> set[str | None]:
        """What its people may have said, or code in the place of whoever was asked."""
        return self.may(self.people) | self.said_by(None)

    def may(self, who: Any) -> set[str | None]:
        """What these people may have said."""
        match who:
            case Ask(name):
                return self.said_by(name) or {None}
            case Rule():
                return {self.says(who)} - {CANNOT_TELL} or {None}
            case All(people):
                return {None} | {_agreed(set(votes)) for votes in product(*map(self.may, people))}
            case Memo((person,)):
                known = [old.may(person) - {NO, None} for old in self.alike() if old.process == self.process]
                return self.may(person).union(*known)
            case Row((first, *rest)) | Then((first, *rest)):
                mine = self.may(first)
                return mine | self.may(Row(tuple(rest))) if None in mine else mine
        return {None}

    def alike(self) -> list["Case"]:
        """The earlier questions that were the same; none if a rule forbids this one, or cannot tell."""
        silenced = any(self.says(rule) for rule in rules(self.people) if rule.effect == "deny")
        return [old for old in self.earlier if old.question == self.question and not silenced]

    def says(self, rule: Rule) -> str | None:
        """What a rule says."""
        # A rule that allows is about tools unless it says otherwise; one that denies is about everything.
        kind = rule.kind or (None if rule.effect == "deny" else "tool")
        holds = kind in (None, self.question[0]) and (rule.when != "small" or self.is_small)
        said = NO if rule.effect == "deny" else self.proposal
        return None if not holds else CANNOT_TELL if rule.when == "raises" else said

    def said_by(self, who: str | None) -> set[str | None]:
        """What somebody has said; code, if it is None."""
        return {word.says for word in self.words if word.who == who}


def rules(who: Any, *, later: bool = True) -> Iterator[Rule]:
    """All rules in it; with `later` also those of whoever is asked only when time is up."""
    for each in who.people[: 1 if isinstance(who, Then) and not later else None]:
        yield from [each] if isinstance(each, Rule) else [] if isinstance(each, Ask) else rules(each, later=later)


def _agreed(votes: set[str | None]) -> str | None:
    differ = len(votes - {None}) > 1
    return NO if NO in votes or (differ and None not in votes) else None if None in votes else votes.pop()
