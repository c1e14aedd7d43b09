"""Both eras of the protocol under the newer library, and the clients built on it: run in an environment of its own.

CrewAI keeps ours at ``mcp<2``. `there` makes the other one below ``.kernels/`` and runs this module in it, which prints
what each client was told.
"""

# mypy: ignore-errors
# What is imported here stands in another environment.

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from hitl_nb.mcp import ElicitingSession, elicitation

PACKAGES = ["mcp>=2", "fastmcp>=4", "pydantic-ai-slim[mcp]"]
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
Run = Callable[[Any], Awaitable[str]]


async def answers(call: Any) -> None:
    call.respond({"name": "ada"} if not call.args else True, by="ada")


async def says_no(call: Any) -> None:
    call.decline("no", by="ada")


async def withdraws(call: Any) -> None:
    call.cancel()


async def passes(call: Any) -> None:
    """Nobody is there."""


PEOPLE = {"yes": answers, "no": says_no, "cancelled": withdraws, "nobody": passes}


def server() -> Any:
    """A server of both eras: `older` asks while it runs, `newer` gives back what it needs and is called again."""
    import mcp_types as types
    from fastmcp import Context, FastMCP

    made = FastMCP("orders")

    @made.tool
    async def older(ctx: Context) -> str:
        found = await ctx.elicit("For whom?", response_type=str)
        return f"{found.action} {getattr(found, 'data', '')}".strip()

    @made.tool
    async def newer(ctx: Context) -> Any:
        given = ctx.input_responses
        if given is not None:
            return " ".join(f"{key}: {given[key].action} {given[key].content or ''}".strip() for key in sorted(given))
        form = types.ElicitRequestFormParams(message="For whom?", requested_schema=NAMED)
        address = types.ElicitRequestURLParams(message="Pay.", url="https://pay.example/1")
        asked = {"form": types.ElicitRequest(params=form), "pay": types.ElicitRequest(params=address)}
        return types.InputRequiredResult(input_requests=asked)

    return made


def named(person: Any) -> Any:
    """FastMCP calls the one field of a text `value`."""

    async def answering(call: Any) -> None:
        if person is answers and not call.args:
            call.respond({"value": "ada"}, by="ada")
        else:
            await person(call)

    return answering


async def by_mcp(person: Any) -> str:
    """The library's own client, as the newer era has it: two questions in one round."""
    from mcp import Client

    async with Client(server()._mcp_server, elicitation_callback=elicitation("orders", people=person)) as client:
        return _text(await client.call_tool("newer", {}))


async def by_mcp_older(person: Any) -> str:
    """The same, as the older one has it."""
    from mcp import Client

    callback = elicitation("orders", people=named(person))
    async with Client(server()._mcp_server, elicitation_callback=callback, mode="legacy") as client:
        return _text(await client.call_tool("older", {}))


async def by_our_session(person: Any) -> str:
    """Our session on the newer library, with a server of the older era."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    command = StdioServerParameters(command=sys.executable, args=["-m", __spec__.name, "serve"], env=dict(os.environ))
    async with (
        stdio_client(command) as (read, write),
        ElicitingSession(
            read, write, elicitation_callback=elicitation("orders", people=named(person)), read_timeout_seconds=60
        ) as session,
    ):
        await session.initialize()
        return _text(await session.call_tool("older", {}))


async def by_fastmcp(person: Any) -> str:
    from fastmcp import Client

    async with Client(server(), elicitation_handler=elicitation("orders", people=person)) as client:
        return _text(await client.call_tool("newer", {}, raise_on_error=False))


async def by_fastmcp_older(person: Any) -> str:
    from fastmcp import Client

    handler = elicitation("orders", people=named(person))
    async with Client(server(), elicitation_handler=handler, mode="legacy") as client:
        return _text(await client.call_tool("older", {}, raise_on_error=False))


async def by_pydantic_ai(person: Any) -> str:
    from fastmcp import Client
    from pydantic_ai.mcp import MCPToolset

    handler = elicitation("orders", people=named(person))
    toolset = MCPToolset(Client(server(), elicitation_handler=handler, mode="legacy"))
    async with toolset:
        return str(await toolset.direct_call_tool("older", {}))


def _text(result: Any) -> str:
    return "".join(str(getattr(part, "text", "")) for part in result.content)


CLIENTS: list[Run] = [by_mcp, by_mcp_older, by_our_session, by_fastmcp, by_fastmcp_older, by_pydantic_ai]


def _words(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_words, error.exceptions))
    return f"{type(error).__name__}: {error}"


async def found() -> dict[str, dict[str, str]]:
    """What each client was told by each person."""
    told: dict[str, dict[str, str]] = {}
    for client in CLIENTS:
        for word, person in PEOPLE.items():
            try:
                said = await client(person)
            except Exception as error:
                said = _words(error)
            told.setdefault(client.__name__, {})[word] = said
    return told


def there() -> dict[str, dict[str, str]]:
    """The same, from the environment of its own; it is made where it is not there."""
    from tests.kernel.environments import ENVIRONMENTS, requirements

    home = ENVIRONMENTS / "mcp-2"
    python = str(home / "bin" / "python")
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--allow-existing", "--python", sys.executable, str(home)], check=True)
    subprocess.run([*uv, "pip", "install", "--python", python, *requirements(), *PACKAGES], check=True)
    environ = {**os.environ, "PYTHONPATH": str(ENVIRONMENTS.parent)}
    ran = subprocess.run([python, "-m", __name__, "here"], check=True, stdout=subprocess.PIPE, env=environ)
    return json.loads(ran.stdout)


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server().run(show_banner=False, log_level="ERROR")
    else:
        print(json.dumps(asyncio.run(found()), indent=1))
