"""The one idea of the proposal: what is proposed, what an untouched Confirm answers, and what an answer changed.

A tool that proposes steps and takes steps back can be confirmed; one that asks a question cannot, and never is by
accident: no conversion may invent an answer (the text "yes" is not True, an object without a key is not that key's
default). Outcome, tool message, record, journal and summary all take it from here, whoever answers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._calls._decision import AnswerType
from hitl_nb._calls._fingerprint import print_of
from hitl_nb._calls._held import frozen
from hitl_nb._schema import (
    MISSING,
    FormNode,
    JsonSchemaValidator,
    PydanticValidator,
    changes_of,
    is_sequence,
    opened,
    readable,
    secret_form_of,
)
from hitl_nb.errors import InvalidValue, UsageError

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """What a call proposes as its own answer."""

    value: Any
    """The answer of an untouched Confirm: the identical object."""

    checks: AnswerType | None
    """What an edited value must fit; None: nothing is known about it."""

    name: str = ""
    """The argument that it is; empty for all of them."""

    form: FormNode | None = None
    """Its tree, if a secret may stand in it."""


def proposal_of(call: "Call") -> Proposal | None:
    """Return what a call proposes as its own answer; None if it asks for something else."""
    known = call._handle.proposal  # of an open question: read once, while nobody waits for it yet
    return read_proposal(call) if known is MISSING else known


def read_proposal(call: "Call") -> Proposal | None:
    """Find it among what is asked about now."""
    if call.answer_type is None:
        whole = next(_candidates(call), None)
        checks = call.args_type if call.offer is MISSING else None
        return None if whole is None else Proposal(value=whole[1], checks=checks, form=secret_form_of(checks))
    for name, value in _candidates(call):
        accepted = accepted_as(call.answer_type, value)
        if accepted is not NOT_ACCEPTED:
            checks = call.args_type if accepted is call.args and call.args_type else call.answer_type
            return Proposal(value=accepted, checks=checks, name=name, form=secret_form_of(checks))
    return None


def _candidates(call: "Call") -> Iterator[tuple[str, Any]]:
    if call.offer is not MISSING:
        yield "", call.offer
    elif not call.offers_arguments:
        return
    else:
        yield "", call.args
    sole = _sole(call.args)
    # A single structured argument is the proposal; a single text is more likely the question.
    if sole is not None and _is_structured(sole[1]):
        yield sole


def _sole(args: object) -> tuple[str, Any] | None:
    """The only argument, by name."""
    if isinstance(args, dict) and len(args) == 1:
        [(name, value)] = args.items()
        return str(name), value
    fields = getattr(type(args), "model_fields", None)
    if fields is not None and len(fields) == 1:
        [name] = fields
        return name, getattr(args, name)
    return None


def edits_of(call: "Call", answer: Any) -> tuple[dict[str, Any], ...] | None:
    """Return what an answer changed in what was proposed: ``{"path": …, "from": …, "to": …}`` each, without secrets.

    Empty if nothing was changed; None if the answer is no form of the proposal at all (a text that answers a
    question), so that there is nothing to compare.
    """
    if hasattr(type(answer), "__edits__"):  # ours: what was done to a table, which is too large to be compared
        return tuple(answer.__edits__())
    for proposal in _comparable(call):
        if proposal.value is answer:
            return ()
        if _alike(proposal.value, answer):
            return _changes(proposal, answer)
    return None


def is_another_answer(offer: object, written: object) -> bool:
    """Return whether what was written down as an answer is no form of what was proposed, as far as its form tells.

    Args:
        offer: What was proposed.
        written: The answer, as JSON data.
    """
    inside = opened(offer)
    if isinstance(inside, Mapping):
        keys = {str(key) for key in inside}
        return not isinstance(written, Mapping) or (bool(keys) and bool(written) and not keys & written.keys())
    if is_sequence(inside):
        return not isinstance(written, list)
    return isinstance(inside, str | int | float | bool) and isinstance(written, dict | list)


def _comparable(call: "Call") -> Iterator[Proposal]:
    proposal = proposal_of(call)
    if proposal is not None:
        yield proposal
    if call.answer_type is None and proposal is not None and not proposal.name:
        sole = _sole(call.args)
        # A tool that says nothing about its answer: `call.respond(call.args.steps)` confirms the steps.
        if sole is not None and call.offer is MISSING and _is_structured(sole[1]):
            yield Proposal(value=sole[1], checks=None, name=sole[0])


def _alike(original: object, answer: object) -> bool:
    first, second = opened(original), opened(answer)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        # An approval's `{"approved": true}` is no edit of a proposal that has no such key; emptied is edited.
        return type(original) is not dict or not second or not first or bool(first.keys() & second.keys())
    return type(original) is type(answer) or (is_sequence(first) and is_sequence(second))


def _changes(proposal: Proposal, answer: object) -> tuple[dict[str, Any], ...]:
    try:
        found = tuple(changes_of(proposal.value, answer, proposal.form, name=proposal.name))
    except (InvalidValue, PydanticSerializationError, TypeError, ValueError, RecursionError):
        found = ()
    if found or not _differ(proposal.value, answer):
        return found
    # Different, in a way that has no form to compare: a frame, an array, a type.
    return ({"path": proposal.name, "from": _in_short(proposal.value), "to": _in_short(answer)},)


def _differ(original: object, answer: object) -> bool:
    """Whether the two differ in content; plain data that answers for a model of it does not."""
    try:
        if print_of(original).digest == print_of(answer).digest:
            return False
    except UsageError:
        return True
    if type(original) is type(answer):
        return True
    try:
        return bool(_as_json(original) != _as_json(answer))
    except (PydanticSerializationError, TypeError, ValueError, RecursionError):
        return True


def _in_short(value: object) -> Any:
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__} {tuple(shape)}" if shape is not None else readable(value)


def confirmed(call: "Call") -> Any:
    """Return what a plain Confirm answers with: the proposal itself, or True where a yes is asked for.

    Raises:
        InvalidValue: The tool asks for something that is not among its arguments (a text, a date): confirming cannot
            answer that.
    """
    proposal = proposal_of(call)
    if proposal is not None:
        return proposal.value
    if call.answer_type is not None and accepted_as(call.answer_type, True) is True:
        return True
    raise InvalidValue(
        f"Confirm cannot answer `{call.name}`: it asks for something that is not among its arguments. "
        f"Answer in a cell with `session.pending[0].respond(...)`, or write "
        f"`@human_in_the_loop(render=...)` on `{call.name}`."
    )


def is_as_proposed(call: "Call") -> bool:
    """Whether a call was answered with what it proposed."""
    proposal = proposal_of(call)
    return proposal is not None and (proposal.value is call.answer or equal(proposal.value, call.answer))


NOT_ACCEPTED: Final = object()
"""What `accepted_as` gives where a value cannot be an answer."""


def accepted_as(type_: AnswerType, value: object) -> Any:
    """Return `value` as an answer of a type, the identical object if it is one; `NOT_ACCEPTED` if it cannot be."""
    checked = _checked_or_not(type_, value)
    if checked is NOT_ACCEPTED:
        return NOT_ACCEPTED
    if equal(checked, value):
        return value
    return checked if _is_structured(value) and _is_all_in(_as_json(value), _as_json(checked)) else NOT_ACCEPTED


def _checked_or_not(type_: AnswerType, value: object) -> Any:
    if isinstance(type_, PydanticValidator):
        return type_.validated_or(value, NOT_ACCEPTED)
    try:
        return type_.validate(value)
    except InvalidValue:
        return NOT_ACCEPTED


def invents_a_yes(given: object, answer: object) -> bool:
    """Whether checking has made a yes or no of something that was none: 1, "yes" and "on" are not True."""
    if isinstance(answer, bool):
        return not _is_bool(given)
    before, after = opened(given), opened(answer)
    if isinstance(after, bool):
        return not _is_bool(before)
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return any(key in before and invents_a_yes(before[key], part) for key, part in after.items())
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        return len(before) == len(after) and any(map(invents_a_yes, before, after))
    return False


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def _is_structured(value: object) -> bool:
    return isinstance(value, (list, Mapping, BaseModel))


def equal(first: object, second: object) -> bool:
    """Whether two values are of one type and equal, as far as they can tell."""
    try:
        return type(first) is type(second) and bool(first == second)
    except Exception:  # an array compares to an array; other people's `__eq__` may raise anything
        return False


def as_said(call: "Call", answer: Any) -> Any:
    """Return an answer as it is said, in a copy that whoever gave it does not hold.

    What was proposed is itself, and so is what a type of ours gives back: an option, a table.
    """
    theirs = isinstance(call.answer_type, PydanticValidator | JsonSchemaValidator | None)
    if not theirs or answer is call.args or any(each.value is answer for each in _comparable(call)):
        return answer
    return frozen(answer)


def _as_json(value: object) -> Any:
    return to_jsonable_python(value, by_alias=True, inf_nan_mode="strings", serialize_unknown=True)


def _is_all_in(part: object, whole: object) -> bool:
    """Whether a conversion has lost nothing of `part`; it may have filled in defaults."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and _is_all_in(inner, whole[key]) for key, inner in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) == len(whole) and all(map(_is_all_in, part, whole))
    return type(part) is type(whole) and bool(part == whole)
