"""What a user turns on: all of CrewAI's questions to people, or a person's approval before an agent's tools run.

A tool's name that is misspelt opens nothing: the first tool call ends the run. CrewAI has its own spelling of names
(``Send Mail`` is ``send_mail``), numbers those that share one, and hands some out only when a task begins; so a name
can be checked only where a tool is about to run.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal

from hitl_nb._calls import frozen
from hitl_nb.cards import Approval
from hitl_nb.crewai._crew_run import answering, ask_from_thread, checks, doors, framework
from hitl_nb.crewai._hooks import (
    AskingHook,
    ToolCall,
    ToolContext,
    closed_hooks,
    grants_kept,
    refusals,
    single_runs,
    spelled,
)
from hitl_nb.crewai._surfaces import feedback_is_asked, flow_asks, hooks_ask, results_are_reviewed
from hitl_nb.errors import ChangedWhileWaiting, MissingExtraError, NotApproved, UsageError
from hitl_nb.people import Person, people_of

# -- all of CrewAI's questions ----------------------------------------------------------------------------------------

_SURFACES = (
    partial(doors, grants_kept),
    feedback_is_asked,
    flow_asks,
    results_are_reviewed,
    single_runs,
    closed_hooks,
    hooks_ask,
)


@contextmanager
def _surfaces() -> Iterator[None]:
    with ExitStack() as stack:
        try:
            for surface in _SURFACES:
                stack.enter_context(surface())
        except AttributeError as error:
            raise MissingExtraError(
                f"This version of CrewAI asks its questions in another way ({error}). Install one that `hitl_nb` "
                'knows with `pip install "hitl-nb[crewai]"` and restart the kernel.'
            ) from error
        yield


_stack: list["Installation"] = []
_held = ExitStack()
"""All of it, while somebody has it installed."""


class Installation:
    """One `install`; leaving its ``with`` block, or `uninstall`, takes it back."""

    def __init__(self, people: Person | Sequence[Person] | None) -> None:
        self._people = answering[-1] if people is None and answering else people_of(people)
        if not _stack:
            _held.enter_context(_surfaces())
        answering.append(self._people)
        _stack.append(self)

    def uninstall(self) -> None:
        """Take it back; with the last one CrewAI is as it was. Idempotent."""
        if self in _stack:
            position = _stack.index(self)
            del _stack[position], answering[position]
            if not _stack:
                _held.close()

    def __enter__(self) -> "Installation":
        return self

    def __exit__(self, *_: object) -> None:
        self.uninstall()

    def __repr__(self) -> str:
        state = "CrewAI's questions are answered by cards" if self in _stack else "uninstalled"
        return f"<Installation: {state}>"


def install(*, people: Person | Sequence[Person] | None = None) -> Installation:
    """Have every question that CrewAI asks a human answered by a card in the cell.

    ``@human_feedback``, ``flow.ask()``, ``Task(human_input=True)`` and ``context.request_human_input()`` in hooks: in
    every cell and thread, until `uninstall` or the end of the ``with`` block. Providers that the code names itself
    keep their say. Hooks before a tool call fail closed meanwhile.

    Args:
        people: Who answers outside of a session's run (in one, its people do); default: whoever an `install` around
            this one named, else the notebook, or the script in ``HITL_NB_PEOPLE``.

    Returns:
        The installation. They are counted: CrewAI is as it was when the last one has been taken back.

    Raises:
        MissingExtraError: CrewAI is not installed, or in a version that is not known here.
        UsageError: One of `people` cannot be called.

    Without this an unattended ``human_input=True`` approves.
    """
    return Installation(people)


def uninstall() -> None:
    """Take back the newest `install` that is left; without any it does nothing."""
    if _stack:
        _stack[-1].uninstall()


# -- tools -------------------------------------------------------------------------------------------------------------


def approve_tools(
    tools: Iterable[object] | str | None = None,
    *,
    when: Callable[[dict[str, Any]], bool] | None = None,
    people: Person | Sequence[Person] | None = None,
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


class ToolGate(AskingHook):
    """What `approve_tools` gives: a hook before each tool call."""

    def __init__(
        self,
        tools: object,
        *,
        when: Callable[[dict[str, Any]], bool] | None,
        people: Person | Sequence[Person] | None,
    ) -> None:
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
            ask_from_thread(
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

    def _lets_through(self, arguments: dict[str, object]) -> bool:
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

    def _refuse_strangers(self, owner: object) -> None:
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


# -- which tools ---------------------------------------------------------------------------------------------------


class Names:
    """The tools that somebody named.

    Args:
        tools: A name, a tool, or several of both; None: all tools there are.

    Raises:
        UsageError: It is none of these, or names nothing.
    """

    def __init__(self, tools: object) -> None:
        self._all = tools is None
        self._names: set[str] = set()
        self._unseen: set[str] = set()
        """Those that may be misspelt: words, which no run has had a tool for yet."""
        for tool in [] if tools is None else _several(tools):
            name = spelled(_name_in(tool))
            if not name:
                raise UsageError(f"`approve_tools` cannot find a tool by `{tool!r}`. {_WRITE}")
            self._names.add(name)
            if isinstance(tool, str):
                self._unseen.add(name)
        if not self._all and not self._names:
            raise UsageError(f"`approve_tools` names no tool, so it would ask about none. {_WRITE}")

    def holds(self, context: ToolContext, names: set[str]) -> bool:
        """Whether a tool call is to be asked about.

        Args:
            context: CrewAI's context of the call.
            names: What the tool is called.

        Raises:
            UsageError: A name is misspelt: no tool here is called that.
        """
        if self._unseen:
            known = names | _known(context)
            self._unseen -= known
            missing = self._unseen - _of_crewai() if self._unseen else set()
            if missing and _is_all_known(context):
                raise UsageError(_not_here(min(missing), known))
            if missing:
                return True  # it may be this one's name that is misspelt
        return self._all or not self._names.isdisjoint(names)

    def may_hold(self, agent: object, crew: object) -> bool:
        """Whether an agent has, or is given by a task, one of these tools."""
        owners = [agent, *(task for task in getattr(crew, "tasks", ()) if task.agent in (agent, None))]
        names = {spelled(tool.name) for owner in owners for tool in owner.tools or ()}
        return bool(names) if self._all else not self._names.isdisjoint(names)

    def __repr__(self) -> str:
        return "all tools" if self._all else ", ".join(sorted(self._names))


_WRITE = 'Write `approve_tools(["send_mail"])`, or `approve_tools()` for all tools.'


def _several(tools: object) -> list[object]:
    if isinstance(tools, str) or isinstance(getattr(tools, "name", None), str):
        return [tools]
    if isinstance(tools, Mapping | bytes | type) or not isinstance(tools, Iterable):
        raise UsageError(f"`approve_tools` takes tools or their names, not `{tools!r}`. {_instead(tools)}")
    return list(tools)


def _name_in(tool: object) -> str:
    name = tool if isinstance(tool, str) else getattr(tool, "name", None)
    if not isinstance(name, str) or isinstance(tool, type):
        raise UsageError(f"`approve_tools` takes tools or their names, not `{tool!r}`. {_instead(tool)}")
    return name


def _instead(tool: object) -> str:
    name = getattr(tool, "__name__", None)
    if isinstance(tool, type) and isinstance(name, str):
        return f"Write `approve_tools([{name}()])` with the tool that the agent has, or its name."
    return f'Write `approve_tools(["{name}"])`.' if isinstance(name, str) else _WRITE


def _not_here(name: str, known: set[str]) -> str:
    there = ", ".join(f"`{each}`" for each in sorted(known))
    meant = get_close_matches(name, sorted(known), n=1, cutoff=0.0)[0]
    return (
        f"`approve_tools` names `{name}`, and no tool here is called that. There are: {there}. Nothing was run. "
        f'Write `approve_tools(["{meant}"])`; for one that only another crew has, hand over the tool itself: '
        "`approve_tools([tool])`."
    )


def _known(context: ToolContext) -> set[str]:
    """The names of all tools that this run has shown so far."""
    boxes = [getattr(owner, "tools", None) for owner in (*_agents(context), *_tasks(context))]
    for agent in _agents(context):
        executor = getattr(agent, "agent_executor", None)
        boxes += [getattr(executor, "tools", None), getattr(executor, "original_tools", None)]
    names = [getattr(tool, "name", None) for box in boxes if isinstance(box, list) for tool in box]
    return {spelled(name) for name in names if isinstance(name, str)}


def _is_all_known(context: ToolContext) -> bool:
    """Whether these are all: servers and platforms hand theirs out when an agent's task begins."""
    others = [agent for agent in _agents(context) if agent is not context.agent]
    is_hidden = any(getattr(agent, "mcps", None) or getattr(agent, "apps", None) for agent in others)
    return not is_hidden and bool(_agents(context) or _tasks(context))


def _agents(context: ToolContext) -> list[object]:
    crew = context.crew
    found = [context.agent, *(getattr(crew, "agents", None) or ()), getattr(crew, "manager_agent", None)]
    return [agent for agent in found if agent is not None]


def _tasks(context: ToolContext) -> list[object]:
    found = [context.task, *(getattr(context.crew, "tasks", None) or ())]
    return [task for task in found if task is not None]


def _of_crewai() -> set[str]:
    """The names of tools that CrewAI itself gives to agents: delegation, memory, files."""

    def below(kind: Any) -> Iterator[Any]:
        for child in kind.__subclasses__():
            yield child
            yield from below(child)

    kinds = [kind for kind in below(framework("crewai.tools.base_tool").BaseTool) if "name" in kind.model_fields]
    names = [kind.model_fields["name"].default for kind in kinds if kind.__module__.startswith("crewai.")]
    return {spelled(name) for name in names if isinstance(name, str)}
