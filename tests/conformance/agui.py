"""What the released web client does with event streams, run against `hitl_nb.agui`.

    python -m tests.conformance.agui ../shared/conformance/agui_traces.jsonl

One case a line: the ids of the failing ones, then `agui: N/M`.

The traces were recorded around upstream's functions, which stand behind its validation. So an event that
validation refuses still counts here: it is fed unchecked.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    BaseEvent,
    DeveloperMessage,
    Event,
    EventType,
    FunctionCall,
    Message,
    ReasoningMessage,
    RunAgentInput,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic import BaseModel, TypeAdapter, ValidationError

from hitl_nb.agui import Conversation, expand_chunks, parse_event, verify
from hitl_nb.agui._events import EVENT_CLASSES
from hitl_nb.errors import ProtocolError

Json = dict[str, Any]

_MESSAGE = TypeAdapter[Message](Message)
_MESSAGE_CLASSES: dict[str, type[BaseModel]] = {
    "activity": ActivityMessage,
    "assistant": AssistantMessage,
    "developer": DeveloperMessage,
    "reasoning": ReasoningMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
    "user": UserMessage,
}


def _unchecked(cls: type[BaseModel], data: Mapping[str, Any]) -> Any:
    """Read `data` as `cls` whatever it holds; what is required and missing reads as None."""
    names = {field.alias: name for name, field in cls.model_fields.items()}
    values = {names.get(key, key): value for key, value in data.items()}
    missing = {name: None for name, field in cls.model_fields.items() if field.is_required() and name not in values}
    return cls.model_construct(_fields_set=set(values), **missing, **values)


def _message(data: Json) -> Message:
    try:
        return _MESSAGE.validate_python(data)
    except ValidationError:
        calls = [
            _unchecked(ToolCall, {**call, "function": _unchecked(FunctionCall, call.get("function", {}))})
            for call in data.get("toolCalls") or ()
        ]
        known = {**data, "toolCalls": calls} if calls else data
        return cast("Message", _unchecked(_MESSAGE_CLASSES.get(data.get("role", ""), UserMessage), known))


def _event(data: Json) -> Event:
    try:
        event = parse_event(data)
    except ProtocolError:
        known = {**data, "type": EventType(data["type"])}
        if isinstance(data.get("messages"), list):
            known["messages"] = [_message(message) for message in data["messages"]]
        if isinstance(data.get("input"), dict):
            messages = [_message(message) for message in data["input"].get("messages", ())]
            known["input"] = _unchecked(RunAgentInput, {**data["input"], "messages": messages})
        return cast("Event", _unchecked(EVENT_CLASSES[data["type"]], known))
    return event or cast("Event", _unchecked(BaseEvent, data))


def _wire(value: Any) -> Any:
    """Give JSON in the wire's spelling. Not `exclude_none`: a null that somebody set is said, one by default
    is not."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        known = {
            (fields[name].alias or name): _wire(getattr(value, name))
            for name in fields
            if hasattr(value, name) and (getattr(value, name) is not None or name in value.model_fields_set)
        }
        return {**known, **_wire(value.model_extra or {})}
    if isinstance(value, EventType):
        return value.value
    if isinstance(value, Mapping):
        return {key: _wire(it) for key, it in value.items()}
    return [_wire(it) for it in value] if isinstance(value, list | tuple) else value


def _drain(events: Iterable[Event]) -> tuple[list[Event], bool]:
    """Collect what comes, and whether it ended in an error."""
    came: list[Event] = []
    try:
        came.extend(events)  # what came before an error stays
    except ProtocolError:
        return came, True
    return came, False


def _stream_passes(case: Json) -> bool:
    events = [_event(data) for data in case["events"]]
    as_sent = dict(zip(map(id, events), case["events"], strict=True))
    came, failed = _drain(verify(events) if case["kind"] == "verify" else expand_chunks(events))
    out = [as_sent[id(event)] if id(event) in as_sent else _wire(event) for event in came]
    return out == case["expect"]["out"] and failed == (case["expect"]["error"] is not None)


def _apply_passes(case: Json) -> bool:
    conversation, failed = Conversation(map(_message, case["messages0"]), case["state0"]), False
    try:
        for data in case["events"]:
            conversation.apply(_event(data))
    except ProtocolError:
        failed = True
    expect = case["expect"]
    messages = case["messages0"] if expect["messages"] is None else expect["messages"]
    # A recorded null is "unchanged", but also what a snapshot of null (or, in JavaScript, of nothing) leaves
    # behind.
    states = [case["state0"], None] if expect["state"] is None else [expect["state"]]
    failed_there = expect["error"] is not None
    return _wire(conversation.messages) == messages and conversation.state in states and failed == failed_there


def passes(case: Json) -> bool:
    """Run one case."""
    if case["kind"] not in ("verify", "chunks", "apply"):
        raise ValueError(f"there is no kind {case['kind']!r}")
    return _apply_passes(case) if case["kind"] == "apply" else _stream_passes(case)


def difference(case: Json) -> str | None:
    """Give what is wrong with one case: its id where it ends in another way, and why where it cannot be played."""
    name = str(case.get("id", "a case without an id"))
    try:
        return None if passes(case) else name
    except Exception as error:
        return f"{name}: cannot be played: {type(error).__name__}: {error}"


def cases(path: Path) -> list[Json]:
    """Read a file of cases, one JSON object a line; a line that is none is a case that cannot be played."""
    return [
        _case(number, line)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if line.strip()
    ]


def _case(number: int, line: str) -> Json:
    try:
        case = json.loads(line)
    except ValueError:
        case = None
    return case if isinstance(case, dict) else {"id": f"line {number}", "kind": "no JSON object"}


def main(path: Path) -> None:
    """Run a file and print its score."""
    every = cases(path)
    failing = [found for case in every if (found := difference(case)) is not None]
    print(*failing, f"agui: {len(every) - len(failing)}/{len(every)}", sep="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
