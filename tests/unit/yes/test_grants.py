"""What was approved runs once, by the process whose own question was answered, or not at all."""

import asyncio
import json
from contextlib import suppress

import pytest

from hitl_nb import Journal, Session, gate
from hitl_nb._calls import Handle
from hitl_nb.errors import RunStopped, UsageError
from hitl_nb.people import Policy, ScriptedPerson, allow
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.yes.desk import until, waits


@pytest.fixture
def effects():
    return []


@pytest.fixture
def pay(effects):
    @gate
    async def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        await asyncio.sleep(0)
        return f"paid {amount}"

    return pay


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


def kernel(path, tools, *turns, people=()):
    """A kernel on the thread: a session with a connection of its own."""
    agent = ScriptedAgent([*turns, says("ok")])
    session = Session(agent, tools=tools, people=list(people) or [waits], thread_id="t", journal=Journal(path))
    return agent, session


async def two_kernels_ask(path, tools):
    """Two kernels that both have the one question open, as after a restart with the old kernel still there."""
    _, first = kernel(path, tools, calls("pay", amount=500))
    run = first.start("go")
    await until(lambda: first.pending)
    agent, second = kernel(path, tools)
    other = asyncio.ensure_future(second.resume())
    await until(lambda: second.pending)
    return (first, run), (agent, second, other)


async def test_two_kernels_one_yes_one_run_and_both_models_hear_what_it_returned(path, pay, effects):
    (first, run), (agent, second, other) = await two_kernels_ask(path, [pay])
    (one,), (two,) = first.pending, second.pending
    assert one.respond(one.args) is True
    await run
    two.respond(two.args)
    await other
    assert effects == [500]
    assert agent.results(0) == {"call_1": "paid 500"}


async def test_two_kernels_a_no_of_the_second_is_a_no_for_the_first(path, pay, effects):
    (first, run), (_, second, other) = await two_kernels_ask(path, [pay])
    (one,), (two,) = first.pending, second.pending
    two.decline("never")
    await until(lambda: two.status == "complete")
    one.respond(one.args)
    await run
    with suppress(Exception):
        await other
    assert (effects, one.outcome) == ([], "declined")


async def test_the_loser_of_a_race_does_not_run_it_even_if_nobody_has_begun(path, pay, effects, monkeypatch):
    monkeypatch.setattr("hitl_nb._calls._grant._PATIENCE", 0.1)
    (first, run), (agent, second, other) = await two_kernels_ask(path, [pay])
    (one,), (two,) = first.pending, second.pending
    # The winner is killed between its answer and its run.
    journal = Journal(path)
    journal.answered(one, await asked_of(one))
    two.respond(two.args)
    await other
    assert effects == []
    assert "may or may not have run" in agent.results(0)["call_1"]
    run.stop()
    with suppress(RunStopped):
        await run


async def asked_of(call):
    from hitl_nb._calls import Decision
    from hitl_nb._encoding import encode

    return Decision(outcome="answered", answer=call.args, result=encode(call.args), by="ada", via="card")


async def test_an_approved_call_that_never_started_is_run_by_the_next_kernel_once(path, pay, effects):
    _, first = kernel(path, [pay], calls("pay", amount=500))
    run = first.start("go")
    (one,) = await until(lambda: first.pending)
    # Killed right after the answer was on disk.
    first_journal = Journal(path)
    first_journal.answered(one, await asked_of(one))
    agent, second = kernel(path, [pay], people=[ScriptedPerson([])])
    await second.resume()
    assert (effects, agent.results(0)) == ([500], {"call_1": "paid 500"})
    _, third = kernel(path, [pay], people=[ScriptedPerson([])])
    await third.resume()
    assert effects == [500]
    run.stop()
    with suppress(RunStopped):
        await run


async def test_started_and_ended_are_in_the_journal_with_what_came_of_it(path, pay, effects):
    _, session = kernel(path, [pay], calls("pay", amount=5), people=[ScriptedPerson([lambda call: call.args])])
    await session.run("go")
    journal = Journal(path)
    names = [event["event"] for event in journal if event["event"] not in ("thread_saved", "shown")]
    assert names == ["asked", "answered", "started", "ended", "delivered"]
    assert journal.verify().ok


async def test_a_rule_that_allows_takes_a_grant_too(path, pay, effects):
    _, session = kernel(path, [pay], calls("pay", amount=5), people=[Policy(allow("pay"))])
    await session.run("go")
    assert [event["event"] for event in Journal(path)].count("started") == 1


async def test_a_call_that_needs_nobody_still_respects_a_decision_that_there_is(path, effects):
    needs = {"person": True}

    @gate(when=lambda args: needs["person"])
    def pay(amount: int) -> str:
        """Pay."""
        effects.append(amount)
        return "paid"

    _, first = kernel(path, [pay], calls("pay", amount=500))
    run = first.start("go")
    (one,) = await until(lambda: first.pending)
    one.decline("no")
    await until(lambda: one.status == "complete")
    run.stop()
    needs["person"] = False
    _, second = kernel(path, [pay])
    await second.resume()
    with suppress(RunStopped):
        await run
    assert effects == []


async def test_one_approval_is_for_one_run(pay, effects):
    agent = ScriptedAgent([calls("pay", amount=5), says("ok")])
    reply = await Session(agent, tools=[pay], people=[ScriptedPerson([lambda c: c.args])], journal=None).run("go")
    with pytest.raises(UsageError, match="run already"):
        await Handle.of(reply.calls[0]).grant.begin()


async def test_a_stop_between_yes_and_run_uses_up_the_grant(path, effects):
    @gate
    def first(n: int) -> str:
        """First."""
        effects.append("first")
        return "done"

    turn = [calls("first", n=1), calls("first", n=2)]
    _, session = kernel(path, [first], turn)
    run = session.start("go")
    _, two = await until(lambda: len(session.pending) == 2 and session.pending)
    two.respond(two.args)  # approved, and waits for the call ahead of it
    await until(lambda: two.status == "complete")
    run.stop()
    with suppress(RunStopped):
        await run
    assert (
        json.loads({m.tool_call_id: m.content for m in session.messages if m.role == "tool"}[two.id])["status"]
        == "not_executed"
    )
    _, again = kernel(path, [first], people=[ScriptedPerson([])])
    await again.resume()
    assert effects == []


async def test_code_that_calls_a_gate_has_a_grant_as_well(path, pay, effects):
    import hitl_nb

    with hitl_nb.use(journal=path, people=ScriptedPerson([lambda call: call.proposal])):
        assert await pay(7) == "paid 7"
    assert effects == [7]
    assert [e["event"] for e in Journal(path) if e["event"] in ("started", "ended")] == ["started", "ended"]
