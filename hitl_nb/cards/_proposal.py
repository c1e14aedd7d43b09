"""What an untouched Confirm answers with: the proposal itself, where the tool's answer has the form of a proposal.

A tool that proposes steps and takes steps back can be confirmed; one that asks a question cannot, and never is by
accident: no conversion may invent an answer (the text "yes" is not True, an object without a key is not that key's
default).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from hitl_nb._calls import AnswerType, Call
from hitl_nb.cards._card import names_of, value_of
from hitl_nb.errors import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What a call proposes as its own answer."""

    value: Any
    """The answer of an untouched Confirm: the identical object."""

    checks: AnswerType | None
    """What an edited value must fit; None: nothing is known about it."""

    name: str = ""
    """The argument that it is; empty for all of them."""


def proposal_of(call: Call) -> Proposal | None:
    """Give what a call proposes as its own answer; None if it asks for something else."""
    if call.answer_type is None:
        return Proposal(value=call.original, checks=call.args_type if call.proposal is None else None)
    for name, value in _candidates(call):
        accepted = accepted_as(call.answer_type, value)
        if accepted is not NOT_ACCEPTED:
            checks = call.args_type if accepted is call.args and call.args_type else call.answer_type
            return Proposal(value=accepted, checks=checks, name=name)
    return None


def _candidates(call: Call) -> Iterator[tuple[str, Any]]:
    if call.proposal is True:  # a checkpoint that proposes nothing
        return
    yield "", call.original
    names = names_of(call.args)
    sole = value_of(call.args, names[0]) if len(names) == 1 else None
    # A single structured argument is the proposal; a single text is more likely the question.
    if _is_structured(sole):
        yield names[0], sole


def is_as_proposed(call: Call) -> bool:
    """Whether a call was answered with what it proposed."""
    proposal = proposal_of(call)
    return proposal is not None and (
        proposal.value is call.answer
        or (type(proposal.value) is type(call.answer) and _equal(proposal.value, call.answer))
    )


NOT_ACCEPTED: Final = object()
"""What `accepted_as` gives where a value cannot be an answer."""


def accepted_as(type_: AnswerType, value: Any) -> Any:
    """Give `value` as an answer of a type, the identical object if it is one; `NOT_ACCEPTED` if it cannot be."""
    try:
        checked = type_.validate(value)
    except InvalidValue:
        return NOT_ACCEPTED
    if type(checked) is type(value) and _equal(checked, value):
        return value
    return checked if _is_structured(value) and _is_all_in(_as_json(value), _as_json(checked)) else NOT_ACCEPTED


def _is_structured(value: Any) -> bool:
    return isinstance(value, (list, Mapping, BaseModel))


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(first == second)
    except (TypeError, ValueError):  # an array compares to an array
        return False


def _as_json(value: Any) -> Any:
    return to_jsonable_python(value, by_alias=True, inf_nan_mode="strings", serialize_unknown=True)


def _is_all_in(part: Any, whole: Any) -> bool:
    """Whether a conversion has lost nothing of `part`; it may have filled in defaults."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_all_in(inner, whole[key]) for key, inner in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_all_in, part, whole))
    return type(part) is type(whole) and bool(part == whole)
