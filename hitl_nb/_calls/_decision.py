"""The words of a call, who is being asked, how it ends, and what checks and records it."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

Status = Literal["inProgress", "executing", "complete"]
Kind = Literal["tool", "interrupt", "feedback"]
Outcome = Literal["answered", "declined", "edited", "cancelled", "expired", "invalid", "aborted", "superseded"]
Via = Literal["card", "script", "policy", "timeout", "replay", "callback", "session"]

APPROVALS: tuple[Outcome, ...] = ("answered", "edited")
"""The only two outcomes that are a yes."""


class AnswerType(Protocol):
    """What checks an answer: it gives the typed value back, or raises `InvalidValue`."""

    def validate(self, value: Any) -> Any:
        """Give the value as its declared type."""
        ...


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Who is being asked now. A question can be answered by nobody else."""

    token: str
    """What a click has to carry: the turn it was drawn for."""

    words: str
    """Who that is, for a person to read: ``Ada``, ``a rule``."""

    via: Via = "callback"
    """By which path an answer comes that names none."""

    by: str | None = None
    """Who has answered, if the answer names nobody."""

    several: bool = False
    """Several people are asked, one question each; this one is then answered by what they say, and by nobody else."""

    @property
    def takes_clicks(self) -> bool:
        """Whether it is a person at a card."""
        return self.via == "card" and not self.several


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The end of a call: what was decided, by whom, by which path, when."""

    outcome: Outcome
    """The why behind ``complete``."""

    answer: Any = None
    """The typed value; None unless somebody answered."""

    result: str
    """The tool message content."""

    edits: tuple[dict[str, Any], ...] = ()
    """What was changed in the proposal; as `Call.edits`."""

    reason: str | None = None
    """A person's or a rule's own words."""

    by: str | None = None
    """Who."""

    via: Via = "session"
    """By which path."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When (aware, UTC)."""

    @property
    def approves(self) -> bool:
        """Whether it is a yes."""
        return self.outcome in APPROVALS


class Started(Protocol):
    """What a record says of the run that a decision allowed."""

    @property
    def alive(self) -> bool | None:
        """Whether the process that runs it is still there; None if that cannot be told."""

    @property
    def mine(self) -> bool:
        """Whether it is this process."""

    @property
    def ended(self) -> str | None:
        """What the model was told of its end; None while it runs."""


class Recorder(Protocol):
    """What keeps a durable record of a call (`hitl_nb.journal.Journal`).

    Each `begin_…` takes down at once what is to be written and writes it in the order in which they began, off the
    caller's thread where that is possible.
    """

    def begin_asked(self, call: Any, *, arguments: str, parameters: Any = None) -> "Future[Any]":
        """Record the question, before it is shown."""
        ...

    def begin_shown(self, call: Any) -> "Future[Any]":
        """Record that a person can see the question now."""
        ...

    def begin_answered(self, call: Any, decision: Decision) -> "Future[bool]":
        """Record a decision, before anybody acts on it; False if another process has decided the call."""
        ...

    def begin_late(self, call: Any, value: Any, by: str | None = None) -> "Future[Any]":
        """Record an answer that changes nothing."""
        ...

    def begin_started(self, call: Any) -> "Future[bool]":
        """Record that what was approved begins to run; False if it has begun elsewhere."""
        ...

    def begin_ended(self, call: Any, result: str) -> "Future[Any]":
        """Record what came of it."""
        ...

    def winner(self, call: Any) -> Any:
        """Give the decision that counts, as it was stored."""

    def started(self, call: Any) -> Started | None:
        """Give who runs what was approved, or None if nobody has begun."""
        ...
