"""CrewAI's events of one Flow run → AG-UI events, balanced, in order, with ids that stay the same.

`copilotkit_stream` emits chunk events on CrewAI's bus; the methods of the Flow emit their own. The rules are those
of ag_ui_crewai's server (facts/crewai.md §1.1, §3.2), so in-process and served runs look alike.
"""

from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    CustomEvent,
    Event,
    Message,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)


class Translator:
    """State of one run: which message and calls are open, and which ids were streamed."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._open_calls: list[str] = []
        self._parents: dict[str, str | None] = {}
        self._texts: list[str] = []

    def translate(self, event: Any) -> Iterator[Event]:
        """Give the AG-UI events for one CrewAI event; none for what AG-UI has no word for."""
        kind = getattr(event.type, "value", event.type)
        if kind == "method_execution_started":
            yield from self.flush()
            yield StepStartedEvent(step_name=str(event.method_name))
        elif kind in ("method_execution_finished", "method_execution_failed"):
            yield from self.flush()
            yield StepFinishedEvent(step_name=str(event.method_name))
        elif kind == "TEXT_MESSAGE_CHUNK":
            yield from self._text_chunk(event)
        elif kind == "TOOL_CALL_CHUNK":
            yield from self._call_chunk(event)
        elif kind == "TOOL_CALL_RESULT":
            yield from self.flush()
            yield ToolCallResultEvent(
                message_id=event.message_id, tool_call_id=event.tool_call_id, content=event.content
            )
        elif kind == "CUSTOM":
            yield CustomEvent(name=event.name, value=event.value)
        elif kind == "STATE_SNAPSHOT":
            yield StateSnapshotEvent(snapshot=event.snapshot)

    def flush(self) -> Iterator[Event]:
        """Close what is open."""
        if self._text is not None:
            yield TextMessageEndEvent(message_id=self._text)
            self._text = None
        for call_id in reversed(self._open_calls):
            yield ToolCallEndEvent(tool_call_id=call_id)
        self._open_calls.clear()

    def _text_chunk(self, event: Any) -> Iterator[Event]:
        if self._open_calls or self._text != event.message_id:
            yield from self.flush()
        if self._text is None:
            self._text = event.message_id
            if event.message_id not in self._texts:
                self._texts.append(event.message_id)
            yield TextMessageStartEvent(message_id=event.message_id, role="assistant")
        if event.delta:
            yield TextMessageContentEvent(message_id=event.message_id, delta=event.delta)

    def _call_chunk(self, event: Any) -> Iterator[Event]:
        if self._text is not None:
            yield from self.flush()
        if event.tool_call_id not in self._open_calls:
            self._open_calls.append(event.tool_call_id)
            self._parents[event.tool_call_id] = event.parent_message_id
            yield ToolCallStartEvent(
                tool_call_id=event.tool_call_id,
                tool_call_name=event.tool_call_name,
                parent_message_id=event.parent_message_id,
            )
        if event.delta:
            yield ToolCallArgsEvent(tool_call_id=event.tool_call_id, delta=event.delta)

    def stamped(self, messages: list[Message], known: set[str]) -> list[Message]:
        """Give new assistant messages the ids under which they were streamed.

        CrewAI's messages have none, and each conversion mints another, so that a front end sees every message
        twice. `known` are the ids that came in with the run.
        """
        texts = list(self._texts)
        stamped: list[Message] = []
        for message in messages:
            if isinstance(message, AssistantMessage) and message.id not in known:
                streamed = self._streamed_id(message, texts)
                if streamed is not None and streamed not in known:
                    known.add(streamed)
                    message = message.model_copy(update={"id": streamed})
            stamped.append(message)
        return stamped

    def _streamed_id(self, message: AssistantMessage, texts: list[str]) -> str | None:
        for call in message.tool_calls or ():
            parent = self._parents.get(call.id)
            if parent is not None:
                if parent in texts:
                    texts.remove(parent)
                return parent
        return texts.pop(0) if texts else None
