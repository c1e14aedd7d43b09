"""How providers really stream tool calls: a table of chunk shapes, and a litellm provider that plays them."""

import copy
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import litellm
from litellm.types.utils import (
    ChatCompletionDeltaToolCall,
    Delta,
    Function,
    ModelResponseStream,
    StreamingChoices,
)

MODEL = "openai/gpt-4o"
TOOL = "book_trip"


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One way to stream, and what has to come of it."""

    name: str
    deltas: Sequence[Any]
    """Each a text, a fragment, or a list of fragments in one delta."""

    finish: str | None = "tool_calls"
    chat: tuple[list[int], int]
    """Through `ChatAgent`: the questions that a person is asked, and how many calls the model is told were wrong."""

    flow: tuple[list[int], int] | None = None
    """Through a Flow with `copilotkit_stream`, where that differs."""


def f(index: int | None, id: str | None, name: str | None, arguments: Any) -> ChatCompletionDeltaToolCall:  # noqa: A002
    """One fragment of a call."""
    fragment = ChatCompletionDeltaToolCall(
        id=id, type="function", index=index or 0, function=Function(name=name, arguments=arguments)
    )
    if index is None:
        del fragment.index
    return fragment


ONE = ([1], 0)
TWO = ([1, 2], 0)

SHAPES = [
    # -- how providers stream their calls, well and badly
    Shape(
        name="parallel calls, interleaved, ids only on the first fragments",
        deltas=[
            [f(0, "a", TOOL, '{"x":')],
            [f(1, "b", TOOL, '{"x":')],
            [f(0, None, None, "1}")],
            [f(1, None, None, "2}")],
        ],
        chat=TWO,
    ),
    Shape(
        name="two whole calls in two chunks, both at index 0",
        deltas=[[f(0, "a", TOOL, '{"x":1}')], [f(0, "b", TOOL, '{"x":2}')]],
        chat=TWO,
    ),
    Shape(
        name="two whole calls in one delta, both at index 0",
        deltas=[[f(0, "a", TOOL, '{"x":1}'), f(0, "b", TOOL, '{"x":2}')]],
        chat=TWO,
    ),
    Shape(
        name="no index",
        deltas=[[f(None, "a", TOOL, '{"x":')], [f(None, None, None, "1}")]],
        chat=ONE,
    ),
    Shape(
        name="id and name on every fragment",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, "a", TOOL, "1}")]],
        chat=ONE,
    ),
    Shape(
        name="at last the whole call again",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, None, None, "1}")], [f(0, "a", TOOL, '{"x": 1}')]],
        chat=ONE,
        flow=([], 1),
    ),
    Shape(
        name="two calls with empty ids",
        deltas=[[f(0, "", TOOL, '{"x":1}')], [f(1, "", TOOL, '{"x":2}')]],
        chat=TWO,
    ),
    Shape(
        name="an empty name on the second fragment",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, None, "", "1}")]],
        chat=ONE,
    ),
    Shape(name="arguments as a dict", deltas=[[f(0, "a", TOOL, {"x": 1})]], chat=ONE),
    Shape(name="no arguments", deltas=[[f(0, "a", TOOL, None)]], chat=([0], 0)),
    Shape(
        name="cut at the token limit",
        deltas=[[f(0, "a", TOOL, '{"x": [1, 2')]],
        finish="length",
        chat=([], 1),
    ),
    Shape(
        name="text, a whole call, text",
        deltas=["Let me ", [f(0, "a", TOOL, '{"x":1}')], "ask."],
        finish="stop",
        chat=ONE,
    ),
    Shape(name="finish_reason beside the arguments", deltas=[[f(0, "a", TOOL, '{"x":1}')]], finish="same", chat=ONE),
    Shape(name="finish_reason stop", deltas=[[f(0, "a", TOOL, '{"x":1}')]], finish="stop", chat=ONE),
    # -- more of the kind
    Shape(
        name="parallel calls, interleaved, all at index 0, ids on every fragment",
        deltas=[
            [f(0, "a", TOOL, '{"x":')],
            [f(0, "b", TOOL, '{"x":')],
            [f(0, "a", None, "1}")],
            [f(0, "b", None, "2}")],
        ],
        chat=TWO,
        flow=([], 2),  # `copilotkit_stream` loses the last fragment, so neither can be trusted
    ),
    Shape(
        name="parallel calls, interleaved, all at index 0, ids only on the first fragments",
        deltas=[
            [f(0, "a", TOOL, '{"x":')],
            [f(0, "b", TOOL, '{"x":')],
            [f(0, None, None, "1}")],
            [f(0, None, None, "2}")],
        ],
        chat=([], 2),
    ),
    Shape(
        name="the same, cut so that the wrong call looks whole",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, "b", TOOL, '{"x":')], [f(0, None, None, "1}")]],
        finish="length",
        chat=([], 2),
    ),
    Shape(
        name="two calls under one id",
        deltas=[[f(0, "a", TOOL, '{"x":1}')], [f(1, "a", TOOL, '{"x":2}')]],
        chat=TWO,
    ),
    Shape(
        name="two calls under one id, interleaved",
        deltas=[
            [f(0, "a", TOOL, '{"x":')],
            [f(1, "a", TOOL, '{"x":')],
            [f(0, None, None, "1}")],
            [f(1, None, None, "2}")],
        ],
        chat=TWO,
    ),
    Shape(
        name="one call sent twice, at two indexes",
        deltas=[[f(0, "a", TOOL, '{"x":1}')], [f(1, "a", TOOL, '{"x":1}')]],
        chat=ONE,
    ),
    Shape(
        name="two calls without id at index 0",
        deltas=[[f(0, None, TOOL, '{"x":1}')], [f(0, None, TOOL, '{"x":2}')]],
        chat=TWO,
        flow=([], 0),
    ),
    Shape(
        name="one call without id, sent twice",
        deltas=[[f(0, None, TOOL, '{"x":1}')], [f(0, None, TOOL, '{"x":1}')]],
        chat=ONE,
        flow=([], 0),
    ),
    Shape(name="two calls merged into one", deltas=[[f(0, "a", TOOL, '{"x":1}{"x":2}')]], chat=([], 1)),
    Shape(
        name="two calls merged into one, fragment by fragment",
        deltas=[[f(0, "a", TOOL, '{"x":1')], [f(0, None, None, '}{"x"')], [f(0, None, None, ":2}")]],
        chat=([], 1),
    ),
    Shape(
        name="the whole call again, in fragments",
        deltas=[
            [f(0, "a", TOOL, '{"x":')],
            [f(0, None, None, "1}")],
            [f(0, None, None, '{"x":')],
            [f(0, None, None, "1}")],
        ],
        chat=ONE,
        flow=([], 1),
    ),
    Shape(
        name="every fragment is all of it so far",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, "a", TOOL, '{"x":1}')]],
        chat=([], 1),
    ),
    Shape(
        name="a name in pieces",
        deltas=[[f(0, "a", "book_", "")], [f(0, None, "trip", "")], [f(0, None, None, '{"x":1}')]],
        chat=ONE,
        flow=([], 1),
    ),
    Shape(name="no name at all", deltas=[[f(0, "a", None, '{"x":1}')]], chat=([], 1), flow=([], 0)),
    Shape(name="an empty name", deltas=[[f(0, "a", "", '{"x":1}')]], chat=([], 1)),
    Shape(
        name="another name in the middle",
        deltas=[[f(0, "a", TOOL, '{"x":')], [f(0, "a", "delete_all", "1}")]],
        chat=([], 1),
    ),
    Shape(
        name="the id late",
        deltas=[[f(0, None, TOOL, "")], [f(0, "a", None, '{"x":1}')]],
        chat=ONE,
    ),
    Shape(
        name="the arguments first, then id and name",
        deltas=[[f(0, None, None, '{"x":')], [f(0, "a", TOOL, "1}")]],
        chat=ONE,
    ),
    Shape(
        name="cut at the token limit before any argument",
        deltas=[[f(0, "a", TOOL, "")]],
        finish="length",
        chat=([], 1),
        flow=([0], 0),  # `copilotkit_stream` keeps the finish_reason to itself
    ),
    Shape(
        name="a whole call, and one that was cut",
        deltas=[[f(0, "a", TOOL, '{"x":1}')], [f(1, "b", TOOL, '{"x":')]],
        finish="length",
        chat=([1], 1),
    ),
    Shape(name="white space behind the arguments", deltas=[[f(0, "a", TOOL, '{"x":1}\n  ')]], chat=ONE),
    Shape(
        name="brackets and escapes in a string",
        deltas=[[f(0, "a", TOOL, '{"note": "\\"}{[\\')], [f(0, None, None, '\\", "x":1}')]],
        chat=ONE,
    ),
    Shape(name="a list instead of an object", deltas=[[f(0, "a", TOOL, "[1]")]], chat=([], 1)),
]


class Provider(litellm.CustomLLM):
    """Plays one turn a request: a shape, or a text. Keeps what it was asked."""

    def __init__(self, turns: Sequence[Shape | str], reply_id: str | None) -> None:
        super().__init__()
        self._reply_id = reply_id
        self._turns = list(turns)
        self.requests: list[dict[str, Any]] = []
        self.closed = 0

    async def astreaming(
        self, model: str, messages: Any, optional_params: Any = None, **_: Any
    ) -> AsyncIterator[ModelResponseStream]:
        plain = [dict(it) if isinstance(it, dict) else it.model_dump() for it in messages]
        self.requests.append(copy.deepcopy({"messages": plain, "options": optional_params or {}}))
        turn = self._turns[len(self.requests) - 1]
        try:
            for chunk in _chunks(turn, self._reply_id or f"reply-{len(self.requests)}"):
                yield chunk
        finally:
            self.closed += 1


def _chunks(turn: Shape | str, reply: str) -> Iterator[ModelResponseStream]:
    shape = Shape(name="text", deltas=[turn], finish="stop", chat=ONE) if isinstance(turn, str) else turn
    for position, delta in enumerate(shape.deltas):
        last = shape.finish == "same" and position == len(shape.deltas) - 1
        content = {"content": delta} if isinstance(delta, str) else {"tool_calls": copy.deepcopy(delta)}
        yield _chunk(reply, Delta(role="assistant", **content), "tool_calls" if last else None)
    if shape.finish != "same":
        yield _chunk(reply, Delta(), shape.finish)


def _chunk(reply: str, delta: Delta, finish: str | None) -> ModelResponseStream:
    choice = StreamingChoices(index=0, delta=delta, finish_reason=finish)
    return ModelResponseStream(id=reply, model="shapes", choices=[choice])


@contextmanager
def provider(*turns: Shape | str, reply_id: str | None = None) -> Iterator[Provider]:
    """Answer for `MODEL` while the block runs; with `reply_id`, under the same id every time."""
    handler = Provider(turns, reply_id)
    entry = {"provider": "shapes", "custom_handler": handler}
    litellm.custom_provider_map.append(entry)
    litellm.model_alias_map[MODEL] = "shapes/demo"
    try:
        yield handler
    finally:
        litellm.custom_provider_map.remove(entry)
        del litellm.model_alias_map[MODEL]


def assert_acceptable(messages: Sequence[dict[str, Any]]) -> None:
    """Every provider takes this history: calls have a name, an id of their own, JSON, and one adjacent result."""
    seen: set[str] = set()
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        for call in message.get("tool_calls") or ():
            assert 0 < len(call["id"]) <= 40
            assert call["id"] not in seen
            assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call["function"]["name"])
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
            seen.add(call["id"])
            waiting.append(call["id"])
    assert not waiting
