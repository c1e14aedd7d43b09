"""A client session that goes on while a person thinks: the released one reads nothing else meanwhile.

Who waits for whom is kept beside it: a question is open as long as a request is under way that it can belong to, and
the time of a request stands still while a question is open.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import timedelta
from typing import Any, Final, Protocol

from hitl_nb._calls import Call, Handle
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

    A server that wants something done at an address first (error -32042) gets its request again once a person has said
    that it is done, or the server itself; whoever says no leaves the error as it is.

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


# -- what a server wants done first ---------------------------------------------------------------------------------
#
# Error -32042: it cannot go on before something is done at an address, and has not asked but said so. The protocol
# leaves to the client what comes then. Here a person is shown each address and says when it is done; the request is
# sent again after that. A server may tell by itself that it is done (``notifications/elicitation/complete``): then
# nobody has to say so, and its card is closed. What was asked for has not run before, so nothing runs twice.

_REQUIRED: Final = -32042

_ROUNDS: Final = 10
"""How often one request is answered so: a server that is never content is not to keep a person for ever."""


class AsksForSteps(Protocol):
    """What a callback has that can do this; `hitl_nb.mcp.elicitation` gives one."""

    def __call__(self, params: Any, *, tool: str, opened: Callable[[Call], None]) -> Awaitable[Any]:
        """Ask whether it is done; `opened` gets the question."""


class Required:
    """What a session's server wants done first, and what of it is done.

    Args:
        ask: Asks a person; None where the session's callback cannot.
    """

    def __init__(self, ask: AsksForSteps | None) -> None:
        self._ask = ask
        self._waiting: list[dict[str, _Errand]] = []

    async def done_for(self, error: Exception, tool: str) -> bool:
        """Have done what an error names.

        Args:
            error: What a request came to.
            tool: The tool that was called, for the headline.

        Returns:
            Whether the request can be sent again; False for any other error, and where somebody has said no.

        Raises:
            McpError: Nobody could be asked; of ``mcp``.
        """
        steps = _errands_of(error)
        if self._ask is None or not steps:
            return False
        self._waiting.append(steps)
        try:
            for step in steps.values():
                if not await self._is_done(self._ask, step, tool):
                    return False
        finally:
            self._waiting.remove(steps)
        return True

    async def _is_done(self, ask: AsksForSteps, step: "_Errand", tool: str) -> bool:
        if step.done:
            return True
        reply = await ask(step, tool=tool, opened=step.opened)
        if step.done:
            return True
        if hasattr(reply, "code"):
            raise an_error(reply.code, reply.message)
        return bool(reply.action == "accept")

    def complete(self, message: Any) -> None:
        """Take a message of the server; one that says what is done, of something that is asked for, closes its card."""
        notice = getattr(message, "root", message)
        if type(notice).__name__ != "ElicitCompleteNotification":
            return
        about = notice.params
        number = getattr(about, "elicitationId", None) or getattr(about, "elicitation_id", None)
        for steps in self._waiting:
            if number in steps:  # the protocol: any other is ignored
                steps[number].complete()


def an_error(code: int, words: str) -> Exception:
    """Return the error that a request comes to, of the ``mcp`` that is installed."""
    mcp, types = (library(name, extra="mcp", what="A client session") for name in ("mcp", "mcp.types"))
    older = hasattr(mcp, "McpError")
    error: Exception = mcp.McpError(types.ErrorData(code=code, message=words)) if older else mcp.MCPError(code, words)
    return error


class _Errand:
    """An address that a server wants opened, as in a question of its own."""

    mode: Final = "url"

    def __init__(self, step: Mapping[str, object]) -> None:
        self.message, self.url = str(step["message"]), str(step["url"])
        self.done = False
        self._call: Call | None = None

    def opened(self, call: Call) -> None:
        self._call = call

    def complete(self) -> None:
        self.done = True
        if self._call is not None:
            Handle.of(self._call).close("superseded", "the server says that this is done")


def _errands_of(error: Exception) -> dict[str, _Errand]:
    """Return what an error lists; nothing where it is another error, or lists what the protocol does not allow."""
    found = getattr(error, "error", None)
    if getattr(found, "code", None) != _REQUIRED:
        return {}
    try:
        return {str(step["elicitationId"]): _Errand(step) for step in found.data["elicitations"]}  # type: ignore[union-attr]
    except (LookupError, TypeError):
        return {}


# -- the session itself ---------------------------------------------------------------------------------------------


@functools.cache
def session_class() -> Any:
    """Return the class of what `ElicitingSession` makes, of the ``mcp`` that is installed.

    Raises:
        MissingExtraError: ``mcp`` is not installed.
    """
    # From where it is defined: `mcp.ClientSession` may be another one for a while (`elicitation_for_crewai`).
    released = library("mcp.client.session", extra="mcp", what="A client session")
    mcp, types = (library(name, extra="mcp", what="A client session") for name in ("mcp", "mcp.types"))
    errors: type[Exception] = mcp.McpError if hasattr(mcp, "McpError") else mcp.MCPError

    class Session(released.ClientSession):  # type: ignore[misc, name-defined]
        """Its released form up to 1.x answers one request after the other, in the task that reads."""

        def __init__(
            self, read: Any, write: Any, read_timeout_seconds: timedelta | float | None = None, **others: Any
        ) -> None:
            super().__init__(read, write, **others)
            self.patience = _seconds(read_timeout_seconds)
            self.waiting = Waiting()
            self.required = Required(getattr(others.get("elicitation_callback"), "required", None))
            self._heard: Any = self._message_handler  # type: ignore[has-type]  # of the library, which is looked up
            self._message_handler = self._hear
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
            for _ in range(_ROUNDS):
                try:
                    return await self._sent(request, result_type, request_read_timeout_seconds, *others, **more)
                except errors as error:
                    about = getattr(getattr(request, "root", request), "params", None)
                    if not await self.required.done_for(error, str(getattr(about, "name", "") or "")):
                        raise
            return await self._sent(request, result_type, request_read_timeout_seconds, *others, **more)

        async def _hear(self, message: Any) -> None:
            self.required.complete(message)
            await self._heard(message)

        async def _sent(
            self,
            request: Any,
            result_type: Any,
            request_read_timeout_seconds: timedelta | float | None,
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
                words = f"Nothing came of {_named(request)} in {limit} seconds."
                raise an_error(408 if hasattr(mcp, "McpError") else -32001, words) from error
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
