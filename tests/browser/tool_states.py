"""Tool calls that nobody is asked about, as the kernel sends them."""

from typing import Any

from hitl_nb._calls import Call, Decision, Handle, Progress
from hitl_nb._transcript import ToolEntry
from hitl_nb.cards._protocol import item_of
from hitl_nb.cards._shown import drawing_of
from tests.browser.items import Item, message

_ARGS = {"query": "launch windows to Mars after 2030", "limit": 3}
_HITS = [{"title": "Window of 2031", "score": 0.91}, {"title": "Window of 2033", "score": 0.87}]


def tool(
    key: str, *, far: str = "done", render: Any = None, error: str = "no such table: `orders`", **changes: Any
) -> Item:
    """A call of ``search_web`` that is so far."""
    call = Call(id=key, name="search_web")
    handle = Handle.of(call)
    handle.set(args={"query": "launch win"} if far == "writing" else _ARGS)
    if far != "writing":
        handle.runs_elsewhere(_ARGS)
    if far == "running":
        handle.report(Progress(done=3, total=8, message="reading page 3 of 8"))
    if far == "failed":
        handle.settle(Decision(outcome="invalid", result=f"Error: {error}", reason=error))
    if far in ("done", "stopped"):
        handle.settle(Decision(outcome="answered" if far == "done" else "aborted", answer=_HITS, result="[]"))
    entry = ToolEntry(key=key, call=call, render=render)
    drawn = drawing_of(entry)
    if drawn is not None:
        drawn.draw(call)
    seconds = {"running": 12.0, "done": 2.4}.get(far)
    return {**item_of(entry, {}, drawn=drawn), "key": key, "seconds": seconds, **changes}


TOOL_STATES: dict[str, dict[str, Any]] = {
    "tool-calls": {
        "items": [
            message("m1", "Which launch windows are there?", role="user"),
            tool("t1"),
            tool("t2", far="running"),
            tool("t3", far="writing"),
            tool("t4", far="failed"),
            tool("t5", far="stopped"),
        ]
    },
    "tool-drawn": {
        "items": [
            tool("t1", render=lambda call: f"Found **{len(call.answer)}** windows for *{call.args['query']}*"),
            tool("t2", render=lambda call: call.answer),
            tool("t3", render=lambda call: 1 / 0),
        ]
    },
}
