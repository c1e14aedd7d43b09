"""A model server that refuses what each provider refuses, and the formats in which they stream their thoughts.

The real litellm speaks to it over a real line, so what is proven is what arrives there.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Rule = Callable[[Json], str | None]
"""Gets the body of a request; says why it is refused."""

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def broken(body: Json) -> str | None:
    """What every provider refuses: names, pairing, arguments, roles, fields that nobody knows."""
    awaited: list[str] = []
    for message in body["messages"]:
        if message["role"] not in ("system", "developer", "user", "assistant", "tool"):
            return f"unknown role {message['role']}"
        if message.keys() & {"id", "encrypted_value", "encryptedValue", "metadata"}:
            return f"unknown fields {sorted(message)}"
        if message["role"] == "tool":
            if not awaited or message["tool_call_id"] != awaited.pop(0):
                return "a result that belongs to no call"
            continue
        if awaited:
            return f"no result of {awaited}"
        for call in message.get("tool_calls") or ():
            awaited.append(call["id"])
            if not _NAME.fullmatch(call["function"]["name"]):
                return f"the name {call['function']['name']!r}"
            if not isinstance(json.loads(call["function"]["arguments"], parse_constant=lambda name: 1 / 0), dict):
                return "arguments that are no object"
    return f"no result of {awaited}" if awaited else None


def _calling(body: Json) -> list[Json]:
    return [message for message in body["messages"] if message.get("tool_calls")]


def deepseek(body: Json) -> str | None:
    """`reasoning_content` comes back with each message that called something."""
    said = [message.get("reasoning_content") for message in _calling(body)]
    wanted = ["Which wall? Ask."] * len(said)
    return None if said == wanted else f"The reasoning_content in the thinking mode must be passed back: {said}"


def openrouter(body: Json) -> str | None:
    """`reasoning_details` come back as they were, in their order."""
    wanted = [
        {"type": "reasoning.summary", "summary": "Which wall? Ask.", "format": "x", "index": 0},
        {"type": "reasoning.encrypted", "data": "SEALED", "id": "r1", "format": "x", "index": 1},
    ]
    said = [message.get("reasoning_details") for message in _calling(body)]
    return None if all(it == wanted for it in said) else f"reasoning_details differ: {said}"


def gemini(body: Json) -> str | None:
    """Each first call of a message carries its signature."""
    said = [message["tool_calls"][0].get("extra_content") for message in _calling(body)]
    wanted = {"google": {"thought_signature": "SIGNED"}}
    return None if all(it == wanted for it in said) else f"Function call is missing a thought_signature: {said}"


def anthropic(body: Json) -> str | None:
    """A message with `tool_use` begins with its thinking, signed and unchanged, what is redacted included."""
    wanted = [
        {"type": "thinking", "thinking": "Which wall? Ask.", "signature": "SIGNED"},
        {"type": "redacted_thinking", "data": "REDACTED"},
    ]
    for message in body["messages"]:
        parts = message["content"] if isinstance(message["content"], list) else []
        if any(part["type"] == "tool_use" for part in parts) and parts[:2] != wanted:
            return f"Expected `thinking` or `redacted_thinking`, but found {parts[:2]}"
    return None


# -- what each streams ------------------------------------------------------------------------------------------------


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "reply", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def _calls(number: int, arguments: str, **extra: Any) -> list[Json]:
    call = {"index": 0, "id": f"call_{number}", "type": "function", **extra}
    first = {**call, "function": {"name": "ask", "arguments": arguments[:8]}}
    return [
        _chunk({"tool_calls": [first]}),
        _chunk({"tool_calls": [{"index": 0, "function": {"arguments": arguments[8:]}}]}),
    ]


def _openai(thoughts: Sequence[Json], number: int, arguments: str, **extra: Any) -> list[Json]:
    said = [_chunk({"role": "assistant"}), *(_chunk(it) for it in thoughts), *_calls(number, arguments, **extra)]
    return [*said, _chunk({}, "tool_calls")]


def deepseek_asks(number: int, arguments: str) -> list[Json]:
    return _openai([{"reasoning_content": "Which wall? "}, {"reasoning_content": "Ask."}], number, arguments)


def openrouter_asks(number: int, arguments: str) -> list[Json]:
    summary = {"type": "reasoning.summary", "format": "x", "index": 0}
    sealed = {"type": "reasoning.encrypted", "data": "SEALED", "id": "r1", "format": "x", "index": 1}
    thoughts: list[Json] = [
        {"reasoning": "Which wall? ", "reasoning_details": [{**summary, "summary": "Which wall? "}]},
        {"reasoning": "Ask.", "reasoning_details": [{**summary, "summary": "Ask."}]},
        {"reasoning_details": [sealed]},
    ]
    return _openai(thoughts, number, arguments)


def gemini_asks(number: int, arguments: str) -> list[Json]:
    return _openai([], number, arguments, extra_content={"google": {"thought_signature": "SIGNED"}})


def anthropic_asks(number: int, arguments: str) -> list[Json]:
    def block(index: int, start: Json, *deltas: Json) -> list[Json]:
        return [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]

    message = {"id": f"m{number}", "type": "message", "role": "assistant", "content": [], "model": "m"}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Which wall? "},
            {"type": "thinking_delta", "thinking": "Ask."},
            {"type": "signature_delta", "signature": "SIGNED"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "REDACTED"}),
        *block(
            2,
            {"type": "tool_use", "id": f"call_{number}", "name": "ask", "input": {}},
            {"type": "input_json_delta", "partial_json": arguments},
        ),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage},
        {"type": "message_stop"},
    ]


def openai_says(text: str) -> list[Json]:
    return [_chunk({"role": "assistant", "content": text}), _chunk({}, "stop")]


def anthropic_says(text: str) -> list[Json]:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return [
        {"type": "message_start", "message": {**message, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


# -- the server -------------------------------------------------------------------------------------------------------


class StrictServer:
    """Streams `turns`, one a request, and answers 400 to what `rule` or every provider refuses."""

    def __init__(self, turns: Sequence[Sequence[Json]], rule: Rule | None = None) -> None:
        self.turns = list(turns)
        self.rule = rule
        self.bodies: list[Json] = []
        self.refusals: list[str] = []
        self.url = ""

    def answer(self, path: str, body: Json) -> tuple[int, bytes]:
        self.bodies.append(body)
        refusal = None if path.endswith("messages") else broken(body)
        refusal = refusal or (self.rule(body) if self.rule else None)
        if refusal is not None:
            self.refusals.append(refusal)
            return 400, json.dumps({"error": {"message": refusal, "type": "invalid_request_error"}}).encode()
        events = self.turns[len(self.bodies) - 1 - len(self.refusals)]
        lines = "".join(f"event: {it.get('type', 'message')}\ndata: {json.dumps(it)}\n\n" for it in events)
        return 200, f"{lines}data: [DONE]\n\n".encode()


@contextmanager
def serving(server: StrictServer) -> Iterator[StrictServer]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            status, data = server.answer(self.path, json.loads(self.rfile.read(length)))
            self.send_response(status)
            self.send_header("content-type", "text/event-stream" if status == 200 else "application/json")
            self.end_headers()
            self.wfile.write(data)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    server.url = f"http://127.0.0.1:{http.server_port}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
