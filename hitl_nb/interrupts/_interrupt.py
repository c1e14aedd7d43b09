"""`interrupt`: from the question in the code to the answer, in whichever loop or thread the code runs."""

import asyncio
import json
import threading
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from hitl_nb._calls import AnswerType, Call, Kind
from hitl_nb._encoding import encode
from hitl_nb._kernel import current_kernel
from hitl_nb._schema import validator_for
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb._waiting import loop_answers
from hitl_nb.errors import Cancelled, Declined, Expired, InvalidValue, LoopBlockedError, UsageError
from hitl_nb.interrupts._sticky import Sticky
from hitl_nb.journal import open_journal
from hitl_nb.people import Asking, Person, asking, current_asking, delivering, people_of, showing

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
    ) -> Coroutine[Any, Any, Any]:
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
            The typed answer.

        Raises:
            Declined, Cancelled, Expired: The person said no, the question was withdrawn, time was up. Never approved.
            NoHumanError: Nobody can be asked here.
        """
        call = question(
            message,
            name=reason,
            kind=kind,
            answer_type=None if answer is None else validator_for(answer),
            render=render,
            proposal=True if payload is None else payload,
        )
        return decided(call, payload, timeout=timeout, on_timeout=on_timeout, key=key, again=again, people=people)

    def sync(self, message: str, payload: Any = None, **options: Any) -> Any:
        """Do the same from a worker thread (a sync step of a Flow, ``asyncio.to_thread``): blocks this thread only.

        Raises:
            UsageError: Called in the loop's own thread, which has to stay free for the answer.
            LoopBlockedError: The loop does not run, so no answer could ever arrive (a sync ``flow.kickoff()`` in a
                cell blocks it).
            Exception: All that ``await interrupt(...)`` raises.
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
        return asyncio.run_coroutine_threadsafe(self(message, payload, **options), loop).result()


interrupt = _Interrupt()
"""Stop here and ask a person: ``await interrupt("Delete these rows?", rows)``; `interrupt.sync` in a thread."""


def question(
    message: str,
    *,
    name: str,
    kind: Kind,
    answer_type: AnswerType | None,
    render: Any,
    proposal: Any,
    words: Callable[[Any], str] | None = None,
) -> Call:
    """Give the call for a question of the code.

    Args:
        message: The question.
        name: A word for the kind of checkpoint.
        kind: What the journal calls it.
        answer_type: What checks the answer; None takes anything.
        render: As for `interrupt`.
        proposal: What Confirm answers with; True proposes nothing.
        words: Gives an answer in words, where it has no JSON form.

    Raises:
        UsageError: The question has no words.
    """
    if not isinstance(message, str) or not message.strip():
        raise UsageError(
            f"`{name}` needs a question in words, not `{message!r}`. Write "
            '`await interrupt("Delete these rows?", rows)`.'
        )
    # Unique across kernels: the journal takes a known id for the question that it knows, and its answer with it.
    identity = f"interrupt_{uuid.uuid4().hex}"
    call = Call(id=identity, name=name, kind=kind, message=message, answer_type=answer_type, render=render)
    call.proposal = proposal
    call._encode = lambda answer: _in_words(answer, words or repr)
    return call


def _in_words(answer: Any, words: Callable[[Any], str]) -> str:
    # The answer goes to code, as it is; its words are for the record only.
    try:
        return encode(answer)
    except InvalidValue:
        return words(answer)


async def decided(
    call: Call,
    payload: Any,
    *,
    timeout: float | None = None,
    on_timeout: Any = RAISE,
    key: str | None = None,
    again: bool = False,
    people: Person | Sequence[Person] | None = None,
) -> Any:
    """Have a call decided by the people of the run that this code is part of, else by `people`; gives the answer.

    Raises:
        Exception: All that `interrupt` raises.
    """
    current = current_asking()
    journal = current.journal if current is not None else open_journal()
    sticky = Sticky(journal, key, call, payload)
    shown = _shown(payload)
    if current is not None and people is None:
        return await _recalled_or_asked(current, call, sticky, shown, timeout, on_timeout, again=again)
    transcript, chosen = Transcript(), people_of(people)
    with delivering(), showing(chosen, transcript), asking(chosen, transcript, journal) as alone:
        return await _recalled_or_asked(alone, call, sticky, shown, timeout, on_timeout, again=again)


async def _recalled_or_asked(
    asking: Asking, call: Call, sticky: Sticky, shown: Any, timeout: float | None, on_timeout: Any, *, again: bool
) -> Any:
    if not again:
        call._set(args=shown)
        if sticky.recalled():
            asking.transcript.add(CallEntry(key=call.id, call=call))
            return _result(call)
    call._open(shown, arguments=_as_json(shown), recorder=asking.journal)
    try:
        return await _ask(asking, call, timeout, on_timeout)
    finally:
        sticky.keep()


def _as_json(shown: Any) -> str:
    try:
        return encode(shown)
    except InvalidValue:
        return json.dumps({"value": repr(shown)})


async def _ask(asking: Asking, call: Call, timeout: float | None, on_timeout: Any) -> Any:
    try:
        try:
            async with asyncio.timeout(timeout) as limit:
                await asking.ask(call)
        except TimeoutError:
            # Ours, and not one that a person or a policy raised: that is a fault, and nothing to answer by default.
            if not limit.expired():
                raise
            if not call.decided:
                return await _expired(asking, call, on_timeout)
        return _result(call, on_timeout)
    except BaseException:
        # Whatever went wrong, the question does not stay open behind the code that asked it.
        call._refuse("cancelled", "the code that asked was ended", via="session")
        raise


async def _expired(asking: Asking, call: Call, on_timeout: Any) -> Any:
    if on_timeout is not RAISE and callable(on_timeout):
        await Asking(people=[on_timeout], transcript=asking.transcript, loop=asking.loop).ask(call)
        return _result(call)
    call._refuse("expired", "nobody answered in time", via="timeout")
    return _result(call, on_timeout)


def _result(call: Call, on_timeout: Any = RAISE) -> Any:
    if call.approved:
        return call.answer
    if call.outcome == "expired" and on_timeout is not RAISE and not callable(on_timeout):
        return on_timeout
    refusal = {"declined": Declined, "expired": Expired}.get(str(call.outcome), Cancelled)
    reason = f": {call.reason}" if call.reason else ""
    raise refusal(f"`{call.message}` was {call.outcome}{reason}. Nothing was approved.", call)


def _shown(payload: Any) -> Any:
    if payload is None:
        return {}
    return payload if isinstance(payload, dict) or hasattr(type(payload), "model_fields") else {"value": payload}


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
