"""Agents of others: any object with `run`, whatever its ids and its snapshots are like."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import pytest
from ag_ui.core import (
    AssistantMessage,
    Event,
    FunctionCall,
    Message,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunFinishedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import Agent, ChatAgent, FlowAgent, HttpAgent, agent_of
from hitl_nb.errors import AgentDefinitionError, RunStopped
from hitl_nb.testing import says
from tests.agents import ScriptedAgent


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


# -- what is an agent -------------------------------------------------------------------------------------


def test_the_agents_of_the_house_are_agents():
    for cls in (ChatAgent, FlowAgent, HttpAgent, ScriptedAgent):
        assert issubclass(cls, Agent)


def test_an_object_with_run_looks_like_itself():
    agent = ScriptedAgent([])
    assert repr(agent_of(agent)) == repr(agent)


class WithoutStream:
    async def run(self, input: RunAgentInput) -> str:  # noqa: A002
        return "a value"


@pytest.mark.parametrize(
    ("thing", "line"),
    [
        (ScriptedAgent, r"`Session\(ScriptedAgent\(\), \.\.\.\)`"),
        (WithoutStream(), r"write `async def run\(self, input\)` that yields AG-UI events"),
        (42, "the URL of an AG-UI server"),
        (None, r"`None` cannot be run as an agent"),
    ],
)
def test_what_is_no_agent_is_refused_with_the_line_to_write(thing, line):
    with pytest.raises(AgentDefinitionError, match=line):
        agent_of(thing)


# -- how it is read ---------------------------------------------------------------------------------------


async def test_none_said_aloud_is_as_good_as_nothing_said():
    class Agent:
        async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
            yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
            yield StepStartedEvent(step_name="chat", subagent_run_id=None)
            yield StepFinishedEvent(step_name="chat", subagent_run_id=None)
            hello = AssistantMessage(id="a", content="Hello.", subagent_run_id=None)
            yield MessagesSnapshotEvent(messages=[*input.messages, hello])
            yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)

    assert (await Session(Agent()).run("Hi")).text == "Hello."


async def test_stopping_the_run_closes_the_stream():
    closed = asyncio.Event()
    started = asyncio.Event()

    class Agent:
        async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
            try:
                yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
                started.set()
                await asyncio.Event().wait()
            finally:
                closed.set()

    run = Session(Agent()).start("Hi")
    await started.wait()
    run.stop()
    with pytest.raises(RunStopped):
        await run
    assert closed.is_set()


# -- ids --------------------------------------------------------------------------------------------------

_minted = itertools.count()


class Server:
    """Asks `rounds` of questions under ids of its own choice, and shows the history as servers do.

    It proves every history that it is given: each question has the answer to it, and no other.
    """

    def __init__(self, rounds: list[list[str]], *, streams: bool, snapshots: int, remints: bool, forgets: bool) -> None:
        self.rounds = rounds
        self.runs = 0
        self._streams = streams
        self._snapshots = snapshots
        self._remints = remints
        self._forgets = forgets

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002
        self.prove(input.messages)
        number, self.runs = self.runs, self.runs + 1
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id)
        new = self._new(number)
        if self._streams:
            for event in self._told(new):
                yield event
        for _ in range(self._snapshots):
            yield MessagesSnapshotEvent(
                messages=[self._shown(it) for it in self._kept(input.messages)] + [self._shown(new)]
            )
        yield RunFinishedEvent(thread_id=input.thread_id, run_id=input.run_id)

    def prove(self, messages: list[Message]) -> None:
        waiting: list[ToolCall] = []
        asked = 0
        for message in messages:
            if message.role == "tool":
                call = waiting.pop(0)
                assert message.tool_call_id == call.id
                assert f'"{message.content}"' in call.function.arguments
            elif message.role == "assistant":
                assert not waiting
                waiting = list(message.tool_calls or ())
                asked += len(waiting)
        assert not waiting
        assert asked == sum(len(ids) for ids in self.rounds[: self.runs])

    def _new(self, number: int) -> AssistantMessage:
        ids = self.rounds[number] if number < len(self.rounds) else []
        calls = [
            ToolCall(id=it, function=FunctionCall(name="ask", arguments=f'{{"question": "{number}.{place}"}}'))
            for place, it in enumerate(ids)
        ]
        return AssistantMessage(id=f"reply-{number}", content=None if calls else "Done.", tool_calls=calls or None)

    def _told(self, message: AssistantMessage) -> list[Event]:
        if message.content:
            return [
                TextMessageStartEvent(message_id=message.id, role="assistant"),
                TextMessageContentEvent(message_id=message.id, delta=message.content),
                TextMessageEndEvent(message_id=message.id),
            ]
        return [
            event
            for call in message.tool_calls or ()
            for event in (
                ToolCallStartEvent(
                    tool_call_id=call.id,
                    tool_call_name="ask",
                    parent_message_id=message.id,
                ),
                ToolCallArgsEvent(tool_call_id=call.id, delta=call.function.arguments),
                ToolCallEndEvent(tool_call_id=call.id),
            )
        ]

    def _kept(self, messages: list[Message]) -> list[Message]:
        return [message for message in messages if message.role != "tool"] if self._forgets else messages

    def _shown(self, message: Message) -> Message:
        minted = self._remints and message.role != "user"
        return message.model_copy(update={"id": f"minted-{next(_minted)}"}) if minted else message


@settings(max_examples=200, deadline=None)
@given(
    rounds=st.lists(st.lists(st.sampled_from(["", "a", "b"]), min_size=1, max_size=3), min_size=1, max_size=4),
    shows=st.sampled_from([(True, 0), (False, 1), (False, 3), (True, 1), (True, 3)]),
    remints=st.booleans(),
    forgets=st.booleans(),
)
def test_every_question_gets_its_own_answer_whatever_the_ids_are(rounds, shows, remints, forgets):
    streams, snapshots = shows
    if streams:
        # Under one id at a time, two calls of one message are one call in AG-UI.
        rounds = [[it for place, it in enumerate(ids) if not it or it not in ids[:place]] for ids in rounds]
    server = Server(rounds, streams=streams, snapshots=snapshots, remints=remints, forgets=forgets)
    asked: list[str] = []

    async def person(call: Any) -> None:
        asked.append(call.args.question)
        call.respond(call.args.question)

    session = Session(server, tools=[ask], people=[person])
    reply = asyncio.run(_run(session))
    assert sorted(asked) == [f"{number}.{place}" for number, ids in enumerate(rounds) for place in range(len(ids))]
    assert reply.text == "Done."
    server.runs = len(rounds)
    server.prove(session.messages)
    assert len({message.id for message in session.messages}) == len(session.messages)


async def _run(session: Session) -> Any:
    return await session.run("Go")


async def test_a_scripted_agent_is_read_as_it_is():
    session = Session(ScriptedAgent([says("Hello.")]))
    assert (await session.run("Hi")).text == "Hello."
