"""The inbox as a page, for whoever has no notebook: behind a proxy that logs people in, or for oneself.

The proxy says who somebody is, in one header, and nobody else may be able to reach this server: it listens at
127.0.0.1 or at a socket in the file system. Without a header it is for whoever has started it, who gets an address with
a key in it. What is drawn are the cards of a notebook, by the same modules; messages go up by POST and come down as
server-sent events.
"""

import asyncio
import hmac
import json
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from http import HTTPStatus
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from hitl_nb._frontend import ROOT, stylesheet, without_comments
from hitl_nb._process import user_name
from hitl_nb.cards import script, style
from hitl_nb.errors import UsageError
from hitl_nb.inbox._desk import LONGEST_NAME, Desk
from hitl_nb.inbox._live import Feed
from hitl_nb.journal import Filter, Journal

_PING: Final = 15.0
"""Seconds after which a proxy is told that the connection is alive."""

_GRACE: Final = 60.0
"""Seconds for which a page may be away without losing its desk."""

_DESKS: Final = 20
"""Pages of one person at a time."""

_LARGEST: Final = 10_000_000
"""Bytes of a message."""

_COOKIE: Final = "hitl_nb_inbox"

_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self' blob:; style-src 'self'; img-src data: blob:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Nothing from elsewhere, in nobody's frame: a click here is an approval."""

_PAGE: Final = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Inbox</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="style.css" />
    <script type="module" src="inbox.js"></script>
  </head>
  <body>
    <noscript>The inbox needs JavaScript.</noscript>
  </body>
</html>
"""


class _Refused(Exception):  # noqa: N818 - what is the case; never leaves this room
    """A request that is not answered, and why."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class Page:
    """The server: who is there, what they are shown, what they say.

    Args:
        journal: Where the questions are.
        header: The header in which the proxy says who somebody is; None: the page is for whoever has started it.
    """

    def __init__(self, journal: Journal, *, header: str | None = None) -> None:
        self.key = secrets.token_urlsafe(24)
        """What lets in whoever has started it, where there is no header."""
        self._header = header
        self._feed = Feed(journal)
        self._desks: dict[tuple[str, str], Desk] = {}
        self._opening = asyncio.Lock()
        self.app = Starlette(
            routes=[
                Route("/", self._answered(self._index)),
                Route("/events", self._answered(self._events)),
                Route("/send", self._answered(self._send), methods=["POST"]),
                Route("/{name}", self._answered(self._file)),
            ],
            lifespan=self._running,
        )

    @asynccontextmanager
    async def _running(self, _app: Starlette) -> AsyncIterator[None]:
        # The first card must not wait for what is read once.
        await asyncio.to_thread(script)
        tasks = [asyncio.create_task(self._feed.run()), asyncio.create_task(self._sweep())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for desk in self._desks.values():
                desk.close()

    async def _sweep(self) -> None:
        """Close the desks whose page is gone."""
        away: set[tuple[str, str]] = set()
        while True:
            await asyncio.sleep(_GRACE)
            gone = {key for key, desk in self._desks.items() if not desk.is_seen}
            for key in gone & away:
                self._desks.pop(key).close()
            away = gone

    @staticmethod
    def _answered(handle: Callable[[Request], Any]) -> Callable[[Request], Any]:
        async def answered(request: Request) -> Response:
            try:
                response: Response = await handle(request)
            except _Refused as refused:
                response = PlainTextResponse(f"{refused}\n", refused.status)
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
            return response

        return answered

    # -- who is there -------------------------------------------------------------------------------------

    def _user(self, request: Request) -> str:
        if self._header is None:
            if not hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self.key.encode()):
                words = "Open the address that `hitl-nb inbox serve` has printed: the key is in it."
                raise _Refused(HTTPStatus.UNAUTHORIZED, words)
            return user_name(None)
        found = request.headers.getlist(self._header)
        name = found[0].strip() if len(found) == 1 else ""
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            words = f"Nobody is logged in: the proxy in front of this page has to set `{self._header}`, once."
            raise _Refused(HTTPStatus.UNAUTHORIZED, words)
        return name

    @staticmethod
    def _check_origin(request: Request) -> None:
        """Take messages from our own page only; a browser says whose page it is."""
        site = request.headers.get("sec-fetch-site")
        if site is None:  # it says so only where it is safe: by https, or on this machine
            origin = request.headers.get("origin", "").split("://", 1)[-1]
            hosts = (request.headers.get("host"), request.headers.get("x-forwarded-host"))
            site = "same-origin" if origin and origin in hosts else "none"
        if site != "same-origin" or request.headers.get("content-type") != "application/json":
            raise _Refused(HTTPStatus.FORBIDDEN, "Only the inbox's own page may send this.")

    # -- what is there ------------------------------------------------------------------------------------

    async def _index(self, request: Request) -> Response:
        key = request.query_params.get("key")
        if self._header is None and key is not None and hmac.compare_digest(key.encode(), self.key.encode()):
            response: Response = RedirectResponse(".", HTTPStatus.SEE_OTHER)
            response.set_cookie(_COOKIE, self.key, httponly=True, samesite="strict")
            return response
        self._user(request)
        return Response(_PAGE, media_type="text/html; charset=utf-8")

    async def _file(self, request: Request) -> Response:
        self._user(request)
        name = request.path_params["name"]
        if name not in _FILES:
            raise _Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        kind = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(_FILES[name](), media_type=f"{kind}; charset=utf-8")

    async def _events(self, request: Request) -> Response:
        desk = await self._desk(self._user(request), request)

        async def events() -> AsyncIterator[str]:
            with desk.reading() as page:
                event: str | None = ": \n\n"
                while event is not None:
                    yield event
                    event = ": \n\n"
                    with suppress(TimeoutError):
                        event = await asyncio.wait_for(page.get(), _PING)

        # Without the last header nginx would keep them until there are 4 kB.
        return StreamingResponse(events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def _send(self, request: Request) -> Response:
        self._check_origin(request)
        desk = self._desks.get((self._user(request), _page_name(request)))
        body = await _body(request)
        if desk is None:
            raise _Refused(HTTPStatus.NOT_FOUND, "This page is not connected yet.")
        desk.receive(body)
        return Response(status_code=HTTPStatus.NO_CONTENT)

    async def _desk(self, user: str, request: Request) -> Desk:
        key = (user, _page_name(request))
        which = _filter(request)
        async with self._opening:
            if key not in self._desks:
                of_user = [each for each in self._desks if each[0] == user]
                for each in of_user[: len(of_user) + 1 - _DESKS]:
                    self._desks.pop(each).close()
                # Of two people whose pages have the same name each has calls of their own.
                desk = Desk(self._feed, user, which, sha256(repr(key).encode()).hexdigest()[:32])
                await desk.open()
                self._desks[key] = desk
        return self._desks[key]


def _page_name(request: Request) -> str:
    name = request.query_params.get("page", "")
    if not name.isalnum() or not 16 <= len(name) <= 64:
        raise _Refused(HTTPStatus.BAD_REQUEST, "A page needs a name.")
    return name


def _filter(request: Request) -> Filter:
    found = {name: request.query_params.get(name) or None for name in ("to", "job", "order")}
    try:
        return Filter(to=found["to"], job=found["job"], order=found["order"] or "oldest")  # type: ignore[arg-type]  # it checks
    except UsageError as error:
        raise _Refused(HTTPStatus.BAD_REQUEST, str(error)) from error


async def _body(request: Request) -> Any:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > _LARGEST:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "This answer is too large.")
        parts.append(part)
    try:
        return json.loads(b"".join(parts))
    except (ValueError, RecursionError):
        raise _Refused(HTTPStatus.BAD_REQUEST, "This is no JSON.") from None


def _module(name: str) -> str:
    return without_comments((ROOT / f"{name}.js").read_text(encoding="utf-8"))


_FILES: Final[dict[str, Callable[[], str]]] = {
    "inbox.js": lambda: _module("inbox"),
    "kit.js": lambda: _module("kit"),
    "run.js": script,
    "style.css": lambda: f"{style()}\n{stylesheet('inbox')}",
}
