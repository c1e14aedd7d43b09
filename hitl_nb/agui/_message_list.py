"""The list of messages that a stream builds up, and where its fragments go.

A fragment must cost the same in message 3 and in message 3,000, so messages and tool calls are found by an
index, made once a run. The list stays the truth: each run begins with a new `MessageList` around it, and the
index is made anew when the list has another length. A message that came from outside is copied at its first
change in a run; so what a caller handed in, or kept from an earlier run, never changes under its hands.
"""

from typing import cast

from ag_ui.core import ActivityMessage, AssistantMessage, Message, ToolCall, ToolMessage

_STALE = -1


class MessageList:
    """A history while one run changes it."""

    def __init__(self, items: list[Message]) -> None:
        self.items = items
        self._ours: dict[int, Message] = {}
        """What this run has made, by Python's id: kept here, so that no id is used again."""
        self._indexed = _STALE
        """How long the list was when the index was made."""

    def get(self, message_id: str) -> Message | None:
        """Find a message to look at; the first one, should an id be used twice."""
        self._index()
        return self._by_id.get(message_id)

    def edit(self, message_id: str) -> Message | None:
        """Find a message to change."""
        message = self.get(message_id)
        return None if message is None else self._own(message)

    def edit_activity(self, message_id: str) -> ActivityMessage | None:
        """Find an activity to change; None also when the id belongs to another kind of message."""
        message = self.get(message_id)
        return cast("ActivityMessage", self._own(message)) if isinstance(message, ActivityMessage) else None

    def edit_call(self, tool_call_id: str) -> ToolCall | None:
        """Find a tool call to change."""
        self._index()
        caller = self._callers.get(tool_call_id)
        if caller is None:
            return None
        calls = cast("AssistantMessage", self._own(caller)).tool_calls or ()
        # From the end: what streams is the newest, as a rule.
        return next(call for call in reversed(calls) if call.id == tool_call_id)

    def append(self, message: Message) -> None:
        """Add a message that this run makes."""
        self._insert(len(self.items), message)

    def append_call(self, message: AssistantMessage, call: ToolCall) -> None:
        """Add a tool call to a message that was given out to be changed."""
        message.tool_calls = [*(message.tool_calls or ()), call]
        self._callers.setdefault(call.id, message)

    def insert_result(self, result: ToolMessage) -> None:
        """Put a tool's result behind the message that made the call and the results already there.

        Not at the end: it may arrive after the next text, and providers refuse a history in which a call and
        its result are apart. At the end only when nobody made such a call.
        """
        self._index()
        caller = self._callers.get(result.tool_call_id)
        position = len(self.items) if caller is None else self._position(caller) + 1
        while position < len(self.items) and self.items[position].role == "tool":
            position += 1
        self._insert(position, result)

    def put(self, old: Message, new: Message) -> None:
        """Put a message that this run makes in another's place."""
        self.items[self._position(old)] = self._ours[id(new)] = new
        self._indexed = _STALE

    def _insert(self, position: int, message: Message) -> None:
        self._index()
        self.items.insert(position, message)
        self._ours[id(message)] = message
        self._by_id.setdefault(message.id, message)
        self._indexed += 1

    def _own(self, message: Message) -> Message:
        if id(message) in self._ours:
            return message
        copy = message.model_copy(deep=True)
        self.put(message, copy)
        return copy

    def _position(self, message: Message) -> int:
        return next(position for position, it in enumerate(self.items) if it is message)

    def _index(self) -> None:
        if self._indexed == len(self.items):
            return
        self._indexed = len(self.items)
        self._by_id: dict[str, Message] = {}
        self._callers: dict[str, AssistantMessage] = {}
        for message in self.items:
            self._by_id.setdefault(message.id, message)
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    self._callers.setdefault(call.id, message)
