"""A question and its answer: everything about them is on disk before anything else happens."""

import asyncio
import math
from datetime import UTC, datetime

import pytest

from hitl_nb import Call, Session, human_in_the_loop
from hitl_nb._schema import validator_for
from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal
from hitl_nb.people import ScriptedPerson
from hitl_nb.testing import calls, says
from tests.agents import ScriptedAgent
from tests.unit.journal.asking import STEPS, Step, Steps, a_call, answered, asked, events


async def test_a_question_is_recorded_with_all_that_was_shown(journal):
    call = asked(journal, message="Which steps?")
    [row] = events(journal)
    assert row["event"] == "asked"
    assert (row["call"], row["tool"], row["kind"], row["message"]) == (
        "call_1",
        "generate_steps",
        "tool",
        "Which steps?",
    )
    assert (row["thread"], row["run"]) == ("t", "run_1")
    assert row["args"] == STEPS.model_dump_json()
    assert len(row["args_sha256"]) == len(row["schema_sha256"]) == 64
    assert datetime.fromisoformat(row["ts"]) == call.asked_at


async def test_a_changed_schema_has_another_hash(journal):
    class Other(Steps):
        note: str = ""

    asked(journal)
    asked(journal, Other(steps=STEPS.steps), id="call_2")
    first, second = events(journal)
    assert first["schema_sha256"] != second["schema_sha256"]


async def test_what_the_model_wrote_is_kept_where_it_differs_from_what_was_shown(journal):
    call = a_call()
    journal.asked(call, arguments='{"steps": [{"description": "pack"}, {"description": "fly"}]}')
    journal.asked(a_call(id="call_2"), arguments=STEPS.model_dump_json(indent=2))
    differing, same = events(journal)
    assert differing["arguments"] == '{"steps": [{"description": "pack"}, {"description": "fly"}]}'
    assert "arguments" not in same


async def test_an_answer_is_recorded_with_who_how_when_and_what_was_changed(journal):
    call = asked(journal, answer=list[Step])
    changed = [STEPS.steps[0], Step(description="fly", status="disabled")]
    call.respond(changed, by="ada", via="card", reason="no flights")
    assert journal.answered(call) is True
    decision = journal.winner(call)
    assert (decision.outcome, decision.by, decision.via, decision.reason) == ("edited", "ada", "card", "no flights")
    assert decision.edits == call.edits
    assert decision.answer == [step.model_dump() for step in changed]
    assert decision.result == call.result
    assert decision.at == call.answered_at
    assert decision.approved
    [row] = events(journal, "answered")
    assert row["edited"] == '[{"path":"steps[1].status","from":"enabled","to":"disabled"}]'
    assert row["latency_ms"] == (call.answered_at - call.asked_at).total_seconds() * 1000 // 1


@pytest.mark.parametrize(
    ("args", "answer", "edited"),
    [
        (STEPS, STEPS.steps, "[]"),
        (STEPS, STEPS, "[]"),
        ({"n": 1}, {"n": 2}, '[{"path":"n","from":1,"to":2}]'),
        ({"n": 1}, {"n": True}, '[{"path":"n","from":1,"to":true}]'),
        ({"x": math.nan}, {"x": math.nan}, "[]"),
        ({"rows": [1, 2, 3]}, [1, 3], '[{"path":"rows[1]","from":2}]'),
        ({"a": 1}, {"a": 1, "b": 2}, '[{"path":"b","to":2}]'),
        ({"question": "which?"}, "that", None),
        ({"question": "sure?"}, True, None),
        ({"a": [1], "b": [1]}, [1], None),
        ({"a": '{"b":[1]', "c": [1]}, [1], None),
    ],
)
async def test_an_edit_is_told_from_an_untouched_proposal_and_from_a_mere_answer(journal, args, answer, edited):
    answered(journal, args, answer)
    [row] = events(journal, "answered")
    assert row.get("edited") == edited


async def test_an_interrupt_is_compared_with_what_it_proposed(journal):
    answered(journal, {"value": [1, 2]}, [1, 2], offer=[1, 2], kind="interrupt")
    answered(journal, {"value": [1, 2]}, [1], offer=[1, 2], kind="interrupt", id="call_2")
    assert [row["edited"] for row in events(journal, "answered")] == ["[]", '[{"path":"[1]","from":2}]']


async def test_whoever_answers_what_was_changed_is_found_by_comparing(journal):
    call = asked(journal, {"n": 1})
    call.respond({"n": 2}, via="script")
    journal.answered(call)
    assert journal.winner(call).outcome == "edited"
    assert events(journal, "answered")[0]["edited"] == '[{"path":"n","from":1,"to":2}]'


@pytest.mark.parametrize("end", ["decline", "cancel"])
async def test_a_refusal_has_a_reason_and_no_answer(journal, end):
    call = asked(journal)
    getattr(call, end)("too dear", by="bob")
    journal.answered(call)
    decision = journal.winner(call)
    assert (decision.answer, decision.reason, decision.by) == (None, "too dear", "bob")
    assert not decision.approved
    assert decision.result == call.result


async def test_a_click_without_a_name_is_by_whoever_sits_here_and_a_policy_is_nobody(journal):
    answered(journal, by=None)
    answered(journal, by=None, via="policy", id="call_2")
    assert [row.get("by") for row in events(journal, "answered")] == ["ada", None]


@pytest.mark.parametrize("value", [None, "", "text", 0, False, {"a": None}, [1.5], 2**60 + 1])
async def test_any_answer_comes_back_as_it_was(journal, value):
    call = answered(journal, {"q": "?"}, value)
    decision = journal.winner(call)
    assert decision.answer == value
    assert type(decision.answer) is type(value)
    assert decision.result == call.result


async def test_odd_texts_come_back_and_keep_the_chain(journal):
    odd = "nul \x00, quote ', lone \ud83d, bidi \u202e, \U0001f600"
    answered(journal, {"q": odd}, odd, message=odd, by=odd)
    assert journal.winner("call_1").answer == odd
    assert journal.verify().ok


@pytest.mark.parametrize("thing", [object(), {1: object()}, {(1, 2): 3}, b"\xff", {"f": open}])
async def test_no_argument_is_too_odd_to_be_recorded(journal, thing):
    journal.asked(a_call({"value": thing}), arguments="{}")
    assert events(journal, "asked")


async def test_a_call_that_is_not_decided_has_no_answer_to_record(journal):
    call = asked(journal)
    with pytest.raises(UsageError, match="`generate_steps` .*not decided"):
        journal.answered(call)
    assert journal.winner(call) is None


async def test_an_answer_is_not_lost_for_want_of_a_recorded_question(journal):
    call = a_call()
    call.respond("yes", by="ada")
    assert journal.answered(call) is True
    assert [row["event"] for row in journal] == ["asked", "answered"]


async def test_shown_delivered_and_late_are_events_of_their_question(journal):
    call = asked(journal)
    journal.shown(call)
    call.respond("yes", by="ada")
    journal.answered(call)
    journal.late(call, "no", "bob")
    journal.delivered(["call_1"], thread="t")
    rows = events(journal)
    assert [row["event"] for row in rows] == ["asked", "shown", "answered", "late", "delivered"]
    assert {row["question"] for row in rows} == {1}
    assert (rows[3]["value"], rows[3]["by"]) == ('"no"', "bob")


async def test_a_delivery_counts_once_and_only_for_what_was_answered(journal):
    answered(journal)
    asked(journal, id="call_2")
    journal.delivered(["call_1", "call_2", "unknown"])
    journal.delivered(["call_1", "call_2"], thread="t")
    assert [row["call"] for row in events(journal, "delivered")] == ["call_1"]


async def test_the_same_question_asked_again_stays_one_question(journal, path):
    asked(journal)
    with Journal(path) as restarted:
        call = answered(restarted)
        assert restarted.winner(call).answer == "yes"
    assert [row["event"] for row in journal] == ["asked", "asked_again", "answered"]


async def test_another_question_under_an_old_id_does_not_get_the_old_answer(journal):
    answered(journal, {"q": "delete a?"})
    other = asked(journal, {"q": "delete b?"})
    assert journal.winner(other) is None
    other.decline(by="ada")
    assert journal.answered(other) is True
    assert journal.winner(other).outcome == "declined"


async def test_a_question_that_was_settled_and_delivered_is_a_new_one_the_next_time(journal):
    answered(journal)
    journal.delivered(["call_1"])
    again = asked(journal)
    assert journal.winner(again) is None
    again.respond("no")
    assert journal.answered(again) is True


async def test_calls_of_two_threads_may_have_one_id(journal):
    first, second = asked(journal, thread="a"), asked(journal, thread="b")
    first.respond(1)
    second.respond(2)
    assert journal.answered(first)
    assert journal.answered(second)
    journal.delivered(["call_1"], thread="a")
    assert (journal.winner(first).answer, journal.winner(second).answer) == (1, 2)
    assert [decision.answer for decision in journal.load_thread("b").undelivered] == [2]
    assert journal.load_thread("a").undelivered == []


async def test_a_call_without_a_thread_is_filed_under_the_journals_own(path):
    with Journal(path, thread="cells") as journal:
        answered(journal, thread=None)
        assert {row["thread"] for row in journal} == {"cells"}


async def test_a_session_records_question_answer_and_delivery_in_this_order(journal):
    @human_in_the_loop
    def ask(question: str) -> str:
        """Ask."""

    agent = ScriptedAgent([calls("ask", question="well?"), says("ok")])
    session = Session(agent, [ask], people=ScriptedPerson(["yes"]), journal=journal)
    await session.run("go")
    names = [row["event"] for row in journal if row["event"] != "thread_saved"]
    assert names == ["asked", "answered", "delivered"]


async def test_answers_from_many_threads_keep_one_chain(journal):
    waiting = [asked(journal, id=f"call_{number}") for number in range(20)]

    def answer(call: Call) -> bool:
        call.respond(call.id)
        return journal.answered(call)

    assert all(await asyncio.gather(*(asyncio.to_thread(answer, call) for call in waiting)))
    assert journal.verify().ok
    assert all(journal.winner(call).answer == call.id for call in waiting)


async def test_an_answer_is_validated_data_and_can_be_validated_again(journal):
    call = answered(journal, STEPS, STEPS.steps, answer=list[Step])
    assert validator_for(list[Step]).validate(journal.winner(call).answer) == STEPS.steps


async def test_times_are_utc(journal):
    call = answered(journal)
    assert journal.winner(call).at.tzinfo is UTC
    assert journal.load_thread("t").undelivered[0].at == call.answered_at
