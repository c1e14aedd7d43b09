"""A person's approval before an agent's tools run."""

import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal

from hitl_nb._calls import frozen
from hitl_nb.cards import Approval
from hitl_nb.crewai._hooks import Gate, refusals
from hitl_nb.crewai._install import Installation, install
from hitl_nb.crewai._names import Names
from hitl_nb.crewai._once import ToolCall
from hitl_nb.crewai._patch import framework
from hitl_nb.crewai._run import ask_blocking, checks
from hitl_nb.errors import ChangedWhileWaiting, NotApproved, UsageError
from hitl_nb.people import people_of


def approve_tools(
    tools: Iterable[Any] | str | None = None,
    *,
    when: Callable[[dict[str, Any]], bool] | None = None,
    people: Any = None,
) -> "ToolGate":
    """Have a person approve every call of these tools, with exactly these arguments, before it runs.

    Args:
        tools: The tools, or their names, or a single one; None: all tools of all agents. A name that no tool has ends
            the run at its first tool call, and no tool has run then.
        when: Gets the arguments and says whether to ask: only a plain False lets the tool run unasked. If it raises,
            or gives anything else, the person is asked.
        people: Who approves, also inside a session's run and whoever `install` names; default: as in `install`.

    Returns:
        The gate; ``with approve_tools(...):`` or ``gate.remove()`` takes it away. While it stands, all of `install` is
        in place.

    Raises:
        UsageError: These are no tools, or `when` or one of `people` cannot be called.

    Anything but an approval blocks the tool, and the model is told so, with the reason; so does code that changes the
    arguments afterwards. One approval is for one run. If nobody can be asked at all, the crew ends with
    `NoHumanError`.
    """
    return ToolGate(tools, when=when, people=people)


class ToolGate(Gate):
    """What `approve_tools` gives: a hook before each tool call."""

    def __init__(self, tools: Any, *, when: Any, people: Any) -> None:
        if when is not None and not callable(when):
            raise UsageError(
                f"`when` of `approve_tools` is `{when!r}`, not a function. "
                'Write `approve_tools(..., when=lambda args: args["amount"] > 100)`.'
            )
        self._names = Names(tools)
        self._when = when
        self._people = {} if people is None else {"people": people_of(people)}
        self._installation: Installation | None = install()
        framework("crewai.hooks").register_before_tool_call_hook(self)
        checks.append(self._refuse_strangers)

    def judge(self, call: ToolCall) -> bool | None:
        """Ask, in the tool's own worker thread; what this raises blocks the tool (`closed_hooks`)."""
        if not self._names.holds(call.context, call.names):
            return None
        arguments = call.look()
        if self._lets_through(arguments):
            return None
        try:
            ask_blocking(
                f"May `{call.name}` run with these arguments?",
                frozen(arguments),
                answer=Literal[True],
                render=Approval,
                name=call.name,
                kind="tool",
                **self._people,
            )
        except ChangedWhileWaiting as error:
            refusals.note(call, "blocked", str(error))
            return False
        except NotApproved as error:
            outcome = getattr(error.call, "outcome", None) or "cancelled"
            refusals.note(call, outcome, getattr(error.call, "reason", None))
            return False
        call.is_approved = True
        return None

    def _lets_through(self, arguments: Any) -> bool:
        """Whether nobody needs to be asked."""
        if self._when is None:
            return False
        try:
            wanted = self._when(frozen(arguments))
        except Exception:
            return False
        if inspect.iscoroutine(wanted):
            wanted.close()
        return wanted is False

    def _refuse_strangers(self, owner: Any) -> None:
        """Keep a crew from running that has tools which no hook of CrewAI sees: an adapter runs them itself."""
        for agent in getattr(owner, "agents", None) or ():
            if getattr(agent, "adapted_agent", False) and self._names.may_hold(agent, owner):
                raise UsageError(
                    f"`approve_tools` cannot hold the tools of `{agent.role}`: a `{type(agent).__name__}` runs them "
                    "itself, past every hook of CrewAI. Ask in the tool instead: "
                    '`interrupt.sync("Send it?", {"to": to})`.'
                )

    def remove(self) -> None:
        """Let the tools run unasked again. Idempotent."""
        if self._installation is not None:
            checks.remove(self._refuse_strangers)
            framework("crewai.hooks").unregister_before_tool_call_hook(self)
            self._installation.uninstall()
            self._installation = None

    def __enter__(self) -> "ToolGate":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<ToolGate: {self._names}>"
