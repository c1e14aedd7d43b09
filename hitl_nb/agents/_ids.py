"""Which message and which call is this? One id for each in a thread, whatever agents and providers say.

An answer finds its call by the id alone, and what a person answered is kept under it. But Gemini streams `""` for
every call and Ollama counts from 0 in every reply: with such an id an answer could land on another question, or the
answer to an old question be taken for the answer to a new one. So a call whose id is empty or taken gets a fresh one.

CrewAI's messages have no id at all, and each conversion mints another; servers, too, may give other ids from snapshot
to snapshot. So a message is recognised by what it says, and here it keeps the id that it had in the stream.
"""

import uuid
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from ag_ui.core import (
    AssistantMessage,
    Event,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessageStartEvent,
    RunAgentInput,
    RunFinishedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallChunkEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb._text import Pieces
from hitl_nb._tools import UNNAMED_TOOL
from hitl_nb.agents._call_assembler import MIXED_UP, Brackets, fresh_call_id, presentable, unclosed
from hitl_nb.agui import Grown, tool_calls

_Features = tuple[str, ...]
"""What a message is recognised by when its id has changed: role, text, the agent's ids of its calls."""


def fresh_message_id() -> str:
    """Return an id that no other message has."""
    return f"msg_{uuid.uuid4().hex}"


@dataclass(kw_only=True, eq=False)
class StreamedCall:
    """A tool call as it was streamed."""

    id: str
    """Its id in the thread: the provider's, or a fresh one when that is empty or taken."""

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
    """Its id in the thread."""

    said: Pieces = field(default_factory=Pieces)
    """What it said."""

    calls: list[StreamedCall] = field(default_factory=list)
    """Its tool calls, in order."""

    interleaved: bool = False
    """Whether a call began before another was complete."""

    @property
    def text(self) -> str:
        """What it said, so far."""
        return self.said.read()

    def call(self, provider_id: str) -> StreamedCall | None:
        """Find a tool call."""
        return next((call for call in reversed(self.calls) if call.provider_id == provider_id), None)


# -- the messages that an agent ends with -------------------------------------------------------------------------


def settled(
    messages: Sequence[Message],
    before: Sequence[Message],
    streamed: Iterable[StreamedMessage],
    theirs: Mapping[str, str] | None = None,
) -> list[Message]:
    """Return `messages` with ids that are unique in the thread and the same as in the stream.

    Args:
        messages: The history as the agent left it.
        before: The history that came in with the run.
        streamed: What was streamed in between.
        theirs: Ids of calls in `before` → the agent's ids for them, where they differ.
    """
    messages = [without_repetitions(message) for message in messages]
    settling = _Settling(messages, before, streamed, theirs or {})
    return [settling.settle(message, messages[position + 1 :]) for position, message in enumerate(messages)]


def without_repetitions(message: Message) -> Message:
    """Leave out a call that was sent twice: the same id with the same arguments is one question."""
    kept: list[ToolCall] = []
    for call in _calls_of(message):
        if not call.id or call not in kept:
            kept.append(call)
    return message if len(kept) == len(_calls_of(message)) else _identified(message, message.id, kept)


class _Settling:
    """Goes through the final messages in order; each takes the id of what it is found to be."""

    def __init__(
        self,
        messages: Sequence[Message],
        before: Sequence[Message],
        streamed: Iterable[StreamedMessage],
        theirs: Mapping[str, str],
    ) -> None:
        self._theirs = theirs
        self._before = {message.id: message for message in presentable(before)}
        self._asked = {call.id for call in tool_calls(before)}
        self._results = {it.tool_call_id: it.id for it in before if isinstance(it, ToolMessage)}
        self._streamed = list(streamed)
        self._ids = {message.id for message in messages}
        # How often a message is still to come, and how often it was streamed just now.
        self._to_come = Counter(_features(it) for it in messages if it.id not in self._before)
        self._told = Counter(("assistant", it.text, *(call.provider_id for call in it.calls)) for it in self._streamed)
        self._moved: dict[_Features, deque[Message]] = {}
        """What came in with the run and is not there under its id."""
        for it in self._before.values():
            if it.id not in self._ids:
                theirs_now = [self._with_their_id(call) for call in _calls_of(it)]
                self._moved.setdefault(_features(_identified(it, it.id, theirs_now)), deque()).append(it)
        self._taken: set[str] = set()
        self._awaited: dict[str, deque[str]] = {}
        """The agent's id → the ids of its calls that have no result yet."""

    def settle(self, message: Message, rest: Sequence[Message]) -> Message:
        if isinstance(message, ToolMessage):
            return self._result(message)
        old = self._before.pop(message.id, None) or self._old(message, rest)
        if old is not None:
            known = list(_calls_of(old))
            return _identified(message, old.id, [self._known(call, known) for call in _calls_of(message)])
        twin = self._twin(message) if isinstance(message, AssistantMessage) else None
        told = list(twin.calls) if twin else []
        calls = [self._new(call, told) for call in _with_doubts(_calls_of(message), twin)]
        return _identified(message, twin.id if twin else message.id, calls)

    def _old(self, message: Message, rest: Sequence[Message]) -> Message | None:
        """Find the message of the history that this is, although the agent gave it another id.

        A provider that uses its ids again makes new calls look like old ones: so nothing is old that was streamed
        just now, or whose calls have neither a result nor the same arguments.
        """
        features = _features(message)
        streamed = self._to_come[features] <= self._told[features]
        self._to_come[features] -= 1
        if streamed:
            self._told[features] -= 1
            return None
        moved = self._moved.get(features)
        if not moved:
            return None
        results = {it.tool_call_id for it in takewhile(lambda it: isinstance(it, ToolMessage), rest)}  # type: ignore[union-attr]
        pairs = zip(_calls_of(moved[0]), _calls_of(message), strict=True)
        same = all(it.function == call.function or call.id in results for it, call in pairs)
        return moved.popleft() if same else None

    def _with_their_id(self, call: ToolCall) -> ToolCall:
        return call.model_copy(update={"id": self._theirs.get(call.id, call.id)})

    def _known(self, call: ToolCall, known: list[ToolCall]) -> ToolCall:
        for candidate in known:
            if self._theirs.get(candidate.id, candidate.id) == call.id:
                known.remove(candidate)
                return self._take(call, candidate.id)
        return self._new(call, [])

    def _twin(self, message: AssistantMessage) -> StreamedMessage | None:
        """Find the stream that made this message; each made one at most."""
        ids = {call.id for call in _calls_of(message)}
        content = message.content or ""
        named = (it for it in self._streamed if it.id == message.id)
        free = [it for it in self._streamed if it.id not in self._ids]
        with_all = (it for it in free if all(it.call(call_id) is not None for call_id in ids))
        same = (it for it in with_all if ids or (it.text == content and not it.calls))
        # A Flow may have changed the words before it stored them.
        similar = (it for it in free if it.text and content and not ids and not it.calls)
        twin = next(named, None) or next(same, None) or next(similar, None)
        if twin is not None:
            self._streamed.remove(twin)
        return twin

    def _new(self, call: ToolCall, told: list[StreamedCall]) -> ToolCall:
        streamed = next((it for it in told if it.provider_id == call.id), None)
        if streamed is not None:
            told.remove(streamed)
            call_id = streamed.id
        elif call.id and call.id not in self._taken and call.id not in self._asked:
            call_id = call.id
        else:
            call_id = fresh_call_id()
        # `copilotkit_stream` lets the empty name of a later fragment win, so the stream may know better.
        name = call.function.name or (streamed.name if streamed and call.id else "") or UNNAMED_TOOL
        function = call.function.model_copy(update={"name": name})
        return self._take(call.model_copy(update={"function": function}), call_id)

    def _take(self, call: ToolCall, call_id: str) -> ToolCall:
        self._taken.add(call_id)
        self._awaited.setdefault(call.id, deque()).append(call_id)
        return call.model_copy(update={"id": call_id})

    def _result(self, message: ToolMessage) -> ToolMessage:
        awaited = self._awaited.get(message.tool_call_id)
        call_id = awaited.popleft() if awaited else message.tool_call_id
        return message.model_copy(update={"tool_call_id": call_id, "id": self._results.get(call_id, message.id)})


def _calls_of(message: Message) -> Sequence[ToolCall]:
    return (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ()


def _features(message: Message) -> _Features:
    return message.role, str(message.content or ""), *(call.id for call in _calls_of(message))


def _identified(message: Message, message_id: str, calls: list[ToolCall]) -> Message:
    update: dict[str, object] = {"id": message_id} | ({"tool_calls": calls} if calls else {})
    return message.model_copy(update=update)


def _with_doubts(calls: Sequence[ToolCall], twin: StreamedMessage | None) -> Iterator[ToolCall]:
    """Mark the calls that may have got the rest of a torn one, as happens where all come with Ollama's index 0."""
    torn = twin is not None and twin.interleaved and any(unclosed(call.function.arguments) for call in calls)
    for call in calls:
        if torn:
            function = call.function.model_copy(update={"arguments": call.function.arguments + MIXED_UP})
            yield call.model_copy(update={"function": function})
        else:
            yield call
            torn = unclosed(call.function.arguments)


# -- the events of an agent that gives its own ids ----------------------------------------------------------------


_MESSAGE_IDS = ("message_id", "parent_message_id", "entity_id")


class UniqueCalls:
    """The ids of one server, or of one foreign agent.

    An id that the thread has already is replaced on the way in, and put back on the way out, since who keeps the
    conversation on the other side knows the call by it.
    """

    def __init__(self) -> None:
        self._theirs: dict[str, str] = {}
        """Our id → theirs, where they differ."""
        self._seen: Grown[Message] = Grown()
        self._known: set[str] = set()
        self._messages: set[str] = set()

    def begin(self, input: RunAgentInput) -> tuple[RunAgentInput, "CallReader"]:  # noqa: A002 - AG-UI's name
        """Return a run's input with their ids, and the reader of its events."""
        new = self._seen.new(input.messages)
        if new is None:
            self._known, self._messages, new = set(), set(), input.messages
        self._known.update(call.id for call in tool_calls(new))
        self._messages.update(message.id for message in new)
        reader = CallReader(self._theirs, input.messages, self._known, self._messages)
        if not self._theirs:
            return input, reader
        messages = [_with_ids(message, self._theirs) for message in input.messages]
        return input.model_copy(update={"messages": messages}), reader


class CallReader:
    """Follows the events of one run.

    Args:
        theirs: Our id → theirs, where they differ; what is learned on the way is added.
        before: The history that came in with the run.
        known: Our ids of its calls.
        messages: The ids of its messages.
    """

    def __init__(
        self, theirs: dict[str, str], before: Sequence[Message], known: set[str], messages: Collection[str]
    ) -> None:
        self._theirs = theirs
        self._before = before
        self._known = known
        self._used = set(theirs.values())
        """Their ids that differ from ours, and of the calls that were announced in this run."""
        self._ours: dict[str, str] = {}
        """Their id → ours, for the calls of this run."""
        self._messages = messages
        self._fresh: dict[str, str] = {}
        """Their id → ours, for the messages of this run that have the id of an earlier one."""
        self._streamed: dict[str, StreamedMessage] = {}

    def read(self, event: Event) -> Event:
        """Return the event with our ids."""
        event = self._renamed(event)
        match event:
            case ToolCallStartEvent():
                self._begin(event.tool_call_id, event.tool_call_name, event.parent_message_id)
            case ToolCallChunkEvent() if event.tool_call_id is not None and event.tool_call_name:
                self._begin(event.tool_call_id, event.tool_call_name, event.parent_message_id)
            case TextMessageContentEvent() | TextMessageChunkEvent() if event.message_id and event.delta:
                fresh = StreamedMessage(id=event.message_id)
                self._streamed.setdefault(event.message_id, fresh).said.add(event.delta)
            case MessagesSnapshotEvent():
                return event.model_copy(update={"messages": self._snapshot(event.messages)})
            case RunFinishedEvent():
                return self._finish(event)
        theirs: str | None = getattr(event, "tool_call_id", None)
        ours = self._ours.get(theirs, theirs) if theirs is not None else None
        return event if ours == theirs else event.model_copy(update={"tool_call_id": ours})

    def _renamed(self, event: Event) -> Event:
        """Give a message an id of its own that has the id of an earlier one, which is over.

        Some agents call every reply the same; it would become part of the first one, and not be seen.
        """
        match event:
            case TextMessageStartEvent() | TextMessageChunkEvent() | ReasoningMessageStartEvent():
                self._name_anew(event.message_id)
            case ToolCallStartEvent() | ToolCallChunkEvent() if event.tool_call_id not in self._known:
                self._name_anew(event.parent_message_id)
        for name in _MESSAGE_IDS if self._fresh else ():
            ours = self._fresh.get(getattr(event, name, None) or "")
            if ours is not None and not isinstance(event, ToolCallResultEvent):
                return event.model_copy(update={name: ours})
        return event

    def _name_anew(self, theirs: str | None) -> None:
        over = theirs in self._messages and theirs != self._before[-1].id
        if theirs is not None and over and theirs not in self._fresh:
            self._fresh[theirs] = fresh_message_id()

    def _begin(self, theirs: str, name: str, parent: str | None) -> None:
        key = parent or theirs or fresh_message_id()
        if theirs and key in self._streamed and self._streamed[key].call(theirs):
            return  # the same call goes on
        ours = theirs if theirs and theirs not in self._used and theirs not in self._known else fresh_call_id()
        self._used.add(theirs)
        self._remember(ours, theirs)
        # As in the reducer: a call without a parent makes a message of its own id.
        message = self._streamed.setdefault(key, StreamedMessage(id=parent or ours))
        message.calls.append(StreamedCall(id=ours, provider_id=theirs, name=name))

    def _remember(self, ours: str, theirs: str) -> None:
        self._ours[theirs] = ours
        # An empty id is nobody's: two results under it could not be told apart, so ours is sent instead.
        if theirs and ours != theirs:
            self._theirs[ours] = theirs

    def _snapshot(self, messages: Sequence[Message]) -> list[Message]:
        messages = [without_repetitions(message) for message in self._named(messages)]
        result = settled(messages, self._before, self._streamed.values(), self._theirs)
        for theirs, ours in zip(messages, result, strict=True):
            if isinstance(theirs, AssistantMessage) and isinstance(ours, AssistantMessage):
                self._learn(theirs, ours)
        return result

    def _named(self, messages: Sequence[Message]) -> list[Message]:
        """Give what was streamed just now the id that it got there, where a snapshot has the agent's own."""
        left, found = dict(self._fresh), list(messages)
        for place in range(len(found) - 1, -1, -1):
            message = found[place]
            told = self._streamed.get(left.get(message.id, ""))
            if told is None or not isinstance(message, AssistantMessage):
                continue
            calls = {call.id for call in message.tool_calls or ()}
            if (message.content or "") == told.text and calls == {call.provider_id for call in told.calls}:
                found[place] = message.model_copy(update={"id": left.pop(message.id)})
        return found

    def _learn(self, theirs: AssistantMessage, ours: AssistantMessage) -> None:
        """Keep what was only now given an id: the next snapshot shows the same message again."""
        calls = [call for call in ours.tool_calls or () if call.id not in self._known]
        if not calls or ours.id in self._streamed:
            return
        message = StreamedMessage(id=ours.id, said=Pieces(ours.content or ""))
        for call, settled_call in zip(theirs.tool_calls or (), ours.tool_calls or (), strict=True):
            told = StreamedCall(id=settled_call.id, provider_id=call.id, name=settled_call.function.name)
            message.calls.append(told)
            self._remember(settled_call.id, call.id)
        self._streamed[ours.id] = message

    def _finish(self, event: RunFinishedEvent) -> RunFinishedEvent:
        outcome = event.outcome
        if outcome is not None and outcome.type == "interrupt":
            update: dict[str, object] = {"interrupts": [self._interrupt(it) for it in outcome.interrupts]}
        elif outcome is not None and outcome.type == "success" and outcome.pending_tool_call_ids:
            update = {"pending_tool_call_ids": [self._ours.get(it, it) for it in outcome.pending_tool_call_ids]}
        else:
            return event
        return event.model_copy(update={"outcome": outcome.model_copy(update=update)})

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
