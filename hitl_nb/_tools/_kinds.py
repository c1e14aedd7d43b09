"""The kinds of tools: one that a person answers, one that runs in the kernel, and one that does both in turn.

And the box of all tools of one session, by name, with what handles its agent's checkpoints.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, cast

from ag_ui.core import Interrupt, Tool
from typing_extensions import ParamSpec, TypeVar

from hitl_nb._calls import Call, Handle, grace_of
from hitl_nb._limits import TooMuch, contained, read_json
from hitl_nb._schema import Validator
from hitl_nb._text import logger
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError

_log = logger()

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

Renderer = Callable[[Call], object]
"""What draws a call: a card class of `hitl_nb.cards`, or a function that gives any ipywidget."""


Drawing = Callable[[Call], object]
"""What draws a call that nobody is asked about: it gives Markdown, data, a figure, a widget, or None for nothing."""


def checked_drawing(where: str, drawing: object) -> Any:
    """Return what is to draw calls that nobody is asked about.

    Raises:
        ToolDefinitionError: It cannot be called, or is a card that waits for an answer.
    """
    if isinstance(drawing, type) and hasattr(drawing, "decide"):
        raise ToolDefinitionError(
            f"`{where}` is the card `{drawing.__name__}`, which waits for an answer, and nobody is asked here. "
            'Write a function `def draw(call): return f"{call.status}: {call.args}"`, or `@human_in_the_loop`.'
        )
    if drawing is not None and not callable(drawing):
        raise ToolDefinitionError(
            f"`{where}` is `{drawing!r}`, which cannot be called. "
            'Write a function `def draw(call): return f"{call.status}: {call.args}"`.'
        )
    return drawing


@dataclass(frozen=True, kw_only=True)
class SessionTool:
    """What all kinds have: how the model sees the tool, and how its arguments are checked."""

    name: str
    """The name given to the model; ``*`` answers every call without a tool of its own and is never advertised."""

    description: str
    """What the model reads, and what a person is told is asked."""

    parameters: Validator
    """Checks the model's arguments."""

    follow_up: bool = True
    """Whether the agent is run again with the result. One call of several that wants it is enough."""

    available: bool = True
    """False hides the tool from the model; a call of it is answered with an error."""

    agent_id: str | None = None
    """The one session (``Session(agent_id=...)``) that has this tool; None: every session it is given to."""

    function: Callable[..., object] | None = None
    """The function it was made from, if it was one."""

    def __post_init__(self) -> None:
        if self.function is not None:
            # As `functools.update_wrapper`, for what is frozen: editors show the function's signature and docstring.
            names = ("__module__", "__name__", "__qualname__", "__doc__")
            vars(self).update({name: getattr(self.function, name) for name in names}, __wrapped__=self.function)

    def advertised(self) -> Tool:
        """Return the tool as it is offered to the model."""
        return Tool(name=self.name, description=self.description, parameters=self.parameters.schema)

    def validated(self, arguments: str) -> Any:
        """Return the arguments as the declared type, from the model's JSON text.

        Raises:
            InvalidValue: Not one complete JSON object, or it does not fit the parameters.
        """
        return self.parameters.validate(_one_object(arguments))


@dataclass(frozen=True, kw_only=True)
class HumanTool(SessionTool, Generic[P]):
    """A tool the agent pauses on until a person responds. Made by `human_in_the_loop`."""

    answer: Validator | None
    """Checks the person's answer; None takes anything that has a JSON form."""

    render: Renderer | None
    """A card class of `hitl_nb.cards`, a function ``render(call) -> widget``, or None."""

    title: str = ""
    """What stands above the card; default: the name in words."""
    undo: float = 0
    """Seconds in which the answer of a card can be taken back."""

    def __post_init__(self) -> None:
        super().__post_init__()
        grace_of(self.undo)

    def call(self, call_id: str, name: str, **identity: Any) -> Call:
        """Return the call object for one tool call of the model; `name` is the name it called."""
        call = Call(
            id=call_id,
            name=name,
            title=self.title,
            message=self.description,
            answer_type=self.answer,
            args_type=self.parameters,
            render=self.render,
            tells_edits=_tells_edits(self.render),
            **identity,
        )
        handle = Handle.of(call)
        handle.grace.seconds = grace_of(self.undo)
        handle.again = 'The model was told that nobody answered. Write: await session.run("Please ask me again.")'
        return call

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> object:
        """Refuse: the model calls this tool, and a person answers it."""
        raise UsageError(
            f"`{self.name}` is answered by a person when the model calls it; it cannot be called from code. "
            f"Write `session = Session(MyFlow, tools=[{self.name}])`."
        )

    def __repr__(self) -> str:
        return f"<human_in_the_loop tool {self.name}>"


@dataclass(frozen=True, kw_only=True)
class FrontendTool(SessionTool, Generic[P, R]):
    """A tool that runs in the kernel, without a person. Made by `frontend_tool`."""

    function: Callable[P, R]
    """What runs, with the validated arguments as keywords; plain or async."""

    render: Drawing | None = None
    """What draws its calls; None: they are not shown, unless a session says so (`Session.render_tool_call`)."""

    async def run(self, args: object) -> object:
        """Run the function and return what it returns.

        Raises:
            Exception: Whatever the function raised.
        """
        return await _ran(self.function, args)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself: it stays usable in a cell."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<frontend_tool {self.name}>"


@dataclass(frozen=True, kw_only=True, repr=False)
class GateTool(HumanTool[P], Generic[P, R]):
    """A tool that a person approves and the kernel then runs. Made by `gate`.

    Two tools, one that asks and one that does, can be told apart by a model, which then calls only the second
    (CopilotKit#3442). So the check stands in front of the function itself.
    """

    function: Callable[P, R | Awaitable[R]]
    """What runs after the approval; plain or async."""

    when: Callable[[Any], object] | None
    """Gets the validated arguments and says whether a person is needed; None: always."""

    def needs_person(self, args: object) -> bool:
        """Whether these arguments need an approval. Fail closed: a `when` that raises or is no plain False asks."""
        if self.when is None:
            return True
        try:
            with contained(f"`when` of the gate `{self.name}`"):
                return self.when(args) is not False
        except Exception:
            _log.exception("`when` of the gate `%s` failed; a person is asked", self.name)
            return True

    async def run(self, args: object) -> R:
        """Run the function with approved arguments and return what it returns.

        Raises:
            Exception: Whatever the function raised.
        """
        return cast("R", await _ran(self.function, args))


async def _ran(function: Callable[..., object], args: object) -> object:
    value = function(**keywords_of(args))
    return await value if inspect.isawaitable(value) else value


def _tells_edits(render: object) -> bool:
    """Whether the model is told of edits in an envelope: the default form does; a renderer answers as on the web."""
    while isinstance(render, functools.partial):
        render = render.func
    return render is None or bool(getattr(render, "tells_edits", False))


def keywords_of(args: Any) -> dict[str, Any]:
    """Return validated arguments as keywords: a dict as it is, a model by its fields, not dumped."""
    return args if isinstance(args, dict) else {name: getattr(args, name) for name in type(args).model_fields}


def _one_object(arguments: str) -> dict[str, object]:
    # Strict on purpose: a partial parse is for the preview only, and never gates a question.
    try:
        value = read_json(arguments or "{}")
    except TooMuch as error:
        raise InvalidValue(f"arguments are too much: {error}. Send less, or in several calls") from error
    except ValueError as error:
        raise InvalidValue(f"arguments are not complete JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(f"arguments are not a JSON object but `{type(value).__name__}`")
    return value


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

    undo: float = 0
    """Seconds in which the answer of a card can be taken back."""

    def takes(self, interrupt: Interrupt) -> bool:
        """Whether this is about `interrupt`; an `enabled` that raises takes nothing (the default card does)."""
        if self.enabled is None:
            return True
        try:
            with contained("`enabled` of `on_interrupt`"):
                return self.enabled(interrupt) is True
        except Exception:
            _log.exception("`enabled` of `on_interrupt` failed on interrupt `%s`", interrupt.id)
            return False


def on_interrupt(
    *,
    render: Renderer | None = None,
    handler: Callable[[Call], Awaitable[object]] | None = None,
    enabled: Callable[[Interrupt], object] | None = None,
    undo: float = 0,
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
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.

    Raises:
        ToolDefinitionError: Something of this cannot be called.
        UsageError: `undo` is no number of seconds.
    """
    for name, value in (("render", render), ("handler", handler), ("enabled", enabled)):
        if value is not None and not callable(value):
            raise ToolDefinitionError(
                f"`{name}` of `on_interrupt` is `{value!r}`, which cannot be called. "
                "Write `on_interrupt(render=Approval)` or `on_interrupt(handler=my_async_function)`."
            )
    return InterruptHandler(render=render, handler=handler, enabled=enabled, undo=grace_of(undo))


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

    @property
    def every(self) -> list[str]:
        """The names of all tools, also of those that the model is not told of."""
        return list(self._tools)

    def parameters(self) -> dict[str, Validator]:
        """Return what checks the arguments, by tool name."""
        return {tool.name: tool.parameters for tool in self._tools.values()}

    def advertised(self) -> list[Tool]:
        """Return the tools as they are offered to the model."""
        return [self._tools[name].advertised() for name in self.names]
