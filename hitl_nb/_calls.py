"""The one object: a `Call` is one question to a person, with one id and one answer.

A tool call of the model, a checkpoint of the code, a feedback request of a framework: the same object, so that
cards, people and records have to know only this. It is bound to its id, never to its tool: a late click on one
card cannot answer the next (the released web hook gets this wrong).
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol
from weakref import WeakSet

from traitlets import Any as AnyTrait
from traitlets import Enum as EnumTrait
from traitlets import HasTraits
from traitlets import Unicode as UnicodeTrait

from hitl_nb._encoding import ABORTED, encode, encode_error, encode_refusal
from hitl_nb.errors import CallNotOpenError, InvalidValue

_log = logging.getLogger("hitl_nb")

Status = Literal["inProgress", "executing", "complete"]
Kind = Literal["tool", "interrupt", "feedback"]
Outcome = Literal["answered", "declined", "edited", "cancelled", "expired", "invalid", "aborted", "superseded"]
Via = Literal["card", "script", "policy", "timeout", "replay", "callback", "session"]


_opened: "WeakSet[Call]" = WeakSet()


def pending() -> list["Call"]:
    """Give all calls of this kernel that a person can answer now, whichever session or cell asks, oldest first."""
    waiting = [call for call in _opened if call.status == "executing" and not call.decided]
    return sorted(waiting, key=lambda call: call.asked_at)


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

    reason: str | None = None
    """A person's or a rule's own words."""

    by: str | None = None
    """Who."""

    via: Via = "session"
    """By which path."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When (aware, UTC)."""


class Call(HasTraits):
    """One question to a person: observe it, answer it, once.

    Every attribute below is a traitlets trait, so ``call.observe(fn, "status")`` works as on any widget.
    Names and status strings are CopilotKit's (``useHumanInTheLoop``).

    Attributes:
        id: The wire's tool call id or interrupt id.
        name: The tool's name as the model called it.
        kind: ``tool``, ``interrupt`` or ``feedback``.
        message: What is asked, in words (the tool's description).
        args: While ``inProgress`` a partial dict, for preview only; afterwards the validated value: a pydantic
            instance, or plain data for a tool defined by JSON Schema.
        status: ``inProgress`` → ``executing`` → ``complete``. ``executing`` means that a person can answer now.
        outcome: None until complete; then ``answered``, ``declined``, ``cancelled``, … Only ``answered`` and
            ``edited`` are approvals.
        answer: The typed value somebody answered with, else None.
        result: The tool message content (a string), None until complete.
        reason: The words that came with a refusal, or None.
        answered_by, via: Who answered, and by which path (``card``, ``script``, ``policy``, …).
        asked_at, answered_at: Aware UTC datetimes, or None.
        proposal: What a plain Confirm answers with; None means the arguments themselves.
        delivered: What the model is given instead of `result`: the return value of a gated function; else None.
        error: Why the last attempt to answer was refused; the call is then still open.
    """

    id = UnicodeTrait(read_only=True)
    name = UnicodeTrait(read_only=True)
    kind = EnumTrait(["tool", "interrupt", "feedback"], default_value="tool", read_only=True)
    message = UnicodeTrait("", read_only=True)
    args = AnyTrait(None, read_only=True)
    status = EnumTrait(["inProgress", "executing", "complete"], default_value="inProgress", read_only=True)
    outcome = AnyTrait(None, read_only=True)
    answer = AnyTrait(None, read_only=True)
    result = AnyTrait(None, read_only=True)
    reason = AnyTrait(None, read_only=True)
    answered_by = AnyTrait(None, read_only=True)
    via = AnyTrait(None, read_only=True)
    asked_at = AnyTrait(None, read_only=True)
    answered_at = AnyTrait(None, read_only=True)
    error = AnyTrait(None, read_only=True)

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the wire's own word
        name: str,
        kind: Kind = "tool",
        message: str = "",
        answer_type: AnswerType | None = None,
        render: Any = None,
        thread_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__()
        for key, value in {"id": id, "name": name, "kind": kind, "message": message}.items():
            self.set_trait(key, value)
        self.answer_type = answer_type
        self.render = render
        self.thread_id = thread_id
        self.run_id = run_id
        self.proposal: Any = None
        self.delivered: str | None = None
        self.late: list[Any] = []
        self._lock = threading.Lock()
        self._decision: Decision | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._done_callbacks: list[Callable[[], None]] = []
        self._default_via: Via = "callback"

    # -- for the person -----------------------------------------------------------------------------------

    def respond(self, value: Any, *, by: str | None = None, via: Via | None = None) -> bool:
        """Answer the call: the run goes on with exactly this value. Safe from any thread; the first answer wins.

        Args:
            value: The answer, checked against the tool's declared answer type.
            by: Who answers; shown in the record.
            via: By which path; the person that is asking is the default.

        Returns:
            True if this answer counts. False if the call was decided before: nothing changes then, and the
            attempt is kept in ``call.late``.

        Raises:
            CallNotOpenError: The model is still writing the arguments.
            InvalidValue: The value does not fit the answer type or cannot be sent; the call stays open.
        """
        if self.decided:
            return self._too_late(value)
        if self.status == "inProgress":
            raise CallNotOpenError(
                f"`{self.name}` ({self.id}) cannot be answered yet: its arguments are still being written. "
                'Answer when `call.status == "executing"`.'
            )
        try:
            answer = self.answer_type.validate(value) if self.answer_type else value
            result = encode(answer)
        except InvalidValue as error:
            self._publish_error(str(error))
            raise
        return self._decide(
            Decision(outcome="answered", answer=answer, result=result, by=by, via=via or self._default_via)
        )

    def decline(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Say no. The model is told that nothing was executed and that it must not simply try again.

        Returns:
            True if this decision counts, False if the call was decided before.
        """
        return self._refuse("declined", reason, by, via)

    def cancel(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Withdraw the question without an answer; never an approval. Returns as `decline` does."""
        return self._refuse("cancelled", reason, by, via)

    @property
    def decided(self) -> bool:
        """Whether an answer or a refusal counts already (true a moment before ``status`` says complete)."""
        return self._decision is not None

    @property
    def approved(self) -> bool:
        """Whether a person or rule said yes. An error, a timeout or a cancel is never an approval."""
        return self._decision is not None and self._decision.outcome in ("answered", "edited")

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when the call is decided, in whichever thread that happens."""
        with self._lock:
            if self._decision is None:
                self._done_callbacks.append(callback)
                return
        callback()

    def __repr__(self) -> str:
        word = self.outcome or self.status
        return f"<Call {self.name} {self.id}: {word}>"

    # -- for the session ----------------------------------------------------------------------------------

    def _preview(self, args: Any) -> None:
        self._set(args=args)

    def _open(self, args: Any) -> None:
        """Begin ``executing``: the arguments are complete and valid, a person can answer from here on."""
        self._home = asyncio.get_running_loop()
        _opened.add(self)
        self._set(args=args, asked_at=datetime.now(UTC), status="executing")

    def _refuse(self, outcome: Outcome, reason: str | None, by: str | None = None, via: Via | None = None) -> bool:
        result = ABORTED if outcome == "aborted" else encode_refusal(outcome, reason)
        return self._decide(
            Decision(outcome=outcome, result=result, reason=reason, by=by, via=via or self._default_via)
        )

    def _reject(self, message: str) -> bool:
        """The call itself is wrong (bad arguments, unknown tool): tell the model, ask nobody."""
        return self._decide(Decision(outcome="invalid", result=encode_error(message), reason=message))

    def _decide(self, decision: Decision) -> bool:
        with self._lock:
            if self._decision is None:
                self._decision = decision
                callbacks, self._done_callbacks = self._done_callbacks, []
                first = True
            else:
                first = False
        if not first:
            return self._too_late(decision.answer)
        for callback in callbacks:
            callback()
        self._at_home(self._publish_decision)
        return True

    def _too_late(self, value: Any) -> bool:
        self.late.append(value)
        return False

    def _publish_decision(self) -> None:
        decision = self._decision
        assert decision is not None
        self._set(
            answer=decision.answer,
            outcome=decision.outcome,
            result=decision.result,
            reason=decision.reason,
            answered_by=decision.by,
            via=decision.via,
            answered_at=decision.at,
            error=None,
            status="complete",
        )

    def _publish_error(self, message: str) -> None:
        # Cleared first: the same mistake twice is two events for whoever observes `error`.
        self._at_home(lambda: self._set(error=None))
        self._at_home(lambda: self._set(error=message))

    def _at_home(self, publish: Callable[[], None]) -> None:
        """Change traits in the loop's own thread only: widgets that observe them are not thread-safe."""
        home = self._home
        try:
            same_loop = home is None or asyncio.get_running_loop() is home
        except RuntimeError:
            same_loop = False
        if same_loop or home is None or home.is_closed():
            publish()
        else:
            home.call_soon_threadsafe(publish)

    def _set(self, **traits: Any) -> None:
        # An observer of the user's that raises must neither hide the other changes nor stop the run.
        for key, value in traits.items():
            try:
                self.set_trait(key, value)
            except Exception:
                _log.exception("An observer of `%s.%s` failed", self.name, key)
