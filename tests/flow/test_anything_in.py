"""Anything in, valid out: whatever a stream brings, the history proves, and every provider takes the next request.

`ScriptedModel` refuses what one provider or another refuses: names, pairing, JSON, unicode.
"""

import random
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import (
    MessagesSnapshotEvent,
    RunFinishedEvent,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent
from hitl_nb.agui import check
from hitl_nb.errors import FollowUpLimit
from hitl_nb.testing import ScriptedModel, calls, says
from tests.flow import strict
from tests.flow.strict import StrictServer, serving

pytestmark = pytest.mark.timeout(300)

EMOJI = "\ud83d\ude00"  # as a stream brings it: two halves


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


async def says_half(call: Any) -> None:
    call.respond("half \ud83d")


async def test_halves_that_are_streamed_apart_are_joined_and_one_alone_is_replaced():
    turns = [[says(f"Hi {EMOJI}, \ud83d"), calls("ask", raw=f'{{"question": "{EMOJI} or \ud83d?"}}')], says("Done.")]
    session = Session(ChatAgent("openai/gpt-4o"), tools=[ask], people=[says_half])
    with ScriptedModel(turns, fragment=1) as model:
        await session.run("I am \ud83d")
    assert [str(message.content) for message in session.messages if message.role != "tool"] == [
        *("I am \ufffd", "Hi \U0001f600, \ufffd", "Done."),
    ]
    assert session.messages[1].tool_calls[0].function.arguments == '{"question": "\U0001f600 or \ufffd?"}'
    assert model.requests[1].messages[-1]["content"] == "half \ufffd"


@pytest.mark.parametrize(
    "wrong",
    [
        calls("delete everything!", id="c"),
        calls("ask", id="c", raw='{"question": NaN}'),
        calls("ask", id="c", raw='{"question": "\\ud83d"}'),
        calls("ask", id="c", raw='["a list"]'),
        calls("ask", id="c", raw='{"question": "cut'),
        calls("x" * 100, id="c"),
    ],
    ids=lambda it: f"{it.name[:20]} {it.arguments}",
)
async def test_a_wrong_call_does_not_make_the_thread_unusable(wrong):
    session = Session(ChatAgent("openai/gpt-4o"), tools=[ask], people=[says_half])
    with ScriptedModel([wrong, says("Sorry."), says("Hello again.")]):
        await session.run("Go")
        reply = await session.run("Are you there?")
    assert reply.text == "Hello again."


@pytest.mark.parametrize(
    ("chunks", "said", "note"),
    [
        ([{"content": "Once upon"}, "length"], "Once upon", "token limit"),
        ([{"content": "How to"}, "content_filter"], "How to", "content filter"),
        (["stop"], "", "said nothing"),
        ([{"refusal": "I will "}, {"refusal": "not."}, "stop"], "I will not.", None),
    ],
)
async def test_how_a_reply_ended_is_said_to_the_user(chunks, said, note):
    events = [strict._chunk({}, it) if isinstance(it, str) else strict._chunk(it) for it in chunks]
    with serving(StrictServer([events, strict.openai_says("Hello.")])) as server:
        session = Session(ChatAgent("openai/gpt-4o", api_base=server.url, api_key="k"))
        run = session.start("Go")
        reply = await run
        notes = [entry.text for entry in run.transcript if hasattr(entry, "level")]
        assert (await session.run("And now?")).text == "Hello."
    assert reply.text == said
    assert [it for it in notes if note and note in it] == notes[: 1 if note else 0]


class SameId:
    """An agent that calls each of its replies the same."""

    def __init__(self, *, snapshots: bool = False) -> None:
        self._runs = 0
        self._snapshots = snapshots

    async def run(self, input: Any) -> Any:  # noqa: A002
        self._runs += 1
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        yield TextMessageStartEvent(message_id="msg", role="assistant")
        yield TextMessageContentEvent(message_id="msg", delta=f"Reply {self._runs}")
        yield TextMessageEndEvent(message_id="msg")
        if self._snapshots:
            said = {"id": "msg", "role": "assistant", "content": f"Reply {self._runs}"}
            messages = [*(it.model_dump() for it in input.messages), said]
            yield MessagesSnapshotEvent.model_validate({"messages": messages})
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


@pytest.mark.parametrize("snapshots", [False, True])
async def test_an_agent_that_calls_every_reply_the_same_is_heard_each_time(snapshots):
    session = Session(SameId(snapshots=snapshots))
    replies = [(await session.run(f"Message {number}")).text for number in (1, 2, 3)]
    assert replies == ["Reply 1", "Reply 2", "Reply 3"]
    assert [message.role for message in session.messages] == ["user", "assistant"] * 3
    assert len({message.id for message in session.messages}) == 6


# -- random streams ---------------------------------------------------------------------------------------------------

PIECES = ["", "word ", EMOJI, "\ud83d", "\ude00", "\x00", "é", '"', "\\"]
ARGUMENTS = [
    '{"question": "Go?"}',
    f'{{"question": "{EMOJI}"}}',
    '{"question": "\\ud83d"}',
    '{"question": NaN}',
    '{"question": "cut',
    '{"question": "a"}{"question": "b"}',
    "[]",
    "",
]
NAMES = ["ask", "ask", "ask", "", "no such tool", "ask!", "x" * 70]


class RandomAgent:
    """Legal streams of anything: texts and calls with ids that come again, cut anywhere, fragments twice at times."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.given: list[Any] = []

    async def run(self, input: Any) -> Any:  # noqa: A002
        draw = self._draw
        self.given.append(list(input.messages))
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        answered = input.messages[-1].role == "tool"
        for _ in range(draw.randrange(3)):
            message_id = draw.choice(["m", "n", f"m{draw.random()}"])
            yield TextMessageStartEvent(message_id=message_id, role="assistant")
            for _ in range(draw.randrange(4)):
                yield TextMessageContentEvent(message_id=message_id, delta=draw.choice(PIECES))
            yield TextMessageEndEvent(message_id=message_id)
        for call_id in draw.sample(["c", "d", f"c{draw.random()}"], draw.randrange(1 if answered else 3)):
            name, arguments = draw.choice(NAMES), draw.choice(ARGUMENTS)
            yield ToolCallStartEvent(
                tool_call_id=call_id, tool_call_name=name, parent_message_id=draw.choice([None, "m"])
            )
            place = draw.randrange(len(arguments) + 1)
            for piece in (arguments[:place], arguments[place:], draw.choice(["", "", arguments])):
                yield ToolCallArgsEvent(tool_call_id=call_id, delta=piece)
            yield ToolCallEndEvent(tool_call_id=call_id)
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)


@pytest.mark.parametrize("seed", range(80))
async def test_after_any_stream_the_history_proves_and_the_next_request_is_taken(seed):
    draw = random.Random(seed)
    agent = RandomAgent(draw)
    session = Session(agent, tools=[ask], people=[says_half], journal=None, max_follow_ups=3)
    for _ in range(6):
        with suppress(FollowUpLimit):
            await session.run(draw.choice(["Go", f"Go {EMOJI}", "\ud83d"]))
        check(session.messages)
    for given in agent.given:
        check(given)
    with ScriptedModel([says("Taken.")]):
        chat = Session(ChatAgent("openai/gpt-4o"), journal=None)
        chat._thread.messages = session.messages
        assert (await chat.run("Hello?")).text == "Taken."
