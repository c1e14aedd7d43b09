"""What a server may send: let pass where the web's client does, refused in words elsewhere, and never endless."""

import asyncio
import contextlib
import gzip
import json
import zlib

import pytest

from hitl_nb import Session, human_in_the_loop
from hitl_nb._limits import DEPTH, EVENT
from hitl_nb.agents import HttpAgent
from hitl_nb.agents import http as http_module
from hitl_nb.errors import AgentError, ProtocolError
from hitl_nb.testing import ScriptedPerson
from tests.sse import SseServer, calls, events_of, replies, says


@human_in_the_loop
def ask(question: str) -> str:
    """Ask the user."""


ASKS = tuple(calls("call_1", "ask", '{"question": ', '"Go?"}', parentMessageId="m1"))


def spelled(spell, *, kind="text/event-stream", status="200 OK", **headers):
    """A server that asks one question, and writes its events in this way."""

    async def reply(line, body):
        await line.head(status, kind, **headers)
        await line.send(spell([json.dumps(event) for event in events_of(body, *ASKS)]))
        await line.end()

    return reply


def plainly(events):
    return "".join(f"data: {event}\n\n" for event in events)


def in_two_lines(event):
    first, comma, rest = event.partition(", ")
    return f"data: {first}{comma}\ndata: {rest}"


TOLERATED = {
    "a BOM": spelled(lambda events: "\ufeff" + plainly(events)),
    "CRLF": spelled(lambda events: plainly(events).replace("\n", "\r\n")),
    "CR": spelled(lambda events: plainly(events).replace("\n", "\r")),
    "no space behind the colon": spelled(lambda events: plainly(events).replace("data: ", "data:")),
    "data in two lines": spelled(lambda events: "".join(f"{in_two_lines(event)}\n\n" for event in events)),
    "other fields": spelled(lambda events: "".join(f"event: x\nid: 7\nretry: 1\nwhat\ndata: {e}\n\n" for e in events)),
    "[DONE] at the end": spelled(lambda events: plainly(events) + "data: [DONE]\n\n"),
    "no blank line at the end": spelled(lambda events: plainly(events).removesuffix("\n\n")),
    "garbage behind the end": spelled(lambda events: plainly(events) + "data: <oops>\n\ndata: 42\n\n"),
    "keep-alives": spelled(lambda events: "".join(f": ping\n\ndata:\n\ndata: {event}\n\n" for event in events)),
    "a float for a timestamp": spelled(
        lambda events: plainly(e[:-1] + ', "timestamp": 1764482400123.5}' for e in events)
    ),
    "no number for a timestamp": spelled(lambda events: plainly(e[:-1] + ', "timestamp": NaN}' for e in events)),
    "a timestamp beyond all numbers": spelled(lambda events: plainly(e[:-1] + ', "timestamp": 1e999}' for e in events)),
    "gzip": spelled(lambda events: gzip.compress(plainly(events).encode()), content_encoding="gzip"),
    "deflate": spelled(lambda events: zlib.compress(plainly(events).encode()), content_encoding="deflate"),
    "no content type": spelled(plainly, kind=None),
    "a content type in capitals": spelled(plainly, kind="Text/Event-Stream ;charset=UTF-8"),
    "text/plain": spelled(plainly, kind="text/plain"),
    "octets": spelled(plainly, kind="application/octet-stream"),
    "201 Created": spelled(plainly, status="201 Created"),
}


@pytest.mark.parametrize("case", TOLERATED)
async def test_what_the_webs_client_reads_is_read(case):
    async with SseServer(TOLERATED[case], replies(*says("Done."))) as server:
        reply = await Session(server.url, tools=[ask], people=[ScriptedPerson(["yes"])]).run("Well?")
    assert reply.text == "Done."
    assert server.results(1) == {"call_1": "yes"}


async def test_where_the_bytes_are_cut_does_not_matter():
    text = "\ufeff" + plainly(['{"a": "é"}', "[1,\r\ndata: 2]", '"\U0001f600"']).replace("\n\n", "\r\n\r")
    data = text.encode()
    whole = list(http_module.EventLines().feed(data))
    assert whole == ['{"a": "é"}', "[1,\n2]", '"\U0001f600"']
    for cut in range(len(data) + 1):
        lines = http_module.EventLines()
        assert [*lines.feed(data[:cut]), *lines.feed(data[cut:])] == whole
    lines = http_module.EventLines()
    assert [found for at in range(len(data)) for found in lines.feed(data[at : at + 1])] == whole


def sends(*parts, **head):
    async def reply(line, body):
        await line.head(**head)
        for part in parts:
            await line.send(part)
        await line.end()

    return reply


def event(text):
    return sends(f"data: {text}\n\n")


DEEP = '{"type": "CUSTOM", "name": "x", "value": ' + "[" * 5_000 + "]" * 5_000 + "}"
DEEPER = '{"type": "CUSTOM", "name": "x", "value": ' + "[" * DEPTH + "]" * DEPTH + "}"
REFUSED = {
    "no JSON": (event("<oops>"), "NOT_JSON", "not JSON: `<oops>`"),
    "a number": (event("42"), "NOT_AN_EVENT", "no event: `42`"),
    "a text": (event('"hello"'), "NOT_AN_EVENT", "no event"),
    "null": (event("null"), "NOT_AN_EVENT", "no event"),
    "a list": (event("[]"), "NOT_AN_EVENT", "no event"),
    "nested 5,000 deep": (event(DEEP), "TOO_MUCH", f"more than {DEPTH} levels"),
    "nested just too deep": (event(DEEPER), "TOO_MUCH", f"more than {DEPTH} levels"),
    "a number of 10,000 digits": (event('{"type": "CUSTOM", "value": ' + "1" * 10_000 + "}"), "NOT_JSON", "not JSON"),
    "[DONE] before the end": (event("[DONE]"), "STREAM_ENDED_EARLY", "before `RUN_FINISHED`"),
    "half an event at the end": (sends('data: {"type": "RUN_STA'), "STREAM_ENDED_EARLY", "before `RUN_FINISHED`"),
    "nothing": (sends(), "STREAM_ENDED_EARLY", "before `RUN_FINISHED`"),
    "brotli": (sends(b"\x1b\x00", content_encoding="br"), "NOT_A_STREAM", "encoding `br`"),
    "broken gzip": (sends(b"no gzip", content_encoding="gzip"), "STREAM_BROKE_OFF", "no `gzip`"),
    "a web page": (sends("<h1>Log in</h1>", kind="text/html"), "NOT_A_STREAM", "`text/html` instead"),
    "JSON": (sends('{"ok": true}', kind="application/json"), "NOT_A_STREAM", "`application/json` instead"),
    "no content": (sends(kind="image/png", status="204 No Content"), "NOT_A_STREAM", "instead"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_stream_of_events_ends_the_run_once_and_in_words(case, caplog):
    reply, code, words = REFUSED[case]
    async with SseServer(reply, replies(*says("Hello."))) as server:
        session = Session(server.url, tools=[ask], people=[ScriptedPerson([])])
        with pytest.raises(AgentError, match="go on with") as caught:
            await session.run("Well?")
        assert caught.value.code == code
        assert words in str(caught.value)
        assert len(str(caught.value)) < 1_000
        assert (await session.run("Please go on")).text == "Hello."
    assert sum(len(record.getMessage()) for record in caplog.records) < 2_000


async def test_a_dict_that_is_no_event_is_named():
    async with SseServer(event('{"a": 1}')) as server:
        with pytest.raises(ProtocolError, match="without `type`"):
            await Session(server.url).run("Well?")


# -- endless ------------------------------------------------------------------------------------------------------


class Endless:
    """A server that never stops by itself; says how much it got rid of."""

    def __init__(self, piece, *, status="200 OK", kind="text/event-stream"):
        self.piece, self.status, self.kind = piece, status, kind
        self.sent = 0

    async def __call__(self, line, body):
        await line.head(self.status, self.kind)
        with contextlib.suppress(ConnectionError):
            while True:
                await line.send(self.piece)
                self.sent += len(self.piece)


def bomb(text, times):
    """`text`, repeated, as one small piece of gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return b"".join(packer.compress(text) for _ in range(times)) + packer.flush()


async def refused(server, code, **options):
    with pytest.raises(AgentError) as caught:
        await asyncio.wait_for(Session(HttpAgent(server.url, **options)).run("Well?"), 30)
    assert caught.value.code == code
    assert len(str(caught.value)) < 1_000
    return str(caught.value)


async def test_a_line_without_an_end_is_hung_up_on():
    line = Endless("a" * 1_000_000)
    async with SseServer(line) as server:
        assert f"more than {EVENT:,} bytes" in await refused(server, "TOO_MUCH")
    assert line.sent < 3 * EVENT


async def test_an_event_of_endless_lines_is_hung_up_on(monkeypatch):
    monkeypatch.setattr(http_module, "EVENT", 100_000)
    async with SseServer(Endless("data: a\n" * 1_000)) as server:
        assert "an event of more than" in await refused(server, "TOO_MUCH")


async def test_a_gzip_bomb_is_not_unpacked(monkeypatch):
    """It has a tenth of a percent of what it unpacks to."""
    packed = bomb(b"data: " + b"a" * 1_000_000, 60)
    assert len(packed) < 100_000
    async with SseServer(sends(packed, content_encoding="gzip")) as server:
        assert f"more than {EVENT:,} bytes" in await refused(server, "TOO_MUCH")
    monkeypatch.setattr(http_module, "STREAM", 1_000_000)
    async with SseServer(sends(bomb(b"\n" * 100_000, 100), content_encoding="gzip")) as server:
        assert "in one run" in await refused(server, "TOO_MUCH")


async def test_keep_alives_are_silence():
    async def reply(line, body):
        await line.head()
        await line.event(events_of(body)[0])
        while True:
            await line.send(": still here\n\n")
            await asyncio.sleep(0.01)

    async with SseServer(reply) as server:
        assert "silent for 0.2 seconds" in await refused(server, "TIMEOUT", timeout=0.2)


@pytest.mark.parametrize("head", [{"status": "500 Oops", "kind": "text/plain"}, {"kind": "text/html"}], ids=str)
async def test_the_words_of_an_error_have_an_end(head, monkeypatch):
    monkeypatch.setattr(http_module, "_ERROR_SECONDS", 0.1)

    async def silent(line, body):
        await line.head(**head)
        await line.send("No ")
        await line.left()

    code = "HTTP_500" if "status" in head else "NOT_A_STREAM"
    async with SseServer(Endless("No! " * 10_000, **head), silent) as server:
        assert "No! No!" in await refused(server, code)
        assert "`No`" in await refused(server, code)


async def test_a_redirect_that_the_library_cannot_read_is_named_too():
    async with SseServer(sends(status="307 Temporary Redirect", location="javascript:alert(1)")) as server:
        assert "says no address to which" in await refused(server, "NOT_A_STREAM")


# -- redirects ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("/agent/", 'HttpAgent("http://127.0.0.1:PORT/agent/")'),
        ("agent/", 'HttpAgent("http://127.0.0.1:PORT/agent/")'),
        ("//example.com/a", 'HttpAgent("http://example.com/a")'),
        ("https://user:hunter2@example.com/a", 'HttpAgent("https://example.com/a")'),
        ("http://[", "says no address to which: `http://[`"),
        ("file:///etc/passwd", "says no address"),
        ("/" + "x" * 5_000, "says no address"),
        ('/a")', 'HttpAgent("http://127.0.0.1:PORT/a%22)")'),
    ],
)
async def test_a_redirect_is_named_as_an_address_that_can_be_written(location, words):
    async with SseServer(sends(status="307 Temporary Redirect", location=location)) as server:
        message = await refused(server, "HTTP_307")
    assert words.replace("PORT", server.url.split(":")[2].partition("/")[0]) in message
    assert "hunter2" not in message
