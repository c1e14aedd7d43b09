"""Which journal: what a user wrote, else what the environment says, else the one beside the notebook."""

import os
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Final

from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._journal import Journal
from hitl_nb.journal._place import default_path

VARIABLE: Final = "HITL_NB_JOURNAL"


class _Default(Enum):
    """The type of `DEFAULT`."""

    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""Nobody said which journal; None is something else: no journal."""

_files: weakref.WeakValueDictionary[Path, Journal] = weakref.WeakValueDictionary()
_memory: list[Journal] = []
_instead: list[Journal] = []


@contextmanager
def default_journal(journal: Journal) -> Iterator[None]:
    """Have `journal` taken wherever nobody says which, whatever the environment says; in this process, meanwhile."""
    _instead.append(journal)
    try:
        yield
    finally:
        _instead.remove(journal)


def open_journal(value: "Journal | str | PathLike[str] | _Default | None" = DEFAULT) -> Journal | None:
    """Give the journal that `value` means; one and the same for everybody in this process who means the same.

    ==============================  =================================================================
    a `Journal`                     itself
    a path                          that file
    ``"memory"``                    one in memory, gone with the kernel
    None, ``"off"``                 None: nothing is recorded
    nothing                         ``HITL_NB_JOURNAL`` (a path, ``memory`` or ``off``), else
                                    ``.hitl_nb/journal.sqlite`` beside the notebook
    ==============================  =================================================================

    Where the folder of the notebook cannot be written, nothing given means memory, with a warning.

    Raises:
        JournalError: The file cannot be opened.
        UsageError: `value` is something else.
    """
    if value is None or isinstance(value, Journal):
        return value
    if value is DEFAULT and _instead:
        return _instead[-1]
    if value is DEFAULT:
        named = os.environ.get(VARIABLE, "").strip()
        return open_journal(named) if named else _beside_the_notebook()
    if not isinstance(value, str | PathLike):
        raise UsageError(
            f'`journal={value!r}` is no journal. Write `journal="path/to/journal.sqlite"`, `journal="memory"` '
            "or `journal=None`."
        )
    if value == "off":
        return None
    return _in_memory() if value == "memory" else _in_file(Path(value))


def _beside_the_notebook() -> Journal:
    try:
        return _in_file(default_path())
    except JournalError as error:
        warnings.warn(
            f"{error} Until then decisions are kept in memory only and are lost with the kernel "
            f"(`{VARIABLE}=memory` says that this is meant).",
            stacklevel=4,
        )
        return _in_memory()


def _in_memory() -> Journal:
    if not _memory or _memory[0].closed:
        _memory[:] = [Journal("memory")]
    return _memory[0]


def _in_file(path: Path) -> Journal:
    place = Path(os.path.abspath(path.expanduser()))
    known = _files.get(place)
    if known is None or known.closed:
        known = _files[place] = Journal(place)
    return known
