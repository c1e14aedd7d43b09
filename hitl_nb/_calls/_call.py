"""The one object: a `Call` is one question to a person, with one id and one answer.

A tool call of the model, a checkpoint of the code, a feedback request of a framework: the same object, so that
cards, people and records have to know only this. It is bound to its id, never to its tool: a late click on one
card cannot answer the next (the released web hook gets this wrong).
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from traitlets import Any as AnyTrait
from traitlets import Enum as EnumTrait
from traitlets import Unicode as UnicodeTrait

from hitl_nb._calls._decision import AnswerType, Decision, Kind, Outcome, Recorder, Via
from hitl_nb._calls._registry import log, note_opened
from hitl_nb._calls._settling import Settling
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


class Call(Settling):
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
    def approved(self) -> bool:
        """Whether a person or rule said yes. An error, a timeout or a cancel is never an approval."""
        return self._decision is not None and self._decision.outcome in ("answered", "edited")

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
                log.exception("That `%s` (%s) was shown could not be recorded", self.name, self.id)

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
        note_opened(self)
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


def _hash_of(args: Any) -> str | None:
    try:
        return fingerprint(args)
    except (ValueError, TypeError, RecursionError):
        # A payload without any JSON form (a cycle): nothing that could be compared.
        return None
