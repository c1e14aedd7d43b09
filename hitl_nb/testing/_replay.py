"""`replay`: a recorded session without its model and its people; asked anything else, it fails and says what."""

import asyncio
import itertools
import os
from contextlib import ExitStack
from os import PathLike
from typing import Any, Final, Self

from hitl_nb._calls import Call, fingerprint
from hitl_nb._waiting import until_decided
from hitl_nb.errors import InvalidValue, ReplayMismatch, ScriptError
from hitl_nb.journal import Journal, default_journal
from hitl_nb.people import people_replaced
from hitl_nb.testing._answers import LEFT_OPEN, Clerk
from hitl_nb.testing._case import Answer, Case, Turn, read
from hitl_nb.testing._differences import aligned, difference
from hitl_nb.testing._model import request_of
from hitl_nb.testing._provider import Reply, has_litellm, provider
from hitl_nb.testing._requests import comparable
from hitl_nb.testing._seam import every_model

_numbers = itertools.count(1)

_PATIENCE: Final = 10.0
"""Seconds that an answer waits for those that were given before it."""
_TICK: Final = 0.01


class replay:  # noqa: N801 - a verb, used as `with replay(...)`
    """Answer every model and every question in this process from a recorded case.

    ::

        with replay("case.json"):
            await Session(PlanFlow, tools=[generate_task_steps]).run("Plan a trip to Mars")

    Nothing leaves the machine: no model is called, nobody is asked, whatever the names of models are and whoever
    ``people=`` names. The model and each question find what was recorded for exactly the same: same messages, tools
    and options, same tool, words and arguments. Parallel answers come in the order in which they were given. Nothing
    is written into the default journal, and decisions that stick there (``key=``) are taken from the case instead.

    Args:
        path: What `record` has written.

    Raises:
        ReplayMismatch: The model or a person is asked something else; also on leaving the block, if the code inside
            has caught it.
        ScriptError: No such file; or, on leaving the block, something of the case was not used.
        UsageError: Something is being recorded or replayed here already.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = _as_written(os.fspath(path))
        self._case = Case(turns=[], answers=[])
        self._clerk = Clerk()
        self._played: set[int] = set()
        """Which turns."""
        self._taken: set[int] = set()
        """Which answers have found their question."""
        self._given: set[int] = set()
        """Which answers were given, or cannot be."""
        self._mismatch: ReplayMismatch | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._case = read(self._path)
        with ExitStack() as stack:
            if self._case.turns or has_litellm():  # else there is no model that could be called
                stack.enter_context(every_model(provider(self._reply), alias=lambda _: "case"))
            stack.enter_context(people_replaced(lambda _: [ReplayedPerson(self)]))
            # What is replayed is no decision of anybody's: it neither enters the record nor is found there.
            stack.enter_context(default_journal(Journal("memory")))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self._stack.close()
        gone_on = error is None or (isinstance(error, Exception) and not isinstance(error, ReplayMismatch))
        if self._mismatch is not None and gone_on:
            # Whatever came of it: an agent that catches errors has gone on with something that was never recorded.
            raise self._mismatch from error
        if error is None:
            self.check_all_used()

    def __repr__(self) -> str:
        turns, answers = self._left()
        return f"<replay {self._path}: turns left: {len(turns)}, answers left: {len(answers)}>"

    def check_all_used(self) -> None:
        """Raise `ScriptError` naming the turns and answers that nothing asked for."""
        turns, answers = self._left()
        names = [f"turn {number + 1} ({_begin(turn)})" for number, turn in turns.items()]
        names += [f"the answer to `{answer.tool}` ({answer.call})" for answer in answers.values()]
        if names:
            raise ScriptError(f"`{self._path}` was not replayed to its end; unused: {', '.join(names)}. {self._again}")

    def _left(self) -> tuple[dict[int, Turn], dict[int, Answer]]:
        """What nothing has asked for, by its place; a question that was left open has no answer to miss."""
        turns = {place: turn for place, turn in enumerate(self._case.turns) if place not in self._played}
        answers = {
            place: answer
            for place, answer in enumerate(self._case.answers)
            if place not in self._taken and answer.outcome not in LEFT_OPEN
        }
        return turns, answers

    @property
    def _again(self) -> str:
        return f"If this is meant, record it again: `with record({self._path!r}): ...`."

    def _differs(self, what: str, shown: str = "") -> ReplayMismatch:
        text = f"{what}\n{shown}\n{self._again}" if shown else f"{what} {self._again}"
        mismatch = ReplayMismatch(text, shown)
        self._mismatch = self._mismatch or mismatch
        return mismatch

    # -- the model ----------------------------------------------------------------------------------------

    def _reply(self, model: str, messages: Any, options: dict[str, Any]) -> Reply:
        try:
            turn = self._turn(comparable(request_of(messages, options)))
        except ReplayMismatch as mismatch:
            raise _as_litellm_error(mismatch) from None
        return Reply(message_id=f"replayed-{next(_numbers)}", parts=turn.parts, finish=turn.finish)

    def _turn(self, request: dict[str, Any]) -> Turn:
        left, _ = self._left()
        for place, turn in left.items():
            if aligned(turn.request, request) == turn.request:
                self._played.add(place)
                return turn
        if not left:
            shown = difference({}, {"messages": request["messages"][-1:]}, self._path, "now")
            count = len(self._case.turns)
            raise self._differs(f"The model is asked once more than the {count} times of `{self._path}`:", shown)
        place, turn = next(iter(left.items()))
        shown = difference(turn.request, request, f"{self._path}, turn {place + 1}", "now")
        raise self._differs(f"The model is asked something else than in turn {place + 1} of `{self._path}`:", shown)

    # -- the people ---------------------------------------------------------------------------------------

    async def _answer(self, call: Call) -> None:
        place = self._place_of(call)
        self._taken.add(place)
        answer = self._case.answers[place]
        if answer.outcome in LEFT_OPEN:
            await until_decided(call)
            return
        await self._in_turn(place)
        try:
            self._clerk.decide(call, answer)
        except (InvalidValue, ScriptError) as error:
            raise self._differs(
                f"`{call.name}` ({call.id}) cannot be answered as in `{self._path}`: {error}."
            ) from error

    def _place_of(self, call: Call) -> int:
        """Where the answer to a call stands."""
        question = self._clerk.question(call)
        left = {place: answer for place, answer in enumerate(self._case.answers) if place not in self._taken}
        equal = [place for place, it in left.items() if aligned(_question(it), question) == _question(it)]
        if equal:
            # Of equal questions the one that was asked first, in whatever order they were decided.
            return min(equal, key=lambda place: _number(left[place]))
        same_tool = next((answer for answer in left.values() if answer.tool == call.name), None)
        if same_tool is None:
            shown = difference({}, question, self._path, "now")
            raise self._differs(f"`{self._path}` has no answer left to a question of `{call.name}`:", shown)
        shown = difference(_question(same_tool), question, f"{self._path}, {same_tool.call}", "now")
        raise self._differs(f"`{call.name}` asks something else than in `{self._path}`:", shown)

    async def _in_turn(self, place: int) -> None:
        for _ in range(round(_PATIENCE / _TICK)):
            before = [it for it in range(place) if it not in self._given]
            waiting = [self._case.answers[it] for it in before if self._case.answers[it].outcome not in LEFT_OPEN]
            if not waiting:
                self._given.add(place)
                return
            await asyncio.sleep(_TICK)
        raise self._differs(
            f"`{self._case.answers[place].tool}` was answered after `{waiting[0].tool}` ({waiting[0].call}) in "
            f"`{self._path}`, and that is not asked now."
        )


class ReplayedPerson:
    """Answers as somebody did when the case was recorded."""

    via = "replay"

    def __init__(self, case: replay) -> None:
        self._case = case

    async def __call__(self, call: Call) -> None:
        """Answer the call.

        Raises:
            ReplayMismatch: This was not asked.
        """
        await self._case._answer(call)

    def declared(self) -> list[str]:
        """Say who this is, for decisions that are recalled: the same recorded session is the same person."""
        return ["ReplayedPerson", fingerprint(self._case._case.plain())]

    def __repr__(self) -> str:
        return f"<ReplayedPerson of {self._case!r}>"


def _as_written(path: str) -> str:
    """Short, where it is below the working directory: it stands in every message."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _question(answer: Answer) -> dict[str, Any]:
    return {"tool": answer.tool, "question": answer.question, "args": answer.args}


def _number(answer: Answer) -> tuple[str, int]:
    kind, _, number = answer.call.rpartition("_")
    return kind, int(number)


def _begin(turn: Turn) -> str:
    last = turn.request["messages"][-1] if turn.request["messages"] else {}
    return f"after {str(last.get('content') or last)[:40]!r}"


def _as_litellm_error(mismatch: ReplayMismatch) -> Exception:
    """Give the mismatch as an error that litellm hands on as it is, and does not try again after."""
    import litellm

    class Mismatch(ReplayMismatch, litellm.BadRequestError):  # type: ignore[misc]  # litellm is untyped
        __qualname__ = "ReplayMismatch"
        __module__ = ReplayMismatch.__module__

        def __init__(self) -> None:
            litellm.BadRequestError.__init__(self, message=str(mismatch), model="case", llm_provider="recorded")
            self.args = mismatch.args
            self.diff = mismatch.diff

        def __str__(self) -> str:
            return str(mismatch)

        def __repr__(self) -> str:
            return repr(mismatch)

    Mismatch.__name__ = "ReplayMismatch"
    return Mismatch()
