"""The protocol, who is asked by default, and what is said when nobody can be asked."""

import os
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol

from hitl_nb._calls import Call
from hitl_nb.errors import UsageError

VARIABLE = "HITL_NB_PEOPLE"
"""Puts somebody else into a notebook that a human normally answers, without a change to the notebook."""


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
    from hitl_nb.people._notebook import NotebookPerson
    from hitl_nb.people._script import ScriptedPerson

    if people is None:
        script = os.environ.get(VARIABLE)
        return [ScriptedPerson.from_variable(script)] if script else [NotebookPerson()]
    chosen = list(people) if isinstance(people, Sequence) else [people]
    for person in chosen:
        if not callable(person):
            raise UsageError(
                f"`people` holds `{person!r}`, which cannot be asked. Write an async function, "
                "`async def person(call): call.respond(...)`, and `Session(..., people=[person])`."
            )
    return chosen


def nobody_answered(call: Call, why: str) -> str:
    """Give the message of `NoHumanError`: the question, why nobody answers, and the three ways out."""
    return (
        f"`{call.name}` ({call.id}) needs a person, and {why}. Nothing was answered or executed.\n"
        "Three ways to answer it:\n"
        "  a script:     Session(..., people=[ScriptedPerson([...])]), or HITL_NB_PEOPLE=script:answers.py\n"
        "  a policy:     Session(..., people=[policy]) with `async def policy(call): call.respond(...)`\n"
        "  a front end:  open the notebook in JupyterLab and run the cell there"
    )
