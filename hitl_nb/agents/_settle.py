"""The messages a Flow ends with → the messages of the thread, with the ids under which they were streamed.

CrewAI's messages have no id, and each conversion mints another, so that a front end sees every message twice; the
calls in them have the provider's ids, which may be empty or used before. An answer finds its call by that id alone,
so each call gets one of its own here, and results that the Flow added itself follow their call.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import takewhile

from ag_ui.core import AssistantMessage, Message, ToolCall, ToolMessage

from hitl_nb._history import tool_calls
from hitl_nb.agents._identity import UNNAMED_TOOL, fresh_call_id
from hitl_nb.agents._translate import StreamedCall, StreamedMessage


def settled(
    messages: Sequence[Message], before: Sequence[Message], streamed: Iterable[StreamedMessage]
) -> list[Message]:
    """Give `messages` with ids that are unique in the thread and the same as in the stream.

    Args:
        messages: The history as the Flow left it.
        before: The history that came in with the run.
        streamed: What was streamed in between.
    """
    settling = _Settling(messages, before, streamed)
    return [settling.settle(message, messages[position + 1 :]) for position, message in enumerate(messages)]


class _Settling:
    def __init__(
        self, messages: Sequence[Message], before: Sequence[Message], streamed: Iterable[StreamedMessage]
    ) -> None:
        self._ids = {message.id for message in messages}
        self._known = {message.id for message in before}
        self._asked = {call.id for call in tool_calls(before)}
        self._streamed = list(streamed)
        self._taken: set[str] = set()
        self._awaited: dict[str, deque[str]] = {}
        """The provider's id → the ids of its calls that have no result yet."""

    def settle(self, message: Message, rest: Sequence[Message]) -> Message:
        if isinstance(message, ToolMessage):
            return self._result(message)
        if not isinstance(message, AssistantMessage):
            return message
        if self._is_old(message, rest):
            self._taken.update(call.id for call in message.tool_calls or ())
            return message
        twin = self._twin(message)
        told = list(twin.calls) if twin else []
        update: dict[str, object] = {"id": twin.id} if twin else {}
        if message.tool_calls:
            update["tool_calls"] = [self._call(call, told) for call in message.tool_calls]
        return message.model_copy(update=update)

    def _is_old(self, message: AssistantMessage, rest: Sequence[Message]) -> bool:
        """Whether it came in with the run: by its id, or, when the Flow dropped that, by calls that have results."""
        if message.id in self._known:
            return True
        ids = [call.id for call in message.tool_calls or ()]
        results = {it.tool_call_id for it in takewhile(lambda it: isinstance(it, ToolMessage), rest)}  # type: ignore[union-attr]
        return bool(ids) and all(it in self._asked and it not in self._taken and it in results for it in ids)

    def _twin(self, message: AssistantMessage) -> StreamedMessage | None:
        """Find the stream that made this message; each made one at most."""
        ids = {call.id for call in message.tool_calls or ()}
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

    def _call(self, call: ToolCall, told: list[StreamedCall]) -> ToolCall:
        streamed = next((it for it in told if it.provider_id == call.id), None)
        if streamed is not None:
            told.remove(streamed)
            call_id = streamed.id
        elif call.id and call.id not in self._taken and call.id not in self._asked:
            call_id = call.id
        else:
            call_id = fresh_call_id()
        self._taken.add(call_id)
        self._awaited.setdefault(call.id, deque()).append(call_id)
        # `copilotkit_stream` lets an empty name of a later fragment win (facts/crewai.md §7.1, row 8).
        name = call.function.name or (streamed.name if streamed and call.id else "") or UNNAMED_TOOL
        function = call.function.model_copy(update={"name": name})
        return call.model_copy(update={"id": call_id, "function": function})

    def _result(self, message: ToolMessage) -> ToolMessage:
        awaited = self._awaited.get(message.tool_call_id)
        return message.model_copy(update={"tool_call_id": awaited.popleft()}) if awaited else message


def _has(message: StreamedMessage, provider_ids: set[str]) -> bool:
    return all(message.call(it) is not None for it in provider_ids)
