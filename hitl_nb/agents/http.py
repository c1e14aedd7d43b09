"""Any AG-UI server as an agent: one POST a run, events over SSE (https://docs.ag-ui.com/concepts/architecture).

Servers differ, and what differs harmlessly is let pass: message ids that change from snapshot to snapshot, an END
that comes late, chunks instead of START and END, event types newer than this client, a line that stays open after
the run. What could lose or misplace a person's answer is not: a stream that breaks off, an HTTP error or silence
ends the run with an `AgentError`. A POST is never repeated by itself, since a run has side effects.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from typing import TYPE_CHECKING

from ag_ui.core import PROTOCOL_VERSION, Event, RunAgentInput, RunErrorEvent, RunFinishedEvent, RunStartedEvent
from pydantic_core import PydanticSerializationError, to_json

from hitl_nb._library import library
from hitl_nb.agents._arguments import presentable
from hitl_nb.agents._ids import UniqueCalls
from hitl_nb.agui import parse_event
from hitl_nb.errors import AgentDefinitionError, AgentError, UsageError

if TYPE_CHECKING:
    from httpx import AsyncClient, HTTPError, Response
    from httpx_sse import ServerSentEvent

_CONNECT_SECONDS = 10.0

_LINGER_SECONDS = 1.0
"""How long a line may stay open after RUN_FINISHED; a person waits for the card meanwhile."""

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
        timeout: Seconds of silence after which a run is given up; None waits for ever. A person's time never
            counts: while somebody is asked, no request is under way.
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
        self._httpx, self._sse = (library(name, extra="http", what="`HttpAgent`") for name in ("httpx", "httpx_sse"))
        self._url = self._checked(url)
        self._headers = {"Accept": "text/event-stream", "Content-Type": "application/json", **(headers or {})}
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
            f'`{url}` is not the address of a server. Write `HttpAgent("http://localhost:8000/agent")`.'
        )

    def __repr__(self) -> str:
        return f"HttpAgent({self._url})"  # without the headers, which may hold a token

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
                while (event := await _next(events, over)) is not None:
                    over = isinstance(event, (RunFinishedEvent, RunErrorEvent)) or (
                        over and not isinstance(event, RunStartedEvent)
                    )
                    yield reader.read(event)
        except self._httpx.HTTPError as error:
            if not over:
                raise self._failure(error) from error
        if not over:
            raise AgentError(f"`{self._url}` ended its stream before `RUN_FINISHED`. {_KEPT}", "STREAM_ENDED_EARLY")

    @asynccontextmanager
    async def _events(self, input: RunAgentInput) -> AsyncIterator[AsyncGenerator[Event, None]]:  # noqa: A002
        timeout = self._httpx.Timeout(self._timeout, connect=_CONNECT_SECONDS)
        body = request_body(input)
        async with (
            self._connected() as client,
            client.stream("POST", self._url, content=body, headers=self._headers, timeout=timeout) as response,
        ):
            await self._check(response)
            source = self._sse.EventSource(response)
            async with aclosing(source.aiter_sse()) as lines, aclosing(self._parsed(lines)) as events:
                yield events

    def _connected(self) -> "AbstractAsyncContextManager[AsyncClient]":
        if self._client is not None:
            return nullcontext(self._client)
        # A client belongs to one event loop, and runs may not: so it lives as long as its run.
        own: AsyncClient = self._httpx.AsyncClient()
        return own

    async def _parsed(self, lines: "AsyncIterator[ServerSentEvent]") -> AsyncGenerator[Event, None]:
        async for line in lines:
            if not line.data:  # a keep-alive
                continue
            try:
                data = json.loads(line.data)
            except ValueError as error:
                raise AgentError(
                    f"`{self._url}` sent an event that is not JSON: `{_excerpt(line.data)}`. {_KEPT}", "NOT_JSON"
                ) from error
            if (event := parse_event(data)) is not None:
                yield event

    # -- what goes wrong ----------------------------------------------------------------------------------

    async def _check(self, response: "Response") -> None:
        kind = response.headers.get("content-type", "").partition(";")[0]
        if response.status_code == 200 and kind == "text/event-stream":
            return
        body = ""
        async for text in response.aiter_text():
            body += text
            if len(body) > 2000:
                break
        said = f": `{_excerpt(body)}`" if body.strip() else ""
        if response.status_code == 200:
            raise AgentError(
                f"`{self._url}` answered with `{kind}` instead of an event stream{said}. {_KEPT}", "NOT_A_STREAM"
            )
        hint = _HINTS.get(response.status_code, "")
        if response.has_redirect_location:
            hint = f'The endpoint has moved; write `HttpAgent("{response.headers["location"]}")`.'
        parts = (f"`{self._url}` answered {response.status_code} {response.reason_phrase}{said}.", hint, _KEPT)
        raise AgentError(" ".join(part for part in parts if part), f"HTTP_{response.status_code}")

    def _failure(self, error: "HTTPError") -> AgentError:
        cause = str(error) or type(error).__name__
        if isinstance(error, (self._httpx.ConnectError, self._httpx.ConnectTimeout)):
            return AgentError(
                f"`{self._url}` cannot be reached ({cause}). Is the server running? {_KEPT}", "CANNOT_CONNECT"
            )
        if isinstance(error, self._httpx.TimeoutException):
            return AgentError(
                f"`{self._url}` was silent for {self._timeout} seconds. {_KEPT} "
                "For a slower agent write `HttpAgent(url, timeout=...)` with more seconds, or None.",
                "TIMEOUT",
            )
        return AgentError(f"`{self._url}` broke off the stream ({cause}). {_KEPT}", "STREAM_BROKE_OFF")


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


async def _next(events: AsyncGenerator[Event, None], over: bool) -> Event | None:
    try:
        async with asyncio.timeout(_LINGER_SECONDS if over else None):
            return await anext(events, None)
    except TimeoutError:
        return None


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 300 else words[:299] + "…"
