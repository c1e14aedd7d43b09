"""LangChain's client of MCP servers: its callback is what `elicitation` gives."""

import json
import sys
from typing import Any

import pytest
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient

from hitl_nb.mcp import elicitation

pytestmark = pytest.mark.timeout(180)


async def said(person):
    """What the tool of an agent says whose server has asked."""
    server: Any = {"transport": "stdio", "command": sys.executable, "args": ["-m", "tests.unit.mcp.server"]}
    callbacks = Callbacks(on_elicitation=elicitation("a server", people=person))
    client = MultiServerMCPClient({"bakery": server}, callbacks=callbacks)
    (order,) = [tool for tool in await client.get_tools() if tool.name == "order"]
    found = await order.ainvoke({})
    return found if isinstance(found, str) else "".join(part["text"] for part in found)


async def test_a_tool_asks_a_person_in_the_name_of_its_server_and_gets_the_answer():
    seen = []

    async def person(call):
        seen.append(call.title)
        call.respond({"name": "ada"}, by="ada")

    assert json.loads(await said(person)) == {"action": "accept", "content": {"name": "ada"}}
    assert seen == ["bakery asks, for order"]


async def test_nobody_there_is_an_error_and_never_a_no():
    async def passes(call):
        pass

    assert "needs a person" in await said(passes)
