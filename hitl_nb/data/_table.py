"""A table that is being reviewed, of whichever library: what it was when it was shown, and whether it still is."""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from hashlib import sha256
from threading import Thread
from typing import Any, Final

from hitl_nb._calls import equal, print_of
from hitl_nb._process import has_threads
from hitl_nb.data._cells import EDITABLE
from hitl_nb.data._frames import Frame, RecordsFrame, is_records
from hitl_nb.data._libraries import ArrowFrame, PandasFrame, PolarsFrame
from hitl_nb.errors import UsageError


class Table:
    """A frame that is being reviewed: a snapshot to draw, and a print to tell whether code has changed it since.

    Args:
        given: The frame.

    Raises:
        UsageError: It is none.
    """

    def __init__(self, given: object) -> None:
        self.given = given
        self.frame: Frame = _snapshot_of(given)
        self._first: Future[tuple[str, bool]] = Future()
        self._checked: bool | None = None
        if has_threads():  # one of its own: a million rows are read while the first of them are on screen
            Thread(target=self._read, daemon=True, name="hitl_nb: reading a table").start()
        else:
            self._read()

    def _read(self) -> None:
        try:
            self._first.set_result(_content(self.frame.shown))
        except BaseException as error:
            self._first.set_exception(error)

    @property
    def holds_objects(self) -> bool:
        """Whether cells can be changed without the frame: what is shown has to be read before it is shown then."""
        return any(column.kind == "other" and column.dtype.lower() == "object" for column in self.frame.columns)

    def content(self) -> tuple[str, bool]:
        """Return the print of what was shown, waiting for it, and whether it is the same in every process."""
        return self._first.result()

    def has_changed(self) -> bool:
        """Whether code has changed the frame since it was shown; reads all of it, unless `check` has just done so."""
        return self._checked if self._checked is not None else _content(self.given)[0] != self.content()[0]

    def check(self) -> None:
        """Read the frame once more, in whichever thread this is; `forget` ends what it found."""
        self._checked = None
        self._checked = self.has_changed()

    def forget(self) -> None:
        """The frame may have changed again."""
        self._checked = None

    def place_of(self, name: object) -> int:
        """Return the place of a column from its name, or from its place where two have one name.

        Raises:
            UsageError: There is none, or there are two.
        """
        found = [column.place for column in self.frame.columns if equal(column.label, name)]
        if len(found) == 1:
            return found[0]
        if not found and isinstance(name, int) and 0 <= name < len(self.frame.columns):
            return name
        names = ", ".join(column.name for column in self.frame.columns)
        what = f"has {len(found)} columns called" if found else "has no column"
        raise UsageError(f"The table {what} `{name}`. It has {names}. Write one of them, or its place from 0.")

    def editable(self, wanted: Iterable[object]) -> list[int]:
        """Return the places of columns whose cells may be edited.

        Raises:
            UsageError: There is no such column, or what it holds cannot be typed.
        """
        places = [self.place_of(name) for name in wanted]
        for place in places:
            column = self.frame.columns[place]
            if column.kind not in EDITABLE:
                raise UsageError(
                    f"Cells of `{column.name}` ({column.dtype}) are shown only. Leave it out of `edit=`, or make a "
                    "column of it that can be typed, e.g. with `.astype(str)`."
                )
        return places

    def words(self) -> str:
        """Say how much there is."""
        return f"{counted(self.frame.rows, 'row')} × {counted(len(self.frame.columns), 'column')}"


_ADAPTERS: Final[Mapping[str, Callable[[Any], Frame]]] = {
    "pandas.DataFrame": PandasFrame,
    "polars.DataFrame": PolarsFrame,
    "pyarrow.Table": ArrowFrame,
    "hitl_nb.StoredFrame": lambda frame: frame,  # drawn elsewhere, and never another one
}


def _snapshot_of(value: object) -> Frame:
    for kind in type(value).__mro__:
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        if name in _ADAPTERS:
            return _ADAPTERS[name](value)
    if isinstance(value, list) and is_records(value):
        return RecordsFrame(value)
    raise UsageError(
        f"A `{type(value).__name__}` is no table. Write `review_table(df)` with a DataFrame of pandas or polars, "
        "or a pyarrow Table; a LazyFrame as `lazy.collect()`."
    )


def is_frame(value: object) -> bool:
    """Whether a value is a table that can be reviewed."""
    return any(f"{kind.__module__.partition('.')[0]}.{kind.__name__}" in _ADAPTERS for kind in type(value).__mro__)


def is_table(value: object) -> bool:
    """Whether a value is one, or the list of records that a model sends for one."""
    return is_frame(value) or is_records(value)


def _content(frame: object) -> tuple[str, bool]:
    if (content := getattr(frame, "__content__", None)) is not None:
        return str(content), True
    rows = range(0, max(len(frame), 1), _CHUNK)  # type: ignore[arg-type]  # a frame has a length
    prints = [print_of(_part(frame, first)) for first in rows]
    digest = sha256("".join(each.digest for each in prints).encode()).hexdigest()
    return digest, all(each.durable for each in prints)


_CHUNK: Final = 50_000
"""Rows that are read at once: to read a text column makes an object of each cell, and others want to run between."""


def _part(frame: Any, first: int) -> object:
    if isinstance(frame, list):
        return frame[first : first + _CHUNK]
    if type(frame).__module__.partition(".")[0] == "polars" or not hasattr(frame, "iloc"):
        return frame.slice(first, _CHUNK)
    return frame.iloc[first : first + _CHUNK]


def counted(number: int, word: str, several: str = "") -> str:
    """Return how many there are, in words."""
    return f"{number:,} {word if number == 1 else several or word + 's'}"
