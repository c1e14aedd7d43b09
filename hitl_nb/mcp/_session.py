"""A client session that goes on while a person thinks: the released one reads nothing else meanwhile.

Who waits for whom is kept beside it: a question is open as long as a request is under way that it can belong to, and
the time of a request stands still while a question is open.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any

from hitl_nb._library import library


def ElicitingSession(  # noqa: N802 - stands where `ClientSession` stands
    read_stream: Any,
    write_stream: Any,
    read_timeout_seconds: timedelta | float | None = None,
    *,
    elicitation_callback: Any = None,
    sampling_callback: Any = None,
    list_roots_callback: Any = None,
    logging_callback: Any = None,
    message_handler: Any = None,
    client_info: Any = None,
) -> Any:
    """Return an ``mcp.ClientSession`` in which several questions can be open, and other traffic goes on.

    Also, a question is closed when nobody waits for its answer any more: the tool call that it belongs to has ended,
    was stopped or has timed out, the server has withdrawn it, or the session is closed. A call that is given up is
    cancelled at the server. A person's time is not the tool's: it does not count towards ``read_timeout_seconds``.

    Args:
        read_stream: As for ``mcp.ClientSession``, like all that follow.
        write_stream: Where the client writes.
        read_timeout_seconds: How long a request may take, without the time in which a question is open.
        elicitation_callback: What `hitl_nb.mcp.elicitation` gives; None says that nobody can answer.
        sampling_callback: Runs a model for the server.
        list_roots_callback: Tells the server which folders there are.
        logging_callback: Gets the server's log.
        message_handler: Gets all other messages.
        client_info: Who the client is.

    Raises:
        MissingExtraError: ``mcp`` is not installed.
    """
    return session_class()(
        read_stream,
        write_stream,
        read_timeout_seconds,
        elicitation_callback=elicitation_callback,
        sampling_callback=sampling_callback,
        list_roots_callback=list_roots_callback,
        logging_callback=logging_callback,
        message_handler=message_handler,
        client_info=client_info,
    )


class Waiting:
    """Which requests of a session are under way, and which questions are open meanwhile."""

    def __init__(self) -> None:
        self._requests: set[object] = set()
        self._questions: dict[Any, set[object]] = {}
        self._clocks: dict[asyncio.Timeout, float] = {}

    @contextmanager
    def request(self) -> Iterator[None]:
        """Count a request; once it is over, the questions end that can belong to no other."""
        request = object()
        self._requests.add(request)
        try:
            yield
        finally:
            self._requests.discard(request)
            for scope, requests in self._questions.items():
                if request in requests:
                    requests.discard(request)
                    if not requests:
                        scope.cancel()

    @contextmanager
    def question(self) -> Iterator[Any]:
        """Count a question. Of which request it is no message says, so it may be of each that is under way."""
        anyio = library("anyio", extra="mcp", what="A client session")
        with anyio.CancelScope() as scope:
            if not self._questions:
                for clock in self._clocks:
                    self._hold(clock)
            self._questions[scope] = set(self._requests)
            try:
                yield scope
            finally:
                del self._questions[scope]
                if not self._questions:
                    for clock, left in self._clocks.items():
                        _set(clock, asyncio.get_running_loop().time() + left)

    @asynccontextmanager
    async def limit(self, seconds: float | None) -> AsyncIterator[None]:
        """Raise TimeoutError after so many seconds, less those in which a question is open."""
        async with asyncio.timeout(seconds) as clock:
            if seconds is not None:
                self._clocks[clock] = seconds
                if self._questions:
                    self._hold(clock)
            try:
                yield
            finally:
                self._clocks.pop(clock, None)

    def _hold(self, clock: asyncio.Timeout) -> None:
        until = clock.when()
        if until is not None:
            self._clocks[clock] = max(0.0, until - asyncio.get_running_loop().time())
            _set(clock, None)


def _set(clock: asyncio.Timeout, until: float | None) -> None:
    if not clock.expired():
        clock.reschedule(until)


@functools.cache
def session_class() -> Any:
    """Return the class of what `ElicitingSession` makes, of the ``mcp`` that is installed.

    Raises:
        MissingExtraError: ``mcp`` is not installed.
    """
    # From where it is defined: `mcp.ClientSession` may be another one for a while (`elicitation_for_crewai`).
    released = library("mcp.client.session", extra="mcp", what="A client session")
    types = library("mcp.types", extra="mcp", what="A client session")

    class Session(released.ClientSession):  # type: ignore[misc, name-defined]
        """Its released form up to 1.x answers one request after the other, in the task that reads."""

        def __init__(
            self, read: Any, write: Any, read_timeout_seconds: timedelta | float | None = None, **others: Any
        ) -> None:
            super().__init__(read, write, **others)
            self.patience = _seconds(read_timeout_seconds)
            self.waiting = Waiting()
            self.server_name = ""
            self.tool_name: str | None = None

        async def initialize(self) -> Any:
            found = await super().initialize()
            about = getattr(found, "serverInfo", None) or getattr(found, "server_info", None)
            self.server_name = str(getattr(about, "name", "") or "").strip()
            return found

        async def call_tool(self, name: str, *others: Any, **more: Any) -> Any:
            self.tool_name = name
            return await super().call_tool(name, *others, **more)

        async def send_request(
            self,
            request: Any,
            result_type: Any,
            request_read_timeout_seconds: timedelta | float | None = None,
            *others: Any,
            **more: Any,
        ) -> Any:
            given = _seconds(request_read_timeout_seconds)
            limit = self.patience if given is None else given
            number = getattr(self, "_request_id", None)
            try:
                with self.waiting.request():
                    async with self.waiting.limit(limit):
                        return await super().send_request(request, result_type, None, *others, **more)
            except TimeoutError as error:
                await self._give_up(request, number)
                raise _too_late(f"Nothing came of {_named(request)} in {limit} seconds.") from error
            except asyncio.CancelledError:
                await self._give_up(request, number)
                raise

        async def _give_up(self, request: Any, number: int | None) -> None:
            """Tell a server of the older era that nobody waits any more; the newer library tells by itself."""
            if number is None or _named(request) == "InitializeRequest":
                return
            anyio = library("anyio", extra="mcp", what="A client session")
            about = types.CancelledNotificationParams(requestId=number, reason="the client waits no longer")
            notice = types.ClientNotification(types.CancelledNotification(params=about))
            with suppress(Exception), anyio.move_on_after(1, shield=True):
                await self.send_notification(notice)

        async def _received_request(self, responder: Any) -> None:
            if type(responder.request.root).__name__ != "ElicitRequest":
                await super()._received_request(responder)
                return
            # In the session's own task group: closing it cancels the task, and that closes the card.
            self._task_group.start_soon(self._answered, responder)

        async def _answered(self, responder: Any) -> None:
            try:
                with self.waiting.question():
                    await super()._received_request(responder)
            except asyncio.CancelledError:
                # Taken back by the server: the library lets its own cancellation out, which would end the session.
                if not responder.cancelled:
                    raise

        async def dispatch_input_request(self, context: Any, request: Any) -> Any:
            """Answer a question of the newer library, which answers several at once."""
            if type(request).__name__ != "ElicitRequest":
                return await super().dispatch_input_request(context, request)
            with self.waiting.question():
                return await super().dispatch_input_request(context, request)
            return types.ElicitResult(action="cancel")

    return Session


def _seconds(limit: timedelta | float | None) -> float | None:
    return limit.total_seconds() if isinstance(limit, timedelta) else limit


def _named(request: Any) -> str:
    return type(getattr(request, "root", request)).__name__


def _too_late(words: str) -> Exception:
    mcp, types = (library(name, extra="mcp", what="A client session") for name in ("mcp", "mcp.types"))
    older = hasattr(mcp, "McpError")
    error: Exception = mcp.McpError(types.ErrorData(code=408, message=words)) if older else mcp.MCPError(-32001, words)
    return error
