"""The run loop, without a model: what the agent is given back, and what happens when something goes wrong."""

import asyncio
import gc
import json
from typing import Literal

import pytest
from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agui._messages import check
from hitl_nb.errors import (
    FollowUpLimit,
    InvalidValue,
    NoHumanError,
    NotAwaitedError,
    RunStopped,
    ScriptError,
    SessionBusyError,
    UsageError,
)
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"


@human_in_the_loop
def plan(steps: list[Step]) -> list[Step]:
    """Propose steps."""


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


STEPS = [{"description": "pack"}, {"description": "launch"}]


def session_of(agent, *answers, tools=(plan, ask), **options):
    return Session(agent, tools=tools, people=[ScriptedPerson(list(answers))], **options)


async def test_parallel_calls_answered_in_reverse_order_each_get_their_own_answer():
    agent = ScriptedAgent([[calls("ask", question="a?"), calls("ask", question="b?")], says("ok")])
    b_answered = asyncio.Event()

    async def person(call):
        if call.args.question == "a?":
            await b_answered.wait()
        call.respond(call.args.question.upper())
        b_answered.set()

    await Session(agent, tools=[ask], people=[person]).run("go")
    assert agent.results(1) == {"call_1": "A?", "call_2": "B?"}
    assert [m.role for m in agent.inputs[1].messages] == ["user", "assistant", "tool", "tool"]


async def test_one_at_a_time_asks_the_second_only_after_the_first():
    agent = ScriptedAgent([[calls("ask", question="a?"), calls("ask", question="b?")], says("ok")])
    seen = []

    async def person(call):
        seen.append(("asked", call.id))
        await asyncio.sleep(0)
        call.respond("x")
        seen.append(("answered", call.id))

    await Session(agent, tools=[ask], people=[person], one_at_a_time=True).run("go")
    assert seen == [("asked", "call_1"), ("answered", "call_1"), ("asked", "call_2"), ("answered", "call_2")]


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (calls("ask", raw='{"question": '), "not complete JSON"),
        (calls("ask", raw="[1]"), "not a JSON object"),
        (calls("ask", question=7), "question"),
        (calls("nobody_knows", x=1), "unknown tool"),
    ],
)
async def test_a_wrong_call_goes_back_to_the_model_and_nobody_is_asked(bad, word):
    agent = ScriptedAgent([bad, calls("ask", question="well?"), says("ok")])
    session = session_of(agent, "fine")
    reply = await session.run("go")
    error = json.loads(agent.results(1)["call_1"])
    assert word in error["error"]
    assert [call.args.question for call in session.people[0].asked] == ["well?"]
    assert reply.text == "ok"


async def test_a_model_that_calls_wrongly_again_and_again_is_stopped():
    agent = ScriptedAgent([calls("ask", question=7)] * 10)
    with pytest.raises(FollowUpLimit, match="3 times in a row"):
        await session_of(agent).run("go")
    assert len(agent.inputs) == 3


async def test_a_model_that_never_stops_calling_is_stopped():
    agent = ScriptedAgent([calls("ask", question="more?")] * 10)
    session = session_of(agent, *["yes"] * 10, max_follow_ups=2)
    with pytest.raises(FollowUpLimit, match="max_follow_ups"):
        await session.run("go")
    assert len(agent.inputs) == 3
    check(session.messages)


async def test_a_declined_call_reaches_the_model_as_not_executed():
    agent = ScriptedAgent([calls("plan", steps=STEPS), says("ok")])
    await session_of(agent, lambda call: call.decline("no budget")).run("go")
    assert json.loads(agent.results(1)["call_1"]) | {"message": ""} == {
        "status": "declined",
        "approved": False,
        "reason": "no budget",
        "message": "",
    }


async def test_stop_closes_open_calls_and_the_next_run_has_a_valid_history():
    agent = ScriptedAgent([[calls("ask", question="a?"), calls("ask", question="b?")], says("hello again")])
    asked = asyncio.Event()

    async def nobody_yet(call):
        asked.set()
        await asyncio.Event().wait()

    session = Session(agent, tools=[ask], people=[nobody_yet])
    run = session.start("go")
    await asked.wait()
    assert [call.id for call in session.pending] == ["call_1", "call_2"]
    run.stop()
    with pytest.raises(RunStopped):
        await run
    assert run.status == "stopped"
    assert session.pending == []
    check(session.messages)
    assert (await session.run("again")).text == "hello again"
    assert set(agent.results(1).values()) == {"Error: Human-in-the-loop interaction aborted"}


async def test_cancelling_the_awaiting_cell_stops_the_run():
    agent = ScriptedAgent([calls("ask", question="a?")])
    asked = asyncio.Event()

    async def nobody_yet(call):
        asked.set()
        await asyncio.Event().wait()

    session = Session(agent, tools=[ask], people=[nobody_yet])
    cell = asyncio.create_task(_await(session))
    await asked.wait()
    cell.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cell
    check(session.messages)
    assert session.messages[-1].role == "tool"


async def _await(session):
    return await session.run("go")


async def test_a_person_who_raises_approves_nothing():
    agent = ScriptedAgent([calls("plan", steps=STEPS)])

    async def person(call):
        raise ZeroDivisionError("oops")

    session = Session(agent, tools=[plan], people=[person])
    with pytest.raises(ZeroDivisionError):
        await session.run("go")
    assert len(agent.inputs) == 1
    assert session.messages[-1].content == "Error: Human-in-the-loop interaction aborted"


async def test_when_everybody_passes_nothing_is_guessed():
    agent = ScriptedAgent([calls("plan", steps=STEPS)])

    async def passes(call):
        return True

    with pytest.raises(NoHumanError, match="passed"):
        await Session(agent, tools=[plan], people=[passes, passes]).run("go")


async def test_the_first_person_who_answers_wins_and_the_next_is_not_asked():
    agent = ScriptedAgent([calls("ask", question="a?"), says("ok")])

    async def policy(call):
        call.respond("by the rule", by="rule 7")

    reply = await Session(agent, tools=[ask], people=[policy, ScriptedPerson([])]).run("go")
    assert reply.calls[0].answered_by == "rule 7"


async def test_an_agent_that_fails_raises_its_own_exception_and_the_session_goes_on():
    def fails(input):  # noqa: A002
        raise ZeroDivisionError("in the agent")

    agent = ScriptedAgent([fails, says("back")])
    session = session_of(agent)
    with pytest.raises(ZeroDivisionError):
        await session.run("go")
    assert (await session.run("again")).text == "back"
    assert [m.content for m in agent.inputs[1].messages] == ["go", "again"]


async def test_a_second_run_while_one_is_open_is_refused_and_names_the_call():
    agent = ScriptedAgent([calls("ask", question="a?"), says("ok")])
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def person(call):
        asked.set()
        await go_on.wait()
        call.respond("x")

    session = Session(agent, tools=[ask], people=[person])
    run = session.start("go")
    await asked.wait()
    with pytest.raises(SessionBusyError, match="`ask` \\(call_1\\)"):
        await session.run("me too")
    go_on.set()
    assert (await run).text == "ok"


async def test_two_sessions_do_not_wait_for_each_other():
    held = asyncio.Event()

    async def slow(call):
        await held.wait()
        call.respond("late")

    first = Session(ScriptedAgent([calls("ask", question="a?"), says("1")]), tools=[ask], people=[slow])
    second = session_of(ScriptedAgent([calls("ask", question="b?"), says("2")]), "quick")
    run = first.start("go")
    assert (await second.run("go")).text == "2"
    held.set()
    assert (await run).text == "1"


async def test_a_script_says_which_question_it_did_not_expect_and_which_answer_is_left():
    agent = ScriptedAgent([calls("ask", question="a?")])
    with pytest.raises(ScriptError, match="Unexpected question 1: `ask`"):
        await session_of(agent).run("go")
    with pytest.raises(ScriptError, match="never asked"), ScriptedPerson({"ask": ["never asked"]}):
        pass


async def test_a_scripted_answer_of_the_wrong_type_raises():
    agent = ScriptedAgent([calls("plan", steps=STEPS)])
    with pytest.raises(InvalidValue):
        await session_of(agent, "not steps").run("go")


async def test_a_run_without_await_says_so_wherever_it_is_used(capsys):
    pending = session_of(ScriptedAgent([])).run("go")
    assert "reply = await session.run('go')" in repr(pending)
    with pytest.raises(NotAwaitedError, match="await session.run"):
        pending.text  # noqa: B018
    dropped = session_of(ScriptedAgent([])).run("go")
    del dropped
    gc.collect()
    assert "nothing has run" in capsys.readouterr().err


async def test_words_that_are_no_text_are_refused():
    with pytest.raises(UsageError, match="session.run"):
        await session_of(ScriptedAgent([])).run(42)


def test_start_outside_a_loop_says_how_to_write_a_script():
    with pytest.raises(UsageError, match="asyncio.run"):
        session_of(ScriptedAgent([])).start("go")


async def test_the_reply_is_one_line():
    agent = ScriptedAgent([calls("ask", question="a?"), says("Fine, " + "then " * 30)])
    reply = await session_of(agent, "x").run("go")
    assert "\n" not in repr(reply)
    assert "1 decision" in repr(reply)
