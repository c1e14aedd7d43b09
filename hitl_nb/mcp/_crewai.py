"""`elicitation_for_crewai`: CrewAI's MCP clients take no callback, so what they make their sessions of is replaced.

CrewAI also calls a tool again that has not ended in 30 seconds, up to three times, whoever is thinking: a tool that
acts before it asks would act three times. In the sessions that are made here a person's time does not count.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple

from hitl_nb._library import library
from hitl_nb.mcp._elicitation import Elicitation, elicitation
from hitl_nb.mcp._session import session_class
from hitl_nb.people import Person

_patience: ContextVar[float | None] = ContextVar("hitl_nb_patience", default=None)


class _Named(NamedTuple):
    """Who asks, as the callbacks of other clients are told."""

    server_name: str
    tool_name: str | None


@contextmanager
def elicitation_for_crewai(
    *, people: Person | list[Person] | None = None, timeout: float | None = None
) -> Iterator[None]:
    """Answer what the MCP servers of CrewAI's agents ask (``mcps=``, ``MCPServerAdapter``), while the block lasts.

    ::

        with elicitation_for_crewai():
            await crew.kickoff_async()

    CrewAI has no door for this, so the block puts our session in the place of ``mcp.ClientSession`` and takes the time
    in which a question is open out of CrewAI's limit for a tool call. Everything is as before when the block ends. A
    server is called in the headline as it calls itself.

    Args:
        people: As for `elicitation`.
        timeout: As for `elicitation`.

    Raises:
        MissingExtraError: ``crewai`` or ``mcp`` is not installed.
    """
    what = "Answering the servers of CrewAI's agents"
    mcp = library("mcp", extra="mcp", what=what)
    client = library("crewai.mcp.client", extra="crewai", what=what).MCPClient
    wrapper = library("crewai.tools.mcp_tool_wrapper", extra="crewai", what=what)
    made = partial(_session, mcp.ClientSession, people, timeout)
    with ExitStack() as undone:
        _put(undone, mcp, "ClientSession", made)
        if adapter := sys.modules.get("mcpadapt.core"):  # it has taken the name before
            _put(undone, adapter, "ClientSession", made)
        _put(undone, client, "connect", _connecting(client.connect))
        limit = wrapper.MCP_TOOL_EXECUTION_TIMEOUT
        _put(undone, wrapper, "MCP_TOOL_EXECUTION_TIMEOUT", None)
        _put(undone, wrapper.MCPToolWrapper, "_execute_tool_with_timeout", _executing(limit))
        yield


def _put(undone: ExitStack, owner: Any, name: str, value: Any) -> None:
    undone.callback(setattr, owner, name, getattr(owner, name))
    setattr(owner, name, value)


def _session(released: Any, people: Any, timeout: float | None, *streams: Any, **options: Any) -> Any:
    """Make a session that asks, where somebody can answer and the client has no callback of its own."""
    # Its name is not known before it has said so.
    answers = elicitation("the server", people=people, timeout=timeout)
    if answers is None or options.get("elicitation_callback") is not None:
        return released(*streams, **options)

    async def answer(context: Any, params: Any) -> Any:
        return await answers(context, params, _Named(session.server_name or "the server", session.tool_name))

    async def required(params: Any, **options: Any) -> Any:
        assert isinstance(answers, Elicitation)
        return await answers.required(params, server=session.server_name or "the server", **options)

    answer.required = required  # type: ignore[attr-defined]
    session = session_class()(*streams, **{**options, "elicitation_callback": answer})
    if session.patience is None:
        session.patience = _patience.get()
    return session


def _connecting(connect: Any) -> Any:
    async def connecting(client: Any) -> Any:
        connected = await connect(client)
        session = client.session
        if isinstance(session, session_class()) and client.execution_timeout is not None:
            session.patience, client.execution_timeout = client.execution_timeout, None
        return connected

    return connecting


def _executing(limit: float) -> Any:
    async def executing(tool: Any, **arguments: Any) -> Any:
        token = _patience.set(limit)
        try:
            return await tool._execute_tool(**arguments)
        finally:
            _patience.reset(token)

    return executing
