"""The list of messages that a stream builds up, and where its fragments go.

A fragment must cost the same in message 3 and in message 3,000, so the message and the tool call it belongs
to are found in a dict. The list stays the truth: the dicts hold what *this run* has touched, and are
forgotten when the next one begins. A message that came from outside is copied at its first change; so what a
caller handed in, or kept from an earlier run, never changes under its hands.
"""

from collections.abc import Iterable
from typing import cast

from ag_ui.core import ActivityMessage, AssistantMessage, Event, Message, ToolCall, ToolMessage


class Messages:
    """A history under construction."""

    def __init__(self, items: Iterable[Message]) -> None:
        self.items: list[Message] = list(items)
        self._ours: dict[int, Message] = {}
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, ToolCall] = {}

    def replace(self, items: list[Message]) -> None:
        """Take another list."""
        self.items = items
        self.forget()

    def forget(self) -> None:
        """Give up what this run has touched: from now on it belongs to whoever holds it."""
        self._ours.clear()
        self._by_id.clear()
        self._calls.clear()

    def get(self, message_id: str) -> Message | None:
        """Find a message to look at; the first one, should an id be used twice."""
        found = self._by_id.get(message_id)
        return found or next((message for message in self.items if message.id == message_id), None)

    def edit(self, message_id: str) -> Message | None:
        """Find a message to change."""
        found = self._by_id.get(message_id)
        if found is None:
            index = next((index for index, it in enumerate(self.items) if it.id == message_id), None)
            if index is None:
                return None
            found = self._by_id[message_id] = self._own(index)
        return found

    def edit_call(self, tool_call_id: str) -> ToolCall | None:
        """Find a tool call to change."""
        call = self._calls.get(tool_call_id)
        if call is None and (index := self._index_of_call(tool_call_id)) is not None:
            message = cast("AssistantMessage", self._own(index))
            call = next(call for call in message.tool_calls or () if call.id == tool_call_id)
            self._calls[tool_call_id] = call
        return call

    def edit_activity(self, message_id: str) -> ActivityMessage | None:
        """Find an activity to change; None also when the id belongs to another kind of message."""
        message = self.edit(message_id)
        return message if isinstance(message, ActivityMessage) else None

    def append(self, message: Message) -> None:
        """Add a message that this run makes."""
        self._insert(len(self.items), message)

    def append_call(self, message: AssistantMessage, call: ToolCall) -> None:
        """Add a tool call to a message that is ours."""
        message.tool_calls = [*(message.tool_calls or ()), call]
        self._calls[call.id] = call

    def insert_result(self, result: ToolMessage) -> None:
        """Put a tool's result behind the message that made the call and the results already there.

        Not at the end: it may arrive after the next text, and providers refuse a history in which a call and
        its result are apart. At the end only when nobody made such a call.
        """
        index = self._index_of_call(result.tool_call_id)
        position = len(self.items) if index is None else index + 1
        while position < len(self.items) and self.items[position].role == "tool":
            position += 1
        self._insert(position, result)

    def put(self, old: Message, new: Message) -> None:
        """Put a message that this run makes in another's place."""
        index = next(index for index, it in enumerate(self.items) if it is old)
        self._calls.clear()  # the old one may have held some
        self.items[index] = self._ours[id(new)] = self._by_id[new.id] = new

    def _insert(self, index: int, message: Message) -> None:
        if self.get(message.id) is None:
            self._by_id[message.id] = message
        self.items.insert(index, message)
        self._ours[id(message)] = message

    def _own(self, index: int) -> Message:
        message = self.items[index]
        if id(message) not in self._ours:
            message = self.items[index] = message.model_copy(deep=True)
            self._ours[id(message)] = message
        return message

    def _index_of_call(self, tool_call_id: str) -> int | None:
        for index, message in enumerate(self.items):
            calls = message.tool_calls if isinstance(message, AssistantMessage) else None
            if any(call.id == tool_call_id for call in calls or ()):
                return index
        return None


def merge_metadata(target: Message | ToolCall, event: Event) -> None:
    """Fold an event's metadata into what it builds, key by key; the last value wins, and null is a value."""
    if event.metadata is not None:
        target.metadata = {**(target.metadata or {}), **event.metadata}
