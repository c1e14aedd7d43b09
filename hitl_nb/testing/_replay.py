"""`replay`: a recorded session without its model and its people; asked anything else, it fails and says what."""

import asyncio
import itertools
import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from difflib import unified_diff
from os import PathLike
from typing import Any, Final, Self

from hitl_nb._calls import Call, fingerprint
from hitl_nb._schema import NAMES
from hitl_nb._secrets import MASK, masked
from hitl_nb._waiting import until_decided
from hitl_nb.errors import InvalidValue, ReplayMismatch, ScriptError
from hitl_nb.journal import Journal, default_journal
from hitl_nb.people import people_replaced
from hitl_nb.testing._case import LEFT_OPEN, Answer, Case, DecisionCodec, Exchange, comparable, learn_calls, read
from hitl_nb.testing._model import ModelReply, as_request, every_model, has_litellm, provider, the_litellm

_numbers = itertools.count(1)

_PATIENCE: Final = 10.0
"""Seconds that an answer waits for those that were given before it."""
_TICK: Final = 0.01


class Replay:
    """A recorded session that answers, while its block runs; `replay` makes it."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = _as_written(os.fspath(path))
        self._case = Case(turns=[], answers=[])
        self._codec = DecisionCodec()
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
        names = [f"turn {number + 1} ({_first_words(turn)})" for number, turn in turns.items()]
        names += [f"the answer to `{answer.tool}` ({answer.call})" for answer in answers.values()]
        if names:
            raise ScriptError(f"`{self._path}` was not replayed to its end; unused: {', '.join(names)}. {self._again}")

    def _left(self) -> tuple[dict[int, Exchange], dict[int, Answer]]:
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

    def _reply(self, model: str, messages: Sequence[object], options: dict[str, Any]) -> ModelReply:
        try:
            turn = self._turn(comparable(as_request(messages, options)))
        except ReplayMismatch as mismatch:
            raise _as_litellm_error(mismatch) from None
        return ModelReply(
            message_id=f"replayed-{next(_numbers)}", parts=turn.parts, finish=turn.finish, thoughts=turn.thoughts
        )

    def _turn(self, request: dict[str, Any]) -> Exchange:
        left, _ = self._left()
        learn_calls(None, request)
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
            self._codec.decide(call, answer)
        except (InvalidValue, ScriptError) as error:
            raise self._differs(
                f"`{call.name}` ({call.id}) cannot be answered as in `{self._path}`: {error}."
            ) from error

    def _place_of(self, call: Call) -> int:
        """Where the answer to a call stands."""
        question = self._codec.question(call)
        left = {place: answer for place, answer in enumerate(self._case.answers) if place not in self._taken}
        equal = [place for place, it in left.items() if aligned(_asked_in(it), question) == _asked_in(it)]
        if equal:
            # Of equal questions the one that was asked first, in whatever order they were decided.
            return min(equal, key=lambda place: _number(left[place]))
        same_tool = next((answer for answer in left.values() if answer.tool == call.name), None)
        if same_tool is None:
            shown = difference({}, question, self._path, "now")
            raise self._differs(f"`{self._path}` has no answer left to a question of `{call.name}`:", shown)
        shown = difference(_asked_in(same_tool), question, f"{self._path}, {same_tool.call}", "now")
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


def replay(path: str | PathLike[str]) -> Replay:
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
    return Replay(path)


class ReplayedPerson:
    """Answers as somebody did when the case was recorded."""

    via = "replay"

    def __init__(self, case: Replay) -> None:
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


def _asked_in(answer: Answer) -> dict[str, object]:
    return {"tool": answer.tool, "question": answer.question, "args": answer.args}


def _number(answer: Answer) -> tuple[str, int]:
    kind, _, number = answer.call.rpartition("_")
    return kind, int(number)


def _first_words(turn: Exchange) -> str:
    last = turn.request["messages"][-1] if turn.request["messages"] else {}
    return f"after {str(last.get('content') or last)[:40]!r}"


def _as_litellm_error(mismatch: ReplayMismatch) -> Exception:
    """Return the mismatch as an error that litellm hands on as it is, and does not try again after."""
    bad_request: Any = the_litellm("A replayed model").BadRequestError

    class Mismatch(ReplayMismatch, bad_request):  # type: ignore[misc]  # litellm is untyped
        __qualname__ = "ReplayMismatch"
        __module__ = ReplayMismatch.__module__

        def __init__(self) -> None:
            bad_request.__init__(self, message=str(mismatch), model="case", llm_provider="recorded")
            self.args = mismatch.args
            self.diff = mismatch.diff

        def __str__(self) -> str:
            return str(mismatch)

        def __repr__(self) -> str:
            return repr(mismatch)

    Mismatch.__name__ = "ReplayMismatch"
    return Mismatch()


# -- what differs, for a reader in a terminal ----------------------------------------------------------------------

_LONGEST: Final = 60
"""Lines of a difference that are shown."""


def aligned(recorded: object, live: object) -> object:
    """Return `live` with the stars of `recorded` wherever a secret may have stood there."""
    if isinstance(recorded, str) and MASK in recorded:
        return recorded if _may_be(recorded, live) else live
    if isinstance(recorded, dict) and isinstance(live, dict):
        return {name: aligned(recorded.get(name), part) for name, part in live.items()}
    if isinstance(recorded, list) and isinstance(live, list):
        rest = [*recorded, *[None] * len(live)]
        return [aligned(*pair) for pair in zip(rest, live, strict=False)]
    return live


def _may_be(recorded: str, live: object) -> bool:
    text = live if isinstance(live, str) else json.dumps(live, ensure_ascii=False)
    if re.fullmatch(".*".join(map(re.escape, recorded.split(MASK))), text, re.DOTALL):
        return True
    try:
        # JSON inside of JSON is spaced anew where a secret is taken out.
        inside = json.loads(recorded)
        return bool(aligned(inside, json.loads(text)) == inside)
    except ValueError:
        return False


def difference(recorded: object, live: object, before: str, now: str) -> str:
    """Return a unified difference of two pieces of plain JSON; empty if there is none."""
    hidden = NAMES.hide(aligned(recorded, live), [])  # type: ignore[arg-type]  # plain JSON
    old, new = list(_lines_of(recorded)), list(_lines_of(hidden))
    found = [masked(line) for line in unified_diff(old, new, before, now, lineterm="", n=2)]
    more = [f"… {len(found) - _LONGEST} more lines"] if len(found) > _LONGEST else []
    return "\n".join([*found[:_LONGEST], *more])


def _lines_of(value: object, indent: str = "") -> Iterator[str]:
    """One value a line, without indices: an entry more in front does not move the rest."""
    if isinstance(value, dict):
        for name in sorted(value, key=str):
            yield from _entry(f"{indent}{name}:", value[name], indent + "  ")
    elif isinstance(value, list):
        for part in value:
            yield from _entry(f"{indent}-", part, indent + "  ")
    else:
        yield from _entry(indent, value, indent)


def _entry(head: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield head
        yield from _lines_of(value, indent)
    elif isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}{line}" for line in value.split("\n"))
    else:
        yield f"{head} {json.dumps(value, ensure_ascii=False)}"
