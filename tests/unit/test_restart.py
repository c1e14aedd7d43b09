"""After a kernel restart: open questions are asked again, answers are delivered once, nothing runs twice."""

import asyncio
import json
import os
import random
import signal
import threading
import time
from concurrent.futures import Future
from contextlib import suppress

import pytest
from pydantic import BaseModel, SecretStr

from hitl_nb import Call, Journal, Session, gate, human_in_the_loop
from hitl_nb._calls import Handle
from hitl_nb._waiting import until_decided
from hitl_nb.agui._messages import check
from hitl_nb.errors import JournalError, RunStopped, SessionBusyError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent


@human_in_the_loop
def ask(question: str) -> str:
    """Ask."""


async def waits(call):
    await until_decided(call)


def agent_calls(turns):
    first = turns[0]
    return first if isinstance(first, list) else [first]


async def leave_open(path, *turns, tools=(ask,), answer=()):
    """A kernel that ends while its questions are open: the task is dropped, nothing is closed."""
    agent = ScriptedAgent([*turns, says("never said")])
    session = Session(agent, tools=tools, people=[waits], thread_id="t", journal=Journal(path))
    run = session.start("go")
    while len(session.pending) < len(agent_calls(turns)):
        await asyncio.sleep(0)
    waiting = session.pending
    for call, value in zip(waiting, answer, strict=False):
        call.respond(value, by="ada")
        while call.status != "complete":
            await asyncio.sleep(0)
    # The end of a process: nothing of the session gets another word in, least of all its journal.
    session.journal.close()
    with suppress(Exception):
        run.stop()
        await run.settled()
    return waiting


def restarted(path, *turns, tools=(ask,), people=()):
    agent = ScriptedAgent(list(turns))
    session = Session(agent, tools=tools, people=list(people), thread_id="t", journal=Journal(path))
    return agent, session


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


async def test_an_open_question_is_asked_again_and_the_run_goes_on(path):
    await leave_open(path, calls("ask", question="a?"))
    agent, session = restarted(path, says("ok"), people=[ScriptedPerson(["A"])])
    reply = await session.resume()
    assert agent.results(0) == {"call_1": "A"}
    assert [m.role for m in agent.inputs[0].messages] == ["user", "assistant", "tool"]
    assert reply.text == "ok"


async def test_an_answer_that_the_model_never_got_is_delivered_once_and_not_asked_again(path):
    await leave_open(path, [calls("ask", question="a?"), calls("ask", question="b?")], answer=["A"])
    person = ScriptedPerson(["B"])
    agent, session = restarted(path, says("ok"), people=[person])
    reply = await session.resume()
    assert [call.args.question for call in person.asked] == ["b?"]
    assert agent.results(0) == {"call_1": "A", "call_2": "B"}
    records = {call.id: (call.outcome, call.via) for call in reply.calls}
    assert records == {"call_1": ("answered", "replay"), "call_2": ("answered", "script")}
    agent, session = restarted(path, people=[ScriptedPerson([])])
    await session.resume()
    assert agent.inputs == []


async def test_a_finished_thread_is_restored_and_goes_on_with_a_new_message(path):
    agent, session = restarted(path, calls("ask", question="a?"), says("ok"), people=[ScriptedPerson(["A"])])
    session.state = {"n": 1}
    await session.run("go")
    agent, session = restarted(path, says("again"))
    assert [m.role for m in session.messages] == ["user", "assistant", "tool", "assistant"]
    assert session.state == {"n": 1}
    assert (await session.run("more")).text == "again"
    assert [m.content for m in agent.inputs[0].messages if m.role == "user"] == ["go", "more"]


async def test_a_new_message_on_open_calls_is_refused_or_closes_them(path):
    await leave_open(path, calls("ask", question="a?"))
    agent, session = restarted(path, says("ok"))
    with pytest.raises(SessionBusyError, match=r"`ask` \(call_1\).*session.resume"):
        await session.run("more")
    await session.run("more", if_busy="decline")
    assert json.loads(agent.results(0)["call_1"])["status"] == "superseded"
    (call,) = session.journal.to_frame().to_dict("records")
    assert (call["id"], call["outcome"]) == ("call_1", "superseded")


async def test_what_somebody_has_answered_since_the_restart_is_told_and_not_closed(path):
    await leave_open(path, [calls("ask", question="a?"), calls("ask", question="b?")])
    agent, session = restarted(path, says("ok"))
    with Journal(path, thread="t") as elsewhere:
        stored = elsewhere.load_thread("t").open[0]
        call = Call(id=stored.id, name="ask", thread_id="t")
        Handle.of(call).open_now({"question": "a?"})
        elsewhere.adopt(call, stored)
        call.respond("A", by="ada")
        elsewhere.answered(call)
    await session.run("more", if_busy="decline")
    told = agent.results(0)
    assert told["call_1"] == "A"
    assert json.loads(told["call_2"])["status"] == "superseded"
    assert list(session.journal.to_frame()["outcome"]) == ["answered", "superseded"]


async def test_a_gate_that_was_not_passed_is_asked_again_and_one_that_was_is_not_run_again(path):
    effects = []

    @gate
    def delete(n: int) -> str:
        """Delete."""
        effects.append(n)
        return "deleted"

    await leave_open(path, calls("delete", n=1), tools=[delete])
    agent, session = restarted(path, says("ok"), tools=[delete], people=[ScriptedPerson([lambda call: call.args])])
    await session.resume()
    assert (effects, agent.results(0)) == ([1], {"call_1": "deleted"})


async def test_an_approved_gate_whose_end_is_unknown_is_told_so_and_not_run(path):
    effects = []

    @gate
    async def delete(n: int) -> str:
        """Delete."""
        effects.append(n)
        await asyncio.Event().wait()
        return "never"

    agent = ScriptedAgent([calls("delete", n=1)])
    session = Session(
        agent, [delete], people=[ScriptedPerson([lambda c: c.args])], thread_id="t", journal=Journal(path)
    )
    run = session.start("go")
    while not effects:
        await asyncio.sleep(0)
    session.journal.close()
    run.stop()
    await run.settled()
    agent, session = restarted(path, says("ok"), tools=[delete], people=[ScriptedPerson([])])
    await session.resume()
    assert effects == [1]
    assert "not run again" in agent.results(0)["call_1"]


async def test_two_kernels_on_one_journal_one_answer_wins_and_the_other_is_told(path):
    first = await leave_open(path, calls("ask", question="a?"))
    del first
    agent_1, session_1 = restarted(path, says("ok"), people=[waits])
    agent_2, session_2 = restarted(path, says("ok"), people=[waits])
    runs = [session.resume().start() for session in (session_1, session_2)]
    while not (session_1.pending and session_2.pending):
        await asyncio.sleep(0)
    (one,), (two,) = session_1.pending, session_2.pending
    assert one.respond("first", by="ada") is True
    while one.status != "complete":
        await asyncio.sleep(0)
    # In the kernel's loop True is "taken": that another kernel was first is known once the file says so.
    assert await asyncio.to_thread(two.respond, "second", by="bob") is False
    for run in runs:
        await run
    assert agent_1.results(0) == agent_2.results(0) == {"call_1": "first"}
    assert (two.answer, two.answered_by, two.late_answers) == ("first", "ada", ["second"])


def disk_full(*_):
    failed = Future()
    threading.Timer(0.01, failed.set_exception, [JournalError("disk full")]).start()
    return failed


async def test_an_answer_that_cannot_be_written_down_did_not_happen(path, monkeypatch):
    agent, session = restarted(path, calls("ask", question="a?"), says("ok"), people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    (call,) = session.pending
    with monkeypatch.context() as broken:
        broken.setattr(session.journal, "begin_answered", disk_full)
        assert call.respond("A") is True
        while call.error is None:
            await asyncio.sleep(0)
        assert (call.status, call.decided) == ("executing", False)
        assert "disk full" in call.error
        with pytest.raises(JournalError, match="disk full"):
            await asyncio.to_thread(call.respond, "A")
    assert call.respond("A") is True
    await run
    assert agent.results(1) == {"call_1": "A"}


async def test_a_stopped_run_is_not_asked_again(path):
    agent, session = restarted(path, calls("ask", question="a?"), people=[waits])
    run = session.start("go")
    while not session.pending:
        await asyncio.sleep(0)
    run.stop()
    with pytest.raises(RunStopped):
        await run
    agent, session = restarted(path, people=[ScriptedPerson([])])
    check(session.messages)
    await session.resume()
    assert agent.inputs == []


class Login(BaseModel):
    """Log in."""

    user: str
    password: SecretStr


async def test_a_secret_argument_is_never_on_disk_and_its_question_is_not_asked_with_stars(path):
    login = human_in_the_loop(Login, name="login")
    await leave_open(path, calls("login", user="ada", password="hunter2"), tools=[login])
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"ada" in stored
    assert b"hunter2" not in stored
    person = ScriptedPerson([])
    agent, session = restarted(path, says("ok"), tools=[login], people=[person])
    await session.run("more")
    assert "secret" in agent.results(0)["call_1"]
    assert person.asked == []


KILLS = 200
TOLD = 20


@pytest.mark.timeout(300)
def test_two_hundred_kernels_killed_at_any_moment_lose_and_double_nothing(path):
    """Each process goes on where the last one was killed; what it is told it must be told for the right question."""
    rng = random.Random(1)
    log = path.with_name("told.jsonl")
    log.touch()
    killed, told = 0, []
    # As many kills as it takes on this machine to have told something: no assertion depends on its speed.
    while killed < KILLS or len({call for given in told for call in given}) < TOLD:
        child = os.fork()
        if child == 0:
            with suppress(BaseException):
                asyncio.run(_work_for_ever(path, log))
            os._exit(0)
        time.sleep(rng.uniform(0.002, 0.09))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        killed += 1
        told = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    first: dict[str, str] = {}
    for given in told:
        for call, content in given.items():
            assert content.startswith(f"answer to {call} ")
            assert first.setdefault(call, content) == content
    journal = Journal(path)
    assert journal.verify().ok
    events = journal.events()
    answered = events[events["event"] == "answered"]
    assert answered["call"].is_unique


async def _work_for_ever(path, log):
    """A kernel: restores the thread, resumes, then talks on; every call id is new in the thread."""

    class Agent:
        async def run(self, input):  # noqa: A002
            check(input.messages)
            given = {m.tool_call_id: m.content for m in input.messages if m.role == "tool"}
            with log.open("a") as file:
                file.write(json.dumps(given) + "\n")
            new = calls("ask", question="?", id=f"c{len(given)}")
            agent = ScriptedAgent([new if input.messages[-1].role == "user" else says("ok")])
            async for event in agent.run(input):
                yield event

    async def person(call):
        await asyncio.sleep(0.001)
        call.respond(f"answer to {call.id} by {os.getpid()}")

    session = Session(Agent(), tools=[ask], people=[person], thread_id="t", journal=Journal(path))
    await session.resume()
    while True:
        await session.run("more")
