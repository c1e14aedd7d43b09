"""`elicitation`: the callback that answers a server's question with a form in the cell."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

from hitl_nb._calls import Call
from hitl_nb._library import library
from hitl_nb._text import logger
from hitl_nb._waiting import loop_answers
from hitl_nb.errors import Cancelled, Declined, Expired, NoHumanError, ToolDefinitionError, UsageError
from hitl_nb.interrupts import home_loop
from hitl_nb.mcp._asking import asked
from hitl_nb.people import NotebookPerson, Person, people_of

_log = logger()

_INVALID_PARAMS: Final = -32602
_INTERNAL: Final = -32603


Callback: TypeAlias = Callable[..., Coroutine[Any, Any, Any]]
"""What each client library takes, with the arguments of its own."""


class Elicitation:
    """What answers the questions of an MCP server, as each client library calls it. `elicitation` makes it."""

    def __init__(self, server: str, people: Person | list[Person] | None, timeout: float | None) -> None:
        self._server, self._people, self._timeout = server, people, timeout

    async def __call__(self, first: Any, second: Any, *others: Any) -> Any:
        """Answer one question.

        Args:
            first: The context (of ``mcp`` and of LangChain's adapters), or the message (of FastMCP and Pydantic AI).
            second: The parameters, or FastMCP's type of the answer.
            others: LangChain's context; FastMCP's parameters and context.

        Returns:
            An ``ElicitResult``, or an ``ErrorData`` where nobody could be asked or what was asked for is not allowed.

        Raises:
            UsageError: Likewise, for FastMCP, which takes an ``ErrorData`` for an answer.
        """
        if not isinstance(first, str):
            named = others[0] if others else None
            server = getattr(named, "server_name", None) or self._server
            return await self._answer(second, server, getattr(named, "tool_name", None) or "")
        reply = await self._answer(others[0], self._server, "")
        if hasattr(reply, "code"):
            raise UsageError(reply.message)
        return reply

    async def required(self, params: Any, *, tool: str, opened: Callable[[Call], None], server: str = "") -> Any:
        """Ask whether what a server wants first is done at an address (error -32042).

        Args:
            params: What it says, and the address.
            tool: The tool that waits for it.
            opened: Gets the question.
            server: What the server is called; default: as the questions of its own.

        Returns:
            As for a question of its own.
        """
        return await self._answer(params, server or self._server, tool, opened)

    def __repr__(self) -> str:
        return f"elicitation({self._server!r})"

    async def _answer(self, params: Any, server: str, tool: str, opened: Callable[[Call], None] | None = None) -> Any:
        types = library("mcp.types", extra="mcp", what="Answering a server's questions")
        ask = partial(asked, server, params, tool=tool, people=self._people, timeout=self._timeout, opened=opened)
        try:
            content = await _at_home(ask)
        except ToolDefinitionError as error:
            return types.ErrorData(code=_INVALID_PARAMS, message=str(error))
        except Declined:
            return types.ElicitResult(action="decline")
        except (Cancelled, Expired):
            return types.ElicitResult(action="cancel")
        except NoHumanError as error:
            return types.ErrorData(code=_INTERNAL, message=str(error))
        except Exception:
            # Raised further, it would reach the server as "Invalid request parameters" (python-sdk#2673).
            _log.exception("The question of `%s` failed and is cancelled", server)
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content=content)


def elicitation(
    server: str, *, people: Person | list[Person] | None = None, timeout: float | None = None
) -> Callback | None:
    """Return what answers the questions of an MCP server: a form in the cell, or whoever else is asked.

    It is what ``mcp.ClientSession(elicitation_callback=...)`` and ``mcp.Client`` take, FastMCP's and Pydantic AI's
    ``elicitation_handler=``, and ``Callbacks(on_elicitation=...)`` of LangChain's adapters. CrewAI takes none:
    `elicitation_for_crewai`.

    Accept, decline and cancel are the protocol's: Confirm sends what was entered, a *no* declines, a question that was
    cancelled or has expired is cancelled. Nobody there is an error, and never a *no*. An address that the server wants
    opened is a link, and never opened by itself.

    Args:
        server: What the server is called; stands in the headline.
        people: Who is asked; default: the people of the run, else whoever sits at the notebook.
        timeout: Seconds until a question expires; None waits as long as it takes.

    Returns:
        The callback; None where nobody could answer, so that the session does not say that somebody can.

    Raises:
        MissingExtraError: ``mcp`` is not installed.
        UsageError: `server` is no name.
    """
    library("mcp.types", extra="mcp", what="Answering a server's questions")
    if not isinstance(server, str) or not server.strip():
        raise UsageError(f'`elicitation({server!r})` needs the name of the server. Write `elicitation("weather")`.')
    chosen = people_of(people)
    if all(isinstance(person, NotebookPerson) and not person.can_be_asked for person in chosen):
        return None
    return Elicitation(server.strip(), people, timeout)


async def _at_home(ask: Callable[[], Awaitable[Any]]) -> Any:
    """Ask in the loop that brings the answer: a client may run in a loop of its own (CrewAI's does)."""
    try:
        home = home_loop()
    except UsageError:  # no kernel: people that need none
        return await ask()
    if home is asyncio.get_running_loop():
        return await ask()
    if not await asyncio.to_thread(loop_answers, home):
        raise NoHumanError(
            "The kernel's loop is blocked, so nobody can answer. A sync `crew.kickoff()` in a cell does this; write "
            "`await crew.kickoff_async()`."
        )

    async def asked() -> Any:
        return await ask()

    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asked(), home))
