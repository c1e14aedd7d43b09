"""A chat Flow runs again after each answer: what its code asks there is asked once, and what it pays is paid once."""

from typing import Any, ClassVar

import pytest
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, listen, start
from litellm import acompletion

from hitl_nb import Session, approve, ask, gate, human_in_the_loop, interrupt
from hitl_nb.errors import Declined
from hitl_nb.people import Policy, allow, deny
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says

pytestmark = pytest.mark.timeout(300)

PAID: list[tuple[str, int]] = []


@pytest.fixture(autouse=True)
def nothing_paid():
    PAID.clear()


@gate
def pay(to: str, amount: int) -> str:
    """Send money."""
    PAID.append((to, amount))
    return f"receipt {len(PAID)}"


@human_in_the_loop
def pick(color: str) -> str:
    """Pick a colour."""


async def chat(flow: Any) -> None:
    stream = await acompletion(
        model="openai/gpt-4o", messages=flow.state.messages, tools=[*flow.state.copilotkit.actions], stream=True
    )
    flow.state.messages.append((await copilotkit_stream(stream)).choices[0].message)


ROUNDS = [calls("pick", color="red"), calls("pick", color="blue"), says("Done.")]


class Asked:
    """A person who says yes to everything, or what is asked for, and remembers it."""

    def __init__(self, **answers: Any) -> None:
        self.questions: list[str] = []
        self._answers = answers

    async def __call__(self, call: Any) -> None:
        self.questions.append(call.name)
        answer = self._answers.get(call.name, call.proposal)
        if answer == "no":
            call.decline("not today")
        else:
            call.respond(answer)


async def run(flow: Any, person: Any, *more: str, tools: Any = (pick,), turns: Any = ROUNDS) -> Session:
    session = Session(flow, tools=tools, people=[person] if callable(person) else person)
    with ScriptedModel([*turns, *(turn for _ in more for turn in turns)]):
        for text in ("Paint the wall", *more):
            await session.run(text)
    return session


class Deposit(Flow[CopilotKitState]):
    receipts: ClassVar[list[str]] = []

    @start()
    async def deposit(self):
        self.receipts.append(await pay("ada", 100))

    @listen(deposit)
    async def talk(self):
        await chat(self)


async def test_a_deposit_is_asked_once_and_paid_once_however_many_rounds_the_model_takes():
    Deposit.receipts.clear()
    person = Asked(pick="red")
    session = await run(Deposit, person)
    assert PAID == [("ada", 100)]
    assert person.questions == ["pay", "pick", "pick"]
    assert Deposit.receipts == ["receipt 1"] * 3
    assert session.messages[-1].content == "Done."


async def test_the_next_message_is_another_deposit():
    person = Asked(pick="red")
    await run(Deposit, person, "And the next wall")
    assert PAID == [("ada", 100)] * 2
    assert person.questions.count("pay") == 2


async def test_a_no_stays_a_no_and_nothing_is_paid():
    class Careful(Flow[CopilotKitState]):
        heard: ClassVar[list[str]] = []

        @start()
        async def deposit(self):
            try:
                await pay("ada", 100)
            except Declined as error:
                self.heard.append(error.call.reason)
            await chat(self)

    person = Asked(pay="no", pick="red")
    await run(Careful, person)
    assert PAID == []
    assert person.questions == ["pay", "pick", "pick"]
    assert Careful.heard == ["not today"] * 3


async def test_two_equal_payments_in_one_loop_stay_two():
    class Twice(Flow[CopilotKitState]):
        @start()
        async def deposit(self):
            for _ in range(2):
                await pay("ada", 100)
            await chat(self)

    person = Asked(pick="red")
    await run(Twice, person)
    assert PAID == [("ada", 100)] * 2
    assert person.questions == ["pay", "pay", "pick", "pick"]


async def test_what_differs_is_asked():
    class Grows(Flow[CopilotKitState]):
        @start()
        async def deposit(self):
            await pay("ada", 100 + len(self.state.messages))
            await chat(self)

    person = Asked(pick="red")
    await run(Grows, person)
    assert PAID == [("ada", 101), ("ada", 103), ("ada", 105)]
    assert person.questions.count("pay") == 3


async def test_an_execution_more_of_the_step_is_another_asking():
    class Router(Flow[CopilotKitState]):
        @start()
        async def begin(self):
            await self.deposit()
            await chat(self)

        @listen(begin)
        async def deposit(self):
            await pay("ada", 100)

    await run(Router, Asked(pick="red"))
    assert PAID == [("ada", 100)] * 2


async def test_a_sync_step_and_checkpoints_are_recognised_too():
    class Mixed(Flow[CopilotKitState]):
        heard: ClassVar[list[Any]] = []

        @start()
        def deposit(self):
            self.heard.append(pay.sync("ada", 100))
            self.heard.append(interrupt.sync("How much?", answer=int))

        @listen(deposit)
        async def talk(self):
            plan = {"walls": [1, 2]}
            approved = await interrupt("This plan?", plan, name="plan")
            assert approved is plan
            approved["walls"].append(3)  # what was approved stays what it was
            self.heard.append(await ask("Which paint?"))
            self.heard.append(await approve("Sure?"))
            await chat(self)

    person = Asked(pick="red", interrupt=7, ask="gloss", approve=True)
    await run(Mixed, person)
    assert PAID == [("ada", 100)]
    assert Mixed.heard == ["receipt 1", 7, "gloss", True] * 3
    assert sorted(person.questions) == sorted(["pay", "interrupt", "plan", "ask", "approve", "pick", "pick"])


async def test_a_models_own_calls_of_a_gate_are_never_recognised():
    class Chat(Flow[CopilotKitState]):
        @start()
        async def talk(self):
            await chat(self)

    person = Asked()
    turns = [calls("pay", to="ada", amount=1), calls("pay", to="ada", amount=1), says("Done.")]
    await run(Chat, person, tools=[pay], turns=turns)
    assert PAID == [("ada", 1)] * 2
    assert person.questions == ["pay", "pay"]


async def test_a_rule_that_forbids_it_now_comes_before_what_was_decided():
    forbidden: list[str] = []
    person = Asked(pick="red")

    class Forbids(Flow[CopilotKitState]):
        heard: ClassVar[list[Any]] = []

        @start()
        async def deposit(self):
            try:
                self.heard.append(await interrupt("Go on?", {"n": 1}, name="go"))
            except Declined:
                self.heard.append("declined")
            forbidden.append("go")
            await chat(self)

    rule = deny("go", kind="interrupt", when=lambda args: bool(forbidden))
    await run(Forbids, [Policy(rule), person])
    assert [it if it == "declined" else "asked" for it in Forbids.heard] == ["asked", "declined", "declined"]


async def test_what_a_rule_lets_through_runs_once_too():
    person = Asked(pick="red")
    await run(Deposit, [Policy(allow("pay")), person])
    assert PAID == [("ada", 100)]
    assert person.questions == ["pick", "pick"]


async def test_what_needs_nobody_runs_once_too():
    spent: list[int] = []

    @gate(when=lambda args: args.amount > 100)
    def spend(amount: int) -> int:
        """Spend money."""
        spent.append(amount)
        return amount

    class Small(Flow[CopilotKitState]):
        @start()
        async def deposit(self):
            await spend(5)
            await spend(5)
            await chat(self)

    await run(Small, Asked(pick="red"))
    assert spent == [5, 5]


async def test_what_was_raised_is_raised_again_and_not_run_again():
    class Fails(Flow[CopilotKitState]):
        heard: ClassVar[list[str]] = []

        @start()
        async def deposit(self):
            try:
                await broken("ada")
            except ValueError as error:
                self.heard.append(str(error))
            await chat(self)

    tried: list[str] = []

    @gate
    def broken(to: str) -> str:
        """Send money."""
        tried.append(to)
        raise ValueError("the bank is closed")

    await run(Fails, Asked(pick="red"))
    assert tried == ["ada"]
    assert Fails.heard == ["the bank is closed"] * 3


async def test_the_record_says_that_it_was_decided_before():
    with ScriptedModel(ROUNDS), ScriptedPerson([lambda call: call.args, "red", "blue"]) as person:
        reply = await Session(Deposit, tools=[pick], people=[person]).run("Paint the wall")
    paid = [call for call in reply.calls if call.name == "pay"]
    assert [call.via for call in paid] == ["script", "replay", "replay"]
    assert all("decided before, for the same message" in str(call.answered_by) for call in paid[1:])
