"""The messages that an agent ends with → the messages of the thread, under the ids that the thread knows.

CrewAI's messages have no id, and each conversion mints another, so that a front end sees every message twice; the
calls in them have the provider's ids, which may be empty or used before. An answer finds its call by that id alone,
so each call gets one of its own here, and results follow their call.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ag_ui.core import AssistantMessage, Message, ToolCall, ToolMessage

from hitl_nb._tools import UNNAMED_TOOL
from hitl_nb.agents._brackets import unclosed
from hitl_nb.agents._identity import MIXED_UP, fresh_call_id
from hitl_nb.agents._outgoing import presentable
from hitl_nb.agents._translate import StreamedCall, StreamedMessage


def settled(
    messages: Sequence[Message],
    before: Sequence[Message],
    streamed: Iterable[StreamedMessage],
    theirs: Mapping[str, str] | None = None,
) -> list[Message]:
    """Give `messages` with ids that are unique in the thread and the same as in the stream.

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
    for call in _calls(message):
        if not call.id or call not in kept:
            kept.append(call)
    return message if len(kept) == len(_calls(message)) else _with(message, message.id, kept)


class _Settling:
    def __init__(
        self,
        messages: Sequence[Message],
        before: Sequence[Message],
        streamed: Iterable[StreamedMessage],
        theirs: Mapping[str, str],
    ) -> None:
        self._theirs = theirs
        self._before = {message.id: message for message in presentable(before)}
        self._asked = {call.id for message in before for call in _calls(message)}
        self._results = {it.tool_call_id: it.id for it in before if isinstance(it, ToolMessage)}
        self._streamed = list(streamed)
        self._ids = {message.id for message in messages}
        # How often a message is still to come, and how often it was streamed just now.
        self._to_come = Counter(_key(it) for it in messages if it.id not in self._before)
        self._told = Counter(_streamed_key(it) for it in self._streamed)
        self._moved: dict[tuple[Any, ...], deque[Message]] = {}
        """What came in with the run and is not there under its id."""
        for it in self._before.values():
            if it.id not in self._ids:
                self._moved.setdefault(self._key_of_old(it), deque()).append(it)
        self._taken: set[str] = set()
        self._awaited: dict[str, deque[str]] = {}
        """The agent's id → the ids of its calls that have no result yet."""

    def settle(self, message: Message, rest: Sequence[Message]) -> Message:
        if isinstance(message, ToolMessage):
            return self._result(message)
        old = self._before.pop(message.id, None) or self._old(message, rest)
        if old is not None:
            known = list(_calls(old))
            return _with(message, old.id, [self._known(call, known) for call in _calls(message)])
        twin = self._twin(message) if isinstance(message, AssistantMessage) else None
        told = list(twin.calls) if twin else []
        calls = [self._new(call, told) for call in _with_doubts(_calls(message), twin)]
        return _with(message, twin.id if twin else message.id, calls)

    # -- what came in with the run ------------------------------------------------------------------------

    def _old(self, message: Message, rest: Sequence[Message]) -> Message | None:
        """Find the message of the history that this is, although the agent gave it another id.

        A provider that uses its ids again makes new calls look like old ones: so nothing is old that was streamed
        just now, or whose calls have neither a result nor the same arguments.
        """
        key = _key(message)
        streamed = self._to_come[key] <= self._told[key]
        self._to_come[key] -= 1
        if streamed:
            self._told[key] -= 1
            return None
        results = {it.tool_call_id for it in takewhile(lambda it: isinstance(it, ToolMessage), rest)}  # type: ignore[union-attr]
        moved = self._moved.get(key)
        if not moved:
            return None
        pairs = zip(_calls(moved[0]), _calls(message), strict=True)
        same = all(it.function == call.function or call.id in results for it, call in pairs)
        return moved.popleft() if same else None

    def _key_of_old(self, old: Message) -> tuple[Any, ...]:
        return _key(_with(old, old.id, [self._with_their_id(call) for call in _calls(old)]))

    def _with_their_id(self, call: ToolCall) -> ToolCall:
        return call.model_copy(update={"id": self._theirs.get(call.id, call.id)})

    def _known(self, call: ToolCall, known: list[ToolCall]) -> ToolCall:
        for candidate in known:
            if self._theirs.get(candidate.id, candidate.id) == call.id:
                known.remove(candidate)
                return self._take(call, candidate.id)
        return self._new(call, [])

    # -- what is new --------------------------------------------------------------------------------------

    def _twin(self, message: AssistantMessage) -> StreamedMessage | None:
        """Find the stream that made this message; each made one at most."""
        ids = {call.id for call in _calls(message)}
        content = message.content or ""
        named = (it for it in self._streamed if it.id == message.id)
        free = [it for it in self._streamed if it.id not in self._ids]
        same = (it for it in free if _has(it, ids) and (ids or (it.text == content and not it.calls)))
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
        # `copilotkit_stream` lets an empty name of a later fragment win (facts/crewai.md §7.1, row 8).
        name = call.function.name or (streamed.name if streamed and call.id else "") or UNNAMED_TOOL
        return self._take(
            call.model_copy(update={"function": call.function.model_copy(update={"name": name})}), call_id
        )

    def _take(self, call: ToolCall, call_id: str) -> ToolCall:
        self._taken.add(call_id)
        self._awaited.setdefault(call.id, deque()).append(call_id)
        return call.model_copy(update={"id": call_id})

    def _result(self, message: ToolMessage) -> ToolMessage:
        awaited = self._awaited.get(message.tool_call_id)
        call_id = awaited.popleft() if awaited else message.tool_call_id
        return message.model_copy(update={"tool_call_id": call_id, "id": self._results.get(call_id, message.id)})


def _calls(message: Message) -> Sequence[ToolCall]:
    return (message.tool_calls or ()) if isinstance(message, AssistantMessage) else ()


def _with_doubts(calls: Sequence[ToolCall], twin: StreamedMessage | None) -> Iterator[ToolCall]:
    """Mark the calls that may have got the rest of a torn one, as with Ollama's index 0 (facts/crewai.md §9.18)."""
    torn = twin is not None and twin.interleaved and any(unclosed(call.function.arguments) for call in calls)
    for call in calls:
        arguments = call.function.arguments
        yield _with_arguments(call, arguments + MIXED_UP) if torn else call
        torn = torn or unclosed(arguments)


def _with_arguments(call: ToolCall, arguments: str) -> ToolCall:
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": arguments})})


def _with(message: Message, message_id: str, calls: list[ToolCall]) -> Message:
    update: dict[str, object] = {"id": message_id} | ({"tool_calls": calls} if calls else {})
    return message.model_copy(update=update)


def _key(message: Message) -> tuple[Any, ...]:
    """What a message is recognised by when its id has changed."""
    return message.role, str(message.content or ""), *(call.id for call in _calls(message))


def _streamed_key(message: StreamedMessage) -> tuple[Any, ...]:
    return "assistant", message.text, *(call.provider_id for call in message.calls)


def _has(message: StreamedMessage, provider_ids: set[str]) -> bool:
    return all(message.call(it) is not None for it in provider_ids)
