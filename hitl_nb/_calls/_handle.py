"""The session's side of a call: whoever opens it, puts it to somebody, closes it, delivers what came of it.

The first decision wins, is on disk before anybody acts on it, and shows in the loop's own thread. Answers come from
any thread (ipykernel 7.0-7.3 runs a widget's callback in a subshell's), from several views, and with a journal from
other processes. A question can be answered only by whoever is being asked now.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from hitl_nb._calls._decision import APPROVALS, Decision, Outcome, Recorder, Turn, Via
from hitl_nb._calls._fingerprint import Print, frozen, print_of
from hitl_nb._calls._registry import log, note_opened, tell_watchers
from hitl_nb._encoding import ABORTED, encode_error, encode_refusal
from hitl_nb.errors import CallNotOpenError, InvalidValue, NotYourTurn, UsageError

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call

CHANGED = "what it is about was changed by code while the question was open"
"""The reason of a checkpoint that can no longer be approved."""

_answering: ContextVar[dict[str, str] | None] = ContextVar("hitl_nb_turns", default=None)
"""The turns that this code answers in, by occurrence: a person's own tasks and threads inherit theirs."""


class Handle:
    """What a session holds of one call; a person holds the `Call`. Made with it, found by `Handle.of`."""

    def __init__(self, call: "Call") -> None:
        self.call = call
        self.faces: list[Call] = []
        """The call as persons hold it who may answer in their own turn only."""
        self.card: Any = None
        """What draws it; here, so that it goes when the call goes."""
        self.delivered: str | None = None
        self.frozen: Any = None
        """What a gate is asked to run with, as it was opened; nobody else holds this copy."""
        self.may_recall = True
        """Whether a memory may answer: not where a rule forbids the call, or cannot tell."""
        self.consulted: set[int] = set()
        """The rules that have had their say, by identity."""
        self.is_mine = True
        """Whether the decision was made here, and not adopted from another process."""
        self.recorder: Recorder | None = None
        self._lock = threading.Lock()
        self._decision: Decision | None = None
        self._taking: Decision | None = None
        self._writing: Future[bool] | None = None
        self._failure: Exception | None = None
        self._home: asyncio.AbstractEventLoop | None = None
        self._callbacks: list[Callable[[], None]] = []
        self._turns = 0
        self._print: Print | None = None
        self._approved: tuple[Any, Print] | None = None
        self._gated = False
        self._granted = False

    @staticmethod
    def of(call: "Call") -> "Handle":
        """Give the handle of a call."""
        return call._handle

    # -- how far it is ------------------------------------------------------------------------------------

    @property
    def decision(self) -> Decision | None:
        """What was decided and counts, None while the call is open or its answer is still being written down."""
        return self._decision

    @property
    def taken(self) -> bool:
        """Whether an answer counts already, or is being written down."""
        return self._decision is not None or self._taking is not None

    @property
    def live(self) -> tuple[str, ...]:
        """The types of what was opened with this call and has no content: compared by identity."""
        return self._print.live if self._print is not None else ()

    def when_decided(self, callback: Callable[[], None]) -> None:
        """Have `callback` called once when the call is decided, in whichever thread that happens."""
        with self._lock:
            if self._decision is None:
                self._callbacks.append(callback)
                return
        callback()

    async def settled(self) -> None:
        """Wait until an answer that was just given counts, or does not."""
        while self._taking is not None:
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
        if self._decision is None and self._failure is not None:
            raise self._failure

    # -- its life -----------------------------------------------------------------------------------------

    def preview(self, args: Any) -> None:
        """Show arguments that are still being written."""
        self.set(args=args)

    async def open(
        self,
        args: Any,
        *,
        arguments: str = "{}",
        parameters: Any = None,
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
        self._hold(args, gated=gated)
        if recorder is not None:
            written = recorder.begin_asked(self.call, arguments=arguments, parameters=parameters)
            if not written.done():
                await asyncio.wrap_future(written)
            written.result()
            self.recorder = recorder
        self._show_open()

    def open_now(self, args: Any, *, gated: bool = False) -> None:
        """Do the same without a record."""
        self._hold(args, gated=gated)
        self._show_open()

    def _hold(self, args: Any, *, gated: bool) -> None:
        self._home = _running_loop()
        self._print = print_of(args)
        self._gated = gated
        if gated:
            self.frozen = frozen(args)
        self.set(args=args, asked_at=datetime.now(UTC))

    def _show_open(self) -> None:
        if not self.taken:  # stopped while the question was being written down
            note_opened(self.call)
            self.set(status="executing")

    def shown(self) -> None:
        """Note that a browser draws the question; that this cannot be written down keeps nobody from answering."""
        if self.recorder is not None:
            self._note(lambda recorder: recorder.begin_shown(self.call), "That it was shown")

    def problem(self, message: str) -> None:
        """Say on the card why the last attempt to answer did not count."""
        # Cleared first: the same mistake twice is two events for whoever observes `error`.
        self._at_home(lambda: self.set(error=None))
        self._at_home(lambda: self.set(error=message))

    # -- whose turn it is ---------------------------------------------------------------------------------

    @contextmanager
    def put_to(self, person: Any, *, apart: bool = False) -> Iterator["Call"]:
        """Ask this person while the block lasts: nobody else can answer, and afterwards they no longer can.

        Args:
            person: Who is asked.
            apart: Whether others are asked the same question before or after; then the person gets a face of the call
                that answers in this turn only, wherever they keep it.

        Yields:
            The call to hand to them.
        """
        name = getattr(person, "name", None)
        via: Via = getattr(person, "via", "callback")
        by = name if isinstance(name, str) else None
        within_another = self.call.turn is not None
        with self._turn(words=by or _WORDS.get(via, "somebody else"), via=via, by=by) as turn:
            yield self.call.face(turn) if apart or within_another else self.call

    @contextmanager
    def put_to_several(self, words: str) -> Iterator[Turn]:
        """Let several people be asked, one question each; this one takes nobody's answer meanwhile."""
        with self._turn(words=words, via="callback", several=True) as turn:
            yield turn

    @contextmanager
    def _turn(self, **about: Any) -> Iterator[Turn]:
        before = self.call.turn
        self._turns += 1
        turn = Turn(token=f"{self.call.occurrence}:{self._turns}", **about)
        token = _answering.set({**(_answering.get() or {}), self.call.occurrence: turn.token})
        self.set(turn=turn)
        try:
            yield turn
        finally:
            _answering.reset(token)
            self.set(turn=before)

    @contextmanager
    def clicked(self, token: Any) -> Iterator[None]:
        """Take what is done inside for an answer of the turn that a click was drawn for.

        Raises:
            NotYourTurn: Somebody else is being asked now.
        """
        turn = self.call.turn
        if turn is None or not turn.takes_clicks or turn.token != token:
            self._too_late(None, None)
            raise NotYourTurn(self._whose(turn))
        reset = _answering.set({**(_answering.get() or {}), self.call.occurrence: turn.token})
        try:
            yield
        finally:
            _answering.reset(reset)

    def _whose(self, turn: Turn | None) -> str:
        if turn is None or (turn.takes_clicks and not turn.several):
            return f"`{self.call.name}` is asked anew; answer the card as it is drawn now."
        return f"`{self.call.name}` is put to {turn.words} first. It can be answered here if they pass."

    def _is_their_turn(self, mine: str | None) -> bool:
        """Whether this code may answer now.

        Args:
            mine: The turn that it has been given, if any.

        Raises:
            CallNotOpenError: Several people are asked, each a question of their own.
        """
        turn = self.call.turn
        mine = mine or (_answering.get() or {}).get(self.call.occurrence)
        if mine is not None and (turn is None or mine != turn.token):
            return False
        if turn is not None and turn.several:
            raise CallNotOpenError(
                f"`{self.call.name}` ({self.call.id}) is put to {turn.words}, one question each, and nobody can answer "
                "it for them. Answer theirs: `hitl_nb.pending()` lists them."
            )
        return True

    # -- the decision -------------------------------------------------------------------------------------

    def respond(
        self,
        decision: Callable[[Turn | None], Decision],
        value: Any,
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
        if self.taken:
            return self._too_late(value, by)
        if self.call.status == "inProgress" and approves:
            raise CallNotOpenError(
                f"`{self.call.name}` ({self.call.id}) cannot be answered yet: its arguments are still being written. "
                'Answer when `call.status == "executing"`.'
            )
        if not self._is_their_turn(turn):
            return self._too_late(value, by)
        if approves and not self._is_unchanged():
            return False
        try:
            made = decision(self.call.turn)
        except InvalidValue as error:
            self.problem(str(error))
            raise
        return self._decide(made)

    def settle(self, decision: Decision, *, mine: bool = True) -> bool:
        """End the call with a decision that was made elsewhere: remembered, adopted, what code did.

        Args:
            decision: The decision.
            mine: Whether what it allows may run here.
        """
        self.is_mine = mine
        return self._decide(decision, holds=True)

    def ballot(self, number: int, of: int) -> "Call":
        """Give the same question once more, for one of several people to answer for themselves; it is open."""
        message = f"{self.call.message} (approval {number} of {of})".strip()
        ballot = self.call.again(id=f"{self.call.id}#{number}", message=message)
        theirs = Handle.of(ballot)
        theirs.open_now(self.call.args)
        # What was shown first is what they approve; code may have changed it before they were asked.
        theirs._print = self._print
        theirs.may_recall = self.may_recall
        return ballot

    def respond_for(self, ballot: "Call", *, by: str) -> bool:
        """Answer as the people did who were asked questions of their own."""
        theirs = Handle.of(ballot).decision
        assert theirs is not None
        if self._differs():
            return self.close("declined", CHANGED, by=by)
        return self._decide(
            Decision(
                outcome=theirs.outcome,
                answer=theirs.answer,
                result=theirs.result,
                edits=theirs.edits,
                reason=theirs.reason,
                by=by,
                via=theirs.via,
            )
        )

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
        # Now, and not when it is on disk: until then code may change what was given as an answer.
        approved = self._to_run(decision)
        with self._lock:
            late = self._decision is not None or self._taking is not None
            recorder = self.recorder
            if not late:
                self._taking, self._approved = decision, approved
        if late:
            return self._too_late(decision.answer, decision.by)
        if recorder is None:
            self._finish(decision)
            return True
        if holds:
            self._finish(decision)
            self._note(lambda recorder: recorder.begin_answered(self.call, decision), "Its end")
            return True
        return self._write(recorder, decision)

    def _write(self, recorder: Recorder, decision: Decision) -> bool:
        self._failure = None
        try:
            writing = recorder.begin_answered(self.call, decision)
        except BaseException:
            self._taking = None
            raise
        self._writing = writing
        if writing.done() or _running_loop() is None:
            # On disk, or in a thread that may wait for it.
            self._written(recorder, decision, writing)
            if self._decision is None:
                writing.result()
            return self._decision is decision
        loop = self._home
        writing.add_done_callback(lambda done: _call_in(loop, lambda: self._written(recorder, decision, done)))
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
            self._approved = self._to_run(adopted)
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
                self._taking = self._writing = None
            self.problem(f"Your answer could not be written down and does not count: {error}")

    def adopt(self, stored: Any, *, mine: bool) -> None:
        """Take a decision that the journal has: of another kernel (`mine` is False), or of an earlier one.

        Raises:
            InvalidValue: Its answer does not fit the type any more.
        """
        decision = self._adopted(stored)
        with self._lock:
            if self._decision is not None or self._taking is not None:
                return
            self._taking, self._approved = decision, self._to_run(decision)
        self.is_mine = mine
        self._finish(decision)

    def _adopted(self, stored: Any) -> Decision:
        """Give a decision that another kernel or process made, with the answer as its declared type."""
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
            via=stored.via,
            at=stored.at,
        )

    def _finish(self, decision: Decision) -> None:
        with self._lock:
            self._decision = decision
            self._taking = None
            callbacks, self._callbacks = self._callbacks, []
        tell_watchers(self.call)
        for callback in callbacks:
            callback()
        self._at_home(lambda: self._publish(decision))

    def _too_late(self, value: Any, by: str | None = None) -> bool:
        self.call.late_answers.append(value)
        if self.recorder is not None:
            self._note(lambda recorder: recorder.begin_late(self.call, value, by), "A late answer")
        return False

    # -- was it this that was shown? ----------------------------------------------------------------------

    def check_unchanged(self) -> None:
        """Raise if code has changed the arguments since they were shown (pydantic-ai#6968).

        Raises:
            InvalidValue: They are not what a person has seen; the call stays open.
        """
        if self._differs():
            message = (
                f"The arguments of `{self.call.name}` were changed by code after they were shown, so they cannot be "
                "approved any more. Decline, and let them be proposed again; to answer with other values, write "
                "`call.respond(call.args.model_copy(update={...}))`."
            )
            self.problem(message)
            raise InvalidValue(message)

    @property
    def was_changed(self) -> bool:
        """Whether what the call is about is not what was shown any more."""
        return self._differs()

    def _is_unchanged(self) -> bool:
        """Whether an approval may count; a checkpoint whose payload was changed ends here, not approved."""
        if self.call.kind == "tool":
            self.check_unchanged()
            return True
        if not self._differs():
            return True
        self.problem(f"Not approved: {CHANGED}.")
        self.close("cancelled", CHANGED)
        return False

    def _differs(self) -> bool:
        return self._print is not None and print_of(self.call.args).digest != self._print.digest

    # -- what was approved, once --------------------------------------------------------------------------

    def _to_run(self, decision: Decision) -> tuple[Any, Print] | None:
        """Give what may run if this decision counts, in a copy that nobody else holds; None if nothing may."""
        if not self._gated or not decision.approves:
            return None
        untouched = decision.outcome == "answered" and decision.answer is self.call.args
        value = self.frozen if untouched else frozen(decision.answer)
        return value, print_of(value)

    async def begin(self) -> Any:
        """Take the grant: the single right to run what was approved. Gives what to run it with.

        The value is the frozen copy of what was shown, or of the edited answer, compared once more.

        Raises:
            UsageError: Nothing was approved, or it has been run already.
            InvalidValue: The copy is not what was approved any more: it holds what cannot be copied, and was changed.
            GrantLost: Another process runs it.
        """
        if self._decision is None or self._approved is None or not self._decision.approves:
            raise UsageError(f"`{self.call.name}` ({self.call.id}) was not approved, so it does not run.")
        if self._granted:
            raise UsageError(f"`{self.call.name}` ({self.call.id}) has run already; one approval is for one run.")
        self._granted = True
        if not self.is_mine:
            raise GrantLost(self)
        if self.recorder is not None:
            await self._start(self.recorder)
        _running.add(self._question)
        value, approved = self._approved
        if print_of(value).digest != approved.digest:
            why = f"`{self.call.name}` was approved for other arguments than these, so it does not run."
            self.end(encode_refusal("not_executed", why))
            raise InvalidValue(why)
        return value

    async def _start(self, recorder: Recorder) -> None:
        """Write down that it begins.

        Raises:
            GrantLost: It has begun elsewhere.
            JournalError: That could not be written, so it does not begin.
        """
        starting = asyncio.wrap_future(recorder.begin_started(self.call))
        try:
            mine = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Stopped while the grant was on its way to the disk: whose it is decides what is told of the run.
            await asyncio.wait([starting])
            self._not_begun(elsewhere=starting.exception() is None and not starting.result())
            raise
        if not mine:
            raise GrantLost(self)

    def _not_begun(self, *, elsewhere: bool) -> None:
        """Tell what comes of an approval whose session has ended."""
        if not elsewhere:
            self.end(encode_refusal("not_executed", "the run was stopped before it began"))
            return
        started = self.recorder.started(self.call) if self.recorder is not None else None
        self.delivered = (started.ended if started is not None else None) or MAY_HAVE_RUN

    @property
    def runs_here(self) -> bool:
        """Whether this process is running what was approved, for this session or another one on the same thread."""
        return self._question in _running

    async def waive(self) -> None:
        """What was approved and has not begun will not run here: its session has ended. Its grant is used up."""
        decision = self._decision
        if not self._gated or decision is None or not decision.approves or self._granted:
            return
        self._granted = True
        elsewhere = not self.is_mine
        if self.is_mine and self.recorder is not None:
            starting = asyncio.wrap_future(self.recorder.begin_started(self.call))
            await asyncio.wait([starting])
            elsewhere = starting.exception() is None and not starting.result()
        self._not_begun(elsewhere=elsewhere)

    def end(self, result: str) -> None:
        """Note what came of the run, and give that to the model."""
        self.delivered = result
        _running.discard(self._question)
        if self.recorder is not None:
            self._note(lambda recorder: recorder.begin_ended(self.call, result), "The end of its run")

    @property
    def _question(self) -> tuple[str | None, str]:
        return (self.call.thread_id, self.call.id)

    # -- in the loop's own thread -------------------------------------------------------------------------

    def _publish(self, decision: Decision) -> None:
        self.set(
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

    def _at_home(self, publish: Callable[[], None]) -> None:
        """Change traits in the loop's own thread only: widgets that observe them are not thread-safe."""
        if self._home is None or _running_loop() is self._home:
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
                    face.set_trait(key, value)
                except Exception:
                    log.exception("An observer of `%s.%s` failed", self.call.name, key)

    def _note(self, write: Callable[[Recorder], "Future[Any]"], what: str) -> None:
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


class GrantLost(Exception):  # noqa: N818 - what happened; never leaves the session
    """What was approved is run by somebody else; `outcome` waits for what comes of it."""

    def __init__(self, handle: Handle) -> None:
        super().__init__(handle.call.id)
        self._handle = handle

    async def outcome(self) -> str:
        """Wait for the end of the run, and give what the model is to be told; "may have run" if it will never end."""
        call, recorder = self._handle.call, self._handle.recorder
        waited = 0.0
        while recorder is not None:
            started = recorder.started(call)
            if started is not None and started.ended is not None:
                return started.ended
            if started is not None and (started.alive is False or (started.mine and not self._handle.runs_here)):
                break
            if (started is None or started.alive is None) and waited >= _PATIENCE:
                break
            await asyncio.sleep(_TICK)
            waited += _TICK
        return MAY_HAVE_RUN


_running: set[tuple[str | None, str]] = set()
"""What runs in this process under a grant, by thread and call."""

MAY_HAVE_RUN = (
    "Error: a person approved this, and then its process ended; it may or may not have run, and it is not run again."
)
_TICK = 0.25
_PATIENCE = 30.0
"""Seconds that another process has to begin what it was allowed, or to end it where nobody can tell if it lives."""

_WORDS: dict[Via | Literal[""], str] = {
    "policy": "a rule",
    "script": "a script",
    "replay": "a recording",
    "card": "the person at the notebook",
}


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _call_in(loop: asyncio.AbstractEventLoop | None, act: Callable[[], None]) -> None:
    """Run `act` in the loop's thread; here, if there is no such loop any more."""
    if loop is None or loop.is_closed():
        act()
        return
    try:
        loop.call_soon_threadsafe(act)
    except RuntimeError:  # closed in this very moment
        act()
