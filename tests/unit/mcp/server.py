"""An MCP server that asks: over stdio (`python -m tests.unit.mcp.server`), or in this process."""

import sys
from typing import Any

import anyio
from mcp import UrlElicitationRequiredError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

ran: list[tuple[str, dict[str, Any]]] = []
"""What has been done, in this process."""

_numbers: list[int] = []
"""The questions of `ask`, by the numbers of their requests."""

_done: set[str] = set()
"""What was done at an address."""

_stopped: list[str] = []
"""The calls that were cancelled from outside."""


NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def server() -> "Server[Any, Any]":
    made: Server[Any, Any] = Server("orders")

    @made.list_tools()
    async def list_tools() -> list[types.Tool]:
        number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        return [
            types.Tool(name="ask", inputSchema={"type": "object"}),
            types.Tool(name="ask_for_a_moment", inputSchema={"type": "object"}),
            types.Tool(name="open", inputSchema={"type": "object"}),
            types.Tool(name="order", description="Orders, and asks for whom.", inputSchema={"type": "object"}),
            types.Tool(name="take_back", inputSchema={"type": "object"}),
            types.Tool(name="stopped", inputSchema={"type": "object"}),
            types.Tool(name="files", inputSchema={"type": "object"}),
            types.Tool(name="sign_in", inputSchema={"type": "object"}),
            types.Tool(
                name="delete",
                title="Delete an order",
                inputSchema=number,
                annotations=types.ToolAnnotations(readOnlyHint=True),
            ),
        ]

    @made.call_tool()
    async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
        session = made.request_context.session
        if name == "delete":
            ran.append((name, arguments))
            return [types.TextContent(type="text", text=f"deleted {arguments['n']}")]
        request = made.request_context.request_id
        if name == "files":
            steps = [
                types.ElicitRequestURLParams(
                    message=f"Sign in: {step}.", url=f"https://{step}.example/login", elicitationId=step
                )
                for step in arguments["first"]
                if step not in _done
            ]
            if steps:
                raise UrlElicitationRequiredError(steps)
            ran.append((name, arguments))
            return [types.TextContent(type="text", text="your files")]
        if name == "sign_in":  # what a browser would do, elsewhere
            _done.update(arguments["at"])
            for step in arguments["tell"]:
                await session.send_elicit_complete(step, related_request_id=request)
            return [types.TextContent(type="text", text="signed in")]
        if name == "stopped":
            return [types.TextContent(type="text", text=str(_stopped))]
        if name == "take_back":
            about = types.CancelledNotificationParams(requestId=_numbers[-1], reason="too late")
            notice = types.ServerNotification(
                types.CancelledNotification(method="notifications/cancelled", params=about)
            )
            await session.send_notification(notice, related_request_id=request)
            return [types.TextContent(type="text", text="taken back")]
        if name == "hang":
            await anyio.sleep_forever()
        if name == "order":
            ran.append((name, arguments))  # before it asks, as a careless tool does
            reply = await session.elicit("For whom?", NAMED, related_request_id=request)
        elif name == "open":
            reply = await session.elicit_url("Sign in", arguments["url"], "id-1", related_request_id=request)
        elif name == "ask_for_a_moment":
            with anyio.move_on_after(0.3) as limit:
                await session.elicit("Quick?", arguments["schema"], related_request_id=request)
            return [types.TextContent(type="text", text=f"gave up: {limit.cancelled_caught}")]
        else:
            _numbers.append(session._request_id)
            try:
                reply = await session.elicit("Order what?", arguments["schema"], related_request_id=request)
            except anyio.get_cancelled_exc_class():
                _stopped.append(name)
                raise
        return [types.TextContent(type="text", text=reply.model_dump_json(exclude_none=True, exclude={"meta"}))]

    return made


async def main() -> None:
    made = server()
    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())


if __name__ == "__main__":
    sys.exit(anyio.run(main))
