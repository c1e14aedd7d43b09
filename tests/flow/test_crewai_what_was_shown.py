"""An approved tool runs with what the person saw, once; whatever anybody changes afterwards does not run."""

import asyncio
import contextlib
import json
import threading
from typing import Any

import numpy
import pytest
from crewai.flow.flow import Flow, start
from crewai.hooks import (
    after_tool_call,
    before_tool_call,
    unregister_after_tool_call_hook,
    unregister_before_tool_call_hook,
)
from crewai.hooks.dispatch import InterceptionPoint, register_scoped, scoped_hooks
from crewai.lite_agent import LiteAgent
from crewai.tools import BaseTool, tool
from pydantic import BaseModel

from hitl_nb import Session, pending
from hitl_nb._waiting import until_decided
from hitl_nb.crewai import approve_tools, install
from hitl_nb.errors import InvalidValue
from hitl_nb.testing import ScriptedPerson
from tests.flow.crews import crew_of, in_words, scripted, wants

pytestmark = [
    pytest.mark.timeout(300),  # the first test of a process imports crewai
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # crewai reads its own deprecated fields
]

ORDER = {"to": "ada", "amount": 1, "items": [{"name": "tea", "urgent": True}]}

models = pytest.mark.parametrize("model", [scripted, in_words], ids=["calling tools", "in words"])


class Shop:
    """A tool whose orders can be counted."""

    def __init__(self, then=lambda: "ordered"):
        self.placed = []

        @tool("order")
        def order(to: str, amount: int, items: list) -> str:
            """Place an order."""
            self.placed.append({"to": to, "amount": amount, "items": json.loads(json.dumps(items))})
            return then()

        self.tool = order


def ordering(model=scripted, orders=(ORDER,), **options):
    shop = Shop(**options)
    llm = model([wants("order", **order) for order in orders], "Done.")
    return shop, llm, crew_of(llm, shop.tool)


@pytest.fixture
def hook():
    """Register a hook for one test."""
    registered = []

    def register(function):
        registered.append(function)
        return before_tool_call(function)

    yield register
    for function in registered:
        unregister_before_tool_call_hook(function)


# -- who may change the arguments after they were shown, and how ------------------------------------------------


class Held:
    """A hook that lets go of nothing it has seen, and what somebody does with that later."""

    def __init__(self, change):
        self.change = change
        self.context = self.arguments = None

    def __call__(self, context):
        self.context, self.arguments = context, context.tool_input

    def now(self):
        self.change(self.arguments)


def by_the_person(held):
    async def changes(call):
        held.now()
        call.respond(True)

    return [{"people": changes}]


def by_a_thread(held):
    async def is_late(call):
        thread = threading.Thread(target=held.now)
        thread.start()
        call.respond(True)
        await asyncio.to_thread(thread.join)

    return [{"people": is_late}]


def by_another_gates_condition(held):
    return [{"people": ScriptedPerson([True])}, {"when": lambda args: held.now() or False}]


def by_the_people_of_another_gate(held):
    return [{"people": ScriptedPerson([True])}, *by_the_person(held)]


def by_somebody_where_nobody_needed_to_be_asked(held):
    return [{"when": lambda args: False}, *by_the_person(held)]


CHANGES = {
    "another value": lambda args: args.update(to="eve"),
    "another type": lambda args: args.update(amount=True),
    "a number that is equal": lambda args: args.update(amount=1.0),
    "deep inside": lambda args: args["items"][0].update(urgent=False),
    "one more": lambda args: args["items"].append({"name": "gold"}),
    "another argument": lambda args: args.update(cc="eve"),
    "one less": lambda args: args.pop("items"),
    "nothing left": lambda args: args.clear(),
}


@models
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(
    "gates",
    [
        by_the_person,
        by_a_thread,
        by_another_gates_condition,
        by_the_people_of_another_gate,
        by_somebody_where_nobody_needed_to_be_asked,
    ],
)
async def test_what_was_changed_after_it_was_shown_does_not_run_and_the_model_hears_why(hook, gates, change, model):
    shop, llm, crew = ordering(model)
    held = Held(change)
    hook(held)
    standing = [approve_tools("order", **options) for options in gates(held)]
    try:
        await crew.akickoff()
    finally:
        for gate in standing:
            gate.remove()
    assert shop.placed == []
    told = json.loads(llm.told()[0])
    assert (told["status"], told["approved"]) == ("blocked", False)
    assert "changed" in told["reason"]


@models
async def test_what_was_not_changed_runs_although_everybody_held_it(hook, model):
    shop, llm, crew = ordering(model)
    held = Held(lambda args: args.update(json.loads(json.dumps(ORDER))))
    hook(held)
    with approve_tools("order", people=by_the_person(held)[0]["people"]):
        await crew.akickoff()
    assert shop.placed == [ORDER]
    assert llm.told() == ["ordered"]


@models
async def test_the_tool_is_given_a_copy_that_nobody_else_holds(hook, model):
    kept = []

    @hook
    def keeps(context):
        kept.append(context.tool_input["items"])

    shop, _, crew = ordering(model, then=lambda: str(kept[0].clear()))
    with ScriptedPerson([True]) as person, approve_tools("order", people=person):
        await crew.akickoff()
    assert kept == [[]]
    assert shop.placed == [ORDER]
    assert person.asked[0].args == ORDER


async def test_what_is_changed_in_the_very_last_moment_does_not_run_either(hook):
    held = Held(lambda args: args.update(to="eve"))
    hook(held)

    class Arguments(BaseModel):
        to: str
        amount: int
        items: list[Any]

        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            if held.arguments is not None:  # CrewAI looks at it between the hooks and the tool
                held.now()
            return super().model_json_schema(*args, **kwargs)

    shop, llm, crew = ordering(in_words)
    shop.tool.args_schema = Arguments
    with approve_tools("order", people=ScriptedPerson([True])):
        await crew.akickoff()
    assert held.arguments["to"] == "eve"
    assert shop.placed == []
    assert "NOT executed" in llm.told()[0]


async def test_so_is_one_with_a_run_of_its_own_and_one_that_nobody_had_to_be_asked_about(hook):
    kept, ran = [], []

    class Order(BaseTool):
        name: str = "order"
        description: str = "Place an order."

        def _run(self, **arguments: Any) -> str:
            raise NotImplementedError

        def run(self, to: str, amount: int, items: list) -> str:
            kept.pop().clear()
            ran.append({"to": to, "amount": amount, "items": items})
            return "ordered"

    hook(lambda context: kept.append(context.tool_input["items"]))
    for options in ({"people": ScriptedPerson([True])}, {"when": lambda args: False}):
        with approve_tools("order", **options):
            await crew_of(scripted([wants("order", **ORDER)], "Done."), Order()).akickoff()
    assert ran == [ORDER, ORDER]


async def before(call):
    call.args["to"] = "eve"
    call.respond(True)


async def afterwards(call):
    call.respond(True)
    call.args["to"] = "eve"


@pytest.mark.parametrize("changes_what_is_shown", [before, afterwards])
async def test_a_person_that_changes_what_is_shown_has_approved_nothing(changes_what_is_shown):
    shop, _, crew = ordering()
    with approve_tools("order", people=changes_what_is_shown), contextlib.suppress(InvalidValue):
        await crew.akickoff()
    assert shop.placed == []


async def test_neither_the_person_nor_a_condition_is_given_what_runs(hook):
    shop, _, crew = ordering()
    seen = []
    hook(lambda context: seen.append(context.tool_input))

    def looks(args):
        seen.append(args)
        args["items"].clear()

    async def approves(call):
        seen.append(call.args)
        call.respond(True)

    with approve_tools("order", when=looks, people=approves):
        await crew.akickoff()
    assert shop.placed == [ORDER]
    assert len({id(args) for args in seen}) == len({id(args["items"]) for args in seen}) == 3


@models
async def test_a_hook_that_shows_the_others_something_else_does_not_show_it_to_the_person(hook, model):
    shop, _, crew = ordering(model)

    @hook
    def disguises(context):
        context.tool_input = {"to": "ada", "amount": 0, "items": []}
        context.tool_name = "search"
        context.tool = None

    with ScriptedPerson({"order": [True]}) as person, approve_tools("order", people=person):
        await crew.akickoff()
    assert person.asked[0].args == ORDER
    assert shop.placed == [ORDER]


@models
async def test_what_a_disguised_call_was_refused_for_reaches_the_model(hook, model):
    shop, llm, crew = ordering(model)

    @hook
    def disguises(context):
        context.tool_input = {}

    with ScriptedPerson([lambda call: call.decline("too much tea")]) as person, approve_tools(people=person):
        await crew.akickoff()
    assert shop.placed == []
    assert json.loads(llm.told()[0])["reason"] == "too much tea"


@models
async def test_a_hook_of_one_run_only_comes_before_the_person_too(model):
    shop, _, crew = ordering(model)
    with ScriptedPerson([True]) as person, approve_tools("order", people=person), scoped_hooks():
        register_scoped(InterceptionPoint.PRE_TOOL_CALL, lambda context: context.tool_input.update(to="bob"))
        await crew.akickoff()
    assert person.asked[0].args["to"] == shop.placed[0]["to"] == "bob"


@models
async def test_arguments_that_a_hook_gives_to_a_call_without_any_are_not_run(hook, model):
    ran = []

    @tool("restart")
    def restart(host: str = "all of them") -> str:
        """Restart."""
        ran.append(host)
        return "restarted"

    @hook
    def narrows(context):
        context.tool_input["host"] = "staging"  # CrewAI drops it for a model without tool calling

    llm = model([wants("restart")], "Done.")
    with approve_tools("restart", people=ScriptedPerson([True])):
        await crew_of(llm, restart).akickoff()
    assert ran == []
    assert "a hook has given arguments" in json.loads(llm.told()[0])["reason"]


# -- whether to ask ---------------------------------------------------------------------------------------------


async def later():
    return False


class Falsy:
    def __bool__(self):
        return False


@pytest.mark.parametrize(
    "verdict",
    [None, "", 0, 0.0, [], {}, Falsy(), True, 1, "no", numpy.False_, numpy.bool_(False), later, ZeroDivisionError],
    ids=repr,
)
async def test_only_a_plain_false_lets_a_tool_run_unasked(verdict):
    def when(args):
        if verdict is ZeroDivisionError:
            raise ZeroDivisionError
        return later() if verdict is later else verdict

    shop, _, crew = ordering()
    with ScriptedPerson([lambda call: call.decline()]) as person, approve_tools("order", when=when, people=person):
        await crew.akickoff()
    assert len(person.asked) == 1
    assert shop.placed == []


@models
async def test_a_plain_false_does(model):
    shop, _, crew = ordering(model)
    with ScriptedPerson([]) as person, approve_tools("order", when=lambda args: False, people=person):
        await crew.akickoff()
    assert person.asked == []
    assert shop.placed == [ORDER]


# -- who is asked -----------------------------------------------------------------------------------------------


async def stays_out(call):
    raise AssertionError(f"{call.name} was asked of somebody else")


async def test_the_people_of_a_gate_are_asked_whoever_is_installed_before_or_after():
    shop, _, crew = ordering()
    boss = ScriptedPerson({"order": [True]})
    with install(people=stays_out), approve_tools("order", people=boss), install(people=stays_out):
        await crew.akickoff()
    assert shop.placed == [ORDER]


async def test_they_are_asked_inside_a_sessions_run_whoever_the_session_asks():
    shop, _, crew = ordering()

    class Chat(Flow):
        initial_state = {"messages": []}  # noqa: RUF012

        @start()
        async def work(self):
            await crew.akickoff()
            self.state["messages"].append({"role": "assistant", "content": "Ordered."})

    with ScriptedPerson({"order": [True]}) as boss, approve_tools("order", people=boss):
        reply = await Session(Chat, people=[stays_out]).run("Order tea")
    assert shop.placed == [ORDER]
    assert reply.text == "Ordered."


async def test_a_gate_without_people_asks_those_of_the_run():
    shop, _, crew = ordering()

    class Chat(Flow):
        initial_state = {"messages": []}  # noqa: RUF012

        @start()
        async def work(self):
            await crew.akickoff()

    with ScriptedPerson({"order": [True]}) as person, install(people=stays_out), approve_tools("order"):
        await Session(Chat, people=[person]).run("Order tea")
    assert shop.placed == [ORDER]


async def test_the_people_of_a_gate_approve_tools_and_nothing_else():
    shop = Shop()
    crew = crew_of(scripted([wants("order", **ORDER)], "Done."), shop.tool, human_input=True)
    boss, person = ScriptedPerson({"order": [True]}), ScriptedPerson({"write_report": [True]})
    with install(people=person), approve_tools("order", people=boss):
        await crew.akickoff()
    assert shop.placed == [ORDER]
    assert [call.name for call in person.asked] == ["write_report"]


async def test_the_gates_of_two_people_ask_both_and_one_no_is_enough():
    async def declines(call):
        call.decline("not on my watch")

    shop, llm, crew = ordering()
    with ScriptedPerson([True]) as ada, approve_tools("order", people=ada), approve_tools(people=declines):
        await crew.akickoff()
    assert shop.placed == []
    assert json.loads(llm.told()[0])["reason"] == "not on my watch"


# -- one approval, one run --------------------------------------------------------------------------------------


async def test_two_equal_calls_at_once_are_two_questions_and_one_yes_is_one_run():
    shop, llm, crew = ordering(orders=(ORDER, ORDER))

    async def waits(call):
        await until_decided(call)

    with approve_tools("order", people=waits):
        running = asyncio.create_task(crew.akickoff())
        while len(pending()) < 2:
            assert not running.done()
            await asyncio.sleep(0.01)
        first, second = pending()
        assert (first.args, first.occurrence != second.occurrence) == (second.args, True)
        second.respond(True)
        first.decline("once is enough")
        await running
    assert shop.placed == [ORDER]
    assert sorted("once is enough" in told for told in llm.told()) == [False, True]


def fails():
    raise OSError("the line went dead after the order was placed")


@models
@pytest.mark.parametrize("way", ["akickoff", "kickoff_async"])
async def test_a_tool_that_fails_is_not_run_again_for_the_same_yes(model, way):
    shop, llm, crew = ordering(model, then=fails)
    with ScriptedPerson([True]) as person, approve_tools("order", people=person):
        await getattr(crew, way)()
    assert shop.placed == [ORDER]
    assert "the line went dead" in llm.told()[0]


async def test_crewai_itself_runs_a_tool_that_fails_six_times():
    shop, _, crew = ordering(in_words, then=fails)
    await crew.akickoff()
    assert len(shop.placed) == 6, "crewai runs it less often now: `single_runs` may be no longer needed"


@models
async def test_the_same_call_in_a_later_round_is_asked_again(model):
    shop = Shop(then=fails)
    llm = model([wants("order", **ORDER)], [wants("order", **ORDER)], "Done.")
    with ScriptedPerson([True, lambda call: call.decline()]) as person, approve_tools("order", people=person):
        await crew_of(llm, shop.tool).akickoff()
    assert len(person.asked) == 2
    assert len(shop.placed) == 1


@models
async def test_outside_of_the_run_the_tool_is_the_users_own(model):
    shop, _, crew = ordering(model)
    with ScriptedPerson([True]) as person, approve_tools("order", people=person):
        await crew.akickoff()
        assert shop.tool.run(**ORDER) == shop.tool.run(**ORDER) == "ordered"
    assert len(shop.placed) == 3


@models
async def test_nor_does_a_hook_after_it_need_another_yes_for_what_it_does_by_itself(model):
    shop, _, crew = ordering(model)
    with approve_tools("order", people=ScriptedPerson([True])):

        @after_tool_call
        def orders_milk(context):
            shop.tool.run(to="bob", amount=1, items=["milk"])

        try:
            await crew.akickoff()
        finally:
            unregister_after_tool_call_hook(orders_milk)
    assert [order["to"] for order in shop.placed] == ["ada", "bob"]


class StoppedError(BaseException):
    """As the stop button's."""


@pytest.mark.filterwarnings("ignore:LiteAgent is deprecated:FutureWarning")
def test_a_run_that_was_stopped_inside_a_tool_leaves_nothing_behind():
    def stops():
        if len(shop.placed) == 1:
            raise StoppedError
        return "ordered"

    shop = Shop(then=stops)
    # Runs its tools in the thread, and the context, of the code that starts it.
    llm = in_words([wants("order", **ORDER)], "Done.")
    agent = LiteAgent(role="Buyer", goal="Buy", backstory="A buyer.", llm=llm, tools=[shop.tool], verbose=False)
    with approve_tools("order", people=ScriptedPerson([True])):
        with pytest.raises(StoppedError):
            agent.kickoff("Order tea.")
        assert shop.tool.run(**ORDER) == "ordered"


@models
async def test_a_tool_may_use_itself_and_other_tools_while_it_runs(model):
    def again():
        return shop.tool.run(to="bob", amount=0, items=[]) if len(shop.placed) < 3 else "ordered"

    shop = Shop(then=again)
    crew = crew_of(model([wants("order", **ORDER)], "Done."), shop.tool)
    with ScriptedPerson([True]) as person, approve_tools("order", people=person):
        await crew.akickoff()
    assert [order["to"] for order in shop.placed] == ["ada", "bob", "bob"]
