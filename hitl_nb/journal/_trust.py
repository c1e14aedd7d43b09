"""Is it what was written? Rows are followed along the chain before anything is done because of them.

What was found good once is not read again: the table refuses changes and deletions (triggers), and whoever works
around that changes SQLite's ``schema_version``, after which everything is read again.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hitl_nb.journal._chain import ID, PREVIOUS, SHA256, fault
from hitl_nb.journal._tables import GUARDS

Query = Callable[..., list[tuple[Any, ...]]]
"""Gives the rows that an SQL text with parameters finds."""

_CHUNK: Final = 1000
_GUARDS: Final = f"SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name IN ({GUARDS})"


class Span(NamedTuple):
    """Rows that are as they were written, one linked to the next."""

    first: int
    last: int
    sha256: str
    """Of the last row."""


class Trust:
    """What of one file was found good.

    Args:
        query: Reads the file as it was opened.
    """

    def __init__(self, query: Query) -> None:
        self._lock = threading.RLock()
        self._span: Span | None = None
        self._schema = _schema(query)

    def note(self, first: int, before: str, last: int, sha256: str) -> None:
        """Count rows as good that this process has appended.

        Args:
            first: The id of the first.
            before: The hash of the row before it.
            last: The id of the last.
            sha256: Its hash.
        """
        # Without the lock: should `holds` not see it, it reads these rows itself.
        span = self._span
        if span is None:
            self._span = Span(first, last, sha256)
        elif span.last == first - 1 and span.sha256 == before:
            self._span = Span(span.first, last, sha256)

    def holds(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are in the chain, from the earliest of them to the last of the file.

        Args:
            query: Reads the file.
            ids: The rows.
            uncommitted: Whether what it reads may yet come to nothing.
        """
        with self._lock:
            schema = _schema(query)
            if schema != self._schema or not schema.is_guarded:
                self._span, self._schema = None, schema
            span = _followed(query, min(ids), self._span)
            if not uncommitted:
                self._span = span
            return span is not None and all(_is_linked(query, each, span) for each in ids)

    @property
    def head(self) -> tuple[int, str]:
        """Id and hash of the last row that was found good."""
        span = self._span
        return (0, "") if span is None else (span.last, span.sha256)


@dataclass(frozen=True, kw_only=True)
class _Schema:
    """Whether the table is as we made it."""

    version: int
    is_guarded: bool


def _schema(query: Query) -> _Schema:
    [(version,)], [(guards,)] = query("PRAGMA schema_version"), query(_GUARDS)
    return _Schema(version=version, is_guarded=guards == GUARDS.count(",") + 1)


def _followed(query: Query, first: int, span: Span | None) -> Span | None:
    """The rows from `first` (or from earlier) to the last; None if one is not as it was written."""
    if span is None or first < span.first:
        last, sha256 = first - 1, None
    elif query("SELECT sha256 FROM events WHERE id = ?", (span.last,)) != [(span.sha256,)]:
        return None
    else:
        first, last, sha256 = span.first, span.last, span.sha256
    while chunk := query("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", (last, _CHUNK)):
        for row in chunk:
            if fault(row, last, row[PREVIOUS] if sha256 is None else sha256):
                return None
            last, sha256 = row[ID], row[SHA256]
    return None if sha256 is None else Span(first=first, last=last, sha256=sha256)


def _is_linked(query: Query, id_: int, span: Span) -> bool:
    """Whether a row is what its own hash, and the next row, say."""
    rows = query("SELECT * FROM events WHERE id BETWEEN ? AND ? ORDER BY id", (id_, id_ + 1))
    if not rows or fault(rows[0], id_ - 1, rows[0][PREVIOUS]):
        return False
    said: str = span.sha256 if id_ == span.last else rows[-1][PREVIOUS]
    return said == str(rows[0][SHA256])
