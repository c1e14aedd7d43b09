"""How the journal is looked at: in a notebook, as sums, as a DataFrame, and by others as JSON lines or CSV."""

import csv
import html
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from statistics import median
from typing import Any, Final

from pydantic_core import to_json

from hitl_nb._calls import FAILED
from hitl_nb._text import SIGN, visible, warning_about
from hitl_nb.errors import MissingExtraError
from hitl_nb.journal._queries import KINDS, CallRow, kind_of
from hitl_nb.journal._store import Row

# -- quiet tables in the notebook's own colours, without a script -----------------------------------------------------

_LONGEST: Final = 120
"""Characters of a cell; this is an overview, `to_frame` has it all."""

_INKED: Final = "color:var(--jp-content-font-color1,currentColor)"
QUIET: Final = "color:var(--jp-content-font-color2,#757575);font-size:0.9em"
LINE: Final = "border-bottom:1px solid var(--jp-border-color2,#bdbdbd)"
_WRAPPED: Final = "max-width:30em;white-space:pre-wrap;overflow-wrap:anywhere"
"""A cell takes the lines it needs: the table is never wider than the page, whatever somebody wrote."""
COLOURS: Final = {
    "approved": "var(--jp-success-color1,#2e7d32)",
    "edited": "var(--jp-info-color1,#0277bd)",
    "declined": "var(--jp-error-color1,#c62828)",
    "expired": "var(--jp-warn-color1,#ef6c00)",
    "cancelled": "var(--jp-content-font-color3,#9e9e9e)",
    "other": "var(--jp-content-font-color2,#757575)",
    "open": "var(--jp-border-color1,#9e9e9e)",
}


_STORED_SO: Final = re.compile(r"\\x00|\\ud[89a-f][0-9a-f]{2}")


def escaped(text: object) -> str:
    """Return any text as HTML that shows it: markup as text, what is invisible as its escape, with a warning."""
    words = str(text)
    # A store has no NUL and no half of a pair: these were written out before.
    warning = (warning_about(_STORED_SO.sub("\0", words)) or "").split("\n")
    lines = "".join(f'<br><span style="{QUIET}">{SIGN} {html.escape(line)}</span>' for line in warning if line)
    return html.escape(visible(words)) + lines


def shortened(text: str) -> str:
    """Return a text that fits into a cell, and says when it goes on."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the cells are HTML already."""
    heads = "".join(
        f'<th scope="col" style="{LINE};text-align:left;padding:0.2em 0.8em">{head}</th>' for head in header
    )
    cell = f'<td style="{LINE};text-align:left;vertical-align:top;padding:0.2em 0.8em;{_WRAPPED}">'
    body = "".join(f"<tr>{''.join(f'{cell}{value}</td>' for value in row)}</tr>" for row in rows)
    return (
        f'<table class="hitl-journal" style="border-collapse:collapse;max-width:100%;{_INKED}">'
        f'<caption style="text-align:left;{QUIET}">{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def decision_row(call: CallRow) -> list[str]:
    """Return the cells of one call, a row of `calls` as a dict."""
    kind = kind_of(call)
    who = " · ".join(part for part in (call["by"], call["via"]) if part)
    said = call["reason"] or (call["answer"] and _spoken(call["answer"])) or ""
    return [
        f'<span style="{QUIET}">{escaped((call["answered_at"] or call["asked_at"])[:16].replace("T", " "))}</span>',
        f"<strong>{escaped(call['tool'])}</strong><br>{escaped(shortened(call['message'] or ''))}",
        '<span style="white-space:nowrap">'
        f'<span style="color:{COLOURS[kind]}">●</span> {escaped(_other(call) if kind == "other" else kind)}</span>',
        escaped(shortened(said)),
        escaped(who),
    ]


def _other(call: CallRow) -> str:
    """The word for an end that nobody has decided on."""
    if call["outcome"] != "aborted":
        return str(call["outcome"])
    return "failed" if (call["reason"] or "").startswith(FAILED) else "stopped"


def _spoken(answer: str) -> str:
    value = json.loads(answer)
    return value if isinstance(value, str) else answer


# -- how it went, and how long people took ----------------------------------------------------------------------------

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

    cancelled: int
    """Withdrawn before anybody answered."""

    other: int
    """Ended otherwise: stopped, failed, superseded, or the model's call was invalid."""

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


def summary_of(calls: Sequence[CallRow]) -> Summary:
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
    "cancelled": "#8d6e63",
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


# -- pandas if it is installed, else polars ---------------------------------------------------------------------------

_TIMES: Final = frozenset({"ts", "asked_at", "answered_at"})
_PARSED: Final = frozenset({"args", "answer", "edited"})


def frame(columns: Sequence[str], rows: list[Row], *, expand: bool = False) -> Any:
    """Return a DataFrame.

    Args:
        columns: The names.
        rows: The values; times as stored, JSON as text.
        expand: Parse the JSON: one column ``args.<name>`` an argument in place of `args`, and answers as Python data.
            Costs ten times the rest, hence not the default.

    Raises:
        MissingExtraError: Neither pandas nor polars is installed.
    """
    if expand:
        columns, rows = _expanded(columns, rows)
    if importlib.util.find_spec("pandas") is not None:
        return _pandas(columns, rows)
    if importlib.util.find_spec("polars") is not None:
        return _polars(columns, rows)
    raise MissingExtraError(
        "A DataFrame needs pandas or polars. Install one with `pip install pandas` and restart the kernel, "
        'or write `journal.to_jsonl("journal.jsonl")`.'
    )


def _pandas(columns: Sequence[str], rows: list[Row]) -> Any:
    import pandas

    made = pandas.DataFrame(rows, columns=list(columns))
    for name in _TIMES & set(columns):
        made[name] = pandas.to_datetime(made[name], utc=True, format="ISO8601")
    return made


def _polars(columns: Sequence[str], rows: list[Row]) -> Any:
    import polars

    series = []
    for place, name in enumerate(columns):
        values = [row[place] for row in rows]
        if name in _TIMES:
            series.append(polars.Series(name, values, dtype=polars.String).str.to_datetime(time_zone="UTC"))
            continue
        try:
            series.append(polars.Series(name, values))
        except (TypeError, polars.exceptions.PolarsError):
            # Answers of several types in one column.
            series.append(polars.Series(name, values, dtype=polars.Object))
    return polars.DataFrame(series)


def _expanded(columns: Sequence[str], rows: list[Row]) -> tuple[list[str], list[Row]]:
    parsed = [dict(zip(columns, map(_parsed, columns, row), strict=True)) for row in rows]
    found: dict[str, None] = {}
    for row in parsed:
        args = row.pop("args")
        for name, value in args.items() if isinstance(args, dict) else [("", args)]:
            column = f"args.{name}" if name else "args"
            row[column] = value
            found[column] = None
    place = list(columns).index("args")
    names = [*columns[:place], *found, *columns[place + 1 :]]
    return names, [tuple(row.get(name) for name in names) for row in parsed]


def _parsed(column: str, value: object) -> object:
    return json.loads(value) if column in _PARSED and isinstance(value, str) else value


# -- JSON lines (one an event) and CSV (one row a call) ---------------------------------------------------------------

_NESTED: Final = frozenset({"args", "answer", "edited", "value", "redacted"})


def write_jsonl(path: str | PathLike[str], columns: Sequence[str], rows: Iterable[Row]) -> Path:
    """Write one JSON object a row; columns that are JSON are nested, those that are empty left out."""
    target = Path(path)
    with target.open("wb") as file:
        for values in rows:
            row = {name: value for name, value in zip(columns, values, strict=True) if value is not None}
            row.update({name: json.loads(str(row[name])) for name in _NESTED & row.keys()})
            # "NaN" as a text: JSON has no other way to keep it.
            file.write(_as_line(row) + b"\n")
    return target


def _as_line(row: dict[str, object]) -> bytes:
    try:
        return to_json(row, inf_nan_mode="strings")
    except ValueError:
        # A lone surrogate, which UTF-8 cannot hold: as an escape, and by the slower way.
        exact = json.loads(json.dumps(row), parse_constant=str)
        return json.dumps(exact).encode()


def write_csv(path: str | PathLike[str], columns: Sequence[str], rows: Iterable[Row]) -> Path:
    """Write one row a call, with a header."""
    target = Path(path)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows([_harmless(value) for value in row] for row in rows)
    return target


def _harmless(value: object) -> object:
    """A text that a spreadsheet would run as a formula gets an apostrophe in front: a model may have written it.

    https://owasp.org/www-community/attacks/CSV_Injection
    """
    if not isinstance(value, str) or not value.startswith(("=", "+", "-", "@", "\t", "\r")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
