"""One dialogue for the documentation's Flow, in the kernel or behind its own server."""

from typing import Any, Literal

from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb.cards import StepReview
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled", "executing"]


@human_in_the_loop(render=StepReview)
def generate_task_steps(steps: list[Step]) -> list[Step]:
    """Propose the steps of a task for the user to approve."""


PROPOSED = [
    Step(description="Pack the naïve ☃ rover", status="enabled"),
    Step(description="Launch", status="enabled"),
    Step(description="Land", status="executing"),
]


def without_launch(call: Any) -> list[Step]:
    return [
        step.model_copy(update={"status": "disabled"}) if step.description == "Launch" else step
        for step in call.args.steps
    ]


async def the_trip_is_planned(agent: Any) -> None:
    """Play the dialogue with an agent of any kind, and prove what the model's second request holds."""
    model = ScriptedModel([calls("generate_task_steps", steps=PROPOSED), says("Packing, then landing.")])
    with model, ScriptedPerson([without_launch]) as person:
        session = Session(agent, tools=[generate_task_steps], people=[person])
        reply = await session.run("Plan a trip to Mars")

    first, second = model.requests
    assert [tool["function"]["name"] for tool in first.tools] == ["generate_task_steps"]
    results = [message for message in second.messages if message["role"] == "tool"]
    assert len(results) == 1
    assert second.messages.index(results[0]) == len(second.messages) - 1
    asked = second.messages[-2]
    assert asked["role"] == "assistant"
    assert [call["id"] for call in asked["tool_calls"]] == [results[0]["tool_call_id"]] == ["call_1"]
    assert results[0]["content"] == (
        '[{"description":"Pack the naïve ☃ rover","status":"enabled"},'
        '{"description":"Launch","status":"disabled"},{"description":"Land","status":"executing"}]'
    )
    assert reply.text == "Packing, then landing."
    assert [message.role for message in reply.messages] == ["user", "assistant", "tool", "assistant"]
    assert reply.calls[0].answer == without_launch(reply.calls[0])
