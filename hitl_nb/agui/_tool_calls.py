"""Tool calls: where they stand in the history, their arguments as text, their results."""

import logging

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb.agui._messages import Messages, merge_metadata

_logger = logging.getLogger("hitl_nb.agui")


def start(messages: Messages, event: ToolCallStartEvent) -> None:
    """Begin a tool call, once.

    The same start may come twice: a server that re-syncs after an answer replays what the history holds. A
    second copy would stay without arguments and without a result, and a provider refuses such a history
    (ag-ui issue 1524).
    """
    call = messages.edit_call(event.tool_call_id)
    if call is None:
        call = ToolCall(id=event.tool_call_id, function=FunctionCall(name=event.tool_call_name, arguments=""))
        messages.append_call(_parent(messages, event), call)
    elif call.function.name != event.tool_call_name:
        _logger.warning(
            "The tool call `%s` was named `%s` and is now `%s`",
            call.id,
            call.function.name,
            event.tool_call_name,
        )
        call.function.name = event.tool_call_name
    merge_metadata(call, event)


def _parent(messages: Messages, event: ToolCallStartEvent) -> AssistantMessage:
    """Find the message a call belongs to, or make it: named as the event says, or else as the call itself."""
    parent_id = event.parent_message_id
    parent = messages.edit(parent_id) if parent_id else None
    if isinstance(parent, AssistantMessage):
        return parent
    if parent is not None:
        _logger.warning("The parent `%s` of the tool call `%s` is no assistant message", parent_id, event.tool_call_id)
    made = AssistantMessage(id=parent_id if parent_id and parent is None else event.tool_call_id)
    if event.subagent_run_id is not None:
        made.subagent_run_id = event.subagent_run_id
    messages.append(made)
    return made


def append(messages: Messages, event: ToolCallArgsEvent) -> None:
    """Add a fragment of the arguments."""
    call = messages.edit_call(event.tool_call_id)
    if call is None:
        _logger.warning("Skipped arguments: there is no tool call `%s`", event.tool_call_id)
        return
    call.function.arguments += event.delta
    merge_metadata(call, event)


def end(messages: Messages, event: ToolCallEndEvent) -> None:
    """Close a tool call."""
    call = messages.edit_call(event.tool_call_id)
    if call is None:
        _logger.warning("Skipped the end of the tool call `%s`: there is no such call", event.tool_call_id)
        return
    merge_metadata(call, event)


def add_result(messages: Messages, event: ToolCallResultEvent) -> None:
    """Put the result of a tool into the history."""
    result = ToolMessage.model_construct(
        id=event.message_id, tool_call_id=event.tool_call_id, role="tool", content=event.content
    )
    if event.subagent_run_id is not None:
        result.subagent_run_id = event.subagent_run_id
    merge_metadata(result, event)
    messages.insert_result(result)
