"""Who is asked where nobody is named: what `hitl_nb.use` said, else the variable, else whoever sits at the notebook."""

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path, PureWindowsPath
from typing import Any, Final

from hitl_nb._process import notebook_folder, started_with, warn_of_later
from hitl_nb.errors import ScriptError, UsageError
from hitl_nb.people._person import IN_CODE, VARIABLE, NotebookPerson, Person
from hitl_nb.people._stand_ins import ScriptedPerson

KINDS: Final = "hitl_nb.people"
"""The entry points that say what may stand before the colon in `VARIABLE`, beside ``script``."""

_SCRIPT: Final = "script"
_NO_PERSON: Final = ("script", "replay", "policy")
"""The paths by which no person answers."""


def people_of(people: object) -> list[Person]:
    """Return the list of people for what a user hands to ``Session(people=...)``.

    Those that are named are asked; else those of ``hitl_nb.use(people=...)``, else those of ``HITL_NB_PEOPLE`` as this
    process was started with it, else whoever sits at the notebook. `people_replaced` replaces any of them.

    Raises:
        UsageError: One of them cannot be called.
        ScriptError: ``HITL_NB_PEOPLE`` names something that cannot be read.
    """
    value = started_with(VARIABLE)
    if people is None and not _used:
        warn_of_later(VARIABLE, IN_CODE, stacklevel=3)
    # Begun also where people are named: what answers for models, too, replaces everybody.
    standing_in = _of_variable(value) if _is_for_everybody(value) else None
    if people is not None:
        chosen = _named(people)
    elif _used:
        chosen = _used[-1].make()
    elif value:
        chosen = [standing_in or ScriptedPerson.from_variable(value, folder=notebook_folder())]
    else:
        chosen = [NotebookPerson()]
    for replacement in tuple(_replacements):
        chosen = replacement(chosen)
    return chosen


_replacements: list[Callable[[Sequence[Person]], list[Person]]] = []


@contextmanager
def people_replaced(replacement: Callable[[Sequence[Person]], list[Person]]) -> Iterator[None]:
    """Have others asked in every session and checkpoint that is made meanwhile, in this process.

    Args:
        replacement: Gets the people that would be asked, also explicit ones, and gives those that are.
    """
    _replacements.append(replacement)
    try:
        yield
    finally:
        _replacements.remove(replacement)


def _named(people: Any) -> list[Person]:
    chosen = list(people) if isinstance(people, Sequence) and not isinstance(people, str) else [people]
    for person in chosen:
        if isinstance(person, type):
            raise UsageError(
                f"`people` holds the class `{person.__name__}`, not somebody. Write `people={person.__name__}(...)`."
            )
        if not callable(person):
            raise UsageError(
                f"`people` holds `{person!r}`, which cannot be asked. Write an async function, "
                "`async def person(call): call.respond(...)`, and `Session(..., people=[person])`."
            )
    return chosen


# -- by kind and file: `script:answers.py` ---------------------------------------------------------------------


class _NoSuchKind(Exception):  # noqa: N818 - never seen by anybody
    """What stands before the colon is no kind of people; the message is the kinds that there are."""


def _is_for_everybody(value: str) -> bool:
    return bool(value) and not value.startswith(f"{_SCRIPT}:")


@functools.cache
def _of_variable(value: str) -> Person:
    kind, _, file = value.partition(":")
    try:
        return _of_kind(kind, file, notebook_folder())
    except _NoSuchKind as error:
        raise ScriptError(f"`{VARIABLE}={value}` is none of {error}. Write `{VARIABLE}=script:answers.py`.") from None


def _of_kind(kind: str, words: str, folder: Path) -> Person:
    """Give who answers from a file, or whom other words mean.

    Raises:
        _NoSuchKind: Names those that there are.
    """
    if kind == _SCRIPT:
        return ScriptedPerson.from_file(folder / words)
    found = {entry.name: entry for entry in entry_points(group=KINDS)}
    if kind not in found:
        raise _NoSuchKind(", ".join(f"`{name}:{_behind(found.get(name))}`" for name in sorted({_SCRIPT, *found})))
    make = found[kind].load()
    person: Person = make(words if hasattr(make, "takes_words") else str(folder / words))
    return person


def _behind(kind: EntryPoint | None) -> str:
    """What stands behind the colon of a kind, in words."""
    return str(getattr(kind.load(), "takes_words", "<file>")) if kind is not None else "<file>"


# -- said in code ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class UsedPeople:
    """What ``hitl_nb.use(people=…)`` says; of several the last that has not ended counts."""

    make: Callable[[], list[Person]]
    """Gives who is asked by one session or checkpoint: a script begins anew with each, as from the variable."""

    words: str
    """Who it is."""

    stands_in: str | None
    """As `stand_in`."""

    stop: Callable[[BaseException | None], None]
    """Is called in the end, with the error that ended it."""

    @classmethod
    def of(cls, people: object) -> "UsedPeople":
        """Read what a user gave; a recorded session begins here.

        Raises:
            UsageError: It cannot be asked.
        """
        return cls._of_file(people) if isinstance(people, str) else cls._of_people(_named(people))

    @classmethod
    def _of_people(cls, people: Sequence[Person]) -> "UsedPeople":
        names = ", ".join(map(_name, people))
        words = names if len(people) == 1 else f"[{names}]"
        paths = [getattr(person, "via", None) for person in people]
        answers = "answers here, not a person" if set(paths) <= set(_NO_PERSON) else "says who is asked here"
        return cls(
            make=lambda: list(people),
            words=words,
            stands_in=None if paths == ["card"] else f"hitl_nb.use(people={words}) {answers}",
            stop=lambda _: None,
        )

    @classmethod
    def _of_file(cls, text: str) -> "UsedPeople":
        kind, _, file = text.partition(":")
        path = Path(file).expanduser().absolute()  # at once: a cell may change the working directory later
        try:
            ready = [_of_kind(kind, file, path.parent)]
        except _NoSuchKind as error:
            raise UsageError(
                f"`people={text!r}` is none of {error}. Write `hitl_nb.use(people='script:answers.py')`."
            ) from None
        except ScriptError as error:
            raise UsageError(
                f"`people={text!r}` cannot answer: {error} In code: `hitl_nb.use(people='script:answers.py')`."
            ) from error
        first = ready[0]
        begins_anew = kind == _SCRIPT
        return cls(
            make=lambda: [ready.pop() if ready else ScriptedPerson.from_file(path)] if begins_anew else [first],
            words=_without_folders(text),
            stands_in=f'hitl_nb.use(people="{_without_folders(text)}") answers here, not a person',
            stop=getattr(first, "stop", lambda _: None),
        )

    def begin(self) -> None:
        """Ask these from now on where nobody is named."""
        _used.append(self)

    def end(self, error: BaseException | None = None) -> None:
        """Ask those again that were asked before.

        Raises:
            ScriptError: A recorded session was not played to its end.
        """
        _used.remove(self)
        self.stop(error)

    @staticmethod
    def default_in_words() -> str:
        """Say who is asked where nobody is named."""
        if _used:
            return _used[-1].words
        value = started_with(VARIABLE)
        return f"{VARIABLE}={_without_folders(value)}" if value else "whoever sits at the notebook"


_used: list[UsedPeople] = []
_noted: set[str] = set()


def stand_in() -> str | None:
    """Say who answers in this process in place of whoever sits at the notebook; None if nobody does.

    Files by their names only: the words are for a record that leaves the machine.
    """
    value = started_with(VARIABLE)
    if _used and not _is_for_everybody(value):
        return _used[-1].stands_in
    if not value or (_is_for_everybody(value) and hasattr(_of_variable(value), "parks")):
        return None  # or people, elsewhere
    return f"{VARIABLE}={_without_folders(value)} answers here, not a person"


def take_stand_in_note() -> str | None:
    """Return `stand_in` to whoever writes the first record; None to all others, until somebody else stands in."""
    words = stand_in()
    if words is None or words in _noted:
        return None
    _noted.add(words)
    return words


def _without_folders(text: str) -> str:
    kind, colon, file = text.partition(":")
    return f"{kind}{colon}{PureWindowsPath(file).name}"  # knows both kinds of slashes


def _name(person: Person) -> str:
    # No repr: it may hold a path or an answer.
    name = getattr(person, "__name__", type(person).__name__)
    return "a lambda" if name == "<lambda>" else name
