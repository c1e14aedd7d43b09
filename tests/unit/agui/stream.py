"""Short ways to write events down in a test."""

from hitl_nb.agui import parse_event


def event(kind, **fields):
    return parse_event({"type": kind, **fields})


def started(**fields):
    return event("RUN_STARTED", threadId="t", runId="r", **fields)


def finished(**fields):
    return event("RUN_FINISHED", threadId="t", runId="r", **fields)


def text(message="m1", *deltas, **start):
    yield event("TEXT_MESSAGE_START", messageId=message, **start)
    for delta in deltas:
        yield event("TEXT_MESSAGE_CONTENT", messageId=message, delta=delta)
    yield event("TEXT_MESSAGE_END", messageId=message)


def tool_call(call="c1", *deltas, name="ask", **start):
    yield event("TOOL_CALL_START", toolCallId=call, toolCallName=name, **start)
    for delta in deltas:
        yield event("TOOL_CALL_ARGS", toolCallId=call, delta=delta)
    yield event("TOOL_CALL_END", toolCallId=call)


def result(call="c1", content="ok", message="r1", **fields):
    return event("TOOL_CALL_RESULT", messageId=message, toolCallId=call, content=content, **fields)


def snapshot(*messages, **fields):
    return event("MESSAGES_SNAPSHOT", messages=list(messages), **fields)


def wire(events):
    return [it.model_dump(mode="json", by_alias=True) for it in events]
