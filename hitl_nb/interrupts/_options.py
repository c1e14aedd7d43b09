"""How a question is asked: the options that everything which asks has in common."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Generic, Never, TypedDict

from typing_extensions import TypeVar

from hitl_nb._calls import Kind, grace_of
from hitl_nb._tools import Renderer
from hitl_nb.errors import UsageError
from hitl_nb.people import Person

D = TypeVar("D", default=Never)  # what stands in for an answer that nobody gave: nothing

People = Person | Sequence[Person] | None
"""Who is asked: somebody, several in a row, or, for None, those that are asked here anyway."""


class _Raise:
    def __repr__(self) -> str:
        return "<raise Expired>"


RAISE: Final = _Raise()
"""The default of ``if_expired=``: no value."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is asked: what `interrupt`, `approve`, `ask`, `choose`, `review` and a gate have in common.

    Raises:
        UsageError: They contradict each other.
    """

    name: str
    """A word for the kind of checkpoint; it becomes ``call.name``."""

    title: str = ""
    """What stands above the question."""

    kind: Kind = "interrupt"
    """What the journal calls it."""

    render: Renderer | None = None
    """What draws it."""

    timeout: float | None = None
    """Seconds until nobody is waited for any longer."""

    if_expired: object = RAISE
    """The answer when time is up and nobody has answered."""

    escalate_to: Person | None = None
    """Who is asked when time is up."""

    key: str | None = None
    """The name under which the decision sticks."""

    refresh: bool = False
    """Whether it is asked although it sticks."""

    people: People = None
    """Who is asked."""

    undo: float = 0
    """Seconds in which the answer of a card can be taken back."""

    gated: bool = False
    """Whether a function runs with the answer."""

    def __post_init__(self) -> None:
        grace_of(self.undo)
        if self.escalate_to is not None and not callable(self.escalate_to):
            raise UsageError(
                f"`escalate_to` is `{self.escalate_to!r}`, which cannot be asked. For a value that stands in for the "
                "answer write `if_expired=`, for a person `timeout=60, escalate_to=NotebookPerson()`."
            )
        if self.escalate_to is not None and self.timeout is None:
            raise UsageError(
                "`escalate_to` is asked when time is up, and there is no `timeout`. "
                "Write `timeout=60, escalate_to=person`."
            )
        if self.escalate_to is not None and self.if_expired is not RAISE:
            raise UsageError(
                "With `escalate_to` the question does not expire when `timeout` is over, so `if_expired` would never "
                "count. Leave one out, or give both their time: "
                "`people=Escalate(first, after=60, to=boss), timeout=120, if_expired=None`."
            )
        if callable(self.if_expired) and not isinstance(self.if_expired, type):
            raise UsageError(
                f"`if_expired` is a value, and `{self.if_expired!r}` can be asked. Write `escalate_to=`, which asks it "
                "when time is up."
            )


class Asked(TypedDict, Generic[D], total=False):
    """The same as options of a function, for a type checker: each stands in the function's own signature, too."""

    name: str
    title: str
    render: Renderer | None
    timeout: float | None
    if_expired: D
    escalate_to: Person | None
    key: str | None
    refresh: bool
    people: People
    kind: Kind


class Undoable(Asked[D], total=False):
    """Those of a question whose answer can be taken back for a moment."""

    undo: float
