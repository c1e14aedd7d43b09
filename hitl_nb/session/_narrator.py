"""What a run looks like while it streams: its events as messages and calls of the transcript."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ag_ui.core import (
    Event,
    Message,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb._calls import Call, Decision, Handle, Outcome, Via
from hitl_nb._history import tool_calls
from hitl_nb._tools import HumanTool, ToolBox
from hitl_nb._transcript import CallEntry, MessageEntry, Transcript
from hitl_nb.agui import PartialArgs


class Narrator:
    """Writes one agent run into the transcript; only calls that a person answers become calls there."""

    def __init__(self, tools: ToolBox, transcript: Transcript, **identity: Any) -> None:
        self._tools = tools
        self._transcript = transcript
        self._identity = identity
        self._texts: dict[str, MessageEntry] = {}
        self._calls: dict[str, Call] = {}
        self._partials: dict[str, PartialArgs] = {}

    def tell(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextMessageStartEvent():
                self._start_text(event)
            case TextMessageContentEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.text += event.delta
                self._transcript.touch(entry)
            case TextMessageEndEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.streaming = False
                self._transcript.touch(entry)
            case ToolCallStartEvent():
                self._start_call(event.tool_call_id, event.tool_call_name)
            case ToolCallArgsEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].feed(event.delta)
                self._show_preview(event.tool_call_id)
            case ToolCallEndEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].finish()
                self._show_preview(event.tool_call_id)

    def call_of(self, call_id: str, name: str) -> Call:
        """Give the call object of a tool call, announced or not."""
        self._start_call(call_id, name)
        return self._calls[call_id]

    def recall(self, messages: Iterable[Message]) -> None:
        """Draw the calls of a history that came without its events."""
        for tool_call in tool_calls(messages):
            self._start_call(tool_call.id, tool_call.function.name)
            if self._calls[tool_call.id].args is None and tool_call.id in self._partials:
                self._partials[tool_call.id].feed(tool_call.function.arguments)
                self._partials[tool_call.id].finish()
                self._show_preview(tool_call.id)

    def close_answered(self, results: Mapping[str, ToolMessage], *, via: Via) -> None:
        """Complete the calls whose results came with the stream: somebody else answered them."""
        for call in self._calls.values():
            if call.id in results and not call.decided:
                content = results[call.id].content
                text = content if isinstance(content, str) else json.dumps([part.model_dump() for part in content])
                Handle.of(call).settle(Decision(outcome=_outcome_of(text), result=text, via=via))

    def _start_text(self, event: TextMessageStartEvent) -> None:
        entry = self._texts.setdefault(event.message_id, MessageEntry(key=event.message_id, role="assistant"))
        entry.streaming = True
        self._transcript.add(entry)

    def _start_call(self, call_id: str, name: str) -> None:
        if call_id in self._calls:
            return
        tool = self._tools.get(name)
        if not isinstance(tool, HumanTool):
            # Nobody is asked about it, so it is nothing to look at; it only needs an end.
            self._calls[call_id] = Call(id=call_id, name=name, **self._identity)
            return
        self._calls[call_id] = tool.call(call_id, name, **self._identity)
        self._partials[call_id] = PartialArgs()
        self._transcript.add(CallEntry(key=self._calls[call_id].occurrence, call=self._calls[call_id]))

    def _show_preview(self, call_id: str) -> None:
        preview = self._partials[call_id].preview
        call = self._calls[call_id]
        if preview is not None and preview is not call.args and call.status == "inProgress":
            Handle.of(call).preview(preview)


_REFUSALS: dict[str, Outcome] = {
    "declined": "declined",
    "denied": "declined",
    "cancelled": "cancelled",
    "expired": "expired",
    "superseded": "superseded",
}


def _outcome_of(content: str) -> Outcome:
    """Tell an earlier refusal from an earlier answer; what cannot be told is shown as no more than answered."""
    if content.startswith("Error:"):
        return "aborted"
    try:
        value = json.loads(content)
    except ValueError:
        return "answered"
    if not isinstance(value, dict):
        return "answered"
    return "invalid" if "error" in value else _REFUSALS.get(str(value.get("status")), "answered")
