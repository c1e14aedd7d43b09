"""Which tool calls are open, and where their results belong.

The rule of every provider: each tool call has exactly one result, adjacent to the message that made the call, in
call order. One dangling call makes a thread unusable for good (OpenAI and Anthropic answer 400 from then on), and
nobody downstream repairs it. So the session pairs before each model call, and `check` proves it.
Everything is keyed by tool call id: message ids change from snapshot to snapshot (facts/crewai.md §1.2).
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from ag_ui.core import AssistantMessage, Message, ToolCall, ToolMessage

from hitl_nb.errors import HistoryError


def tool_calls(messages: Iterable[Message]) -> list[ToolCall]:
    """Give all tool calls of a history in call order."""
    return [call for message in messages if isinstance(message, AssistantMessage) for call in message.tool_calls or ()]


def open_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Give the tool calls that have no result yet, in call order."""
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    return [call for call in tool_calls(messages) if call.id not in answered]


def paired(messages: Sequence[Message], results: Mapping[str, ToolMessage]) -> list[Message]:
    """Give the history with each result behind the message that made its call, in call order.

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
    """Give the history of a run that was cut off: what was said stays, a call that was still being written goes.

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
        json.loads(arguments)
    except ValueError:
        return False
    return True


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
            "answer it (`session.pending[0].respond(...)`) or close it (`session.pending[0].cancel()`)."
        )
