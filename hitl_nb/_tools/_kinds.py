"""The kinds of tools: one that a person answers, one that runs in the kernel, and one that does both in turn."""

import functools
import inspect
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, cast

from ag_ui.core import Tool
from typing_extensions import ParamSpec, TypeVar

from hitl_nb._calls import Call
from hitl_nb._schema import Validator
from hitl_nb.errors import InvalidValue, UsageError

_log = logging.getLogger("hitl_nb")

P = ParamSpec("P", default=...)
R = TypeVar("R", default=Any)

Renderer = Callable[[Call], object]
"""What draws a call: a card class of `hitl_nb.cards`, or a function that gives any ipywidget."""


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

    def call(self, call_id: str, name: str, **identity: Any) -> Call:
        """Return the call object for one tool call of the model; `name` is the name it called."""
        return Call(
            id=call_id,
            name=name,
            message=self.description,
            answer_type=self.answer,
            args_type=self.parameters,
            render=self.render,
            tells_edits=_tells_edits(self.render),
            **identity,
        )

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
        value = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidValue(f"arguments are not complete JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(f"arguments are not a JSON object but `{type(value).__name__}`")
    return value
