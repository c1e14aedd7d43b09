"""The reading half of a journal: tables, sums, exports, proof."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, Unpack

from hitl_nb.journal._chain import Verification, heads_of, verified
from hitl_nb.journal._export import write_csv, write_jsonl
from hitl_nb.journal._filters import Filters
from hitl_nb.journal._frames import frame
from hitl_nb.journal._html import QUIET, decision_row, escaped, table
from hitl_nb.journal._queries import CALL_COLUMNS, calls, events
from hitl_nb.journal._store import Store
from hitl_nb.journal._summary import Summary, summary_of
from hitl_nb.journal._tables import COLUMNS

_SHOWN: Final = 20
_HEADER: Final = ("when (UTC)", "asked", "outcome", "answer", "by")


class Reading:
    """What can be asked of a journal. All filters are optional and the same everywhere.

    ==========  =================================================================================
    `tool`      a tool's name, or several
    `outcome`   ``answered``, ``declined``, ``expired``, …, or ``open``; one or several
    `by`        who decided, or several
    `thread`    a conversation's id, or several
    `since`     a datetime (naive: local time), an ISO text, or a timedelta back from now
    ==========  =================================================================================
    """

    _store: Store
    _where: str

    def to_frame(self, *, expand: bool = False, **filters: Unpack[Filters]) -> Any:
        """Give the calls as a DataFrame, one row each, in the order in which they were asked.

        Args:
            expand: Parse the JSON columns: one column ``args.<name>`` an argument; `answer`, `edited` as Python data.
            filters: See the class.

        Returns:
            A pandas DataFrame (polars, if only that is installed) with the columns id, tool, kind, message, outcome
            (None while open), by, via, reason, asked_at, answered_at (UTC), seconds (from asked to answered), args,
            answer, edited (JSON text; `edited` is the list of changed paths), late (how many answers came after the
            first), thread, run.

        Raises:
            MissingExtraError: Neither pandas nor polars is installed.
            UsageError: A filter that there is not.
        """
        return frame(CALL_COLUMNS, calls(self._store, filters), expand=expand)

    def events(self, **filters: Unpack[Filters]) -> Any:
        """Give the events as a DataFrame, one row each: asked, shown, answered, delivered, late and so on.

        Args:
            filters: See the class.

        Raises:
            MissingExtraError, UsageError: As `to_frame`.
        """
        return frame(COLUMNS, events(self._store, filters))

    def summary(self, **filters: Unpack[Filters]) -> Summary:
        """Count what was asked, approved, edited, declined and expired; ``.plot()`` draws it over time.

        Args:
            filters: See the class.

        Raises:
            UsageError: A filter that there is not.
        """
        return summary_of(self._calls(filters))

    def verify(self, *, head: str | None = None, notebook: str | PathLike[str] | None = None) -> Verification:
        """Follow the hash chain through the whole file: was anything changed, cut out or put in?

        The chain alone proves that no row was changed, taken out or put in between two others. It cannot tell that
        rows at the end were cut off, nor that somebody who can write the file has written all of it anew. A head that
        was kept elsewhere can: each record in a notebook keeps the head of its moment in its output's metadata, so the
        notebook proves all up to its last record, against everybody who cannot change both the journal and the
        notebook. What came after the last head that was kept, nothing can prove.

        Args:
            head: A ``Verification.head`` that was kept elsewhere; it must still be in the chain.
            notebook: An ``.ipynb`` whose outputs keep some; all of them must be.

        Raises:
            UsageError: `notebook` is no notebook.
        """
        heads = {} if notebook is None else heads_of(notebook)
        if head is not None:
            heads = {head: "", **heads}
        return verified(self._store.all_rows(), heads)

    def to_jsonl(self, path: str | PathLike[str], **filters: Unpack[Filters]) -> Path:
        """Write one JSON object an event, and give the path.

        Raises:
            UsageError: A filter that there is not.
            OSError: The file cannot be written.
        """
        return write_jsonl(path, COLUMNS, events(self._store, filters))

    def to_csv(self, path: str | PathLike[str], **filters: Unpack[Filters]) -> Path:
        """Write one row a call, as `to_frame`, and give the path. Text that a spreadsheet would run is made harmless.

        Raises:
            UsageError: A filter that there is not.
            OSError: The file cannot be written.
        """
        return write_csv(path, CALL_COLUMNS, calls(self._store, filters))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over the events in order, each a dict of the columns it has; needs no pandas."""
        for row in self._store.all_rows():
            yield {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}

    def _calls(self, filters: Filters, latest: int | None = None) -> list[dict[str, Any]]:
        rows = calls(self._store, filters, latest=latest)
        return [dict(zip(CALL_COLUMNS, row, strict=True)) for row in rows]

    def _repr_html_(self) -> str:
        rows = [decision_row(call) for call in self._calls({}, latest=_SHOWN)]
        if not rows:
            return f'<span style="{QUIET}">{escaped(repr(self))}: nothing asked yet</span>'
        return table(f"{escaped(repr(self))}: the last {len(rows)} calls", _HEADER, rows)

    def __repr__(self) -> str:
        [(count,)] = self._store.rows("SELECT count(*) FROM events WHERE event = 'asked'")
        return f"<Journal {self._where} · {count} calls>"
