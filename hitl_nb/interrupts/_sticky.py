"""Decisions that stick: the same question about the same input is not asked twice, also not by another kernel.

Re-running a cell, or Run All after a restart, takes the decision that the journal has, and the record says so. Other
input, other words or another type of answer is another question. And what people elsewhere answer outlives the run that
asked: a later run of the same job takes it, once.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._calls import Call, Decision, FoundBy, Handle, fingerprint, print_of
from hitl_nb._process import notebook_name, started_with
from hitl_nb._text import logger
from hitl_nb.data import as_at_home
from hitl_nb.errors import InvalidValue, UsageError
from hitl_nb.interrupts._asked import OneOf
from hitl_nb.journal import Journal, OpenCall, StoredDecision
from hitl_nb.people import Person, declared_all

_log = logger()

STICKS = ("answered", "edited", "declined")
"""What a person decided. A question that was withdrawn, or that nobody answered, is asked again."""


class Sticky:
    """The memory of one keyed question.

    What is remembered matches the whole question: kind, name, message, payload, the type of the answer, the options,
    and who had to answer, in which notebook; where people elsewhere answer, the job stands in for user and notebook. A
    script's decision answers only for the same script, a person's only for the same person.

    Args:
        journal: Where decisions are kept.
        key: The question's own name; None does not stick.
        call: The question.
        payload: What it is about.
        people: Who has to answer.

    Raises:
        UsageError: There is a key and no journal, or the payload has no content that could be compared.
    """

    def __init__(
        self, journal: Journal | None, key: str | None, call: Call, payload: Any, people: Sequence[Person]
    ) -> None:
        self._journal, self._key, self._call = journal, key, call
        self._input: str | None = None
        if key is None:
            return
        if journal is None:
            raise UsageError(
                f"`key={key!r}` keeps the decision in the journal, and there is none. Write `journal=` with a path, or "
                "leave `key` out to be asked each time."
            )
        who = declared_all(people)
        question = [call.kind, call.name, call.message, payload, type_of_answer(call.answer_type)]
        content = fingerprint(question)
        # A lambda may be another one next time; and a secret is not compared with what left this process.
        if who is not None and print_of(payload).durable:
            here = [job_name()] if any(somebody_elsewhere(people)) else [journal.who(), notebook_name()]
            self._input = fingerprint([content, who, *here])

    @property
    def has_key(self) -> bool:
        """Whether the decision sticks at all."""
        return self._key is not None and self._input is not None

    def recalled(self) -> bool:
        """Decide the call as it was decided last time, if it was; gives whether that is so."""
        if self._key is None or self._input is None or self._journal is None:
            return False
        stored = self._journal.recall(self._key, self._input)
        if stored is None or stored.outcome not in STICKS:
            return False
        try:
            answer = self._answer_of(stored)
        except InvalidValue:
            _log.info("What was decided for %r does not fit its type any more; asking again", self._key)
            return False
        who = f"{stored.by or 'somebody'}, {stored.at:%Y-%m-%d}" if stored.via == "card" else stored.by
        return Handle.of(self._call).settle(
            Decision(
                outcome=stored.outcome,
                answer=answer,
                result=stored.result,
                edits=stored.edits,
                reason=stored.reason,
                by=f"{who} (from the journal; `refresh=True` asks again)",
                via="replay",
            )
        )

    def keep(self) -> None:
        """Keep what was decided now; but for what a rule said, which answers for itself the next time."""
        decision = Handle.of(self._call).decision
        if self._key is None or self._input is None or self._journal is None or decision is None:
            return
        if decision.outcome in STICKS and decision.via != "policy" and self._can_be_read_back(decision):
            self._journal.begin_remember(self._key, self._input, self._call)

    def _can_be_read_back(self, decision: Decision) -> bool:
        """Whether what the journal has of an answer gives exactly this answer; else the question is asked again."""
        checks = self._call.answer_type
        if not decision.approves or (checks is None and decision.outcome == "answered"):
            return True
        try:
            stored = to_jsonable_python(decision.answer, by_alias=True, inf_nan_mode="strings")
            answer = stored if checks is None else checks.validate(stored)
            return print_of(answer).digest == print_of(decision.answer).digest
        except (InvalidValue, UsageError, PydanticSerializationError, TypeError, ValueError):
            return False

    def _answer_of(self, stored: StoredDecision) -> Any:
        if not stored.approved:
            return None
        if self._call.answer_type is not None:
            return self._call.answer_type.validate(stored.answer)
        # Without a type, Confirm answers with what is shown, which is the same as last time.
        return self._call.offer if stored.outcome == "answered" else stored.answer


def type_of_answer(answer_type: object) -> Any:
    """Return the type, its schema and the options: with others it is another question."""
    kind = [type(answer_type).__name__, str(getattr(answer_type, "type", "")), getattr(answer_type, "schema", None)]
    if not isinstance(answer_type, OneOf):
        return kind
    try:
        return [*kind, fingerprint(answer_type.options)]
    except UsageError:  # options without content: then by what is seen of them
        return kind


JOB: Final = "HITL_NB_JOB"
"""What a scheduler calls this run; the same in each attempt, another one tomorrow."""


def job_name() -> str:
    """Return what this process was started as; "" if nobody said."""
    return started_with(JOB)


def somebody_elsewhere(people: Iterable[object]) -> Iterator[Any]:
    """Iterate over those of `people` who may answer after this run has ended, wherever they stand."""
    for person in people:
        if getattr(person, "parks", False):
            yield person
        for name in ("members", "later_members"):
            yield from somebody_elsewhere(getattr(person, name, ()))


# -- questions that outlive the run that asked them -------------------------------------------------------------------

# The same is the same job, the same words about the same input with the same answer type, put to the same people, for
# the n-th time in its run. What was answered is taken with a receipt, so two runs never both go on with one answer. A
# job that asks several things gives each a `key`: what was taken sticks, and the next run comes as far as the last.


_asked: Counter[tuple[str, str]] = Counter()
"""How often this process has asked the same."""


def journal_of(people: Iterable[object]) -> Journal | None:
    """Return the journal that somebody elsewhere reads, None if nobody names one."""
    found: Journal | None = next((each.journal for each in somebody_elsewhere(people) if each.journal), None)
    return found


class Parking:
    """What one question of this run has to do with those of earlier ones.

    Args:
        journal: Where it is recorded.
        key: The question's own name; else its words are.
        call: The question.
        payload: What it is about.
        people: Who has to answer.
    """

    def __init__(
        self, journal: Journal | None, key: str | None, call: Call, payload: object, people: Sequence[Person]
    ) -> None:
        self._journal, self._call = journal, call
        if journal is None or not any(somebody_elsewhere(people)):
            return
        who = declared_all(somebody_elsewhere(people))
        try:
            content = [key or call.message, call.kind, call.name, call.message, payload]
            same = fingerprint([content, type_of_answer(call.answer_type), who])
            durable = print_of(payload).durable
        except UsageError:
            return
        if durable and who is not None:
            job = job_name()
            _asked[journal.where, same] += 1
            Handle.of(call).found_by = FoundBy(job=job, content=fingerprint([job, same, _asked[journal.where, same]]))

    async def taken_up(self, shown: object, *, gated: bool) -> bool:
        """Take up the question of an earlier run: decided, if it has an answer, else open."""
        handle, journal = Handle.of(self._call), self._journal
        if journal is None or handle.found_by is None:
            return False
        stored = journal.postings.find(handle.found_by.content)
        if stored is None:
            return False
        if isinstance(stored, OpenCall):
            journal.adopt(self._call, stored)
            handle.open_again(shown, journal, gated=gated)
            return True
        try:
            home = as_at_home(self._call, stored, shown)
            handle.check(home)
        except InvalidValue as error:
            await asyncio.wrap_future(journal.postings.begin_refuse(stored, error.errors))
            handle.refusal = tuple(error.errors)
            return False
        if not await asyncio.wrap_future(journal.postings.begin_take(stored)):
            return False
        journal.adopt(self._call, stored)
        handle.open_again(shown, journal, gated=gated)
        handle.adopt(handle.with_the_proposal(home), mine=True)
        return True

    def keep(self) -> None:
        """Give the receipt for what was decided in this run: no later one takes it."""
        handle = Handle.of(self._call)
        if handle.found_by is not None and self._journal is not None and handle.decision and not handle.is_parked:
            self._journal.begin_delivered([self._call])
