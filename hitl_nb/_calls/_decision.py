"""The words of a call, how it ends, and what checks and records it."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

Status = Literal["inProgress", "executing", "complete"]
Kind = Literal["tool", "interrupt", "feedback"]
Outcome = Literal["answered", "declined", "edited", "cancelled", "expired", "invalid", "aborted", "superseded"]
Via = Literal["card", "script", "policy", "timeout", "replay", "callback", "session"]


class AnswerType(Protocol):
    """What checks an answer: it gives the typed value back, or raises `InvalidValue`."""

    def validate(self, value: Any) -> Any:
        """Give the value as its declared type."""
        ...


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
    """What a person changed in the proposal; as `Call.edits`."""

    reason: str | None = None
    """A person's or a rule's own words."""

    by: str | None = None
    """Who."""

    via: Via = "session"
    """By which path."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When (aware, UTC)."""


class Recorder(Protocol):
    """What keeps a durable record of a call (`hitl_nb.journal.Journal`); called before anything is acted on."""

    def asked(self, call: Any, *, arguments: str, parameters: Any = None) -> None:
        """Record the question, before it is shown."""

    def shown(self, call: Any) -> None:
        """Record that a person can see the question now."""

    def answered(self, call: Any) -> bool:
        """Record the decision, before anybody acts on it; False if another process has decided the call."""
        ...

    def winner(self, call: Any) -> Any:
        """Give the decision that counts, as it was stored."""

    def late(self, call: Any, value: Any, by: str | None = None) -> None:
        """Record an answer that changes nothing."""
