"""The same server over streamable HTTP."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount

from tests.serving import serving
from tests.unit.mcp.server import server


@contextmanager
def served() -> Iterator[str]:
    """Serve it over streamable HTTP; gives its address."""
    manager = StreamableHTTPSessionManager(server())

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with manager.run():
            yield

    app = Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)
    with serving(app) as address:
        yield f"{address}/mcp/"
