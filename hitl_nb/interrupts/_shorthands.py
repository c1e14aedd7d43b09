"""The four questions that code asks most: may I, tell me, which one, is this right?"""

from collections.abc import Coroutine, Iterable
from functools import partial
from typing import Any, Literal, Never, overload

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked
from hitl_nb._calls import Call, Kind
from hitl_nb._schema import MISSING, validator_for
from hitl_nb._tools import Renderer
from hitl_nb.cards import Approval, Choice, Form, Text, described
from hitl_nb.errors import Cancelled, Declined, Expired, UsageError
from hitl_nb.interrupts._deciding import RAISE, Options, People, unasked
from hitl_nb.interrupts._types import OneOf, SomeOf, type_like
from hitl_nb.people import Person

T = TypeVar("T")
A = TypeVar("A", default=str)  # without a type of its own, `ask` asks for words
D = TypeVar("D", default=Never)  # what stands in for an answer that nobody gave: nothing


def approve(
    message: str,
    payload: object = None,
    *,
    risk: Literal["low", "high"] | None = None,
    name: str = "approve",
    render: Renderer | None = None,
    timeout: float | None = None,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[bool]:
    """Ask for a yes or no.

    It is ``if await approve("Drop the table?", table):``. Time that is up is never a yes: there is no ``if_expired=``
    here, only somebody else to ask.

    Args:
        message: The question.
        payload: What it is about.
        risk: A hint on the card; for a reason to give write ``render=partial(Approval, ask_reason="required")``.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until nobody is waited for any longer; None waits as long as it takes.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        True if the person approved exactly this. False if it was declined, cancelled or expired.

    Raises:
        ChangedWhileWaiting: Code has changed `payload` while the question was open.
        NoHumanError: Nobody can be asked here.
        UsageError: The question has no words, or the options contradict each other.
    """
    return unasked(
        "approve",
        message,
        payload,
        Options(
            name=name,
            kind=kind,
            render=render or partial(Approval, risk=risk),
            timeout=timeout,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            people=people,
        ),
        answer_type=validator_for(bool),
        offer=MISSING if payload is None else payload,
        compares=payload is not None,
        write="if await {}:",
        then=_is_a_yes,
    )


async def _is_a_yes(_: Call, answer: Coroutine[Any, Any, object]) -> bool:
    try:
        return await answer is True
    except (Declined, Cancelled, Expired):
        return False


@overload
def ask(
    message: str,
    payload: object = None,
    *,
    answer: type[A] = ...,
    default: object = None,
    long: bool = False,
    placeholder: str = "",
    name: str = "ask",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[A | D]: ...
@overload
def ask(
    message: str,
    payload: object = None,
    *,
    answer: object,
    default: object = None,
    long: bool = False,
    placeholder: str = "",
    name: str = "ask",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]: ...
def ask(
    message: str,
    payload: object = None,
    *,
    answer: object = str,
    default: object = None,
    long: bool = False,
    placeholder: str = "",
    name: str = "ask",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]:
    """Ask for something that only a person knows.

    Args:
        message: The question.
        payload: What it is about, to read.
        answer: Any pydantic type; a ``str`` is a box for words, all else a form.
        default: What the box or the form starts with; it is an answer only once the person confirms it.
        long: Whether the box for words has several lines.
        placeholder: What stands in the empty box.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The typed answer.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: The question has no words, or the options contradict each other.
    """
    card: Renderer = partial(Form, initial=MISSING if default is None else default)
    if answer is str:
        card = partial(Text, long=long, placeholder=placeholder, initial="" if default is None else str(default))
    return unasked(
        "ask",
        message,
        payload,
        Options(
            name=name,
            kind=kind,
            render=render or card,
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            people=people,
        ),
        answer_type=validator_for(answer),
    )


@overload
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: Literal[False] = False,
    label: str | None = None,
    note: str | None = None,
    name: str = "choose",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[T | D]: ...
@overload
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: Literal[True],
    label: str | None = None,
    note: str | None = None,
    name: str = "choose",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[list[T] | D]: ...
@overload
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: bool,
    label: str | None = None,
    note: str | None = None,
    name: str = "choose",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[T | list[T] | D]: ...
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: bool = False,
    label: str | None = None,
    note: str | None = None,
    name: str = "choose",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]:
    """Let a person choose.

    Args:
        message: The question.
        options: What there is to choose from: texts, numbers, dates, dicts, or any objects with a name.
        payload: What it is about, to read.
        multiple: Whether several may be chosen.
        label: The field of an option that names it; default: ``label``, ``title``, ``name`` or ``description``.
        note: The field that says more about it.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The chosen option itself, the identical object; a list of them if `multiple`.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: There is nothing to choose from, the question has no words, or the options contradict each other.
    """
    choices = [] if isinstance(options, str) else list(options)
    if not choices:
        raise UsageError(f'`choose` got `{options!r}` to choose from. Write `await choose("Which?", ["a", "b"])`.')
    return unasked(
        "choose",
        message,
        payload,
        Options(
            name=name,
            kind=kind,
            render=render or partial(Choice, options=choices, multiple=multiple, label=label, note=note),
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            people=people,
        ),
        answer_type=SomeOf(choices) if multiple else OneOf(choices),
        words=lambda answer: ", ".join(
            described(each, label=label).label for each in (answer if multiple else [answer])
        ),
        write="choice = await {}",
        more=True,
    )


@overload
def review(
    value: T,
    message: str = "Please review this.",
    *,
    answer: None = None,
    name: str = "review",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[T | D]: ...
@overload
def review(
    value: object,
    message: str = "Please review this.",
    *,
    answer: type[T],
    name: str = "review",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[T | D]: ...
@overload
def review(
    value: object,
    message: str = "Please review this.",
    *,
    answer: object,
    name: str = "review",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: D = ...,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]: ...
def review(
    value: object,
    message: str = "Please review this.",
    *,
    answer: object = None,
    name: str = "review",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]:
    """Show a value to a person, who confirms it as it is, or edits it first.

    Args:
        value: A pydantic model or dataclass, a list of them, or plain JSON data (a list of dicts is a table).
        message: The question.
        answer: The type of the value; default: the same as it has.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        `value` itself if nothing was changed, else the edited value, of the same type.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        InvalidValue: The value does not fit `answer`.
        NoHumanError: Nobody can be asked here.
        UsageError: Its type cannot be told from the value, the question has no words, or the options contradict
            each other.
    """
    answer_type = type_like(value) if answer is None else validator_for(answer)
    answer_type.validate(value)
    return unasked(
        "review",
        message,
        value,
        Options(
            name=name,
            kind=kind,
            render=render or Form,
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            people=people,
        ),
        answer_type=answer_type,
        offer=value,
        write="reviewed = await {}",
        then=partial(_itself, value),
    )


async def _itself(value: object, call: Call, answer: Coroutine[Any, Any, object]) -> object:
    """The value itself, where it was confirmed as it is: checking it against its type may have made a copy."""
    final = await answer
    unchanged = call.outcome == "answered" and type(final) is type(value) and final == value
    return value if unchanged else final
