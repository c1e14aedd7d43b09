"""The session's side of a call: whoever opens it, puts it to somebody, closes it, delivers what came of it.

The first decision wins, is on disk before anybody acts on it, and shows in the loop's own thread. Answers come from
any thread (ipykernel 7.0-7.3 runs a widget's callback in a subshell's), from several views, and with a journal from
other processes. A question can be answered only by whoever is being asked now.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from hitl_nb._calls._decision import (
    APPROVALS,
    ERASED,
    Decision,
    FoundBy,
    Outcome,
    Recorder,
    Turn,
    Via,
    log,
    note_opened,
    tell_watchers,
)
from hitl_nb._calls._fingerprint import Print, print_of
from hitl_nb._calls._grant import Grant
from hitl_nb._calls._held import frozen
from hitl_nb._calls._proposal import is_another_answer, read_proposal
from hitl_nb._calls._turns import Grace, Turns
from hitl_nb._encoding import ABORTED, encode_error, encode_refusal
from hitl_nb._limits import aside, contained, running_loop
from hitl_nb._schema import MISSING, facts_of, learn_from
from hitl_nb.errors import CallNotOpenError, InvalidValue

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call

CHANGED = "what it is about was changed by code while the question was open"
"""The reason of a checkpoint that can no longer be approved."""


class Handle:
    """What a session holds of one call; a person holds the `Call`. Made with it, found by `Handle.of`."""

    def __init__(self, call: "Call") -> None:
        self.call = call
        self.faces: list[Call] = []
        """The call as persons hold it who may answer in their own turn only."""
        self.card: Any = None
        """What draws it; here, so that it goes when the call goes."""
        self.decision: Decision | None = None
        """What was decided and counts, None while the call is open or its answer is still being written down."""
        self.taken: Decision | None = None
        """The same, also while it is being written down: nothing else is taken any more."""
        self.proposal: Any = MISSING
        """What it proposes (`proposal_of`), once it is open."""
        self.made: Any = MISSING
        """The answer that the card has made of a click, which nobody else holds, unless it is an option."""
        self.live: tuple[str, ...] = ()
        """The types of what was opened with this call and has no content: compared by identity."""
        self.delivered: str | None = None
        """What the model is given instead of the result."""
        self.may_recall = True
        """Whether a memory may answer: not where a rule forbids the call, or cannot tell."""
        self.consulted: set[int] = set()
        """The rules that have had their say, by identity."""
        self.keeps_answer = False
        """Whether somebody wants to remember what is said, as it is said."""
        self.kept_answer: Any = None
        """A copy of it that nobody else holds; None unless it was a yes."""
        self.is_mine = True
        """Whether the decision was made here, and not adopted from another process."""
        self.recorder: Recorder | None = None
        self.found_by: FoundBy | None = None
        """What a later run finds this question by; None: it ends with whoever asks."""
        self.refusal: tuple[Any, ...] = ()
        """Why an earlier answer to this question could not be taken: one entry a fault."""
        self.refused: int | None = None
        """The row of the question whose answer that was."""
        self.begun: Any = None
        """What a person had begun at the card of this question before, when it was asked first: its draft."""
        self.origin = ""
        """Who asks, and from where, in words; empty where that is plain to see."""
        self.looked_at: Callable[[], object] = lambda: None
        """Called when somebody is at its card: they have clicked or typed there."""
        self.is_parked = False
        """Whether the question stays open although nobody waits for it here."""
        self.turns = Turns(self)
        """Whose turn it is to answer."""
        self.grant = Grant(self)
        """The right to run what was approved."""
        self.grace = Grace(self._count, lambda held: self._at_home(partial(self.set, held=held)))
        """What holds the answer of a card for a moment."""
        self.deadline: tuple[datetime, str] | None = None
        """When nobody is waited for any longer, and what happens then, in words (``Expires``); None: never."""
        self.again = ""
        """How the question can be asked again once it has expired: nothing waits for this one any more."""
        self.if_expired: Any = MISSING
        """What the code goes on with once it has expired; `MISSING`: it does not go on."""
        self._lock = threading.Lock()
        self._writing: Future[bool] | None = None
        self._failure: Exception | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._print: Print | None = None

    @staticmethod
    def of(call: "Call") -> "Handle":
        """Return the handle of a call."""
        return call._handle

    # -- how far it is ------------------------------------------------------------------------------------

    def when_decided(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when the call is decided, in whichever thread that happens."""
        with self._lock:
            if self.decision is None:
                self._callbacks.append(callback)
                return
        callback()

    async def settled(self) -> None:
        """Wait until an answer that was just given counts, or does not; one that is held counts now."""
        self.grace.end()
        while self.taken is not self.decision:
            writing = self._writing
            if writing is None or writing.done():
                await asyncio.sleep(0)  # what makes it count is scheduled in the home loop
            else:
                waiting = asyncio.wrap_future(writing)
                waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # told by `written`
                await asyncio.wait([waiting])

    async def written(self) -> None:
        """Wait until an answer that was just given is on disk.

        Raises:
            JournalError: It could not be written; the call is open again.
        """
        await self.settled()
        if self.decision is None and self._failure is not None:
            raise self._failure

    # -- its life -----------------------------------------------------------------------------------------

    def preview(self, args: object) -> None:
        """Show arguments that are still being written."""
        self.set(args=args)

    def runs_elsewhere(self, args: object) -> None:
        """Show that an agent runs a tool of its own: nobody here can answer it."""
        self.set(args=args, asked_at=datetime.now(UTC), status="executing")

    @property
    def may_report(self) -> bool:
        """Whether what runs may say how far it is: it has neither ended nor been stopped."""
        return self.taken is None or (self.grant.is_taken and self.delivered is None)

    def report(self, progress: object) -> None:
        """Show how far a tool is that runs; from any thread."""
        self._at_home(lambda: self.set(progress=progress) if self.may_report else None)

    async def open(
        self,
        args: object,
        *,
        arguments: str = "{}",
        parameters: object = None,
        recorder: Recorder | None = None,
        gated: bool = False,
    ) -> None:
        """Begin ``executing``: the arguments are complete and valid, and on disk before anybody sees them.

        Args:
            args: The validated arguments.
            arguments: As the model wrote them.
            parameters: What checked them.
            recorder: The journal, or None.
            gated: Whether something runs once it is approved (`begin`).

        Raises:
            JournalError: The question could not be written down; it is not open then.
        """
        # What a model wrote is nobody else's yet; what code asks about might be changed meanwhile.
        size = len(arguments) if parameters is not None else 0
        prints = await aside(lambda: self._prints_of(args, parameters, gated=gated), size)
        self._hold(args, gated=gated, prints=prints)
        if recorder is not None:
            written = recorder.begin_asked(self.call, arguments=arguments, parameters=parameters)
            # At once: a stop meanwhile is written, too, and what another process has decided before it counts.
            self.recorder = recorder
            try:
                if not written.done():
                    await asyncio.wrap_future(written)
                written.result()
            except Exception:
                self.recorder = None
                raise
        self._show_open()

    def open_now(self, args: object, *, gated: bool = False) -> None:
        """Do the same without a record."""
        self._hold(args, gated=gated)
        self._show_open()

    def open_again(self, args: object, recorder: Recorder, *, gated: bool = False) -> None:
        """Begin ``executing`` a question that an earlier run has asked: nothing is written down."""
        self._hold(args, gated=gated)
        self.recorder = recorder
        self._show_open()

    def _hold(self, args: object, *, gated: bool, prints: tuple[Print, Any] | None = None) -> None:
        self._home = running_loop()
        self._print, self.grant.frozen = self._prints_of(args, None, gated=gated) if prints is None else prints
        self.live = self._print.live
        self.grant.is_gated = gated
        self.set(args=args, asked_at=datetime.now(UTC))

    def _prints_of(self, args: object, checks: object, *, gated: bool) -> tuple[Print, Any]:
        learn_from(args, checks or self.call.args_type)
        return print_of(args), frozen(args) if gated else None

    def _show_open(self) -> None:
        if self.taken is None:  # else stopped while the question was being written down
            with suppress(Exception):  # of a type that cannot be read whoever answers is told
                self.proposal = read_proposal(self.call)
                facts_of(self.call.answer_type)  # kept for the type: who answers does not wait for it
            note_opened(self.call)
            self.set(status="executing")

    def shown(self) -> None:
        """Note that a browser draws the question; that this cannot be written down keeps nobody from answering."""
        if self.recorder is not None:
            self.note(lambda recorder: recorder.begin_shown(self.call), "That it was shown")

    def problem(self, message: str) -> None:
        """Say on the card why the last attempt to answer did not count."""
        # Cleared first: the same mistake twice is two events for whoever observes `error`.
        self._at_home(partial(self.set, error=None))
        self._at_home(partial(self.set, error=message))

    # -- the decision -------------------------------------------------------------------------------------

    def respond(
        self,
        decision: Callable[[Turn | None], Decision],
        value: object,
        *,
        by: str | None,
        turn: str | None,
        approves: bool,
    ) -> bool:
        """Take a person's decision, if it is their turn and the call is open.

        Args:
            decision: Makes it; raises `InvalidValue` if it cannot be one.
            value: What was given, for the record of late answers.
            by: Who, likewise.
            turn: The turn that they have been given, if any.
            approves: Whether it may be a yes.
        """
        if self.taken is not None:
            return self.too_late(value, by)
        if self.call.status == "inProgress" and approves:
            raise CallNotOpenError(
                f"`{self.call.name}` ({self.call.id}) cannot be answered yet: its arguments are still being written. "
                'Answer when `call.status == "executing"`: `display(call)` shows its card.'
            )
        if not self.turns.may_answer(turn):
            return self.too_late(value, by)
        if approves and not self.may_be_approved():
            return False
        try:
            made = decision(self.call.turn)
        except InvalidValue as error:
            self.problem(str(error))
            raise
        if self.grace.seconds and (clicking := self.turns.clicking) is not None:
            return self.grace.hold(made, clicking)
        return self._decide(made)

    def _count(self, decision: Decision) -> bool:
        """Let an answer count that was held, if it is still about what was shown."""
        try:
            return (not decision.approves or self.may_be_approved()) and self._decide(decision)
        except InvalidValue:
            return False  # the card says why, and is open
        except Exception as error:
            self._failure = error
            self.problem(f"Your answer could not be written down and does not count: {error}")
            return False

    def settle(self, decision: Decision, *, mine: bool = True) -> bool:
        """End the call with a decision that was made elsewhere: remembered, adopted, what code did.

        Args:
            decision: The decision.
            mine: Whether what it allows may run here.
        """
        self.is_mine = mine
        return self._decide(decision, holds=True)

    def ballot(self, number: int, of: int) -> "Call":
        """Return the same question once more, for one of several people to answer for themselves; it is open."""
        message = f"{self.call.message} (approval {number} of {of})".strip()
        ballot = self.call.again(id=f"{self.call.id}#{number}", message=message)
        theirs = Handle.of(ballot)
        theirs.open_now(self.call.args)
        # What was shown first is what they approve; code may have changed it before they were asked.
        theirs._print, theirs.live = self._print, self.live
        theirs.may_recall, theirs.keeps_answer = self.may_recall, True
        theirs.grace.seconds, theirs.deadline = self.grace.seconds, self.deadline
        return ballot

    def respond_for(self, ballot: "Call", *, by: str) -> bool:
        """Answer as the people did who were asked questions of their own."""
        theirs = Handle.of(ballot).decision
        assert theirs is not None
        if self.was_changed:
            return self.close("declined", CHANGED, by=by)
        decided = self._decide(replace(theirs, by=by, login=None, at=datetime.now(UTC)))
        if decided:
            self.kept_answer = Handle.of(ballot).kept_answer
        return decided

    def close(
        self, outcome: Outcome, reason: str | None = None, *, by: str | None = None, via: Via = "session"
    ) -> bool:
        """End the call without an approval, whoever is being asked.

        It holds whether or not it can be written down; but what another process has decided before counts, and shows
        once the call is `settled`: nobody is told that nothing ran where something did.
        """
        assert outcome not in APPROVALS
        result = ABORTED if outcome == "aborted" else encode_refusal(outcome, reason)
        return self._decide(Decision(outcome=outcome, result=result, reason=reason, by=by, via=via))

    def park(self, reason: str) -> None:
        """Stop asking here: the question stays open in the journal, for a later run to take its answer."""
        with self._lock:
            if self.taken is not None:
                return
            self.is_parked = True
            decision = Decision(outcome="parked", result=encode_refusal("parked", reason), reason=reason)
            self.taken = decision
        self._finish(decision)

    def expire(self, reason: str) -> bool:
        """End the call because time is up: neither a yes nor a no."""
        return self.close("expired", reason, via="timeout")

    def reject(self, message: str) -> bool:
        """The call itself is wrong (bad arguments, unknown tool): tell the model, ask nobody."""
        return self._decide(Decision(outcome="invalid", result=encode_error(message), reason=message), holds=True)

    def _decide(self, decision: Decision, *, holds: bool = False) -> bool:
        """Make this the decision if there is none.

        Args:
            decision: The decision.
            holds: Whether it counts at once, written down or not.
        """
        if decision.approves:
            learn_from(decision.answer, self.call.answer_type or self.call.args_type)
        # Now, and not when it is on disk: until then code may change what was given as an answer.
        approved = self.grant.to_run(decision)
        kept = frozen(decision.answer) if self.keeps_answer and decision.approves else None
        with self._lock:
            late = self.taken is not None
            recorder = self.recorder
            if not late:
                self.taken, self.grant.approved, self.kept_answer = decision, approved, kept
        if late:
            return self.too_late(decision.answer, decision.by)
        if recorder is None:
            self._finish(decision)
            return True
        if holds:
            self._finish(decision)
            self.note(lambda recorder: recorder.begin_answered(self.call, decision), "Its end")
            return True
        return self._write(recorder, decision)

    def _write(self, recorder: Recorder, decision: Decision) -> bool:
        self._failure = None
        try:
            writing = recorder.begin_answered(self.call, decision)
        except BaseException:
            self.taken = None
            raise
        self._writing = writing
        if writing.done() or running_loop() is None:
            # On disk, or in a thread that may wait for it.
            self._written(recorder, decision, writing)
            if self.decision is None:
                writing.result()
            return self.decision is decision
        writing.add_done_callback(partial(_call_in, self._home, self._written, recorder, decision))
        return True

    def _written(self, recorder: Recorder, decision: Decision, writing: "Future[bool]") -> None:
        """Let the decision count now that it is on disk; or another process's; or none, if it could not be written."""
        try:
            if writing.result():
                self._finish(decision)
                return
            self.is_mine = False
            self.call.late_answers.append(decision.answer)
            adopted = self._adopted(recorder.winner(self.call))
            self.grant.approved = self.grant.to_run(adopted)
            self._finish(adopted)
        except Exception as error:
            if decision.outcome not in APPROVALS:
                # A refusal holds all the same: nothing is executed, whether or not that can be written down.
                log.exception("The end of `%s` (%s) could not be recorded", self.call.name, self.call.id)
                self._finish(decision)
                return
            # A yes that could not be recorded did not happen: the call is open again, and whoever answered is told.
            with self._lock:
                self._failure = error
                self.taken = self._writing = None
            self.problem(f"Your answer could not be written down and does not count: {error}")

    def adopt(self, stored: object, *, mine: bool) -> None:
        """Take a decision that the journal has: of another kernel (`mine` is False), or of an earlier one.

        Raises:
            InvalidValue: Its answer does not fit the type any more.
        """
        decision = self._adopted(stored)
        with self._lock:
            if self.taken is not None:
                return
            self.taken, self.grant.approved = decision, self.grant.to_run(decision)
        self.is_mine = mine
        self._finish(decision)

    def check(self, stored: object) -> None:
        """Raise if a stored answer does not fit the type.

        Raises:
            InvalidValue: It does not.
        """
        self._adopted(stored)

    def with_the_proposal(self, stored: Any) -> Any:
        """Give a stored decision with what was confirmed as it was proposed: the object itself, not its JSON."""
        call = self.call
        is_proposed = call.answer_type is None and call.offer is not MISSING
        # A card of somebody's own may answer with something else, which is no edit of the proposal either.
        is_confirmed = stored.outcome == "answered" and is_proposed and not is_another_answer(call.offer, stored.answer)
        return replace(stored, answer=call.offer) if is_confirmed else stored

    def _adopted(self, stored: Any) -> Decision:
        """Give a decision that another kernel or process made, with the answer as its declared type."""
        if getattr(stored, "is_gone", False):
            # A yes to what nobody can look up any more is none.
            outcome: Outcome = "cancelled" if stored.outcome in APPROVALS else stored.outcome
            result = encode_refusal(outcome, ERASED)
            return Decision(outcome=outcome, result=result, reason=ERASED, by=stored.by, via=stored.via, at=stored.at)
        answer = stored.answer
        if answer is not None and self.call.answer_type is not None:
            answer = self.call.answer_type.validate(answer)
        return Decision(
            outcome=stored.outcome,
            answer=answer,
            result=stored.result,
            edits=tuple(getattr(stored, "edits", ())),
            reason=stored.reason,
            by=stored.by,
            login=getattr(stored, "login", None),
            via=stored.via,
            at=stored.at,
        )

    def _finish(self, decision: Decision) -> None:
        with self._lock:
            self.decision = self.taken = decision
            callbacks, self._callbacks = self._callbacks, []
        if (dropped := self.grace.drop()) is not None:
            self.too_late(dropped.answer, dropped.by)
        tell_watchers(self.call)
        for callback in callbacks:
            callback()
        self._at_home(
            partial(
                self.set,
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
        )

    def too_late(self, value: object, by: str | None = None) -> bool:
        """Keep an answer that changes nothing; gives that it does not count."""
        self.call.late_answers.append(value)
        if self.recorder is not None:
            self.note(lambda recorder: recorder.begin_late(self.call, value, by), "A late answer")
        return False

    # -- was it this that was shown? ----------------------------------------------------------------------

    @property
    def was_changed(self) -> bool:
        """Whether what the call is about is not what was shown any more."""
        return self._print is not None and print_of(self.call.args).digest != self._print.digest

    def may_be_approved(self) -> bool:
        """Whether a yes may count: code has not changed what was shown (pydantic-ai#6968); else a checkpoint ends here.

        Raises:
            InvalidValue: The arguments of a tool are not what a person has seen; the call stays open.
        """
        if not self.was_changed:
            return True
        if self.call.kind != "tool":
            self.problem(f"Not approved: {CHANGED}.")
            self.close("cancelled", CHANGED)
            return False
        message = (
            f"The arguments of `{self.call.name}` were changed by code after they were shown, so they cannot be "
            "approved any more. Decline, and let them be proposed again; to answer with other values, write "
            "`call.respond(call.args.model_copy(update={...}))`."
        )
        self.problem(message)
        raise InvalidValue(message)

    # -- in the loop's own thread -------------------------------------------------------------------------

    def _at_home(self, publish: Callable[[], None]) -> None:
        """Change traits in the loop's own thread only: widgets that observe them are not thread-safe."""
        if self._home is None or running_loop() is self._home:
            publish()
        else:
            _call_in(self._home, publish)

    def set(self, **traits: Any) -> None:
        """Set traits; an observer of the user's that raises must neither hide the other changes nor stop the run."""
        for face in (self.call, *self.faces):
            if not face.is_observed:
                face.take(traits)
                continue
            for key, value in traits.items():
                try:
                    with contained(f"An observer of `{self.call.name}.{key}`"):
                        face.set_trait(key, value)
                except Exception:
                    log.exception("An observer of `%s.%s` failed", self.call.name, key)

    def note(self, write: Callable[[Recorder], "Future[Any]"], what: str) -> None:
        """Have something written down that nobody waits for."""
        name, call_id = self.call.name, self.call.id

        def report(error: BaseException) -> None:
            log.error("%s could not be recorded: `%s` (%s)", what, name, call_id, exc_info=error)

        assert self.recorder is not None
        try:
            write(self.recorder).add_done_callback(
                lambda done: report(error) if (error := done.exception()) is not None else None
            )
        except Exception as error:
            report(error)


def _call_in(loop: asyncio.AbstractEventLoop | None, act: Callable[..., None], *args: Any) -> None:
    """Run `act` in the loop's thread; here, if there is no such loop any more."""
    if loop is None or loop.is_closed():
        act(*args)
        return
    try:
        loop.call_soon_threadsafe(act, *args)
    except RuntimeError:  # closed in this very moment
        act(*args)
