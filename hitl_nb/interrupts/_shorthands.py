"""The four questions that code asks most: may I, tell me, which one, is this right?"""

from collections.abc import Coroutine, Iterable
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Any, Literal, Unpack, get_args, get_origin, overload

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked
from hitl_nb._calls import Call, Kind
from hitl_nb._schema import MISSING, validator_for
from hitl_nb._tools import Renderer
from hitl_nb.cards import Approval, Choice, Form, Text, described
from hitl_nb.errors import Cancelled, Declined, Expired, UsageError
from hitl_nb.interrupts._asked import RAISE, D, OneOf, Options, People, SomeOf, Undoable, type_like
from hitl_nb.interrupts._deciding import unasked
from hitl_nb.people import Person

T = TypeVar("T")
A = TypeVar("A", default=str)  # without a type of its own, `ask` asks for words


def approve(
    message: str,
    payload: object = None,
    *,
    risk: Literal["low", "high"] | None = None,
    sample_ok: bool = False,
    one_key: bool = False,
    name: str = "approve",
    title: str = "",
    render: Renderer | None = None,
    timeout: float | None = None,
    escalate_to: Person | None = None,
    key: str | None = None,
    refresh: bool = False,
    undo: float = 0,
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
        sample_ok: Whether a long table may be approved without its last page having been opened.
        one_key: Whether the keys Y and N, which stand on the buttons, answer at once: for many small decisions in a
            row. Never with ``risk="high"``.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until nobody is waited for any longer; None waits as long as it takes.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        True if the person approved exactly this. False if it was declined, cancelled or expired.

    Raises:
        ChangedWhileWaiting: Code has changed `payload` while the question was open.
        NoHumanError: Nobody can be asked here.
        UsageError: The question has no words, the options contradict each other, or one key would answer a question of
            high risk.
    """
    if one_key and risk == "high":
        raise UsageError(
            'A question of high risk is not answered by one key. Leave out `one_key=True`, or `risk="high"` if a '
            "mistake is cheap."
        )
    _check_one_key("approve", one_key, render)
    return unasked(
        "approve",
        message,
        payload,
        Options(
            name=name,
            title=title,
            kind=kind,
            render=render or partial(Approval, risk=risk, sample_ok=sample_ok, one_key=one_key),
            timeout=timeout,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            undo=undo,
            people=people,
        ),
        answer_type=validator_for(bool),
        offer=MISSING if payload is None else payload,
        compares=payload is not None,
        write="if await {}:",
        then=_is_a_yes,
    )


def _check_one_key(function: str, one_key: bool, render: Renderer | None) -> None:
    if one_key and render is not None:
        raise UsageError(
            f"`one_key=` is about the card of `{function}`, and `render=` draws another one. "
            "Write `render=partial(Choice, options=[...], one_key=True)`, or leave out `render=`."
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
    one_key: bool = False,
    **asked: Unpack[Undoable[D]],
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
    one_key: bool = False,
    **asked: Unpack[Undoable[D]],
) -> Unasked[Any]: ...
def ask(
    message: str,
    payload: object = None,
    *,
    answer: object = str,
    default: object = None,
    long: bool = False,
    placeholder: str = "",
    one_key: bool = False,
    name: str = "ask",
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
    """Ask for something that only a person knows.

    Args:
        message: The question.
        payload: What it is about, to read.
        answer: Any pydantic type; a ``str`` is a box for words, all else a form.
        default: What the box or the form starts with; it is an answer only once the person confirms it.
        long: Whether the box for words has several lines.
        placeholder: What stands in the empty box.
        one_key: For a `bool`, an `Enum` or a `Literal`: whether each answer is a button, and a press of it, or of the
            key that stands on it, answers at once.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The typed answer.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: The question has no words, the options contradict each other, or one key is to give what is no
            choice.
    """
    _check_one_key("ask", one_key, render)
    card: Renderer = partial(Form, initial=MISSING if default is None else default)
    if answer is str:
        card = partial(Text, long=long, placeholder=placeholder, initial="" if default is None else str(default))
    if one_key:
        card = partial(Choice, options=_choices_of(answer, default), one_key=True)
    return unasked(
        "ask",
        message,
        payload,
        Options(
            name=name,
            title=title,
            kind=kind,
            render=render or card,
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            undo=undo,
            people=people,
        ),
        answer_type=validator_for(answer),
    )


def _choices_of(answer: object, default: object) -> list[Any]:
    """Return the answers of a type that has a few only.

    Raises:
        UsageError: It has not, or one of them is to stand there already.
    """
    choices: list[Any] = []
    if answer is bool:
        choices = [True, False]
    elif isinstance(answer, type) and issubclass(answer, Enum):
        choices = list(answer)
    elif get_origin(answer) is Literal:
        choices = list(get_args(answer))
    if not choices:
        raise UsageError(
            f"One key chooses, and `{getattr(answer, '__name__', answer)}` is no choice among a few. Write "
            '`await ask("Which?", answer=Literal["a", "b"], one_key=True)`, or `choose` with its options.'
        )
    if default is not None:
        raise UsageError("With `one_key=True` nothing stands there before a key is pressed. Leave out `default=`.")
    return choices


@overload
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: Literal[False] = False,
    label: str | None = None,
    note: str | None = None,
    one_key: bool = False,
    **asked: Unpack[Undoable[D]],
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
    one_key: bool = False,
    **asked: Unpack[Undoable[D]],
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
    one_key: bool = False,
    **asked: Unpack[Undoable[D]],
) -> Unasked[T | list[T] | D]: ...
def choose(
    message: str,
    options: Iterable[T],
    payload: object = None,
    *,
    multiple: bool = False,
    label: str | None = None,
    note: str | None = None,
    one_key: bool = False,
    name: str = "choose",
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
    """Let a person choose.

    Args:
        message: The question.
        options: What there is to choose from: texts, numbers, dates, dicts, or any objects with a name.
        payload: What it is about, to read.
        multiple: Whether several may be chosen.
        label: The field of an option that names it; default: ``label``, ``title``, ``name`` or ``description``.
        note: The field that says more about it.
        one_key: Whether each option is a button, and a press of it, or of the key that stands on it (1 to 9, A to Z),
            answers at once; not with `multiple`.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        The chosen option itself, the identical object; a list of them if `multiple`.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: There is nothing to choose from, the question has no words, or the options contradict each other.
    """
    _check_one_key("choose", one_key, render)
    if one_key and multiple:
        raise UsageError("Several options are more than one key. Leave out `multiple=True` or `one_key=True`.")
    choices = [] if isinstance(options, str) else list(options)
    if not choices:
        raise UsageError(f'`choose` got `{options!r}` to choose from. Write `await choose("Which?", ["a", "b"])`.')
    return unasked(
        "choose",
        message,
        payload,
        Options(
            name=name,
            title=title,
            kind=kind,
            render=render
            or partial(Choice, options=choices, multiple=multiple, label=label, note=note, one_key=one_key),
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            undo=undo,
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
    drop: bool = False,
    edit: Iterable[object] = (),
    answer: None = None,
    **asked: Unpack[Undoable[D]],
) -> Unasked[T | D]: ...
@overload
def review(
    value: object,
    message: str = "Please review this.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    answer: type[T],
    **asked: Unpack[Undoable[D]],
) -> Unasked[T | D]: ...
@overload
def review(
    value: object,
    message: str = "Please review this.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    answer: object,
    **asked: Unpack[Undoable[D]],
) -> Unasked[Any]: ...
def review(
    value: object,
    message: str = "Please review this.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    answer: object = None,
    name: str = "review",
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
    """Show a value to a person, who confirms it as it is, or edits it first.

    Args:
        value: A pydantic model or dataclass, a list of them, plain JSON data (a list of dicts is a table), or a
            DataFrame (pandas, polars) or pyarrow Table of any length; see also `review_table`.
        message: The question.
        drop: Whether rows of a DataFrame may be dropped.
        edit: The columns of a DataFrame whose cells may be edited.
        answer: The type of the value; default: the same as it has.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        title: What stands above the question, e.g. ``"Run SQL"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        key: A name that makes the decision stick, also after a restart; see `interrupt`.
        refresh: Ask although the journal has a decision for `key`.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        `value` itself if nothing was changed, else the edited value, of the same type; of a DataFrame with its index,
        dtypes and order.

    Raises:
        ChangedWhileWaiting: Code has changed `value` while the question was open.
        Declined, Cancelled, Expired: As for `interrupt`.
        InvalidValue: The value does not fit `answer`.
        NoHumanError: Nobody can be asked here.
        UsageError: Its type cannot be told from the value, the question has no words, or the options contradict
            each other.
    """
    options = Options(
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
    )
    from hitl_nb.data import is_frame  # a room of its own, which the other questions do not need
    from hitl_nb.interrupts._data import reviewed

    if is_frame(value) and answer is None:
        return reviewed(value, message, options, drop=drop, edit=edit)
    if drop or list(edit):
        raise UsageError(
            f"`drop=` and `edit=` are about a DataFrame, and this is a `{type(value).__name__}`. "
            "Leave them out: any field can be edited here."
        )
    answer_type = type_like(value) if answer is None else validator_for(answer)
    answer_type.validate(value)
    return unasked(
        "review",
        message,
        value,
        replace(options, render=render or Form),
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
