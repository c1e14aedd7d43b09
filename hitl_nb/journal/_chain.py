"""The hash chain: each row carries the hash of the row before it, so a change anywhere breaks every link after it.

A row's ``sha256`` is that of the UTF-8 text of the JSON object of its columns, in the order of the table, without
those that are NULL and without ``sha256`` itself; compact, non-ASCII kept. The first ``prev_sha256`` is 64 zeros. So
anybody can check a file with a dozen lines of any language, and a later version may add columns without touching the
hashes of old rows.

A chain proves order and content, not origin: who can write the file can also cut off its end, or forge a whole new
chain. Against that a head is kept elsewhere: every notebook keeps some by itself, in the metadata of its outputs
(``journal.verify(notebook=...)``); in a commit or a mail it is safe also from who can write the notebook
(``journal.verify(head=...)``).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_json

from hitl_nb.errors import UsageError
from hitl_nb.journal._tables import COLUMNS

START: Final = "0" * 64
"""What the first row names as the hash of the row before it."""

ID: Final = COLUMNS.index("id")
PREVIOUS: Final = COLUMNS.index("prev_sha256")
SHA256: Final = COLUMNS.index("sha256")


def digest(row: Sequence[Any]) -> str:
    """Give the hash of a row, whose values stand in the order of `COLUMNS` (``sha256`` itself does not count)."""
    content = {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}
    content.pop("sha256", None)
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

    heads: int = 0
    """How many hashes that were kept elsewhere were found in the chain."""

    def __str__(self) -> str:
        if self.ok:
            kept = f", {self.heads} kept {'head' if self.heads == 1 else 'heads'} found" if self.heads else ""
            return f"ok: {self.rows} rows, head {self.head[:12]}…{kept}"
        where = "the end" if self.bad_row is None else f"row {self.bad_row}"
        return f"NOT ok at {where}: {self.what}"


def verified(rows: Iterable[tuple[Any, ...]], heads: Mapping[str, str]) -> Verification:
    """Follow the chain through all rows in the order of their ids.

    Args:
        rows: Tuples as `COLUMNS` orders them.
        heads: Hashes that were kept elsewhere and where; they must be in the chain.
    """
    last_id, last, missing = 0, START, {head: where for head, where in heads.items() if head != START}
    for row in rows:
        what = fault(row, last_id, last)
        if what:
            return Verification(ok=False, rows=last_id, head=last, bad_row=row[ID], what=what)
        last_id, last = row[ID], row[SHA256]
        missing.pop(last, None)
    if missing:
        (head, where), more = next(iter(missing.items())), len(missing) - 1
        others = f" (and {more} more)" if more else ""
        what = (
            f"no row has the hash {head!r}{where}{others}: rows were cut off, the whole chain was written anew, or it "
            "is that of another journal"
        )
        return Verification(ok=False, rows=last_id, head=last, what=what)
    return Verification(ok=True, rows=last_id, head=last, heads=len(heads))


def fault(row: Sequence[Any], last_id: int, last: str) -> str:
    """Say what is wrong with a row, given id and hash of the one before it; empty if nothing is."""
    if row[ID] != last_id + 1:
        return f"row {last_id + 1} is missing"
    if row[PREVIOUS] != last:
        return "it does not follow the row before it"
    try:
        is_written = row[SHA256] == digest(row)
    except (PydanticSerializationError, ValueError):  # bytes that are no text: nothing of ours
        is_written = False
    return "" if is_written else "its content is not what was written"


def heads_of(notebook: str | PathLike[str]) -> dict[str, str]:
    """Give the heads in a notebook's outputs (``metadata.hitl_nb.journal_head``), each with where it stands.

    Raises:
        UsageError: It cannot be read, or is no notebook.
    """
    path = Path(notebook)
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        return {
            head: f" that `{path.name}` keeps in cell {number}"
            for number, cell in enumerate(cells, start=1)
            for output in cell.get("outputs", ())
            if isinstance(head := _head(output), str)
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = error if isinstance(error, OSError | ValueError) else "it has no cells with outputs"
        raise UsageError(
            f'`notebook={path.name!r}` is no notebook that can be read: {why}. Write `notebook="name.ipynb"`.'
        ) from error


def _head(output: dict[str, Any]) -> Any:
    ours = output.get("metadata", {}).get("hitl_nb", {})
    return ours.get("journal_head") if isinstance(ours, dict) else None
