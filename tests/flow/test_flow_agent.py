"""`FlowAgent`: streams that are legal, ids that are kept, whatever a Flow does between its calls of the model."""

import json
from typing import Any

import pytest
from ag_ui_crewai.sdk import CopilotKitState, copilotkit_emit_tool_result, copilotkit_stream
from crewai.flow.flow import Flow, listen, router, start
from litellm import acompletion

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import FlowAgent
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.flow.shapes import MODEL, Shape, assert_acceptable, f, provider
from tests.flow.valid import Recorded

pytestmark = pytest.mark.timeout(300)


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


async def reply_of(flow: Any, **options: Any) -> Any:
    options = {"stream": True, "tools": [*flow.state.copilotkit.actions]} | options
    response = await copilotkit_stream(await acompletion(model=MODEL, messages=flow.state.messages, **options))
    return response.choices[0].message


class ChatFlow(Flow[CopilotKitState]):
    @start()
    async def chat(self):
        self.state.messages.append(await reply_of(self))


class SilentFlow(Flow[CopilotKitState]):
    """Does not stream, so no event tells of its calls."""

    @start()
    async def chat(self):
        self.state.messages.append(await reply_of(self, stream=False))


class WorkingFlow(Flow[CopilotKitState]):
    """Answers `look_up` itself and goes on, in one run; every other call is for people."""

    @start()
    async def begin(self):
        pass

    @router(begin)
    async def chat(self):
        message = await reply_of(self)
        self.state.messages.append(message)
        return "look_up" if [c for c in message.tool_calls or () if c.function.name == "look_up"] else "over"

    @router("look_up")
    async def answer(self):
        for call in self.state.messages[-1].tool_calls:
            self.state.messages.append({"role": "tool", "tool_call_id": call.id, "content": "42"})
            await copilotkit_emit_tool_result(call.id, "42")
        return "again"

    @router("again")
    async def chat_again(self):
        return await self.chat()

    @listen("over")
    async def end(self):
        pass


async def play(flow: Any, *turns: Any, answers: list[Any]) -> tuple[Session, ScriptedModel, Recorded]:
    recorded = Recorded(FlowAgent(flow))
    with ScriptedModel(list(turns)) as model, ScriptedPerson(answers) as person:
        session = Session(recorded, tools=[ask], people=[person])
        await session.run("Go")
    for request in model.requests:
        assert_acceptable([message for message in request.messages if message["role"] != "system"])
    recorded.assert_valid()
    return session, model, recorded


async def test_text_around_a_call_is_one_message_and_a_legal_stream():
    session, _, _ = await play(
        ChatFlow, [says("Let me "), calls("ask", question="Go?"), says("ask.")], says("Done."), answers=["yes"]
    )
    asked = session.messages[1]
    assert asked.content == "Let me ask."
    assert [call.function.name for call in asked.tool_calls] == ["ask"]


async def test_a_flow_that_does_not_stream_is_told_of_all_the_same():
    _, model, recorded = await play(SilentFlow, calls("ask", question="Go?"), says("Done."), answers=["yes"])
    kinds = [event.type.value for event in recorded.runs[0]]
    assert kinds.index("TOOL_CALL_START") < kinds.index("TOOL_CALL_END") < kinds.index("MESSAGES_SNAPSHOT")
    assert model.requests[1].messages[-1]["content"] == "yes"


async def test_results_of_the_flow_itself_belong_to_their_call_although_ids_are_used_again():
    look = calls("look_up", id="call_0", what="life")
    session, model, recorded = await play(
        WorkingFlow, look, [says("Now you."), calls("ask", id="call_0", question="42?")], says("Done."), answers=["yes"]
    )
    results = [message for message in session.messages if message.role == "tool"]
    assert [message.content for message in results] == ["42", "yes"]
    assert len({message.tool_call_id for message in results}) == 2
    assert [message["content"] for message in model.requests[-1].messages if message["role"] == "tool"] == ["42", "yes"]
    told = [event for event in recorded.runs[0] if event.type.value == "TOOL_CALL_RESULT"]
    assert [event.tool_call_id for event in told] == [results[0].tool_call_id]


async def test_message_ids_that_a_provider_uses_again_are_two_messages():
    with provider("One.", "Two.", reply_id="reply"):
        session = Session(ChatFlow)
        await session.run("First")
        await session.run("Second")
    assert [message.content for message in session.messages] == ["First", "One.", "Second", "Two."]
    assert len({message.id for message in session.messages}) == 4


async def test_a_wrong_call_does_not_come_back_to_the_model_as_broken_json():
    torn = Shape(name="torn", deltas=[[f(0, "a", "ask", '{"question": "G')]], finish="length", chat=([], 1))
    with provider(torn, "Sorry.") as model:
        await Session(ChatFlow, tools=[ask], people=[ScriptedPerson([])]).run("Go")
    asked, result = model.requests[1]["messages"][-2:]
    assert json.loads(asked["tool_calls"][0]["function"]["arguments"]) == {"INVALID_JSON": '{"question": "G'}
    assert "not complete JSON" in result["content"]
