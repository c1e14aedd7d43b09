"""A function's signature as the definition of a tool; annotations here are strings, as in many notebooks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from hitl_nb._schema import answer_of, parameters_of, validator_for
from hitl_nb.errors import InvalidValue, ToolDefinitionError


class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled", "executing"]


def generate_task_steps(steps: list[Step], limit: Annotated[int, Field(ge=1)] = 3) -> list[Step]:
    """Propose the steps of a task.

    Args:
        steps: The steps,
            in order.
        limit (int): How many at most.

    Returns:
        The steps that were chosen.
    """


def test_a_signature_becomes_a_model_named_after_the_function():
    model = parameters_of(generate_task_steps)
    value = model(steps=[{"description": "boil", "status": "enabled"}])

    assert model.__name__ == "GenerateTaskSteps"
    assert value.steps == [Step(description="boil", status="enabled")]
    assert value.limit == 3


def test_the_return_annotation_is_the_answer():
    assert answer_of(generate_task_steps) == list[Step]


def no_annotation(): ...


def returns_none() -> None: ...


@pytest.mark.parametrize("function", [no_annotation, returns_none])
def test_without_a_return_annotation_any_answer_will_do(function):
    assert answer_of(function) is Any


def test_descriptions_come_from_a_google_docstring():
    properties = validator_for(parameters_of(generate_task_steps)).schema["properties"]

    assert properties["steps"]["description"] == "The steps, in order."
    assert properties["limit"]["description"] == "How many at most."


def test_descriptions_come_from_a_numpy_docstring():
    def clean(column: str, fill: float = 0.0, low: int = 0, high: int = 1):
        """Clean a column.

        Parameters
        ----------
        column : str
            The column
            to clean.
        fill
            What to put in.
        low, high : int
            The limits.

        Returns
        -------
        column : str
            Not a parameter.
        """

    properties = validator_for(parameters_of(clean)).schema["properties"]

    assert [properties[name].get("description") for name in ("column", "fill", "low", "high")] == [
        "The column to clean.",
        "What to put in.",
        "The limits.",
        "The limits.",
    ]


def test_a_description_of_its_own_wins_over_the_docstring():
    def ask(city: Annotated[str, Field(description="own")], country: str = Field("NO", description="own, too")):
        """Ask.

        Args:
            city: From the docstring.
            country: From the docstring.
        """

    properties = validator_for(parameters_of(ask)).schema["properties"]

    assert [each["description"] for each in properties.values()] == ["own", "own, too"]


def test_classes_of_the_running_function_are_found():
    class Local(BaseModel):
        n: int

    def use(value: Local, several: list[Local]) -> Local: ...

    assert parameters_of(use)(value={"n": 1}, several=[]).value == Local(n=1)
    assert answer_of(use) is Local


def test_classes_of_a_notebook_cell_are_found():
    cell = {"__name__": "__main__"}
    exec(  # what a kernel does with a cell
        "from __future__ import annotations\n"
        "from pydantic import BaseModel\n"
        "class Cell(BaseModel):\n    n: int\n"
        "def use(value: Cell) -> list[Cell]: ...\n",
        cell,
    )

    assert parameters_of(cell["use"])(value={"n": 1}).value == cell["Cell"](n=1)
    assert str(answer_of(cell["use"])) == "list[__main__.Cell]"


class Tool:
    def method(self, n: int) -> str: ...

    def __call__(self, text: str) -> int: ...


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (Tool().method, ["n"]),
        (Tool(), ["text"]),
        (functools.partial(generate_task_steps, limit=2), ["steps", "limit"]),
        (functools.wraps(generate_task_steps)(lambda *args, **kwargs: None), ["steps", "limit"]),
        (no_annotation, []),
    ],
)
def test_whatever_can_be_called_has_parameters(function, names):
    assert list(parameters_of(function).model_fields) == names


def test_names_that_pydantic_uses_itself_are_names_like_others():
    def use(json: str, copy: int, schema: dict[str, int], model_name: str = "x"): ...

    value = validator_for(parameters_of(use)).validate({"json": "{}", "copy": 1, "schema": {}})

    assert (value.json, value.copy, value.schema, value.model_name) == ("{}", 1, {}, "x")


def test_a_default_without_json_form_is_no_obstacle():
    def use(key: Callable[[], int] | None = None, limit: float = float("inf")): ...

    def use_default(limit: float = float("inf"), choice: Any = NOTHING): ...

    assert "limit" in validator_for(parameters_of(use_default)).schema["properties"]
    with pytest.raises(ToolDefinitionError, match="`key`"):
        parameters_of(use)


def test_an_argument_the_function_does_not_know_is_refused():
    with pytest.raises(InvalidValue, match="`colour`"):
        validator_for(parameters_of(generate_task_steps)).validate({"steps": [], "colour": "red"})


NOTHING = object()


def star(*items: int): ...


def two_stars(**options: int): ...


def positional(x: int, /): ...


def missing(x, y: int): ...


def missing_with_default(x=3): ...


def unknown(x: NotThere): ...  # noqa: F821 - that is the point


def private(_x: int): ...


class NoModel: ...


def no_json_form(a: int, x: NoModel): ...


@pytest.mark.parametrize(
    ("function", "names", "ends_with"),
    [
        (star, "`star` takes `*items`", "Write `items: list[str]`."),
        (two_stars, "`two_stars` takes `**options`", "Write `options: dict[str, str]`."),
        (positional, "`positional` takes `x`", "Write `def positional(x: int)` without the `/`."),
        (missing, "`missing` does not say what `x` is", "Write `x: str`."),
        (missing_with_default, "`missing_with_default` does not say what `x` is", "Write `x: int = 3`."),
        (unknown, "parameter `x` is annotated `NotThere`", "Define or import it above `def unknown`."),
        (private, "a parameter `_x`", "Write `x: int`."),
        (no_json_form, "parameter `x` of type", "e.g. `rows: list[dict[str, float]]`."),
    ],
)
def test_what_a_model_cannot_send_is_named_with_the_line_to_write(function, names, ends_with):
    with pytest.raises(ToolDefinitionError) as refused:
        parameters_of(function)

    assert names in str(refused.value)
    assert str(refused.value).endswith(ends_with)


def test_an_unknown_return_type_is_named():
    def use() -> NotThere: ...  # noqa: F821

    with pytest.raises(ToolDefinitionError, match="the return type is annotated `NotThere`"):
        answer_of(use)


def test_a_function_that_uses_what_is_defined_below_it_is_a_tool():
    class Here(BaseModel):
        n: int

    def use(x: Here) -> Here:
        return helper(x)

    made = parameters_of(use)

    def helper(x: Here) -> Here:
        return x

    assert made(x={"n": 1}).x == helper(Here(n=1))
