"""The heads that a notebook keeps: each record has that of its moment in the metadata of its output."""

import json
from os import PathLike
from pathlib import Path
from typing import Any

from hitl_nb.errors import UsageError


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
