"""The history as it goes to a model, so that every provider takes it.

Providers look at old calls again in every request: OpenAI refuses a nameless one, Anthropic's arguments are parsed.
A call that was refused for its broken arguments must not make the thread unusable for good.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ag_ui.core import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage

from hitl_nb._tools import UNNAMED_TOOL
from hitl_nb.errors import UsageError

INVALID_JSON = "INVALID_JSON"
"""The key under which a model finds what it wrote, when that is not JSON (as in Pydantic AI)."""


def presentable(messages: Iterable[Message]) -> list[Message]:
    """Give the history with every call named and its arguments a JSON object; whole calls stay untouched."""
    return [
        message.model_copy(update={"tool_calls": [_presentable_call(call) for call in message.tool_calls]})
        if isinstance(message, AssistantMessage) and message.tool_calls
        else message
        for message in messages
    ]


def _presentable_call(call: ToolCall) -> ToolCall:
    name, arguments = call.function.name or UNNAMED_TOOL, _json_object(call.function.arguments)
    if (name, arguments) == (call.function.name, call.function.arguments):
        return call
    function = call.function.model_copy(update={"name": name, "arguments": arguments})
    return call.model_copy(update={"function": function})


def _json_object(arguments: str) -> str:
    if not arguments.strip():
        return "{}"
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except ValueError:
        pass
    return json.dumps({INVALID_JSON: arguments}, ensure_ascii=False)


def openai_messages(messages: Iterable[Message], system: str | None = None) -> list[dict[str, Any]]:
    """Give the history in OpenAI's form, which litellm takes for every provider.

    No `id` and no null fields: strict providers answer them with 400 (facts/crewai.md §1.2). Activities and
    reasoning are for people and stay here.

    Raises:
        UsageError: A user message holds something other than text and images.
    """
    head = [{"role": "system", "content": system}] if system else []
    return head + list(_converted(presentable(messages)))


def _converted(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = [_openai_call(call) for call in message.tool_calls or ()]
            # OpenAI wants the key `content` when there are no calls, and takes null beside them.
            content = {"content": message.content or ""} if message.content or not calls else {}
            yield {"role": "assistant", **content, **({"tool_calls": calls} if calls else {})}
        elif isinstance(message, ToolMessage):
            yield {"role": "tool", "tool_call_id": message.tool_call_id, "content": _parts(message.content)}
        elif isinstance(message, UserMessage):
            yield {"role": "user", "content": _parts(message.content)}
        elif message.role in ("system", "developer"):
            yield {"role": message.role, "content": message.content}


def _openai_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}


def _parts(content: Any) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Any) -> dict[str, Any]:
    if part.type == "text":
        return {"type": "text", "text": part.text}
    if part.type == "image" and part.source.type in ("url", "data"):
        source = part.source
        url = source.value if source.type == "url" else f"data:{source.mime_type};base64,{source.value}"
        return {"type": "image_url", "image_url": {"url": url}}
    raise UsageError(
        f"`ChatAgent` sends text and images; a part of the type `{part.type}` needs an agent of your own: "
        "write a class with `async def run(self, input)` that yields AG-UI events."
    )
