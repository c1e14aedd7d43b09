"""From a question in the code to its answer, in whichever loop or thread the code runs."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked, Words, current_question, in_background, line_of
from hitl_nb._calls import CHANGED, AnswerType, Call, Handle, Kind
from hitl_nb._encoding import encode
from hitl_nb._kernel import current_kernel
from hitl_nb._schema import MISSING
from hitl_nb._tools import Renderer
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
from hitl_nb.interrupts._sticky import Sticky
from hitl_nb.journal import Journal, open_journal
from hitl_nb.people import (
    Asking,
    Escalate,
    Person,
    ask_in_turn,
    asking,
    current_asking,
    delivering,
    in_time,
    may_recall,
    people_of,
    showing,
    take_stand_in_note,
)

T = TypeVar("T")

People = Person | Sequence[Person] | None
"""Who is asked: somebody, several in a row, or, for None, those that are asked here anyway."""


class _Raise:
    def __repr__(self) -> str:
        return "<raise Expired>"


RAISE: Final = _Raise()
"""The default of ``if_expired=``: no value."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a question is asked: what `interrupt`, `approve`, `ask`, `choose`, `review` and a gate have in common.

    Raises:
        UsageError: They contradict each other.
    """

    name: str
    """A word for the kind of checkpoint; it becomes ``call.name``."""

    kind: Kind = "interrupt"
    """What the journal calls it."""

    render: Renderer | None = None
    """What draws it."""

    timeout: float | None = None
    """Seconds until nobody is waited for any longer."""

    if_expired: object = RAISE
    """The answer when time is up and nobody has answered."""

    escalate_to: Person | None = None
    """Who is asked when time is up."""

    key: str | None = None
    """The name under which the decision sticks."""

    refresh: bool = False
    """Whether it is asked although it sticks."""

    people: People = None
    """Who is asked."""

    gated: bool = False
    """Whether a function runs with the answer."""

    def __post_init__(self) -> None:
        if self.escalate_to is not None and not callable(self.escalate_to):
            raise UsageError(
                f"`escalate_to` is `{self.escalate_to!r}`, which cannot be asked. For a value that stands in for the "
                "answer write `if_expired=`, for a person `timeout=60, escalate_to=NotebookPerson()`."
            )
        if self.escalate_to is not None and self.timeout is None:
            raise UsageError(
                "`escalate_to` is asked when time is up, and there is no `timeout`. "
                "Write `timeout=60, escalate_to=person`."
            )
        if self.escalate_to is not None and self.if_expired is not RAISE:
            raise UsageError(
                "With `escalate_to` the question does not expire when `timeout` is over, so `if_expired` would never "
                "count. Leave one out, or give both their time: "
                "`people=Escalate(first, after=60, to=boss), timeout=120, if_expired=None`."
            )
        if callable(self.if_expired) and not isinstance(self.if_expired, type):
            raise UsageError(
                f"`if_expired` is a value, and `{self.if_expired!r}` can be asked. Write `escalate_to=`, which asks it "
                "when time is up."
            )


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
        UsageError: The question has no words.
    """
    call = question(message, options, answer_type=answer_type, offer=offer, compares=compares, words=words)
    decide = partial(decided, call, payload, options)
    return Unasked(
        decide if then is None else lambda: then(call, decide()),
        Words(line_of(function, message, more=more or payload is not None), write),
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
    return Call(
        id=f"interrupt_{uuid.uuid4().hex}",
        name=options.name,
        kind=options.kind,
        message=message,
        answer_type=answer_type,
        render=options.render,
        offer=offer,
        offers_arguments=False,
        compares=compares,
        words=words,
    )


async def decided(call: Call, payload: object, options: Options) -> Any:
    """Have a call decided by the people of the run that this code is part of, else by its own; gives the answer.

    Raises:
        Exception: All that `interrupt` raises.
    """
    current = current_asking()
    journal = current.journal if current is not None else open_journal()
    people = options.people
    with _part_of(current) if current is not None and people is None else _alone(people, journal) as here:
        everybody = [*here.people, *([] if options.escalate_to is None else [options.escalate_to])]
        sticky = Sticky(journal, options.key, call, payload, everybody)
        shown = _shown(payload)
        if not options.refresh and sticky.has_key:
            Handle.of(call).preview(shown)
            if may_recall(call, everybody) and sticky.recalled():
                here.show(call)
                return _result(call)
        await Handle.of(call).open(shown, arguments=_as_json(shown), recorder=journal, gated=options.gated)
        try:
            return await _ask(here, call, options)
        finally:
            sticky.keep()


@contextmanager
def _part_of(run: Asking) -> Iterator[Asking]:
    """Ask on the screen of the run that this code is part of."""
    started = current_question()
    if started is not None:
        started.opened(run.transcript)
    yield run


@contextmanager
def _alone(people: People, journal: Journal | None) -> Iterator[Asking]:
    """Ask in a plain cell: on a screen of its own, or the one that was opened where the question was started."""
    started = current_question()
    staged = started.take_staged() if started is not None else None
    chosen = people_of(people)
    transcript = staged or _new_transcript(journal)
    if started is not None and staged is None:
        started.opened(transcript)
    with (
        delivering(),
        nullcontext() if staged is not None else showing(chosen, transcript),
        asking(chosen, transcript, journal) as alone,
    ):
        yield alone


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


def _as_json(shown: object) -> str:
    try:
        return encode(shown)
    except InvalidValue:
        return json.dumps({"value": repr(shown)})


async def _ask(asking: Asking, call: Call, options: Options) -> Any:
    handle = Handle.of(call)
    try:
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
    except BaseException:
        # Whatever went wrong, the question does not stay open behind the code that asked it.
        if not handle.taken:
            handle.close("cancelled", "the code that asked was ended")
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
            raise ChangedWhileWaiting(_words(call, f"cannot be approved: {CHANGED}"), call)
        return decision.answer
    outcome = "cancelled" if decision is None else decision.outcome
    reason = None if decision is None else decision.reason
    if outcome == "expired" and if_expired is not RAISE:
        return if_expired
    refusals: dict[str, type[NotApproved]] = {"declined": Declined, "expired": Expired}
    refusal = ChangedWhileWaiting if reason == CHANGED else refusals.get(outcome, Cancelled)
    raise refusal(_words(call, f"was {outcome}{f': {reason}' if reason else ''}"), call)


def _words(call: Call, what: str) -> str:
    return f"`{call.message}` {what}. Nothing was approved."


def _shown(payload: object) -> Any:
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
