"""People made of people: remember what was approved, need several, pass on after a while."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hitl_nb._calls import Call, Decision, Handle, frozen, print_of
from hitl_nb._limits import contained
from hitl_nb.errors import UsageError
from hitl_nb.people._asking import consult, current_asking, in_time
from hitl_nb.people._person import Person, declared, declared_all


class Remember:
    """Asks `person`, and answers the same call with the same arguments from memory afterwards.

    Bound to the whole question: kind, tool, words, arguments and the type of the answer, for as long as this object
    lives. A call without arguments is always asked, since a yes to "do it" says nothing about the next one; so is
    what holds a connection or another thing without content. Refusals, and what a rule or a script has said, are not
    remembered, and no memory answers what a rule forbids.

    Args:
        person: Who is asked the first time.
    """

    via = "policy"

    def __init__(self, person: Person) -> None:
        self._person = person
        self._answers: dict[str, _Known] = {}
        self.members = (person,)
        """Whom this asks."""

    async def __call__(self, call: Call) -> None:
        """Answer from memory, or ask and remember an approval."""
        handle = Handle.of(call)
        key = question_key(call)
        known = self._answers.get(key) if key is not None and handle.may_recall else None
        if known is not None:
            # Never the object that was answered with then: it is somebody else's, who may have changed it since.
            answer = call.proposal if known.is_as_proposed else frozen(known.answer)
            call.respond(answer, by=f"remembered from {known.by or 'somebody'}", via="policy")
            return
        # As it is said: until it is on disk, whoever gave the answer may change it.
        handle.keeps_answer = key is not None
        with handle.turns.put_to(self._person) as theirs:
            await self._person(theirs)
            await handle.written()
        decision = handle.decision
        if key is None or decision is None or not decision.approves or not handle.is_mine:
            return
        if handle.was_changed:
            return  # "nothing was approved" is what comes of it, so there is nothing to remember
        if _is_a_persons(decision, self._person):
            unedited = decision.answer is call.proposal
            answer = None if unedited else handle.kept_answer
            self._answers[key] = _Known(is_as_proposed=unedited, answer=answer, by=decision.by)

    def declared(self) -> Any:
        """Return who has to answer, structurally."""
        inner = declared(self._person)
        return None if inner is None else ["Remember", inner]

    def watch(self, transcript: object) -> Any:
        """Let the person follow the run, if it wants to."""
        return _watch(self.members, transcript)

    def forget(self) -> None:
        """Ask again from now on."""
        self._answers.clear()


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What somebody has said before."""

    is_as_proposed: bool
    answer: Any
    """A copy; None if it was what was proposed."""

    by: str | None


def question_key(call: Call) -> str | None:
    """Return what a memory knows the whole question by; None if it must be asked each time."""
    if _is_empty(call.args):
        return None
    answer_type = call.answer_type
    kind = [type(answer_type).__name__, str(getattr(answer_type, "type", "")), getattr(answer_type, "schema", None)]
    question = print_of([call.kind, call.name, call.message, call.args, call.original, kind])
    return None if question.live else question.digest


def _is_a_persons(decision: Decision, person: Person) -> bool:
    """Whether it is what `person` said, and not a rule or a script among those it asks."""
    return decision.via in ("card", "callback") or decision.via == getattr(person, "via", None)


class AllOf:
    """Needs the approval of every one of several people: four eyes, or six.

    Each is asked a question of their own, at the same time; the call is answered once all have approved the same
    answer, and declined as soon as one says no. Nobody can answer it in their place. The record names all of them.

    Args:
        people: At least two, each of them once.

    Raises:
        UsageError: Fewer than two, or somebody twice.
    """

    via = "callback"

    def __init__(self, *people: Person) -> None:
        if len(people) < 2:
            raise UsageError("`AllOf` needs at least two people. Write `AllOf(first, second)`.")
        twice = _twice(people)
        if twice is not None:
            raise UsageError(
                f"`AllOf` has `{twice!r}` twice, and one person's two clicks are not four eyes. "
                'Write `AllOf(NotebookPerson("Ada"), NotebookPerson("Bob"))`.'
            )
        self._people = people
        self.members = people
        """Whom this asks."""

    async def __call__(self, call: Call) -> None:
        """Collect the approvals; the first refusal decides."""
        names = [_name_of(person) for person in self._people]
        handle = Handle.of(call)
        with handle.turns.put_to_several(" and ".join(names)):
            ballots = [handle.ballot(number, len(names)) for number in range(1, len(names) + 1)]
            try:
                await self._collect(call, ballots)
            finally:
                for ballot in ballots:
                    Handle.of(ballot).close("superseded", "not needed any more")

    async def _collect(self, call: Call, ballots: Sequence[Call]) -> None:
        current = current_asking()
        for ballot in ballots:
            if current is not None:
                current.show(ballot)
        votes = [self._voted(ballots, ballot, person) for ballot, person in zip(ballots, self._people, strict=True)]
        tasks = [asyncio.create_task(vote, name=f"hitl_nb asks for {call.id}") for vote in votes]
        try:
            for done in asyncio.as_completed(tasks):
                if not await done or _refused(call, ballots):
                    return
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if all(ballot.approved for ballot in ballots):
            Handle.of(call).respond_for(ballots[0], by=" and ".join(map(_by, ballots)))

    async def _voted(self, ballots: Sequence[Call], ballot: Call, person: Person) -> bool:
        """Ask one of them; gives False if they passed, which is no approval."""
        if any(each.decided and not each.approved for each in ballots):
            return True  # a no of somebody before, a moment ago
        if not ballot.decided:
            consult(ballot, [person])
        if not ballot.decided:
            with Handle.of(ballot).turns.put_to(person), contained(f"Whoever was asked about `{ballot.name}`"):
                await person(ballot)
        return ballot.decided

    def declared(self) -> Any:
        """Return who has to answer, structurally."""
        inner = declared_all(self._people)
        return None if inner is None else ["AllOf", *inner]

    def watch(self, transcript: object) -> Any:
        """Let the first person who wants to follow the run do so."""
        return _watch(self._people, transcript)


def _refused(call: Call, ballots: Sequence[Call]) -> bool:
    """Decline the call if one of the ballots was refused, or two differ; gives whether it is decided."""
    for ballot in ballots:
        if ballot.decided and not ballot.approved:
            _decline(call, ballot.reason or f"one approver {ballot.outcome}", [ballot])
            return True
    given = [ballot for ballot in ballots if ballot.approved]
    # As they were given, and not by their JSON, in which all secrets are stars.
    answers = {print_of(Handle.of(ballot).kept_answer).digest for ballot in given}
    if len(answers) > 1:
        _decline(call, "the approvers gave different answers", given)
        return True
    return call.decided


def _decline(call: Call, reason: str, ballots: Sequence[Call]) -> None:
    Handle.of(call).close("declined", reason, by=" and ".join(map(_by, ballots)), via="callback")


def _twice(people: Sequence[Person]) -> Person | None:
    """Somebody who is asked twice: the same object, or the same declared person."""
    seen: list[Any] = []
    for person in people:
        who = declared(person)
        # Two functions that say nothing about themselves are two people, unless they are one object.
        if any(person is other or (who is not None and who == known) for other, known in seen):
            return person
        seen.append((person, who))
    return None


class Escalate:
    """Asks `first`, and after a while somebody else.

    Args:
        first: Who is asked at first; its question is closed for it for good when time is up.
        after: Seconds.
        to: Who is asked then; None lets the question expire, which is neither a yes nor a no.
    """

    via = "callback"

    def __init__(self, first: Person, *, after: float, to: Person | None = None) -> None:
        self._first, self._after, self._to = first, after, to
        self.members = (first,)
        """Whom this asks at once."""
        self.later_members = () if to is None else (to,)
        """Whom it asks when time is up."""

    async def __call__(self, call: Call) -> None:
        """Ask, wait, pass on."""
        handle = Handle.of(call)
        later = "Expires" if self._to is None else f"Goes to {_name_of(self._to)}"
        before, handle.deadline = handle.deadline, (datetime.now(UTC) + timedelta(seconds=self._after), later)
        with handle.turns.put_to(self._first, apart=True) as theirs:
            answered = await in_time(self._first(theirs), self._after)
        await handle.settled()
        handle.deadline = before
        if answered or handle.taken:
            return
        if self._to is None:
            handle.expire(f"nobody answered within {self._after:g} s")
            return
        with handle.turns.put_to(self._to, apart=True) as theirs:
            await self._to(theirs)

    def declared(self) -> Any:
        """Return who has to answer, structurally."""
        inner = declared_all(self.members + self.later_members)
        return None if inner is None else ["Escalate", self._after, *inner]

    def watch(self, transcript: object) -> Any:
        """Let those who are asked follow the run, if they want to."""
        return _watch(self.members + self.later_members, transcript)


def _watch(people: Iterable[object], transcript: object) -> Any:
    watching = next((person for person in people if hasattr(person, "watch")), None)
    return nullcontext(False) if watching is None else watching.watch(transcript)


def _name_of(person: object) -> str:
    name = getattr(person, "name", None)
    return name if isinstance(name, str) else getattr(person, "__name__", None) or type(person).__name__


def _by(call: Call) -> str:
    decision = Handle.of(call).decision
    return (decision.by if decision else None) or "somebody"


def _is_empty(args: Any) -> bool:
    if args is None or args == {}:
        return True
    return hasattr(type(args), "model_fields") and not type(args).model_fields
