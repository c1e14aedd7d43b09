"""Tools that a person answers: what the model is told of them, and what is checked before anybody is asked.

`human_in_the_loop` is the web's `useHumanInTheLoop({name, description, parameters, render})` in Python. Unlike the
web, arguments are validated first: a person never sees a question that does not fit its own schema.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, overload

from ag_ui.core import Tool
from pydantic import BaseModel

from hitl_nb._calls import Call
from hitl_nb._schema import Validator, answer_of, parameters_of, validator_for
from hitl_nb.errors import InvalidValue, ToolDefinitionError, UsageError

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What every provider accepts as a function name."""


@dataclass(frozen=True, kw_only=True)
class HumanTool:
    """A tool the agent pauses on until a person responds. Made by `human_in_the_loop`."""

    name: str
    """The name given to the model."""

    description: str
    """What the model reads, and what the person is told is asked."""

    parameters: Validator
    """Checks the model's arguments."""

    answer: Validator | None
    """Checks the person's answer; None takes anything that has a JSON form."""

    render: Any
    """A card class or instance of `hitl_nb.cards`, a function ``render(call) -> widget``, or None."""

    def advertised(self) -> Tool:
        """Give the tool as it is offered to the model."""
        return Tool(name=self.name, description=self.description, parameters=self.parameters.schema)

    def validated(self, arguments: str) -> Any:
        """Give the arguments as the declared type, from the model's JSON text.

        Raises:
            InvalidValue: Not one complete JSON object, or it does not fit the parameters.
        """
        return self.parameters.validate(_one_object(arguments))

    def call(self, call_id: str, **identity: Any) -> Call:
        """Give the call object for one tool call of the model."""
        return Call(
            id=call_id,
            name=self.name,
            message=self.description,
            answer_type=self.answer,
            render=self.render,
            **identity,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: the model calls this tool, and a person answers it."""
        raise UsageError(
            f"`{self.name}` is answered by a person when the model calls it; it cannot be called from code. "
            f"Write `session = Session(MyFlow, tools=[{self.name}])`."
        )

    def __repr__(self) -> str:
        return f"<human_in_the_loop tool {self.name}>"


def _one_object(arguments: str) -> dict[str, Any]:
    # Strict on purpose: a partial parse is for the preview only, and never gates a question.
    try:
        value = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidValue(f"arguments are not complete JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidValue(f"arguments are not a JSON object but `{type(value).__name__}`")
    return value


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
        name: The name given to the model, 1–64 of ``A-Za-z0-9_-``; default: the function's or class's name.
        description: What the model reads; default: the docstring.
        parameters: A pydantic model, or a JSON Schema (dict) of an object; default: the signature.
        answer: Any pydantic type: what a person may answer; default: the return annotation.
        render: A card of `hitl_nb.cards`, or a function that gets the `Call` (once, when ``executing`` begins, with
            complete, validated args) and returns any ipywidget that calls ``call.respond(value)``.

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
    }
    if definition is not None:
        return _define(definition, **options)
    if parameters is not None:
        return _define(None, **options)
    return lambda decorated: _define(decorated, **options)


def _define(
    definition: Any, *, name: str | None, description: str | None, parameters: Any, answer: Any, render: Any
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
    )


def _docstring(thing: Any) -> str:
    if isinstance(thing, dict):
        return str(thing.get("description", ""))
    # A pydantic model without a docstring of its own inherits BaseModel's, which says nothing about the tool.
    text = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__
    return inspect.cleandoc(text or "")


def _checked_name(name: Any) -> str:
    if isinstance(name, str) and _NAME.fullmatch(name):
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


class ToolBox:
    """The tools of one session, by name.

    Raises:
        ToolDefinitionError: Something that is not a tool, or one name for two tools.
    """

    def __init__(self, tools: Iterable[HumanTool]) -> None:
        self._tools: dict[str, HumanTool] = {}
        for tool in tools:
            self._add(tool)

    def _add(self, tool: Any) -> None:
        if not isinstance(tool, HumanTool):
            name = getattr(tool, "__name__", repr(tool))
            raise ToolDefinitionError(
                f"`{name}` is not a tool yet. Write `@human_in_the_loop` above `def {name}(...)`, "
                f"then `Session(MyFlow, tools=[{name}])`."
            )
        if tool.name in self._tools:
            raise ToolDefinitionError(
                f"Two tools are called `{tool.name}`: an approval of one could be taken for the other. "
                f'Write `@human_in_the_loop(name="{tool.name}_2")` on one of them.'
            )
        self._tools[tool.name] = tool

    def __iter__(self) -> Iterator[HumanTool]:
        return iter(self._tools.values())

    def get(self, name: str) -> HumanTool | None:
        """Give the tool the model called, or None if there is no such tool."""
        return self._tools.get(name)

    @property
    def names(self) -> list[str]:
        """The names the model was told."""
        return list(self._tools)
