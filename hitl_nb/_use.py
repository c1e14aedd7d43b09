"""`use`: who is asked and where it is recorded, in code, for the whole process.

Variables are believed only as the process was started with them; whoever writes code says it here.
"""

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Self

from hitl_nb._doors import at_home
from hitl_nb.errors import HitlError, UsageError
from hitl_nb.journal import Journal, UsedJournal
from hitl_nb.people import Person, UsedPeople


def use(
    *,
    people: Person | Sequence[Person] | str | None = None,
    journal: Journal | str | PathLike[str] | None = None,
) -> "Use":
    """Say who is asked, and which journal is kept, wherever nobody says otherwise; in this process, from now on.

    ::

        hitl_nb.use(people="script:answers.py", journal="memory")      # from here on
        with hitl_nb.use(people=[policy, NotebookPerson("Ada")]):      # until the block ends
            ...

    ==================================  ============================================================================
    ``people=person``, ``[a, b]``       these are asked, in turn
    ``people="script:answers.py"``      a script, read again for each session and checkpoint; ``.json`` or ``.py``
    ``people="replay:case.json"``       a recorded session, in place of models and of everybody
    ``journal="path/to/file.sqlite"``   that file
    ``journal=Journal(...)``            itself
    ``journal="postgresql://…"``        that database (`pip install "hitl-nb[postgres]"`)
    ``journal="memory"``                one in memory, gone with the kernel
    ``journal="off"``                   nothing is recorded
    None, or left out                   stays as it was
    ==================================  ============================================================================

    What stands closer to the question wins: ``Session(people=..., journal=...)`` and ``approve(..., people=...)``,
    then `use`, then ``HITL_NB_PEOPLE`` and ``HITL_NB_JOURNAL`` as the process was started with them, then whoever sits
    at the notebook and the journal beside it. `record` and `replay` go on replacing whomever they find. Sessions that
    exist already keep what they have.

    Args:
        people: Who is asked: see the table.
        journal: Where it is recorded: see the table.

    Returns:
        What was said, to look at; as a context manager it puts back what was before.

    Raises:
        UsageError: This is nobody who can be asked, or no journal; nothing has changed.
        JournalError: The file cannot be opened; nothing has changed.
    """
    if people is None and journal is None:
        raise UsageError('`use()` says nothing. Write `hitl_nb.use(people=person)` or `hitl_nb.use(journal="memory")`.')
    return Use(people, journal)


class Use:
    """What `use` said, in force until it is left."""

    def __init__(
        self, people: Person | Sequence[Person] | str | None, journal: Journal | str | PathLike[str] | None
    ) -> None:
        self._people = None if people is None else UsedPeople.of(people)
        try:
            self._journal = None if journal is None else UsedJournal.of(journal)
        except HitlError as error:
            if self._people is not None:
                self._people.stop(error)  # a recorded session has begun
            raise
        said = []
        if self._people is not None:
            said.append(f"people: {self._people.words} instead of {UsedPeople.default_in_words()}")
        if self._journal is not None:
            said.append(f"journal: {self._journal.words} instead of {UsedJournal.default_in_words()}")
        self._said = " · ".join(said)
        if self._people is not None:
            self._people.begin()
        if self._journal is not None:
            self._journal.begin()
        self._ended = False

    def __enter__(self) -> Self:
        if self._ended:
            raise UsageError("What this `use` said has ended. Write `with hitl_nb.use(...):` once more.")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ended:
            return
        self._ended = True
        if self._journal is not None:
            self._journal.end()
        if self._people is not None:
            self._people.end(error)

    def __repr__(self) -> str:
        return f"<use {self._said}{' (ended)' if self._ended else ''}>"


at_home(use)
