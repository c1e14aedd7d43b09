"""One run of the agent: events in, messages and calls out.

Every agent, in-process or over HTTP, goes through the same three steps (expand chunks, verify the order, apply), so
that a session sees one shape. Pending calls are derived from the final messages as well as from events: a Flow with
``stream=False`` emits none (facts/crewai.md §1.2).
"""

from collections.abc import Callable, Iterable
from typing import Any

from ag_ui.core import (
    Event,
    Message,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    ToolCall,
    ToolCallResultEvent,
    ToolMessage,
)

from hitl_nb._calls import Call
from hitl_nb._history import PLACEHOLDER, open_calls, paired
from hitl_nb._tools import ToolBox
from hitl_nb._transcript import Transcript
from hitl_nb.agents import Agent
from hitl_nb.agui import ChunkExpander, Conversation, Verifier
from hitl_nb.errors import AgentError
from hitl_nb.session._checkpoints import Checkpoint, checkpoint_of
from hitl_nb.session._narrator import Narrator


class Turn:
    """Follows one agent run and shows it in the transcript while it streams."""

    def __init__(
        self,
        input: RunAgentInput,  # noqa: A002 - AG-UI's name
        tools: ToolBox,
        transcript: Transcript,
        publish: Callable[[Event], None],
    ) -> None:
        self._input = input
        self._conversation = Conversation(input.messages, input.state)
        self._narrator = Narrator(tools, transcript, thread_id=input.thread_id, run_id=input.run_id)
        self._publish = publish
        self._verifier = Verifier()
        self._chunks = ChunkExpander()
        self._failure: RunErrorEvent | None = None
        self._finished = False
        self._legacy: list[Checkpoint] = []
        self._seen: dict[str, ToolMessage] = self._results()

    @property
    def given(self) -> list[Message]:
        """The history that the agent was given."""
        return self._input.messages

    @property
    def messages(self) -> list[Message]:
        """The history after the events so far; an answer that was in it once stays, whatever a snapshot leaves out."""
        messages = self._conversation.messages
        there = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
        return paired(messages, {call: result for call, result in self._seen.items() if call not in there})

    @property
    def state(self) -> Any:
        """The shared state after the events so far."""
        return self._conversation.state

    async def play(self, agent: Agent) -> None:
        """Run the agent to its end.

        Raises:
            ProtocolError: Its events are out of order.
            AgentError: It ended with ``RUN_ERROR`` and no exception of its own, or broke off.
        """
        stream = agent.run(self._input)
        try:
            async for event in stream:
                self._feed(event)
        finally:
            # A stopped run must not leave the agent working (an async generator is closed late otherwise).
            if hasattr(stream, "aclose"):
                await stream.aclose()
        self._check_end()

    def replay(self, events: Iterable[Event]) -> None:
        """Take the events of earlier runs: drawn, not asked; answered calls become records.

        Raises:
            ProtocolError: They are out of order.
        """
        for event in events:
            self._feed(event)
        self._narrator.recall(self.messages)
        self._narrator.close_answered({**self._seen, **self._results()}, via="replay")

    def _feed(self, raw: Event) -> None:
        for event in self._chunks.feed(raw):
            self._verifier.feed(event)
            self._conversation.apply(event)
            if isinstance(event, (MessagesSnapshotEvent, ToolCallResultEvent)):
                self._seen.update(self._results())
            self._narrator.tell(event)
            self._publish(event)
            if isinstance(event, RunErrorEvent):
                self._failure = event
            elif isinstance(event, RunFinishedEvent):
                self._finished = True
            elif (legacy := checkpoint_of(event)) is not None:
                self._legacy.append(legacy)

    def _check_end(self) -> None:
        if self._failure is not None:
            raise AgentError(self._failure.message, self._failure.code or "agent_run_error_event")
        if not self._finished:
            raise AgentError(
                "The agent's run broke off: its events ended without RUN_FINISHED or RUN_ERROR. "
                "Nothing of it was asked or executed; send the message again to retry.",
                "agent_run_failed",
            )
        self._narrator.close_answered(self._results(), via="session")

    def _results(self) -> dict[str, ToolMessage]:
        """The results in the history, but for a server's placeholders."""
        return {
            message.tool_call_id: message
            for message in self._conversation.messages
            if isinstance(message, ToolMessage) and message.content != PLACEHOLDER
        }

    @property
    def unanswered(self) -> list[ToolCall]:
        """The tool calls that the run left open, in call order; a server's placeholder is no answer."""
        return open_calls([message for message in self.messages if getattr(message, "content", "") != PLACEHOLDER])

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """What the run stopped at: AG-UI interrupts, else the legacy event (the standard form wins)."""
        return [checkpoint_of(interrupt) for interrupt in self._conversation.pending_interrupts] or self._legacy

    def call_of(self, tool_call: ToolCall) -> Call:
        """Give the call object of an open tool call; made now if no event announced it."""
        return self._narrator.call_of(tool_call.id, tool_call.function.name)
