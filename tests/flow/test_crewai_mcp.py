"""CrewAI's clients of MCP servers take no callback: inside the block their servers' questions reach a person."""

import asyncio
import importlib

import mcp
import pytest
from crewai.mcp import MCPServerHTTP
from crewai.mcp.client import MCPClient
from crewai.mcp.tool_resolver import MCPToolResolver
from crewai.mcp.transports.http import HTTPTransport
from crewai.tools import mcp_tool_wrapper
from crewai.tools.mcp_tool_wrapper import MCPToolWrapper

from hitl_nb.mcp import elicitation_for_crewai
from tests.unit.mcp import server as asking
from tests.unit.mcp.http import served

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:Use `streamable_http_client` instead:DeprecationWarning"),  # CrewAI's own
]


@pytest.fixture(scope="module")
def address():
    with served() as address:
        yield address


@pytest.fixture
def ran():
    asking.ran.clear()
    return asking.ran


def tool(address, **options):
    """The tool `order` as an agent has it, from ``Agent(mcps=[...])``."""
    resolver = MCPToolResolver(agent=None, logger=importlib.import_module("crewai.utilities.logger").Logger())
    found = resolver.resolve([MCPServerHTTP(url=address, **options)])
    resolver.cleanup()
    (order,) = [each for each in found if each.original_tool_name == "order"]
    return order


def call(tool):
    # Not `_run`: on Python 3.11 CrewAI takes "no running event loop", which it has caught, for a fault of the server.
    return asyncio.run(tool._run_async())


class Person:
    def __init__(self, *, seconds=0.0):
        self.seconds, self.asked = seconds, []

    async def __call__(self, call):
        self.asked.append((call.title, call.message))
        await asyncio.sleep(self.seconds)
        call.respond({"name": "ada"}, by="ada")


ADA = '{"action":"accept","content":{"name":"ada"}}'


def test_an_agents_tool_asks_a_person_and_gets_the_answer(address, ran):
    person = Person()
    with elicitation_for_crewai(people=person):
        assert call(tool(address)) == ADA
    assert person.asked == [("orders asks, for order", "For whom?")]
    assert len(ran) == 1


def test_a_person_may_take_longer_than_crewai_waits_and_the_tool_runs_once(address, ran):
    person = Person(seconds=3)

    async def slowly():
        client = MCPClient(HTTPTransport(url=address), execution_timeout=1)
        await client.connect()
        try:
            return await client.call_tool("order", {})
        finally:
            await client.disconnect()

    with elicitation_for_crewai(people=person):
        assert asyncio.run(slowly()) == ADA
    assert (len(person.asked), len(ran)) == (1, 1)


def test_a_tool_by_its_address_alone_asks_too(address, ran, monkeypatch):
    monkeypatch.setattr(mcp_tool_wrapper, "MCP_TOOL_EXECUTION_TIMEOUT", 2)
    person = Person(seconds=3)
    wrapped = MCPToolWrapper({"url": address}, "order", {"description": "Orders."}, "orders")
    with elicitation_for_crewai(people=person):
        assert wrapped._run() == ADA
    assert (len(person.asked), len(ran)) == (1, 1)


def test_a_no_is_a_no_and_nobody_there_is_an_error(address, ran):
    async def says_no(call):
        call.decline("no", by="ada")

    with elicitation_for_crewai(people=says_no):
        assert call(tool(address)) == '{"action":"decline"}'

    async def passes(call):
        pass

    with elicitation_for_crewai(people=passes):
        assert "needs a person" in str(call(tool(address)))


def test_where_nobody_can_answer_the_server_is_told_so(address, ran):
    with elicitation_for_crewai():  # no front end here
        assert "not supported" in str(call(tool(address)))


def test_when_the_block_ends_all_is_as_before(address, ran):
    before = (mcp.ClientSession, MCPClient.connect, mcp_tool_wrapper.MCP_TOOL_EXECUTION_TIMEOUT)
    with elicitation_for_crewai(people=Person()):
        assert mcp.ClientSession is not before[0]
    with pytest.raises(KeyError), elicitation_for_crewai(people=Person()):
        raise KeyError
    assert (mcp.ClientSession, MCPClient.connect, mcp_tool_wrapper.MCP_TOOL_EXECUTION_TIMEOUT) == before
    assert "not supported" in str(call(tool(address)))
