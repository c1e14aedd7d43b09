"""CrewAI's events of one Flow run → AG-UI events, balanced, in order, with ids that stay the same.

`copilotkit_stream` emits chunk events on CrewAI's bus; the methods of the Flow emit their own. The rules are those
of ag_ui_crewai's server (facts/crewai.md §1.1, §3.2), so in-process and served runs look alike. What a provider
streamed under an id that cannot be trusted is told after the run, when the whole message is known (`_settle`).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import (
    CustomEvent,
    Event,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from hitl_nb.agents._brackets import Brackets
from hitl_nb.agents._identity import fresh_call_id, fresh_message_id


@dataclass(kw_only=True, eq=False)
class StreamedCall:
    """A tool call as it was streamed."""

    id: str
    """Its id on the wire: the provider's, or a fresh one when that is empty or in the thread already."""

    provider_id: str
    """The id that the provider gave."""

    name: str = ""
    """The first name that was told."""

    arguments: Brackets = field(default_factory=Brackets)
    """What was streamed so far."""

    told: int | None = None
    """How much of them was told; None until the call is announced."""


@dataclass(kw_only=True, eq=False)
class StreamedMessage:
    """One reply of a model as it was streamed."""

    id: str
    """Its id on the wire."""

    text: str = ""
    """What it said."""

    calls: list[StreamedCall] = field(default_factory=list)
    """Its tool calls, in order."""

    interleaved: bool = False
    """Whether a call began before another was complete."""

    def call(self, provider_id: str) -> StreamedCall | None:
        """Find a tool call."""
        return next((call for call in reversed(self.calls) if call.provider_id == provider_id), None)


class Translator:
    """State of one run: what is open, and what was streamed under which id.

    Args:
        known: The message ids that came in with the run.
        used: The tool call ids that came in with the run.

    Attributes:
        streamed: The replies of the models so far, in order.
    """

    def __init__(self, known: Iterable[str] = (), used: Iterable[str] = ()) -> None:
        self.streamed: list[StreamedMessage] = []
        self._known = set(known)
        self._used = set(used)
        self._messages: dict[str, StreamedMessage] = {}
        self._open_texts: list[str] = []
        self._open_calls: list[str] = []
        self._methods = 0

    def translate(self, event: Any) -> Iterator[Event]:
        """Give the AG-UI events for one CrewAI event; none for what AG-UI has no word for."""
        kind = getattr(event.type, "value", event.type)
        if kind == "method_execution_started":
            self._methods += 1
            yield StepStartedEvent(step_name=str(event.method_name))
        elif kind in ("method_execution_finished", "method_execution_failed"):
            self._methods -= 1
            if self._methods <= 0:  # another method may be streaming still
                yield from self.flush()
            yield StepFinishedEvent(step_name=str(event.method_name))
        elif kind == "TEXT_MESSAGE_CHUNK":
            yield from self._text_chunk(self._message(event.message_id), event.delta)
        elif kind == "TOOL_CALL_CHUNK":
            yield from self._call_chunk(self._message(event.parent_message_id), event)
        elif kind == "TOOL_CALL_RESULT":
            yield from self.flush()
            yield from self._result(event)
        elif kind == "CUSTOM":
            yield CustomEvent(name=event.name, value=event.value)
        elif kind == "STATE_SNAPSHOT":
            yield StateSnapshotEvent(snapshot=event.snapshot)

    def flush(self) -> Iterator[Event]:
        """Close what is open; whatever is streamed from here on belongs to another message."""
        for message_id in self._open_texts:
            yield TextMessageEndEvent(message_id=message_id)
        for call_id in reversed(self._open_calls):
            yield ToolCallEndEvent(tool_call_id=call_id)
        self._open_texts.clear()
        self._open_calls.clear()
        self._messages.clear()

    def announce(self, message_id: str, call: ToolCall) -> Iterator[Event]:
        """Tell of a whole call that was not streamed, or under an id that could not be trusted."""
        if any(told.id == call.id and told.told is not None for it in self.streamed for told in it.calls):
            return
        yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.function.name, parent_message_id=message_id)
        if call.function.arguments:
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.function.arguments)
        yield ToolCallEndEvent(tool_call_id=call.id)

    def _message(self, provider_id: str | None) -> StreamedMessage:
        key = provider_id or ""
        if key not in self._messages:
            message_id = key if key and key not in self._known else fresh_message_id()
            self._known.add(message_id)
            self._messages[key] = StreamedMessage(id=message_id)
            self.streamed.append(self._messages[key])
        return self._messages[key]

    def _text_chunk(self, message: StreamedMessage, delta: str | None) -> Iterator[Event]:
        if not delta:
            return
        if message.id not in self._open_texts:
            self._open_texts.append(message.id)
            yield TextMessageStartEvent(message_id=message.id, role="assistant")
        message.text += delta
        yield TextMessageContentEvent(message_id=message.id, delta=delta)

    def _call_chunk(self, message: StreamedMessage, event: Any) -> Iterator[Event]:
        call = self._call(message, event.tool_call_id)
        call.name = call.name or event.tool_call_name or ""
        call.arguments.feed(event.delta or "")
        # Without an id, two calls of one message cannot be told apart here; without a name, nobody knows yet
        # whether there is a card for it.
        if not event.tool_call_id or not call.name:
            return
        if call.told is None:
            call.told = 0
            self._open_calls.append(call.id)
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name, parent_message_id=message.id)
        # What comes behind a complete object is a repetition, or another call under the same id.
        text = call.arguments.head
        if len(text) > call.told:
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=text[call.told :])
            call.told = len(text)

    def _result(self, event: Any) -> Iterator[Event]:
        found = (it.call(event.tool_call_id) for it in reversed(self.streamed))
        call = next((call for call in found if call is not None), None)
        if call is not None and call.told is None:
            return  # its call has not been told of; the final messages have both
        call_id = call.id if call is not None else event.tool_call_id
        yield ToolCallResultEvent(message_id=event.message_id, tool_call_id=call_id, content=event.content)

    def _call(self, message: StreamedMessage, provider_id: str) -> StreamedCall:
        call = message.call(provider_id)
        if call is None:
            call_id = provider_id if provider_id and provider_id not in self._used else fresh_call_id()
            self._used.add(call_id)
            call = StreamedCall(id=call_id, provider_id=provider_id)
            message.interleaved = message.interleaved or any(it.arguments.unclosed for it in message.calls)
            message.calls.append(call)
        return call
