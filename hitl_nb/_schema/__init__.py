"""What a function or schema asks for: as a validator, and as the tree a form is drawn from."""

from hitl_nb._schema._signature import answer_of, parameters_of
from hitl_nb._schema._validate import JsonSchemaValidator, PydanticValidator, Validator, validator_for

__all__ = [
    "JsonSchemaValidator",
    "PydanticValidator",
    "Validator",
    "answer_of",
    "parameters_of",
    "validator_for",
]
