"""`interrupt`: any question, about anything, with any type of answer."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Unpack, cast, overload

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked
from hitl_nb._calls import Kind
from hitl_nb._schema import MISSING, validator_for
from hitl_nb._tools import Renderer
from hitl_nb.interrupts._asked import RAISE, D, Options, People, Undoable
from hitl_nb.interrupts._deciding import run_blocking, unasked
from hitl_nb.people import Person

T = TypeVar("T")
P = TypeVar("P", default=bool)  # what is confirmed: the payload, else "yes"


class Interrupt(Protocol):
    """What type checkers see of `interrupt`: the answer is of the type `answer`, else of the payload's."""

    @overload
    def __call__(
        self,
        message: str,
        payload: object = None,
        *,
        answer: type[T],
        **asked: Unpack[Undoable[D]],
    ) -> Unasked[T | D]: ...
    @overload
    def __call__(
        self,
        message: str,
        payload: P = ...,
        *,
        answer: None = None,
        **asked: Unpack[Undoable[D]],
    ) -> Unasked[P | D]: ...
    @overload
    def __call__(
        self,
        message: str,
        payload: object = None,
        *,
        answer: object,
        **asked: Unpack[Undoable[D]],
    ) -> Unasked[Any]: ...

    @overload
    def sync(
        self,
        message: str,
        payload: object = None,
        *,
        answer: type[T],
        **asked: Unpack[Undoable[D]],
    ) -> T | D: ...
    @overload
    def sync(
        self,
        message: str,
        payload: P = ...,
        *,
        answer: None = None,
        **asked: Unpack[Undoable[D]],
    ) -> P | D: ...
    @overload
    def sync(
        self,
        message: str,
        payload: object = None,
        *,
        answer: object,
        **asked: Unpack[Undoable[D]],
    ) -> Any: ...


def _sync(
    message: str,
    payload: object = None,
    *,
    answer: object = None,
    name: str = "interrupt",
    title: str = "",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    undo: float = 0,
    people: People = None,
    kind: Kind = "interrupt",
) -> Any:
    """Ask from a worker thread (a sync step of a Flow, ``asyncio.to_thread``), and block this thread only.

    Args:
        message: The question.
        payload: What it is about, shown to the person: a dict or pydantic model, one row an entry, or any value.
        answer: Any pydantic type: what the person answers. Without one, Confirm answers with the payload (with True if
            there is none); a card or a script that answers with anything else says its type here.
        name: A word for the kind of checkpoint; it becomes ``call.name``, for rules and for the record.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired, which the record says; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over: the question does not expire then.
        key: A name that makes the decision stick: the same question about the same input takes the decision that the
            journal has, also after a restart; changed input asks again. DataFrames and arrays are compared by content.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The typed answer.

    Raises:
        UsageError: Called in the loop's own thread, which has to stay free for the answer.
        LoopBlockedError: The loop does not run, so no answer could ever arrive (a sync ``flow.kickoff()`` in a
            cell blocks it).
        Exception: All that ``await interrupt(...)`` raises.
    """
    ask = partial(
        interrupt,
        message,
        payload,
        answer=answer,
        name=name,
        title=title,
        render=render,
        timeout=timeout,
        if_expired=if_expired,
        escalate_to=escalate_to,
        key=key,
        refresh=refresh,
        undo=undo,
        people=people,
        kind=kind,
    )
    return run_blocking(ask, message)


def _with_sync(function: Callable[..., Unasked[Any]]) -> Interrupt:
    """Add ``.sync``: to users both are functions, with the names that errors and ``help()`` give them."""
    _sync.__name__, _sync.__qualname__ = "sync", f"{function.__name__}.sync"
    function.sync = _sync  # type: ignore[attr-defined]  # what `Interrupt` says
    return cast("Interrupt", function)


@_with_sync
def interrupt(
    message: str,
    payload: object = None,
    *,
    answer: object = None,
    name: str = "interrupt",
    title: str = "",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    undo: float = 0,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]:
    """Stop here and ask a person.

    In a cell or an async step it is ``await interrupt("Delete these rows?", rows)``; in a sync step of a Flow, or any
    other worker thread, ``interrupt.sync("Delete these rows?", rows)``.

    Args:
        message: The question.
        payload: What it is about, shown to the person: a dict or pydantic model, one row an entry, or any value.
        answer: Any pydantic type: what the person answers. Without one, Confirm answers with the payload (with True if
            there is none); a card or a script that answers with anything else says its type here.
        name: A word for the kind of checkpoint; it becomes ``call.name``, for rules and for the record.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired, which the record says; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over: the question does not expire then.
        key: A name that makes the decision stick: the same question about the same input takes the decision that the
            journal has, also after a restart; changed input asks again. DataFrames and arrays are compared by content.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The typed answer, once awaited: unedited it is `payload` itself, the identical object.

    Raises:
        Declined, Cancelled, Expired: The person said no, the question was withdrawn, time was up. Never approved.
        ChangedWhileWaiting: Code has changed `payload` while the question was open.
        NoHumanError: Nobody can be asked here.
        UsageError: The question has no words, or the options contradict each other.
    """
    nothing_proposed = True if answer is None else MISSING
    return unasked(
        "interrupt",
        message,
        payload,
        Options(
            name=name,
            title=title,
            kind=kind,
            render=render,
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            undo=undo,
            people=people,
        ),
        answer_type=None if answer is None else validator_for(answer),
        offer=nothing_proposed if payload is None else payload,
        compares=payload is not None,
    )
