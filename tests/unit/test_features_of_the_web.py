"""What CopilotKit and AG-UI give to a web page, row by row: a test here, or a line in README that says why not."""

import re
from typing import Any

import pytest
from ag_ui.core import ToolCallResultEvent

from hitl_nb import Session, frontend_tool, human_in_the_loop
from hitl_nb.testing import ScriptedPerson, calls, says
from tests.agents import ScriptedAgent
from tests.conftest import REPO

SCENARIOS = "conformance/test_hitl_scenarios"
STOPS = "unit/test_agent_checkpoints"
SESSIONS = "unit/test_sessions"

TESTED = {
    "a tool that a person answers": "unit/test_tools::test_a_function_gives_name_description_parameters_and_answer",
    "three states to draw": "unit/test_calls::test_status_goes_from_in_progress_to_executing_to_complete",
    "respond, once": f"{SCENARIOS}::test_instead_of_answering_the_next_call_a_stale_click_is_kept_aside",
    "what a result is on the wire": "unit/test_calls::test_the_wire_has_the_webs_strings",
    "arguments while they stream": "unit/agui/test_partial::test_no_prefix_ever_shows_what_is_not_so",
    "what is edited begins as proposed": "unit/cards/test_step_review::test_as_proposed_is_no_edit",
    "a tool for every name": f"{SCENARIOS}::test_a_scenario_ends_as_on_the_web_or_differs_for_a_reason",
    "tools of one agent": f"{SCENARIOS}::test_instead_of_dangling_a_call_that_nobody_takes_gets_an_error",
    "a tool that is hidden": (
        "unit/test_run_tool::test_a_tool_that_is_hidden_from_the_model_can_be_called_by_code_but_not_by_the_model"
    ),
    "no follow-up": f"{SCENARIOS}::test_a_scenario_ends_as_on_the_web_or_differs_for_a_reason",
    "parallel calls, one at a time": f"{SESSIONS}::test_one_at_a_time_asks_the_second_only_after_the_first",
    "stop": f"{SESSIONS}::test_stop_closes_open_calls_and_the_next_run_has_a_valid_history",
    "reload": "unit/test_restart::test_an_open_question_is_asked_again_and_the_run_goes_on",
    "a view that goes away": (
        "lab/test_never_lost::test_whatever_waits_shows_its_card_as_the_last_line_of_a_cell_as_often_as_one_likes"
    ),
    "a new message meanwhile": (
        f"{SCENARIOS}::test_instead_of_sending_a_dangling_call_a_new_message_is_refused_and_the_answer_kept"
    ),
    "wrong arguments": f"{SCENARIOS}::test_instead_of_asking_or_stopping_the_model_is_told_what_is_wrong",
    "an unknown tool": f"{SCENARIOS}::test_instead_of_dangling_a_call_that_nobody_takes_gets_an_error",
    "a tool that fails": f"{SCENARIOS}::test_instead_of_ending_the_run_goes_on_after_a_tool_that_raised",
    "a loop without an end": f"{SESSIONS}::test_a_model_that_never_stops_calling_is_stopped",
    "a server's placeholder": "unit/test_features_of_the_web::test_a_servers_placeholder_is_no_answer",
    "one id twice": "unit/agui/test_apply::test_a_start_that_comes_twice_makes_one_tool_call",
    "interrupts": "unit/test_interrupts::test_the_answer_comes_back_typed",
    "resolve and cancel, all of several": f"{STOPS}::test_several_interrupts_answered_in_any_order_make_one_resume",
    "the schema of a response": f"{STOPS}::test_a_response_is_checked_against_the_schema_before_it_is_sent",
    "a time to answer": f"{STOPS}::test_an_expired_interrupt_is_cancelled_and_the_thread_goes_on",
    "approved with edits": "unit/test_gates::test_what_the_person_edited_is_what_runs",
    "the legacy interrupt": f"{STOPS}::test_the_legacy_event_is_answered_by_the_command",
    "what a run leaves open": "unit/agui/test_apply::test_a_finished_run_leaves_the_calls_it_did_not_answer",
    "headless": f"{STOPS}::test_headless_code_iterates_over_requests_and_answers_them",
    "frontend actions": (
        "lab/test_beside_the_questions"
        "::test_in_a_chat_the_model_calls_a_function_and_asks_and_is_told_what_came_of_both"
    ),
    "a tool run by code": ("lab/test_beside_the_questions::test_code_runs_a_tool_and_the_model_finds_call_and_result"),
    "calls that are drawn": (
        "unit/test_run_tool::test_calls_are_shown_where_that_is_wanted_by_the_name_by_the_star_or_by_the_tool_itself"
    ),
    "shared state": (
        "unit/test_shared_state::test_in_a_thousand_interleavings_nothing_is_lost_silently_and_no_conflict_is_made_up"
    ),
    "state that is drawn": (
        "lab/test_beside_the_questions"
        "::test_a_board_is_edited_by_both_at_once_and_the_model_is_told_what_the_person_has_made_of_it"
    ),
    "what the agent is told of": "unit/test_generative::test_the_agent_is_told_of_a_value_as_it_is_at_each_run",
    "suggestions": "unit/test_chat::test_suggestions_are_fixed_or_made_by_the_model_beside_the_conversation",
    "attachments": ("unit/test_chat::test_a_picture_goes_as_one_where_the_agent_takes_pictures_and_in_words_elsewhere"),
    "subscribers": f"{STOPS}::test_subscribers_see_every_event_and_every_answer_in_order",
    "codes of errors": "unit/test_features_of_the_web::test_what_goes_wrong_has_the_code_that_it_has_on_the_web",
    "verify, expand, apply": "conformance/test_agui_traces::test_at_least_98_percent_of_the_traces_pass",
    "answers elsewhere count once": (
        "unit/inbox/test_storms::test_killed_askers_and_answerers_lose_nothing_and_do_nothing_twice"
    ),
    "who answers is not who asks": "unit/inbox/test_who::test_nobody_answers_in_another_name_or_for_themselves",
}
"""By what it is, the test that has it."""

NOT_HERE = (
    "`webmcp`",
    "`threads`",
    "voice",
    "`renderer`",
    "`AgentCapabilities`",
    '`on_error="stop"`',
    "`useComponent`",
)
"""What README says is not here, and why."""


@pytest.mark.parametrize("feature", TESTED)
def test_each_row_has_a_test_that_is_there(feature):
    file, _, name = TESTED[feature].partition("::")
    source = (REPO / "tests" / f"{file}.py").read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", source, flags=re.MULTILINE), TESTED[feature]


def test_what_is_not_here_says_why():
    readme = (REPO / "README.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^Not here, and why: (.*?)\n\n", readme, flags=re.DOTALL | re.MULTILINE)
    for each in NOT_HERE:
        assert re.search(rf"{re.escape(each)}[^()]*\([^()]+\)", line), each


@human_in_the_loop
def ask_name(hint: str) -> str:
    """Ask for a name."""


async def test_a_servers_placeholder_is_no_answer():
    def turn(_: Any) -> Any:
        yield from agent._events(calls("ask_name", hint="first"), "m1")
        yield ToolCallResultEvent(message_id="r1", tool_call_id="call_1", content="Forwarded to client")

    agent = ScriptedAgent([turn, says("Hello Ada")])
    with ScriptedPerson(["Ada"]) as person:
        await Session(agent, tools=[ask_name], people=[person]).run("Hello")
    assert agent.results(1) == {"call_1": "Ada"}


async def test_what_goes_wrong_has_the_code_that_it_has_on_the_web():
    @frontend_tool
    def fails() -> None:
        """Fail."""
        raise ValueError("no such table")

    agent = ScriptedAgent([[calls("fails"), calls("nobody")], calls("ask_name", hint=5), says("sorry")])
    session = Session(agent, tools=[ask_name, fails], people=[])
    codes = []
    session.subscribe(lambda event: codes.append(event.value["code"]) if getattr(event, "name", "") == "error" else 0)
    await session.run("go")
    assert sorted(codes) == ["tool_argument_parse_failed", "tool_handler_failed", "tool_not_found"]
