"""What is started, continued and ended by events: text messages, tool calls and reasoning.

One table instead of one rule a kind, since the protocol treats them alike: no start of what is open, nothing
for what is not open, and one owner.
"""

from dataclasses import dataclass
from typing import Any

from ag_ui.core import EventType, ToolCallStartEvent

from hitl_nb.agui._owners import Kind, Owners, disagreement
from hitl_nb.errors import ProtocolError


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One kind of thing, and the events that make it."""

    noun: str
    kind: Kind
    start: EventType
    more: EventType | None
    end: EventType

    def id_of(self, event: Any) -> str:
        """Give the id the event names."""
        entity: str = event.tool_call_id if self.kind == "tool call" else event.message_id
        return entity


STREAMS = (
    Stream(
        noun="text message",
        kind="message",
        start=EventType.TEXT_MESSAGE_START,
        more=EventType.TEXT_MESSAGE_CONTENT,
        end=EventType.TEXT_MESSAGE_END,
    ),
    Stream(
        noun="tool call",
        kind="tool call",
        start=EventType.TOOL_CALL_START,
        more=EventType.TOOL_CALL_ARGS,
        end=EventType.TOOL_CALL_END,
    ),
    # A span and the message inside it may share an id (many producers do it), so they are two streams; but
    # not two owners: what one agent thinks, another cannot continue.
    Stream(
        noun="reasoning message",
        kind="reasoning",
        start=EventType.REASONING_MESSAGE_START,
        more=EventType.REASONING_MESSAGE_CONTENT,
        end=EventType.REASONING_MESSAGE_END,
    ),
    Stream(
        noun="reasoning span",
        kind="reasoning",
        start=EventType.REASONING_START,
        more=None,
        end=EventType.REASONING_END,
    ),
)

STREAM_OF = {kind: stream for stream in STREAMS for kind in (stream.start, stream.more, stream.end) if kind}
"""The stream that an event belongs to, by the event's type."""


class OpenStreams:
    """The things that are open in this run, in the order they were opened."""

    def __init__(self, owners: Owners) -> None:
        self._owners = owners
        self._open: dict[EventType, dict[str, None]] = {stream.start: {} for stream in STREAMS}

    def names(self) -> list[str]:
        """Give what is open, for a person to read."""
        return [f"{stream.noun} `{entity}`" for stream in STREAMS for entity in self._open[stream.start]]

    def follow(self, stream: Stream, event: Any) -> None:
        """Open, continue or close one thing, or refuse the event."""
        entity, is_open = stream.id_of(event), self._open[stream.start]
        if event.type == stream.start:
            if entity in is_open:
                raise ProtocolError(
                    f"`{stream.start.value}` opens the {stream.noun} `{entity}`, which is open; "
                    f"send `{stream.end.value}` first."
                )
            self._claim(stream, event, entity)
            is_open[entity] = None
            return
        if entity not in is_open:
            raise ProtocolError(
                f"`{event.type.value}` names the {stream.noun} `{entity}`, which is not open; "
                f"send `{stream.start.value}` first."
            )
        self._owners.check(event, (stream.kind, entity))
        if event.type == stream.end:
            del is_open[entity]

    def _claim(self, stream: Stream, event: Any, entity: str) -> None:
        self._owners.check(event, (stream.kind, entity))
        owner = self._owner_of_call(event) if stream.kind == "tool call" else event.subagent_run_id
        self._owners.claim((stream.kind, entity), owner)

    def _owner_of_call(self, event: ToolCallStartEvent) -> str | None:
        """A call stands in its parent message and has no tag of its own there, so the two have one owner."""
        parent: tuple[Kind, str] = ("message", event.parent_message_id or "")
        call: tuple[Kind, str] = ("tool call", event.tool_call_id)
        if event.parent_message_id is None or parent not in self._owners:
            return event.subagent_run_id
        self._owners.check(event, parent)
        if call in self._owners and self._owners[call] != self._owners[parent]:
            raise disagreement(event, parent, self._owners[parent])
        return self._owners[parent]
