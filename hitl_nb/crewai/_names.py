"""Which tools a gate is about. A name that is misspelt opens nothing: the first tool call ends the run.

CrewAI has its own spelling of tools' names (``Send Mail`` is ``send_mail``), numbers those that share one, and hands
some out only when a task begins; so a name can be checked only where a tool is about to run.
"""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from hitl_nb.crewai._patch import framework
from hitl_nb.errors import UsageError


class Names:
    """The tools that somebody named.

    Args:
        tools: A name, a tool, or several of both; None: all tools there are.

    Raises:
        UsageError: It is none of these, or names nothing.
    """

    def __init__(self, tools: Any) -> None:
        self._all = tools is None
        self._names: set[str] = set()
        self._unseen: set[str] = set()
        """Those that may be misspelt: words, which no run has had a tool for yet."""
        for tool in [] if tools is None else _listed(tools):
            name = spelled(_name_of(tool))
            if not name:
                raise UsageError(f"`approve_tools` cannot find a tool by `{tool!r}`. {_WRITE}")
            self._names.add(name)
            if isinstance(tool, str):
                self._unseen.add(name)
        if not self._all and not self._names:
            raise UsageError(f"`approve_tools` names no tool, so it would ask about none. {_WRITE}")

    def holds(self, context: Any, names: set[str]) -> bool:
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

    def may_hold(self, agent: Any, crew: Any) -> bool:
        """Whether an agent has, or is given by a task, one of these tools."""
        owners = [agent, *(task for task in getattr(crew, "tasks", ()) if task.agent in (agent, None))]
        names = {spelled(tool.name) for owner in owners for tool in owner.tools or ()}
        return bool(names) if self._all else not self._names.isdisjoint(names)

    def __repr__(self) -> str:
        return "all tools" if self._all else ", ".join(sorted(self._names))


_WRITE = 'Write `approve_tools(["send_mail"])`, or `approve_tools()` for all tools.'


def spelled(name: str) -> str:
    """Give a name as CrewAI spells it."""
    found: str = framework("crewai.utilities.string_utils").sanitize_tool_name(name)
    return found


def _listed(tools: Any) -> list[Any]:
    if isinstance(tools, str) or isinstance(getattr(tools, "name", None), str):
        return [tools]
    if isinstance(tools, Mapping | bytes | type) or not isinstance(tools, Iterable):
        raise UsageError(f"`approve_tools` takes tools or their names, not `{tools!r}`. {_instead(tools)}")
    return list(tools)


def _name_of(tool: Any) -> str:
    name = tool if isinstance(tool, str) else getattr(tool, "name", None)
    if not isinstance(name, str) or isinstance(tool, type):
        raise UsageError(f"`approve_tools` takes tools or their names, not `{tool!r}`. {_instead(tool)}")
    return name


def _instead(tool: Any) -> str:
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


# -- what there is ----------------------------------------------------------------------------------------------


def _known(context: Any) -> set[str]:
    """The names of all tools that this run has shown so far."""
    boxes = [getattr(owner, "tools", None) for owner in (*_agents(context), *_tasks(context))]
    for agent in _agents(context):
        executor = getattr(agent, "agent_executor", None)
        boxes += [getattr(executor, "tools", None), getattr(executor, "original_tools", None)]
    tools = [tool for box in boxes if isinstance(box, list) for tool in box]
    return {spelled(tool.name) for tool in tools if isinstance(getattr(tool, "name", None), str)}


def _is_all_known(context: Any) -> bool:
    """Whether these are all: servers and platforms hand theirs out when an agent's task begins."""
    others = [agent for agent in _agents(context) if agent is not context.agent]
    is_hidden = any(getattr(agent, "mcps", None) or getattr(agent, "apps", None) for agent in others)
    return not is_hidden and bool(_agents(context) or _tasks(context))


def _agents(context: Any) -> list[Any]:
    crew = context.crew
    found = [context.agent, *(getattr(crew, "agents", None) or ()), getattr(crew, "manager_agent", None)]
    return [agent for agent in found if agent is not None]


def _tasks(context: Any) -> list[Any]:
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
