"""`gate_mcp`: a person before a server's tools. What a server says of its own tools never opens the gate."""

import json
from collections.abc import Callable
from typing import Any

from hitl_nb._calls import Handle
from hitl_nb._schema import JsonSchemaValidator
from hitl_nb.errors import ToolDefinitionError, UsageError
from hitl_nb.interrupts import Options, decided, question
from hitl_nb.people import Person


def gate_mcp(
    session: Any,
    *,
    server: str = "the server",
    when: Callable[[str, dict[str, Any]], object] | None = None,
    people: Person | list[Person] | None = None,
    timeout: float | None = None,
) -> Any:
    """Have each tool call of an MCP client session approved first; it runs once, with what was approved.

    Args:
        session: A connected client: anything with ``call_tool(name, arguments)`` and ``list_tools()``.
        server: What the server is called, for the question.
        when: Gets the tool's name and the arguments and says whether a person is needed; what raises, or gives anything
            but False, asks. Default: always. The server's hints (``readOnlyHint``) are its own word and are not asked.
        people: Who is asked; default: the people of the run, else whoever sits at the notebook.
        timeout: Seconds until the question expires.

    Returns:
        `session` itself, whose ``call_tool`` asks from now on and raises `Declined`, `Cancelled`, `Expired` or
        `NoHumanError` where nobody approved; the tool has not run then.

    Raises:
        UsageError: `session` is no client, or has such a gate already.
    """
    call_tool = getattr(session, "call_tool", None)
    if not callable(call_tool) or not callable(getattr(session, "list_tools", None)):
        raise UsageError(f"`gate_mcp` got `{session!r}`, which has no tools. Write `gate_mcp(client_session)`.")
    if hasattr(call_tool, "ungated"):
        raise UsageError("`gate_mcp` stands before this session already. Write it once.")
    schemas: dict[str, Any] = {}

    async def gated(name: str, arguments: dict[str, Any] | None = None, *args: Any, **options: Any) -> Any:
        given = dict(arguments or {})
        if not _is_needed(when, name, given):
            return await call_tool(name, given, *args, **options)
        if name not in schemas:
            schemas.update({tool.name: tool for tool in (await session.list_tools()).tools})
        tool = schemas.get(name)
        checks = _checks(tool)
        if checks is not None:
            checks.validate(given)
        title = _title(tool)
        how = Options(name=name, title=title, kind="tool", gated=True, people=people, timeout=timeout)
        # The title is the server's word for the tool; what is run is called by its name.
        call = question(f"Run `{name}` of {server}?", how, answer_type=checks, offer=given)
        await decided(call, given, how)
        handle = Handle.of(call)
        approved = await handle.grant.begin()
        ended = "Error: it was stopped while it ran."
        try:
            result = await call_tool(name, approved, *args, **options)
            ended = _in_words(result)
        except Exception as error:
            ended = f"Error: {error}"
            raise
        finally:
            handle.grant.end(ended)
        return result

    gated.ungated = call_tool  # type: ignore[attr-defined]
    session.call_tool = gated
    return session


def _is_needed(when: Callable[[str, dict[str, Any]], object] | None, name: str, given: dict[str, Any]) -> bool:
    if when is None:
        return True
    try:
        return when(name, given) is not False
    except Exception:
        return True  # a rule that cannot tell has not allowed it


def _title(tool: Any) -> str:
    annotated = getattr(getattr(tool, "annotations", None), "title", None)
    return str(getattr(tool, "title", None) or annotated or "").strip()


def _checks(tool: Any) -> JsonSchemaValidator | None:
    schema = getattr(tool, "inputSchema", None) or getattr(tool, "input_schema", None)
    try:
        return None if schema is None else JsonSchemaValidator(schema)
    except ToolDefinitionError:
        return None


def _in_words(result: Any) -> str:
    texts = [text for part in getattr(result, "content", ()) if isinstance(text := getattr(part, "text", None), str)]
    return "\n".join(texts) if texts else json.dumps(str(type(result).__name__))
