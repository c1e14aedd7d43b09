"""What a server asks is asked of a person: accept, decline and cancel as the protocol has them."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.memory import create_client_server_memory_streams

from hitl_nb import pending
from hitl_nb.errors import Declined, InvalidValue, UsageError
from hitl_nb.mcp import ElicitingSession, elicitation, gate_mcp
from hitl_nb.mcp._asking import Requested
from hitl_nb.people import Policy, ScriptedPerson, deny
from tests.unit.mcp import server as asking

NAMED = asking.NAMED
ALLOWED = {
    "text": ({"type": "string", "minLength": 2}, "ab", "a"),
    "pattern": ({"type": "string", "pattern": "^[a-z]+$"}, "ab", "A"),
    "email": ({"type": "string", "format": "email"}, "ada@example.org", "nope"),
    "uri": ({"type": "string", "format": "uri"}, "https://example.org", "nope"),
    "date": ({"type": "string", "format": "date"}, "2026-12-24", "32.13.2026"),
    "date-time": ({"type": "string", "format": "date-time"}, "2026-12-24T18:00:00Z", "2026-12-24"),
    "integer": ({"type": "integer", "minimum": 1}, 3, 0),
    "number": ({"type": "number", "maximum": 1}, 0.5, 2),
    "boolean": ({"type": "boolean"}, True, "yes"),
    "enum": ({"type": "string", "enum": ["a", "b"]}, "a", "c"),
    "enumNames": ({"type": "string", "enum": ["a", "b"], "enumNames": ["Ada", "Bob"]}, "a", "Ada"),
    "oneOf": ({"type": "string", "oneOf": [{"const": "a", "title": "Ada"}]}, "a", "Ada"),
    "several": ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, ["a", "b"], ["c"]),
    "titled": ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "Ada"}]}}, ["a"], ["Ada"]),
}
FORBIDDEN = {
    "nested": {"type": "object", "properties": {}},
    "unknown type": {"type": "null"},
    "reference": {"$ref": "https://evil.example/schema"},
    "list of texts": {"type": "array", "items": {"type": "string"}},
    "format": {"type": "string", "format": "uuid"},
    "union": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
    "back-reference": {"type": "string", "pattern": r"^(a)\1$"},
    "look-behind": {"type": "string", "pattern": "(?<=a)b"},
}


def of(part):
    return {"type": "object", "properties": {"it": part}, "required": ["it"]}


@asynccontextmanager
async def connected(people, *, make=ElicitingSession, **options):
    """A client and the server, in this process."""
    made = asking.server()
    async with create_client_server_memory_streams() as (client, theirs), anyio.create_task_group() as group:
        group.start_soon(lambda: made.run(*theirs, made.create_initialization_options()))
        callback = elicitation("orders", people=people, **options)
        async with make(*client, elicitation_callback=callback) as session:
            await session.initialize()
            yield session
        group.cancel_scope.cancel()


async def asked(session, schema=NAMED, tool="ask", **arguments):
    result = await session.call_tool(tool, {"schema": schema, **arguments})
    text = result.content[0].text
    return json.loads(text) if text.startswith("{") else text


def open_here():
    """What these servers ask; other tests may have left questions of their own."""
    return [call for call in pending() if call.kind == "mcp"]


def answers(value):
    async def person(call):
        call.respond(value, by="ada")

    return person


async def says_no(call):
    call.decline("no", by="ada")


async def withdraws(call):
    call.cancel("closed")


async def fails(call):
    raise RuntimeError("broken")


@pytest.mark.parametrize(("part", "good", "bad"), ALLOWED.values(), ids=ALLOWED)
async def test_each_kind_that_the_protocol_allows_is_asked_and_checked(part, good, bad):
    seen = []

    async def person(call):
        seen.append((call.message, call.title, call.kind, call.name))
        with pytest.raises(InvalidValue):
            call.respond({"it": bad})
        call.respond({"it": good}, by="ada")

    async with connected(person) as session:
        assert await asked(session, of(part)) == {"action": "accept", "content": {"it": good}}
    assert seen == [("Order what?", "orders asks", "mcp", "orders")]


@pytest.mark.parametrize("part", FORBIDDEN.values(), ids=FORBIDDEN)
async def test_what_the_protocol_does_not_allow_is_refused_in_words_and_asked_of_nobody(part):
    async def nobody(call):
        pytest.fail("asked")

    async with connected(nobody) as session:
        reply = await asked(session, of(part))
        assert "`it`" in reply or "pattern" in reply, reply


@pytest.mark.parametrize(
    ("person", "reply"),
    [(says_no, {"action": "decline"}), (withdraws, {"action": "cancel"}), (fails, {"action": "cancel"})],
)
async def test_a_no_declines_and_what_is_withdrawn_or_fails_is_cancelled(person, reply, caplog):
    async with connected(person) as session:
        assert await asked(session) == reply


async def test_an_expired_question_is_cancelled():
    async def slow(call):
        await asyncio.Event().wait()

    async with connected(slow, timeout=0.05) as session:
        assert await asked(session) == {"action": "cancel"}


async def test_nobody_there_is_an_error_and_never_a_no():
    async def passes(call):
        pass

    async with connected(passes) as session:
        assert "needs a person" in await asked(session)


async def test_where_nobody_can_answer_the_session_does_not_say_that_somebody_can():
    assert elicitation("orders") is None  # no front end here
    assert elicitation("orders", people=says_no) is not None


async def test_an_address_is_shown_with_its_host_and_opened_by_nobody():
    seen = []

    async def person(call):
        seen.append(call.args)
        call.respond(True, by="ada")

    there = "https://accounts.example.org@evil.example/login"
    async with connected(person) as session:
        assert await asked(session, tool="open", url=there) == {"action": "accept"}
    assert seen == [{"host": "evil.example", "address": there}]


async def test_five_questions_are_open_at_once_and_other_traffic_goes_on():
    people = asyncio.Event()

    async def waits(call):
        await people.wait()
        call.respond({"name": "ada"})

    async with connected(waits) as session:
        several = [asyncio.ensure_future(asked(session)) for _ in range(5)]
        while len(open_here()) < 5:
            await asyncio.sleep(0)
        assert len((await session.list_tools()).tools) == 9
        people.set()
        assert await asyncio.gather(*several) == [{"action": "accept", "content": {"name": "ada"}}] * 5


async def test_a_server_that_waits_no_longer_closes_the_question():
    async def slow(call):
        await asyncio.Event().wait()

    async with connected(slow) as session:
        assert await asked(session, tool="ask_for_a_moment") == "gave up: True"
    assert open_here() == []


async def test_closing_the_session_closes_what_is_open():
    async def slow(call):
        await asyncio.Event().wait()

    async with connected(slow) as session:
        waiting = asyncio.ensure_future(asked(session))
        while not open_here():
            await asyncio.sleep(0)
    assert open_here() == []
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)


async def test_over_stdio_it_is_the_same():
    parameters = StdioServerParameters(command=sys.executable, args=["-m", "tests.unit.mcp.server"])
    callback = elicitation("orders", people=answers({"name": "ada"}))
    async with (
        stdio_client(parameters) as streams,
        ElicitingSession(*streams, elicitation_callback=callback) as session,
    ):
        await session.initialize()
        assert await asked(session) == {"action": "accept", "content": {"name": "ada"}}


async def test_the_released_session_takes_the_callback_too():
    async with connected(answers({"name": "ada"}), make=ClientSession) as session:
        assert await asked(session) == {"action": "accept", "content": {"name": "ada"}}


def test_a_server_without_a_name_is_refused():
    with pytest.raises(UsageError, match='Write `elicitation\\("weather"\\)`'):
        elicitation("")


def test_what_is_left_out_stays_out():
    checks = Requested({"type": "object", "properties": {"it": {"type": "string", "format": "email"}}})
    assert checks.validate({}) == {}
    with pytest.raises(InvalidValue):
        checks.validate({"other": 1})


# -- a person before a server's tools ---------------------------------------------------------------------------------


@pytest.fixture
def ran():
    asking.ran.clear()
    return asking.ran


async def test_a_gated_tool_runs_once_with_what_was_approved_whatever_the_server_says_of_it(ran):
    seen = []

    async def person(call):
        seen.append((call.message, call.args))
        call.respond({"n": 4}, by="ada")

    async with connected(says_no) as session:
        assert gate_mcp(session, server="orders", people=person) is session
        result = await session.call_tool("delete", {"n": 3})
    assert result.content[0].text == "deleted 4"
    assert (seen, ran) == ([("Run `delete` of orders?", {"n": 3})], [("delete", {"n": 4})])


@pytest.mark.parametrize("person", [says_no, ScriptedPerson([]), Policy(deny("delete"))])
async def test_what_nobody_approved_does_not_run(ran, person):
    async with connected(says_no) as session:
        gate_mcp(session, people=person)
        with pytest.raises(Exception, match=r"Nothing was|not answered|declined|script"):
            await session.call_tool("delete", {"n": 3})
    assert ran == []


async def test_arguments_that_do_not_fit_are_asked_of_nobody(ran):
    async with connected(says_no) as session:
        gate_mcp(session, people=answers(None))
        with pytest.raises(InvalidValue, match="`n`"):
            await session.call_tool("delete", {"n": "three"})
    assert ran == []


async def test_when_says_which_calls_need_nobody_and_a_rule_that_fails_asks(ran):
    async with connected(says_no) as session:
        gate_mcp(session, when=lambda tool, args: args["n"] > 3, people=says_no)
        await session.call_tool("delete", {"n": 3})
        for arguments in ({"n": 4}, {}):
            with pytest.raises((Declined, InvalidValue)):
                await session.call_tool("delete", arguments)
    assert ran == [("delete", {"n": 3})]


async def test_what_is_no_client_is_refused_and_a_second_gate_too():
    with pytest.raises(UsageError, match="has no tools"):
        gate_mcp(object())
    async with connected(says_no) as session:
        gate_mcp(session, people=says_no)
        with pytest.raises(UsageError, match="already"):
            gate_mcp(session, people=says_no)
