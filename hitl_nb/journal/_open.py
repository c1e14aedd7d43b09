"""Which journal: what a user wrote, else what the environment said at the start, else the one beside the notebook."""

import os
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from os import PathLike
from pathlib import Path
from typing import Final

from hitl_nb._process import in_a_browser, notebook_folder, started_with, warn_of_later
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._journal import Journal
from hitl_nb.journal._place import FILE, FOLDER, default_path
from hitl_nb.journal._postgres import address_in_words, is_address, refuse_other_address

VARIABLE: Final = "HITL_NB_JOURNAL"
_IN_CODE: Final = "hitl_nb.use(journal=…)"


class _Default(Enum):
    """The type of `DEFAULT`."""

    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""Nobody said which journal; None is something else: no journal."""

AnyJournal = Journal | str | PathLike[str] | _Default | None
"""What a session takes: a journal, a path, ``"memory"`` or ``"off"``; None for nowhere."""

_files: weakref.WeakValueDictionary[Path | str, Journal] = weakref.WeakValueDictionary()
_memory: list[Journal] = []
_instead: list[Journal] = []
_used: "list[UsedJournal]" = []
_told: set[str] = set()


@dataclass(eq=False, kw_only=True)
class UsedJournal:
    """What ``hitl_nb.use(journal=…)`` says; the last one that began and has not ended counts."""

    value: Journal | str | Path = field(repr=False)
    """As for `open_journal`."""

    held: Journal | None
    """Kept, so that everybody gets the same one; None for ``"off"``."""

    words: str
    """What it is, in words."""

    @classmethod
    def of(cls, value: Journal | str | PathLike[str]) -> "UsedJournal":
        """Open what a user gave.

        Raises:
            JournalError: The file cannot be opened.
            UsageError: `value` is something else.
        """
        if isinstance(value, Journal):
            return cls(value=value, held=value, words=_in_words(value.path or value.where))
        if value == "" or not isinstance(value, str | PathLike):
            raise _no_journal(value)
        journal = open_journal(value)
        # Absolute at once: a cell may change the working directory later.
        meant = value if journal is None or journal.path is None else journal.path
        return cls(value=str(meant), held=journal, words=_in_words(value))

    def begin(self) -> None:
        """Take this one where nobody says which."""
        _used.append(self)

    def end(self) -> None:
        """Take what was taken before."""
        _used.remove(self)

    def journal(self) -> Journal | None:
        """Return it; opened anew if somebody has closed it."""
        if not isinstance(self.value, Journal):
            self.held = open_journal(self.value)
        return self.held

    @staticmethod
    def default_in_words() -> str:
        """Say which journal is taken where nobody says which."""
        if _used:
            return _used[-1].words
        named = started_with(VARIABLE).strip()
        if named:
            return f"{VARIABLE}={_in_words(named)}"
        return "memory" if in_a_browser() else f"{FOLDER}/{FILE}"


def _in_words(value: object) -> str:
    """Say what a user gave, without a path of this machine: it may stand in an output that is shared."""
    if value in ("memory", "off"):
        return str(value)
    if is_address(value):
        return address_in_words(str(value))
    try:
        near = os.path.relpath(str(value))
    except (OSError, ValueError):  # no working directory any more, or another drive
        return Path(str(value)).name
    return Path(near).name if near.startswith("..") else Path(near).as_posix()


@contextmanager
def default_journal(journal: Journal) -> Iterator[None]:
    """Have `journal` taken wherever nobody says which, whatever the environment says; in this process, meanwhile."""
    _instead.append(journal)
    try:
        yield
    finally:
        _instead.remove(journal)


def open_journal(value: AnyJournal = DEFAULT) -> Journal | None:
    """Return the journal that `value` means; one and the same for everybody in this process who means the same.

    ==============================  =================================================================
    a `Journal`                     itself
    a path                          that file
    ``"postgresql://…"``            that database
    ``"memory"``                    one in memory, gone with the kernel
    None, ``"off"``                 None: nothing is recorded
    nothing                         what ``hitl_nb.use(journal=…)`` says, else ``HITL_NB_JOURNAL`` (a path,
                                    ``memory`` or ``off``) as this process was started with it, else
                                    ``.hitl_nb/journal.sqlite`` beside the notebook
    ==============================  =================================================================

    Where the folder of the notebook cannot be written, nothing given means memory, with a warning; likewise in a page
    of a browser (JupyterLite), whose files take no database.

    Raises:
        JournalError: The file cannot be opened.
        UsageError: `value` is something else.
    """
    if value is None or isinstance(value, Journal):
        return value
    if value is DEFAULT:
        return _default_journal()
    if not isinstance(value, str | PathLike):
        raise _no_journal(value)
    if value == "off":
        return None
    return _named(value)


def _named(value: str | PathLike[str]) -> Journal:
    if value == "memory":
        return _in_memory()
    refuse_other_address(value)
    return _known(str(value)) if is_address(value) else _in_file(Path(value))


def _no_journal(value: object) -> UsageError:
    return UsageError(
        f'`journal={value!r}` is no journal. Write `journal="path/to/journal.sqlite"`, `journal="memory"`, '
        '`journal="off"` or `journal="postgresql://user@host/database"`.'
    )


def _default_journal() -> Journal | None:
    if _instead:
        return _instead[-1]
    if _used:
        return _used[-1].journal()
    warn_of_later(VARIABLE, _IN_CODE, stacklevel=4)
    named = started_with(VARIABLE).strip()
    if named in ("memory", "off") or is_address(named):
        return open_journal(named)
    refuse_other_address(named)
    return _in_file(notebook_folder() / Path(named).expanduser()) if named else _beside_the_notebook()


def _beside_the_notebook() -> Journal:
    try:
        return _in_file(default_path())
    except JournalError as error:
        meant = "" if in_a_browser() else f" (`{VARIABLE}=memory` says that this is meant)"
        said = f"{error} Until then decisions are kept in memory only and are lost with the kernel{meant}."
        if said not in _told:  # Python itself says it once a line, and each kind of question has another one
            _told.add(said)
            warnings.warn(said, stacklevel=5)
        return _in_memory()


def _in_memory() -> Journal:
    if not _memory or _memory[0].closed:
        _memory[:] = [Journal("memory")]
    return _memory[0]


def _in_file(path: Path) -> Journal:
    return _known(Path(os.path.abspath(path.expanduser())))


def _known(place: Path | str) -> Journal:
    known = _files.get(place)
    if known is None or known.closed:
        known = _files[place] = Journal(place)
    return known
