"""A plan to put in order: steps are ticked, moved, reworded and added, and steps may have steps of their own.

The page sends where each step comes from and what was changed in it; the plan is put together here, from the steps
that were proposed. A step that nobody touched is the identical object, whatever else it holds.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import BaseModel

from hitl_nb._calls import NOT_ACCEPTED, AnswerType, Call, accepted_as, proposal_of
from hitl_nb._schema import MISSING, NAMES, FormNode, node_at, opened, validator_for
from hitl_nb._text import suspicious
from hitl_nb.cards._card import Row, answer_row, args_form_of, argument_rows, change_rows, names_of, rows_of, value_of
from hitl_nb.cards._faults import in_person
from hitl_nb.cards.step_review import StepReview
from hitl_nb.errors import InvalidValue

_NEW: Final = None
"""Where a step comes from that a person has added."""


class PlanReview(StepReview):
    """Steps to tick, to put in order, to reword and to add, also within steps; the answer is the plan as it is then.

    The steps are a list among the arguments, of texts, dicts or models. What else a step holds is shown with it, and
    stays with it. A step that has no status is left out where it is unticked.

    Args:
        call: The call; its arguments hold the steps.
        field: The name of that argument; default: the first list.
        label: The name of a step's text.
        status: The name of a step's status; where it is a bool, `on` and `off` are True and False.
        on: The status of a ticked step.
        off: The status of an unticked one.
        nested: The name of a step's own steps.
        order: Whether steps may be moved, also under another step that has some of its own.
        edit: Whether they may be reworded.
        add: Whether there may be new ones; where a step needs more than a text and a status, there are none.
    """

    module: ClassVar[str | Path] = "plan_review"
    style: ClassVar[str | Path | None] = "plan_review"

    def __init__(
        self,
        call: Call,
        *,
        field: str | None = None,
        label: str = "description",
        status: str = "status",
        on: Any = "enabled",
        off: Any = "disabled",
        nested: str = "steps",
        order: bool = True,
        edit: bool = True,
        add: bool = True,
    ) -> None:
        super().__init__(call, field=field, label=label, status=status, on=on, off=off)
        self._nested, self._order, self._edit, self._add = nested, order, edit, add
        self._takes_new: bool | None = None

    # -- what is shown -------------------------------------------------------------------------------------------

    def props(self) -> dict[str, Any]:
        """Give the steps as far as they are there, and what may be done with them."""
        writing = self.call.status == "inProgress"
        return {
            "rows": [] if writing else [row for row in self.context() if row["label"] != self._list_name()],
            "steps": [self._step_props(step, self._node()) for step in self._steps()],
            "order": self._order,
            "add": not writing and self._add and self._can_take_new(),
        }

    def _node(self) -> FormNode | None:
        """What is known about a step."""
        form, args = args_form_of(self.call), self.call.args
        steps = None if form is None else node_at(form, args, (_key(args, self._list_name()),))
        return None if steps is None else steps.item

    def _step_props(self, step: object, node: FormNode | None) -> dict[str, Any]:
        label = self._text_of(step)
        inner, below = self._inner(step), self._node_below(step, node)
        return {
            "label": label,
            "checked": self._is_on(step),
            # A box would lose what cannot be seen, and a step without its text is shown whole.
            "edit": self._edit and not suspicious(label) and "\n" not in label and isinstance(self._words(step), str),
            "note": " · ".join(f"{row.label}: {row.text}" for row in self._others(step, node)) or None,
            "steps": None if inner is None else [self._step_props(each, below) for each in inner],
        }

    def _node_below(self, step: object, node: FormNode | None) -> FormNode | None:
        steps = None if node is None else node_at(node, step, (_key(step, self._nested),))
        return None if steps is None else steps.item

    def _others(self, step: object, node: FormNode | None) -> list[Row]:
        inside = opened(step)
        if not isinstance(inside, Mapping) or self._words(step) is None:
            return []
        told = {_key(step, name) for name in (self._label, self._status, self._nested)}
        rest = {key: value for key, value in inside.items() if key not in told}
        # What is a secret by its name is seen by whoever decides, and is stars in what stays.
        form = None if node is None else node_at(node, step, ())
        return rows_of(rest, form, hider=NAMES if self.call.decided else None)

    def _words(self, step: object) -> Any:
        return step if isinstance(step, str) else value_of(step, self._label)

    def _inner(self, step: object) -> list[Any] | None:
        """The steps of a step; None where it can have none."""
        inner = None if isinstance(step, str) else value_of(step, self._nested)
        return inner if isinstance(inner, list) else None

    def _has_status(self, step: object) -> bool:
        return not isinstance(step, str) and value_of(step, self._status, MISSING) is not MISSING

    def _is_on(self, step: object) -> bool:
        return not self._has_status(step) or bool(value_of(step, self._status) == self._ticks(step)[0])

    def _ticks(self, step: object) -> tuple[Any, Any]:
        is_bool = isinstance(value_of(step, self._status), bool)
        return (True, False) if is_bool else (self._on, self._off)

    # -- the answer ----------------------------------------------------------------------------------------------

    def answer(self, value: Any) -> Any:
        """Give the plan as a person has left it: what was proposed itself, where nothing was done.

        Raises:
            InvalidValue: A step of it is not what a step may be, or the page sent something else.
        """
        steps = self._steps()
        nodes, left = value.get("steps") if isinstance(value, Mapping) else None, dict(self._keyed(steps))
        count = len(left)
        made = self._made(steps, nodes, left)
        if left:
            raise InvalidValue(f"The card sent not each of the {count} steps once.")
        if made is steps:
            proposal = proposal_of(self.call)
            return proposal.value if proposal is not None else steps
        answer, checks = self._as_answer(made), self._checks()
        if checks is None:
            return answer
        try:
            return checks.validate(answer)
        except InvalidValue as error:
            raise InvalidValue(_in_words(error), error.errors) from error

    def _keyed(self, steps: Sequence[object], above: str = "") -> Iterator[tuple[str, Any]]:
        """Each step that was proposed, by where it stood: ``1.0`` is the first one of the second."""
        for at, step in enumerate(steps):
            yield f"{above}{at}", step
            yield from self._keyed(self._inner(step) or [], f"{above}{at}.")

    def _made(self, steps: list[Any], nodes: object, left: dict[str, Any], above: str = "") -> list[Any]:
        """The steps as the page has them, taken out of those that are left; the identical list if they were so."""
        if not isinstance(nodes, list) or not all(isinstance(node, Mapping) for node in nodes):
            raise InvalidValue("The card sent no list of steps.")
        made = [part for node in nodes for part in self._step_made(node, steps, left, above)]
        return steps if len(made) == len(steps) and all(map(is_, made, steps)) else made

    def _step_made(self, node: Mapping[str, Any], beside: list[Any], left: dict[str, Any], above: str) -> list[Any]:
        text, tick, at, inside = node.get("text"), node.get("on"), node.get("at"), node.get("steps") or []
        if not isinstance(tick, bool) or not (text is None or isinstance(text, str)):
            raise InvalidValue(f"The card sent {node!r} for a step.")
        if at is _NEW:
            if inside:
                raise InvalidValue("A new step has no steps of its own.")
            return [self._new(text or "", tick, like=beside)] if tick or self._some_status(beside) else []
        key = node.get("key", f"{above}{at}")
        if type(at) is not int or not isinstance(key, str) or key not in left:
            raise InvalidValue(f"The card sent {node!r}, which is none of the steps, or was there before.")
        step = left.pop(key)
        if beside and isinstance(step, str) != isinstance(beside[0], str):
            raise InvalidValue(f"`{self._text_of(step)}` cannot stand there: the steps beside it are of another kind.")
        inner = self._inner(step)
        if inner is None and inside:
            raise InvalidValue(f"`{self._text_of(step)}` can have no steps of its own.")
        under = None if inner is None else self._made(inner, inside, left, f"{key}.")
        if not tick and not self._has_status(step):
            if _is_any_on(inside):
                raise InvalidValue(f"`{self._text_of(step)}` is left out, and a step below it is ticked.")
            return []
        changes: dict[str, Any] = {}
        if text is not None and text != self._words(step):
            if isinstance(step, str):
                return [text]
            changes[_key(step, self._label)] = text
        if tick != self._is_on(step):
            changes[_key(step, self._status)] = self._ticks(step)[0 if tick else 1]
        if under is not inner:
            changes[_key(step, self._nested)] = under
        whole: Any = opened(step)
        return [{**whole, **changes} if changes else step]

    def _new(self, text: str, tick: bool, *, like: list[Any]) -> Any:
        """A step that nobody proposed: of the kind of those beside it, with nothing in it but its text and status."""
        if not text.strip():
            raise InvalidValue("A new step has no words yet.")
        like = [*like, *self._steps()]
        if like and isinstance(like[0], str):
            return text
        known = next((step for step in like if self._has_status(step)), None)
        words = next((step for step in like if not isinstance(step, str)), None)
        made = {_key(words, self._label): text}
        return made if known is None else {**made, _key(known, self._status): self._ticks(known)[0 if tick else 1]}

    def _some_status(self, steps: list[Any]) -> bool:
        return any(map(self._has_status, [*steps, *self._steps()]))

    def _can_take_new(self) -> bool:
        if self._takes_new is None:
            steps, checks = self._steps(), self._checks()
            text = next((words for step in steps if isinstance(words := self._words(step), str) and words), "")
            self._takes_new = bool(text)
            try:
                if text and checks is not None:
                    checks.validate(self._as_answer([*steps, self._new(text, True, like=steps)]))
            except InvalidValue:
                self._takes_new = False
        return self._takes_new

    def _list_name(self) -> str:
        if self._field is not None:
            return self._field
        args = self.call.args
        return next((name for name in names_of(args) if isinstance(value_of(args, name), list)), "")

    def _takes_list(self) -> bool:
        """Whether the answer is the list, and not all arguments."""
        kind = self.call.answer_type
        return kind is not None and accepted_as(kind, self._steps()) is not NOT_ACCEPTED

    def _as_answer(self, made: list[Any]) -> Any:
        if self._takes_list():
            return made
        args, name = self.call.args, self._list_name()
        inside: Any = opened(args)
        return {**inside, _key(args, name): made}

    def _checks(self) -> AnswerType | None:
        args = self.call.args
        if self.call.answer_type is not None:
            return self.call.answer_type
        return self.call.args_type or (validator_for(type(args)) if isinstance(args, BaseModel) else None)

    # -- what stays ----------------------------------------------------------------------------------------------

    def headline(self) -> str:
        """Give how many steps it has now, of all that were proposed or added."""
        answered = self._answered()
        if answered is None:
            return "Answered"
        lines = self._lines(answered)
        count = max(len(lines), len(self._lines(self._steps())))
        return f"Confirmed {sum(line.on for line in lines)} of {count} steps"

    def rows(self) -> Sequence[Row]:
        """Give the plan as it was answered, and what of it was proposed otherwise; before an answer, as proposed."""
        others = [row for row in argument_rows(self.call) if row.label not in (self._list_name(), "")]
        before = self._lines(self._steps())
        answered = self._answered() if self.call.approved else None
        if answered is None:
            rest = [answer_row(self.call)] if self.call.approved else []
            return [*others, *(self._row(line) for line in before), *rest]
        now = self._lines(answered)
        told, gone, same = _compared(before, now)
        rows = [self._row(line, was) for line, was in zip(now, told, strict=True)]
        rows += [Row(label="left out", text=line.words()) for line in gone]
        return [*others, *rows, *([] if same else change_rows(self.call, without=self._is_tick))]

    def _row(self, line: "_Line", was: str = "") -> Row:
        decided = self.call.decided and (not self.call.approved or self._answered() is None)
        return Row(text=line.words(was), mark="" if decided else "on" if line.on else "off")

    def _lines(self, steps: Sequence[object]) -> list["_Line"]:
        return list(self._numbered(steps, self._node()))

    def _numbered(self, steps: Sequence[object], node: FormNode | None, above: str = "") -> Iterator["_Line"]:
        for place, step in enumerate(steps, 1):
            number = f"{above}{place}"
            rest = " · ".join(f"{row.label}: {row.text}" for row in self._others(step, node))
            yield _Line(number=number, text=self._text_of(step), on=self._is_on(step), rest=rest)
            yield from self._numbered(self._inner(step) or [], self._node_below(step, node), f"{number}.")


def _is_any_on(nodes: Sequence[Mapping[str, Any]]) -> bool:
    return any(node.get("on") is True or _is_any_on(node.get("steps") or []) for node in nodes)


@dataclass(frozen=True, kw_only=True)
class _Line:
    """A step as the record has it."""

    number: str
    text: str
    on: bool
    rest: str

    def words(self, was: str = "") -> str:
        """Say it."""
        return f"{self.number}  {self.text}{f' ({was})' if was else ''}{f' · {self.rest}' if self.rest else ''}"


def _compared(before: Sequence[_Line], now: Sequence[_Line]) -> tuple[list[str], list[_Line], bool]:
    """Say of each line what it was, which lines are gone, and whether the rest of each is what it was."""
    left = list(before)
    found: list[_Line | None] = []
    for line in now:
        alike = [each for each in left if each.text == line.text]
        same = next((each for each in alike if each.number == line.number), next(iter(alike), None))
        found.append(same)
        if same is not None:
            left.remove(same)
    # A line that is unknown where another one stood is that one, reworded.
    for at, line in enumerate(now):
        stood = next((each for each in left if each.number == line.number), None)
        if found[at] is None and stood is not None:
            found[at] = stood
            left.remove(stood)
    order = {line.number: place for place, line in enumerate(before)}
    was_of = {line.number: was.number for line, was in zip(now, found, strict=True) if was is not None}
    at_home: dict[str, list[int]] = {}  # of each step that holds some: those that it held before
    for number, was_number in was_of.items():
        if _above(was_number) == was_of.get(_above(number), ""):
            at_home.setdefault(_above(number), []).append(order[was_number])
    stays = {place for places in at_home.values() for place in _rising(places)}
    told = []
    for line, was in zip(now, found, strict=True):
        moved = was is not None and order[was.number] not in stays
        words = ["new"] if was is None else [f"was: {was.text}"] if was.text != line.text else []
        told.append(", ".join([*words, *([f"was {was.number}"] if moved and was is not None else [])]))
    same_rest = all(was is None or was.rest == line.rest for line, was in zip(now, found, strict=True))
    return told, left, same_rest


def _above(number: str) -> str:
    """The number of the step that a step belongs to; nothing for those at the top."""
    return number.rpartition(".")[0]


def _rising(places: Sequence[int]) -> set[int]:
    """The longest part of them that is in order: those that have stayed while others were moved around them."""
    ends: list[int] = []
    chains: list[tuple[int, ...]] = []
    for place in places:
        at = bisect_left(ends, place)
        chain = (*(chains[at - 1] if at else ()), place)
        ends[at : at + 1], chains[at : at + 1] = [place], [chain]
    return set(chains[-1]) if chains else set()


def _key(step: object, name: str) -> str:
    """Return the key under which a step, or what holds them, is given its field: the alias of a model's."""
    fields = getattr(type(step), "model_fields", {})
    alias = getattr(fields.get(name), "validation_alias", None)
    return alias if isinstance(alias, str) else name


def _in_words(error: InvalidValue) -> str:
    """Say which step is wrong, and what is wrong with it."""
    faults = []
    for each in error.errors:
        number = ".".join(str(part + 1) for part in each["path"] if isinstance(part, int))
        message = in_person(each["message"])
        faults.append(f"Step {number}: {message[:1].lower()}{message[1:]}" if number else message)
    return " ".join(dict.fromkeys(faults)) or str(error)
