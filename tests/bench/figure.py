"""One figure of a bench: what was found, and what it should be. A bench tells it as a line, which is read back here."""

import re
from dataclasses import asdict, dataclass
from typing import Any

_LINE = re.compile(
    r"(?P<what>.+?): (?:not measured|(?P<found>-?[\d,]*\.?\d+) (?P<unit>\S+))"
    r"(?: \(goal ≤ (?P<goal>-?[\d,]*\.?\d+)\))?(?:; (?P<note>.+))?"
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line."""

    bench: str = ""
    what: str
    """What was measured, beside what."""

    found: float | None = None
    """None: there should be one, and `note` says why there is none."""

    unit: str = "×"
    """``×`` is a ratio of two things that were measured in turn."""

    goal: float | None = None
    note: str = ""

    @property
    def misses(self) -> bool:
        """Whether it has a goal, and does not reach it."""
        return self.goal is not None and (self.found is None or self.found > self.goal)

    @property
    def failed(self) -> bool:
        """Whether it should have been measured, and was not."""
        return self.found is None

    @property
    def text(self) -> str:
        """As it is printed."""
        if self.found is None:
            return f"{self.what}: not measured; {self.note}"
        goal = "" if self.goal is None else f" (goal ≤ {short(self.goal)})"
        note = f"; {self.note}" if self.note else ""
        return f"{self.what}: {short(self.found)} {self.unit}{goal}{note}"

    @classmethod
    def of(cls, bench: str, line: str) -> "Figure | None":
        """Read a line; None is one that a library has printed."""
        read = _LINE.fullmatch(line.strip())
        if read is None:
            return None
        return cls(
            bench=bench,
            what=read["what"],
            found=_number(read["found"]),
            unit=read["unit"] or "×",
            goal=_number(read["goal"]),
            note=read["note"] or "",
        )

    def stored(self) -> dict[str, Any]:
        """As it is kept in a file, without what is usual."""
        usual = Figure(what="")
        return {name: value for name, value in asdict(self).items() if value != getattr(usual, name)}


def _number(text: str | None) -> float | None:
    return None if text is None else float(text.replace(",", ""))


def short(value: float) -> str:
    """A number with three digits that count, and never as a power of ten."""
    if value and abs(value) < 0.00095:
        return f"{value:.5f}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def tell(what: str, found: float, goal: float | None = None, *, unit: str = "×", note: str = "") -> None:
    """Print a figure.

    Args:
        what: What was measured, beside what; no colon in it.
        found: The ratio, or another number.
        goal: What it should not exceed.
        unit: One word.
        note: What else is known of it: milliseconds, the other side.
    """
    print(Figure(what=what.replace(": ", ", "), found=found, unit=unit, goal=goal, note=note).text, flush=True)


def tell_none(what: str, why: object) -> None:
    """Print that there is no figure, and why."""
    print(Figure(what=what.replace(": ", ", "), note=str(why).replace("\n", " ")).text, flush=True)
