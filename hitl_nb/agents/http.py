"""Any AG-UI server as an agent: one POST a run, events over SSE (https://docs.ag-ui.com/concepts/architecture).

Servers differ, and what differs harmlessly is let pass: message ids that change from snapshot to snapshot, an END
that comes late, chunks instead of START and END, event types newer than this client, a line that stays open after
the run. What could lose or misplace a person's answer is not: a stream that breaks off, an HTTP error or silence
ends the run with an `AgentError`. A POST is never repeated by itself, since a run has side effects.

What a server sends is bounded, by the numbers of `_limits`: an event, a run's stream, also where it is compressed, and
how deep an event is nested. Silence is measured from event to event: a server that only keeps the line open says
nothing.
"""

import asyncio
import re
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, cast

from ag_ui.core import PROTOCOL_VERSION, Event, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunStartedEvent
from pydantic_core import PydanticSerializationError, to_json

from hitl_nb._library import library
from hitl_nb._limits import EVENT, STREAM, TooMuch, read_json
from hitl_nb._secrets import is_secret_name, learn, shown_address
from hitl_nb.agents._call_assembler import presentable
from hitl_nb.agents._ids import UniqueCalls
from hitl_nb.agui import parse_event
from hitl_nb.errors import AgentDefinitionError, AgentError, UsageError

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx import AsyncClient, HTTPError, InvalidURL, Response

_CONNECT_SECONDS = 10.0

_LINGER_SECONDS = 1.0
"""How long a line may stay open after RUN_FINISHED; a person waits for the card meanwhile."""

_ERROR_SECONDS = 5.0
"""How long the words of an HTTP error are waited for."""

_KINDS = ("", "text/event-stream", "application/event-stream", "application/octet-stream", "text/plain")
"""Content types that servers give a stream of events; browsers' clients do not look at it at all."""

_KEPT = 'What people answered so far is kept in `session.messages`; go on with `await session.run("Please go on")`.'

_AUTHORIZE = 'Write `HttpAgent(url, headers={"Authorization": "Bearer ..."})`.'
_HINTS = {
    401: _AUTHORIZE,
    403: _AUTHORIZE,
    404: "Check the path: it is the `path=` of the server's endpoint.",
    405: "Check the path: an AG-UI endpoint takes POST.",
    422: "Either this is no AG-UI endpoint, or it speaks another version of AG-UI.",
}


class HttpAgent:
    """Runs the agent behind an AG-UI endpoint.

    Args:
        url: The endpoint, ``http://`` or ``https://``. ``Session(url)`` is the same without options.
        headers: Sent with every request, e.g. ``{"Authorization": "Bearer ..."}``.
        timeout: Seconds without an event after which a run is given up, however often the server says that the line
            is open; None waits for ever. A person's time never counts: while somebody is asked, no request is under
            way.
        client: An ``httpx.AsyncClient`` of yours (proxies, certificates, cookies); it stays open. Default: a
            client of its own for each run.

    Raises:
        AgentDefinitionError: `url` is no HTTP address.
        MissingExtraError: The extra ``[http]`` is not installed.

    ::

        session = Session(HttpAgent("http://localhost:8000/human_in_the_loop"), tools=[generate_task_steps])
    """

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = 300.0,
        client: "AsyncClient | None" = None,
    ) -> None:
        self._httpx = library("httpx", extra="http", what="`HttpAgent`")
        self._url = self._checked(url)
        self._shown = shown_address(url)
        learn([], [part for name, text in (headers or {}).items() if is_secret_name(name) for part in text.split()])
        self._headers = {
            "Accept": "text/event-stream",
            "Accept-Encoding": "gzip",
            "Content-Type": "application/json",
            **(headers or {}),
        }
        self._timeout = timeout
        self._client = client
        self._calls = UniqueCalls()

    def _checked(self, url: str) -> str:
        try:
            parsed = self._httpx.URL(url)
        except self._httpx.InvalidURL:
            parsed = self._httpx.URL("")
        if parsed.scheme in ("http", "https") and parsed.host:
            return url
        raise AgentDefinitionError(
            f'`{shown_address(url)}` is not the address of a server. Write `HttpAgent("http://localhost:8000/agent")`.'
        )

    def __repr__(self) -> str:
        return f"HttpAgent({self._shown})"  # without what may be a secret: user, password, query, headers

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """POST `input` and yield the server's events while they stream; closing the iterator closes the line.

        Raises:
            AgentError: The server cannot be reached, answers with an error, is silent for too long, or ends its
                stream before the run is over.
            ProtocolError: An event is malformed.
        """
        request, reader = self._calls.begin(input)
        over = False
        try:
            async with self._events(request) as events:
                while (event := await self._next(events, over)) is not None:
                    over = isinstance(event, (RunFinishedEvent, RunErrorEvent)) or (
                        over and not isinstance(event, RunStartedEvent)
                    )
                    yield reader.read(event)
        except (self._httpx.HTTPError, self._httpx.InvalidURL, AgentError) as error:
            # What a server sends behind the end of the run is lost on nobody.
            if not over:
                raise (error if isinstance(error, AgentError) else self._failure(error)) from error
        if not over:
            raise AgentError(f"`{self._shown}` ended its stream before `RUN_FINISHED`. {_KEPT}", "STREAM_ENDED_EARLY")

    @asynccontextmanager
    async def _events(self, input: RunAgentInput) -> AsyncIterator[AsyncGenerator[Event, None]]:  # noqa: A002
        timeout = self._httpx.Timeout(self._timeout, connect=_CONNECT_SECONDS)
        body = request_body(input)
        async with (
            self._connected() as client,
            client.stream("POST", self._url, content=body, headers=self._headers, timeout=timeout) as response,
        ):
            await self._check(response)
            async with aclosing(self._texts(response)) as texts, aclosing(self._parsed(texts)) as events:
                yield events

    def _connected(self) -> "AbstractAsyncContextManager[AsyncClient]":
        if self._client is not None:
            return nullcontext(self._client)
        # A client belongs to one event loop, and runs may not: so it lives as long as its run.
        own: AsyncClient = self._httpx.AsyncClient(verify=self._certificates)
        return own

    @cached_property
    def _certificates(self) -> "SSLContext":
        # Read once: that takes longer than all else between an answer and the next request.
        context: SSLContext = self._httpx.create_ssl_context()
        return context

    async def _next(self, events: AsyncGenerator[Event, None], over: bool) -> Event | None:
        try:
            async with asyncio.timeout(_LINGER_SECONDS if over else self._timeout) as limit:
                return await anext(events, None)
        except TimeoutError:
            if not limit.expired():
                raise
            if over:
                return None
            raise self._silent() from None

    async def _parsed(self, texts: AsyncIterator[str]) -> AsyncGenerator[Event, None]:
        async for text in texts:
            if text.strip() == "[DONE]":  # how streams of chat completions end
                return
            try:
                data = read_json(text, longest=EVENT)
            except TooMuch as error:
                raise self._error(f"sent an event that is too much: {error}", "TOO_MUCH") from error
            except ValueError as error:
                raise self._error(f"sent an event that is not JSON: `{_excerpt(text)}`", "NOT_JSON") from error
            if not isinstance(data, dict):
                raise self._error(f"sent what is no event: `{_excerpt(text)}`", "NOT_AN_EVENT")
            if (event := parse_event(data)) is not None:
                yield event

    async def _texts(self, response: "Response") -> AsyncGenerator[str, None]:
        """Yield the data of each event of the stream."""
        lines = EventLines()
        async with aclosing(self._bytes(response)) as pieces:
            async for piece in pieces:
                for text in lines.feed(piece):
                    yield text
                if lines.size > EVENT:
                    raise self._error(f"sent an event of more than {EVENT:,} bytes", "TOO_MUCH")
        if (last := lines.rest()) is not None:
            yield last

    async def _bytes(self, response: "Response") -> AsyncGenerator[bytes, None]:
        """Yield the body, uncompressed, a bounded piece at a time."""
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            raise self._error(
                f"answered in the encoding `{_excerpt(encoding)}`, for which it was not asked", "NOT_A_STREAM"
            )
        total = 0
        unpack = _ENCODINGS[encoding]()
        async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_raw())) as pieces:
            async for packed in pieces:
                try:
                    for piece in unpack(packed):
                        total += len(piece)
                        if total > STREAM:
                            raise self._error(f"sent more than {STREAM:,} bytes in one run", "TOO_MUCH")
                        yield piece
                        await asyncio.sleep(0)
                except zlib.error as error:
                    raise self._error(f"sent what is no `{encoding}` ({error})", "STREAM_BROKE_OFF") from error

    # -- what goes wrong ----------------------------------------------------------------------------------

    async def _check(self, response: "Response") -> None:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if response.is_success and kind in _KINDS:
            return
        body = await self._words(response)
        said = f": `{_excerpt(body)}`" if body.strip() else ""
        if response.is_success:
            raise self._error(f"answered with `{_excerpt(kind)}` instead of an event stream{said}", "NOT_A_STREAM")
        hint = _HINTS.get(response.status_code, "")
        if response.has_redirect_location:
            hint = self._moved(response)
        reason = _excerpt(response.reason_phrase)
        raise self._error(f"answered {response.status_code} {reason}{said}", f"HTTP_{response.status_code}", hint=hint)

    async def _words(self, response: "Response") -> str:
        """Return the beginning of a body that is no stream, as far as it comes soon."""
        body = b""
        try:
            async with asyncio.timeout(_ERROR_SECONDS), aclosing(self._bytes(response)) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) > 2000:
                        break
        except (TimeoutError, AgentError, self._httpx.HTTPError):
            pass  # what has come is said
        return body[:4000].decode("utf-8", "replace")

    def _moved(self, response: "Response") -> str:
        """Return what to write, where a redirect leads to an address."""
        try:
            target = self._httpx.URL(self._url).join(response.headers["location"])
            target = target.copy_with(username=None, password=None)
        except self._httpx.InvalidURL:
            target = self._httpx.URL("")
        if target.scheme in ("http", "https") and _HOST.fullmatch(target.host) and len(str(target)) <= 300:
            return f'The endpoint has moved; write `HttpAgent("{target}")`.'
        return f"The endpoint has moved, and says no address to which: `{_excerpt(response.headers['location'])}`."

    def _error(self, what: str, code: str, *, hint: str = "") -> AgentError:
        parts = (f"`{self._shown}` {what}.", hint, _KEPT)
        return AgentError(" ".join(part for part in parts if part), code)

    def _silent(self) -> AgentError:
        hint = "For a slower agent write `HttpAgent(url, timeout=...)` with more seconds, or None."
        return self._error(f"was silent for {self._timeout} seconds", "TIMEOUT", hint=hint)

    def _failure(self, error: "HTTPError | InvalidURL") -> AgentError:
        if isinstance(error, self._httpx.InvalidURL):  # the library looks where a redirect leads
            return self._error("has moved, and says no address to which", "NOT_A_STREAM")
        cause = _excerpt(str(error)) or type(error).__name__
        if isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout)):
            return self._error(f"cannot be reached ({cause})", "CANNOT_CONNECT", hint="Is the server running?")
        if isinstance(error, self._httpx.TimeoutException):
            return self._silent()
        return self._error(f"broke off the stream ({cause})", "STREAM_BROKE_OFF")


# -- bytes → the data of events ------------------------------------------------------------------------------------

_HOST = re.compile(r"[\w.:-]+")
_PIECE = 65_536
"""Bytes that are unpacked at a time; between two pieces the loop goes on."""
_LINE_END = re.compile(rb"\r\n|\r|\n")


class EventLines:
    """Reads server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), piece by piece."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._data: list[bytes] = []
        self._held = 0
        self._begun = False
        self._after_cr = False

    @property
    def size(self) -> int:
        """Bytes of the event that has begun and not ended."""
        return len(self._line) + self._held

    def feed(self, piece: bytes) -> Iterator[str]:
        """Take the next bytes; yields the data of each event that they complete."""
        if self._after_cr and piece.startswith(b"\n"):
            piece = piece[1:]
        if not piece:
            return
        self._after_cr = piece.endswith(b"\r")
        *ended, rest = _LINE_END.split(piece)
        for line in ended:
            self._line += line
            if (text := self._end_line()) is not None:
                yield text
        self._line += rest

    def rest(self) -> str | None:
        """Return the data of an event that the end of the stream completes; None if there is none, or half of one."""
        text = self._end_line() or self._end_event()
        try:
            if text is not None and text.strip() != "[DONE]":
                read_json(text, longest=EVENT)
        except ValueError:
            return None
        return text

    def _end_line(self) -> str | None:
        line = bytes(self._line)
        self._line.clear()
        if not self._begun:
            self._begun, line = True, line.removeprefix(b"\xef\xbb\xbf")
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._held += len(value) + 1
        return None

    def _end_event(self) -> str | None:
        if not self._data:
            return None
        text = b"\n".join(self._data).decode("utf-8", "replace")
        self._data.clear()
        self._held = 0
        return text if text.strip() else None


def _plain() -> "_Unpack":
    return lambda piece: iter((piece,))


def _gzip() -> "_Unpack":
    return _unpacking(zlib.decompressobj(zlib.MAX_WBITS | 32))  # gzip, or zlib's own


_Unpack = Callable[[bytes], Iterator[bytes]]


def _unpacking(unpacker: "zlib._Decompress") -> _Unpack:
    def unpack(piece: bytes) -> Iterator[bytes]:
        while piece:
            yield unpacker.decompress(piece, _PIECE)
            piece = unpacker.unconsumed_tail

    return unpack


_ENCODINGS: dict[str, Callable[[], _Unpack]] = {
    "": _plain,
    "identity": _plain,
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _gzip,
}


def request_body(input: RunAgentInput) -> bytes:  # noqa: A002 - AG-UI's name
    """Return the JSON that a server gets: what the released web client sends.

    Optional fields without a value are left out (a null there is refused by TypeScript servers); `state`, `tools`,
    `context` and `forwardedProps` are always there (servers before AG-UI 1.0 require them); nulls inside the user's
    own data stay. Activities are for people and are not sent.

    Raises:
        UsageError: The state holds something that has no JSON form.
    """
    messages = [message for message in presentable(input.messages) if message.role != "activity"]
    try:
        data = input.model_copy(update={"messages": messages}).model_dump(mode="json", by_alias=True)
        always: dict[str, object] = {
            "protocolVersion": PROTOCOL_VERSION,
            "state": None,
            "tools": [],
            "context": [],
            "forwardedProps": {},
        }
        for entry in data.get("resume", ()):
            if entry["status"] == "resolved":
                entry.setdefault("payload", None)  # None is an answer, too
        return to_json({**always, **data}, inf_nan_mode="null")
    except (PydanticSerializationError, UnicodeError) as error:
        raise UsageError(f"The run cannot be sent to a server: {error}. Keep plain data in `session.state`.") from error


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 300 else words[:299] + "…"
