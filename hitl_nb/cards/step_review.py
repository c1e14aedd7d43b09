"""A list of proposed steps to tick and untick, as in the CrewAI guide's own example – with the example's fault gone.

On the web the guide's `StepReview` mounts while the arguments still stream, freezes an empty list and loses the
person's choice (facts/copilotkit.md §0.1). Here the choice is made from the complete, validated steps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from hitl_nb._calls import Call
from hitl_nb.cards._card import Card, Row, names_of, value_of
from hitl_nb.cards._text import plain
from hitl_nb.errors import InvalidValue, ToolDefinitionError


class StepReview(Card):
    """Steps with checkboxes; the answer is the list of steps with each status as the person left it.

    Args:
        call: The call; its arguments hold a list of steps, each with a text and a status.
        field: The name of that argument; default: the first list.
        label: The name of a step's text.
        status: The name of a step's status.
        on: The status of a ticked step.
        off: The status of an unticked one.

    A step that nobody touched keeps its status, whatever it is.
    """

    module: ClassVar[str] = "step_review"

    def __init__(
        self,
        call: Call,
        *,
        field: str | None = None,
        label: str = "description",
        status: str = "status",
        on: Any = "enabled",
        off: Any = "disabled",
    ) -> None:
        super().__init__(call)
        self._field, self._label, self._status = field, label, status
        self._on, self._off = on, off

    def props(self) -> dict[str, Any]:
        """Give label and tick of each step that is there so far."""
        return {
            "steps": [
                {"label": self._text_of(step), "checked": self._is_on(step), "note": None} for step in self._steps()
            ]
        }

    def answer(self, value: Any) -> list[Any]:
        """Give the steps with the statuses that were chosen."""
        steps = self._steps()
        checked = value.get("checked") if isinstance(value, Mapping) else None
        if not isinstance(checked, list) or [type(tick) for tick in checked] != [bool] * len(steps):
            raise InvalidValue(f"The card sent {value!r}, not one tick for each of the {len(steps)} steps.")
        return [self._with_tick(step, tick) for step, tick in zip(steps, checked, strict=True)]

    def headline(self) -> str:
        """Give the count, as on the button."""
        ticks = [row.mark == "on" for row in self.rows()]
        return f"Confirmed {sum(ticks)} of {len(ticks)} steps"

    def rows(self) -> Sequence[Row]:
        """Give the steps as answered; before an answer, as proposed."""
        answered = self.call.answer if self.call.approved and isinstance(self.call.answer, list) else None
        return [
            Row(text=self._text_of(step), mark=self._mark(step))
            for step in (self._steps() if answered is None else answered)
        ]

    def _mark(self, step: Any) -> Literal["on", "off", ""]:
        # A refusal ticks nothing: a reader must not take the proposal for what was approved.
        if self.call.decided and not self.call.approved:
            return ""
        return "on" if self._is_on(step) else "off"

    def _steps(self) -> list[Any]:
        args = self.call.args
        if self._field is not None:
            steps = value_of(args, self._field)
        else:
            values = (value_of(args, name) for name in names_of(args))
            steps = next((value for value in values if isinstance(value, list)), None)
        if isinstance(steps, list):
            return steps
        if self.call.status == "inProgress":
            return []
        raise ToolDefinitionError(
            f"`StepReview` finds no list of steps among the arguments of `{self.call.name}` "
            f"({', '.join(names_of(args)) or 'none'}). Write "
            f'`render=lambda call: StepReview(call, field="steps")`, or a tool with `steps: list[Step]`.'
        )

    def _text_of(self, step: Any) -> str:
        if isinstance(step, str):
            return step
        text = value_of(step, self._label)
        # While it streams a step may not have its text yet; complete, a step without one is shown whole.
        if text is None:
            return "" if self.call.status == "inProgress" else plain(step)
        return plain(text)

    def _is_on(self, step: Any) -> bool:
        return bool(value_of(step, self._status, None) == self._on)

    def _with_tick(self, step: Any, tick: bool) -> Any:
        if tick == self._is_on(step):
            return step
        status = self._on if tick else self._off
        if isinstance(step, dict):
            return {**step, self._status: status}
        return step.model_copy(update={self._status: status})
