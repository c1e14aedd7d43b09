"""What a function or schema asks for: as a validator, and as the tree a form is drawn from.

The way of a form: `validator_for(type).json_schema` → `form_tree` → `to_wire` (the tree by its method, the
value by the function, after `hide_secrets`; `layout_of` beside it) → the browser → `apply_edits` on the
original value → `validate`.
"""

from hitl_nb._schema._blank import blank_of
from hitl_nb._schema._branches import branch_of, hide_secrets, layout_of, node_at
from hitl_nb._schema._changes import changes_of, readable
from hitl_nb._schema._edits import apply_edits
from hitl_nb._schema._node import MISSING, FormNode, Kind, Option
from hitl_nb._schema._parts import is_sequence, opened
from hitl_nb._schema._signature import answer_of, parameters_of
from hitl_nb._schema._tree import form_of, form_tree
from hitl_nb._schema._validate import JsonSchemaValidator, PydanticValidator, Validator, validator_for
from hitl_nb._schema._values import from_wire, to_wire

__all__ = [
    "MISSING",
    "FormNode",
    "JsonSchemaValidator",
    "Kind",
    "Option",
    "PydanticValidator",
    "Validator",
    "answer_of",
    "apply_edits",
    "blank_of",
    "branch_of",
    "changes_of",
    "form_of",
    "form_tree",
    "from_wire",
    "hide_secrets",
    "is_sequence",
    "layout_of",
    "node_at",
    "opened",
    "parameters_of",
    "readable",
    "to_wire",
    "validator_for",
]
