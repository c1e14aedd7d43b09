"""Serving the page: where it listens, and for whom."""

import os
import socket
import sys
from contextlib import closing
from typing import Final

from hitl_nb._library import library
from hitl_nb._secrets import is_address_of_something, shown_address
from hitl_nb.errors import UsageError
from hitl_nb.journal import Journal

_HERE: Final = ("127.0.0.1", "localhost", "::1")


def serve(journal: Journal, *, bind: str = "127.0.0.1:8765", header: str | None = None) -> None:
    """Serve the inbox as a page, until this is stopped, and print where; what ``hitl-nb inbox serve`` does.

    Args:
        journal: Where the questions are.
        bind: ``host:port``, or ``unix:/path`` for a socket that its owner's group may reach.
        header: The header in which the proxy in front of it says who somebody is (``X-Forwarded-User``); a request
            without it is refused. None: the page is for whoever starts it, and the address has a key in it.

    Raises:
        UsageError: It would be there for everybody on the network, and nobody says who they are; or cannot listen.
        MissingExtraError: starlette or uvicorn is not installed.
    """
    library("starlette", extra="inbox", what="The inbox as a page")
    uvicorn = library("uvicorn", extra="inbox", what="The inbox as a page")
    with closing(_listening(bind, header)) as listener:
        from hitl_nb.inbox._page import Page

        page = Page(journal, header=header)
        address = _address(bind, listener, None if header else page.key)
        sys.stdout.write(f"The inbox of {journal.where}: {address}\n")
        sys.stdout.flush()
        # Who somebody is, and where this page is, the proxy does not get to say by other headers.
        uvicorn.Server(
            uvicorn.Config(
                page.app, log_level="warning", proxy_headers=False, server_header=False, timeout_graceful_shutdown=3
            )
        ).run(sockets=[listener])


def _listening(bind: str, header: str | None) -> socket.socket:
    path = bind.removeprefix("unix:")
    host, _, port = bind.rpartition(":")
    host = host.strip("[]")
    if path == bind and (not host or not port.isdigit()):
        shown = shown_address(bind) if is_address_of_something(bind) else bind
        raise UsageError(
            f'`bind={shown!r}` is no place to listen at. Write `bind="127.0.0.1:8765"`, or `"unix:/path"`.'
        )
    if path == bind and header is None and host not in _HERE:
        raise UsageError(
            f"`bind={bind!r}` is there for everybody on the network, and nobody says who they are. Put a proxy that "
            'logs people in before it, and write `header="X-Forwarded-User"` (`--header`).'
        )
    try:
        return _socket(path) if path != bind else _port(host, int(port))
    except OSError as error:
        raise UsageError(f'The inbox cannot listen at `{bind}`: {error}. Write another `bind="host:port"`.') from error


def _socket(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    before = os.umask(0o117)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    listener.listen()
    return listener


def _port(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family)


def _address(bind: str, listener: socket.socket, key: str | None) -> str:
    if bind.startswith("unix:"):
        return bind
    host, port = listener.getsockname()[:2]
    query = f"?key={key}" if key else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{query}"
