"""`replay`: a recorded session without its model and its people; asked anything else, it fails and says what."""

import asyncio
import atexit
import importlib.util
import itertools
import logging
import os
from contextlib import ExitStack
from os import PathLike
from typing import Any, Final, Self

from hitl_nb._calls import Call
from hitl_nb._waiting import until_decided
from hitl_nb.errors import InvalidValue, ReplayMismatch, ScriptError
from hitl_nb.people import Person, people_replaced
from hitl_nb.testing._answers import LEFT_OPEN, Clerk
from hitl_nb.testing._case import Answer, Case, Turn, read
from hitl_nb.testing._differences import aligned, difference
from hitl_nb.testing._model import request_of
from hitl_nb.testing._provider import Reply, provider
from hitl_nb.testing._requests import comparable
from hitl_nb.testing._seam import every_model

_log = logging.getLogger("hitl_nb")
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
    and options, same tool, words and arguments. Parallel answers come in the order in which they were given.

    Args:
        path: What `record` has written.

    Raises:
        ReplayMismatch: The model or a person is asked something else; also on leaving the block, if the code inside
            has caught it.
        ScriptError: No such file; or, on leaving the block, something of the case was not used.
        UsageError: Something is being recorded or replayed here already.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._case = Case(turns=[], answers=[])
        self._clerk = Clerk()
        self._used: set[int] = set()
        """Of turns and answers, by `id`: equal ones are not the same one."""
        self._mismatch: ReplayMismatch | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._case = read(self._path)
        with ExitStack() as stack:
            # Without litellm there is no model that could be called through it.
            if self._case.turns or importlib.util.find_spec("litellm") is not None:
                stack.enter_context(every_model(provider(self._reply), alias=lambda _: "case"))
            stack.enter_context(people_replaced(lambda _: [ReplayedPerson(self)]))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *_: object) -> None:
        self._stack.close()
        if self._mismatch is not None and not isinstance(error, ReplayMismatch):
            # Whatever came of it: an agent that catches errors has gone on with something that was never recorded.
            raise self._mismatch from error
        if error is None:
            self.check_all_used()

    def __repr__(self) -> str:
        turns, answers = self._left()
        return f"<replay {self._path}: {len(turns)} turns and {len(answers)} answers left>"

    def check_all_used(self) -> None:
        """Raise `ScriptError` naming the turns and answers that nothing asked for."""
        turns, answers = self._left()
        # What was left open is no answer that could be missed.
        names = [f"turn {self._case.turns.index(turn) + 1} ({_begin(turn)})" for turn in turns]
        names += [f"the answer to `{answer.tool}` ({answer.call})" for answer in answers]
        if names:
            raise ScriptError(f"`{self._path}` was not replayed to its end; unused: {', '.join(names)}. {self._again}")

    def _left(self) -> tuple[list[Turn], list[Answer]]:
        turns = [turn for turn in self._case.turns if id(turn) not in self._used]
        answers = [answer for answer in self._case.answers if id(answer) not in self._used]
        return turns, [answer for answer in answers if answer.outcome not in LEFT_OPEN]

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
        left = [turn for turn in self._case.turns if id(turn) not in self._used]
        found = next((turn for turn in left if aligned(turn.request, request) == turn.request), None)
        if found is not None:
            self._used.add(id(found))
            return found
        if not left:
            shown = difference({}, {"messages": request["messages"][-1:]}, self._path, "now")
            count = len(self._case.turns)
            raise self._differs(f"The model is asked once more than the {count} times of `{self._path}`:", shown)
        number = self._case.turns.index(left[0]) + 1
        shown = difference(left[0].request, request, f"{self._path}, turn {number}", "now")
        raise self._differs(f"The model is asked something else than in turn {number} of `{self._path}`:", shown)

    # -- the people ---------------------------------------------------------------------------------------

    async def _answer(self, call: Call) -> None:
        answer = self._answer_to(call)
        if answer.outcome in LEFT_OPEN:
            await until_decided(call)
            return
        await self._in_turn(answer)
        try:
            self._clerk.decide(call, answer)
        except (InvalidValue, ScriptError) as error:
            raise self._differs(
                f"`{call.name}` ({call.id}) cannot be answered as in `{self._path}`: {error}."
            ) from error

    def _answer_to(self, call: Call) -> Answer:
        question = self._clerk.question(call)
        left = [answer for answer in self._case.answers if id(answer) not in self._used]
        equal = [answer for answer in left if aligned(_question(answer), question) == _question(answer)]
        if equal:
            # Of equal questions each has its own answer, in whatever order they were decided.
            found = next((answer for answer in equal if answer.call == call.id), equal[0])
            if found.outcome in LEFT_OPEN:
                self._used.add(id(found))
            return found
        same_tool = next((answer for answer in left if answer.tool == call.name), None)
        if same_tool is None:
            shown = difference({}, question, self._path, "now")
            raise self._differs(f"`{self._path}` has no answer left to a question of `{call.name}`:", shown)
        shown = difference(_question(same_tool), question, f"{self._path}, {same_tool.call}", "now")
        raise self._differs(f"`{call.name}` asks something else than in `{self._path}`:", shown)

    async def _in_turn(self, answer: Answer) -> None:
        before = self._case.answers[: self._case.answers.index(answer)]
        for _ in range(round(_PATIENCE / _TICK)):
            waiting = [each for each in before if id(each) not in self._used and each.outcome not in LEFT_OPEN]
            if not waiting:
                self._used.add(id(answer))
                return
            await asyncio.sleep(_TICK)
        first = waiting[0]
        raise self._differs(
            f"`{answer.tool}` was answered after `{first.tool}` ({first.call}) in `{self._path}`, which is not asked now."
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

    def __repr__(self) -> str:
        return f"<ReplayedPerson of {self._case!r}>"


def from_variable(file: str) -> Person:
    """Replay `file` for the rest of this process (``HITL_NB_PEOPLE=replay:<file>``); gives who answers."""
    case = replay(file).__enter__()
    atexit.register(_report, case)
    return ReplayedPerson(case)


def _report(case: replay) -> None:
    try:
        case.check_all_used()
    except ScriptError as error:
        _log.error("%s", error)


def _question(answer: Answer) -> dict[str, Any]:
    return {"tool": answer.tool, "question": answer.question, "args": answer.args}


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

    Mismatch.__name__ = "ReplayMismatch"
    return Mismatch()
