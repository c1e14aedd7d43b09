"""Steps: a proposed list to tick and untick, as in the CrewAI guide's own example, and the progress of a live state.

On the web the guide's `StepReview` mounts while the arguments still stream, freezes an empty list and loses the
person's choice. Here the choice is made from the complete, validated steps.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel

from hitl_nb._calls import Call
from hitl_nb._schema import readable
from hitl_nb.cards._card import Card, Row, answer_row, change_rows, names_of, plain, value_of
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

    module: ClassVar[str | Path] = "step_review"
    style: ClassVar[str | Path | None] = "step_review"

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
        """Return label and tick of each step that is there so far."""
        return {
            "steps": [
                {"label": self._text_of(step), "checked": self._is_on(step), "note": None} for step in self._steps()
            ]
        }

    def answer(self, value: Any) -> list[Any]:
        """Return the steps with the statuses that were chosen."""
        steps = self._steps()
        checked = value.get("checked") if isinstance(value, Mapping) else None
        if not isinstance(checked, list) or [type(tick) for tick in checked] != [bool] * len(steps):
            raise InvalidValue(f"The card sent {value!r}, not one tick for each of the {len(steps)} steps.")
        return [self._with_tick(step, tick) for step, tick in zip(steps, checked, strict=True)]

    def headline(self) -> str:
        """Return the count, as on the button; steps that an answer left out count as well."""
        answered = self._answered()
        if answered is None:
            return "Answered"
        chosen = sum(map(self._is_on, answered))
        return f"Confirmed {chosen} of {max(len(answered), len(self._steps()))} steps"

    def rows(self) -> Sequence[Row]:
        """Return the steps as answered, and what was changed besides the ticks; before an answer, as proposed."""
        answered = self._answered() if self.call.approved else None
        if answered is not None:
            return [*self._step_rows(answered), *change_rows(self.call, without=self._is_tick)]
        return [*self._step_rows(self._steps()), *([answer_row(self.call)] if self.call.approved else [])]

    def _step_rows(self, steps: Sequence[object]) -> list[Row]:
        # A refusal ticks nothing: a reader must not take the proposal for what was approved.
        is_left = self.call.decided and (not self.call.approved or self._answered() is None)
        marks: list[Literal["on", "off", ""]] = [
            "" if is_left else "on" if self._is_on(step) else "off" for step in steps
        ]
        return [Row(text=self._text_of(step), mark=mark) for step, mark in zip(steps, marks, strict=True)]

    def _answered(self) -> list[Any] | None:
        """The steps that somebody answered with; None if they answered with something else."""
        answer = self.call.answer
        # Code may confirm the arguments as a whole, where the tool says nothing about its answer.
        answered = answer if isinstance(answer, list) else self._list_in(answer)
        return answered if isinstance(answered, list) else None

    def _is_tick(self, change: Mapping[str, object]) -> bool:
        """Whether a change is one that the marks show: a step that was ticked or unticked."""
        ticks = [readable(self._on), readable(self._off)]
        values = [change[side] for side in ("from", "to") if side in change]
        return (
            str(change["path"]).endswith(f"].{self._status}") and len(values) == 2 and all(v in ticks for v in values)
        )

    def _steps(self) -> list[Any]:
        args = self.call.args
        steps = self._list_in(args)
        if isinstance(steps, list):
            return steps
        if self.call.status == "inProgress":
            return []
        raise ToolDefinitionError(
            f"`StepReview` finds no list of steps among the arguments of `{self.call.name}` "
            f"({', '.join(names_of(args)) or 'none'}). Write "
            f'`render=lambda call: StepReview(call, field="steps")`, or a tool with `steps: list[Step]`.'
        )

    def _list_in(self, args: object) -> Any:
        if self._field is not None:
            return value_of(args, self._field)
        values = (value_of(args, name) for name in names_of(args))
        return next((value for value in values if isinstance(value, list)), None)

    def _text_of(self, step: object) -> str:
        if isinstance(step, str):
            return step
        text = value_of(step, self._label)
        # While it streams a step may not have its text yet; complete, a step without one is shown whole.
        if text is None:
            return "" if self.call.status == "inProgress" else plain(step)
        return plain(text)

    def _is_on(self, step: object) -> bool:
        return bool(value_of(step, self._status, None) == self._on)

    def _with_tick(self, step: Any, tick: bool) -> Any:
        if tick == self._is_on(step):
            return step
        status = self._on if tick else self._off
        if isinstance(step, dict):
            return {**step, self._status: status}
        return step.model_copy(update={self._status: status})


# -- the progress of steps --------------------------------------------------------------------------------------------

_SIGNS = {"done": "✓", "now": "●", "later": "○", "failed": "✕"}
_DONE = frozenset({"completed", "complete", "done", "finished", "true", "success"})
_NOW = frozenset({"executing", "running", "in_progress", "inprogress", "active", "started"})
_FAILED = frozenset({"failed", "error"})
_BAR = 20


class Checklist:
    """Draws the steps in a shared state as a checklist with its progress: ``session.render_state(Checklist("steps"))``.

    Args:
        field: The key of the list in the state.
        label: The key of a step's words; default: the first of ``description``, ``title``, ``name``.
        status: The key of how far a step is: ``completed``, ``done`` or True, ``executing``, ``failed``, others.

    Raises:
        ToolDefinitionError: `field` is no text.
    """

    def __init__(self, field: str = "steps", *, label: str | None = None, status: str = "status") -> None:
        if not isinstance(field, str):
            raise ToolDefinitionError(
                f'`Checklist` takes the key of the list, not `{type(field).__name__}`. Write `Checklist("steps")`.'
            )
        self.field, self.label, self.status = field, label, status

    def __call__(self, state: object) -> str | None:
        """Give the checklist as Markdown; None as long as there are no steps."""
        steps = state.get(self.field) if isinstance(state, Mapping) else None
        rows = [self._row(step) for step in steps] if isinstance(steps, list) else []
        if not rows:
            return None
        done = sum(kind == "done" for kind, _ in rows)
        full = round(_BAR * done / len(rows))
        lines = [f"- {_SIGNS[kind]} {f'**{words}**' if kind == 'now' else words}" for kind, words in rows]
        return "\n".join([f"{'▰' * full}{'▱' * (_BAR - full)} {done} of {len(rows)} done", "", *lines])

    def _row(self, step: object) -> tuple[str, str]:
        if isinstance(step, BaseModel):
            step = step.model_dump(mode="json")
        if not isinstance(step, Mapping):
            return "later", _line(step)
        names = [self.label] if self.label else ["description", "title", "name"]
        words = next((step[name] for name in names if step.get(name) is not None), "…")
        far = str(step.get(self.status, step.get("done", ""))).lower()
        kind = "done" if far in _DONE else "now" if far in _NOW else "failed" if far in _FAILED else "later"
        return kind, _line(words)


def _line(words: object) -> str:
    """Words as they are: a step is no place for marks of its own."""
    line = " ".join(str(words).split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|~!" else sign for sign in line)
