"""A step of a Flow that runs again: which execution it is, and what was decided in it for the same message.

A chat Flow runs again, from its first step, after each answer to a tool call of its model. What its code asks there it
asks again: a deposit would be paid once a round, and each time approved. So a question of code is recognised by where
it stands: the step, its n-th execution in this kickoff, the n-th asking of exactly this there. It is answered with what
was decided for the same message of the user's, and a gate gives its first result and does not run. Two equal payments
in one loop are two askings, and stay two.

What a model calls, also inside a crew, is never recognised: it may well mean it twice.
"""

import copy
import dataclasses
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from hitl_nb._calls import Decision

_T = TypeVar("_T")

Place = tuple[str, int, str, int]
"""The step, which execution of it, what is asked, and how often it was asked there."""


class Kickoff:
    """One kickoff of a Flow: counts how often each of its steps runs."""

    def __init__(self) -> None:
        self._executions: Counter[str] = Counter()

    def enter(self, step: str) -> None:
        """Say that the code of this context, and what it starts, is this step from now on."""
        self._executions[step] += 1
        _step.set(_Step(kickoff=self, name=step, number=self._executions[step]))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Step:
    kickoff: Kickoff
    name: str
    number: int
    asked: Counter[str] = field(default_factory=Counter)


_step: ContextVar[_Step | None] = ContextVar("hitl_nb_step", default=None)
_in_tool: ContextVar[bool] = ContextVar("hitl_nb_step_in_tool", default=False)


def in_tool(is_in: bool) -> None:
    """Say whether the code of this context is a tool that a model has called."""
    _in_tool.set(is_in)


@dataclass(kw_only=True, eq=False)
class _Kept:
    """What came of one question."""

    kickoff: Kickoff
    decision: Decision | None = None
    returned: list[object] = field(default_factory=list)
    """What the gate returned; empty while it has not."""
    raised: BaseException | None = None


class Memory:
    """What was decided for one message of the user's, by where it was asked."""

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}

    def again(self, asked: str) -> "Again | None":
        """Note that `asked` (its fingerprint) is asked here; None where the place is not one that could run again."""
        step = _step.get()
        if step is None or _in_tool.get():
            return None
        step.asked[asked] += 1
        place = (step.name, step.number, asked, step.asked[asked])
        earlier = self._kept.get(place)
        if earlier is None or earlier.kickoff is step.kickoff:
            earlier = None
        self._kept[place] = mine = _Kept(kickoff=step.kickoff)
        return Again(mine, earlier)


class Again:
    """A question where it stands, and what came of it in an earlier round.

    Attributes:
        recognised: Whether it was answered by that.
    """

    def __init__(self, mine: _Kept, earlier: _Kept | None) -> None:
        self._mine = mine
        self._earlier = earlier
        self.recognised = False

    @property
    def decision(self) -> Decision | None:
        """What was decided, with a copy of the answer; None if nobody has decided."""
        earlier = self._earlier
        return None if earlier is None or earlier.decision is None else _copied(earlier.decision)

    @property
    def has_run(self) -> bool:
        """Whether the gate came to its end."""
        earlier = self._earlier
        return earlier is not None and (bool(earlier.returned) or earlier.raised is not None)

    def recognise(self) -> None:
        """Take what came of it for what comes of it now, and in further rounds."""
        self.recognised = True
        earlier = self._earlier
        assert earlier is not None
        mine = self._mine
        mine.decision, mine.returned, mine.raised = earlier.decision, earlier.returned, earlier.raised

    def keep(self, decision: Decision | None) -> None:
        """Take note of what was decided now; what cannot be copied is asked again."""
        if decision is not None and not self.recognised:
            self._mine.decision = _copied(decision)

    def result(self) -> object:
        """Give what the gate returned the first time.

        Raises:
            BaseException: What it raised.
        """
        if self._mine.raised is not None:
            raise self._mine.raised
        return _copy(self._mine.returned[0], self._mine.returned[0])

    @contextmanager
    def running(self) -> Iterator[None]:
        """Take note of what the gate raises; one that was stopped has not come to its end."""
        try:
            yield
        except Exception as error:
            self._mine.raised = error
            raise

    def note(self, value: _T) -> _T:
        """Take note of what the gate returned."""
        self._mine.returned.append(value)
        return value


def _copied(decision: Decision) -> Decision | None:
    answer = _copy(decision.answer, _copy)
    return None if answer is _copy else dataclasses.replace(decision, answer=answer)


def _copy(value: object, otherwise: object) -> object:
    """Return a copy, so that nothing that code does to the first one changes what was approved."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return otherwise
