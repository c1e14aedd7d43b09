"""What a value looks like to a person: a table as a table, a figure as a picture, code as code, a date as a date.

The same tree as that of a text (`_nodes`), so one function draws both, in the browser and in the saved notebook.
Nothing is rounded and nothing is left out: a table that does not fit has pages, and whoever has to approve it can
open the last one. Invisible signs are written out where a tree leaves for the screen.
"""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from difflib import SequenceMatcher
from enum import Enum
from typing import Any, Final, TypeAlias

from hitl_nb._schema import FormNode, by_text, hide_secrets, is_sequence, opened, readable
from hitl_nb.cards._figures import figure_words, is_picture, maker_of, picture_of
from hitl_nb.cards._nodes import LINE, Node, code

PAGE: Final = 200
"""Rows of a table that are shown at once."""

_DEEPEST: Final = 8
_WIDEST: Final = 12
"""Columns up to which records are a table."""

OpenPage: TypeAlias = Callable[[str, int], int] | None
"""Gives the page that is open of the table at a path with so many more; None where no page can be turned."""


def seen(
    value: object,
    form: FormNode | None = None,
    *,
    name: str = "",
    page: OpenPage = None,
    drawn: Mapping[int, list[Node]] | None = None,
) -> list[Node]:
    """Return how a value is shown, secrets as stars.

    Args:
        value: Anything.
        form: What is known about its type.
        name: What it is called: a text that is called ``sql`` is code.
        page: Which page of a long table is open.
        drawn: How figures in it are shown of which a picture was made, by `id`.
    """
    return _Look(page, drawn or {}).of(value if form is None else hide_secrets(value, form), name, name, 0)


def in_words(value: object) -> str:
    """Return one value in a line, as a person reads it: a number with its thousands, a date, an Enum's name."""
    return _words(value, "")


class _Look:
    def __init__(self, page: OpenPage, drawn: Mapping[int, list[Node]]) -> None:
        self._page, self._drawn = page, drawn

    def of(self, value: object, name: str, path: str, depth: int) -> list[Node]:
        """Give the nodes of one value."""
        if isinstance(value, Kept):
            return [*value.nodes, *([] if value.table is None else [self._table(value.table, path)])]
        table = table_of(value)
        if table is not None:
            return [self._table(table, path)]
        if maker_of(value) is not None:
            return self._drawn.get(id(value)) or [_quiet(figure_words(value))]
        if (drawn := picture_of(value)) is not None:
            return [drawn]
        if isinstance(value, str) and not isinstance(value, Enum):
            return text_nodes(value, name)
        inside = _opened(value)
        if depth < _DEEPEST and isinstance(inside, Mapping):
            return [self._outline(inside, path, depth)] if inside else [_quiet("nothing in it")]
        if depth < _DEEPEST and is_sequence(inside):
            return self._list(list(inside), path, depth)
        return [_words(value, name)]

    def _outline(self, value: Mapping[Any, object], path: str, depth: int) -> Node:
        parts: list[Any] = []
        for label, key in by_text(value).items():
            parts.append(["dt", {}, label])
            parts.append(["dd", {}, *self.of(value[key], label, f"{path}.{label}", depth + 1)])
        return ["dl", {}, *parts]

    def _list(self, items: list[Any], path: str, depth: int) -> list[Node]:
        if not items:
            return [_quiet("an empty list")]
        if (table := _records(items)) is not None:
            return [self._table(table, path)]
        line = ", ".join(_words(item, "") for item in items[:PAGE])
        if len(items) <= PAGE and len(line) <= LINE and not any(map(_is_long, items)):
            return [line]
        if len(items) > PAGE and not any(map(_is_long, items)):
            return [self._table(Grid(columns=("",), count=len(items), row=lambda at: [items[at]]), path)]
        return [
            ["ol", {}, *(["li", {}, *self.of(item, "", f"{path}[{at}]", depth + 1)] for at, item in enumerate(items))]
        ]

    def _table(self, table: "Grid", path: str) -> Node:
        last = max(0, (table.count - 1) // PAGE)
        page = min(max(self._page(path, last) if self._page else 0, 0), last)
        rows = range(page * PAGE, min((page + 1) * PAGE, table.count))
        cells: list[list[Node]] = [list(map(_cell, table.row(at))) for at in rows]
        looks = [_same_look([row[at] for row in cells]) for at in range(len(table.columns))]
        titles = (["th", look, str(column)] for look, column in zip(looks, table.columns, strict=True))
        head = ["thead", {}, ["tr", {}, *titles]]
        body: Node = ["tbody", {}, *(["tr", {}, *row] for row in cells)]
        about: dict[str, Any] = {"rows": table.count, "columns": len(table.columns)}
        if last:
            about |= {"first": rows.start + 1, "last": rows.stop, "page": page, "pages": last + 1}
            about |= {"at": path} if self._page else {}
        return ["table", about, head, body]


def _quiet(words: str) -> Node:
    return ["em", {}, words]


def _is_long(item: object) -> bool:
    return isinstance(_opened(item), Mapping) or is_sequence(_opened(item)) or (isinstance(item, str) and "," in item)


def _opened(value: object) -> object:
    """A value whose parts can be looked at; an Enum's member is its name and has none."""
    return value if isinstance(value, Enum) else opened(value)


# -- texts and code ------------------------------------------------------------------------------------------

_LANGUAGES: Final = {
    "sql": "sql",
    "diff": "diff",
    "patch": "diff",
    "json": "json",
    "yaml": "yaml",
    "python": "python",
    "code": "",
    "source": "",
    "script": "",
    "query": "",
    "command": "",
    "cmd": "",
    "shell": "bash",
    "bash": "bash",
    "regex": "",
    "pattern": "",
    "traceback": "",
}


def language_of(name: str) -> str | None:
    """Return the language of a text by what it is called, ``""`` where it is code of any; None for other texts."""
    return next((_LANGUAGES[word] for word in reversed(re.split(r"[^a-z]+", name.lower())) if word in _LANGUAGES), None)


def text_nodes(text: str, name: str = "") -> list[Node]:
    """Return a text as it is, or as code where its name says so."""
    language = language_of(name)
    if language is not None:
        return [code(text, language)]
    return [["plain", {}, text]] if "\n" in text else [text]


# -- one value in a line -------------------------------------------------------------------------------------

_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_GROUPED: Final = 10_000
"""From here on a number has its thousands apart."""
_CODES: Final = re.compile(r"(^|_)(id|ids|no|nr|number|code|zip|year|phone|port|pid|seed)$", re.IGNORECASE)
"""Names of numbers that count nothing."""


def _words(value: object, name: str) -> str:
    value = _scalar(value)
    match value:
        case Enum():
            return value.name
        case None:
            return "–"
        case bool():
            return "yes" if value else "no"
        case int() | float() | Decimal():
            return _number(value, name)
        case datetime():
            return _moment(value)
        case date():
            return _day(value)
        case time():
            return value.isoformat()
        case timedelta():
            return _duration(value)
    shown = readable(value)
    return shown if isinstance(shown, str) else _compact(shown)


def _scalar(value: object) -> object:
    """A number of numpy's is a number."""
    if (
        getattr(value, "shape", None) == ()
        and hasattr(value, "dtype")
        and callable(item := getattr(value, "item", None))
    ):
        return item()
    return value


def _number(value: int | float | Decimal, name: str) -> str:
    plain = str(value)
    if value != value:
        return "NaN"
    if abs(float(value)) < _GROUPED or "e" in plain.lower() or not plain[-1].isdigit() or _CODES.search(name):
        return plain
    whole, dot, rest = plain.partition(".")
    return f"{int(whole):,}{dot}{rest}"


def _day(day: date) -> str:
    return f"{_DAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year}"


def _moment(moment: datetime) -> str:
    if moment != moment:
        return str(moment)  # pandas' NaT
    clock = str(moment.time()) if not getattr(moment, "nanosecond", 0) else str(moment).split(" ")[1]
    clock = clock.removesuffix(":00") if clock.count(":") > 1 else clock
    zone = "" if moment.tzinfo is None else f" {_zone(moment)}"
    return f"{_day(moment.date())}, {clock}{zone}"


def _zone(moment: datetime) -> str:
    offset = moment.strftime("%z")
    return "UTC" if not offset.strip("+-0:") else f"UTC{offset[:3]}:{offset[3:5]}"


def _duration(span: timedelta) -> str:
    if span < timedelta(0):
        return f"-({_duration(-span)})"
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    rest = f"{seconds}{f'.{span.microseconds:06}'.rstrip('0') if span.microseconds else ''}"
    parts = [(span.days, "d"), (hours, "h"), (minutes, "min")]
    words = [f"{count} {unit}" for count, unit in parts if count]
    return " ".join([*words, f"{rest} s"] if rest != "0" or not words else words)


def _compact(shown: object) -> str:
    if isinstance(shown, Mapping):
        return "; ".join(f"{key}: {_compact(part)}" for key, part in shown.items()) or "nothing in it"
    if is_sequence(shown):
        return ", ".join(map(_compact, shown)) or "an empty list"
    return _words(shown, "") if not isinstance(shown, str) else shown


# -- what has changed ----------------------------------------------------------------------------------------

_PARTS: Final = re.compile(r"\s+|\w+|[^\w\s]")
_MOST_PARTS: Final = 2_000
"""Of a text: from here on lines are compared and no words."""


def changed_nodes(before: object, after: object, name: str = "") -> list[Node]:
    """Return a change: ``9 → 4``, or what is gone from a longer text and what is new in it.

    Args:
        before: As plain JSON.
        after: As plain JSON.
        name: What it is called.
    """
    if isinstance(before, str) and isinstance(after, str) and max(len(before), len(after)) > LINE // 2:
        return _text_changes(before, after)
    return [*seen(before, name=name), " → ", *seen(after, name=name)]


def _text_changes(before: str, after: str) -> list[Node]:
    pieces = [_PARTS.findall(text) for text in (before, after)]
    if max(map(len, pieces)) > _MOST_PARTS:
        pieces = [text.splitlines(keepends=True) for text in (before, after)]
    first, second = pieces
    nodes: list[Any] = ["plain", {}]
    for kind, a, b, c, d in SequenceMatcher(None, first, second).get_opcodes():
        gone, new = "".join(first[a:b]), "".join(second[c:d])
        if kind == "equal":
            nodes.append(gone)
        else:
            nodes += [["del", {}, gone]] if gone else []
            nodes += [["ins", {}, new]] if new else []
    return [nodes]


# -- tables --------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows and columns, wherever they are kept."""

    columns: Sequence[object]
    """What stands above."""

    count: int
    """How many rows there are."""

    row: Callable[[int], Sequence[object]]
    """Gives one of them."""


class Cell:
    """A cell in words, as it was drawn elsewhere.

    Args:
        words: What it says.
        is_number: Whether it stands under other numbers.
    """

    def __init__(self, words: str, is_number: bool) -> None:
        self.words, self.is_number = words, is_number


class Kept:
    """A table or a picture as it was drawn elsewhere.

    Args:
        table: The table.
        nodes: What shows the picture, or is said in its place, or beside the table.
    """

    def __init__(self, *, table: Grid | None = None, nodes: Sequence[Node] = ()) -> None:
        self.table, self.nodes = table, list(nodes)


def table_of(value: object) -> Grid | None:
    """Return a DataFrame, a Series or an array as a table; None for everything else."""
    room = type(value).__module__.split(".")[0]
    if room == "pandas":
        return _of_pandas(value)
    if room == "polars":
        return _of_polars(value)
    if room == "numpy" and getattr(value, "ndim", 0) in (1, 2) and hasattr(value, "tolist"):
        return None if is_picture(value) else _of_array(value)
    return None


def _of_pandas(value: Any) -> Grid | None:
    if not hasattr(value, "iloc"):
        return None
    if not hasattr(value, "columns"):
        value = value.to_frame(value.name if value.name is not None else "value")
    index = value.index
    names = [column_words(column) for column in value.columns]
    columns = [value.iloc[:, at].array for at in range(len(names))]
    above = column_words(index.name) if index.name is not None else ""
    return Grid(columns=[above, *names], count=len(value), row=lambda at: [index[at], *(part[at] for part in columns)])


def _of_polars(value: Any) -> Grid | None:
    if hasattr(value, "to_frame"):
        value = value.to_frame()
    if not hasattr(value, "row"):
        return None
    return Grid(columns=list(value.columns), count=value.height, row=value.row)


def _of_array(value: Any) -> Grid:
    several = value.ndim == 2
    columns = ["", *map(str, range(value.shape[1]))] if several else ["", "value"]
    return Grid(columns=columns, count=len(value), row=lambda at: [at, *(value[at] if several else [value[at]])])


def _records(items: list[Any]) -> Grid | None:
    """Records with the same few fields, none of which holds more than a line."""
    rows = [row for row in map(_opened, items) if isinstance(row, Mapping) and row]
    if len(rows) < max(len(items), 2):
        return None
    names = list(dict.fromkeys(name for row in rows for name in row))
    flat = all(not _is_nested(part) for row in rows for part in row.values())
    if len(names) > _WIDEST or not flat:
        return None
    return Grid(columns=names, count=len(rows), row=lambda at: [rows[at].get(name, _ABSENT) for name in names])


def _is_nested(value: object) -> bool:
    inside = _opened(value)
    return isinstance(inside, Mapping) or is_sequence(inside) or (isinstance(value, str) and "\n" in value)


class _Absent:
    pass


_ABSENT: Final = _Absent()


def column_words(column: object) -> str:
    """Return what stands above a column of a table; its levels, if it has several."""
    return " / ".join(map(str, column)) if isinstance(column, tuple) else str(column)


def _same_look(cells: Sequence[Any]) -> dict[str, Any]:
    """The look of a column's title: numbers stand under theirs."""
    return {"align": "right"} if cells and all(cell[1] for cell in cells) else {}


def _cell(value: object) -> Node:
    words, number = cell_words(value)
    return ["td", {"align": "right"} if number else {}, words] if words else ["td", {}]


def cell_words(value: object) -> tuple[str, bool]:
    """Return what a cell of a table says, and whether it is a number."""
    if isinstance(value, Cell):
        return value.words, value.is_number
    if value is _ABSENT:
        return "", False
    value = _scalar(value)
    return _words(value, ""), isinstance(value, int | float | Decimal) and not isinstance(value, bool | Enum)
