"""One run of the agent: events in, messages and calls out.

Every agent, in-process or over HTTP, goes through the same three steps (expand chunks, verify the order, apply), so
that a session sees one shape. Pending calls are derived from the final messages as well as from events: a Flow with
``stream=False`` emits none (facts/crewai.md §1.2).
"""

from typing import Any

from ag_ui.core import (
    Event,
    Message,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from hitl_nb._calls import Call
from hitl_nb._history import open_calls
from hitl_nb._tools import ToolBox
from hitl_nb._transcript import CallEntry, MessageEntry, Transcript
from hitl_nb.agents import Agent
from hitl_nb.agui import ChunkExpander, Conversation, PartialArgs, Verifier
from hitl_nb.errors import AgentError


class Turn:
    """Follows one agent run and shows it in the transcript while it streams."""

    def __init__(self, input: RunAgentInput, tools: ToolBox, transcript: Transcript) -> None:  # noqa: A002
        self._input = input
        self._tools = tools
        self._transcript = transcript
        self._conversation = Conversation(input.messages, input.state)
        self._texts: dict[str, MessageEntry] = {}
        self._calls: dict[str, Call] = {}
        self._partials: dict[str, PartialArgs] = {}
        self._failure: RunErrorEvent | None = None
        self._finished = False

    @property
    def messages(self) -> list[Message]:
        """The history after the events so far."""
        return list(self._conversation.messages)

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
        chunks, verifier = ChunkExpander(), Verifier()
        stream = agent.run(self._input)
        try:
            async for raw in stream:
                for event in chunks.feed(raw):
                    verifier.feed(event)
                    self._take(event)
        finally:
            # A stopped run must not leave the agent working (an async generator is closed late otherwise).
            if hasattr(stream, "aclose"):
                await stream.aclose()
        if self._failure is not None:
            raise AgentError(self._failure.message, self._failure.code)
        if not self._finished:
            raise AgentError(
                "The agent's run broke off: its events ended without RUN_FINISHED or RUN_ERROR. "
                "Nothing of it was asked or executed; send the message again to retry."
            )

    def _take(self, event: Event) -> None:
        self._conversation.apply(event)
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
            case RunErrorEvent():
                self._failure = event
            case RunFinishedEvent():
                self._finished = True

    def _start_text(self, event: TextMessageStartEvent) -> None:
        entry = self._texts.setdefault(event.message_id, MessageEntry(key=event.message_id, role="assistant"))
        entry.streaming = True
        self._transcript.add(entry)

    def _start_call(self, call_id: str, name: str) -> None:
        tool = self._tools.get(name)
        if tool is None or call_id in self._calls:
            return
        call = tool.call(call_id, thread_id=self._input.thread_id, run_id=self._input.run_id)
        self._calls[call_id] = call
        self._partials[call_id] = PartialArgs()
        self._transcript.add(CallEntry(key=call_id, call=call))

    def _show_preview(self, call_id: str) -> None:
        preview = self._partials[call_id].preview
        if preview is not None and preview is not self._calls[call_id].args:
            self._calls[call_id]._preview(preview)

    @property
    def unanswered(self) -> list[ToolCall]:
        """The tool calls that the run left open, in call order."""
        return open_calls(self._conversation.messages)

    def call_of(self, tool_call: ToolCall) -> Call:
        """Give the call object of an open tool call; made now if no event announced it."""
        if tool_call.id not in self._calls:
            self._start_call(tool_call.id, tool_call.function.name)
        if tool_call.id in self._calls:
            return self._calls[tool_call.id]
        return Call(id=tool_call.id, name=tool_call.function.name)
