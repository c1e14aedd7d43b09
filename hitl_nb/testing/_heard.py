"""What a model said, put together from what litellm streamed: the same words and calls that an agent makes of it."""

from typing import Any

from ag_ui.core import Event, ToolCallArgsEvent, ToolCallStartEvent
from pydantic_core import to_json

from hitl_nb.agents import CallAssembler, Fragment
from hitl_nb.testing._turns import Calls, Part, Says


class Heard:
    """One reply, while it streams.

    Args:
        tools: The names that the model was told.
    """

    def __init__(self, tools: list[str]) -> None:
        self._calls = CallAssembler("", (), tools)
        self._order: list[Says | str] = []
        """Texts, and the ids of calls."""
        self._made: dict[str, Calls] = {}
        self._reason: str | None = None
        self._finished = False

    def hear(self, chunk: Any) -> None:
        """Take one chunk of a stream."""
        if not chunk.choices:
            return
        choice = chunk.choices[0]
        self._hear(choice.delta)
        self._reason = choice.finish_reason or self._reason

    def hear_all(self, response: Any) -> None:
        """Take a reply that is not streamed."""
        choice = response.choices[0]
        self._hear(choice.message)
        self._reason = choice.finish_reason

    def _hear(self, delta: Any) -> None:
        if delta.content:
            self._say(delta.content)
        for piece in delta.tool_calls or ():
            function = getattr(piece, "function", None)
            if function is not None:
                fragment = Fragment(
                    index=getattr(piece, "index", None),
                    id=piece.id or "",
                    name=function.name or "",
                    arguments=_text(function.arguments),
                )
                self._take(self._calls.feed(fragment))

    def _say(self, text: str) -> None:
        last = self._order[-1] if self._order else None
        if isinstance(last, Says):
            self._order[-1] = Says(text=last.text + text)
        else:
            self._order.append(Says(text=text))

    def _take(self, events: Any) -> None:
        event: Event
        for event in events:
            if isinstance(event, ToolCallStartEvent):
                self._order.append(event.tool_call_id)
                self._made[event.tool_call_id] = Calls(name=event.tool_call_name, arguments="", id=event.tool_call_id)
            elif isinstance(event, ToolCallArgsEvent):
                call = self._made[event.tool_call_id]
                self._made[call.id or ""] = Calls(name=call.name, arguments=call.arguments + event.delta, id=call.id)

    def parts(self) -> list[Part]:
        """Give what was heard until now; more cannot be heard after that."""
        if not self._finished:
            self._finished = True
            self._take(self._calls.finish(self._reason))
        return [part if isinstance(part, Says) else self._made[part] for part in self._order]

    @property
    def finish(self) -> str | None:
        """The finish reason, if it is not the usual one."""
        return None if self._reason in (None, "tool_calls", "stop") else self._reason


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else to_json(arguments).decode() if arguments else ""
