"""People made of people: remember what was approved, need two, pass on after a while."""

import asyncio
from contextlib import nullcontext
from typing import Any, cast

from hitl_nb._calls import Call, Kind
from hitl_nb._encoding import fingerprint
from hitl_nb._transcript import CallEntry
from hitl_nb.errors import UsageError
from hitl_nb.people._asking import current_asking
from hitl_nb.people._person import Person


class Remember:
    """Asks `person`, and answers the same call with the same arguments from memory afterwards.

    Bound to tool *and* arguments, for as long as this object lives; a call without arguments is always asked, since
    a yes to "do it" says nothing about the next one. Refusals are not remembered.

    Args:
        person: Who is asked the first time.
    """

    via = "policy"

    def __init__(self, person: Person) -> None:
        self._person = person
        self._answers: dict[tuple[str, str], tuple[Any, str]] = {}

    async def __call__(self, call: Call) -> None:
        """Answer from memory, or ask and remember an approval."""
        key = (call.name, fingerprint(call.args))
        if key in self._answers:
            answer, by = self._answers[key]
            call.respond(answer, by=f"remembered from {by}", via="policy")
            return
        call._is_put_to(self._person)
        await self._person(call)
        if call.approved and not _is_empty(call.args):
            self._answers[key] = (call.answer, _by(call))

    def watch(self, transcript: Any) -> Any:
        """Let the person follow the run, if it wants to."""
        return _watch(self._person, transcript)

    def forget(self) -> None:
        """Ask again from now on."""
        self._answers.clear()


class AllOf:
    """Needs the approval of every one of several people: four eyes, or six.

    Each is asked a question of its own; the call is answered once all have approved the same answer, and declined as
    soon as one says no. The record names all of them.

    Args:
        people: At least two.
    """

    via = "callback"

    def __init__(self, *people: Person) -> None:
        if len(people) < 2:
            raise UsageError("`AllOf` needs at least two people. Write `AllOf(first, second)`.")
        self._people = people

    async def __call__(self, call: Call) -> None:
        """Collect the approvals, one after the other; the first refusal decides."""
        ballots: list[Call] = []
        for number, person in enumerate(self._people, 1):
            ballot = _ballot(call, number, len(self._people))
            current = current_asking()
            if current is not None:
                current.transcript.add(CallEntry(key=ballot.id, call=ballot))
            ballot._is_put_to(person)
            await person(ballot)
            if not ballot.decided:
                ballot.cancel("not answered")
                return
            if not ballot.approved:
                call.decline(ballot.reason or f"one approver {_outcome(ballot)}", by=_by(ballot))
                return
            ballots.append(ballot)
            if ballots[0].result != ballot.result:
                call.decline("the approvers gave different answers", by=" and ".join(map(_by, ballots)))
                return
        call.respond(ballots[0].answer, edits=ballots[0].edits, by=" and ".join(map(_by, ballots)))

    def watch(self, transcript: Any) -> Any:
        """Let the first person who wants to follow the run do so."""
        watching = next((person for person in self._people if hasattr(person, "watch")), None)
        return _watch(watching, transcript)


class Escalate:
    """Asks `first`, and after a while somebody else.

    Args:
        first: Who is asked at first; its question is closed for it when time is up.
        after: Seconds.
        to: Who is asked then; None lets the question expire, which is neither a yes nor a no.
    """

    via = "callback"

    def __init__(self, first: Person, *, after: float, to: Person | None = None) -> None:
        self._first, self._after, self._to = first, after, to

    async def __call__(self, call: Call) -> None:
        """Ask, wait, pass on."""
        call._is_put_to(self._first)
        try:
            async with asyncio.timeout(self._after) as limit:
                await self._first(call)
        except TimeoutError:
            if not limit.expired():
                raise
            if call.decided:
                return
            if self._to is None:
                call._refuse("expired", f"nobody answered within {self._after:g} s", via="timeout")
                return
            call._is_put_to(self._to)
            await self._to(call)

    def watch(self, transcript: Any) -> Any:
        """Let the first person follow the run, if it wants to."""
        return _watch(self._first, transcript)


def _watch(person: Any, transcript: Any) -> Any:
    return person.watch(transcript) if hasattr(person, "watch") else nullcontext(False)


def _ballot(call: Call, number: int, of: int) -> Call:
    ballot = Call(
        id=f"{call.id}#{number}",
        name=call.name,
        kind=cast("Kind", call.kind),
        message=f"{call.message} (approval {number} of {of})".strip(),
        answer_type=call.answer_type,
        args_type=call.args_type,
        render=call.render,
        thread_id=call.thread_id,
        run_id=call.run_id,
    )
    ballot.proposal = call.proposal
    ballot._open(call.args)
    return ballot


def _outcome(call: Call) -> str:
    decision = call._decision
    return decision.outcome if decision else "did not answer"


def _by(call: Call) -> str:
    decision = call._decision
    return (decision.by if decision else None) or "somebody"


def _is_empty(args: Any) -> bool:
    if args is None or args == {}:
        return True
    return hasattr(type(args), "model_fields") and not type(args).model_fields
