"""The documentation's own server, not a line changed, driven by a session as in-process Flows are."""

from typing import Any

import pytest

from hitl_nb import Session
from hitl_nb.agents import HttpAgent
from hitl_nb.errors import AgentError
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.flow.mars import PROPOSED, generate_task_steps, the_trip_is_planned, without_launch
from tests.flow.seed import code_block, seed_flow
from tests.serving import serving

pytestmark = pytest.mark.timeout(300)  # the first test of a process imports crewai


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Any:
    seed_flow(tmp_path_factory.mktemp("seed"))
    names: dict[str, Any] = {"__name__": "server"}
    exec(compile(code_block("# server.py"), "server.py", "exec"), names)
    with serving(names["app"]) as url:
        yield f"{url}/human_in_the_loop"


async def test_the_next_model_request_holds_exactly_what_the_person_chose(server):
    await the_trip_is_planned(server)


async def test_message_ids_stay_the_same_although_the_server_mints_others_for_every_snapshot(server):
    model = ScriptedModel([calls("generate_task_steps", steps=PROPOSED), says("Done."), says("You're welcome.")])
    streamed = []
    with model:
        session = Session(HttpAgent(server), tools=[generate_task_steps], people=[ScriptedPerson([without_launch])])
        session.subscribe(lambda event: streamed.append(getattr(event, "parent_message_id", None)))
        await session.run("Plan a trip to Mars")
        ids = [message.id for message in session.messages]
        await session.run("Thanks")
    assert [message.id for message in session.messages][:4] == ids
    assert ids[1] in streamed
    assert [message.role for message in session.messages] == [
        *("user", "assistant", "tool", "assistant"),
        *("user", "assistant"),
    ]


async def test_calls_that_share_an_id_are_two_questions_over_http_too(server):
    model = ScriptedModel(
        [
            [calls("generate_task_steps", steps=PROPOSED[:1]), calls("generate_task_steps", steps=PROPOSED[1:])],
            says("Both."),
        ]
    )
    model._call_ids = iter(["call_0", "call_0"])  # type: ignore[assignment]  # as a provider that counts badly
    person = ScriptedPerson([lambda call: call.args.steps[:1]] * 2)
    with model, person:
        await Session(server, tools=[generate_task_steps], people=[person]).run("Plan two trips")
    assert [call.args.steps for call in person.asked] == [PROPOSED[:1], PROPOSED[1:]]
    results = [message for message in model.requests[1].messages if message["role"] == "tool"]
    assert ["Pack" in message["content"] for message in results] == [True, False]


async def test_a_failing_flow_is_an_agent_error_and_the_thread_goes_on(server):
    def fails(_: Any) -> Any:
        raise ZeroDivisionError("in the model")

    model = ScriptedModel([calls("generate_task_steps", steps=PROPOSED), fails, says("Done after all.")])
    with model:
        session = Session(server, tools=[generate_task_steps], people=[ScriptedPerson([without_launch])])
        with pytest.raises(AgentError, match="CrewAI flow failed"):
            await session.run("Plan a trip to Mars")
        reply = await session.run("Please go on")
    assert reply.text == "Done after all."
    assert [m["role"] for m in model.requests[-1].messages][-2:] == ["tool", "user"]
