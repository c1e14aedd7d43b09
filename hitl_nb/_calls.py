"""The one object: a `Call` is one question to a person, with one id and one answer.

A tool call of the model, a checkpoint of the code, a feedback request of a framework: the same object, so that
cards, people and records have to know only this. It is bound to its id, never to its tool: a late click on one
card cannot answer the next (the released web hook gets this wrong).
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol
from weakref import WeakSet

from traitlets import Any as AnyTrait
from traitlets import Enum as EnumTrait
from traitlets import HasTraits
from traitlets import Unicode as UnicodeTrait

from hitl_nb._encoding import (
    ABORTED,
    edited_content,
    encode,
    encode_error,
    encode_instead,
    encode_refusal,
    fingerprint,
)
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


_watchers: list[Callable[["Call"], object]] = []


@contextmanager
def decisions_watched(watcher: Callable[["Call"], object]) -> Iterator[None]:
    """Have `watcher(call)` called for each decision of this process, before anybody acts on it, in deciding order."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


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

    def asked(self, call: "Call", *, arguments: str, parameters: Any = None) -> None:
        """Record the question, before it is shown."""

    def shown(self, call: "Call") -> None:
        """Record that a person can see the question now."""

    def answered(self, call: "Call") -> bool:
        """Record the decision, before anybody acts on it; False if another process has decided the call."""
        ...

    def winner(self, call: "Call") -> Any:
        """Give the decision that counts, as it was stored."""

    def late(self, call: "Call", value: Any, by: str | None = None) -> None:
        """Record an answer that changes nothing."""


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
        original: What was proposed, before any edit: ``proposal``, or the arguments themselves.
        edits: What the person changed in it: ``{"path": "steps[0].status", "from": …, "to": …}`` each, plain JSON with
            stars in the place of secrets; without ``from`` where something was added, without ``to`` where it was
            taken away. Empty unless the outcome is ``edited``.
        result: The tool message content (a string), None until complete.
        reason: The words that came with a refusal, or None.
        answered_by, via: Who answered, and by which path (``card``, ``script``, ``policy``, …).
        asked_at, answered_at: Aware UTC datetimes, or None.
        proposal: What a plain Confirm answers with; None means the arguments themselves.
        delivered: What the model is given instead of `result`: the return value of a gated function; else None.
        args_type: What has checked the arguments, or None.
        args_sha256: The hash of the validated arguments' canonical JSON: what was shown is what is approved.
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
    edits = AnyTrait((), read_only=True)
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
        args_type: AnswerType | None = None,
        render: Any = None,
        thread_id: str | None = None,
        run_id: str | None = None,
    ) -> None:
        super().__init__()
        for key, value in {"id": id, "name": name, "kind": kind, "message": message}.items():
            self.set_trait(key, value)
        self.answer_type = answer_type
        self.args_type = args_type
        self.args_sha256: str | None = None
        self.render = render
        self.thread_id = thread_id
        self.run_id = run_id
        self.proposal: Any = None
        self.delivered: str | None = None
        self._encode: Callable[[Any], str] = encode
        self.late: list[Any] = []
        self._recorder: Recorder | None = None
        self._lock = threading.Lock()
        self._decision: Decision | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._done_callbacks: list[Callable[[], None]] = []
        self._default_via: Via = "callback"
        self._default_by: str | None = None

    # -- for the person -----------------------------------------------------------------------------------

    def respond(
        self,
        value: Any,
        *,
        edits: Sequence[dict[str, Any]] | None = None,
        reason: str | None = None,
        by: str | None = None,
        via: Via | None = None,
    ) -> bool:
        """Answer the call: the run goes on with exactly this value. Safe from any thread; the first answer wins.

        Args:
            value: The answer, checked against the tool's declared answer type.
            edits: What was changed in the proposal, in the form of the attribute `edits`. With any, the outcome is
                ``edited``, and the model is told that and what was changed.
            reason: The words that came with it, for the record.
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
            return self._too_late(value, by)
        if self.status == "inProgress":
            raise CallNotOpenError(
                f"`{self.name}` ({self.id}) cannot be answered yet: its arguments are still being written. "
                'Answer when `call.status == "executing"`.'
            )
        try:
            answer = self.answer_type.validate(value) if self.answer_type else value
            result = self._encode(edited_content(answer, edits) if edits else answer)
        except InvalidValue as error:
            self._publish_error(str(error))
            raise
        return self._decide(
            Decision(
                outcome="edited" if edits else "answered",
                answer=answer,
                edits=tuple(edits or ()),
                result=result,
                reason=reason,
                by=by or self._default_by,
                via=via or self._default_via,
            )
        )

    def decline(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Say no. The model is told that nothing was executed and that it must not simply try again.

        Returns:
            True if this decision counts, False if the call was decided before.
        """
        return self._refuse("declined", reason, by, via)

    def answer_instead(self, text: str, *, by: str | None = None, via: Via | None = None) -> bool:
        """Do not approve, but tell the model something instead ("use table X"). Returns as `decline` does."""
        return self._decide(
            Decision(
                outcome="declined",
                result=encode_instead(text),
                reason=text,
                by=by or self._default_by,
                via=via or self._default_via,
            )
        )

    def cancel(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Withdraw the question without an answer; never an approval. Returns as `decline` does."""
        return self._refuse("cancelled", reason, by, via)

    @property
    def original(self) -> Any:
        """What was proposed, before any edit."""
        return self.args if self.proposal is None else self.proposal

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

    def _check_unchanged(self) -> None:
        """Raise if code has changed the arguments since they were shown (pydantic-ai#6968).

        Raises:
            InvalidValue: They are not what a person has seen; the call stays open.
        """
        if self.args_sha256 != _hash_of(self.args):
            message = (
                f"The arguments of `{self.name}` were changed by code after they were shown, so they cannot be "
                "approved any more. Decline, and let them be proposed again."
            )
            self._publish_error(message)
            raise InvalidValue(message)

    def _is_put_to(self, person: Any) -> None:
        """Note who is asked now: whatever is answered without a name or a path is theirs."""
        name = getattr(person, "name", None)
        self._default_via = getattr(person, "via", "callback")
        self._default_by = name if isinstance(name, str) else None

    def _is_shown(self) -> None:
        """Note that a browser draws the question; that this cannot be written down keeps nobody from answering."""
        if self._recorder is not None:
            try:
                self._recorder.shown(self)
            except Exception:
                _log.exception("That `%s` (%s) was shown could not be recorded", self.name, self.id)

    def _preview(self, args: Any) -> None:
        self._set(args=args)

    def _open(
        self, args: Any, *, arguments: str = "{}", parameters: Any = None, recorder: Recorder | None = None
    ) -> None:
        """Begin ``executing``: the arguments are complete and valid, a person can answer from here on."""
        self._home = asyncio.get_running_loop()
        self.args_sha256 = _hash_of(args)
        self._set(args=args, asked_at=datetime.now(UTC))
        if recorder is not None:
            # The question is on disk before anybody sees it.
            recorder.asked(self, arguments=arguments, parameters=parameters)
            self._recorder = recorder
        _opened.add(self)
        self._set(status="executing")

    def _refuse(self, outcome: Outcome, reason: str | None, by: str | None = None, via: Via | None = None) -> bool:
        result = ABORTED if outcome == "aborted" else encode_refusal(outcome, reason)
        return self._decide(
            Decision(
                outcome=outcome,
                result=result,
                reason=reason,
                by=by or (self._default_by if via is None else None),
                via=via or self._default_via,
            )
        )

    def _reject(self, message: str) -> bool:
        """The call itself is wrong (bad arguments, unknown tool): tell the model, ask nobody."""
        return self._decide(Decision(outcome="invalid", result=encode_error(message), reason=message))

    def _decide(self, decision: Decision) -> bool:
        with self._lock:
            if self._decision is None:
                counts = self._commit(decision)
                callbacks, self._done_callbacks = self._done_callbacks, []
            else:
                callbacks, counts = None, False
        if callbacks is None:
            return self._too_late(decision.answer, decision.by)
        for watcher in tuple(_watchers):
            watcher(self)
        for callback in callbacks:
            callback()
        self._at_home(self._publish_decision)
        return counts

    def _commit(self, decision: Decision) -> bool:
        """Make this the decision, on disk before anybody acts on it; gives whether it is the one that counts."""
        self._decision = decision
        try:
            if self._recorder is None or self._recorder.answered(self):
                return True
            self._decision = self._decision_of(self._recorder.winner(self))
        except Exception:
            if decision.outcome not in ("answered", "edited"):
                # A refusal holds all the same: nothing is executed, whether or not that can be written down.
                _log.exception("The end of `%s` (%s) could not be recorded", self.name, self.id)
                return True
            # A yes that could not be recorded did not happen: the call stays open, and whoever answered is told.
            self._decision = None
            raise
        self.late.append(decision.answer)
        return False

    def _decision_of(self, stored: Any) -> Decision:
        """Give a decision that another kernel or process made, with the answer as its declared type."""
        answer = stored.answer
        if answer is not None and self.answer_type is not None:
            answer = self.answer_type.validate(answer)
        return Decision(
            outcome=stored.outcome,
            answer=answer,
            result=stored.result,
            reason=stored.reason,
            by=stored.by,
            via=stored.via,
            at=stored.at,
        )

    def _too_late(self, value: Any, by: str | None = None) -> bool:
        self.late.append(value)
        if self._recorder is not None:
            try:
                self._recorder.late(self, value, by)
            except Exception:
                _log.exception("A late answer to `%s` (%s) could not be recorded", self.name, self.id)
        return False

    def _publish_decision(self) -> None:
        decision = self._decision
        assert decision is not None
        self._set(
            answer=decision.answer,
            edits=decision.edits,
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


def _hash_of(args: Any) -> str | None:
    try:
        return fingerprint(args)
    except (ValueError, TypeError, RecursionError):
        # A payload without any JSON form (a cycle): nothing that could be compared.
        return None
