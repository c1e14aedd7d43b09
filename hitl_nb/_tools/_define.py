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

from hitl_nb._schema import Validator, answer_of, parameters_of, validator_for
from hitl_nb._tools._kinds import FrontendTool, HumanTool
from hitl_nb.errors import ToolDefinitionError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider accepts as a function name."""


@overload
def human_in_the_loop(definition: Callable[..., Any], /) -> HumanTool: ...
@overload
def human_in_the_loop(
    definition: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: None = None,
    answer: Any = None,
    render: Any = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> Callable[[Callable[..., Any]], HumanTool]: ...
@overload
def human_in_the_loop(
    definition: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any,
    answer: Any = None,
    render: Any = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> HumanTool: ...


def human_in_the_loop(
    definition: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    answer: Any = None,
    render: Any = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> Any:
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
        description: What the model reads; default: the docstring.
        parameters: A pydantic model, or a JSON Schema (dict) of an object; default: the signature.
        answer: Any pydantic type: what a person may answer; default: the return annotation.
        render: A card of `hitl_nb.cards`, or a function that gets the `Call` (once, when ``executing`` begins, with
            complete, validated args) and returns any ipywidget that calls ``call.respond(value)``.
        follow_up: Whether the agent is run again with the answer.
        available: False hides the tool from the model for now.
        agent_id: Offer the tool only in ``Session(..., agent_id=...)`` of this id.

    Returns:
        A `HumanTool` for ``Session(agent, tools=[...])``; a decorator when neither `definition` nor `parameters`
        is given.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
    """
    options = {
        "name": name,
        "description": description,
        "parameters": parameters,
        "answer": answer,
        "render": render,
        "follow_up": follow_up,
        "available": available,
        "agent_id": agent_id,
    }
    if definition is not None:
        return _define(definition, **options)
    if parameters is not None:
        return _define(None, **options)
    return lambda decorated: _define(decorated, **options)


def _define(
    definition: Any,
    *,
    name: str | None,
    description: str | None,
    parameters: Any,
    answer: Any,
    render: Any,
    **options: Any,
) -> HumanTool:
    is_model = isinstance(definition, type) and issubclass(definition, BaseModel)
    if definition is not None and not is_model and not inspect.isfunction(definition):
        raise ToolDefinitionError(
            f"`human_in_the_loop` got `{definition!r}`, which is neither a function nor a pydantic model. "
            "Write `@human_in_the_loop` above `def ask(question: str) -> str: ...`, or "
            '`human_in_the_loop(name="ask", parameters=Model)`.'
        )
    name = _checked_name(name or getattr(definition, "__name__", None) or getattr(parameters, "__name__", None))
    if parameters is None:
        parameters = definition if is_model else parameters_of(definition)
    if answer is None and inspect.isfunction(definition):
        answer = answer_of(definition)
    return HumanTool(
        name=name,
        description=description or _docstring(parameters if definition is None else definition),
        parameters=_checked_parameters(name, parameters),
        answer=None if answer is None or answer is Any else validator_for(answer),
        render=_checked_render(name, render),
        **options,
    )


@overload
def frontend_tool(function: Callable[..., Any], /) -> FrontendTool: ...
@overload
def frontend_tool(
    function: None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> Callable[[Callable[..., Any]], FrontendTool]: ...


def frontend_tool(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Any = None,
    follow_up: bool = True,
    available: bool = True,
    agent_id: str | None = None,
) -> Any:
    """Register a tool that runs in the kernel when the model calls it, without a person.

    Args:
        function: The decorated function, plain or async; it sees your notebook's variables. What it returns is sent
            to the model (a string verbatim, else compact JSON); what it raises is sent as ``Error: …``.
        name: As for `human_in_the_loop`.
        description: As for `human_in_the_loop`.
        parameters: As for `human_in_the_loop`.
        follow_up: As for `human_in_the_loop`.
        available: As for `human_in_the_loop`.
        agent_id: As for `human_in_the_loop`.

    Returns:
        A `FrontendTool` for ``Session(agent, tools=[...])``, still callable as the function.

    Raises:
        ToolDefinitionError: Something is not of these forms; the message shows the line to write.
    """

    def define(decorated: Any) -> FrontendTool:
        if not inspect.isfunction(decorated):
            raise ToolDefinitionError(
                f"`frontend_tool` got `{decorated!r}`, which is not a function. "
                "Write `@frontend_tool` above `def row_count(table: str) -> int: ...`."
            )
        tool_name = _checked_name(name or decorated.__name__)
        return FrontendTool(
            name=tool_name,
            description=description or _docstring(decorated),
            parameters=_checked_parameters(tool_name, parameters_of(decorated) if parameters is None else parameters),
            function=decorated,
            follow_up=follow_up,
            available=available,
            agent_id=agent_id,
        )

    return define if function is None else define(function)


def _docstring(thing: Any) -> str:
    if isinstance(thing, dict):
        return str(thing.get("description", ""))
    # A pydantic model without a docstring of its own inherits BaseModel's, which says nothing about the tool.
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    return inspect.cleandoc(text or "")


def _checked_name(name: Any) -> str:
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


def _checked_parameters(name: str, parameters: Any) -> Validator:
    is_model = isinstance(parameters, type) and issubclass(parameters, BaseModel)
    if not is_model and not isinstance(parameters, dict):
        raise ToolDefinitionError(
            f"`parameters` of tool `{name}` is `{parameters!r}`, neither a pydantic model nor a JSON Schema. "
            'Write `parameters=MyModel` or `parameters={"type": "object", "properties": {...}}`.'
        )
    return validator_for(parameters)


def _checked_render(name: str, render: Any) -> Any:
    if render is None or callable(render):
        return render
    raise ToolDefinitionError(
        f"`render` of tool `{name}` is `{render!r}`, which cannot be called. "
        "Write `render=StepReview` (a card of `hitl_nb.cards`) or `render=lambda call: my_widget(call)`."
    )
