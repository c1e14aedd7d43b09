"""A server over stdio and over streamable HTTP: every schema, several at once, given up by either side, slow people."""

import asyncio
import sys
from contextlib import asynccontextmanager

import pytest
from mcp import McpError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from hitl_nb.errors import InvalidValue
from hitl_nb.mcp import ElicitingSession, elicitation
from tests.unit.mcp.http import served
from tests.unit.mcp.test_elicitation import ALLOWED, FORBIDDEN, asked, of, open_here

pytestmark = pytest.mark.timeout(300)

ADA = {"action": "accept", "content": {"name": "ada"}}


@pytest.fixture(scope="module")
def address():
    with served() as address:
        yield address


@pytest.fixture(params=["stdio", "http"])
def connected(request):
    """A session with the server, over each transport."""

    @asynccontextmanager
    async def connect(people, *, timeout=None, **options):
        if request.param == "http":
            transport = streamable_http_client(request.getfixturevalue("address"))
        else:
            command = StdioServerParameters(command=sys.executable, args=["-m", "tests.unit.mcp.server"])
            transport = stdio_client(command)
        async with transport as (read, write, *_):
            callback = elicitation("orders", people=people, timeout=timeout)
            async with ElicitingSession(read, write, elicitation_callback=callback, **options) as session:
                await session.initialize()
                yield session

    return connect


async def until(holds):
    while not holds():
        await asyncio.sleep(0.01)


class Waits:
    """Answers once the test says so; counts what it was asked."""

    def __init__(self):
        self.ready, self.calls = asyncio.Event(), []

    async def __call__(self, call):
        self.calls.append(call)
        await self.ready.wait()
        call.respond({"name": "ada"}, by="ada")


async def test_every_schema_that_the_protocol_allows(connected):
    given = iter(ALLOWED.values())
    asked_about = []

    async def person(call):
        part, good, bad = next(given)
        asked_about.append(part)
        with pytest.raises(InvalidValue):
            call.respond({"it": bad})
        call.respond({"it": good}, by="ada")

    async with connected(person) as session:
        for part, good, _ in ALLOWED.values():
            assert await asked(session, of(part)) == {"action": "accept", "content": {"it": good}}
    assert asked_about == [part for part, _, _ in ALLOWED.values()]


async def test_what_the_protocol_does_not_allow_is_an_error_in_words(connected):
    async def nobody(call):
        pytest.fail("asked")

    async with connected(nobody) as session:
        for part in FORBIDDEN.values():
            assert "`it`" in (reply := await asked(session, of(part))) or "pattern" in reply


async def test_five_at_once(connected):
    person = Waits()
    async with connected(person) as session:
        several = [asyncio.ensure_future(asked(session)) for _ in range(5)]
        await until(lambda: len(open_here()) == 5)
        person.ready.set()
        assert await asyncio.gather(*several) == [ADA] * 5
    assert len(person.calls) == 5


async def test_a_slow_person_is_asked_once_and_their_answer_arrives(connected):
    asked_for = []

    async def slow(call):
        asked_for.append(call.id)
        await asyncio.sleep(1)  # longer than a request may take
        call.respond({"name": "ada"}, by="ada")

    async with connected(slow) as session:
        session.patience = 0.5
        assert await asked(session) == ADA
    assert len(asked_for) == 1


async def test_a_call_that_is_stopped_closes_its_question_and_the_server_is_told(connected):
    person = Waits()
    async with connected(person) as session:
        call = asyncio.ensure_future(asked(session))
        await until(open_here)
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: not open_here())
        assert person.calls[0].reason == "nobody waits for this answer any more"
        while "ask" not in (await session.call_tool("stopped", {})).content[0].text:
            await asyncio.sleep(0.01)  # the server has been told


async def test_a_question_that_the_server_takes_back_is_closed(connected):
    person = Waits()
    async with connected(person) as session:
        call = asyncio.ensure_future(asked(session))
        await until(open_here)
        await session.call_tool("take_back", {})
        assert "cancelled" in (await call)
        assert (await session.list_tools()).tools
    assert (person.calls[0].outcome, open_here()) == ("cancelled", [])


async def test_a_server_that_gives_up_closes_the_question_although_it_says_nothing(connected):
    person = Waits()
    async with connected(person) as session:
        assert await asked(session, tool="ask_for_a_moment") == "gave up: True"
        await until(lambda: not open_here())
        assert (await session.list_tools()).tools


async def test_a_request_that_takes_too_long_without_a_question_is_a_timeout(connected):
    async with connected(Waits()) as session:
        with pytest.raises(McpError, match="Nothing came of CallToolRequest"):
            await session.call_tool("hang", {}, read_timeout_seconds=0.05)
        assert (await session.list_tools()).tools
