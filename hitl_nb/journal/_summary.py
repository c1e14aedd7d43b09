"""How it went: what was asked, approved, edited, declined, and how long people took."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import median
from typing import Any, Final

from hitl_nb.errors import MissingExtraError
from hitl_nb.journal._html import COLOURS, QUIET, escaped, table
from hitl_nb.journal._queries import KINDS, kind_of

_BY_PEOPLE: Final = ("approved", "edited", "declined")


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The calls of a journal, counted."""

    asked: int
    """All calls; the following add up to it."""

    approved: int
    """Answered with what was proposed, or with an answer to a question."""

    edited: int
    """Answered with a changed proposal."""

    declined: int
    """Somebody said no."""

    expired: int
    """Nobody answered in time."""

    other: int
    """Ended otherwise: cancelled, stopped, superseded, or the model's call was invalid."""

    open: int
    """Not decided yet."""

    late: int
    """Answers that came after the first and changed nothing."""

    median_seconds: float | None
    """Half of the calls that were approved, edited or declined took at most so long; None without any."""

    by: dict[str, int]
    """Who decided how many."""

    moments: tuple[tuple[datetime, str], ...] = field(repr=False)
    """When each call was asked, and its kind."""

    def plot(self, ax: Any = None) -> Any:
        """Draw how many calls of each kind were asked over time, and give the matplotlib axes.

        Args:
            ax: The axes to draw on; default: new ones.

        Raises:
            MissingExtraError: matplotlib is not installed.
        """
        axes = ax if ax is not None else _new_axes()
        step, unit = _step(self.moments)
        starts = sorted({_floor(moment, step) for moment, _ in self.moments})
        counts = Counter((_floor(moment, step), kind) for moment, kind in self.moments)
        below = [0] * len(starts)
        for kind in KINDS:
            heights = [counts[start, kind] for start in starts]
            if any(heights):
                axes.bar(starts, heights, bottom=below, width=step * 0.8, align="edge", color=_INK[kind], label=kind)
            below = [low + height for low, height in zip(below, heights, strict=True)]
        axes.set_ylabel(f"calls asked per {unit}")
        axes.set_title(self._headline())
        axes.yaxis.get_major_locator().set_params(integer=True)
        if self.moments:
            axes.figure.autofmt_xdate()
            axes.legend(frameon=False)
        return axes

    def _headline(self) -> str:
        time = "" if self.median_seconds is None else f" · median {_duration(self.median_seconds)} to answer"
        return f"{self.asked} asked{time}"

    def __repr__(self) -> str:
        counts = " · ".join(f"{getattr(self, kind)} {kind}" for kind in KINDS if getattr(self, kind))
        late = f" · {self.late} late" if self.late else ""
        return f"<Summary {self._headline()}{': ' if counts else ''}{counts}{late}>"

    def _repr_html_(self) -> str:
        rows = [self._bar(kind) for kind in KINDS if getattr(self, kind)]
        people = ", ".join(f"{escaped(name)} {count}" for name, count in self.by.items())
        answers = "answer" if self.late == 1 else "answers"
        late = f"{self.late} late {answers} that changed nothing" if self.late else ""
        foot = " · ".join(part for part in (f"decided by {people}" if people else "", late) if part)
        return f'{table(escaped(self._headline()), ("", "calls", ""), rows)}<div style="{QUIET}">{foot}</div>'

    def _bar(self, kind: str) -> list[str]:
        count = getattr(self, kind)
        width = 12 * count / max(self.asked, 1)
        bar = f'<span style="display:inline-block;height:0.7em;width:{width:.2f}em;background:{COLOURS[kind]}"></span>'
        return [kind, str(count), bar]


def summary_of(calls: Sequence[dict[str, Any]]) -> Summary:
    """Count calls; each is a row of `calls` as a dict."""
    kinds = [kind_of(call) for call in calls]
    counts = Counter(kinds)
    seconds = [
        call["seconds"]
        for call, kind in zip(calls, kinds, strict=True)
        if kind in _BY_PEOPLE and call["seconds"] is not None
    ]
    return Summary(
        asked=len(calls),
        **{kind: counts[kind] for kind in KINDS},
        late=sum(call["late"] for call in calls),
        median_seconds=median(seconds) if seconds else None,
        by=dict(Counter(call["by"] for call in calls if call["by"]).most_common()),
        moments=tuple(
            (datetime.fromisoformat(call["asked_at"]), kind) for call, kind in zip(calls, kinds, strict=True)
        ),
    )


_INK: Final = {
    "approved": "#2e7d32",
    "edited": "#0277bd",
    "declined": "#c62828",
    "expired": "#ef6c00",
    "other": "#757575",
    "open": "#bdbdbd",
}
"""As `COLOURS`, for paper."""

_STEPS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
}
_MOST_BARS: Final = 60


def _step(moments: Sequence[tuple[datetime, str]]) -> tuple[timedelta, str]:
    """The narrowest bars that still fit."""
    times = [moment for moment, _ in moments]
    span = max(times) - min(times) if times else timedelta()
    unit = next((name for name, step in _STEPS.items() if span <= step * _MOST_BARS), "week")
    return _STEPS[unit], unit


def _floor(moment: datetime, step: timedelta) -> datetime:
    epoch = datetime(2000, 1, 3, tzinfo=moment.tzinfo)  # a Monday
    return epoch + (moment - epoch) // step * step


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def _new_axes() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise MissingExtraError(
            "A plot needs matplotlib. Install it with `pip install matplotlib` and restart the kernel; "
            "`journal.summary()` shows the same numbers without it."
        ) from error
    return matplotlib.pyplot.subplots(figsize=(7, 3), layout="constrained")[1]
