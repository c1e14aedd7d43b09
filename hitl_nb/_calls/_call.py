"""The one object: a `Call` is one question to a person, with one id and one answer.

A tool call of the model, a checkpoint of the code, a feedback request of a framework: the same object, so that
cards, people and records have to know only this. It is bound to its id, never to its tool: a late click on one
card cannot answer the next (the released web hook gets this wrong). Here is what a person sees and does; what a
session does with it is on its `Handle`.
"""

import copy
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from traitlets import Any as AnyTrait
from traitlets import Enum as EnumTrait
from traitlets import HasTraits
from traitlets import Unicode as UnicodeTrait

from hitl_nb._calls._decision import (
    AnswerType,
    Decision,
    Kind,
    Outcome,
    Turn,
    Via,
    can_be_answered,
    live_for_marimo,
    show_live,
)
from hitl_nb._calls._fingerprint import fingerprint
from hitl_nb._calls._handle import Handle
from hitl_nb._calls._proposal import as_said, edits_of, invents_a_yes, proposal_of
from hitl_nb._encoding import edited_content, encode, encode_instead, encode_refusal
from hitl_nb._limits import TooMuch, refuse_endless
from hitl_nb._schema import MISSING, readable, secret_form_of
from hitl_nb._text import said_line
from hitl_nb.errors import InvalidValue, UsageError


class Call(HasTraits):
    """One question to a person: observe it, answer it, once.

    Every attribute below is a traitlets trait, so ``call.observe(fn, "status")`` works as on any widget.
    Names and status strings are CopilotKit's (``useHumanInTheLoop``).

    Attributes:
        id (str): The wire's tool call id or interrupt id. Agents may use one again; see `occurrence`.
        occurrence (str): This one asking; no two have the same.
        name (str): The tool's name as the model called it.
        kind (Kind): ``tool``, ``interrupt``, ``feedback`` or ``mcp``.
        title (str): What stands above the card, if somebody has said it; else "".
        message (str): What is asked, in words (the tool's description).
        args (Any): While ``inProgress`` a partial dict, for preview only; afterwards the validated value: a pydantic
            instance, or plain data for a tool defined by JSON Schema.
        status (str): ``inProgress`` → ``executing`` → ``complete``. ``executing`` means that a person can answer now.
        turn (Turn | None): Who is being asked now. Nobody else can answer.
        outcome (Outcome | None): None until complete; then ``answered``, ``declined``, ``cancelled``, … Only
            ``answered`` and ``edited`` are approvals.
        answer (Any): The typed value somebody answered with, else None.
        original (Any): What was proposed, before any edit: what the code offered, or the arguments themselves.
        edits (Sequence[dict[str, Any]]): What was changed in it, whoever answered: ``{"path": "steps[0].status",
            "from": …, "to": …}`` each, plain JSON with stars in the place of secrets; without ``from`` where something
            was added, without ``to`` where it was taken away. Empty unless the outcome is ``edited``.
        result (str | None): The tool message content, None until complete.
        reason (str | None): The words that came with a refusal.
        answered_by (str | None): Who answered.
        via (Via | None): By which path: ``card``, ``script``, ``policy``, …
        asked_at (datetime | None): When it was asked, aware, in UTC.
        answered_at (datetime | None): When it was answered, likewise.
        proposal (Any): What an untouched Confirm answers with, the identical object; `MISSING` if nothing is proposed.
        delivered (str | None): What the model is given instead of `result`: the return value of a gated function.
        args_type (AnswerType | None): What has checked the arguments.
        progress (Progress | None): How far a tool is that runs in the kernel (`report_progress`).
        error (str | None): Why the last attempt to answer was refused; the call is then still open.
        held (Held | None): What was answered at a card and can still be taken back (``undo=``). Nothing of it counts
            yet.
        late_answers (list[Any]): Answers that changed nothing, because they came after the first or out of turn.

    Args:
        offer: What is proposed, where it is not found among the arguments.
        offers_arguments: Whether it may be found there: a tool proposes its arguments, a checkpoint does not.
        compares: Whether an answer can be an edit of what is proposed; a plain yes has nothing to edit.
        tells_edits: Whether the model is told of edits in an envelope (a form does, a gate does); else the answer
            travels alone, as the web sends it for a renderer of its own.
        words: Gives an answer in words for the record, where it has no JSON form and goes to code as it is.
    """

    id = UnicodeTrait(read_only=True)
    name = UnicodeTrait(read_only=True)
    title = UnicodeTrait("", read_only=True)
    kind = EnumTrait(["tool", "interrupt", "feedback", "mcp"], default_value="tool", read_only=True)
    message = UnicodeTrait("", read_only=True)
    args = AnyTrait(None, read_only=True)
    status = EnumTrait(["inProgress", "executing", "complete"], default_value="inProgress", read_only=True)
    turn = AnyTrait(None, read_only=True)
    outcome = AnyTrait(None, read_only=True)
    answer = AnyTrait(None, read_only=True)
    edits = AnyTrait((), read_only=True)
    result = AnyTrait(None, read_only=True)
    reason = AnyTrait(None, read_only=True)
    answered_by = AnyTrait(None, read_only=True)
    via = AnyTrait(None, read_only=True)
    asked_at = AnyTrait(None, read_only=True)
    answered_at = AnyTrait(None, read_only=True)
    progress = AnyTrait(None, read_only=True)
    error = AnyTrait(None, read_only=True)
    held = AnyTrait(None, read_only=True)

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the wire's own word
        name: str,
        title: str = "",
        kind: Kind = "tool",
        message: str = "",
        answer_type: AnswerType | None = None,
        args_type: AnswerType | None = None,
        render: Any = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        offer: Any = MISSING,
        offers_arguments: bool = True,
        compares: bool = True,
        tells_edits: bool = False,
        words: Callable[[Any], str] | None = None,
    ) -> None:
        super().__init__()
        self.take({"id": id, "name": name, "title": title, "kind": kind, "message": message})
        self.occurrence = uuid.uuid4().hex
        self.answer_type = answer_type
        self.args_type = args_type
        self.render = render
        self.thread_id = thread_id
        self.run_id = run_id
        self.offer = offer
        self.offers_arguments = offers_arguments
        self.late_answers: list[Any] = []
        self._compares = compares
        self._tells_edits = tells_edits
        self._words = words
        self._turn: str | None = None
        self._handle = Handle(self)

    # -- for the person -----------------------------------------------------------------------------------

    def respond(
        self, value: object, *, reason: str | None = None, by: str | None = None, via: Via | None = None
    ) -> bool:
        """Answer the call: the run goes on with exactly this value. Safe from any thread; the first answer wins.

        What it changes in the proposal is found by comparing: then the outcome is ``edited``.

        Args:
            value: The answer, checked against the tool's declared answer type. ``call.proposal`` confirms.
            reason: The words that came with it, for the record.
            by: Who answers; shown in the record.
            via: By which path; the person that is asked is the default.

        Returns:
            True if this answer counts: in the kernel's loop "taken" (with a journal it counts once it is on disk; if
            that fails, the call is open again and `error` says why), elsewhere once it is. False if the call was
            decided before, or is being put to somebody else by now: nothing changes then, and the attempt is kept in
            ``call.late_answers``.

        Raises:
            CallNotOpenError: The model is still writing the arguments, or several people are asked one by one.
            InvalidValue: The value does not fit the answer type or cannot be sent, or code has changed the arguments
                since they were shown; the call stays open.
            JournalError: It could not be written down (outside of the loop); the call stays open.
        """
        made = partial(self._approval, value, reason, by, via)
        return self._handle.respond(made, value, by=by, turn=self._turn, approves=True)

    def decline(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Say no. The model is told that nothing was executed and that it must not simply try again.

        Returns:
            True if this decision counts, False if the call was decided before.

        Raises:
            CallNotOpenError: Several people are asked, each a question of their own.
        """
        return self._refuse("declined", encode_refusal("declined", reason), reason, by, via)

    def answer_instead(self, text: str, *, by: str | None = None, via: Via | None = None) -> bool:
        """Do not approve, but tell the model something instead ("use table X"). Returns as `decline` does."""
        return self._refuse("declined", encode_instead(text), text, by, via)

    def cancel(self, reason: str | None = None, *, by: str | None = None, via: Via | None = None) -> bool:
        """Withdraw the question without an answer; never an approval. Returns as `decline` does."""
        return self._refuse("cancelled", encode_refusal("cancelled", reason), reason, by, via)

    @property
    def original(self) -> Any:
        """What was proposed, before any edit."""
        return self.args if self.offer is MISSING else self.offer

    @property
    def proposal(self) -> Any:
        """What an untouched Confirm answers with; `MISSING` if nothing is proposed."""
        proposal = proposal_of(self)
        return MISSING if proposal is None else proposal.value

    @property
    def decided(self) -> bool:
        """Whether an answer or a refusal counts already (true a moment before ``status`` says complete)."""
        return self._handle.taken is not None

    @property
    def approved(self) -> bool:
        """Whether a person or rule said yes. An error, a timeout or a cancel is never an approval."""
        decision = self._handle.decision
        return decision is not None and decision.approves

    @property
    def args_sha256(self) -> str | None:
        """The hash of the arguments' content; None where they hold something that has none (a connection)."""
        try:
            form = secret_form_of(self.args_type)
            return fingerprint(self.args if form is None else readable(self.args, form))
        except UsageError:
            return None

    @property
    def delivered(self) -> str | None:
        """What the model is given instead of `result`."""
        return self._handle.delivered

    def face(self, turn: Turn) -> "Call":
        """Return the same call for somebody who may answer in this turn only, however long they keep it."""
        face = copy.copy(self)
        face.unobserve_all()  # those who watch the call watch the call
        face._turn = turn.token
        self._handle.faces.append(face)
        return face

    def again(self, *, id: str, message: str) -> "Call":  # noqa: A002 - the wire's own word
        """Return another call that asks the same, not open yet."""
        return Call(
            id=id,
            name=self.name,
            title=self.title,
            kind=cast("Kind", self.kind),
            message=message,
            answer_type=self.answer_type,
            args_type=self.args_type,
            render=self.render,
            thread_id=self.thread_id,
            run_id=self.run_id,
            offer=self.offer,
            offers_arguments=self.offers_arguments,
            compares=self._compares,
            tells_edits=self._tells_edits,
            words=self._words,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and other.occurrence == self.occurrence

    def __hash__(self) -> int:
        return hash(self.occurrence)

    @property
    def is_observed(self) -> bool:
        """Whether anybody follows the traits."""
        return bool(self._trait_notifiers)

    def take(self, traits: dict[str, Any]) -> None:
        """Set traits that nobody observes: traitlets' own way costs ten times as much, for whoever would be told."""
        self._trait_values.update(traits)

    def add_done_callback(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when the call is decided, in whichever thread that happens."""
        self._handle.when_decided(callback)

    def _ipython_display_(self) -> None:
        show_live([self])

    def _display_(self) -> object:
        return live_for_marimo([self] if can_be_answered(self) else [], repr(self))

    def __repr__(self) -> str:
        word = self.outcome or self.status
        return said_line(f"<Call {self.name} {self.id}: {word}>")

    # -- what a decision is made of -----------------------------------------------------------------------

    def _approval(
        self, value: object, reason: str | None, by: str | None, via: Via | None, turn: Turn | None
    ) -> Decision:
        try:
            refuse_endless(value)
        except TooMuch as error:
            raise InvalidValue(f"`{self.name}` cannot be answered with this: {error}.") from error
        answer = self._validated(value)
        if self.answer_type is not None and invents_a_yes(value, answer):
            raise InvalidValue(
                f"`{self.name}` takes a yes or no, and `{value!r}` is neither. "
                "Write `call.respond(True)`, or `call.decline()`."
            )
        if value is not self._handle.made:
            answer = as_said(self, answer)
        edits = (edits_of(self, answer) if self._compares else None) or ()
        return Decision(
            outcome="edited" if edits else "answered",
            answer=answer,
            edits=edits,
            result=self._encoded(edited_content(answer, edits) if edits and self._tells_edits else answer),
            reason=reason,
            by=by or (turn.by if turn else None),
            via=via or (turn.via if turn else "callback"),
        )

    def _validated(self, value: object) -> Any:
        try:
            return self.answer_type.validate(value) if self.answer_type else value
        except InvalidValue as error:
            if value is not True or proposal_of(self) is None:
                raise
            raise InvalidValue(
                f"{error}. To confirm what `{self.name}` proposes, write `call.respond(call.proposal)`."
            ) from error

    def _encoded(self, content: object) -> str:
        try:
            return encode(content)
        except InvalidValue:
            if self._words is None:
                raise
            return self._words(content)

    def _refuse(self, outcome: Outcome, result: str, reason: str | None, by: str | None, via: Via | None) -> bool:
        def made(turn: Turn | None) -> Decision:
            # Somebody with a path of their own is not the one who is being asked.
            who = by or (turn.by if turn and via is None else None)
            return Decision(
                outcome=outcome, result=result, reason=reason, by=who, via=via or (turn.via if turn else "callback")
            )

        return self._handle.respond(made, None, by=by, turn=self._turn, approves=False)
