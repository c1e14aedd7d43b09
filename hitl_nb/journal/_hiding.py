"""Where a schema says that a secret stands: ``format: password`` or ``writeOnly``, through every keyword.

Not the form tree's `hide_secrets`: a form may leave a node to a JSON box (a recursive type, a page too large) because
a person sees it anyway. Here whatever is not understood is hidden.
"""

import functools
import json
import re
import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from urllib.parse import unquote

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from hitl_nb._schema import PydanticValidator
from hitl_nb.errors import ToolDefinitionError

MASK: Final = "**********"
"""pydantic's own sign for a secret."""

_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_SECRET: Final = {"writeOnly": True}


@dataclass(frozen=True, eq=False, kw_only=True)
class Hider:
    """Hides the secrets of values of one type."""

    roots: tuple[dict[str, Any], ...]
    """The schemas of the type that mention a secret; a place is hidden if any of them says so."""

    def hide(self, value: Any, found: list[Any]) -> Any:
        """Give JSON data with stars for secrets, which are appended to `found`."""
        return _hidden(value, [(root, root) for root in self.roots], found)


@dataclass(frozen=True, eq=False, kw_only=True)
class TypeFacts:
    """What the journal wants to know about a type."""

    hider: Hider | None
    """None if the type holds no secrets."""

    schema_sha256: str | None
    """Which version of the schema it was; None if it has none."""


NO_FACTS: Final = TypeFacts(hider=None, schema_sha256=None)
_by_validator: weakref.WeakKeyDictionary[Any, TypeFacts] = weakref.WeakKeyDictionary()


def facts_of(validator: object) -> TypeFacts:
    """Give the facts of a validator's type; computed once, if it can be kept."""
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
def facts_of_type(type_: Any) -> TypeFacts:
    """Give the facts of a type that pydantic understands.

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


def _mentions_a_secret(schema: Any) -> bool:
    if isinstance(schema, dict):
        return _is_secret(schema) or any(_mentions_a_secret(part) for part in schema.values())
    return isinstance(schema, list) and any(_mentions_a_secret(part) for part in schema)


def _is_secret(schema: dict[str, Any]) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


_Place = tuple[Any, dict[str, Any]]
"""A schema that holds for a value, and the document it stands in."""


def _hidden(value: Any, places: list[_Place], found: list[Any]) -> Any:
    places = list(_expanded(places))
    if value is None or not places:
        return value
    if any(_is_secret(schema) for schema, _ in places):
        found.append(value)
        return MASK
    if isinstance(value, dict):
        return {key: _hidden(part, list(_under_key(places, key)), found) for key, part in value.items()}
    if isinstance(value, list):
        return [_hidden(part, list(_at_index(places, index)), found) for index, part in enumerate(value)]
    return value


def _expanded(places: list[_Place]) -> Iterator[_Place]:
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
            todo.extend((part, root) for part in _named(schema.get(keyword)).values())


def _under_key(places: list[_Place], key: str) -> Iterator[_Place]:
    for schema, root in places:
        properties = _named(schema.get("properties"))
        patterns = [part for pattern, part in _named(schema.get("patternProperties")).items() if _matches(pattern, key)]
        named = [properties[key]] if key in properties else []
        others = [] if named or patterns else [schema.get("additionalProperties"), schema.get("unevaluatedProperties")]
        yield from ((part, root) for part in (*named, *patterns, *others))


def _at_index(places: list[_Place], index: int) -> Iterator[_Place]:
    for schema, root in places:
        items = schema.get("items")
        first = _listed(schema.get("prefixItems")) or _listed(items)
        rest = [items, schema.get("additionalItems")]
        yield from ((part, root) for part in (first[index : index + 1] or rest))
        yield from ((schema.get(keyword), root) for keyword in ("contains", "unevaluatedItems"))


def _target(root: dict[str, Any], reference: str) -> Any:
    """What a reference points to inside its own document; what cannot be found may be a secret."""
    if reference == "#":
        return root
    if not reference.startswith("#/"):
        return _SECRET
    part: Any = root
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


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _named(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
