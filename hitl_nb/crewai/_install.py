"""All of CrewAI's questions to people, answered by cards from here until `uninstall`."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial

from hitl_nb.crewai._crew_run import answering, doors
from hitl_nb.crewai._hooks import closed_hooks, grants_kept, single_runs
from hitl_nb.crewai._surfaces import feedback_is_asked, flow_asks, hooks_ask, results_are_reviewed
from hitl_nb.errors import MissingExtraError
from hitl_nb.people import Person, people_of

_SURFACES = (
    partial(doors, grants_kept),
    feedback_is_asked,
    flow_asks,
    results_are_reviewed,
    single_runs,
    closed_hooks,
    hooks_ask,
)


@contextmanager
def _surfaces() -> Iterator[None]:
    with ExitStack() as stack:
        try:
            for surface in _SURFACES:
                stack.enter_context(surface())
        except AttributeError as error:
            raise MissingExtraError(
                f"This version of CrewAI asks its questions in another way ({error}). Install one that `hitl_nb` "
                'knows with `pip install "hitl-nb[crewai]"` and restart the kernel.'
            ) from error
        yield


_stack: list["Installation"] = []
_held = ExitStack()
"""All of it, while somebody has it installed."""


class Installation:
    """One `install`; leaving its ``with`` block, or `uninstall`, takes it back."""

    def __init__(self, people: Person | Sequence[Person] | None) -> None:
        self._people = answering[-1] if people is None and answering else people_of(people)
        if not _stack:
            _held.enter_context(_surfaces())
        answering.append(self._people)
        _stack.append(self)

    def uninstall(self) -> None:
        """Take it back; with the last one CrewAI is as it was. Idempotent."""
        if self in _stack:
            position = _stack.index(self)
            del _stack[position], answering[position]
            if not _stack:
                _held.close()

    def __enter__(self) -> "Installation":
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def __repr__(self) -> str:
        state = "CrewAI's questions are answered by cards" if self in _stack else "uninstalled"
        return f"<Installation: {state}>"


def install(*, people: Person | Sequence[Person] | None = None) -> Installation:
    """Have every question that CrewAI asks a human answered by a card in the cell.

    ``@human_feedback``, ``flow.ask()``, ``Task(human_input=True)`` and ``context.request_human_input()`` in hooks: in
    every cell and thread, until `uninstall` or the end of the ``with`` block. Providers that the code names itself
    keep their say. Hooks before a tool call fail closed meanwhile.

    Args:
        people: Who answers outside of a session's run (in one, its people do); default: whoever an `install` around
            this one named, else the notebook, or the script in ``HITL_NB_PEOPLE``.

    Returns:
        The installation. They are counted: CrewAI is as it was when the last one has been taken back.

    Raises:
        MissingExtraError: CrewAI is not installed, or in a version that is not known here.
        UsageError: One of `people` cannot be called.

    Without this an unattended ``human_input=True`` approves.
    """
    return Installation(people)


def uninstall() -> None:
    """Take back the newest `install` that is left; without any it does nothing."""
    if _stack:
        _stack[-1].uninstall()
