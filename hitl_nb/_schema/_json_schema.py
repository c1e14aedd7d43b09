"""Other people's schemas: checked by the `jsonschema` library, without asking them to be well-behaved.

Real tool schemas say `dict` and `float`, name no dialect, point to files that are not there. The first two
are put right before the check; a reference that cannot be followed refuses the value. The network is never
asked.
"""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._schema._faults import Fault, invalid
from hitl_nb._schema._keywords import schema_for_model, subschemas
from hitl_nb._schema._repair import standard_schema
from hitl_nb.errors import InvalidValue, ToolDefinitionError

__all__ = ["JsonSchemaValidator"]


class JsonSchemaValidator:
    """A JSON Schema as a validator; the valid value comes back as it is, the identical object.

    Args:
        schema: Any draft from 4 to 2020-12; `$schema` says which, otherwise it is told by the keywords used.

    Raises:
        ToolDefinitionError: the schema is not one, even read with tolerance.
    """

    def __init__(self, schema: dict[str, Any] | bool) -> None:
        # `True` and `False` are schemas, too: anything, and nothing.
        self.json_schema: dict[str, Any] = schema if isinstance(schema, dict) else ({} if schema else {"not": {}})
        self._checker = _checker(self.json_schema)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The same as a tool's `parameters` for a model, with JSON Schema's own type words."""
        return schema_for_model(standard_schema(self.json_schema))

    def validate(self, value: Any) -> Any:
        """Give `value` back unchanged.

        Raises:
            InvalidValue: `errors` has one entry a fault.
        """
        from referencing.exceptions import Unresolvable

        try:
            faults = [fault for error in self._checker.iter_errors(value) for fault in _faults(error)]
        except (Unresolvable, RecursionError, ArithmeticError, TypeError) as error:
            # A reference into nowhere, a loop, a limit that Python cannot compare: not checked is not valid.
            faults = [Fault(path=(), message=f"The schema cannot be followed: {error}")]
        if faults:
            raise invalid(str(self.json_schema.get("title", "value")), faults)
        return value

    def dump(self, value: Any) -> Any:
        """Give `value` as plain JSON-able data (it usually is already).

        Raises:
            InvalidValue: `value` holds something without a JSON form.
        """
        try:
            return to_jsonable_python(value, by_alias=True, inf_nan_mode="constants")
        except (PydanticSerializationError, ValueError) as error:
            raise InvalidValue(f"The value has no JSON form: {error}") from error


def _checker(declared: dict[str, Any]) -> Any:
    # Imported here because beside JupyterLab it costs 1.7 s (facts/performance.md, `rfc3987_syntax`).
    from jsonschema import SchemaError
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types

    schema = standard_schema(declared)
    dialect = _dialect(schema)
    try:
        dialect.check_schema(schema)
    except SchemaError as error:
        where = "/".join(str(step) for step in error.absolute_path) or "the root"
        raise ToolDefinitionError(
            f"The schema is wrong at `{where}`: {error.message[:200]}. "
            'Write a JSON Schema, e.g. `{"type": "object", "properties": {"city": {"type": "string"}}}`.'
        ) from error
    # An explicit registry, because the default one would fetch unknown references from the network.
    return dialect(schema, registry=REGISTRY)


def _dialect(schema: dict[str, Any]) -> Any:
    """The draft that `$schema` names; else the one whose way of writing tuples and limits is used."""
    from jsonschema import Draft4Validator, Draft7Validator, Draft202012Validator
    from jsonschema.validators import validator_for as named_by

    if "$schema" in schema:
        return named_by(schema, default=Draft202012Validator)
    everything = list(_all_schemas(schema))
    if any(isinstance(part.get(limit), bool) for part in everything for limit in _EXCLUSIVE):
        return Draft4Validator
    if any(isinstance(part.get("items"), list) for part in everything):
        return Draft7Validator
    return Draft202012Validator


_EXCLUSIVE = ("exclusiveMinimum", "exclusiveMaximum")


def _all_schemas(schema: Any) -> Iterable[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for part in subschemas(schema):
            yield from _all_schemas(part)


def _faults(error: Any) -> Iterable[Fault]:
    """The faults in one error of the library, in our words: its own messages quote the whole value."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [Fault(path=(*path, name), message="Field required") for name in missing]
    if error.validator == "additionalProperties" and error.validator_value is False:
        return [Fault(path=(*path, name), message="Key not allowed") for name in _undeclared(error)]
    if error.validator in ("anyOf", "oneOf") and error.context:
        return _faults_of_the_nearest_branch(error)
    return [Fault(path=path, message=_message(error))]


def _undeclared(error: Any) -> list[str]:
    declared, patterns = error.schema.get("properties", {}), error.schema.get("patternProperties", {})
    return [
        name
        for name in error.instance
        if name not in declared and not any(re.search(pattern, name) for pattern in patterns)
    ]


def _faults_of_the_nearest_branch(error: Any) -> Iterable[Fault]:
    from jsonschema.exceptions import best_match

    nearest = best_match([error])
    return [Fault(path=tuple(error.absolute_path), message=_NONE_FITS)] if nearest is error else _faults(nearest)


_NONE_FITS = "Input fits none of the allowed forms"


def _message(error: Any) -> str:
    limit = error.validator_value
    words = {
        "type": f"Input should be of type {_either(limit)}",
        "enum": f"Input should be {_either(limit)}",
        "const": f"Input should be {limit!r}",
        "minimum": f"Input should be greater than or equal to {limit}",
        "maximum": f"Input should be less than or equal to {limit}",
        "exclusiveMinimum": f"Input should be greater than {limit}",
        "exclusiveMaximum": f"Input should be less than {limit}",
        "multipleOf": f"Input should be a multiple of {limit}",
        "pattern": f"Input should match the pattern {limit}",
        "minLength": f"Input should have at least {limit} characters",
        "maxLength": f"Input should have at most {limit} characters",
        "minItems": f"Input should have at least {limit} items",
        "maxItems": f"Input should have at most {limit} items",
        "uniqueItems": "Input should not repeat an item",
        "oneOf": "Input fits more than one of the allowed forms",
        "anyOf": _NONE_FITS,
    }
    return words.get(error.validator, f"Input breaks the rule `{error.validator}`")


def _either(choices: Any) -> str:
    if not isinstance(choices, list):
        return str(choices)
    shown = [repr(choice) for choice in choices[:8]] + (["…"] if len(choices) > 8 else [])
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
