"""A server that wants something done at an address first (-32042): a person says when it is done, or the server."""

import asyncio

import pytest
from mcp import McpError

from tests.unit.mcp.test_elicitation import open_here
from tests.unit.mcp.test_transports import address, connected, until

__all__ = ["address", "connected"]

pytestmark = pytest.mark.timeout(300)


async def files(session, *first):
    return (await session.call_tool("files", {"first": list(first)})).content[0].text


async def signs_in(session, *at, tell=()):
    await session.call_tool("sign_in", {"at": list(at), "tell": list(tell)})


class AtTheBrowser:
    """Signs in at each address, elsewhere, and says so."""

    def __init__(self, *, really=True):
        self.session, self.really, self.seen = None, really, []

    async def __call__(self, call):
        self.seen.append((call.title, call.message, call.args["host"]))
        if self.really:
            await signs_in(self.session, call.args["host"].partition(".")[0])
        call.respond(True, by="ada")


class Waits:
    """Has not said anything yet."""

    def __init__(self):
        self.calls = []

    async def __call__(self, call):
        self.calls.append(call)
        await asyncio.Event().wait()


async def test_each_address_is_shown_and_once_all_is_done_the_tool_runs(connected):
    person = AtTheBrowser()
    async with connected(person) as session:
        person.session = session
        assert await files(session, "one", "two") == "your files"
    assert person.seen == [
        ("orders needs this first, for files", "Sign in: one.", "one.example"),
        ("orders needs this first, for files", "Sign in: two.", "two.example"),
    ]


@pytest.mark.parametrize("answer", ["decline", "cancel"])
async def test_whoever_says_no_leaves_the_error_and_nothing_has_run(connected, answer):
    seen = []

    async def person(call):
        seen.append(call.message)
        getattr(call, answer)("no")

    async with connected(person) as session:
        with pytest.raises(McpError, match="URL elicitations required") as raised:
            await files(session, f"three {answer}", "never asked")
    assert raised.value.error.code == -32042
    assert len(seen) == 1


async def test_nobody_there_is_an_error_and_never_a_no(connected):
    async def passes(call):
        pass

    async with connected(passes) as session:
        with pytest.raises(McpError, match="needs a person"):
            await files(session, "four")


async def test_a_server_that_says_that_it_is_done_spares_the_person_the_click(connected):
    person = Waits()
    async with connected(person) as session:
        call = asyncio.ensure_future(files(session, "five", "six"))
        await until(open_here)
        await signs_in(session, "five", tell=["unknown", "five"])
        await until(lambda: len(person.calls) == 2)
        assert (person.calls[0].outcome, person.calls[0].reason) == ("superseded", "the server says that this is done")
        assert not call.done()
        await signs_in(session, "six", tell=["five", "six"])
        assert await call == "your files"
    assert open_here() == []


async def test_a_server_that_is_told_what_is_not_true_asks_again_but_not_for_ever(connected):
    person = AtTheBrowser(really=False)
    async with connected(person) as session:
        with pytest.raises(McpError, match="URL elicitation required"):
            await files(session, "seven")
    assert len(person.seen) == 10


async def test_a_call_that_is_stopped_closes_the_card(connected):
    person = Waits()
    async with connected(person) as session:
        call = asyncio.ensure_future(files(session, "eight"))
        await until(open_here)
        call.cancel()
        await asyncio.wait([call])
        assert open_here() == []
    assert person.calls[0].reason == "nobody waits for this answer any more"
