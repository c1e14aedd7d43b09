"""What a function or schema asks for: as a validator, and as the tree a form is drawn from.

The way of a form: `validator_for(type).json_schema` → `form_tree` → `to_wire` (the tree by its method, the
value by the function, after `hide_secrets`; `layout_of` beside it) → the browser → `apply_edits` on the
original value → `validate`.
"""

from hitl_nb._schema._changes import changes_of, shared_start
from hitl_nb._schema._edits import apply_edits
from hitl_nb._schema._hiding import (
    NAMES,
    NO_FACTS,
    Hider,
    TypeFacts,
    facts_of,
    facts_of_type,
    learn_from,
    learn_from_text,
    secrets_of,
)
from hitl_nb._schema._layout import blank_of, branch_of, hide_secrets, layout_of, node_at, readable
from hitl_nb._schema._node import MISSING, FormNode, Kind, Option, from_wire
from hitl_nb._schema._patterns import pattern_in_words
from hitl_nb._schema._signature import answer_of, parameters_of
from hitl_nb._schema._tree import form_of, form_tree, secret_form_of
from hitl_nb._schema._types import JsonSchemaValidator, PydanticValidator, Validator, validator_for
from hitl_nb._schema._wire import Json, by_text, is_sequence, opened, to_wire

__all__ = [
    "MISSING",
    "NAMES",
    "NO_FACTS",
    "FormNode",
    "Hider",
    "Json",
    "JsonSchemaValidator",
    "Kind",
    "Option",
    "PydanticValidator",
    "TypeFacts",
    "Validator",
    "answer_of",
    "apply_edits",
    "blank_of",
    "branch_of",
    "by_text",
    "changes_of",
    "facts_of",
    "facts_of_type",
    "form_of",
    "form_tree",
    "from_wire",
    "hide_secrets",
    "is_sequence",
    "layout_of",
    "learn_from",
    "learn_from_text",
    "node_at",
    "opened",
    "parameters_of",
    "pattern_in_words",
    "readable",
    "secret_form_of",
    "secrets_of",
    "shared_start",
    "to_wire",
    "validator_for",
]
