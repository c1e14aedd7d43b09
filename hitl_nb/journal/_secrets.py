"""Secrets never enter the journal: not as an argument, not in an answer, not inside a message that quotes one.

Three nets, because each has a hole that another closes. A `SecretStr` writes itself as stars. A schema says where a
secret stands as plain text (``format: password``, ``writeOnly``). And what these two found is remembered, in memory
only, and taken out of everything else that is written: the model's raw arguments, its quotes, the shared state.
"""

import functools
import json
import re
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import Final, TypeAlias
from urllib.parse import unquote

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, TypeAdapter
from pydantic.errors import PydanticUserError

from hitl_nb._schema import Json, PydanticValidator
from hitl_nb.errors import ToolDefinitionError

# -- where a schema says that a secret stands, through every keyword --------------------------------------------------

MASK: Final = "**********"
"""pydantic's own sign for a secret."""

_BRANCHES: Final = ("allOf", "anyOf", "oneOf")
_CONDITIONS: Final = ("if", "then", "else")
_SECRET: Final = {"writeOnly": True}

Schema: TypeAlias = Mapping[str, object]
"""A JSON Schema, well-behaved or not."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Hider:
    """Hides the secrets of values of one type."""

    roots: tuple[Schema, ...]
    """The schemas of the type that mention a secret; a place is hidden if any of them says so."""

    def hide(self, value: Json, found: list[object]) -> Json:
        """Return JSON data with stars for secrets, which are appended to `found`."""
        return _hidden(value, [(root, root) for root in self.roots], found)


@dataclass(frozen=True, eq=False, kw_only=True)
class TypeFacts:
    """What the journal wants to know about a type."""

    hider: Hider | None
    """None if the type holds no secrets."""

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
    if isinstance(schema, dict):
        return _is_secret(schema) or any(_mentions_a_secret(part) for part in schema.values())
    return isinstance(schema, list) and any(_mentions_a_secret(part) for part in schema)


def _is_secret(schema: Schema) -> bool:
    return schema.get("writeOnly") is True or schema.get("format") == "password"


_Place: TypeAlias = tuple[object, Schema]
"""A schema that holds for a value, and the document it stands in."""


def _hidden(value: Json, places: list[_Place], found: list[object]) -> Json:
    schemas = list(_expanded(places))
    if value is None or not schemas:
        return value
    if any(_is_secret(schema) for schema, _ in schemas):
        found.append(value)
        return MASK
    if isinstance(value, dict):
        return {key: _hidden(part, list(_under_key(schemas, key)), found) for key, part in value.items()}
    if isinstance(value, list):
        return [_hidden(part, list(_at_index(schemas, index)), found) for index, part in enumerate(value)]
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


# -- what passed by in this process -----------------------------------------------------------------------------------

_SHORTEST: Final = 4
"""Characters from which on a secret is also found inside longer text; shorter ones would tear words apart."""

_UNREADABLE: Final = f'{{"redacted":"{MASK}"}}'
"""Stands for a tool call's whole arguments: they have to stay a JSON object, or a provider refuses the history."""


class KnownSecrets:
    """The secrets that passed by in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[str, str] = {}
        self._needles: list[tuple[str, str]] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def count(self) -> int:
        """How many there are: with another one, what was clean may not be any more."""
        return len(self._texts)

    def add(self, value: object) -> None:
        """Remember every text and number in `value`, which is plain data."""
        if isinstance(value, Mapping):
            for part in value.values():
                self.add(part)
        elif isinstance(value, list | tuple):
            for part in value:
                self.add(part)
        elif isinstance(value, bytes):
            self.add(value.decode("utf-8", "replace"))
        elif not isinstance(value, bool) and value not in (None, "", MASK):
            self._remember(str(value), MASK)

    def add_arguments(self, text: str) -> None:
        """Remember a tool call's whole arguments: they may hold a secret in a place that nobody can tell."""
        self._remember(text, _UNREADABLE)

    def learn_arguments(self, text: str, hider: Hider) -> None:
        """Remember the secrets in a tool call's arguments, of which nobody has said yet that they are valid."""
        try:
            value = json.loads(text)
        except ValueError:
            self.add_arguments(text)
            return
        found: list[object] = []
        hider.hide(value, found)
        self.add(found)

    def add_typed(self, value: object) -> None:
        """Remember what every `SecretStr` and the like in `value` hides."""
        for secret in _typed(value):
            self.add(secret)

    def _remember(self, text: str, mask: str) -> None:
        if text in self._texts:
            return
        escaped = {json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]}
        with self._lock:
            needles = [*self._needles, *((form, mask) for form in {text, *escaped} if len(form) >= _SHORTEST)]
            # The longest first: a secret may be the begin of another. A new list: threads may be reading the old.
            self._needles = sorted(needles, key=lambda needle: -len(needle[0]))
            self._texts[text] = mask

    def scrub(self, value: Json) -> Json:
        """Return plain data without any secret that is known."""
        if not self._texts:
            return value
        if isinstance(value, dict):
            return {self._text(key): self.scrub(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self.scrub(part) for part in value]
        if isinstance(value, str):
            return self._text(value)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return MASK if is_number and str(value) in self._texts else value

    def scrub_json(self, text: str) -> str:
        """Return JSON text without any secret that is known."""
        return json.dumps(self.scrub(json.loads(text)), separators=(",", ":")) if self._texts else text

    def scrub_text(self, text: str | None) -> str | None:
        """Return words without any secret that is known."""
        return self._text(text) if text and self._texts else text

    def _text(self, text: str) -> str:
        if text in self._texts:
            return self._texts[text]
        if text.startswith(("{", "[")):
            # The arguments of a tool call are JSON inside of JSON.
            try:
                inner = json.loads(text)
            except ValueError:
                pass
            else:
                clean = self.scrub(inner)
                text = text if clean == inner else json.dumps(clean, ensure_ascii=False)
        for secret, mask in self._needles:
            text = text.replace(secret, mask)
        return text


def _typed(value: object) -> Iterator[object]:
    if isinstance(value, SecretStr | SecretBytes | Secret):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for _, part in value:
            yield from _typed(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _typed(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _typed(part)
    elif isinstance(value, Sequence | Set) and not isinstance(value, str | bytes | bytearray | memoryview):
        for part in value:
            yield from _typed(part)
