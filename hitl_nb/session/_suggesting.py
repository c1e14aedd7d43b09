"""What a person may want to say next: fixed, or made by the agent's own model, which is forced to call one tool.

The model is asked in a run of its own, beside the thread: nothing of it stands in the history.
"""

import json
import uuid
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    Message,
    RunAgentInput,
    Tool,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
    UserMessage,
)

from hitl_nb._limits import brief, words_of
from hitl_nb._text import logger
from hitl_nb.agents import Agent
from hitl_nb.agui import ChunkExpander

_log = logger()

TOOL = "suggest_next_messages"
_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """Something a person may want to say."""

    title: str
    """What stands on the button."""

    message: str
    """What is said."""


@dataclass(frozen=True, kw_only=True)
class Suggesting:
    """How suggestions come about."""

    fixed: tuple[Suggestion, ...] = ()
    instructions: str | None = None
    count: int = 3


def suggestion_of(value: Any) -> Suggestion:
    """Return a suggestion for a text, or for a title with a text."""
    if isinstance(value, Suggestion):
        return value
    title, message = (value, value) if isinstance(value, str) else (str(value[0]), str(value[1]))
    return Suggestion(title=brief(title, _LONGEST), message=message)


async def suggested(agent: Agent, how: Suggesting, messages: Sequence[Message]) -> list[Suggestion]:
    """Return what may be said next; one that fails suggests nothing."""
    if how.instructions is None:
        return list(how.fixed)
    try:
        return [*how.fixed, *await _asked(agent, how, messages)]
    except Exception as error:
        # A line, and no traceback in the cell of a chat that goes on without.
        _log.warning("The model could not be asked for suggestions: %s: %s", type(error).__name__, words_of(error))
        _log.debug("Asking for suggestions", exc_info=True)
        return list(how.fixed)


async def _asked(agent: Agent, how: Suggesting, messages: Sequence[Message]) -> list[Suggestion]:
    wish = (
        f"Suggest what the user may want to say next: {how.instructions}. "
        f"Call `{TOOL}` with {how.count} suggestions, and say nothing else."
    )
    input_ = RunAgentInput(
        thread_id=str(uuid.uuid4()),
        run_id=str(uuid.uuid4()),
        messages=[*messages, UserMessage(id=str(uuid.uuid4()), content=wish)],
        state={},
        tools=[Tool(name=TOOL, description="Suggest what the user may say next.", parameters=_PARAMETERS)],
        context=[],
        forwarded_props={"toolChoice": {"type": "function", "function": {"name": TOOL}}},
    )
    text, call = [], ""
    expand = ChunkExpander()
    stream: Any = agent.run(input_)
    async with aclosing(stream):
        async for raw in stream:
            for event in expand.feed(raw):
                if isinstance(event, ToolCallStartEvent) and event.tool_call_name == TOOL and not call:
                    call = event.tool_call_id
                elif isinstance(event, ToolCallArgsEvent) and event.tool_call_id == call:
                    text.append(event.delta)
                elif isinstance(event, ToolCallEndEvent) and event.tool_call_id == call:
                    return _read("".join(text))[: how.count]
    return []


def _read(text: str) -> list[Suggestion]:
    found = json.loads(text).get("suggestions", [])
    return [
        Suggestion(title=brief(str(each["title"]), _LONGEST), message=str(each["message"]))
        for each in found
        if isinstance(each, dict) and each.get("title") and each.get("message")
    ]


_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "suggestions": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"title": {"type": "string"}, "message": {"type": "string"}},
                "required": ["title", "message"],
            },
        }
    },
    "required": ["suggestions"],
}
