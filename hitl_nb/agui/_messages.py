"""The messages of a conversation: the list that a stream builds up, which tool calls are open, where results belong.

A fragment must cost the same in message 3 and in message 3,000, and so must a turn: messages and tool calls are found
by an index, to which each run adds what is new. The list stays the truth. A message that came from outside is copied at
its first change in a run; so what a caller handed in, or kept from an earlier run, never changes under its hands. And
so it is enough to look at which objects stand where, to know what of a history is as it was.

The rule of every provider: each tool call has exactly one result, adjacent to the message that made the call, in
call order. One dangling call makes a thread unusable for good (OpenAI and Anthropic answer 400 from then on), and
nobody downstream repairs it. So the session pairs before each model call, and `check` proves it.
Everything is keyed by tool call id: CrewAI gives messages another id from snapshot to snapshot.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Generic, TypeVar, cast

from ag_ui.core import ActivityMessage, AssistantMessage, Message, ToolCall, ToolMessage

from hitl_nb._limits import read_json
from hitl_nb.errors import HistoryError

_T = TypeVar("_T")


class Grown(Generic[_T]):
    """A list that only grows, as a rule, of which only what is new has to be looked at."""

    def __init__(self) -> None:
        self._items: list[_T] = []

    def new(self, items: Sequence[_T]) -> list[_T] | None:
        """Return what has come behind what was there the last time; None if that itself is another now."""
        known = self._items
        if items[: len(known)] == known:
            new = list(items[len(known) :])
            known += new
            return new
        self._items = list(items)
        return None


class MessageList:
    """A history while one run changes it."""

    def __init__(self, items: list[Message]) -> None:
        self.items = items
        self._ours: dict[int, Message] = {}
        """What this run has made, by Python's id: kept here, so that no id is used again."""
        self._indexed: list[Message] = []
        """The list that the index is about."""
        self._stale = False
        self._by_id: dict[str, Message] = {}
        self._callers: dict[str, AssistantMessage] = {}

    def begin(self, items: list[Message]) -> None:
        """Go on with another list, in another run: what the last one made belongs to whoever holds it."""
        self._ours = {}
        if items is not self.items:
            self.items = items
            self._stale = self._stale or items[: len(self._indexed)] != self._indexed

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
        self._stale = True

    def _insert(self, position: int, message: Message) -> None:
        self._index()
        at_end = position == len(self.items)
        self.items.insert(position, message)
        self._ours[id(message)] = message
        if at_end:
            self._index()
        else:
            self._indexed.insert(position, message)
            self._add(message)

    def _own(self, message: Message) -> Message:
        if id(message) in self._ours:
            return message
        copy = message.model_copy(deep=True)
        self.put(message, copy)
        return copy

    def _position(self, message: Message) -> int:
        # From the end: what changes is the newest, as a rule. And the index may know an equal one, of an earlier run.
        places = range(len(self.items) - 1, -1, -1)
        found = next((place for place in places if self.items[place] is message), None)
        return next(place for place in places if self.items[place] == message) if found is None else found

    def _index(self) -> None:
        known = len(self._indexed)
        if self._stale or known > len(self.items):
            self._indexed, self._by_id, self._callers, self._stale, known = [], {}, {}, False, 0
        for message in self.items[known:] if known < len(self.items) else ():
            self._indexed.append(message)
            self._add(message)

    def _add(self, message: Message) -> None:
        self._by_id.setdefault(message.id, message)
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                self._callers.setdefault(call.id, message)


def tool_calls(messages: Iterable[Message]) -> list[ToolCall]:
    """Return all tool calls of a history in call order."""
    return [call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls or ()]


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the tool calls that have no result yet, in call order."""
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    return [call for call in tool_calls(messages) if call.id not in answered]


def paired(messages: Sequence[Message], results: Mapping[str, ToolMessage]) -> list[Message]:
    """Return the history with each result behind the message that made its call, in call order.

    Args:
        messages: Any history, also one whose snapshot dropped or moved a result.
        results: What this side knows, by tool call id. It wins over what stands in `messages`: a person's answer
            is never replaced by a placeholder or by what a server echoes.

    A result without a call is left out (providers refuse it); a call without a result stays open.
    """
    known: dict[str, ToolMessage] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            known.setdefault(message.tool_call_id, message)
    known.update(results)
    history: list[Message] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            continue
        history.append(message)
        if isinstance(message, AssistantMessage):
            history.extend(known[call.id] for call in message.tool_calls or () if call.id in known)
    return history


def without_torn_calls(messages: Sequence[Message]) -> list[Message]:
    """Return the history of a run that was cut off: what was said stays, a call that was still being written goes.

    Some providers parse the arguments of old calls and refuse the thread when one is not JSON.
    """
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    history: list[Message] = []
    for message in messages:
        if not isinstance(message, AssistantMessage) or not message.tool_calls:
            history.append(message)
            continue
        whole = [call for call in message.tool_calls if call.id in answered or _is_whole(call.function.arguments)]
        if whole or message.content:
            history.append(message.model_copy(update={"tool_calls": whole or None}))
    return history


def _is_whole(arguments: str) -> bool:
    # Nothing at all may be a call without arguments, or one of which nothing has come yet: that cannot be told.
    try:
        read_json(arguments)
    except ValueError:
        return False
    return True


class Proven:
    """What of a thread's history is proven: each call there has its result, adjacent and in order.

    It needs no second look, so a turn costs what is new in it.
    """

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._made: list[Message] = []
        """The list that was made here last: it begins with what is proven."""

    def reach(self, messages: list[Message]) -> int:
        """Return how many messages at the begin of a history are proven."""
        known = self._messages
        # Lists compare by identity first, in C: some 5 ns an item.
        if messages is not self._made and messages[: len(known)] != known:
            same = next(
                (at for at, (one, other) in enumerate(zip(known, messages, strict=False)) if one != other), None
            )
            size = min(len(known), len(messages)) if same is None else same
            while 0 < size < len(known) and isinstance(known[size], ToolMessage):
                size -= 1  # not between a call and its results
            known = self._messages = known[:size]
        return len(known)

    def rest(self, messages: list[Message]) -> list[Message]:
        """Return what is not proven yet of a history."""
        return messages[self.reach(messages) :]

    def paired(self, messages: list[Message], results: Mapping[str, ToolMessage]) -> list[Message]:
        """Give the history with each result behind its call; see `paired`."""
        reach = self.reach(messages)
        self._made = [*messages[:reach], *paired(messages[reach:], results)]
        return self._made

    def without_torn_calls(self, messages: list[Message]) -> list[Message]:
        """Give the history of a run that was cut off; see `without_torn_calls`."""
        reach = self.reach(messages)
        self._made = [*messages[:reach], *without_torn_calls(messages[reach:])]
        return self._made

    def check(self, messages: list[Message], held: Collection[str] = ()) -> None:
        """Prove a history before a model sees it; see `check`.

        Raises:
            HistoryError: As `check`.
        """
        rest = self.rest(messages)
        check(rest, held)
        waits = {call.id for call in open_calls(rest)}
        until = (at for at, it in enumerate(rest) if waits and any(call.id in waits for call in tool_calls([it])))
        self._messages += rest[: next(until, len(rest))]


PLACEHOLDER = "Forwarded to client"
"""What some servers write as the result of a call that they leave to the client; it is no answer."""


def check(messages: Sequence[Message], held: Collection[str] = ()) -> None:
    """Prove the rule before a model sees the history.

    Args:
        messages: The history.
        held: Tool calls that an interrupt holds: the agent itself gives their results once it is resumed.

    Raises:
        HistoryError: Names the first tool call without exactly one adjacent result in call order.
    """
    expected: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not expected or message.tool_call_id != expected.pop(0):
                raise HistoryError(
                    f"The result of tool call `{message.tool_call_id}` is not adjacent to its call or out of call "
                    "order. The run was stopped before the model saw it; report this with `session.messages`."
                )
            continue
        _none_left(expected)
        if isinstance(message, AssistantMessage):
            expected = [call.id for call in message.tool_calls or () if call.id not in held]
    _none_left(expected)


def _none_left(expected: Sequence[str]) -> None:
    if expected:
        raise HistoryError(
            f"Tool call `{expected[0]}` has no result. The run was stopped before the model saw it; "
            "answer it (`display(session.pending[0])` shows its card again, `session.pending[0].respond(...)` answers "
            "in code) or close it (`session.pending[0].cancel()`)."
        )
