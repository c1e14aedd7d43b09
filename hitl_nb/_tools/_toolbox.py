"""What one session does with what its agent calls: the tools, by name, and how its checkpoints are handled."""

from collections.abc import Iterable

from ag_ui.core import Interrupt, Tool

from hitl_nb._schema import Validator
from hitl_nb._tools._kinds import SessionTool
from hitl_nb._tools._on_interrupt import InterruptHandler
from hitl_nb.errors import ToolDefinitionError

UNNAMED_TOOL = "call_without_a_name"
"""Stands for the name that a provider never sent. No tool is called so, not even the wildcard answers it, and the model
is told that; an empty name in the history would be refused by every provider from then on."""


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
