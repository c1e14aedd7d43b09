"""How a tool is made: from a function, from a pydantic model, or from a JSON Schema.

`human_in_the_loop` is the web's `useHumanInTheLoop({name, description, parameters, render})` in Python, and
`frontend_tool` its `useFrontendTool`. Unlike the web, arguments are validated first: a person never sees a question
that does not fit its own schema.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any, overload

from pydantic import BaseModel
from typing_extensions import ParamSpec, TypeVar

from hitl_nb._schema import Validator, answer_of, parameters_of, validator_for
from hitl_nb._tools._kinds import Drawing, FrontendTool, HumanTool, Renderer, checked_drawing
from hitl_nb.errors import ToolDefinitionError

P = ParamSpec("P")
R = TypeVar("R")

Parameters = type[BaseModel] | dict[str, Any]
"""A pydantic model, or a JSON Schema of an object."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider accepts as a function name."""


@overload
def human_in_the_loop(
    definition: Callable[P, object],
    /,
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    parameters: None = None,
    answer: object = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
    undo: float = 0,
) -> HumanTool[P]: ...
@overload
def human_in_the_loop(
    definition: None = None,
    /,
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    parameters: None = None,
    answer: object = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
    undo: float = 0,
) -> Callable[[Callable[P, object]], HumanTool[P]]: ...
@overload
def human_in_the_loop(
    definition: None = None,
    /,
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    parameters: Parameters,
    answer: object = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
    undo: float = 0,
) -> HumanTool[...]: ...


def human_in_the_loop(
    definition: object = None,
    /,
    *,
    name: str | None = None,
    title: str = "",
    description: str | None = None,
    parameters: object = None,
    answer: object = None,
    render: Renderer | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
    undo: float = 0,
) -> object:
    """Register a tool that a person answers: the model's call halts the run until `respond`.

    Use it on a function (the signature gives the parameters, the return annotation the answer type, the docstring
    the description), on a pydantic model (its fields are the parameters), or with ``parameters=`` alone:

    ::

        @human_in_the_loop(render=StepReview)
        def generate_task_steps(steps: list[Step]) -> list[Step]:
            "Propose the steps of a task for the user to approve."

        ask_date = human_in_the_loop(name="ask_date", parameters={"type": "object", ...}, answer=datetime.date)

    Args:
        definition: The decorated function or pydantic model.
        name: The name given to the model, 1–64 of ``A-Za-z0-9_-``; default: the function's or class's name. ``"*"``
            answers every call that no other tool answers, and is not offered to the model.
        title: What stands above the card and its record, e.g. ``"Run SQL"``; default: the name in words.
        description: What the model reads; default: the docstring.
        parameters: A pydantic model, or a JSON Schema (dict) of an object; default: the signature.
        answer: Any pydantic type: what a person may answer; default: the return annotation.
        render: A card of `hitl_nb.cards`, or a function that gets the `Call` (once, when ``executing`` begins, with
            complete, validated args) and returns any ipywidget that calls ``call.respond(value)``.
        follow_up: Whether the agent is run again with the answer.
        available: False hides the tool from the model for now.
        agent_id: Offer the tool only in ``Session(..., agent_id=...)`` of this id.
        undo: Seconds in which an answer that was given at a card can be taken back there; until then nothing counts.

    Returns:
        A `HumanTool` for ``Session(agent, tools=[...])``; a decorator when neither `definition` nor `parameters`
        is given.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
        UsageError: `undo` is no number of seconds.
    """

    def define(decorated: object) -> HumanTool[...]:
        given = _name_and_parameters(decorated, name, parameters)
        typed = answer_of(decorated) if answer is None and inspect.isfunction(decorated) else answer
        return HumanTool(
            name=given[0],
            title=title,
            description=description or _docstring(parameters if decorated is None else decorated),
            parameters=_checked_parameters(*given),
            answer=None if typed is None or typed is Any else validator_for(typed),
            render=_checked_render(given[0], render),
            follow_up=follow_up,
            available=available,
            agent_id=agent_id,
            undo=undo,
            function=decorated if inspect.isfunction(decorated) else None,
        )

    return define if definition is None and parameters is None else define(definition)


def _name_and_parameters(definition: object, name: object, parameters: object) -> tuple[str, object]:
    is_model = isinstance(definition, type) and issubclass(definition, BaseModel)
    if definition is not None and not is_model and not inspect.isfunction(definition):
        raise ToolDefinitionError(
            f"`human_in_the_loop` got `{definition!r}`, which is neither a function nor a pydantic model. "
            "Write `@human_in_the_loop` above `def ask(question: str) -> str: ...`, or "
            '`human_in_the_loop(name="ask", parameters=Model)`.'
        )
    _refuse_generators(definition)
    name = _checked_name(name or getattr(definition, "__name__", None) or getattr(parameters, "__name__", None))
    if parameters is None:
        parameters = parameters_of(definition) if inspect.isfunction(definition) else definition
    return name, parameters


@overload
def frontend_tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Parameters | None = None,
    render: Drawing | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> FrontendTool[P, R]: ...
@overload
def frontend_tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Parameters | None = None,
    render: Drawing | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> Callable[[Callable[P, R]], FrontendTool[P, R]]: ...


def frontend_tool(
    function: object = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: object = None,
    render: Drawing | None = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> object:
    """Register a tool that runs in the kernel when the model calls it, without a person.

    Args:
        function: The decorated function, plain or async; it sees your notebook's variables. What it returns is sent
            to the model (a string verbatim, else compact JSON); what it raises is sent as ``Error: …``. How far it is
            it says by `report_progress`; a stop of the run ends an ``async def`` at its next ``await``.
        name: As for `human_in_the_loop`.
        description: As for `human_in_the_loop`.
        parameters: As for `human_in_the_loop`.
        render: Draws the call: a function from the `Call` to Markdown, data, a figure or any ipywidget, at each change
            of its status; see `Session.render_tool_call`. Without it the call is not shown.
        follow_up: As for `human_in_the_loop`.
        available: As for `human_in_the_loop`.
        agent_id: As for `human_in_the_loop`.

    Returns:
        A `FrontendTool` for ``Session(agent, tools=[...])``, still callable as the function.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
    """

    def define(decorated: object) -> FrontendTool[..., object]:
        if not inspect.isfunction(decorated):
            raise ToolDefinitionError(
                f"`frontend_tool` got `{decorated!r}`, which is not a function. "
                "Write `@frontend_tool` above `def row_count(table: str) -> int: ...`."
            )
        _refuse_generators(decorated)
        tool_name = _checked_name(name or decorated.__name__)
        return FrontendTool(
            name=tool_name,
            description=description or _docstring(decorated),
            parameters=_checked_parameters(tool_name, parameters_of(decorated) if parameters is None else parameters),
            function=decorated,
            render=checked_drawing(f"@frontend_tool(render=…)` of `{tool_name}", render),
            follow_up=follow_up,
            available=available,
            agent_id=agent_id,
        )

    return define if function is None else define(function)


def _refuse_generators(function: object) -> None:
    """A call of such a function runs nothing: what was approved would not be done, and nobody would be told."""
    if not inspect.isgeneratorfunction(function) and not inspect.isasyncgenfunction(function):
        return
    name = function.__name__
    gathered = f"list({name}(...))" if inspect.isgeneratorfunction(function) else f"[one async for one in {name}(...)]"
    raise ToolDefinitionError(
        f"`{name}` has a `yield`, so a call of it only makes a generator, and nothing of what stands in it is done. "
        f"Write `return` in place of `yield`, or make the tool of another function, with `return {gathered}`."
    )


def _docstring(thing: object) -> str:
    if isinstance(thing, dict):
        return str(thing.get("description", ""))
    # A pydantic model without a docstring of its own inherits BaseModel's, which says nothing about the tool.
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    return inspect.cleandoc(text or "")


def _checked_name(name: object) -> str:
    if isinstance(name, str) and (_NAME.fullmatch(name) or name == "*"):
        return name
    if name is None:
        raise ToolDefinitionError(
            "A tool made from a JSON Schema has no name yet. "
            'Write `human_in_the_loop(name="ask_date", parameters={...})`.'
        )
    raise ToolDefinitionError(
        f"`{name}` cannot be a tool name: providers accept 1–64 of letters, digits, `_` and `-`. "
        f'Write `@human_in_the_loop(name="{re.sub(r"[^A-Za-z0-9_-]+", "_", str(name))[:64]}")`.'
    )


def _checked_parameters(name: str, parameters: object) -> Validator:
    is_model = isinstance(parameters, type) and issubclass(parameters, BaseModel)
    if not is_model and not isinstance(parameters, dict):
        raise ToolDefinitionError(
            f"`parameters` of tool `{name}` is `{parameters!r}`, neither a pydantic model nor a JSON Schema. "
            'Write `parameters=MyModel` or `parameters={"type": "object", "properties": {...}}`.'
        )
    return validator_for(parameters)


def _checked_render(name: str, render: Renderer | None) -> Renderer | None:
    if render is None or callable(render):
        return render
    raise ToolDefinitionError(
        f"`render` of tool `{name}` is `{render!r}`, which cannot be called. "
        "Write `render=StepReview` (a card of `hitl_nb.cards`) or `render=lambda call: my_widget(call)`."
    )
