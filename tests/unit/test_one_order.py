"""A thread has one order: whatever is said, answered, stopped and restarted when, the model reads one conversation."""

import asyncio
import json
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb import Journal, Session, gate, human_in_the_loop
from hitl_nb._waiting import until_decided
from hitl_nb.agui._messages import check
from hitl_nb.errors import RunStopped, SessionBusyError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.test_restart import leave_open, restarted


@human_in_the_loop
def ask(question: str) -> str:
    """Ask."""


async def waits(call):
    await until_decided(call)


async def until(true):
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0)


def said(messages):
    return [message.content for message in messages if message.role == "user"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


# -- messages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("journal", [None, "memory"])
async def test_two_quick_messages_while_a_call_is_open_are_heard_in_their_order(journal):
    agent = ScriptedAgent([calls("ask", question="a?"), says("ok")])
    session = Session(agent, tools=[ask], people=[waits], journal=journal)
    session.start("first")
    await until(lambda: session.pending)
    session.start("second", if_busy="decline")
    reply = await session.run("third", if_busy="decline")
    check(agent.inputs[1].messages)
    assert [m.role for m in agent.inputs[1].messages] == ["user", "assistant", "tool", "user", "user"]
    assert said(agent.inputs[1].messages) == ["first", "second", "third"]
    assert json.loads(agent.results(1)["call_1"])["status"] == "superseded"
    assert (reply.text, len(agent.inputs)) == ("ok", 2)


async def test_a_message_right_after_a_stop_comes_behind_what_the_stop_closes():
    agent = ScriptedAgent([calls("ask", question="a?"), says("ok")])
    session = Session(agent, tools=[ask], people=[waits], journal="memory")
    session.start("first")
    await until(lambda: session.pending)
    session.stop()
    await session.run("second")
    check(agent.inputs[1].messages)
    assert [m.role for m in agent.inputs[1].messages] == ["user", "assistant", "tool", "user"]


async def test_who_waits_for_a_run_waits_although_the_one_between_was_stopped():
    agent = ScriptedAgent([calls("ask", question="a?"), says("ok"), says("third heard")])
    session = Session(agent, tools=[ask], people=[waits], journal=None)
    session.start("first")
    await until(lambda: session.pending)
    second = session.start("second", if_busy="wait")
    second.stop()
    with pytest.raises(SessionBusyError, match="`ask`"):
        session.start("third")
    third = session.start("third", if_busy="wait")
    (call,) = session.pending
    call.respond("A")
    await third
    assert [said(given.messages) for given in agent.inputs] == [["first"], ["first"], ["first", "third"]]
    assert [m.role for m in agent.inputs[2].messages] == ["user", "assistant", "tool", "assistant", "user"]


async def test_a_stop_ends_also_what_waits():
    session = Session(ScriptedAgent([calls("ask", question="a?")]), tools=[ask], people=[waits], journal=None)
    runs = [session.start("first")]
    await until(lambda: session.pending)
    runs += [session.start("second", if_busy="wait"), session.start("third", if_busy="wait")]
    session.stop()
    for run in runs:
        with pytest.raises(RunStopped):
            await run
    assert said(session.messages) == ["first"]
    check(session.messages)


class Talks:
    """Answers and asks in turn; proves each request, and that no other run works on the thread."""

    def __init__(self):
        self.runs = 0
        self.working = 0
        self.heard = []

    async def run(self, input):  # noqa: A002
        check(input.messages)
        assert not self.working, "two runs work on one thread"
        self.working += 1
        self.heard = said(input.messages)
        self.runs += 1
        # Every message asks something; what comes back from an answer ends the run.
        turn = calls("ask", question="?", id=f"c{self.runs}") if input.messages[-1].role == "user" else says("ok")
        try:
            async for event in ScriptedAgent([turn]).run(input):
                yield event
                await asyncio.sleep(0)
        finally:
            self.working -= 1


ACTIONS = st.tuples(
    st.sampled_from(["decline", "decline", "wait", "error", "answer", "answer", "no", "stop"]), st.integers(0, 12)
)


async def play(actions, journal):
    agent = Talks()
    session = Session(agent, tools=[ask], people=[waits], journal=journal)
    runs, order = [], []
    for number, (action, turns) in enumerate(actions):
        if action == "answer" and session.pending:
            session.pending[0].respond("A")
        elif action == "no" and session.pending:
            session.pending[0].decline("no")
        elif action == "stop":
            session.stop()
        elif action in ("decline", "wait", "error"):
            with suppress(SessionBusyError):
                runs.append(session.start(str(number), if_busy=action))
                order.append(str(number))
        for _ in range(turns):
            await asyncio.sleep(0)
    stopped = any(action == "stop" for action, _ in actions)
    last = session.start("last", if_busy="decline")
    await until(lambda: last.pending)
    last.pending[0].respond("A")
    assert (await last).text == "ok"
    for run in runs:
        with suppress(RunStopped):
            await run  # anything else that a run ends with is a fault
    check(session.messages)
    heard = agent.heard
    assert heard[-1] == "last"
    assert heard == [text for text in [*order, "last"] if text in heard]
    # Only a stop takes back a message that was waiting; one that another overtakes is heard with it.
    assert stopped or heard == [*order, "last"]


@settings(max_examples=150, deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12), journal=st.sampled_from([None, None, "memory"]))
def test_whatever_is_said_and_stopped_when_the_model_reads_one_conversation(actions, journal):
    asyncio.run(play(actions, journal))


# -- a restart --------------------------------------------------------------------------------------------


async def test_resuming_again_does_not_ask_the_model_again(path):
    await leave_open(path, calls("ask", question="a?"), answer=["A"])
    agent, session = restarted(path, says("ok"), people=[ScriptedPerson([])])
    assert (await session.resume()).text == "ok"
    assert agent.results(0) == {"call_1": "A"}
    for _ in range(2):
        await session.resume()
    assert len(agent.inputs) == 1


async def left_approved(path):
    """A kernel that ends between the approval of a gate and its run."""

    @gate
    def delete(n: int) -> str:
        """Delete."""
        raise AssertionError("it never runs")

    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    # The run of a gate waits for the calls ahead of it: it is approved, and has not begun.
    turn = [calls("ask", question="a?"), calls("delete", n=1)]
    agent = ScriptedAgent([turn])
    session = Session(agent, tools=[ask, delete], people=[waits], thread_id="t", journal=Journal(path))
    run = session.start("go")
    await until(lambda: len(session.pending) == 2)
    call = session.pending[1]
    call.respond(call.args, by="ada")
    await until(lambda: call.status == "complete")
    session.journal.close()
    with suppress(Exception):
        run.stop()
        await run.settled()


@gate
def renamed(n: int) -> str:
    """Delete under another name."""
    raise AssertionError("nobody approved this")


@human_in_the_loop(name="delete")
def of_another_kind(n: int):
    """Delete, which is a question now."""


@pytest.mark.parametrize(
    "tools", [[ask], [ask, renamed], [ask, of_another_kind]], ids=["removed", "renamed", "another kind"]
)
async def test_an_approval_whose_gate_is_gone_is_never_told_as_what_it_returned(path, tools):
    await left_approved(path)
    person = ScriptedPerson(["A"])
    agent, session = restarted(path, says("ok"), tools=tools, people=[person])
    run = session.resume().start()
    await run
    assert [call.name for call in person.asked] == ["ask"]
    told = json.loads(agent.results(0)["call_2"])
    assert "not executed" in told["error"]
    assert agent.results(0)["call_1"] == "A"
    notes = [entry.text for entry in run.transcript if getattr(entry, "level", None) == "warning"]
    assert any("`delete` (call_2)" in note and "not run" in note for note in notes)


async def test_an_approval_whose_gate_is_still_there_runs_it(path):
    await left_approved(path)
    ran = []

    @gate
    def delete(n: int) -> str:
        """Delete."""
        ran.append(n)
        return "deleted"

    agent, session = restarted(path, says("ok"), tools=[ask, delete], people=[ScriptedPerson(["A"])])
    await session.resume()
    assert ran == [1]
    assert agent.results(0) == {"call_1": "A", "call_2": "deleted"}


async def test_an_answer_does_not_become_the_approval_of_a_gate_of_the_same_name(path):
    await leave_open(path, calls("ask", question="a?"), answer=["A"])

    @gate(name="ask")
    def ask_gate(question: str) -> str:
        """Ask, by code."""
        raise AssertionError("nobody approved this")

    agent, session = restarted(path, says("ok"), tools=[ask_gate], people=[ScriptedPerson([])])
    await session.resume()
    assert agent.results(0) == {"call_1": "A"}


async def test_an_open_call_of_a_removed_tool_is_closed_with_words_on_the_screen(path):
    await leave_open(path, calls("ask", question="a?"))
    agent, session = restarted(path, says("ok"), tools=[], people=[ScriptedPerson([])])
    run = session.resume().start()
    await run
    notes = [entry.text for entry in run.transcript if getattr(entry, "level", None) == "warning"]
    assert any("`ask` (call_1)" in note and "not executed" in note for note in notes)
    assert agent.inputs == []
    await session.run("more")
    assert "unknown tool `ask`" in json.loads(agent.results(0)["call_1"])["error"]
    assert said(agent.inputs[0].messages) == ["go", "more"]
