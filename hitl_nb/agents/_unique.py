"""Tool calls of a server → tool calls of the thread, each with an id of its own.

What a person answered is kept under the id of the call. A server hands on what its model's provider gave, and some
give `""` or count from 0 in every reply (facts/crewai.md §9.19): then the answer to an old question would be taken
for the answer to a new one. So an id that the thread has already is replaced on the way in, and put back on the way
out, since a server that keeps the conversation knows the call by it. Message ids may change from snapshot to
snapshot; here they stay what they were in the stream.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ag_ui.core import (
    AssistantMessage,
    Event,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    RunFinishedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    ToolCallChunkEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb._history import tool_calls
from hitl_nb.agents._identity import fresh_call_id, fresh_message_id
from hitl_nb.agents._settle import settled, without_repetitions
from hitl_nb.agents._translate import StreamedCall, StreamedMessage


class UniqueCalls:
    """The ids of one server."""

    def __init__(self) -> None:
        self._theirs: dict[str, str] = {}
        """Our id → the server's, where they differ."""

    def outgoing(self, messages: Iterable[Message]) -> list[Message]:
        """Give the history with the server's own ids."""
        return [_with_ids(message, self._theirs) for message in messages]

    def reader(self, messages: Sequence[Message]) -> "CallReader":
        """Give the reader of a run that begins with this history."""
        return CallReader(self._theirs, messages)


class CallReader:
    """Follows the events of one run."""

    def __init__(self, theirs: dict[str, str], before: Sequence[Message]) -> None:
        self._theirs = theirs
        self._before = before
        self._known = {call.id for call in tool_calls(before)}
        self._used = {theirs.get(call_id, call_id) for call_id in self._known}
        self._ours: dict[str, str] = {}
        """The server's id → ours, for the calls of this run."""
        self._streamed: dict[str, StreamedMessage] = {}

    def read(self, event: Event) -> Event:
        """Give the event with our ids."""
        match event:
            case ToolCallStartEvent():
                self._begin(event.tool_call_id, event.tool_call_name, event.parent_message_id)
            case ToolCallChunkEvent() if event.tool_call_id is not None and event.tool_call_name:
                self._begin(event.tool_call_id, event.tool_call_name, event.parent_message_id)
            case TextMessageContentEvent() | TextMessageChunkEvent() if event.message_id and event.delta:
                self._message(event.message_id).text += event.delta
            case MessagesSnapshotEvent():
                return event.model_copy(update={"messages": self._snapshot(event.messages)})
            case RunFinishedEvent() if event.outcome is not None:
                return event.model_copy(update={"outcome": self._outcome(event.outcome)})
        theirs = getattr(event, "tool_call_id", None)
        ours = self._ours.get(theirs, theirs) if theirs is not None else None
        return event if ours == theirs else event.model_copy(update={"tool_call_id": ours})

    def _begin(self, theirs: str, name: str, parent: str | None) -> None:
        key = parent or theirs or fresh_message_id()
        if theirs and key in self._streamed and self._streamed[key].call(theirs):
            return  # the same call goes on
        ours = theirs if theirs and theirs not in self._used else fresh_call_id()
        self._used.add(theirs)
        self._remember(ours, theirs)
        # As in the reducer: a call without a parent makes a message of its own id.
        message = self._streamed.setdefault(key, StreamedMessage(id=parent or ours))
        message.calls.append(StreamedCall(id=ours, provider_id=theirs, name=name))

    def _message(self, message_id: str) -> StreamedMessage:
        return self._streamed.setdefault(message_id, StreamedMessage(id=message_id))

    def _remember(self, ours: str, theirs: str) -> None:
        self._ours[theirs] = ours
        # An empty id is nobody's: two results under it could not be told apart, so ours is sent instead.
        if theirs and ours != theirs:
            self._theirs[ours] = theirs

    def _snapshot(self, messages: Sequence[Message]) -> list[Message]:
        messages = [without_repetitions(message) for message in messages]
        result = settled(messages, self._before, self._streamed.values(), self._theirs)
        for theirs, ours in zip(messages, result, strict=True):
            if isinstance(theirs, AssistantMessage) and isinstance(ours, AssistantMessage):
                self._learn(theirs, ours)
        return result

    def _learn(self, theirs: AssistantMessage, ours: AssistantMessage) -> None:
        """Keep what was only now given an id: the next snapshot shows the same message again."""
        calls = [call for call in ours.tool_calls or () if call.id not in self._known]
        if not calls or ours.id in self._streamed:
            return
        message = StreamedMessage(id=ours.id, text=ours.content or "")
        for call, settled_call in zip(theirs.tool_calls or (), ours.tool_calls or (), strict=True):
            told = StreamedCall(id=settled_call.id, provider_id=call.id, name=settled_call.function.name)
            message.calls.append(told)
            self._remember(settled_call.id, call.id)
        self._streamed[ours.id] = message

    def _outcome(self, outcome: Any) -> Any:
        if outcome.type == "success" and outcome.pending_tool_call_ids:
            pending = [self._ours.get(it, it) for it in outcome.pending_tool_call_ids]
            return outcome.model_copy(update={"pending_tool_call_ids": pending})
        if outcome.type == "interrupt":
            return outcome.model_copy(update={"interrupts": [self._interrupt(it) for it in outcome.interrupts]})
        return outcome

    def _interrupt(self, interrupt: Interrupt) -> Interrupt:
        ours = self._ours.get(interrupt.tool_call_id or "")
        return interrupt.model_copy(update={"tool_call_id": ours}) if ours else interrupt


def _with_ids(message: Message, ids: dict[str, str]) -> Message:
    if isinstance(message, ToolMessage) and message.tool_call_id in ids:
        return message.model_copy(update={"tool_call_id": ids[message.tool_call_id]})
    if isinstance(message, AssistantMessage) and any(call.id in ids for call in message.tool_calls or ()):
        calls = [call.model_copy(update={"id": ids.get(call.id, call.id)}) for call in message.tool_calls or ()]
        return message.model_copy(update={"tool_calls": calls})
    return message
