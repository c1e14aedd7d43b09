"""Questions about what is there: a table, approved as it was when asked about; code, hunk by hunk; open questions.

Of many open questions at one table each is answered by itself, with a row of its own in the journal.
"""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Never, TypeVar, Unpack, overload

from hitl_nb._awaiting import Unasked, Words, line_of
from hitl_nb._calls import CHANGED, Call, Handle, Kind
from hitl_nb._limits import beside_the_loop
from hitl_nb._schema import validator_for
from hitl_nb._tools import Renderer
from hitl_nb.cards import BatchReview, answer_of_yes
from hitl_nb.data import DiffReview, Shown, Table, TableAnswer, TableReview, TableType
from hitl_nb.errors import ChangedWhileWaiting, UsageError
from hitl_nb.interrupts._asked import RAISE, D, Options, People, Undoable
from hitl_nb.interrupts._deciding import ask_again, decided, on_stage, question, unasked
from hitl_nb.people import Person

T = TypeVar("T")


@overload
def review_table(
    frame: T,
    message: str = "Please review this table.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    **asked: Unpack[Undoable[Never]],
) -> Unasked[TableAnswer[T]]: ...
@overload
def review_table(
    frame: T,
    message: str = "Please review this table.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    **asked: Unpack[Undoable[D]],
) -> Unasked[TableAnswer[T] | D]: ...
def review_table(
    frame: T,
    message: str = "Please review this table.",
    *,
    drop: bool = False,
    edit: Iterable[object] = (),
    name: str = "review_table",
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
    """Show a table to a person, all of it, who confirms it, or drops rows and edits cells first.

    ``await review(df, …)`` is the same for whoever wants the table and not what was done to it.

    Args:
        frame: A DataFrame of pandas or polars, or a pyarrow Table.
        message: The question.
        drop: Whether rows may be dropped.
        edit: The columns whose cells may be edited.
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
        What was done: ``.data`` (the table), ``.keep`` (a mask of its rows), ``.changes`` (the cells).

    Raises:
        ChangedWhileWaiting: Code has changed the frame while the question was open.
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: It is no table, there is no such column, or the options contradict each other.
    """
    columns = list(edit)
    options = Options(
        name=name,
        title=title,
        kind=kind,
        render=render or partial(TableReview, drop=drop, edit=columns),
        timeout=timeout,
        if_expired=if_expired,
        escalate_to=escalate_to,
        key=key,
        refresh=refresh,
        undo=undo,
        people=people,
    )
    return _asked_about("review_table", Table(frame), message, options, drop=drop, edit=columns)


@overload
def review_code(
    after: str,
    message: str = "Please review this change.",
    *,
    before: str = "",
    language: str = "python",
    **asked: Unpack[Undoable[Never]],
) -> Unasked[str]: ...
@overload
def review_code(
    after: str,
    message: str = "Please review this change.",
    *,
    before: str = "",
    language: str = "python",
    **asked: Unpack[Undoable[D]],
) -> Unasked[str | D]: ...
def review_code(
    after: str,
    message: str = "Please review this change.",
    *,
    before: str = "",
    language: str = "python",
    name: str = "review_code",
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
    """Show a change to code, or to another text, to a person, who takes, leaves or edits each hunk of it.

    Args:
        after: The text as it is proposed.
        message: The question.
        before: The text as it is now; without it all is new.
        language: What colours it: ``python``, ``sql``, ``yaml``, …; an unknown one colours nothing.
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
        The text that came of it, to the last character: `after` itself where all was taken.

    Raises:
        Declined, Cancelled, Expired: As for `interrupt`.
        NoHumanError: Nobody can be asked here.
        UsageError: A text is none, or the options contradict each other.
    """
    for text in (after, before):
        if not isinstance(text, str):
            raise UsageError(
                f"`review_code` compares two texts, and got a `{type(text).__name__}`. "
                "Write `await review_code(path.read_text(), before=old)`."
            )
    return unasked(
        "review_code",
        message,
        {"before": before, "after": after},
        Options(
            name=name,
            title=title,
            kind=kind,
            render=render or partial(DiffReview, language=language),
            timeout=timeout,
            if_expired=if_expired,
            escalate_to=escalate_to,
            key=key,
            refresh=refresh,
            undo=undo,
            people=people,
        ),
        answer_type=validator_for(str),
        offer=after,
        write="source = await {}",
        more=True,
    )


def reviewed(frame: object, message: str, options: Options, *, drop: bool, edit: Iterable[object]) -> Unasked[Any]:
    """Return the question of `review` about a frame: its answer is the frame as it is then."""

    async def data(answer: Coroutine[Any, Any, Any]) -> object:
        found = await answer
        return found.data if isinstance(found, TableAnswer) else found

    columns = list(edit)
    card = options.render or partial(TableReview, drop=drop, edit=columns)
    options = replace(options, render=card)
    return _asked_about("review", Table(frame), message, options, drop=drop, edit=columns, then=data)


def _asked_about(
    function: str,
    table: Table,
    message: str,
    options: Options,
    *,
    drop: bool,
    edit: Iterable[object],
    then: Callable[[Coroutine[Any, Any, object]], Coroutine[Any, Any, object]] | None = None,
) -> Unasked[Any]:
    checks = TableType(table, drop=drop, edit=table.editable(edit))
    call = question(message, options, answer_type=checks, offer=TableAnswer[Any](table), words=repr)
    decide = partial(_decided, call, table, options)
    line = line_of(function, message, more=True)
    Handle.of(call).again = ask_again(line)
    return Unasked(
        decide if then is None else lambda: then(decide()),
        Words(line, "reviewed = await {}"),
        partial(on_stage, options.people),
    )


async def _decided(call: Call, table: Table, options: Options) -> object:
    shown = Shown(table, call)
    if options.key is not None:
        shown["content"] = (await beside_the_loop(table.content))[0]
    elif table.holds_objects:
        await beside_the_loop(table.content)  # before anybody sees them: they can change without the frame
    answer = await decided(call, shown, options)
    # What was edited is made of what was shown; what was left alone is the frame itself.
    if isinstance(answer, TableAnswer) and answer.untouched and await beside_the_loop(table.has_changed):
        raise ChangedWhileWaiting(f"`{call.message}` cannot be approved: {CHANGED}. Nothing was approved.", call)
    return answer


# -- open questions ---------------------------------------------------------------------------------------------------

_MOST = 500
"""Questions of one table; more is nothing that anybody reads."""


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What became of the questions of one table."""

    approved: tuple[Call, ...]
    """Those whose approval counts."""

    declined: tuple[Call, ...]
    """Those that were declined."""

    left: tuple[Call, ...]
    """Those that were left open."""

    failed: tuple[tuple[Call, str], ...]
    """Those that somebody else had decided before, or that were changed meanwhile, each with why."""

    def __bool__(self) -> bool:
        """Raise, since a table of decisions is no yes.

        Raises:
            UsageError: Always.
        """
        raise UsageError("What came of a table of questions is neither yes nor no. Write `if not batch.left:`.")


def review_calls(
    calls: Iterable[Call],
    message: str = "Which of these?",
    *,
    reason: str | None = None,
    name: str = "review_calls",
    timeout: float | None = None,
    people: People = None,
) -> Unasked[Batch]:
    """Put many open questions on one table, to approve and decline them together.

    Which they are is frozen now; none is ticked beforehand, and what is of high risk stands apart and is in no
    "approve all". Each is then answered as at its own card, and has its own row in the journal.

    Args:
        calls: Open calls; those that are decided, or still being written, are left out.
        message: The question.
        reason: What the declined ones are told.
        name: A word for the kind of checkpoint; it becomes ``call.name``.
        timeout: Seconds until the table expires; the questions stay open.
        people: Who is asked; default: the people of the run that this code is part of, else the notebook.

    Returns:
        What became of each.

    Raises:
        Declined, Cancelled, Expired: The table was closed; all questions stay open.
        NoHumanError: Nobody can be asked here.
        UsageError: None is open, or there are more than 500.
    """
    frozen = [call for call in calls if call.status == "executing"]
    if not 0 < len(frozen) <= _MOST:
        raise UsageError(
            f"`review_calls` got {len(frozen)} open questions, and a table has 1 to {_MOST}. "
            f"Write `await review_calls(pending()[:{_MOST}])`."
        )
    return unasked(
        "review_calls",
        message,
        {"calls": [{"id": call.id, "name": call.name} for call in frozen]},
        Options(name=name, render=partial(BatchReview, calls=frozen), timeout=timeout, people=people),
        answer_type=validator_for(dict[str, list[str]]),
        compares=False,
        write="batch = await {}",
        more=True,
        then=partial(_decided_each, frozen, reason),
    )


async def _decided_each(
    calls: Sequence[Call], reason: str | None, asked: Call, answer: Coroutine[Any, Any, Any]
) -> Batch:
    return decided_together(calls, await answer, reason, by=asked.answered_by)


def decided_together(
    calls: Sequence[Call], chosen: Mapping[str, Sequence[str]], reason: str | None, *, by: str | None
) -> Batch:
    """Decide each question as the answer of a `BatchReview` says.

    Args:
        calls: Those that were in the table.
        chosen: Under ``approve`` and ``decline``, the occurrences.
        reason: What the declined ones are told.
        by: Who has decided.
    """
    approved: list[Call] = []
    declined: list[Call] = []
    left: list[Call] = []
    failed: list[tuple[Call, str]] = []
    for call in calls:
        if call.occurrence not in chosen.get("approve", ()) and call.occurrence not in chosen.get("decline", ()):
            left.append(call)
            continue
        yes = call.occurrence in chosen.get("approve", ())
        try:
            counts = call.respond(answer_of_yes(call), by=by) if yes else call.decline(reason, by=by)
        except Exception as error:  # whatever is wrong with one of them, the others are decided
            failed.append((call, str(error)))
            continue
        if not counts:
            failed.append((call, "somebody else was first"))
        else:
            (approved if yes else declined).append(call)
    return Batch(approved=tuple(approved), declined=tuple(declined), left=tuple(left), failed=tuple(failed))
