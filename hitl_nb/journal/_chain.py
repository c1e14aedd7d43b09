"""The hash chain: each row carries the hash of the row before it, so a change anywhere breaks every link after it.

A row's ``sha256`` is that of the UTF-8 text of the JSON object of its columns, in the order of the table, without
those that are NULL and without ``sha256`` itself; compact, non-ASCII kept. The first ``prev_sha256`` is 64 zeros. So
anybody can check a file with a dozen lines of any language, and a later version may add columns without touching the
hashes of old rows.

A chain proves order and content, not origin: who can write the file can also forge a whole new chain. Keep
``Verification.head`` elsewhere (in a commit, in a mail), and ``journal.verify(head=...)`` tells a forgery, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from pydantic_core import to_json

from hitl_nb.journal._tables import COLUMNS

START: Final = "0" * 64
"""What the first row names as the hash of the row before it."""

_HASHED: Final = COLUMNS[:-1]


def digest(row: Mapping[str, Any]) -> str:
    """Give the hash of a row, by its columns in order (``sha256`` itself does not count)."""
    content = {name: value for name in _HASHED if (value := row.get(name)) is not None}
    return sha256(to_json(content)).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What `Journal.verify` found."""

    ok: bool
    """Whether every row is as it was written."""

    rows: int
    """How many rows were found good."""

    head: str
    """The hash of the last good row: keep it elsewhere to prove later that nothing before it was touched."""

    bad_row: int | None = None
    """The id of the first row that is wrong."""

    what: str = ""
    """What is wrong with it, in words."""

    def __str__(self) -> str:
        if self.ok:
            return f"ok: {self.rows} rows, head {self.head[:12]}…"
        where = "the end" if self.bad_row is None else f"row {self.bad_row}"
        return f"NOT ok at {where}: {self.what}"


def verified(rows: Iterable[tuple[Any, ...]], head: str | None) -> Verification:
    """Follow the chain through all rows in the order of their ids.

    Args:
        rows: Tuples as `COLUMNS` orders them.
        head: A hash that was kept elsewhere; it must be in the chain.
    """
    last_id, last, seen = 0, START, head is None or head == START
    for values in rows:
        row = dict(zip(COLUMNS, values, strict=True))
        what = _fault(row, last_id, last)
        if what:
            return Verification(ok=False, rows=last_id, head=last, bad_row=row["id"], what=what)
        last_id, last = row["id"], row["sha256"]
        seen = seen or last == head
    if not seen:
        what = f"no row has the hash {head!r}: rows were cut off, or the whole chain was written anew"
        return Verification(ok=False, rows=last_id, head=last, what=what)
    return Verification(ok=True, rows=last_id, head=last)


def _fault(row: Mapping[str, Any], last_id: int, last: str) -> str:
    if row["id"] != last_id + 1:
        return f"row {last_id + 1} is missing"
    if row["prev_sha256"] != last:
        return "it does not follow the row before it"
    if row["sha256"] != digest(row):
        return "its content is not what was written"
    return ""
