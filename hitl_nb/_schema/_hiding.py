"""Where a secret stands in a value: by its type, by its schema through every keyword, by the name of its place.

What is found here is known to `hitl_nb._secrets` from then on, and masked on every way out.
"""

import functools
import json
import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias
from urllib.parse import unquote

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._limits import read_json
from hitl_nb._schema._types import PydanticValidator
from hitl_nb._schema._wire import Json
from hitl_nb._secrets import (
    MASK,
    KnownSecrets,
    entries_of,
    is_content,
    is_secret_name,
    learn,
    names_a_secret,
    secrets_in,
)
from hitl_nb.errors import ToolDefinitionError

__all__ = [
    "NAMES",
    "NO_FACTS",
    "Hider",
    "TypeFacts",
    "facts_of",
    "facts_of_type",
    "learn_from",
    "learn_from_text",
    "secrets_of",
]

# -- where a schema says that a secret stands, through every keyword --------------------------------------------------
_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_SECRET: Final = {"writeOnly": True}

Schema: TypeAlias = Mapping[str, object]
"""A JSON Schema, well-behaved or not."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hider:
    """Hides the secrets of values of one type."""

    roots: tuple[Schema, ...] = ()
    """The schemas of the type that mention a secret; a place is hidden if any of them says so."""

    def hide(self, value: Json, found: list[object], named: list[object] | None = None) -> Json:
        """Return JSON data with stars for secrets.

        Args:
            value: The data.
            found: Gets the secrets that a schema declares.
            named: Gets those that have the name of one; default: `found`.
        """
        search = _Search(found, found if named is None else named)
        return search.hidden(value, [(root, root) for root in self.roots], named=False, in_rows=False)

    def hide_text(self, text: str, found: list[object], named: list[object] | None = None) -> str:
        """Return JSON text so; the same text where nothing is hidden.

        Raises:
            ValueError: It is no JSON.
        """
        if not self.roots and not names_a_secret(text):
            return text
        value = read_json(text, longest=len(text))
        hidden = self.hide(value, found, named)
        return text if hidden == value else json.dumps(hidden, separators=(",", ":"))


NAMES: Final = Hider()
"""Hides what has the name of a secret, where nothing is known of the type."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TypeFacts:
    """What the journal wants to know about a type."""

    hider: Hider | None
    """None if the type says nothing about secrets; then `NAMES` is what is left to go by."""

    schema_sha256: str | None
    """Which version of the schema it was; None if it has none."""


NO_FACTS: Final = TypeFacts(hider=None, schema_sha256=None)
_by_validator: weakref.WeakKeyDictionary[object, TypeFacts] = weakref.WeakKeyDictionary()


def facts_of(validator: object) -> TypeFacts:
    """Return the facts of a validator's type; computed once, if it can be kept."""
    if validator is None:
        return NO_FACTS
    try:
        if isinstance(validator, PydanticValidator):
            return facts_of_type(validator.type)
        if validator not in _by_validator:
            _by_validator[validator] = _facts_of_validator(validator)
        return _by_validator[validator]
    except TypeError:  # an annotation that has no hash, an object that takes no weak reference
        return _facts_of_validator(validator)


@functools.lru_cache(maxsize=256)
def facts_of_type(type_: object) -> TypeFacts:
    """Return the facts of a type that pydantic understands.

    Raises:
        TypeError: `type_` cannot be hashed.
    """
    try:
        return _facts_of_validator(PydanticValidator(type_))
    except ToolDefinitionError:
        return NO_FACTS


def _facts_of_validator(validator: object) -> TypeFacts:
    try:
        schemas = [getattr(validator, "json_schema", None)]
    except ToolDefinitionError:
        return NO_FACTS
    if not isinstance(schemas[0], dict):
        return NO_FACTS
    if isinstance(validator, PydanticValidator):
        # Values are written by their serialization aliases, which the schema for input does not know.
        with suppress(PydanticUserError):
            schemas.append(TypeAdapter(validator.type).json_schema(mode="serialization"))
    text = json.dumps(schemas[0], sort_keys=True, separators=(",", ":"), default=str)
    roots = tuple(schema for schema in schemas if schema and _mentions_a_secret(schema))
    return TypeFacts(hider=Hider(roots=roots) if roots else None, schema_sha256=sha256(text.encode()).hexdigest())


def _mentions_a_secret(schema: object) -> bool:
    """Whether a schema says of any place that it is one, or that it is none."""
    if isinstance(schema, dict):
        return "writeOnly" in schema or _is_secret(schema) or any(map(_mentions_a_secret, schema.values()))
    return isinstance(schema, list) and any(map(_mentions_a_secret, schema))


def _is_secret(schema: Schema) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


_Place: TypeAlias = tuple[object, Schema]
"""A schema that holds for a value, and the document it stands in."""


@dataclass(frozen=True, eq=False)
class _Search:
    """Looks for secrets through one value."""

    declared: list[object]
    named: list[object]

    def hidden(self, value: Json, places: list[_Place], *, named: bool, in_rows: bool) -> Json:
        """Return `value` with stars.

        Args:
            value: Plain data.
            places: What holds for it.
            named: Whether its name says that it is a secret.
            in_rows: Whether it stands in a list.
        """
        schemas = list(_expanded(places))
        if value is None:
            return value
        if any(_is_secret(schema) for schema, _ in schemas):
            self.declared.append(value)
            return MASK
        if named and is_content(value) and not any(schema.get("writeOnly") is False for schema, _ in schemas):
            if value != MASK:
                self.named.append(value)
            return MASK
        if isinstance(value, dict):
            return {
                key: self.hidden(
                    part,
                    list(_under_key(schemas, key)),
                    named=is_secret_name(key, in_rows=in_rows),
                    in_rows=in_rows,
                )
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [
                self.hidden(part, list(_at_index(schemas, index)), named=False, in_rows=True)
                for index, part in enumerate(value)
            ]
        return value


def _expanded(places: list[_Place]) -> Iterator[tuple[Schema, Schema]]:
    """The schemas themselves and all that hold with them, or might: references, branches, conditions."""
    seen: set[int] = set()
    todo = list(places)
    while todo:
        schema, root = todo.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        yield schema, root
        references = [schema.get(keyword) for keyword in ("$ref", "$dynamicRef", "$recursiveRef")]
        todo.extend((_target(root, reference), root) for reference in references if isinstance(reference, str))
        for keyword in _BRANCHES:
            todo.extend((part, root) for part in _listed(schema.get(keyword)))
        todo.extend((schema[keyword], root) for keyword in _CONDITIONS if keyword in schema)
        for keyword in ("dependentSchemas", "dependencies"):
            todo.extend((part, root) for part in _as_mapping(schema.get(keyword)).values())


def _under_key(places: list[tuple[Schema, Schema]], key: str) -> Iterator[_Place]:
    for schema, root in places:
        properties = _as_mapping(schema.get("properties"))
        patterns = [
            part for pattern, part in _as_mapping(schema.get("patternProperties")).items() if _matches(pattern, key)
        ]
        named = [properties[key]] if key in properties else []
        others = [] if named or patterns else [schema.get("additionalProperties"), schema.get("unevaluatedProperties")]
        yield from ((part, root) for part in (*named, *patterns, *others))


def _at_index(places: list[tuple[Schema, Schema]], index: int) -> Iterator[_Place]:
    for schema, root in places:
        items = schema.get("items")
        first = _listed(schema.get("prefixItems")) or _listed(items)
        rest = [items, schema.get("additionalItems")]
        yield from ((part, root) for part in (first[index : index + 1] or rest))
        yield from ((schema.get(keyword), root) for keyword in ("contains", "unevaluatedItems"))


def _target(root: Schema, reference: str) -> object:
    """What a reference points to inside its own document; what cannot be found may be a secret."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return _SECRET
    part: object = root
    for step in unquote(reference[2:]).split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(part, dict) and key in part:
            part = part[key]
        elif isinstance(part, list) and key.isdecimal() and int(key) < len(part):
            part = part[int(key)]
        else:
            return _SECRET
    return part


def _matches(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return True


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _as_mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


# -- what a value teaches ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Secrets:
    """The secrets of one value."""

    declared: list[object]
    """By a type or a schema."""

    named: list[object]
    """By the name of their place only."""


def secrets_of(value: object, checks: object = None) -> Secrets:
    """Return every secret in a value.

    Args:
        value: Arguments or an answer, as they are.
        checks: Their validator, which may declare secrets; None if there is none.
    """
    typed, named = secrets_in(value)
    found = Secrets(declared=typed, named=[])
    hider = facts_of(checks).hider
    if hider is not None:
        with suppress(PydanticSerializationError, ValueError, TypeError, RecursionError):
            plain = to_jsonable_python(value, by_alias=True, serialize_unknown=True, inf_nan_mode="strings")
            hider.hide(plain, found.declared, found.named)
            return found  # the schema may say that a name means nothing
    return Secrets(declared=typed, named=named)


def learn_from(value: object, checks: object = None) -> None:
    """Have every secret in a value masked in whatever this process says from now on; as `secrets_of`."""
    found = secrets_of(value, checks)
    if found.declared or found.named:
        learn(found.declared, found.named)


def learn_from_text(text: str, checks: object = None, *, into: KnownSecrets | None = None) -> None:
    """Do the same with a model's own text of arguments, which need not be valid, nor JSON.

    Args:
        text: What the model wrote.
        checks: What its arguments should have been.
        into: Gets the secrets in place of this process: a file's own. What is torn, and holds one, is hidden whole.
    """
    hider = facts_of(checks).hider or NAMES
    declared: list[object] = []
    named: list[object] = []
    try:
        hider.hide_text(text, declared, named)
    except ValueError:
        for key, part in entries_of(text):  # torn: whatever can be read of it
            hider.hide({key: part}, declared, named)
        if into is not None and (declared or named or hider.roots):
            into.add_arguments(text)  # there may be more in a place that nobody can tell
    except RecursionError:
        named.append(text)
    if into is not None:
        into.add([*declared, *named])
    elif declared or named:
        learn(declared, named)
