"""The form trees behind the cards: built once a type, however many calls have it."""

import functools
from typing import Any

from pydantic import BaseModel

from hitl_nb._calls import Call
from hitl_nb._schema import FormNode, form_of, validator_for
from hitl_nb.errors import ToolDefinitionError


def args_form_of(call: Call) -> FormNode | None:
    """Give the tree of a call's arguments, None if nothing is known about them."""
    if call.args_type is not None:
        return _form_or_none(call.args_type)
    return _form_of_model(type(call.args)) if isinstance(call.args, BaseModel) else None


def answer_form_of(call: Call) -> FormNode | None:
    """Give the tree of a call's answers, None if anything may be answered."""
    return None if call.answer_type is None else _form_or_none(call.answer_type)


def _form_or_none(validator: Any) -> FormNode | None:
    try:
        return form_of(validator)
    except ToolDefinitionError:
        return None


@functools.lru_cache(maxsize=256)
def _form_of_model(model: type[BaseModel]) -> FormNode | None:
    return _form_or_none(validator_for(model))
