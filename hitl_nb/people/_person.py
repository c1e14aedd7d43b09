"""The protocol, what describes a person, and what is said when nobody can be asked."""

import inspect
from collections.abc import Awaitable, Iterable
from typing import Any, Final, Protocol

from hitl_nb._calls import Call
from hitl_nb._process import not_believed

VARIABLE: Final = "HITL_NB_PEOPLE"
"""Puts somebody else into a notebook that a human normally answers, without a change to the notebook."""

IN_CODE: Final = "hitl_nb.use(people=…)"
"""What says the same in code."""


class Person(Protocol):
    """Anything that can be asked.

    A person may also have ``watch(transcript)``, a context manager around the whole run that yields whether it
    shows the run to somebody, ``via``, the word for the path in the record, and ``declared()``; see `declared`.
    """

    def __call__(self, call: Call, /) -> Awaitable[object]:
        """Answer the call (``call.respond``, ``call.decline``), or return without doing so to pass."""
        ...


def declared(person: Any) -> Any | None:
    """Give plain data that says who has to answer: equal for the same person, here and in the next kernel.

    A decision is found again only for whom it was asked for. None if nobody can tell, and then it is asked again.

    ================================================  ================================================
    an object with a method ``declared()``            what that gives; None is allowed
    its bound method                                  that, and the method's name
    a function of a module (or of the notebook)       ``["function", module, qualified name]``
    a lambda, a closure, a function inside another    None: the same name may mean anything
    a class, a `functools.partial`, all other things  None
    ================================================  ================================================
    """
    if inspect.isfunction(person):
        return _declared_function(person)
    if inspect.ismethod(person):
        owner = declared(person.__self__)
        return None if owner is None else ["method", owner, person.__func__.__name__]
    own = None if isinstance(person, type) else getattr(person, "declared", None)
    return own() if callable(own) else None


def declared_all(people: Iterable[Any]) -> list[Any] | None:
    """Give `declared` of each; None if one of them has none."""
    found = [declared(person) for person in people]
    return None if any(each is None for each in found) else found


def declared_kind(person: object) -> str | None:
    """Give the name of a person's class for its `declared`: a subclass, which may do anything, is somebody else."""
    kind = type(person)
    name = kind.__qualname__ if kind.__module__.startswith("hitl_nb.") else f"{kind.__module__}.{kind.__qualname__}"
    return None if "<" in name else name


def _declared_function(function: Any) -> list[str] | None:
    # Its code tells where it was written, whatever a decorator, or somebody, has named it.
    names = (function.__module__, function.__qualname__, function.__code__.co_qualname)
    named = all(isinstance(name, str) and "<" not in name for name in names)
    return ["function", *names[:2]] if named and function.__closure__ is None else None


def nobody_answered(call: Call, why: str) -> str:
    """Give the message of `NoHumanError`: the question, why nobody answers, and the three ways out."""
    later = not_believed(VARIABLE, IN_CODE)
    return (
        f"`{call.name}` ({call.id}) needs a person, and {why}. Nothing was answered or executed.\n"
        f"{_asked(call)}"
        "Three ways to answer it:\n"
        "  a script:     Session(..., people=[ScriptedPerson([...])]), or HITL_NB_PEOPLE=script:answers.py\n"
        "  a policy:     Session(..., people=[policy]) with `async def policy(call): call.respond(...)`\n"
        "  a front end:  open the notebook in JupyterLab and run the cell there" + (f"\n{later}" if later else "")
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
