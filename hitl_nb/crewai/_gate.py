"""A person's approval before an agent's tools run."""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Literal

from hitl_nb.cards import Approval
from hitl_nb.crewai._hooks import Gate, refusals
from hitl_nb.crewai._install import Installation, install
from hitl_nb.crewai._patch import framework
from hitl_nb.crewai._run import ask_blocking
from hitl_nb.errors import NotApproved


def approve_tools(
    tools: Sequence[Any] | None = None,
    *,
    when: Callable[[dict[str, Any]], bool] | None = None,
    people: Any = None,
) -> "ToolGate":
    """Have a person approve every call of these tools, with exactly these arguments, before it runs.

    Args:
        tools: The tools, or their names; None: all tools of all agents.
        when: Gets the arguments and says whether to ask. If it raises, the person is asked.
        people: Who is asked; default: as in `install`.

    Returns:
        The gate; ``with approve_tools(...):`` or ``gate.remove()`` takes it away. While it stands, all of `install` is
        in place.

    Anything but an approval blocks the tool, and the model is told so, with the reason. If nobody can be asked at
    all, the crew ends with `NoHumanError`.
    """
    return ToolGate(tools, when=when, people=people)


class ToolGate(Gate):
    """What `approve_tools` gives: a hook before each tool call."""

    def __init__(self, tools: Sequence[Any] | None, *, when: Any, people: Any) -> None:
        sanitize = framework("crewai.utilities.string_utils").sanitize_tool_name
        self._names = None if tools is None else {sanitize(getattr(tool, "name", tool)) for tool in tools}
        self._when = when
        self._installation: Installation | None = install(people=people)
        framework("crewai.hooks").register_before_tool_call_hook(self)

    def __call__(self, context: Any) -> bool | None:
        """Ask, in the tool's own worker thread; what this raises blocks the tool (`closed_hooks`)."""
        if not self._asks_about(context):
            return None
        try:
            ask_blocking(
                f"May `{context.tool_name}` run with these arguments?",
                copy.deepcopy(context.tool_input),
                answer=Literal[True],
                render=Approval,
                reason=context.tool_name,
                kind="tool",
            )
        except NotApproved as error:
            outcome = getattr(error.call, "outcome", None) or "cancelled"
            refusals.note(context, outcome, getattr(error.call, "reason", None))
            return False
        return None

    def _asks_about(self, context: Any) -> bool:
        if self._names is not None and context.tool_name not in self._names:
            return False
        try:
            wanted = True if self._when is None else self._when(copy.deepcopy(context.tool_input))
        except Exception:
            return True
        if inspect.iscoroutine(wanted):
            wanted.close()
            return True
        return bool(wanted)

    def remove(self) -> None:
        """Let the tools run unasked again. Idempotent."""
        if self._installation is not None:
            framework("crewai.hooks").unregister_before_tool_call_hook(self)
            self._installation.uninstall()
            self._installation = None

    def __enter__(self) -> "ToolGate":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<ToolGate: {'all tools' if self._names is None else ', '.join(sorted(self._names))}>"
