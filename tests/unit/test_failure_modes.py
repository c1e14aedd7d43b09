"""Public bugs of others, each with its fixed id: here they must not happen.

A1, A2, A4, A5, A6 and A22 are about a kernel: tests/kernel/test_failure_modes.py. A3 is the README's first example
(tests/flow/test_readme.py, tests/lab). A23 and A25 are CrewAI's own surfaces: tests/flow/test_crewai_*.py.
"""

import asyncio
import json

import pytest

from hitl_nb import Session, frontend_tool, gate, human_in_the_loop, interrupt, pending
from hitl_nb._waiting import until_decided
from hitl_nb.agui._messages import check
from hitl_nb.errors import CallNotOpenError, RunStopped
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from hitl_nb.testing._model import refuse_dangling
from tests.agents import ScriptedAgent


@human_in_the_loop
def ask(question: str) -> str:
    """Ask."""


async def waits(call):
    await until_decided(call)


async def all_pending(session, count):
    while len(session.pending) < count:
        await asyncio.sleep(0)
    return session.pending


def as_openai(messages):
    """The history as the strict fake provider gets it."""
    plain = []
    for message in messages:
        entry = {"role": message.role, "content": message.content}
        if message.role == "tool":
            entry["tool_call_id"] = message.tool_call_id
        if getattr(message, "tool_calls", None):
            entry["tool_calls"] = [{"id": call.id} for call in message.tool_calls]
        plain.append(entry)
    return plain


async def test_A8_approve_reject_and_cancel_leave_one_result_a_call_right_behind_it():
    agent = ScriptedAgent([[calls("ask", question=q) for q in "abc"], says("ok")])
    answers = ["yes", lambda call: call.decline("no"), lambda call: call.cancel("moot")]
    await Session(agent, tools=[ask], people=[ScriptedPerson(answers)]).run("go")
    refuse_dangling(as_openai(agent.inputs[1].messages))
    assert [m.tool_call_id for m in agent.inputs[1].messages[2:]] == ["call_1", "call_2", "call_3"]


async def test_A9_a_rejected_call_is_not_executed_also_by_a_tool_of_another_class():
    effects = []

    class Deleter:
        def __call__(self, path):
            effects.append(path)

    deleter = Deleter()

    @gate
    def delete(path: str) -> None:
        """Delete."""
        deleter(path)

    agent = ScriptedAgent([calls("delete", path="/x"), says("ok")])
    await Session(agent, tools=[delete], people=[ScriptedPerson([lambda call: call.decline()])]).run("go")
    assert effects == []


async def test_A10_the_gate_is_enforced_centrally_and_no_tool_code_sees_a_denied_call():
    seen = []

    @gate
    def forgetful(x: int) -> str:
        """Never looks at any decision."""
        seen.append(x)
        return "done"

    agent = ScriptedAgent([[calls("forgetful", x=1), calls("forgetful", x=2)], says("ok")])
    answers = [lambda call: call.decline(), lambda call: call.args]
    await Session(agent, tools=[forgetful], people=[ScriptedPerson(answers)]).run("go")
    assert seen == [2]


async def test_A11_code_behind_a_question_runs_only_after_its_decision():
    order = []

    @frontend_tool
    def after() -> str:
        """Depends on the answer."""
        order.append("ran")
        return "x"

    async def person(call):
        await asyncio.sleep(0.01)
        order.append("decided")
        call.respond("yes")

    agent = ScriptedAgent([[calls("ask", question="first?"), calls("after")], says("ok")])
    await Session(agent, tools=[ask, after], people=[person]).run("go")
    assert order == ["decided", "ran"]


@frontend_tool
def plain(x: int) -> int:
    """Plain."""
    return x * 2


async def test_A13_results_of_ungated_siblings_survive_the_pause_in_call_order():
    agent = ScriptedAgent([[calls("plain", x=1), calls("ask", question="?"), calls("plain", x=3)], says("ok")])
    await Session(agent, tools=[ask, plain], people=[ScriptedPerson(["yes"])]).run("go")
    assert agent.results(1) == {"call_1": "2", "call_2": "yes", "call_3": "6"}


async def test_A14_only_the_gated_call_of_a_mixed_batch_is_asked_about():
    agent = ScriptedAgent([[calls("plain", x=1), calls("ask", question="?"), calls("plain", x=3)], says("ok")])
    person = ScriptedPerson(["yes"])
    reply = await Session(agent, tools=[ask, plain], people=[person]).run("go")
    assert [call.name for call in reply.calls] == ["ask"]


async def test_A15_all_of_several_pending_calls_are_reported():
    session = Session(ScriptedAgent([[calls("ask", question=q) for q in "abc"]]), tools=[ask], people=[waits])
    run = session.start("go")
    await all_pending(session, 3)
    assert [call.args.question for call in pending()] == ["a", "b", "c"]
    run.stop()
    with pytest.raises(RunStopped):
        await run


async def test_A16_three_equal_questions_answered_in_reverse_each_get_their_own_answer():
    asked = asyncio.gather(*(interrupt("Same?", {"same": 1}, people=waits) for _ in range(3)))
    while len(pending()) < 3:
        await asyncio.sleep(0)
    questions = pending()
    assert len({call.id for call in questions}) == 3
    for number in (2, 1, 0):
        questions[number].respond(number)
    assert await asked == [0, 1, 2]


async def test_A18_a_rejected_call_that_comes_again_at_once_is_not_asked_about_again():
    agent = ScriptedAgent([calls("ask", question="pay?"), calls("ask", question="pay?"), says("ok")])
    person = ScriptedPerson([lambda call: call.decline()])
    await Session(agent, tools=[ask], people=[person]).run("go")
    told = json.loads(agent.results(1)["call_1"])
    assert "NOT executed" in told["message"]
    assert "already declined" in json.loads(agent.results(2)["call_2"])["reason"]
    assert len(person.asked) == 1


async def test_A20_a_call_is_live_only_while_executing_and_shows_its_result_afterwards():
    nobody_needed = ScriptedPerson([])
    agent = ScriptedAgent([calls("ask", question="?"), says("ok")], pace=0.001)  # so that there is a time before
    session = Session(agent, tools=[ask], people=[nobody_needed])
    run = session.start("go")
    while not run.transcript.calls:
        await asyncio.sleep(0)
    (call,) = run.transcript.calls
    with pytest.raises(CallNotOpenError):
        call.respond("early")
    await all_pending(session, 1)
    assert call.respond("yes") is True
    await run
    assert (call.status, call.result, nobody_needed.asked) == ("complete", "yes", [])
    assert call.respond("late") is False


async def test_A21_a_pending_call_of_one_session_neither_blocks_nor_enters_another():
    slow = Session(ScriptedAgent([calls("ask", question="?")]), tools=[ask], people=[waits])
    run = slow.start("go")
    await all_pending(slow, 1)
    quick = Session(ScriptedAgent([says("done")]), tools=[ask])
    reply = await quick.run("go")
    assert (reply.text, reply.calls, quick.pending) == ("done", [], [])
    run.stop()
    with pytest.raises(RunStopped):
        await run
    check(slow.messages)


def test_A26_it_works_in_a_loop_that_is_running_already():
    async def cell():
        agent = ScriptedAgent([calls("ask", question="?"), says("ok")])
        return await Session(agent, tools=[ask], people=[ScriptedPerson(["yes"])]).run("go")

    async def kernel():
        return await asyncio.get_running_loop().create_task(cell())

    assert asyncio.run(kernel()).text == "ok"


async def test_A27_code_before_the_question_runs_once():
    before = []

    async def step():
        before.append(1)
        return await interrupt("Go on?", people=ScriptedPerson(["yes"]))

    assert await step() == "yes"
    assert before == [1]
