"""From a stream of events to a conversation: messages, state, what is left open.

The reducer of an AG-UI client, with the rules of the released one (`defaultApplyEvents` of @ag-ui/client 1.0,
facts/copilotkit.md §4.2). Each module beside this one knows one idea; here is the table of which event goes
where.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ag_ui.core import (
    Event,
    EventType,
    Interrupt,
    Message,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)

from hitl_nb.agui import _activity, _snapshot, _text, _tool_calls
from hitl_nb.agui._messages import Messages
from hitl_nb.agui._patch import patched
from hitl_nb.errors import ProtocolError

_CHUNKS = frozenset({EventType.TEXT_MESSAGE_CHUNK, EventType.TOOL_CALL_CHUNK, EventType.REASONING_MESSAGE_CHUNK})


class Conversation:
    """What the events so far amount to.

    ```python
    conversation = Conversation([UserMessage(id="1", content="Plan a trip to Mars")])
    for event in events:
        conversation.apply(event)
    conversation.messages[-1].tool_calls
    ```

    Args:
        messages: The history so far. Neither the list nor a message in it is changed.
        state: The shared state so far, any JSON value.
    """

    state: Any
    """The shared state. A delta makes a new object; the old one stays as it was."""

    pending_interrupts: list[Interrupt]
    """What the last run stopped at and wants to hear about before it goes on; empty after any other end of a
    run."""

    pending_tool_call_ids: list[str]
    """The tool calls that the last run leaves to the client: as RUN_FINISHED names them, or else those it
    started and did not answer."""

    def __init__(self, messages: Iterable[Message] = (), state: Any = None) -> None:
        self._messages = Messages(messages)
        self.state = state
        self.pending_interrupts = []
        self.pending_tool_call_ids = []
        self._started: dict[str, None] = {}
        self._answered: set[str] = set()

    @property
    def messages(self) -> list[Message]:
        """The history. Between runs the list is yours to change; during a run the events do it."""
        return self._messages.items

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        self._messages.replace(list(messages))

    def apply(self, event: Event) -> None:
        """Take one event; its cost does not grow with the history, except for starts, results and snapshots.

        An event that names something unknown is logged and skipped, as is a patch that does not fit; whether
        the stream is legal is for a `Verifier` to say.

        Raises:
            ProtocolError: A chunk: put a `ChunkExpander` in front.
        """
        if rule := _MESSAGE_RULES.get(event.type):
            rule(self._messages, event)
        elif own_rule := _RULES.get(event.type):
            own_rule(self, event)
        elif event.type in _CHUNKS:
            raise ProtocolError(f"`{event.type.value}` has to be expanded first; write `apply(expand_chunks(events))`.")

    def _begin_run(self, event: RunStartedEvent) -> None:
        self._started.clear()
        self._answered.clear()
        _snapshot.begin_run(self._messages, event)

    def _finish_run(self, event: RunFinishedEvent) -> None:
        outcome = event.outcome
        self.pending_interrupts = list(outcome.interrupts) if outcome and outcome.type == "interrupt" else []
        self.pending_tool_call_ids = []
        if outcome is None or outcome.type == "success":
            named = outcome.pending_tool_call_ids if outcome else None
            self.pending_tool_call_ids = list(named or (it for it in self._started if it not in self._answered))

    def _start_tool_call(self, event: ToolCallStartEvent) -> None:
        self._started[event.tool_call_id] = None
        _tool_calls.start(self._messages, event)

    def _add_result(self, event: ToolCallResultEvent) -> None:
        self._answered.add(event.tool_call_id)
        _tool_calls.add_result(self._messages, event)

    def _set_state(self, event: StateSnapshotEvent) -> None:
        self.state = event.snapshot

    def _patch_state(self, event: StateDeltaEvent) -> None:
        self.state = patched(self.state, event.delta, "the shared state")


_MESSAGE_RULES: dict[EventType, Callable[[Messages, Any], None]] = {
    EventType.TEXT_MESSAGE_START: _text.start,
    EventType.TEXT_MESSAGE_CONTENT: _text.append,
    EventType.TEXT_MESSAGE_END: _text.end,
    EventType.REASONING_MESSAGE_START: _text.start,
    EventType.REASONING_MESSAGE_CONTENT: _text.append,
    EventType.REASONING_MESSAGE_END: _text.end,
    EventType.REASONING_ENCRYPTED_VALUE: _text.set_encrypted_value,
    EventType.TOOL_CALL_ARGS: _tool_calls.append,
    EventType.TOOL_CALL_END: _tool_calls.end,
    EventType.MESSAGES_SNAPSHOT: _snapshot.merge_snapshot,
    EventType.ACTIVITY_SNAPSHOT: _activity.set_activity,
    EventType.ACTIVITY_DELTA: _activity.patch_activity,
}

_RULES: dict[EventType, Callable[[Conversation, Any], None]] = {
    EventType.RUN_STARTED: Conversation._begin_run,
    EventType.RUN_FINISHED: Conversation._finish_run,
    EventType.TOOL_CALL_START: Conversation._start_tool_call,
    EventType.TOOL_CALL_RESULT: Conversation._add_result,
    EventType.STATE_SNAPSHOT: Conversation._set_state,
    EventType.STATE_DELTA: Conversation._patch_state,
}


def apply(events: Iterable[Event], messages: Iterable[Message] = (), state: Any = None) -> Conversation:
    """Reduce a whole stream; see `Conversation`.

    Raises:
        ProtocolError: See `Conversation.apply`.
    """
    conversation = Conversation(messages, state)
    for event in events:
        conversation.apply(event)
    return conversation
