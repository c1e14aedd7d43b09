"""Does this value fit? pydantic answers it for types, the `jsonschema` library for other people's schemas.

Both answer alike, so that no card has to know which one it talks to: the valid value, or `InvalidValue` with a path for
each fault. Nothing is approved that did not pass here, so whatever cannot be checked is refused.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json

from hitl_nb._limits import FAULTS, INLINE, contained, words_of
from hitl_nb._schema._checker import checker_of, refuse_unbounded, stepping, undeclared
from hitl_nb._schema._document import schema_for_model
from hitl_nb._schema._keywords import standard_schema
from hitl_nb._schema._wire import Json, Path, key_text, name_of, real_key
from hitl_nb.errors import InvalidValue, ToolDefinitionError

if TYPE_CHECKING:
    from jsonschema import ValidationError as SchemaFault

__all__ = ["JsonSchemaValidator", "PydanticValidator", "Validator", "validator_for"]


@runtime_checkable
class Validator(Protocol):
    """What a tool's arguments or a person's answer must fit."""

    @property
    def schema(self) -> dict[str, Json]:
        """The schema as a model gets it (a tool's `parameters`): an object, see `schema_for_model`."""
        ...

    @property
    def json_schema(self) -> dict[str, Json]:
        """The schema as it was declared, complete: what a form is drawn from."""
        ...

    def validate(self, value: object) -> Any:
        """Return the valid value, or raise `InvalidValue`."""
        ...

    def cost(self, text: str) -> int:
        """Return what it costs to check the value of a JSON text, in characters."""
        ...


def validator_for(spec: object) -> Validator:
    """Return the validator of a pydantic model, of any type pydantic understands, or of a JSON Schema.

    Raises:
        ToolDefinitionError: `spec` is none of these.
    """
    if isinstance(spec, PydanticValidator | JsonSchemaValidator):
        return spec
    if isinstance(spec, dict | bool):
        return JsonSchemaValidator(spec)
    return _of_class(spec) if isinstance(spec, type) else PydanticValidator(spec)


@lru_cache(maxsize=256)
def _of_class(spec: type) -> "PydanticValidator":
    return PydanticValidator(spec)


# -- faults -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One thing that is wrong."""

    path: Path
    """Keys and indices from the root of the value; empty for the value itself."""

    message: str
    """What a person reads beside the control; never the value, which may be secret or 18 kB."""


_SHOWN: Final = 5
_LONGEST: Final = 200


def _brief(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _invalid(name: str, faults: Iterable[Fault]) -> InvalidValue:
    """Return the error for the value of the type `name`; a fault that is said twice is reported once."""
    found = list(dict.fromkeys(faults))
    lines = [
        f"`{_brief('.'.join(map(str, each.path)))}`: {each.message}" if each.path else each.message for each in found
    ]
    more = f" (and {len(lines) - _SHOWN} more)" if len(lines) > _SHOWN else ""
    return InvalidValue(
        f"Not a valid `{_brief(name)}`: {'; '.join(lines[:_SHOWN])}{more}",
        [{"path": list(fault.path), "message": fault.message} for fault in found],
    )


# -- types that pydantic understands ------------------------------------------------------------------------------


class PydanticValidator:
    """Any type pydantic understands: models, dataclasses, TypedDicts, `list[Step]`, `int | str`, `Any`.

    Raises:
        ToolDefinitionError: pydantic does not understand the type.
    """

    def __init__(self, type_: object) -> None:
        self.type = type_
        try:
            self._adapter: TypeAdapter[object] = TypeAdapter(type_)
        except PydanticUserError as error:
            raise ToolDefinitionError(
                f"`{_type_name(type_)}` is no type pydantic can check: {_first_sentence(error)} "
                "Use a pydantic model, a dataclass or plain types instead, e.g. `answer=list[str]`."
            ) from error

    @cached_property
    def json_schema(self) -> dict[str, Json]:
        """The JSON Schema (2020-12) of the type in validation mode, by alias."""
        try:
            return self._adapter.json_schema(schema_generator=_QuietSchema)
        except PydanticUserError as error:
            raise ToolDefinitionError(
                f"`{_type_name(self.type)}` has no JSON Schema: {_first_sentence(error)} "
                "Use types that JSON can carry instead, e.g. `list[str]`."
            ) from error
        except RecursionError:
            raise ToolDefinitionError(
                f"`{_type_name(self.type)}` has too many models inside one another to write down its JSON Schema. "
                "Use a flatter type, or one that contains itself, e.g. `children: list['Node']`."
            ) from None

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The same as a tool's `parameters` for a model."""
        return schema_for_model(self.json_schema)

    def validate(self, value: object) -> Any:
        """Return the typed value.

        Lax, as pydantic is by default: the text `"3"` for an int is 3. A strict model refuses the text of a
        date in Python but takes it from JSON, and a model's arguments are JSON, so plain data get that second
        chance.

        Raises:
            InvalidValue: `errors` has one entry a fault. Also where a check of the type itself fails.
        """
        checked, error = self._tried(value)
        if error is None:
            return checked
        if isinstance(error, ValidationError):
            raise _invalid(_type_name(self.type), _pydantic_faults(error, value)) from error
        why = f"it cannot be checked ({type(error).__name__}: {words_of(error)})"
        raise _invalid(_type_name(self.type), [Fault(path=(), message=why)]) from error

    def cost(self, text: str) -> int:
        """Return the characters that are to be checked."""
        return len(text)

    def validated_or(self, value: object, otherwise: object) -> Any:
        """Return the typed value, or `otherwise` if it is none: for whoever does not ask why."""
        checked, error = self._tried(value)
        return checked if error is None else otherwise

    def _tried(self, value: object) -> tuple[object, Exception | None]:
        try:
            with contained("A check"):
                try:
                    return self._adapter.validate_python(value), None
                except ValidationError as error:
                    refused, as_json = error, _json_bytes(value)
                return (None, refused) if as_json is None else (self._adapter.validate_json(as_json), None)
        except Exception as error:  # not valid as JSON either; or what a check of the type's own raised
            return None, error


class _QuietSchema(GenerateJsonSchema):
    """A default without JSON form is left out of the schema without a word: it is Python's business."""

    ignored_warning_kinds: Final = {"skipped-choice", "non-serializable-default"}  # type: ignore[misc]  # a ClassVar


def _pydantic_faults(error: ValidationError, value: object) -> Iterator[Fault]:
    for entry in error.errors(include_url=False, include_input=False, include_context=False):
        message = entry["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        yield Fault(path=_path(entry["loc"], value, missing=entry["type"] == "missing"), message=message)


def _path(location: Path, value: object, *, missing: bool) -> Path:
    """Drop the words of `location` that are no place in `value`: pydantic names union branches there."""
    path: list[str | int] = []
    for number, step in enumerate(location):
        if missing and number == len(location) - 1:
            return (*path, step)
        found, inside = _descend(value, step)
        if found:
            path.append(name_of(value, step) if isinstance(value, Mapping) else step)
            value = inside
    return tuple(path)


def _descend(value: object, step: int | str) -> tuple[bool, object]:
    if isinstance(value, Mapping):
        try:
            return True, value[real_key(value, step)]
        except KeyError:
            return False, None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and isinstance(step, int):
        return step < len(value), value[step] if step < len(value) else None
    return isinstance(step, str) and hasattr(value, step), getattr(value, str(step), None)


def _json_bytes(value: object) -> bytes | None:
    """Return `value` as JSON, or None if it holds an object: a class that merely looks right is not accepted."""
    if not _is_data(value):
        return None
    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return None


def _is_data(value: object) -> bool:
    if isinstance(value, BaseModel) or is_dataclass(value):
        return False  # as JSON, any model with the same fields would pass for it
    if isinstance(value, Mapping):
        # JSON has one key for 1 and "1": one of the two would get lost on the way.
        return len({key_text(key) for key in value}) == len(value) and all(map(_is_data, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_data, value))
    return True


def _type_name(type_: object) -> str:
    return getattr(type_, "__name__", None) or str(type_).removeprefix("typing.")


def _first_sentence(error: PydanticUserError) -> str:
    return error.message.split(". ")[0].rstrip(".") + "."


# -- other people's schemas ---------------------------------------------------------------------------------------


class JsonSchemaValidator:
    """A JSON Schema as a validator; the valid value comes back as it is, the identical object.

    A schema need not be well-behaved: it may say `dict` and `float`, name no dialect, point to files that are not
    there. The first two are put right before the check; a reference that cannot be followed refuses the value, and so
    does a check that would take too long. The network is never asked.

    Args:
        schema: Any draft from 4 to 2020-12; `$schema` says which, otherwise it is told by the keywords used.

    Raises:
        ToolDefinitionError: the schema is not one, even read with tolerance; or it is beyond what can be checked in
            bounded time (`_limits`).
    """

    def __init__(self, schema: dict[str, Json] | bool) -> None:
        # `True` and `False` are schemas, too: anything, and nothing.
        self.json_schema: dict[str, Json] = schema if isinstance(schema, dict) else ({} if schema else {"not": {}})
        refuse_unbounded(self.json_schema)
        self._checker = checker_of(standard_schema(self.json_schema))

    def cost(self, text: str) -> int:
        """Return the characters that are to be checked; more where references may multiply."""
        return max(len(text), INLINE + 1) if self._refers else len(text)

    @cached_property
    def _refers(self) -> bool:
        return "$ref" in str(self.json_schema) or "$dynamicRef" in str(self.json_schema)

    @cached_property
    def schema(self) -> dict[str, Json]:
        """The same as a tool's `parameters` for a model, with JSON Schema's own type words."""
        return schema_for_model(standard_schema(self.json_schema))

    def validate(self, value: object) -> Any:
        """Return `value` unchanged.

        Raises:
            InvalidValue: `errors` has one entry a fault.
        """
        from jsonschema.exceptions import UnknownType
        from referencing.exceptions import Unresolvable

        try:
            with stepping():
                found = islice(self._checker.iter_errors(value), FAULTS)
                faults = [fault for error in found for fault in _schema_faults(error)]
        except (Unresolvable, RecursionError, ArithmeticError, TypeError, ValueError) as error:
            # A reference into nowhere, a loop, a limit that Python cannot compare, too many steps, a pattern that
            # nobody has looked at: not checked is not valid.
            why = "its references have no end" if isinstance(error, RecursionError) else error
            faults = [Fault(path=(), message=f"The schema cannot be followed: {why}")]
        except UnknownType as error:
            # A `$ref` to a place where no schema is expected (`#/components/…`), so that none was put right there.
            # In the library's own words the whole value is quoted.
            faults = [Fault(path=(), message=f"The schema cannot be followed: `{error.type}` is no type")]
        if faults:
            raise _invalid(str(self.json_schema.get("title", "value")), faults)
        return value


def _schema_faults(error: "SchemaFault") -> list[Fault]:
    """Return the faults in one error of the library, in our words: its own messages quote the whole value."""
    path = tuple(error.absolute_path)
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [Fault(path=(*path, name), message="Field required") for name in missing]
    if error.validator == "additionalProperties" and error.validator_value is False:
        return [
            Fault(path=(*path, name), message="Key not allowed") for name in undeclared(error.instance, error.schema)
        ]
    # "Fits none of the forms" helps nobody: say what is wrong with the one that it fits best.
    if error.validator in ("anyOf", "oneOf") and error.context:
        from jsonschema.exceptions import best_match

        nearest = best_match([error])
        return _schema_faults(nearest) if nearest is not error else [Fault(path=path, message=_NONE_FITS)]
    return [Fault(path=path, message=_in_our_words(error))]


_NONE_FITS: Final = "Input fits none of the allowed forms"


def _in_our_words(error: "SchemaFault") -> str:
    limit = error.validator_value
    words = {
        "type": f"Input should be of type {_either(limit)}",
        "enum": f"Input should be {_either(limit)}",
        "const": f"Input should be {_brief(repr(limit))}",
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


def _either(choices: object) -> str:
    if not isinstance(choices, list):
        return str(choices)
    shown = [_brief(repr(choice)) for choice in choices[:8]] + (["…"] if len(choices) > 8 else [])
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
