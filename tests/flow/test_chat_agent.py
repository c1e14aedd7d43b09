"""`ChatAgent`: a plain litellm loop, as strict towards providers as they are towards it."""

import asyncio
import sys
from typing import Any

import pytest
from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    DeveloperMessage,
    FunctionCall,
    ImageInputContent,
    InputContentDataSource,
    InputContentUrlSource,
    ReasoningMessage,
    RunAgentInput,
    RunErrorEvent,
    SystemMessage,
    TextInputContent,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic import BaseModel

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent
from hitl_nb.agents.chat import openai_messages
from hitl_nb.errors import AgentDefinitionError, MissingExtraError, RunStopped, UsageError
from hitl_nb.testing import ScriptedModel, ScriptedPerson, calls, says
from tests.flow.shapes import MODEL, provider
from tests.flow.valid import Recorded

pytestmark = pytest.mark.timeout(300)


class Step(BaseModel):
    description: str


@human_in_the_loop
def generate_task_steps(steps: list[Step]) -> list[Step]:
    """Propose the steps of a task for the user to approve."""


STEPS = [Step(description="Pack the ☃ rover"), Step(description="Launch")]


async def test_the_next_model_request_holds_exactly_what_the_person_chose():
    turns = [[says("Let me see."), calls("generate_task_steps", steps=STEPS)], says("Just packing.")]
    recorded = Recorded(ChatAgent(MODEL, system="You plan trips.", temperature=0.5))
    with ScriptedModel(turns) as model, ScriptedPerson([lambda call: call.args.steps[:1]]) as person:
        reply = await Session(recorded, tools=[generate_task_steps], people=[person]).run("Plan a trip")

    assert reply.text == "Just packing."
    assert model.requests[1].messages == [
        {"role": "system", "content": "You plan trips."},
        {"role": "user", "content": "Plan a trip"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {
                    "id": "call_1",
                    "type": "function",
                    "function": {
                        "name": "generate_task_steps",
                        "arguments": '{"steps": [{"description": "Pack the ☃ rover"}, {"description": "Launch"}]}',
                    },
                }
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "call_1",
            "content": '{"status":"edited","approved":true,"value":[{"description":"Pack the ☃ rover"}],'
            '"edits":[{"path":"steps[1]","from":{"description":"Launch"}}],'
            '"message":"The user changed your proposal before approving it. Go on with the final value."}',
        },
    ]
    assert model.requests[0].options["temperature"] == 0.5
    assert [tool["function"]["name"] for tool in model.requests[0].tools] == ["generate_task_steps"]
    assert [message.role for message in reply.messages] == ["user", "assistant", "tool", "assistant"]
    recorded.assert_valid()
    assert recorded.runs[0][-1].outcome.pending_tool_call_ids == ["call_1"]


async def test_without_tools_nothing_about_tools_is_sent():
    with ScriptedModel([says("Hello.")]) as model:
        await Session(ChatAgent(MODEL, parallel_tool_calls=False, tool_choice="auto")).run("Hi")
    assert not {"tools", "parallel_tool_calls", "tool_choice"} & model.requests[0].options.keys()
    assert model.requests[0].tools == []


async def test_with_tools_parallel_tool_calls_is_sent_as_said():
    with ScriptedModel([says("Hello.")]) as model:
        await Session(ChatAgent(MODEL, parallel_tool_calls=False), tools=[generate_task_steps]).run("Hi")
    assert model.requests[0].options["parallel_tool_calls"] is False


async def test_the_stream_is_closed_at_the_finish_and_at_a_stop():
    with provider("Hello.") as model:
        await Session(ChatAgent(MODEL)).run("Hi")
        assert model.closed == 1

    waiting = asyncio.Event()

    async def pace() -> None:
        waiting.set()
        await asyncio.Event().wait()

    with ScriptedModel([says("A long story " * 10)], pace=pace):
        run = Session(ChatAgent(MODEL)).start("Tell me")
        await waiting.wait()
        run.stop()
        with pytest.raises(RunStopped):
            await run


async def test_what_the_model_raises_is_raised_after_a_run_error():
    def fails(_: Any) -> Any:
        raise ZeroDivisionError("in the model")

    recorded = Recorded(ChatAgent(MODEL))
    with ScriptedModel([fails]), pytest.raises(Exception, match="in the model"):
        await Session(recorded).run("Hi")
    assert isinstance(recorded.runs[0][-1], RunErrorEvent)


@pytest.mark.parametrize("name", ["messages", "tools", "stream"])
def test_an_option_of_the_agents_own_is_refused(name):
    with pytest.raises(AgentDefinitionError, match=f"`ChatAgent\\('{MODEL}'\\)` without `{name}=`"):
        ChatAgent(MODEL, **{name: []})  # type: ignore[arg-type]


def test_without_litellm_it_says_its_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(MissingExtraError, match=r'pip install "hitl-nb\[litellm\]".*restart the kernel'):
        ChatAgent(MODEL)


def call(name: str, arguments: str) -> ToolCall:
    return ToolCall(id="c", function=FunctionCall(name=name, arguments=arguments))


def test_messages_go_out_in_openais_form_without_ids_and_nulls():
    url = InputContentUrlSource(value="https://example.org/cat.png")
    data = InputContentDataSource(value="aGk=", mime_type="image/png")
    history = [
        SystemMessage(id="1", content="Be brief."),
        DeveloperMessage(id="2", content="No emoji."),
        UserMessage(
            id="3",
            content=[
                TextInputContent(text="Look"),
                ImageInputContent(source=url),
                ImageInputContent(source=data),
            ],
        ),
        ReasoningMessage(id="4", content="Hm."),
        ActivityMessage(id="5", activity_type="plan", content={}),
        AssistantMessage(id="6", tool_calls=[call("t", "")]),
        ToolMessage(id="7", tool_call_id="c", content="yes", error="no matter"),
        AssistantMessage(id="8"),
    ]
    assert openai_messages(history) == [  # type: ignore[arg-type]
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "No emoji."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ],
        },
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "t", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "yes"},
        {"role": "assistant", "content": ""},
    ]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"x": 1}', '{"x": 1}'),
        ('{"x": [1, 2', '{"INVALID_JSON": "{\\"x\\": [1, 2"}'),
        ("[1]", '{"INVALID_JSON": "[1]"}'),
        ("", "{}"),
    ],
)
def test_a_call_that_was_refused_does_not_make_the_thread_unusable(arguments, sent):
    (message,) = openai_messages([AssistantMessage(id="1", tool_calls=[call("", arguments)])])
    assert message["tool_calls"][0]["function"] == {"name": "call_without_a_name", "arguments": sent}


def test_a_part_that_is_neither_text_nor_image_is_refused():
    part = {"type": "audio", "source": {"type": "url", "value": "https://example.org/cat.mp3"}}
    message = UserMessage.model_validate({"id": "1", "content": [part]})
    with pytest.raises(UsageError, match="a part of the type `audio` needs an agent of your own"):
        openai_messages([message])


async def test_a_run_needs_nothing_but_an_input():
    question = RunAgentInput(thread_id="t", run_id="r", messages=[UserMessage(id="u", content="Hi")])
    with ScriptedModel([says("Hello.")]):
        events = [event async for event in ChatAgent(MODEL).run(question)]
    assert [event.type.value for event in events] == [
        *("RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
