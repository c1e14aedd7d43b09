"""The web client's released behaviour, scenario by scenario; where ours differs, the better behaviour is tested."""

import json

import pytest

from hitl_nb.agui._messages import check
from hitl_nb.errors import SessionBusyError
from tests.conformance.hitl import Player, deviation, differences, main, scenarios
from tests.conftest import shared_file


def every() -> list:
    try:
        return scenarios(shared_file("conformance/hitl_scenarios.json"))
    except pytest.skip.Exception:
        return []


SCENARIOS = {scenario["name"]: scenario for scenario in every()}


def test_the_scenarios_are_there():
    shared_file("conformance/hitl_scenarios.json")
    assert len(SCENARIOS) >= 43


@pytest.mark.parametrize("name", SCENARIOS)
async def test_a_scenario_ends_as_on_the_web_or_differs_for_a_reason(name):
    player = Player(SCENARIOS[name])
    found = differences(SCENARIOS[name], await player.play())
    assert not found or deviation(name)
    check(player.session.messages)


async def play(name):
    player = Player(SCENARIOS[name])
    observed = await player.play()
    return player, observed


async def test_instead_of_answering_the_next_call_a_stale_click_is_kept_aside():
    player, observed = await play("HAZARD_stale_respond_answers_next_call")
    assert observed["results"]["a"] == "A"
    assert observed["results"].get("b") != "LATE CLICK ON CARD a"
    assert player.calls["a"].late_answers == ["LATE CLICK ON CARD a"]


async def test_instead_of_dangling_the_second_call_is_closed_by_stop_and_the_next_run_is_valid():
    _, observed = await play("stop_leaves_second_call_dangling")
    given = observed["runs"][1]["messages"]
    assert [m["toolCallId"] for m in given if m["role"] == "tool"] == ["a", "b"]


async def test_instead_of_sending_a_dangling_call_a_new_message_is_refused_and_the_answer_kept():
    player, observed = await play("new_user_message_while_pending")
    assert player.log[0][1] == SessionBusyError.__name__
    assert observed["results"] == {"a": "YES"}
    assert len(observed["runs"]) == 2


@pytest.mark.parametrize(
    "name", ["invalid_json_args", "args_null", "args_number", "args_string", "schema_violation_not_checked"]
)
async def test_instead_of_asking_or_stopping_the_model_is_told_what_is_wrong(name):
    player, observed = await play(name)
    assert player.calls == {}
    assert "invalid arguments" in json.loads(observed["results"]["a"])["error"]
    assert len(observed["runs"]) == 2


@pytest.mark.parametrize("name", ["unknown_tool_dangles", "agent_id_mismatch"])
async def test_instead_of_dangling_a_call_that_nobody_takes_gets_an_error(name):
    _, observed = await play(name)
    results = [m for m in observed["runs"][1]["messages"] if m["role"] == "tool"]
    assert "unknown tool" in json.loads(results[0]["content"])["error"]


async def test_instead_of_ending_the_run_goes_on_after_a_tool_that_raised():
    _, observed = await play("frontend_tool_throws_no_follow_up")
    assert observed["messages"][2]["content"] == "Error: boom"
    assert len(observed["runs"]) == 2


async def test_instead_of_dangling_replayed_code_is_closed_and_not_run():
    _, observed = await play("reload_pending_frontend_tool_not_executed")
    assert "not executed" in observed["messages"][-1]["content"]
    assert observed["runs"] == []


async def test_instead_of_asking_a_failed_run_asks_nobody():
    player, observed = await play("run_error_after_call_still_asks")
    assert player.calls == {}
    assert observed["results"]["a"] == "Error: Human-in-the-loop interaction aborted"
    assert "agent_run_error_event" in observed["errors"]


async def test_instead_of_bricking_the_thread_an_expired_interrupt_is_cancelled():
    _, observed = await play("int_expired_not_sent")
    assert observed["runs"][1]["resume"] == [{"interruptId": "i1", "status": "cancelled"}]


async def test_instead_of_dangling_a_call_behind_an_interrupt_gets_the_decision():
    _, observed = await play("int_other_reason_no_tool_message")
    assert observed["messages"][2]["content"] == '{"approved":true}'


async def test_instead_of_entering_the_history_a_message_during_an_interrupt_is_refused():
    _, observed = await play("int_new_user_message_blocked")
    assert observed["pendingInterrupts"] == ["i1"]
    assert [m["content"] for m in observed["messages"]] == ["go"]


async def test_what_cannot_be_played_is_a_difference_and_no_traceback(tmp_path, capsys):
    plain = {"tools": [], "turns": [[]], "script": [], "observed": {}}
    told = {"log": [], "runs": [], "messages": [], "results": {}, "statuses": {}, "pendingInterrupts": []}
    every = [
        {"name": "right", **plain, "observed": told},
        {"name": "a step of the future", **plain, "script": [{"do": "levitate"}]},
        {"name": "nobody asked", **plain, "script": [{"do": "respond_many", "id": "x", "values": [1]}]},
        {"name": "a tool without a name", **plain, "tools": [{}]},
        {"name": "nothing observed", **plain},
        {"name": "no turns"},
        7,
    ]
    file = tmp_path / "scenarios.json"
    file.write_text(json.dumps({"scenarios": every}), encoding="utf-8")
    assert await main(file) == 1
    said = capsys.readouterr().out
    assert said.count("cannot be played") == said.count("FAIL") == 6
    assert "FAIL scenario 7" in said
    assert said.endswith("hitl: 1/7, 0 deviations\n")
    file.write_text("[]", encoding="utf-8")
    assert await main(file) == 0
