"""The one object: first answer wins, from any thread, and nothing but an answer is an approval."""

import asyncio
import json
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal

import pytest
from pydantic import BaseModel

from hitl_nb import Call
from hitl_nb._calls import Handle
from hitl_nb._encoding import encode
from hitl_nb._schema import validator_for
from hitl_nb._waiting import until_decided
from hitl_nb.errors import CallNotOpenError, InvalidValue


def a_call(answer: object = None) -> Call:
    return Call(id="call_1", name="ask", answer_type=validator_for(answer) if answer else None)


def an_open_call(answer: object = None) -> Call:
    call = a_call(answer)
    Handle.of(call).open_now({"question": "which?"})
    return call


async def test_the_first_answer_wins_and_the_second_returns_false():
    call = an_open_call()
    assert call.respond("a") is True
    assert call.respond("b") is False
    assert (call.answer, call.result, call.outcome, call.status) == ("a", "a", "answered", "complete")
    assert call.late_answers == ["b"]


async def test_status_goes_from_in_progress_to_executing_to_complete():
    call = a_call()
    seen = []
    call.observe(lambda change: seen.append(change["new"]), "status")
    Handle.of(call).open_now({})
    call.respond(1)
    assert seen == ["executing", "complete"]


async def test_an_answer_before_the_question_is_complete_raises_and_changes_nothing():
    call = a_call()
    with pytest.raises(CallNotOpenError, match="executing"):
        call.respond("early")
    assert not call.decided


async def test_an_answer_of_the_wrong_type_raises_says_why_and_leaves_the_call_open():
    call = an_open_call(int)
    with pytest.raises(InvalidValue):
        call.respond("many")
    assert call.status == "executing"
    assert call.error
    assert call.respond(3) is True
    assert call.error is None


async def test_an_answer_that_cannot_be_sent_leaves_the_call_open():
    call = an_open_call()
    with pytest.raises(InvalidValue, match="cannot be sent"):
        call.respond(object())
    assert call.status == "executing"


@pytest.mark.parametrize("end", ["decline", "cancel"])
async def test_a_refusal_is_structured_and_says_not_executed(end):
    call = an_open_call()
    getattr(call, end)("too risky")
    content = json.loads(call.result)
    assert content["approved"] is False
    assert content["reason"] == "too risky"
    assert "NOT executed" in content["message"]
    assert not call.approved
    assert call.answer is None


async def test_a_hundred_threads_answer_and_exactly_one_counts():
    call = an_open_call()
    start = threading.Barrier(20)

    def answer(number: int) -> bool:
        start.wait()
        return call.respond(number)

    waiting = asyncio.create_task(until_decided(call))
    with ThreadPoolExecutor(20) as pool:
        futures = [asyncio.wrap_future(pool.submit(answer, number)) for number in range(20)]
        counted = await asyncio.gather(*futures)
    await waiting
    assert counted.count(True) == 1
    await asyncio.sleep(0)
    assert call.answer == counted.index(True)
    assert call.result == str(counted.index(True))
    assert sorted(call.late_answers) == [number for number in range(20) if number != call.answer]


async def test_an_answer_from_a_thread_wakes_the_loop_at_once_and_traits_change_in_the_loop():
    call = an_open_call()
    threads = []
    call.observe(lambda _: threads.append(threading.current_thread()), "status")
    waiting = asyncio.create_task(until_decided(call))
    await asyncio.sleep(0)
    await asyncio.to_thread(call.respond, "yes")
    await waiting
    assert call.status == "complete"
    assert threads == [threading.main_thread()]


async def test_an_observer_that_raises_does_not_hide_the_decision(caplog):
    call = an_open_call()
    call.observe(lambda _: 1 / 0, "answer")
    assert call.respond("yes") is True
    assert call.status == "complete"
    assert "observer" in caplog.text


async def test_a_callback_added_after_the_decision_is_called_at_once():
    call = an_open_call()
    call.respond(1)
    seen = []
    call.add_done_callback(lambda: seen.append(1))
    assert seen == [1]


class Point(BaseModel):
    x: int
    day: date


@pytest.mark.parametrize(
    ("value", "content"),
    [
        (None, ""),
        ("", ""),
        ("naïve ☃", "naïve ☃"),
        (True, "true"),
        (0, "0"),
        (math.nan, "null"),
        ({"a": 1}, '{"a":1}'),
        ([1, "ü"], '[1,"ü"]'),
        (2**60 + 1, "1152921504606846977"),
        (Decimal("1.10"), '"1.10"'),
        (date(2026, 1, 2), '"2026-01-02"'),
        (Point(x=1, day=date(2026, 1, 2)), '{"x":1,"day":"2026-01-02"}'),
    ],
)
def test_the_wire_has_the_webs_strings(value, content):
    assert encode(value) == content
