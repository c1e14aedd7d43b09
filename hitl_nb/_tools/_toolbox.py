"""What one session does with what its agent calls: the tools, by name, and how its checkpoints are handled."""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from ag_ui.core import Interrupt, Tool

from hitl_nb._calls import Call
from hitl_nb._schema import Validator
from hitl_nb._tools._kinds import Renderer, SessionTool
from hitl_nb.errors import ToolDefinitionError

_log = logging.getLogger("hitl_nb")

UNNAMED_TOOL = "call_without_a_name"
"""Stands for the name that a provider never sent. No tool is called so, not even the wildcard answers it, and the model
is told that; an empty name in the history would be refused by every provider from then on."""


@dataclass(frozen=True, kw_only=True)
class InterruptHandler:
    """What `on_interrupt` made; one of the ``interrupts`` of a session."""

    render: Renderer | None
    """A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget; None draws the default card."""

    handler: Callable[[Call], Awaitable[object]] | None
    """A person that is asked before the session's own people: an async callable that gets the `Call`."""

    enabled: Callable[[Interrupt], object] | None
    """Whether this is about an interrupt; None: about all."""

    def takes(self, interrupt: Interrupt) -> bool:
        """Whether this is about `interrupt`; an `enabled` that raises takes nothing (the default card does)."""
        if self.enabled is None:
            return True
        try:
            return self.enabled(interrupt) is True
        except Exception:
            _log.exception("`enabled` of `on_interrupt` failed on interrupt `%s`", interrupt.id)
            return False


def on_interrupt(
    *,
    render: Renderer | None = None,
    handler: Callable[[Call], Awaitable[object]] | None = None,
    enabled: Callable[[Interrupt], object] | None = None,
) -> InterruptHandler:
    """Say how the checkpoints of an agent are drawn and handled.

    It is ``Session(agent, interrupts=[on_interrupt(render=Approval)])``. Without it every interrupt gets a card of its
    own all the same; a thread is never blocked by one that nobody draws (the web's is).

    Args:
        render: A card of `hitl_nb.cards`, or a function from the `Call` to any ipywidget. ``call.id`` is the
            interrupt's id, ``call.name`` its reason, ``call.args`` its metadata.
        handler: An async callable that gets the `Call` before the session's people: it may answer
            (``call.respond(value)``), refuse (``call.cancel()``), or return to let them.
        enabled: Gets the AG-UI ``Interrupt`` and gives True for those that this is about.

    Raises:
        ToolDefinitionError: Something of this cannot be called.
    """
    for name, value in (("render", render), ("handler", handler), ("enabled", enabled)):
        if value is not None and not callable(value):
            raise ToolDefinitionError(
                f"`{name}` of `on_interrupt` is `{value!r}`, which cannot be called. "
                "Write `on_interrupt(render=Approval)` or `on_interrupt(handler=my_async_function)`."
            )
    return InterruptHandler(render=render, handler=handler, enabled=enabled)


class ToolBox:
    """The tools of one session, by name.

    Args:
        tools: What `human_in_the_loop`, `frontend_tool` and `gate` made, or one of them.
        interrupts: What `on_interrupt` made, or one of them.
        agent_id: The session's own id: tools made for another one are left out.

    Raises:
        ToolDefinitionError: Something that is neither, or in the other's place, or one name for two tools.
    """

    def __init__(
        self,
        tools: SessionTool | Iterable[SessionTool],
        interrupts: InterruptHandler | Iterable[InterruptHandler] = (),
        agent_id: str | None = None,
    ) -> None:
        self._tools: dict[str, SessionTool] = {}
        for tool in [tools] if isinstance(tools, SessionTool | InterruptHandler) else tools:
            self._add(tool, agent_id)
        self._handlers = [interrupts] if isinstance(interrupts, InterruptHandler | SessionTool) else list(interrupts)
        for handler in self._handlers:
            if not isinstance(handler, InterruptHandler):
                raise ToolDefinitionError(
                    f"`interrupts` holds `{handler!r}`, which `on_interrupt` has not made. "
                    "Write `Session(MyFlow, interrupts=[on_interrupt(render=Approval)])`."
                )

    def _add(self, tool: object, agent_id: str | None) -> None:
        if isinstance(tool, InterruptHandler):
            raise ToolDefinitionError(
                "What `on_interrupt` makes is no tool: it is about what the agent asks by itself. "
                "Write `Session(MyFlow, interrupts=[on_interrupt(...)])`."
            )
        if not isinstance(tool, SessionTool):
            name = getattr(tool, "__name__", repr(tool))
            raise ToolDefinitionError(
                f"`{name}` is not a tool yet. Write `@human_in_the_loop` above `def {name}(...)`, "
                f"then `Session(MyFlow, tools=[{name}])`."
            )
        if tool.agent_id not in (None, agent_id):
            return
        if tool.name in self._tools:
            raise ToolDefinitionError(
                f"Two tools are called `{tool.name}`: an approval of one could be taken for the other. "
                f'Write `@human_in_the_loop(name="{tool.name}_2")` on one of them.'
            )
        self._tools[tool.name] = tool

    def get(self, name: str) -> SessionTool | None:
        """Return the tool for a call by this name: its own, else the wildcard's, else None."""
        wildcard = None if name == UNNAMED_TOOL else self._tools.get("*")
        return self._tools.get(name) or wildcard

    def handler_of(self, interrupt: Interrupt) -> InterruptHandler | None:
        """Return the first `on_interrupt` that is about this interrupt, or None."""
        return next((handler for handler in self._handlers if handler.takes(interrupt)), None)

    @property
    def names(self) -> list[str]:
        """The names the model is told."""
        return [tool.name for tool in self._tools.values() if tool.available and tool.name != "*"]

    def parameters(self) -> dict[str, Validator]:
        """Return what checks the arguments, by tool name."""
        return {tool.name: tool.parameters for tool in self._tools.values()}

    def advertised(self) -> list[Tool]:
        """Return the tools as they are offered to the model."""
        return [self._tools[name].advertised() for name in self.names]
