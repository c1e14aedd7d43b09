"""Many open questions at one table: frozen when it is drawn, each answered by itself, and none by accident."""

import asyncio
from functools import partial

import pytest

from hitl_nb import Journal, Session, approve, gate, human_in_the_loop, pending, review_calls
from hitl_nb._waiting import until_decided
from hitl_nb.cards import Approval
from hitl_nb.data import SqlReview
from hitl_nb.errors import Declined, InvalidValue, UsageError
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.cards.desk import Desk, record


async def waits(call):
    await until_decided(call)


@gate
def send(to: str, amount: int) -> str:
    """Send money."""
    SENT.append((to, amount))
    return f"sent to {to}"


@gate(render=partial(Approval, risk="high"))
def wipe(disk: str) -> str:
    """Wipe a disk."""
    SENT.append(disk)
    return "gone"


@human_in_the_loop
def name_it(what: str) -> str:
    """Ask for a name."""
    raise NotImplementedError


@gate(render=SqlReview)
def run_sql(sql: str) -> str:
    """Run a statement."""
    SENT.append(sql)
    return "done"


SENT: list[object] = []


async def open_calls(path=None):
    """A run with five open calls, and its agent."""
    SENT.clear()
    turn = [calls("send", to=who, amount=n) for n, who in enumerate("abc")]
    agent = ScriptedAgent([[*turn, calls("wipe", disk="/dev/sda"), calls("name_it", what="ship")], says("ok")])
    session = Session(agent, tools=[send, wipe, name_it], people=[waits], journal=path and Journal(path))
    run = session.start("go")
    while len(pending()) < 5:
        await asyncio.sleep(0)
    return run, agent


def by_name(open_, *names):
    return [call.occurrence for call in open_ if call.name in names]


async def test_each_is_answered_by_itself_and_those_that_are_left_stay_open(tmp_path):
    run, agent = await open_calls(tmp_path / "j.sqlite")
    sends = by_name(pending(), "send")

    def act(desk):
        high, mails, names = desk.props["groups"]
        assert (high["title"], high["high"], mails["columns"]) == ("Wipe", True, ["to", "amount"])
        assert [row["cells"][0]["text"] for row in mails["rows"]] == ["a", "b", "c"]
        assert [bool(row["why"]) for row in (*high["rows"], *mails["rows"], *names["rows"])] == [False] * 4 + [True]
        desk.send({"approve": sends[:2], "decline": [sends[2], names["rows"][0]["id"]]})

    open_ = pending()
    batch = await at_the_desk_last(review_calls(open_, reason="not today", people=waits), act)
    assert [len(part) for part in (batch.approved, batch.declined, batch.left, batch.failed)] == [2, 2, 1, 0]
    assert [call.name for call in pending()] == ["wipe"]
    pending()[0].decline()
    await run
    assert SENT == [("a", 0), ("b", 1)]
    assert "not today" in agent.results(1)["call_3"]
    counted = Journal(tmp_path / "j.sqlite").summary()  # a row each
    assert (counted.asked, counted.approved, counted.declined) == (5, 2, 3)


async def test_a_statement_that_may_write_is_of_high_risk_and_one_that_reads_is_not():
    SENT.clear()
    statements = ["SELECT 1", "DELETE FROM t", "SELECT 2", "CALL refresh()", "not SQL ("]
    agent = ScriptedAgent([[calls("run_sql", sql=each) for each in statements], says("ok")])
    run = Session(agent, tools=[run_sql], people=[waits]).start("go")
    while len(pending()) < len(statements):
        await asyncio.sleep(0)
    asked = {call.occurrence: call.args.sql for call in pending()}

    def act(desk):
        high, low = desk.props["groups"]
        shown = [[asked[row["id"]] for row in group["rows"]] for group in (high, low)]
        assert shown == [["DELETE FROM t", "CALL refresh()", "not SQL ("], ["SELECT 1", "SELECT 2"]]
        assert (high["high"], low["high"]) == (True, False)
        desk.send({"approve": [row["id"] for row in low["rows"]], "decline": [row["id"] for row in high["rows"]]})

    await at_the_desk_last(review_calls(pending(), reason="no", people=waits), act)
    await run
    assert SENT == ["SELECT 1", "SELECT 2"]


async def test_what_takes_more_than_a_yes_or_is_not_in_the_table_is_refused():
    run, _ = await open_calls()
    first, *_, last = pending()

    def act(desk):
        for wrong in (
            {"approve": [last.occurrence]},
            {"approve": [first.occurrence], "decline": [first.occurrence]},
            {"approve": ["another"]},
            {"approve": []},
            None,
        ):
            with pytest.raises(InvalidValue):
                desk.send(wrong)
        desk.call.decline()

    with pytest.raises(Declined):
        await at_the_desk_last(review_calls(pending(), people=waits), act)
    assert len(pending()) == 5
    run.stop()


async def at_the_desk_last(question, act):
    """The answer of the newest question after `act` at its card."""
    asked = asyncio.ensure_future(question)
    while pending()[-1].name != "review_calls":
        await asyncio.sleep(0)
    act(Desk(pending()[-1]))
    return await asked


async def test_what_somebody_else_has_decided_meanwhile_is_told_and_a_changed_one_is_not_approved():
    run, _ = await open_calls()
    first, second, *_ = open_ = pending()[:3]

    def act(desk):
        first.decline()
        desk.send({"approve": [each.occurrence for each in open_], "decline": []})

    batch = await at_the_desk_last(review_calls(open_, people=waits), act)
    assert batch.failed == ((first, "somebody else was first"),)
    assert second in batch.approved
    run.stop()


async def test_its_record_names_each(tmp_path):
    asked = [asyncio.ensure_future(approve(f"Keep {n}?", {"n": n}, people=waits)) for n in range(2)]
    while len(pending()) < 2:
        await asyncio.sleep(0)
    open_ = pending()
    person = ScriptedPerson(
        [lambda call: {"approve": [open_[0].occurrence], "decline": [open_[1].occurrence]}], name="ada"
    )
    await review_calls(open_, people=person)
    assert [await each for each in asked] == [True, False]
    assert record(person.asked[0]).splitlines()[0] == "✓ Of 2 questions: approved 1, declined 1"
    assert open_[0].answered_by == "ada"


def test_nothing_open_is_told():
    with pytest.raises(UsageError, match="got 0 open questions"):
        review_calls([])


async def test_a_batch_is_no_yes():
    run, _ = await open_calls()
    person = ScriptedPerson([{"approve": [], "decline": by_name(pending(), "send")}])
    batch = await review_calls(pending(), people=person)
    with pytest.raises(UsageError, match="neither yes nor no"):
        bool(batch)
    run.stop()
