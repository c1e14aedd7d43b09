"""What happens in an afternoon, as plain data; and the values that it is about."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from tests.unit.yes.model import Row, Short


@dataclass(frozen=True, repr=False)
class Cell(Short):
    """A cell that asks."""

    asks: str = "interrupt"
    """``approve``, ``interrupt``, or ``pay``: the gated function, called by code."""

    about: int = 0
    """Which of `CONTENTS`."""

    message: int = 0
    key: bool = False
    again: bool = False
    people: int = 0
    """Which of the afternoon's two compositions."""

    timeout: bool = False
    to: Any = None
    """Whom to ask when time is up."""


@dataclass(frozen=True, repr=False)
class Do(Short):
    """One thing that happens; `pick` counts back from the latest of what it can happen to."""

    verb: str
    pick: int = 0
    what: int = 0
    """Which answer, or which change."""

    how: int = 0
    """As what it says, in code of one's own, in a thread of one's own."""

    edit: int = 0
    """To what an edited answer changes the amount."""

    pace: int = 5
    """How far things go before the next: 0 not at all, then so many turns of the loop, from `SETTLED` on to rest."""

    cell: Cell | None = None


@dataclass(frozen=True, repr=False)
class Afternoon(Short):
    """All that happens."""

    people: tuple[Row, Row]
    does: tuple[Do, ...]
    rounds: tuple[int, ...] = ()
    """How many calls the agent makes in each of its runs; without any there are cells, and no agent."""

    journal: str = "file"
    """``off``, ``memory``, ``file``."""

    slow: bool = False
    """Whether the gated function takes its time."""


SETTLED = 5
"""Until everything is at rest."""

# -- values -------------------------------------------------------------------------------------------------------


class Stubborn(list[Any]):
    """Has content, and cannot be copied."""

    def __deepcopy__(self, _: Any) -> "Stubborn":
        raise TypeError("I cannot be copied")


MESSAGES = ("Back up these rows?", "DELETE these rows?")
CONTENTS: tuple[dict[str, Any], ...] = (
    {"amount": 1, "rows": [1, 2]},
    {"amount": 100, "rows": [1, 2]},
    {"amount": 1.0, "rows": [1, 2]},
    {"amount": 1, "rows": [1, {"1": 2}]},
    {"amount": 1, "rows": [1, {1: 2}]},
    {"amount": 1, "rows": [1, Stubborn([2])]},
)
EDITS: tuple[Any, ...] = (7, 7.0, True, "7", {"1": 7}, {1: 7})


def content(about: int) -> dict[str, Any]:
    """One of `CONTENTS`, anew."""
    found = CONTENTS[about % len(CONTENTS)]
    return {**found, "rows": [row if isinstance(row, int) else type(row)(row) for row in found["rows"]]}


def exactly(value: Any) -> str:
    """A value in words, to the last type; what holds the parts does not matter."""
    if isinstance(value, BaseModel):
        value = dict(value.__dict__)
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{key!r}: {exactly(part)}' for key, part in value.items()))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(exactly, value))}]"
    return repr(value)


def arguments(number: int) -> dict[str, Any]:
    """What the agent's n-th call has."""
    return {"order": number, "amount": 1 if number % 2 else 100, "rows": [1, 2]}


def part(thing: Any, name: str) -> Any:
    """A part of it, whatever holds it."""
    return thing[name] if isinstance(thing, dict) else getattr(thing, name)


def change(thing: Any, what: int) -> None:
    """Change a value where it is."""
    put = dict.__setitem__ if isinstance(thing, dict) else setattr
    rows = part(thing, "rows")
    match what:
        case 0:
            rows.append(99)
        case 1:
            put(thing, "amount", 5)
        case 2:
            put(thing, "amount", True if part(thing, "amount") == 1 else 1)
        case 3:
            rows[0] = float(rows[0]) if type(rows[0]) is int else rows[0]
        case 4 if isinstance(rows[1], Stubborn | dict):
            rows[1].update({"2": 1}) if isinstance(rows[1], dict) else rows[1].append(99)


def is_small(args: Any) -> bool:
    """What rules look at."""
    return bool(part(args, "amount") == 1)
