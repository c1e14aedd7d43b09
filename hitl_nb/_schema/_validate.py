"""Does this value fit? pydantic answers it for types, jsonschema for other people's schemas.

Both answer alike, so that no card has to know which one it talks to: the valid value, or `InvalidValue` with
a path for each fault. Nothing is approved that did not pass here, so whatever cannot be checked is refused.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Protocol, runtime_checkable

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json

from hitl_nb._schema._faults import Fault, invalid
from hitl_nb._schema._json_schema import JsonSchemaValidator
from hitl_nb._schema._keywords import schema_for_model
from hitl_nb._schema._parts import key_text, name_of, real_key
from hitl_nb.errors import InvalidValue, ToolDefinitionError

__all__ = ["JsonSchemaValidator", "PydanticValidator", "Validator", "validator_for"]


@runtime_checkable
class Validator(Protocol):
    """What a tool's arguments or a person's answer must fit."""

    @property
    def schema(self) -> dict[str, Any]:
        """The schema as a model gets it (a tool's `parameters`): an object, see `schema_for_model`."""
        ...

    @property
    def json_schema(self) -> dict[str, Any]:
        """The schema as it was declared, complete: what a form is drawn from."""
        ...

    def validate(self, value: Any) -> Any:
        """Give the valid value, or raise `InvalidValue`."""
        ...

    def dump(self, value: Any) -> Any:
        """Give `value` as plain JSON-able data; a secret stays masked."""
        ...


class PydanticValidator:
    """Any type pydantic understands: models, dataclasses, TypedDicts, `list[Step]`, `int | str`, `Any`.

    Raises:
        ToolDefinitionError: pydantic does not understand the type.
    """

    def __init__(self, type_: Any) -> None:
        self.type = type_
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(type_)
        except PydanticUserError as error:
            raise ToolDefinitionError(
                f"`{_type_name(type_)}` is no type pydantic can check: {_first_sentence(error)} "
                "Use a pydantic model, a dataclass or plain types instead, e.g. `answer=list[str]`."
            ) from error

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema (2020-12) of the type in validation mode, by alias."""
        try:
            return self._adapter.json_schema(schema_generator=_QuietSchema)
        except PydanticUserError as error:
            raise ToolDefinitionError(
                f"`{_type_name(self.type)}` has no JSON Schema: {_first_sentence(error)} "
                "Use types that JSON can carry instead, e.g. `list[str]`."
            ) from error

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The same as a tool's `parameters` for a model."""
        return schema_for_model(self.json_schema)

    def validate(self, value: Any) -> Any:
        """Give the typed value.

        Lax, as pydantic is by default: the text `"3"` for an int is 3. A strict model refuses the text of a
        date in Python but takes it from JSON, and a model's arguments are JSON, so plain data get that second
        chance.

        Raises:
            InvalidValue: `errors` has one entry a fault.
        """
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            as_json = _as_json(value)
            if as_json is None:
                raise invalid(_type_name(self.type), _faults(error, value)) from error
        try:
            return self._adapter.validate_json(as_json)
        except ValidationError as error:
            raise invalid(_type_name(self.type), _faults(error, value)) from error

    def dump(self, value: Any) -> Any:
        """Give `value` as plain JSON-able data, by alias.

        Raises:
            InvalidValue: `value` holds something without a JSON form.
        """
        try:
            return self._adapter.dump_python(value, mode="json", by_alias=True, warnings=False)
        except PydanticSerializationError as error:
            raise InvalidValue(f"`{_type_name(self.type)}` has no JSON form: {error}") from error


def validator_for(spec: Any) -> Validator:
    """The validator of a pydantic model, of any type pydantic understands, or of a JSON Schema.

    Raises:
        ToolDefinitionError: `spec` is none of these.
    """
    if isinstance(spec, PydanticValidator | JsonSchemaValidator):
        return spec
    if isinstance(spec, dict | bool):
        return JsonSchemaValidator(spec)
    return _of_class(spec) if isinstance(spec, type) else PydanticValidator(spec)


@lru_cache(maxsize=256)
def _of_class(spec: type) -> PydanticValidator:
    return PydanticValidator(spec)


class _QuietSchema(GenerateJsonSchema):
    """A default without JSON form is left out of the schema without a word: it is Python's business."""

    ignored_warning_kinds: Final = {"skipped-choice", "non-serializable-default"}  # type: ignore[misc]  # a ClassVar


def _faults(error: ValidationError, value: Any) -> Iterable[Fault]:
    for entry in error.errors(include_url=False, include_input=False, include_context=False):
        message = entry["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
        yield Fault(path=_path(entry["loc"], value, missing=entry["type"] == "missing"), message=message)


def _path(location: Sequence[int | str], value: Any, *, missing: bool) -> tuple[str | int, ...]:
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


def _descend(value: Any, step: int | str) -> tuple[bool, Any]:
    if isinstance(value, Mapping):
        try:
            return True, value[real_key(value, step)]
        except KeyError:
            return False, None
    if isinstance(value, Sequence) and not isinstance(value, str | bytes) and isinstance(step, int):
        return step < len(value), value[step] if step < len(value) else None
    return isinstance(step, str) and hasattr(value, step), getattr(value, str(step), None)


def _as_json(value: Any) -> bytes | None:
    """`value` as JSON, or None if it holds an object: a class that merely looks right is not accepted."""
    if not _is_data(value):
        return None
    try:
        return to_json(value, inf_nan_mode="constants")
    except (PydanticSerializationError, ValueError):
        return None


def _is_data(value: Any) -> bool:
    if isinstance(value, BaseModel) or is_dataclass(value):
        return False
    if isinstance(value, Mapping):
        # JSON has one key for 1 and "1": one of the two would get lost on the way.
        return len({key_text(key) for key in value}) == len(value) and all(map(_is_data, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return all(_is_data(part) for part in value)
    return True


def _type_name(type_: Any) -> str:
    return getattr(type_, "__name__", None) or str(type_).removeprefix("typing.")


def _first_sentence(error: PydanticUserError) -> str:
    return error.message.split(". ")[0].rstrip(".") + "."
