"""An HTTP server that misbehaves on order: one scripted reply a request, byte by byte."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any


class Line:
    """The server's end of one connection, for the script of a reply."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def head(
        self, status: str = "200 OK", kind: str | None = "text/event-stream; charset=utf-8", **headers: str
    ) -> None:
        lines = [f"HTTP/1.1 {status}", "transfer-encoding: chunked", "connection: close"]
        lines += [] if kind is None else [f"content-type: {kind}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self._writer.drain()

    async def send(self, text: str | bytes) -> None:
        data = text.encode() if isinstance(text, str) else text
        self._writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await self._writer.drain()

    async def event(self, event: dict[str, Any]) -> None:
        await self.send(f"data: {json.dumps(event)}\n\n")

    async def end(self) -> None:
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    async def left(self) -> None:
        """Wait until the client has closed the connection."""
        with suppress(ConnectionError):
            await self._reader.read()


Reply = Callable[[Line, dict[str, Any]], Awaitable[None]]


class SseServer:
    """Plays `replies`, one for each request; keeps what it was sent.

    Attributes:
        bodies, headers: Of every request, in order.
        left: Set once a client has closed a connection that the server held open.
    """

    def __init__(self, *replies: Reply) -> None:
        self._replies = list(replies)
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.left = asyncio.Event()

    async def __aenter__(self) -> "SseServer":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/agent"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            self.bodies.append(body)
            self.headers.append(headers)
            with suppress(ConnectionError):  # the client may leave at any moment
                await self._replies[len(self.bodies) - 1](Line(reader, writer), body)
        finally:
            writer.close()

    def results(self, request: int) -> dict[str, str]:
        """The tool messages of the n-th request (from 0), by tool call id."""
        return {m["toolCallId"]: m["content"] for m in self.bodies[request]["messages"] if m["role"] == "tool"}


def events_of(body: dict[str, Any], *events: dict[str, Any]) -> list[dict[str, Any]]:
    """A whole run around `events`."""
    run = {"threadId": body["threadId"], "runId": body["runId"]}
    return [{"type": "RUN_STARTED", **run}, *events, {"type": "RUN_FINISHED", **run}]


def replies(*events: dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]) -> Reply:
    """A well-behaved reply: a run with these events (or functions of the request's body that give them)."""

    async def reply(line: Line, body: dict[str, Any]) -> None:
        await line.head()
        for event in events_of(body, *(event(body) if callable(event) else event for event in events)):
            await line.event(event)
        await line.end()

    return reply


def says(text: str, message_id: str = "m") -> Iterable[dict[str, Any]]:
    """The events of a text message."""
    return (
        {"type": "TEXT_MESSAGE_START", "messageId": message_id, "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": message_id, "delta": text},
        {"type": "TEXT_MESSAGE_END", "messageId": message_id},
    )


def calls(call_id: str, name: str, *fragments: str, **start: str) -> Iterable[dict[str, Any]]:
    """The events of a tool call."""
    return (
        {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name, **start},
        *({"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": fragment} for fragment in fragments),
        {"type": "TOOL_CALL_END", "toolCallId": call_id},
    )
