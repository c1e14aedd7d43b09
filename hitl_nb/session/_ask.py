"""From an open tool call to a decided one: validate, ask the people in turn, never guess."""

import asyncio
from collections.abc import Sequence

from ag_ui.core import ToolCall, ToolMessage

from hitl_nb._calls import Call
from hitl_nb._tools import ToolBox
from hitl_nb.errors import InvalidValue, NoHumanError
from hitl_nb.people import Person, nobody_answered


async def ask_all(
    calls: Sequence[tuple[Call, ToolCall]], tools: ToolBox, people: Sequence[Person], *, one_at_a_time: bool
) -> None:
    """Have every call decided: all cards together, or in call order with `one_at_a_time`.

    Raises:
        NoHumanError: Somebody had to be asked and nobody could.
        Exception: A person raised. The calls that are open then stay open: the run closes them as not executed.
    """
    valid = [call for call, tool_call in calls if _open(call, tool_call, tools)]
    if one_at_a_time:
        for call in valid:
            await _ask(call, people)
        return
    tasks = [asyncio.create_task(_ask(call, people), name=f"hitl_nb asks {call.id}") for call in valid]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _open(call: Call, tool_call: ToolCall, tools: ToolBox) -> bool:
    """Validate first: a person never sees a question that does not fit its own schema."""
    tool = tools.get(tool_call.function.name)
    if tool is None:
        known = ", ".join(f"`{name}`" for name in tools.names) or "none"
        call._reject(f"unknown tool `{tool_call.function.name}`; available: {known}")
        return False
    try:
        args = tool.validated(tool_call.function.arguments)
    except InvalidValue as error:
        call._reject(f"invalid arguments: {error}. Call `{tool.name}` again with corrected arguments.")
        return False
    call._open(args)
    return True


async def _ask(call: Call, people: Sequence[Person]) -> None:
    for person in people:
        call._default_via = getattr(person, "via", "callback")
        await person(call)
        if call.decided:
            return
    raise NoHumanError(nobody_answered(call, "every one of `people` passed"))


def result_of(call: Call) -> ToolMessage:
    """Give the tool message of a decided call."""
    decision = call._decision
    assert decision is not None
    error = decision.reason if decision.outcome == "invalid" else None
    return ToolMessage(id=f"result-{call.id}", tool_call_id=call.id, content=decision.result, error=error)
