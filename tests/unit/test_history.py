"""Each tool call has exactly one adjacent result, in call order, before any model sees the history."""

import random
import re

import pytest
from ag_ui.core import AssistantMessage, FunctionCall, ToolCall, ToolMessage, UserMessage

from hitl_nb.agui._messages import Proven, check, open_calls, paired, without_torn_calls
from hitl_nb.errors import HistoryError


def user(text="hi"):
    return UserMessage(id=text, content=text)


def asks(*ids, arguments="{}", text=None):
    calls = [ToolCall(id=i, function=FunctionCall(name="ask", arguments=arguments)) for i in ids]
    return AssistantMessage(id="-".join(ids), content=text, tool_calls=calls)


def result(call_id, content="yes"):
    return ToolMessage(id=f"r{call_id}", tool_call_id=call_id, content=content)


def test_a_result_lands_behind_its_call_even_when_a_newer_message_stands_there():
    history = paired([user(), asks("a"), user("later")], {"a": result("a")})
    assert [m.role for m in history] == ["user", "assistant", "tool", "user"]


def test_results_stand_in_call_order_whatever_the_order_of_the_answers():
    history = paired([asks("a", "b", "c")], {"c": result("c"), "a": result("a"), "b": result("b")})
    assert [m.tool_call_id for m in history[1:]] == ["a", "b", "c"]
    check(history)


def test_a_snapshot_that_dropped_the_answer_does_not_lose_it():
    assert paired([asks("a"), user("next")], {"a": result("a", "kept")})[1].content == "kept"


def test_what_a_person_answered_wins_over_what_a_server_echoes():
    history = paired([asks("a"), result("a", "Forwarded to client")], {"a": result("a", "mine")})
    assert [m.content for m in history[1:]] == ["mine"]


def test_duplicate_and_unknown_results_are_left_out():
    history = paired([result("x"), asks("a"), result("a"), result("a", "again")], {})
    assert [m.content for m in history[1:]] == ["yes"]


@pytest.mark.parametrize(
    "history",
    [
        [asks("a")],
        [asks("a"), user()],
        [asks("a", "b"), result("b"), result("a")],
        [asks("a"), user(), result("a")],
        [result("a")],
        [asks("a"), result("a"), result("a")],
        [asks("a", "b"), result("a"), user(), result("b")],
    ],
)
def test_a_broken_history_is_refused_by_name(history):
    with pytest.raises(HistoryError, match="`a`|`b`"):
        check(history)


def test_a_whole_history_passes():
    check([user(), asks("a", "b"), result("a"), result("b"), user(), asks("c"), result("c")])


def test_open_calls_are_those_without_a_result_in_call_order():
    assert [call.id for call in open_calls([asks("a", "b"), result("a"), asks("c")])] == ["b", "c"]


def test_a_call_that_was_still_being_written_goes_and_what_was_said_stays():
    torn = asks("a", arguments='{"steps": [', text="Let me see")
    assert without_torn_calls([torn])[0].tool_calls is None
    assert without_torn_calls([torn])[0].content == "Let me see"
    assert without_torn_calls([asks("a", arguments="{")]) == []


def one_turn(draw: random.Random, number: int) -> list:
    """What a turn adds: some words, some calls, their results or not, in some order."""
    ids = [f"c{number}-{place}" for place in range(draw.choice([0, 0, 1, 2]))]
    said = [user(f"u{number}"), *([asks(*ids)] if ids else [])]
    results = [result(call_id) for call_id in ids if draw.random() < 0.8]
    draw.shuffle(results)
    return [*said, *results, *([user(f"v{number}")] if draw.random() < 0.5 else [])]


@pytest.mark.parametrize("seed", range(60))
def test_what_is_proven_once_and_what_is_new_amount_to_the_whole(seed):
    draw, proven, history = random.Random(seed), Proven(), []
    for number in range(25):
        history = history + one_turn(draw, number)
        if draw.random() < 0.2:  # a snapshot: other objects, some gone, one changed
            history = [it.model_copy() for it in history if draw.random() < 0.97]
            for place in draw.sample(range(len(history)), min(1, len(history))):
                history[place] = history[place].model_copy(update={"content": "changed"})
        known = {call.id: result(call.id, "known") for call in open_calls(history) if draw.random() < 0.9}
        expected = paired(history, known)
        history = proven.paired(history, known)
        assert history == expected
        assert open_calls(proven.rest(history)) == open_calls(history)
        try:
            check(expected)
        except HistoryError as error:
            with pytest.raises(HistoryError, match=re.escape(str(error))):
                proven.check(history)
        else:
            proven.check(history)
            assert proven.rest(history) == []


def test_a_history_that_lost_a_result_is_not_proven_any_more():
    proven, history = Proven(), [user(), asks("a", "b"), result("a"), result("b"), user("next")]
    proven.check(history)
    assert proven.rest(history) == []
    with pytest.raises(HistoryError, match="`b` has no result"):
        proven.check([*history[:3], user("next")])
