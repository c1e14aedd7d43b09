"""A plain function defines a tool: its parameters become a pydantic model, its return type the answer's.

A notebook makes this harder than it sounds. Annotations may be strings (`from __future__ import
annotations`), the classes they name may exist only in the cell, or in the function that is running right now,
and the one place where people do describe a parameter is often the docstring.
"""

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FunctionType, SimpleNamespace
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError
from pydantic.fields import FieldInfo

from hitl_nb._schema._types import PydanticValidator
from hitl_nb.errors import ToolDefinitionError

__all__ = ["answer_of", "parameters_of"]

Function: TypeAlias = Callable[..., object]

_CONFIG: Final = ConfigDict(
    # A tool may have a parameter called `model_name`; our models are read by key, so nothing is shadowed.
    protected_namespaces=(),
    # A name that the function does not know must not vanish in silence: the person would approve less than
    # was asked.
    extra="forbid",
)
_NO_MODEL: Final = (PydanticUserError, ToolDefinitionError, NameError, TypeError)


def parameters_of(function: Function) -> type[BaseModel]:
    """Return the parameters of `function` as a pydantic model, named after it in CamelCase.

    Defaults, `Annotated[..., Field(...)]` and `= Field(...)` are kept. A parameter without a description of
    its own takes it from the docstring's `Args:` (Google) or `Parameters` (numpy) section.

    Raises:
        ToolDefinitionError: a parameter is `*args`, `**kwargs`, positional-only, without annotation, or of a
            type that has no JSON form. The message names it and ends with the line to write instead.
    """
    name = _function_name(function)
    descriptions = _described_parameters(inspect.getdoc(function) or "")
    fields = {
        parameter.name: _field(function, parameter, descriptions.get(parameter.name))
        for parameter in _signature(function).parameters.values()
    }
    try:
        return _model(name, function, fields)
    except _NO_MODEL as error:
        # pydantic names the type at best; a person looks for the parameter.
        raise ToolDefinitionError(
            f"`{name}`: {_culprit(name, function, fields)} has no JSON form, so a model cannot send it. "
            "Write a type made of models, lists, dicts and scalars, e.g. `rows: list[dict[str, float]]`."
        ) from error


def answer_of(function: Function) -> object:
    """Return the return annotation of `function`; `Any` when it is missing or None.

    Raises:
        ToolDefinitionError: the annotation names something that does not exist.
    """
    annotation = _signature(function).return_annotation
    if annotation is inspect.Signature.empty or annotation in (None, "None"):
        return Any
    resolved = _resolved(function, "return", annotation)
    return Any if resolved is type(None) else resolved


def _signature(function: Function) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ToolDefinitionError(
            f"`{_function_name(function)}` has no signature to read. Write `def my_tool(text: str) -> str: ...`."
        ) from error


def _field(function: Function, parameter: inspect.Parameter, description: str | None) -> tuple[object, object]:
    _refuse_what_a_model_cannot_send(_function_name(function), parameter)
    annotation = _resolved(function, parameter.name, parameter.annotation)
    default = ... if parameter.default is inspect.Parameter.empty else parameter.default
    if description and not _is_described(annotation, default):
        annotation = Annotated[annotation, Field(description=description)]
    return annotation, default


def _refuse_what_a_model_cannot_send(name: str, parameter: inspect.Parameter) -> None:
    own = parameter.name
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        problem, instead = (
            f"takes `*{own}`, but a model sends every argument by its name",
            f"{own}: list[str]",
        )
    elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
        problem, instead = (
            f"takes `**{own}`, but a model needs to be told each name",
            f"{own}: dict[str, str]",
        )
    elif parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
        problem = f"takes `{own}` by position only, but a model sends every argument by its name"
        instead = f"def {name}({own}: {_written(parameter.annotation)})"
        raise ToolDefinitionError(f"`{name}` {problem}. Write `{instead}` without the `/`.")
    elif parameter.annotation is inspect.Parameter.empty:
        problem = f"does not say what `{own}` is, and a model has to be told"
        instead = f"{own}: {_guess(parameter.default)}"
    elif own.startswith("_"):
        problem = f"has a parameter `{own}`; a leading underscore makes a name private"
        instead = f"{own.lstrip('_') or 'value'}: {_written(parameter.annotation)}"
    else:
        return
    raise ToolDefinitionError(f"`{name}` {problem}. Write `{instead}`.")


def _resolved(function: Function, own: str, annotation: object) -> object:
    """Evaluate one annotation, looking for missing names in the frames that lead here.

    pydantic does the same for classes defined inside functions; only our own frames are no place to look.
    """
    carrier = SimpleNamespace(__annotations__={own: annotation})
    scope, local = _scope(function), dict[str, object]()
    while True:  # each round finds one more name
        try:
            return get_type_hints(carrier, scope, local, include_extras=True)[own]
        except NameError as error:
            missing = error.name or ""
            frame = _frame_that_knows(missing)
            if frame is None or missing in local:
                raise _unknown_annotation(function, own, annotation, error) from error
            local[missing] = frame[missing]
        except (TypeError, SyntaxError, AttributeError) as error:
            raise _unknown_annotation(function, own, annotation, error) from error


def _scope(function: Function) -> dict[str, object]:
    target: object = _without_partial(inspect.unwrap(function))
    target = getattr(target, "__func__", target)  # of a method
    if not hasattr(target, "__globals__"):
        target = type(target).__call__  # an object that can be called
    closure = _closed_over(target) if inspect.isfunction(target) else {}
    return {**getattr(target, "__globals__", {}), **closure}


def _closed_over(function: FunctionType) -> dict[str, object]:
    """What it takes from the functions around it, but for what they have not got to yet."""
    found: dict[str, object] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _without_partial(function: Function) -> Function:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _frame_that_knows(name: str) -> Mapping[str, object] | None:
    frame = inspect.currentframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not f"{module}.".startswith("hitl_nb.") and name in frame.f_locals:
            return frame.f_locals
        frame = frame.f_back
    return None


def _unknown_annotation(function: Function, own: str, annotation: object, error: Exception) -> ToolDefinitionError:
    what = "the return type" if own == "return" else f"parameter `{own}`"
    return ToolDefinitionError(
        f"`{_function_name(function)}`: {what} is annotated `{_written(annotation)}`, which cannot be evaluated: "
        f"{_first_line(error)} Define or import it above `def {_function_name(function)}`."
    )


def _is_described(annotation: object, default: object) -> bool:
    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return any(isinstance(part, FieldInfo) and part.description for part in (*metadata, default))


def _model(name: str, function: Function, fields: dict[str, tuple[object, object]]) -> type[BaseModel]:
    title = "".join(word[:1].upper() + word[1:] for word in name.split("_")) or "Parameters"
    with warnings.catch_warnings():
        # A parameter may be called `json` or `copy` like one of BaseModel's own methods; we never call those.
        warnings.filterwarnings("ignore", message=".*shadows an attribute in parent.*")
        model: type[BaseModel] = create_model(
            title,
            __config__=_CONFIG,
            __module__=getattr(function, "__module__", None) or __name__,
            **fields,  # type: ignore[call-overload]  # (annotation, default) pairs, which mypy cannot see through **
        )
    PydanticValidator(model).schema  # noqa: B018 - raises for a type without JSON form
    return model


def _culprit(name: str, function: Function, fields: dict[str, tuple[object, object]]) -> str:
    for own, (annotation, default) in fields.items():
        try:
            _model(name, function, {own: (annotation, default)})
        except _NO_MODEL:
            return f"parameter `{own}` of type `{_written(annotation)}`"
    return "its parameters"


def _function_name(function: Function) -> str:
    target = _without_partial(function)
    return str(getattr(target, "__name__", type(target).__name__))


def _written(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return "str"
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _guess(default: object) -> str:
    if isinstance(default, bool | int | float | str):
        return f"{type(default).__name__} = {default!r}"
    return "str"


def _first_line(error: Exception) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return line if line.endswith(".") else f"{line}."


# -- what a docstring says of parameters ---------------------------------------------------------------------------

_GOOGLE_SECTION: Final = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_GOOGLE_ENTRY: Final = re.compile(r"^(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY: Final = re.compile(r"^\*{0,2}(?P<names>\w+(\s*,\s*\w+)*)\s*(:.*)?$")


def _described_parameters(docstring: str) -> dict[str, str]:
    """Return the description of each parameter on one line, as far as `docstring` (already dedented) says.

    Google's `Args:` and numpy's `Parameters`, because they are what notebooks contain; anything else is left alone
    rather than guessed at.

    ======================================  ===========================
    ``Args:`` / ``    x: How far.``         ``{"x": "How far."}``
    ``Args:`` / ``    x (int): How far.``   ``{"x": "How far."}``
    ``Parameters`` / ``----------`` /
    ``x : int`` / ``    How far.``          ``{"x": "How far."}``
    anything else                           ``{}``
    ======================================  ===========================
    """
    lines = docstring.expandtabs(4).splitlines()
    for number, line in enumerate(lines):
        if _GOOGLE_SECTION.match(line):
            return _google(lines[number + 1 :])
        if line.strip() == "Parameters" and re.match(r"^-{3,}\s*$", "".join(lines[number + 1 : number + 2])):
            return _numpy(lines[number + 2 :])
    return {}


def _google(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    indent, current = "", None
    # An entry as deep as the first is the next parameter; anything deeper goes on about this one.
    for line in lines:
        if line.strip() and not line.startswith(" "):
            break  # the next section
        entry = _GOOGLE_ENTRY.match(line)
        if entry and len(entry["indent"]) <= len(indent or entry["indent"]):
            indent, current = entry["indent"], entry["name"]
            found[current] = [entry["text"]]
        elif current is not None:
            found[current].append(line)
    return _joined(found)


def _numpy(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for number, line in enumerate(lines):
        if re.match(r"^-{3,}\s*$", "".join(lines[number + 1 : number + 2])):
            break  # `line` is the next section's title
        entry = _NUMPY_ENTRY.match(line)
        if entry:
            current = re.split(r"\s*,\s*", entry["names"])
            found.update({name: [] for name in current})
        elif line.startswith(" "):
            for name in current:
                found[name].append(line)
    return _joined(found)


def _joined(found: dict[str, list[str]]) -> dict[str, str]:
    texts = {name: " ".join(part.strip() for part in parts if part.strip()) for name, parts in found.items()}
    return {name: text for name, text in texts.items() if text}
