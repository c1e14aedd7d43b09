"""Whatever a provider does to a streamed call: the right question, or an error to the model, never a wrong one."""

import json
from typing import Any

import pytest
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_stream
from crewai.flow.flow import Flow, start
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent, FlowAgent
from tests.flow.shapes import MODEL, SHAPES, Shape, assert_acceptable, provider
from tests.flow.valid import Recorded

pytestmark = pytest.mark.timeout(300)


@human_in_the_loop
def book_trip(x: int = 0, note: str = "") -> str:
    """Book a trip."""


class ChatFlow(Flow[CopilotKitState]):
    @start()
    async def chat(self):
        response = await copilotkit_stream(
            await acompletion(
                model=MODEL, messages=self.state.messages, tools=[*self.state.copilotkit.actions], stream=True
            )
        )
        self.state.messages.append(response.choices[0].message)


class Person:
    """Says which question an answer belongs to."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def __call__(self, call: Any) -> None:
        self.asked.append(call.args.x)
        call.respond(f"yes to {call.args.x}")


async def play(agent: Any, shape: Shape, expected: tuple[list[int], int]) -> None:
    asked, refused = expected
    person = Person()
    recorded = Recorded(agent)
    with provider(shape, "Done.") as model:
        session = Session(recorded, tools=[book_trip], people=[person])
        reply = await session.run("Book trips")

    assert person.asked == asked
    # What a model wrote badly is handed on as it is; all else about the stream is legal.
    broken = refused or shape.name == "two calls under one id, interleaved"
    recorded.assert_valid(despite=["AGUI204"] if broken else [])
    if not asked and not refused:
        assert len(model.requests) == 1
        return
    assert reply.text == "Done."
    assert {call.status for call in reply.calls} <= {"complete"}
    history = model.requests[1]["messages"]
    assert_acceptable(history)
    results = [message["content"] for message in history if message["role"] == "tool"]
    assert [it for it in results if it.startswith("yes")] == [f"yes to {x}" for x in asked]
    errors = [json.loads(it) for it in results if not it.startswith("yes")]
    assert len(errors) == refused
    assert all("error" in error for error in errors)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_through_the_chat_agent(shape):
    await play(ChatAgent(MODEL), shape, shape.chat)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
async def test_through_a_flow(shape):
    await play(FlowAgent(ChatFlow), shape, shape.flow or shape.chat)


@pytest.mark.parametrize("agent", [ChatAgent, ChatFlow], ids=["chat", "flow"])
@pytest.mark.parametrize("call_id", ["call_0", ""])
async def test_an_id_that_the_thread_has_already_is_another_question(agent, call_id):
    def again(x: int) -> Shape:
        shape = next(it for it in SHAPES if it.name == "finish_reason stop")
        fragment = shape.deltas[0][0].model_copy(deep=True)
        fragment.id, fragment.function.arguments = call_id, f'{{"x": {x}}}'
        return Shape(name=str(x), deltas=[[fragment]], chat=([x], 0))

    person = Person()
    with provider(again(1), again(2), "Done.") as model:
        session = Session(ChatAgent(MODEL) if agent is ChatAgent else agent, tools=[book_trip], people=[person])
        reply = await session.run("Book trips")
    assert person.asked == [1, 2]
    assert [call.answer for call in reply.calls] == ["yes to 1", "yes to 2"]
    assert_acceptable(model.requests[2]["messages"])
    assert [m["content"] for m in model.requests[2]["messages"] if m["role"] == "tool"] == ["yes to 1", "yes to 2"]
