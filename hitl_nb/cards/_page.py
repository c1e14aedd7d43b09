"""What a form is about: the proposal to review, or the answer to give."""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from hitl_nb._calls import AnswerType, Call, proposal_of
from hitl_nb._schema import MISSING, FormNode, blank_of, form_of, layout_of
from hitl_nb.cards._card import value_of
from hitl_nb.errors import ToolDefinitionError


@dataclass(frozen=True, kw_only=True)
class Page:
    """A form, and the value it starts from."""

    mode: Literal["review", "answer"]
    """``review``: the value is a proposal, and may be edited; ``answer``: it is a question's answer, to be given."""

    form: FormNode
    """What is drawn."""

    value: Any
    """What is in it at first; in ``review`` the proposal itself."""

    layout: list[dict[str, Any]]
    """As of `layout_of`."""

    checks: AnswerType
    """What an edited value must fit."""

    name: str = ""
    """The argument that it is; empty for all of them."""


def page_of(call: Call, initial: Any = MISSING) -> Page:
    """Give the page for a call with complete arguments.

    Args:
        call: The call.
        initial: What the answer starts from; with one, it is an answer to give even if something is proposed.

    Raises:
        ToolDefinitionError: Nothing is known about the type of the value.
    """
    proposal = proposal_of(call) if initial is MISSING else None
    if proposal is None:
        return _answer_page(call, initial)
    if proposal.checks is None:
        raise ToolDefinitionError(
            f"`{call.name}` says nothing about the type of what it proposes, so there is no form for it. "
            "Write `answer=` with its type."
        )
    form = form_of(proposal.checks)
    return Page(
        mode="review",
        form=form,
        value=proposal.value,
        layout=layout_of(form, proposal.value),
        checks=proposal.checks,
        name=proposal.name,
    )


def preview_of(call: Call) -> Page:
    """Give the page while the model writes: as far as it is there, and as it will most likely be."""
    args = call.args if isinstance(call.args, dict) else {}
    if call.answer_type is None:
        return _preview(call.args_type, args)
    wanted = form_of(call.answer_type)
    whole = form_of(call.args_type) if call.args_type is not None else None
    if whole is not None and _alike(whole, wanted):
        return _preview(call.answer_type, args)
    children = whole.children if whole is not None else ()
    if len(children) == 1 and children[0][1].kind in _STRUCTURED and _alike(children[0][1], wanted):
        name = str(children[0][0])
        return _preview(call.answer_type, value_of(args, name), name)
    return _answer_page(call, MISSING)


def _preview(checks: Any, value: Any, name: str = "") -> Page:
    form = form_of(checks)
    value = blank_of(form)[0] if value is None else value
    return Page(mode="review", form=form, value=value, layout=layout_of(form, value), checks=checks, name=name)


def _answer_page(call: Call, initial: Any) -> Page:
    if call.answer_type is None:
        raise ToolDefinitionError(
            f"`{call.name}` says nothing about its answer, so there is no form for it. Write `answer=` with its type."
        )
    form = form_of(call.answer_type)
    value, layout = blank_of(form) if initial is MISSING else (initial, layout_of(form, initial))
    return Page(mode="answer", form=form, value=value, layout=layout, checks=call.answer_type)


_STRUCTURED: Final = frozenset({"list", "table", "object", "dict", "tuple"})


def _alike(first: FormNode, second: FormNode) -> bool:
    """Whether two nodes take the same values; what they are called does not matter."""
    return _bare(first) == _bare(second)


def _bare(node: FormNode) -> FormNode:
    return replace(node, title="", description="", required=True, default=MISSING)
