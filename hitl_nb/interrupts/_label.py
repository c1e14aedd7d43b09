"""Labels for many items at one key each: gone on with after a restart, by several people, each in their own time."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Literal, Unpack, overload

from typing_extensions import TypeVar

from hitl_nb._awaiting import Unasked, Words, line_of
from hitl_nb._calls import CHANGED, Call, Handle, Kind
from hitl_nb._limits import beside_the_loop
from hitl_nb._tools import Renderer
from hitl_nb.data import Batch, Disputed, LabelQueue, Labels, LabelsType, Queued, Show
from hitl_nb.errors import ChangedWhileWaiting, UsageError
from hitl_nb.interrupts._asked import RAISE, Asked, D, Options, People
from hitl_nb.interrupts._deciding import decided, journal_here, on_stage, question
from hitl_nb.journal import Journal, LabelPass
from hitl_nb.people import Person

T = TypeVar("T")


@overload
def label(
    items: Disputed[T],
    labels: str | None = None,  # the message
    message: str = "Please label these items.",
    *,
    show: Show = None,
    multi: bool = False,
    guidelines: str = "",
    shortcuts: Mapping[str, object] | None = None,
    order: Iterable[float] | None = None,
    **asked: Unpack[Asked[D]],
) -> Unasked[Labels[T] | D]: ...
@overload
def label(
    items: object,
    labels: Iterable[T],
    message: str = "Please label these items.",
    *,
    show: Show = None,
    multi: Literal[False] = False,
    guidelines: str = "",
    shortcuts: Mapping[str, object] | None = None,
    order: Iterable[float] | None = None,
    **asked: Unpack[Asked[D]],
) -> Unasked[Labels[T | None] | D]: ...
@overload
def label(
    items: object,
    labels: Iterable[T],
    message: str = "Please label these items.",
    *,
    show: Show = None,
    multi: Literal[True],
    guidelines: str = "",
    shortcuts: Mapping[str, object] | None = None,
    order: Iterable[float] | None = None,
    **asked: Unpack[Asked[D]],
) -> Unasked[Labels[list[T] | None] | D]: ...
@overload
def label(
    items: object,
    labels: Iterable[T],
    message: str = "Please label these items.",
    *,
    show: Show = None,
    multi: bool,
    guidelines: str = "",
    shortcuts: Mapping[str, object] | None = None,
    order: Iterable[float] | None = None,
    **asked: Unpack[Asked[D]],
) -> Unasked[Labels[T | list[T] | None] | D]: ...
def label(
    items: object,
    labels: Iterable[Any] | None = None,
    message: str = "Please label these items.",
    *,
    key: str | None = None,
    show: Show = None,
    multi: bool = False,
    guidelines: str = "",
    shortcuts: Mapping[str, object] | None = None,
    order: Iterable[float] | None = None,
    name: str = "label",
    title: str = "",
    render: Renderer | None = None,
    timeout: float | None = None,
    if_expired: object = RAISE,
    escalate_to: Person | None = None,
    refresh: bool = False,
    people: People = None,
    kind: Kind = "interrupt",
) -> Unasked[Any]:
    """Have a person label many items, one key each.

    Each label is in the journal before it is acknowledged. Under the same `key` whoever labels goes on where they were,
    after a reload, in another kernel, on another day; and each person has a pass of their own, so that two can be
    compared (`Labels.agreement`) and what they differ in can be put to somebody (``label(labels.disputed)``).

    Args:
        items: What is labelled: any sequence of texts, arrays, images, figures, dicts; a Series; or a DataFrame, whose
            rows are the items. Or `Labels.disputed`, which has its labels and all else with it: then a message follows.
        labels: What an item may be: texts, numbers, Enums.
        message: The question.
        key: The name of the queue. Labels that were given under it are gone on with; other items need another one.
        show: How an item is shown: ``"text"``, ``"markdown"``, ``"image"`` (an array, bytes, a PIL image, a path), or a
            function that makes a figure, an image or a text of an item. Default: as what it is.
        multi: Whether an item may have several labels; Enter goes on then.
        guidelines: Markdown that stands beside the queue.
        shortcuts: Key → label, e.g. ``{"p": "positive"}``; default: digits.
        order: A number an item; the lowest is asked about first, e.g. the confidence of a model.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        title: What stands above the question, e.g. ``"Batch 3"``; default: the question itself does.
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget.
        timeout: Seconds until the question expires; None waits as long as it takes. Labels that were given stay.
        if_expired: The answer where the question has expired; without it `Expired` is raised.
        escalate_to: Who is asked instead when `timeout` is over.
        refresh: Ask although the journal has an answer for `key`: the labels are there, and can be changed.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.
        kind: What the journal calls it.

    Returns:
        A label for each item, in their order; None for what was skipped. ``.notes``, ``.skipped``, ``.series``,
        ``.agreement`` and ``.disputed`` say more.

    Raises:
        ChangedWhileWaiting: Code has changed the items while the question was open. The labels stay in the journal.
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: There is nothing to label, or no label; `key` was begun with other items; or the options contradict
            each other.
    """
    if isinstance(items, Disputed):
        batch = items.batch()
        message = labels if isinstance(labels, str) else message
    else:
        batch = Batch(
            items,
            () if labels is None else labels,
            multi=multi,
            show=show,
            guidelines=guidelines,
            shortcuts=shortcuts,
            order=order,
        )
    if key is None and isinstance(items, Disputed):
        key = items.key
    options = Options(
        name=name,
        title=title,
        kind=kind,
        render=render or LabelQueue,
        timeout=timeout,
        if_expired=if_expired,
        escalate_to=escalate_to,
        key=key,
        refresh=refresh,
        people=people,
    )
    call = question(message, options, answer_type=LabelsType(batch), compares=False)
    return Unasked(
        lambda: _decided(call, batch, options),
        Words(line_of("label", message, more=True), "labels = await {}"),
        partial(on_stage, people),
    )


async def _decided(call: Call, batch: Batch, options: Options) -> object:
    key, journal = options.key, journal_here(options.people)
    shown = Queued(batch, call, key)
    if key is not None:
        shown["content"] = await beside_the_loop(lambda: batch.content)
    if key is not None and journal is not None:
        batch.passes = partial(_passes, journal, key, batch)
        await beside_the_loop(_check_same, journal, key, batch)
    answer = await decided(call, shown, options)
    if not isinstance(answer, Labels):
        return answer
    if await beside_the_loop(batch.has_changed):
        raise ChangedWhileWaiting(
            f"`{call.message}` cannot be answered: {CHANGED}. The labels that were given are in the journal.", call
        )
    if key is not None and journal is not None:
        await beside_the_loop(_keep, call, answer, batch, journal, key)
    return answer


def _passes(journal: Journal, key: str, batch: Batch) -> list[LabelPass]:
    return [each for each in journal.labelling.passes(key) if each.batch == batch.content]


def _check_same(journal: Journal, key: str, batch: Batch) -> None:
    """A label is never taken for another item.

    Raises:
        UsageError: The queue was begun with other items.
    """
    other = next((each for each in journal.labelling.passes(key) if each.batch != batch.content), None)
    if other is not None:
        raise UsageError(
            f"`key={key!r}` was begun with other items, or in another order: {other.by} has labelled some of them. "
            f'Nothing was asked. Write another key for these, e.g. `key="{key} 2"`; the labels of those stay.'
        )


def _keep(call: Call, answer: Labels[Any], batch: Batch, journal: Journal, key: str) -> None:
    """What a script or other code has labelled counts as its pass; a person's own is there already."""
    decision = Handle.of(call).decision
    if decision is None or decision.via not in ("script", "callback"):
        return
    by = decision.by or "somebody"
    before = next((each for each in _passes(journal, key, batch) if (each.by, each.via) == (by, decision.via)), None)
    if before is None or not answer.is_what(before.entries):
        journal.labelling.begin_note(
            call, key=key, batch=batch.content, by=by, via=decision.via, entries=answer.entries()
        ).result()
