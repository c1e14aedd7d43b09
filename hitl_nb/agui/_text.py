"""Text and reasoning: messages that grow by fragments."""

import logging
from typing import Any

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    DeveloperMessage,
    Message,
    ReasoningEncryptedValueEvent,
    ReasoningMessage,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    SystemMessage,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolMessage,
    UserMessage,
)

from hitl_nb.agui._messages import Messages, merge_metadata

_logger = logging.getLogger("hitl_nb.agui")

_CLASS_OF_ROLE: dict[str, type[Message]] = {
    "assistant": AssistantMessage,
    "developer": DeveloperMessage,
    "reasoning": ReasoningMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "user": UserMessage,
}


def start(messages: Messages, event: TextMessageStartEvent | ReasoningMessageStartEvent) -> None:
    """Begin a message, or go on with the one that has this id: a tool call may have made it already."""
    message = messages.edit(event.message_id)
    if isinstance(message, ActivityMessage):
        _logger.warning("Skipped the text of `%s`: the id belongs to an activity", event.message_id)
        return
    if message is None:
        message = _new(event)
        messages.append(message)
    merge_metadata(message, event)


def _new(event: TextMessageStartEvent | ReasoningMessageStartEvent) -> Message:
    role = "reasoning" if isinstance(event, ReasoningMessageStartEvent) else event.role or "assistant"
    fields: dict[str, Any] = {"id": event.message_id, "role": role, "content": ""}
    for optional in ("name", "subagent_run_id"):
        if (value := getattr(event, optional, None)) is not None:
            fields[optional] = value
    return _CLASS_OF_ROLE[role].model_construct(**fields)


def append(messages: Messages, event: TextMessageContentEvent | ReasoningMessageContentEvent) -> None:
    """Add a fragment."""
    message = messages.edit(event.message_id)
    if message is None or isinstance(message, ActivityMessage):
        _logger.warning("Skipped a fragment: there is no message `%s` to add it to", event.message_id)
        return
    so_far = message.content if isinstance(message.content, str) else ""
    message.content = so_far + event.delta
    merge_metadata(message, event)


def end(messages: Messages, event: TextMessageEndEvent | ReasoningMessageEndEvent) -> None:
    """Close a message; what is known only now (token counts, why it ended) comes as metadata."""
    message = messages.edit(event.message_id)
    if message is None or isinstance(message, ActivityMessage):
        _logger.warning("Skipped the end of `%s`: there is no such message", event.message_id)
        return
    merge_metadata(message, event)


def set_encrypted_value(messages: Messages, event: ReasoningEncryptedValueEvent) -> None:
    """Keep a provider's sealed reasoning with the message or tool call it belongs to; it goes back unread."""
    target = messages.edit_call(event.entity_id) if event.subtype == "tool-call" else messages.edit(event.entity_id)
    if target is not None and not isinstance(target, ActivityMessage):
        target.encrypted_value = event.encrypted_value
