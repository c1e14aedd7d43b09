"""`interrupt`: from the question in the code to the answer, in whichever loop or thread the code runs."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, TypeVar

from hitl_nb._awaiting import Unasked, Words, current_question, in_background, line_of
from hitl_nb._calls import CHANGED, AnswerType, Call, Handle, Kind
from hitl_nb._encoding import encode
from hitl_nb._kernel import current_kernel
from hitl_nb._schema import MISSING, validator_for
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
from hitl_nb.journal import open_journal
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

RAISE = object()
"""The default of ``on_timeout=``."""


class _Interrupt:
    """``await interrupt(...)``, and ``interrupt.sync(...)`` for worker threads; see `__call__`."""

    def __call__(
        self,
        message: str,
        payload: Any = None,
        *,
        answer: Any = None,
        reason: str = "interrupt",
        render: Any = None,
        timeout: float | None = None,
        on_timeout: Any = RAISE,
        key: str | None = None,
        again: bool = False,
        people: Person | Sequence[Person] | None = None,
        kind: Kind = "interrupt",
    ) -> Unasked[Any]:
        """Stop here and ask a person.

        Args:
            message: The question.
            payload: What it is about, shown to the person: a dict or pydantic model, one row an entry, or any value.
            answer: Any pydantic type: what the person answers. Without one, Confirm answers with the payload (with
                True if there is none).
            reason: A word for the kind of checkpoint, shown and recorded.
            render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
            timeout: Seconds until the question expires; None waits as long as it takes.
            on_timeout: What happens then: nothing given raises `Expired`; a person (an async callable) is asked
                instead; any other value is returned, and recorded as expired.
            key: A name that makes the decision stick: the same question about the same input takes the decision that
                the journal has, also after a restart; changed input asks again. DataFrames and arrays are compared
                by content.
            again: Ask although the journal has a decision for `key`.
            people: Who is asked; default: the people of the run that this code is part of, else the notebook.
            kind: What the journal calls it.

        Returns:
            The typed answer, once awaited: unedited it is `payload` itself, the identical object.

        Raises:
            Declined, Cancelled, Expired: The person said no, the question was withdrawn, time was up. Never approved.
            ChangedWhileWaiting: Code has changed `payload` while the question was open.
            NoHumanError: Nobody can be asked here.
        """
        nothing_proposed = True if answer is None else MISSING
        call = question(
            message,
            name=reason,
            kind=kind,
            answer_type=None if answer is None else validator_for(answer),
            render=render,
            offer=nothing_proposed if payload is None else payload,
            compares=payload is not None,
        )
        options = {"timeout": timeout, "on_timeout": on_timeout, "key": key, "again": again, "people": people}
        return Unasked(
            partial(decided, call, payload, **options),
            Words(line_of("interrupt", message, more=payload is not None)),
            partial(on_stage, people=people),
        )

    def sync(self, message: str, payload: Any = None, **options: Any) -> Any:
        """Do the same from a worker thread (a sync step of a Flow, ``asyncio.to_thread``): blocks this thread only.

        Raises:
            UsageError: Called in the loop's own thread, which has to stay free for the answer.
            LoopBlockedError: The loop does not run, so no answer could ever arrive (a sync ``flow.kickoff()`` in a
                cell blocks it).
            Exception: All that ``await interrupt(...)`` raises.
        """
        return run_blocking(lambda: self(message, payload, **options), message)


interrupt = _Interrupt()
"""Stop here and ask a person: ``await interrupt("Delete these rows?", rows)``; `interrupt.sync` in a thread."""


def question(
    message: str,
    *,
    name: str,
    kind: Kind,
    answer_type: AnswerType | None,
    render: Any,
    offer: Any = MISSING,
    compares: bool = True,
    words: Callable[[Any], str] = repr,
) -> Call:
    """Give the call for a question of the code.

    Args:
        message: The question.
        name: A word for the kind of checkpoint.
        kind: What the journal calls it.
        answer_type: What checks the answer; None takes anything.
        render: As for `interrupt`.
        offer: What Confirm answers with; `MISSING` proposes nothing.
        compares: Whether another answer is an edit of it.
        words: Gives an answer in words, where it has no JSON form; it goes to code as it is.

    Raises:
        UsageError: The question has no words.
    """
    if not isinstance(message, str) or not message.strip():
        raise UsageError(
            f"`{name}` needs a question in words, not `{message!r}`. Write "
            '`await interrupt("Delete these rows?", rows)`.'
        )
    # Unique across kernels: the journal takes a known id for the question that it knows, and its answer with it.
    return Call(
        id=f"interrupt_{uuid.uuid4().hex}",
        name=name,
        kind=kind,
        message=message,
        answer_type=answer_type,
        render=render,
        offer=offer,
        offers_arguments=False,
        compares=compares,
        words=words,
    )


async def decided(
    call: Call,
    payload: Any,
    *,
    timeout: float | None = None,
    on_timeout: Any = RAISE,
    key: str | None = None,
    again: bool = False,
    people: Person | Sequence[Person] | None = None,
    gated: bool = False,
) -> Any:
    """Have a call decided by the people of the run that this code is part of, else by `people`; gives the answer.

    Raises:
        Exception: All that `interrupt` raises.
    """
    current = current_asking()
    journal = current.journal if current is not None else open_journal()
    with _part_of(current) if current is not None and people is None else _alone(people, journal) as here:
        sticky = Sticky(journal, key, call, payload, here.people)
        shown = _shown(payload)
        if not again and sticky.has_key:
            Handle.of(call).preview(shown)
            if may_recall(call, here.people) and sticky.recalled():
                here.show(call)
                return _result(call)
        await Handle.of(call).open(shown, arguments=_as_json(shown), recorder=journal, gated=gated)
        try:
            return await _ask(here, call, timeout, on_timeout)
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
def _alone(people: Any, journal: Any) -> Iterator[Asking]:
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
def on_stage(*_: Any, people: Any = None, **__: Any) -> Iterator[Transcript | None]:
    """Show a question of its own in the cell that starts it; one that is part of a run is shown there."""
    if current_asking() is not None and people is None:
        yield None
        return
    transcript = _new_transcript(open_journal())
    with showing(people_of(people), transcript):
        yield transcript


def _new_transcript(journal: Any) -> Transcript:
    transcript = Transcript()
    transcript.foreground = not in_background()
    transcript.journal = journal
    if (note := take_stand_in_note()) is not None:
        transcript.note("info", note)
    return transcript


def _as_json(shown: Any) -> str:
    try:
        return encode(shown)
    except InvalidValue:
        return json.dumps({"value": repr(shown)})


async def _ask(asking: Asking, call: Call, timeout: float | None, on_timeout: Any) -> Any:
    handle = Handle.of(call)
    try:
        asking.show(call)
        if on_timeout is not RAISE and callable(on_timeout) and timeout is not None:
            await ask_in_turn(call, [Escalate(_InTurn(asking.people), after=timeout, to=on_timeout)])
        elif not await in_time(ask_in_turn(call, asking.people), timeout):
            await handle.settled()
            if not handle.taken:
                handle.expire("nobody answered in time")
        return _result(call, on_timeout)
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


def _result(call: Call, on_timeout: Any = RAISE) -> Any:
    decision = Handle.of(call).decision
    if decision is not None and decision.approves:
        if Handle.of(call).was_changed:
            raise ChangedWhileWaiting(_words(call, f"cannot be approved: {CHANGED}"), call)
        return decision.answer
    outcome = "cancelled" if decision is None else decision.outcome
    reason = None if decision is None else decision.reason
    if outcome == "expired" and on_timeout is not RAISE and not callable(on_timeout):
        return on_timeout
    refusals: dict[str, type[NotApproved]] = {"declined": Declined, "expired": Expired}
    refusal = ChangedWhileWaiting if reason == CHANGED else refusals.get(outcome, Cancelled)
    raise refusal(_words(call, f"was {outcome}{f': {reason}' if reason else ''}"), call)


def _words(call: Call, what: str) -> str:
    return f"`{call.message}` {what}. Nothing was approved."


def _shown(payload: Any) -> Any:
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
    """Give the loop that has to stay free for an answer to arrive: the run's, else the kernel's."""
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
