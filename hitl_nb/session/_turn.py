"""One run of the agent: events in, messages and calls out.

Every agent, in-process or over HTTP, goes through the same three steps (expand chunks, verify the order, apply), so
that a session sees one shape. Pending calls are derived from the final messages as well as from events: a Flow with
``stream=False`` emits none (facts/crewai.md §1.2).
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from ag_ui.core import (
    Event,
    Message,
    MessagesSnapshotEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb._calls import Call, Decision, Handle, Outcome, Via
from hitl_nb._history import PLACEHOLDER, open_calls, paired, tool_calls
from hitl_nb._tools import HumanTool, ToolBox
from hitl_nb._transcript import CallEntry, MessageEntry, Transcript
from hitl_nb.agents import Agent
from hitl_nb.agui import ChunkExpander, Conversation, PartialArgs, Verifier
from hitl_nb.errors import AgentError
from hitl_nb.session._checkpoints import Checkpoint, checkpoint_of


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
        self._view = StreamView(tools, transcript, thread_id=input.thread_id, run_id=input.run_id)
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
                self._feed(cast("Event", event))  # an agent may say less of what it yields
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
        self._view.recall(self.messages)
        self._view.close_answered({**self._seen, **self._results()}, via="replay")

    def _feed(self, raw: Event) -> None:
        for event in self._chunks.feed(raw):
            self._verifier.feed(event)
            self._conversation.apply(event)
            if isinstance(event, (MessagesSnapshotEvent, ToolCallResultEvent)):
                self._seen.update(self._results())
            self._view.tell(event)
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
        self._view.close_answered(self._results(), via="session")

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
        return self._view.call_of(tool_call.id, tool_call.function.name)


class StreamView:
    """Writes one agent run into the transcript; only calls that a person answers become calls there."""

    def __init__(self, tools: ToolBox, transcript: Transcript, **identity: Any) -> None:
        self._tools = tools
        self._transcript = transcript
        self._identity = identity
        self._texts: dict[str, MessageEntry] = {}
        self._calls: dict[str, Call] = {}
        self._partials: dict[str, PartialArgs] = {}

    def tell(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextMessageStartEvent():
                self._start_text(event)
            case TextMessageContentEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.text += event.delta
                self._transcript.touch(entry)
            case TextMessageEndEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.streaming = False
                self._transcript.touch(entry)
            case ToolCallStartEvent():
                self._start_call(event.tool_call_id, event.tool_call_name)
            case ToolCallArgsEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].feed(event.delta)
                self._show_preview(event.tool_call_id)
            case ToolCallEndEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].finish()
                self._show_preview(event.tool_call_id)

    def call_of(self, call_id: str, name: str) -> Call:
        """Give the call object of a tool call, announced or not."""
        self._start_call(call_id, name)
        return self._calls[call_id]

    def recall(self, messages: Iterable[Message]) -> None:
        """Draw the calls of a history that came without its events."""
        for tool_call in tool_calls(messages):
            self._start_call(tool_call.id, tool_call.function.name)
            if self._calls[tool_call.id].args is None and tool_call.id in self._partials:
                self._partials[tool_call.id].feed(tool_call.function.arguments)
                self._partials[tool_call.id].finish()
                self._show_preview(tool_call.id)

    def close_answered(self, results: Mapping[str, ToolMessage], *, via: Via) -> None:
        """Complete the calls whose results came with the stream: somebody else answered them."""
        for call in self._calls.values():
            if call.id in results and not call.decided:
                content = results[call.id].content
                text = content if isinstance(content, str) else json.dumps([part.model_dump() for part in content])
                Handle.of(call).settle(Decision(outcome=_outcome_of(text), result=text, via=via))

    def _start_text(self, event: TextMessageStartEvent) -> None:
        entry = self._texts.setdefault(event.message_id, MessageEntry(key=event.message_id, role="assistant"))
        entry.streaming = True
        self._transcript.add(entry)

    def _start_call(self, call_id: str, name: str) -> None:
        if call_id in self._calls:
            return
        tool = self._tools.get(name)
        if not isinstance(tool, HumanTool):
            # Nobody is asked about it, so it is nothing to look at; it only needs an end.
            self._calls[call_id] = Call(id=call_id, name=name, **self._identity)
            return
        self._calls[call_id] = tool.call(call_id, name, **self._identity)
        self._partials[call_id] = PartialArgs()
        self._transcript.add(CallEntry(key=self._calls[call_id].occurrence, call=self._calls[call_id]))

    def _show_preview(self, call_id: str) -> None:
        preview = self._partials[call_id].preview
        call = self._calls[call_id]
        if preview is not None and preview is not call.args and call.status == "inProgress":
            Handle.of(call).preview(preview)


_REFUSALS: dict[str, Outcome] = {
    "declined": "declined",
    "denied": "declined",
    "cancelled": "cancelled",
    "expired": "expired",
    "superseded": "superseded",
}


def _outcome_of(content: str) -> Outcome:
    """Tell an earlier refusal from an earlier answer; what cannot be told is shown as no more than answered."""
    if content.startswith("Error:"):
        return "aborted"
    try:
        value = json.loads(content)
    except ValueError:
        return "answered"
    if not isinstance(value, dict):
        return "answered"
    return "invalid" if "error" in value else _REFUSALS.get(str(value.get("status")), "answered")
