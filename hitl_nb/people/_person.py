"""The protocol, who is asked by default, and what is said when nobody can be asked."""

import functools
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import Any, Protocol

from hitl_nb._calls import Call
from hitl_nb.errors import ScriptError, UsageError

VARIABLE = "HITL_NB_PEOPLE"
"""Puts somebody else into a notebook that a human normally answers, without a change to the notebook."""

KINDS = "hitl_nb.people"
"""The entry points that say what may stand before the colon in `VARIABLE`, beside ``script``."""


class Person(Protocol):
    """Anything that can be asked.

    A person may also have ``watch(transcript)``, a context manager around the whole run that yields whether it
    shows the run to somebody, and ``via``, the word for the path in the record.
    """

    def __call__(self, call: Call, /) -> Awaitable[object]:
        """Answer the call (``call.respond``, ``call.decline``), or return without doing so to pass."""
        ...


def people_of(people: Any) -> list[Person]:
    """Give the list of people for what a user hands to ``Session(people=...)``.

    Raises:
        UsageError: One of them cannot be called.
        ScriptError: ``HITL_NB_PEOPLE`` names something that cannot be read.
    """
    value = os.environ.get(VARIABLE, "")
    # Begun also where people are named: what answers for models, too, replaces everybody.
    standing_in = _of_kind(value) if value and not value.startswith("script:") else None
    chosen = _chosen(people) if people is not None else [standing_in or _default(value)]
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


def _chosen(people: Any) -> list[Person]:
    chosen = list(people) if isinstance(people, Sequence) else [people]
    for person in chosen:
        if not callable(person):
            raise UsageError(
                f"`people` holds `{person!r}`, which cannot be asked. Write an async function, "
                "`async def person(call): call.respond(...)`, and `Session(..., people=[person])`."
            )
    return chosen


def _default(script: str) -> Person:
    from hitl_nb.people._notebook import NotebookPerson
    from hitl_nb.people._script import ScriptedPerson

    return ScriptedPerson.from_variable(script) if script else NotebookPerson()


@functools.cache
def _of_kind(value: str) -> Person:
    kind, _, file = value.partition(":")
    found = {entry.name: entry for entry in entry_points(group=KINDS)}
    if kind not in found:
        known = ", ".join(f"`{name}:<file>`" for name in sorted({"script", *found}))
        raise ScriptError(f"`{VARIABLE}={value}` is none of {known}. Write `{VARIABLE}=script:answers.py`.")
    person: Person = found[kind].load()(file)
    return person


def nobody_answered(call: Call, why: str) -> str:
    """Give the message of `NoHumanError`: the question, why nobody answers, and the three ways out."""
    return (
        f"`{call.name}` ({call.id}) needs a person, and {why}. Nothing was answered or executed.\n"
        f"{_asked(call)}"
        "Three ways to answer it:\n"
        "  a script:     Session(..., people=[ScriptedPerson([...])]), or HITL_NB_PEOPLE=script:answers.py\n"
        "  a policy:     Session(..., people=[policy]) with `async def policy(call): call.respond(...)`\n"
        "  a front end:  open the notebook in JupyterLab and run the cell there"
    )


_LONGEST = 200


def _asked(call: Call) -> str:
    """The question in lines to read, without secrets: whoever finds the log has to decide something."""
    from hitl_nb.cards import Plain

    rows = [f"    {row.label or 'value'}: {_brief(row.text)}\n" for row in Plain(call).rows()]
    return "".join([f"  {_brief(call.message)}\n" if call.message else "", *rows])


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]} … ({len(line) - _LONGEST} more characters)"
