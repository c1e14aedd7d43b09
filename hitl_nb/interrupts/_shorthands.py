"""The four questions that code asks most: may I, tell me, which one, is this right?"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from hitl_nb._awaiting import unasked
from hitl_nb._schema import MISSING, validator_for
from hitl_nb.cards import Approval, Choice, Form, Text
from hitl_nb.cards._options import described
from hitl_nb.errors import Cancelled, Declined, Expired, UsageError
from hitl_nb.interrupts._interrupt import decided, interrupt, on_stage, question
from hitl_nb.interrupts._types import OneOf, SomeOf, type_like

T = TypeVar("T")


@unasked(write="if await {}:", stage=on_stage)
async def approve(
    message: str,
    payload: Any = None,
    *,
    risk: Literal["low", "high"] | None = None,
    **options: Any,
) -> bool:
    """Ask for a yes or no.

    Args:
        message: The question.
        payload: What it is about.
        risk: A hint on the card; for a reason to give write ``render=partial(Approval, reason="required")``.
        options: As for `interrupt`. Time that is up is never a yes, whatever ``on_timeout=`` is, unless that is a
            person who says yes.

    Returns:
        True if the person approved exactly this. False if it was declined, cancelled or expired.

    Raises:
        NoHumanError: Nobody can be asked here.
    """
    options = {"reason": "approve", "render": partial(Approval, risk=risk), "answer": bool, **options}
    if not callable(options.get("on_timeout")):
        options.pop("on_timeout", None)
    try:
        return await interrupt(message, payload, **options) is True
    except (Declined, Cancelled, Expired):
        return False


@unasked(stage=on_stage)
async def ask(
    message: str,
    payload: Any = None,
    *,
    answer: Any = str,
    default: Any = None,
    long: bool = False,
    placeholder: str = "",
    reason: str = "ask",
    render: Any = None,
    **options: Any,
) -> Any:
    """Ask for something that only a person knows.

    Args:
        message: The question.
        payload: What it is about, to read.
        answer: Any pydantic type; a ``str`` is a box for words, all else a form.
        default: What the box or the form starts with; it is an answer only once the person confirms it.
        long: Whether the box for words has several lines.
        placeholder: What stands in the empty box.
        reason: As for `interrupt`.
        render: As for `interrupt`.
        options: As for `interrupt` (``timeout``, ``on_timeout``, ``key``, ``again``, ``people``, ``kind``).

    Returns:
        The typed answer.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
    """
    words = partial(Text, long=long, placeholder=placeholder, initial="" if default is None else default)
    form = partial(Form, initial=MISSING if default is None else default)
    call = question(
        message,
        name=reason,
        kind=options.pop("kind", "interrupt"),
        answer_type=validator_for(answer),
        render=render or (words if answer is str else form),
    )
    return await decided(call, payload, **options)


@unasked(write="choice = await {}", stage=on_stage)
async def choose(
    message: str,
    options: Sequence[T],
    payload: Any = None,
    *,
    multiple: bool = False,
    label: str | None = None,
    note: str | None = None,
    reason: str = "choose",
    render: Any = None,
    **others: Any,
) -> Any:
    """Let a person choose.

    Args:
        message: The question.
        options: What there is to choose from: texts, numbers, dates, dicts, or any objects with a name.
        payload: What it is about, to read.
        multiple: Whether several may be chosen.
        label: The field of an option that names it; default: ``label``, ``title``, ``name`` or ``description``.
        note: The field that says more about it.
        reason: As for `interrupt`.
        render: As for `interrupt`.
        others: As for `interrupt` (``timeout``, ``on_timeout``, ``key``, ``again``, ``people``, ``kind``).

    Returns:
        The chosen option itself, the identical object; a list of them if `multiple`.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: There is nothing to choose from.
    """
    choices = [] if isinstance(options, str) else list(options)
    if not choices:
        raise UsageError(f'`choose` got `{options!r}` to choose from. Write `await choose("Which?", ["a", "b"])`.')
    call = question(
        message,
        name=reason,
        kind=others.pop("kind", "interrupt"),
        answer_type=SomeOf(choices) if multiple else OneOf(choices),
        render=render or partial(Choice, options=choices, multiple=multiple, label=label, note=note),
        words=lambda answer: ", ".join(
            described(each, label=label).label for each in (answer if multiple else [answer])
        ),
    )
    return await decided(call, payload, **others)


@unasked(write="reviewed = await {}", stage=on_stage)
async def review(
    value: T,
    message: str = "Please review this.",
    *,
    answer: Any = None,
    reason: str = "review",
    render: Any = None,
    **options: Any,
) -> T:
    """Show a value to a person, who confirms it as it is, or edits it first.

    Args:
        value: A pydantic model or dataclass, a list of them, or plain JSON data (a list of dicts is a table).
        message: The question.
        answer: The type of the value; default: the same as it has.
        reason: As for `interrupt`.
        render: As for `interrupt`.
        options: As for `interrupt` (``timeout``, ``on_timeout``, ``key``, ``again``, ``people``, ``kind``).

    Returns:
        `value` itself if nothing was changed, else the edited value, of the same type.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        InvalidValue: The value does not fit `answer`.
        NoHumanError: Nobody can be asked here.
        UsageError: Its type cannot be told from the value.
    """
    answer_type = type_like(value) if answer is None else validator_for(answer)
    answer_type.validate(value)
    call = question(
        message,
        name=reason,
        kind=options.pop("kind", "interrupt"),
        answer_type=answer_type,
        render=render or Form,
        offer=value,
    )
    final = await decided(call, value, **options)
    unchanged = call.outcome == "answered" and type(final) is type(value) and final == value
    return value if unchanged else final
