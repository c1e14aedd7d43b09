"""The CrewAI documentation's Flow, not a line changed, with a scripted model and a scripted person."""

from typing import Any

import pytest

from hitl_nb import Session
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.flow.mars import PROPOSED, generate_task_steps, the_trip_is_planned, without_launch
from tests.flow.seed import seed_flow

pytestmark = pytest.mark.timeout(300)  # the first test of a process imports crewai


@pytest.fixture(scope="module")
def docs_flow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return seed_flow(tmp_path_factory.mktemp("seed"))


async def test_the_next_model_request_holds_exactly_what_the_person_chose(docs_flow):
    await the_trip_is_planned(docs_flow)


async def test_message_ids_stay_the_same_from_stream_to_history(docs_flow):
    model = ScriptedModel([calls("generate_task_steps", steps=PROPOSED), says("Done.")])
    with model:
        session = Session(docs_flow, tools=[generate_task_steps], people=[ScriptedPerson([without_launch])])
        await session.run("Plan a trip to Mars")
        ids = [message.id for message in session.messages]
        model._turns.append([says("Again.")])
        await session.run("Thanks")
    assert [message.id for message in session.messages][:4] == ids
    assert len(set(ids)) == 4
    # They are ours; strict providers answer a message that has one with 400.
    assert not any("id" in message for message in model.requests[-1].messages)
