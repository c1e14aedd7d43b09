"""Code that misbehaves, wherever this package calls it: each case ends once, in words, with the loop alive, unapproved.

Places × attacks: every place in which code of the user's runs meets everything that code can raise, and a tool every
value that it can give back.
"""

import asyncio
import json
import logging
import threading
from typing import Annotated, Any

import ipywidgets
import pytest
from ag_ui.core import Interrupt
from pydantic import AfterValidator, BaseModel

from hitl_nb import Session, approve, frontend_tool, gate, human_in_the_loop, interrupt, on_interrupt
from hitl_nb._limits import ANSWER, WORDS
from hitl_nb._schema import MISSING
from hitl_nb._tools import ToolBox
from hitl_nb.cards import Card
from hitl_nb.errors import HitlError, RunStopped
from hitl_nb.people import AllOf, Policy, allow, deny
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import AtTheDesk, Desk, opened

LOGGED = 60_000
"""Characters that one case may log, tracebacks and all."""


# -- what code can raise ------------------------------------------------------------------------------------------


class Beyond(BaseException):
    """No `Exception`, and none of Python's own."""


class Wordless(Exception):  # noqa: N818 - its kind
    def __str__(self) -> str:
        raise SystemExit("even the words")

    __repr__ = __str__


def endless_calls(_: Any = None) -> None:
    endless_calls()


def of_many_words() -> BaseException:
    return RuntimeError("x" * 1_000_000)


RAISED: dict[str, Any] = {
    "an error": lambda: RuntimeError("oops"),
    "sys.exit()": lambda: SystemExit(3),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "CancelledError": asyncio.CancelledError,
    "StopAsyncIteration": StopAsyncIteration,
    "TimeoutError": TimeoutError,
    "MemoryError": MemoryError,
    "a BaseException": lambda: Beyond("beyond"),
    "an error without words": Wordless,
    "an error of a million characters": of_many_words,
    "endless recursion": endless_calls,
    "a group": lambda: BaseExceptionGroup("both", [SystemExit(1), ValueError("x")]),
}


def thrower(attack: str) -> Any:
    def throw(*_: Any, **__: Any) -> Any:
        raise RAISED[attack]()

    return throw


# -- where it can be ----------------------------------------------------------------------------------------------

Ran = list[str]


async def _yes(call: Any) -> None:
    call.respond(True if call.proposal is MISSING else call.proposal)


async def _run(tools: Any, people: Any, name: str, **args: Any) -> tuple[str, list[Any]]:
    """Let a model call the tool once; gives what it is told, and the calls."""
    agent = ScriptedAgent([calls(name, **args), says("ok")])
    reply = await Session(agent, tools=tools, people=people, journal=None).run("go")
    assert reply.text == "ok"
    [told] = agent.results(1).values()
    return told, reply.calls


async def in_a_tool(throw: Any) -> None:
    @frontend_tool
    def tool() -> str:
        """Throw."""
        return str(throw())

    told, _ = await _run([tool], [_yes], "tool")
    assert told.startswith("Error: ")
    assert len(told) < 2 * WORDS


async def in_an_async_tool(throw: Any) -> None:
    @frontend_tool
    async def tool() -> str:
        """Throw."""
        await asyncio.sleep(0)
        return str(throw())

    told, _ = await _run([tool], [_yes], "tool")
    assert told.startswith("Error: ")


async def in_an_approved_gate(throw: Any) -> None:
    @gate
    def tool() -> str:
        """Throw."""
        return str(throw())

    told, [call] = await _run([tool], [_yes], "tool")
    assert told.startswith("Error: ")
    assert call.approved


async def in_when_of_a_gate(throw: Any) -> None:
    ran: Ran = []

    @gate(when=throw)
    def tool() -> str:
        """Do."""
        ran.append("ran")
        return "done"

    asked = []

    async def no(call: Any) -> None:
        asked.append(call)
        call.decline("no")

    await _run([tool], [no], "tool")
    assert (ran, len(asked)) == ([], 1)


async def _by_rule(rule: Any) -> None:
    ran, asked = [], []

    @gate
    def tool() -> str:
        """Do."""
        ran.append("ran")
        return "done"

    async def no(call: Any) -> None:
        asked.append(call)
        call.decline("no")

    await _run([tool], [Policy(rule), no], "tool")
    assert (ran, len(asked)) == ([], 1)


async def in_when_of_allow(throw: Any) -> None:
    await _by_rule(allow("tool", when=throw))


async def in_when_of_deny(throw: Any) -> None:
    await _by_rule(deny("tool", when=throw))


async def in_answer_of_allow(throw: Any) -> None:
    await _by_rule(allow("tool", answer=throw))


async def _ask_for(people: Any) -> None:
    ran: Ran = []

    @gate
    def tool() -> str:
        """Do."""
        ran.append("ran")
        return "done"

    session = Session(ScriptedAgent([calls("tool"), says("ok")]), tools=[tool], people=people, journal=None)
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - which, is what is looked at
        await session.run("go")
    assert isinstance(caught.value, Exception | asyncio.CancelledError)
    assert ran == []
    assert not session.pending
    session.messages  # noqa: B018 - the thread is there still
    assert (await Session(ScriptedAgent([says("ok")]), journal=None).run("go")).text == "ok"


async def in_a_person(throw: Any) -> None:
    async def person(call: Any) -> None:
        throw()

    await _ask_for([person])


async def in_one_of_several_people(throw: Any) -> None:
    async def person(call: Any) -> None:
        throw()

    await _ask_for([AllOf(person, _yes)])


async def in_who_is_asked_by_a_cell(throw: Any) -> None:
    async def person(call: Any) -> None:
        throw()

    with pytest.raises(BaseException) as caught:  # noqa: PT011
        assert not await approve("Drop?", people=person)
    assert isinstance(caught.value, Exception | asyncio.CancelledError)


async def in_a_check_of_the_arguments(throw: Any) -> None:
    class Order(BaseModel):
        amount: Annotated[int, AfterValidator(lambda value: throw())]

    asked: Ran = []

    @human_in_the_loop
    def tool(order: Order) -> bool:
        """Do."""

    async def person(call: Any) -> None:
        asked.append("asked")

    told, _ = await _run([tool], [person], "tool", order={"amount": 1})
    assert "invalid arguments" in told
    assert asked == []


async def in_a_check_of_the_answer(throw: Any) -> None:
    @human_in_the_loop(answer=Annotated[int, AfterValidator(lambda value: throw())])
    def tool() -> object:
        """Do."""

    async def person(call: Any) -> None:
        with pytest.raises(HitlError):
            call.respond(3)
        call.decline("cannot")

    _, [call] = await _run([tool], [person], "tool")
    assert call.outcome == "declined"


async def in_a_subscriber(throw: Any) -> None:
    session = Session(ScriptedAgent([says("ok")]), journal=None)
    session.subscribe(throw)
    assert (await session.run("go")).text == "ok"


async def in_an_observer_of_a_call(throw: Any) -> None:
    @human_in_the_loop
    def tool() -> bool:
        """Do."""

    async def person(call: Any) -> None:
        call.observe(lambda _: throw(), names=["outcome"])
        call.respond(True)

    told, [call] = await _run([tool], [person], "tool")
    assert (told, call.outcome) == ("true", "answered")


async def in_enabled_of_on_interrupt(throw: Any) -> None:
    box = ToolBox([], [on_interrupt(enabled=throw)])
    assert box.handler_of(Interrupt(id="i", reason="r")) is None


async def in_the_props_of_a_card(throw: Any) -> None:
    class Bad(Card):
        module = "approval"

        def props(self) -> dict[str, Any]:
            return dict(throw())

    with opened({"a": 1}, render=Bad) as call:
        desk = Desk(call)
        assert desk.item["card"] == "plain"
        assert "cannot show" in desk.item["warning"]
        assert len(desk.item["warning"]) < 2 * WORDS
    Bad.module = "approval"


async def in_a_render(throw: Any) -> None:
    from hitl_nb._calls import Handle
    from tests.unit.cards.test_door import Screen, shown

    with pytest.MonkeyPatch.context() as patch:
        screen = Screen(patch)
        try:
            with opened({"a": 1}, render=throw) as call:
                shown(screen, call)
                with Handle.of(call).turns.put_to(AtTheDesk(None)):
                    item = await screen.item()
                    assert "Its `render` failed" in item["warning"]
                    assert not call.decided
        finally:
            screen.view.close()
            ipywidgets.Widget.close_all()


PLACES = {
    name.replace("_", " "): place
    for name, place in list(globals().items())
    if name.startswith("in_") and callable(place)
}


@pytest.mark.parametrize("attack", RAISED)
@pytest.mark.parametrize("place", PLACES)
async def test_whatever_code_raises_ends_once_in_words_and_approves_nothing(place, attack, caplog):
    caplog.set_level(logging.DEBUG, "hitl_nb")
    throw = thrower(attack)
    stops, before = attack == "KeyboardInterrupt", asyncio.current_task().cancelling()
    try:
        await asyncio.wait_for(PLACES[place](throw), 20)
    except (RunStopped, asyncio.CancelledError):
        assert stops, "only a stop looks like a stop"
    assert asyncio.current_task().cancelling() == before
    await asyncio.sleep(0)  # the loop goes on
    assert sum(len(caplog.handler.format(record)) for record in caplog.records) < LOGGED


# -- what a tool can give back ------------------------------------------------------------------------------------


class Unprintable:
    def __repr__(self) -> str:
        raise SystemExit

    __str__ = __repr__


class Undecided:
    """Raises wherever it is compared or asked."""

    def __eq__(self, other: object) -> bool:
        raise Beyond

    def __bool__(self) -> bool:
        raise Beyond

    def __len__(self) -> int:
        raise Beyond

    __hash__ = None  # type: ignore[assignment]


def itself() -> Any:
    value: list[Any] = [1]
    value.append(value)
    return value


def each_other() -> Any:
    one: dict[str, Any] = {}
    one["other"] = {"one": one, "again": one}
    return one


def deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def forever() -> Any:
    while True:
        yield 1


GIVEN: dict[str, Any] = {
    "an object": object,
    "a function": lambda: print,
    "a lock": threading.Lock,
    "itself": itself,
    "each other": each_other,
    "5,000 levels": lambda: deep(5_000),
    "150 levels": lambda: deep(150),
    "an endless generator": forever,
    "an endless generator inside": lambda: {"rows": [forever()]},
    "an async generator": lambda: (x async for x in _none()),
    "a text too long": lambda: "x" * (ANSWER + 1),
    "a list too long": lambda: ["x" * 1_000] * (ANSWER // 1_000),
    "what cannot be printed": Unprintable,
    "what cannot be compared": Undecided,
    "a class": lambda: int,
    "bytes that are no text": lambda: b"\xff\xfe",
}


async def _none() -> Any:
    for x in ():
        yield x


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("made", [frontend_tool, gate], ids=["tool", "gate"])
async def test_whatever_a_tool_gives_back_the_model_is_told_once(made, given, caplog):
    def tool():
        """Do."""
        return GIVEN[given]()

    told, _ = await asyncio.wait_for(_run([made(tool)], [_yes], "tool"), 20)
    assert told.startswith("Error: ")
    assert len(told) < 2 * WORDS
    assert sum(len(caplog.handler.format(record)) for record in caplog.records) < LOGGED


@pytest.mark.parametrize("given", GIVEN)
async def test_whatever_a_person_answers_is_taken_or_refused_in_words(given):
    @human_in_the_loop
    def tool() -> object:
        """Do."""

    async def person(call: Any) -> None:
        with pytest.raises(HitlError) as caught:
            call.respond(GIVEN[given]())
        assert len(str(caught.value)) < 2 * WORDS
        call.decline("cannot")

    _, [call] = await asyncio.wait_for(_run([tool], [person], "tool"), 20)
    assert call.outcome == "declined"


@pytest.mark.parametrize("given", GIVEN)
async def test_whatever_a_question_of_code_is_about_is_asked_or_refused_in_words(given, caplog):
    """And drawn: what has no form is there to look at, or said to be too much."""
    seen = []

    def look(desk: Desk) -> None:
        seen.append(json.dumps(desk.item))
        desk.call.decline("no")

    try:
        await asyncio.wait_for(interrupt("Go on?", payload=GIVEN[given](), people=AtTheDesk(look)), 20)
    except HitlError as error:
        assert len(str(error)) < 2 * WORDS  # noqa: PT017 - either is fine
    assert sum(len(caplog.handler.format(record)) for record in caplog.records) < LOGGED
    assert all(len(each) < 3 * ANSWER for each in seen)


async def test_a_tool_that_starts_threads_and_tasks_leaves_the_run_alone():
    done = threading.Event()

    def fail() -> None:
        done.set()
        endless_calls()

    @frontend_tool
    async def tool() -> str:
        """Do."""
        threading.Thread(target=fail, daemon=True).start()
        asyncio.get_running_loop().create_task(asyncio.sleep(0))
        return "started"

    old, threading.excepthook = threading.excepthook, lambda _: None
    try:
        told, _ = await _run([tool], [_yes], "tool")
        done.wait(5)
    finally:
        threading.excepthook = old
    assert told == "started"
