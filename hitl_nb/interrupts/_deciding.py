"""From a question in the code to its answer, in whichever loop or thread the code runs."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked, Words, current_question, in_background, line_of
from hitl_nb._calls import CHANGED, AnswerType, Call, Handle, fingerprint, grace_of, why_ended
from hitl_nb._encoding import encode
from hitl_nb._kernel import current_kernel
from hitl_nb._limits import TooMuch, refuse_endless
from hitl_nb._schema import MISSING, readable
from hitl_nb._steps import Again
from hitl_nb._transcript import Transcript
from hitl_nb._waiting import loop_answers
from hitl_nb.errors import (
    Cancelled,
    ChangedWhileWaiting,
    Declined,
    Expired,
    InvalidValue,
    LoopBlockedError,
    NotApproved,
    UsageError,
)
from hitl_nb.interrupts._asked import RAISE, Options, People
from hitl_nb.interrupts._sticky import STICKS, Parking, Sticky, journal_of, type_of_answer
from hitl_nb.journal import Journal, open_journal
from hitl_nb.people import (
    Asking,
    Escalate,
    Person,
    ask_in_turn,
    asking,
    clicks_delivered,
    current_asking,
    in_time,
    may_recall,
    people_of,
    showing,
    take_stand_in_note,
)

T = TypeVar("T")


def unasked(
    function: str,
    message: str,
    payload: object,
    options: Options,
    *,
    answer_type: AnswerType | None,
    offer: object = MISSING,
    compares: bool = True,
    words: Callable[[Any], str] = repr,
    write: str = "answer = await {}",
    more: bool = False,
    then: Callable[[Call, Coroutine[Any, Any, Any]], Coroutine[Any, Any, Any]] | None = None,
) -> Unasked[Any]:
    """Return a question before its ``await``.

    Args:
        function: The name of the function that asks, for errors.
        message: The question.
        payload: What it is about.
        options: How it is asked.
        answer_type: As for `question`.
        offer: As for `question`.
        compares: As for `question`.
        words: As for `question`.
        write: The line to write, with ``{}`` where the call goes.
        more: Whether the call has more arguments than those.
        then: Makes something else of its answer; gets the call, and what decides it.

    Raises:
        UsageError: The question has no words, or its payload is too deep, or no data.
    """
    try:
        refuse_endless(payload)
    except TooMuch as error:
        raise UsageError(
            f"A question cannot be about this payload: {error}. Write plain data, e.g. `payload=rows`."
        ) from error
    call = question(message, options, answer_type=answer_type, offer=offer, compares=compares, words=words)
    decide = partial(decided, call, payload, options)
    line = line_of(function, message, more=more or payload is not None)
    Handle.of(call).again = ask_again(line)
    return Unasked(
        decide if then is None else lambda: then(call, decide()),
        Words(line, write),
        partial(on_stage, options.people),
    )


def question(
    message: str,
    options: Options,
    *,
    answer_type: AnswerType | None,
    offer: object = MISSING,
    compares: bool = True,
    words: Callable[[Any], str] = repr,
) -> Call:
    """Return the call for a question of the code.

    Args:
        message: The question.
        options: How it is asked.
        answer_type: What checks the answer; None takes anything.
        offer: What Confirm answers with; `MISSING` proposes nothing.
        compares: Whether another answer is an edit of it.
        words: Gives an answer in words, where it has no JSON form; it goes to code as it is.

    Raises:
        UsageError: The question has no words.
    """
    if not isinstance(message, str) or not message.strip():
        raise UsageError(
            f"`{options.name}` needs a question in words, not `{message!r}`. Write "
            '`await interrupt("Delete these rows?", rows)`.'
        )
    # Unique across kernels: the journal takes a known id for the question that it knows, and its answer with it.
    call = Call(
        id=f"interrupt_{uuid.uuid4().hex}",
        name=options.name,
        title=options.title,
        kind=options.kind,
        message=message,
        answer_type=answer_type,
        render=options.render,
        offer=offer,
        offers_arguments=False,
        compares=compares,
        words=words,
    )
    handle = Handle.of(call)
    handle.grace.seconds = grace_of(options.undo)
    handle.if_expired = MISSING if options.if_expired is RAISE else options.if_expired
    return call


def ask_again(line: str) -> str:
    """Say how a question of the code is asked again."""
    return f"Nothing waits for this answer any more. Run the cell again, or write: await {line}"


def again_of(call: Call, payload: object, options: Options) -> Again | None:
    """Return where a question stands, should the step that asks it run again; None where it is asked each time."""
    current = current_asking()
    of_a_model = options.kind == "tool" and not options.gated
    if current is None or options.people is not None or options.refresh or of_a_model:
        return None
    try:
        asked = fingerprint([call.kind, call.name, call.message, payload, type_of_answer(call.answer_type)])
    except UsageError:  # it has no content that could be compared
        return None
    return current.transcript.memory.again(asked)


def _recognised(call: Call, shown: object, again: Again, people: Sequence[Person], options: Options) -> bool:
    """Decide a call as it was decided in an earlier round, if it was."""
    decision, handle = again.decision, Handle.of(call)
    if decision is None or (options.gated and decision.approves and not again.has_run):
        return False
    handle.preview(shown)
    if not may_recall(call, people):
        return False
    is_offer = decision.outcome == "answered" and call.answer_type is None and call.offer is not MISSING
    answer = call.offer if is_offer else decision.answer
    by = f"{decision.by or 'somebody'} (decided before, for the same message)"
    if not handle.settle(replace(decision, answer=answer, by=by, via="replay")):
        return False
    again.recognise()
    return True


def _keep(again: Again, call: Call, options: Options) -> None:
    """Keep what was decided; a rule answers for itself the next time, but what it let through runs once, too."""
    decision = Handle.of(call).decision
    if decision is not None and decision.outcome in STICKS and (options.gated or decision.via != "policy"):
        again.keep(decision)


async def decided(call: Call, payload: object, options: Options, again: Again | None = None) -> Any:
    """Have a call decided by the people of the run that this code is part of, else by its own; gives the answer.

    Args:
        call: What is decided.
        payload: What it is about.
        options: How it is asked.
        again: Where it stands; default: looked up here.

    Raises:
        Exception: All that `interrupt` raises.
    """
    current = current_asking()
    people = options.people
    with _part_of(current) if current is not None and people is None else _alone(people) as here:
        journal = here.journal
        everybody = [*here.people, *([] if options.escalate_to is None else [options.escalate_to])]
        sticky = Sticky(journal, options.key, call, payload, everybody)
        shown = _plain_payload(payload)
        again = again or again_of(call, payload, options)
        if again is not None and _recognised(call, shown, again, everybody, options):
            here.show(call)
            return _result(call)
        if not options.refresh and sticky.has_key:
            Handle.of(call).preview(shown)
            if may_recall(call, everybody) and sticky.recalled():
                here.show(call)
                return _result(call)
        parking = Parking(journal, options.key, call, payload, everybody)
        if not await _taken_up(parking, call, shown, everybody, options):
            await Handle.of(call).open(shown, arguments=_json_text_of(shown), recorder=journal, gated=options.gated)
        try:
            return await _ask(here, call, options)
        finally:
            sticky.keep()
            if again is not None:
                _keep(again, call, options)
            parking.keep()


async def _taken_up(parking: Parking, call: Call, shown: object, people: Sequence[Person], options: Options) -> bool:
    """Take up the question of an earlier run, unless a rule forbids it now, or cannot tell: as for any memory."""
    handle = Handle.of(call)
    if handle.found_by is None or options.refresh:
        return False
    handle.preview(shown)
    return may_recall(call, people) and await parking.taken_up(shown, gated=options.gated)


@contextmanager
def _part_of(run: Asking) -> Iterator[Asking]:
    """Ask on the screen of the run that this code is part of."""
    started = current_question()
    if started is not None:
        started.opened(run.transcript)
    yield run


@contextmanager
def _alone(people: People) -> Iterator[Asking]:
    """Ask in a plain cell: on a screen of its own, or the one that was opened where the question was started."""
    started = current_question()
    staged = started.take_staged() if started is not None else None
    chosen, journal = people_of(people), journal_here(people)
    transcript = staged or _new_transcript(journal)
    if started is not None and staged is None:
        started.opened(transcript)
    with (
        clicks_delivered(),
        nullcontext() if staged is not None else showing(chosen, transcript),
        asking(chosen, transcript, journal) as alone,
    ):
        yield alone


def journal_here(people: People = None) -> Journal | None:
    """Return the journal of a question that these people are asked here; None if nothing is recorded."""
    current = current_asking()
    if current is not None and people is None:
        found: Journal | None = current.journal
        return found
    return journal_of(people_of(people)) or (current.journal if current is not None else open_journal())


@contextmanager
def on_stage(people: People = None) -> Iterator[Transcript | None]:
    """Show a question of its own in the cell that starts it; one that is part of a run is shown there."""
    if current_asking() is not None and people is None:
        yield None
        return
    transcript = _new_transcript(open_journal())
    with showing(people_of(people), transcript):
        yield transcript


def _new_transcript(journal: Journal | None) -> Transcript:
    transcript = Transcript()
    transcript.foreground = not in_background()
    transcript.journal = journal
    if (note := take_stand_in_note()) is not None:
        transcript.note("info", note)
    return transcript


def _json_text_of(shown: object) -> str:
    try:
        return encode(shown)
    except InvalidValue:
        return json.dumps({"value": readable(shown)})


async def _ask(asking: Asking, call: Call, options: Options) -> Any:
    handle = Handle.of(call)
    try:
        if options.timeout is not None and options.escalate_to is None:
            handle.deadline = datetime.now(UTC) + timedelta(seconds=options.timeout), "Expires"
        asking.show(call)
        if options.escalate_to is not None and options.timeout is not None:
            boss = options.escalate_to
            await ask_in_turn(call, [Escalate(_InTurn(asking.people), after=options.timeout, to=boss)])
        elif not await in_time(ask_in_turn(call, asking.people), options.timeout):
            await handle.settled()
            if not handle.taken:
                handle.expire("nobody answered in time")
                await handle.settled()
        return _result(call, options.if_expired)
    except BaseException as error:
        # Whatever went wrong, the question does not stay open behind the code that asked it; but for those who may
        # still answer elsewhere.
        if not handle.taken and handle.found_by is not None:
            handle.park("the code that asked was ended")
        if not handle.taken:
            handle.close("aborted", why_ended(error))
        raise


class _InTurn:
    """Several people in a row as one."""

    via = "callback"

    def __init__(self, people: Sequence[Person]) -> None:
        self.members = tuple(people)

    async def __call__(self, call: Call) -> None:
        await ask_in_turn(call, self.members)


def _result(call: Call, if_expired: object = RAISE) -> Any:
    decision = Handle.of(call).decision
    if decision is not None and decision.approves:
        if Handle.of(call).was_changed:
            raise ChangedWhileWaiting(_sentence(call, f"cannot be approved: {CHANGED}"), call)
        return decision.answer
    outcome = "cancelled" if decision is None else decision.outcome
    reason = None if decision is None else decision.reason
    if outcome == "expired" and if_expired is not RAISE:
        return if_expired
    refusals: dict[str, type[NotApproved]] = {"declined": Declined, "expired": Expired}
    refusal = ChangedWhileWaiting if reason == CHANGED else refusals.get(outcome, Cancelled)
    raise refusal(_sentence(call, f"was {outcome}{f': {reason}' if reason else ''}"), call)


def _sentence(call: Call, what: str) -> str:
    return f"`{call.message}` {what}. Nothing was approved."


def _plain_payload(payload: object) -> Any:
    if payload is None:
        return {}
    return payload if isinstance(payload, dict) or hasattr(type(payload), "model_fields") else {"value": payload}


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]], message: str) -> T:
    """Run what asks in the loop that brings the answer, and block this worker thread until it is done.

    Raises:
        UsageError, LoopBlockedError: As `interrupt.sync`.
    """
    loop = home_loop()
    if _is_here(loop):
        raise UsageError(
            "`interrupt.sync` would block the loop that has to bring the answer. "
            f"Write `await interrupt({message!r}, ...)` here."
        )
    if not loop_answers(loop):
        raise LoopBlockedError(
            f"The kernel's loop is blocked, so nobody can answer {message!r}. A sync `flow.kickoff()` in a cell "
            "does this; write `await flow.kickoff_async()`."
        )
    return asyncio.run_coroutine_threadsafe(work(), loop).result()


def home_loop() -> asyncio.AbstractEventLoop:
    """Return the loop that has to stay free for an answer to arrive: the run's, else the kernel's."""
    current = current_asking()
    if current is not None:
        return current.loop
    loop = getattr(getattr(current_kernel(), "io_loop", None), "asyncio_loop", None)
    if loop is None:
        raise UsageError(
            "`interrupt.sync` finds no event loop that could bring the answer. In a script, call it from "
            "`await asyncio.to_thread(step)` inside a session's run, or write `await interrupt(...)`."
        )
    found: asyncio.AbstractEventLoop = loop
    return found


def _is_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return threading.current_thread() is threading.main_thread() and current_kernel() is not None
