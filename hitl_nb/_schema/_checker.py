"""The `jsonschema` library, made safe for schemas and values that mean harm.

It checks everything right, and nothing in bounded time: patterns by trying, an `enum` by comparing, `uniqueItems` pair
by pair, `allOf` of `allOf` as often as they multiply. So these are done here, and every keyword counts against a number
of steps (`CHECK_STEPS`). What takes more is refused: not checked is not valid.
"""

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from hitl_nb._limits import CHECK_STEPS, DEPTH, SCHEMA_PARTS, SCHEMA_VALUES, TooMuch, is_deep
from hitl_nb._schema._keywords import Part, Schema, subschemas
from hitl_nb._schema._patterns import UncheckablePattern, pattern_of
from hitl_nb.errors import ToolDefinitionError

if TYPE_CHECKING:
    from jsonschema import ValidationError as SchemaFault
    from jsonschema.protocols import Validator as Checker

__all__ = ["checker_of", "refuse_unbounded", "stepping", "undeclared"]


# -- how much it may cost -----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Run:
    """One check of one value."""

    left: int
    enums: dict[int, frozenset[str]] = field(default_factory=dict)
    """The choices of each `enum`, by identity: written once a run."""


_run: ContextVar[_Run | None] = ContextVar("hitl_nb_schema_check", default=None)


@contextmanager
def stepping(steps: int = CHECK_STEPS) -> Iterator[None]:
    """Let what is checked inside cost so many steps at most; a smaller number around it stays.

    Raises:
        TooMuch: It would cost more.
    """
    around = _run.get()
    if around is not None:
        yield
        return
    token = _run.set(_Run(left=steps))
    try:
        yield
    finally:
        _run.reset(token)


def _spend(steps: int) -> _Run:
    run = _run.get() or _Run(left=CHECK_STEPS)
    run.left -= steps
    if run.left < 0:
        raise TooMuch("it takes too many steps to check")
    return run


# -- keywords of our own ------------------------------------------------------------------------------------------

_Keyword = Callable[[Any, Any, Any, Any], "Iterator[SchemaFault] | None"]


def _counted(keyword: _Keyword) -> _Keyword:
    def run(checker: Any, value: object, instance: object, schema: object) -> Any:
        _spend(1 + (len(value) >> 4 if isinstance(value, list | dict) else 0))
        return keyword(checker, value, instance, schema)

    return run


def _found(pattern: str, text: object) -> bool:
    if not isinstance(text, str):
        return False
    one = pattern_of(pattern)
    _spend(1 + one.cost(text) // 10_000)
    return one.matches(text)


def _fault(message: str) -> "SchemaFault":
    from jsonschema import ValidationError

    return ValidationError(message)


def _pattern(checker: Any, pattern: str, instance: object, _: object) -> "Iterator[SchemaFault]":
    if checker.is_type(instance, "string") and not _found(pattern, instance):
        yield _fault("does not match")


def _pattern_properties(checker: Any, patterns: dict[str, Part], instance: Any, _: Any) -> "Iterator[SchemaFault]":
    if checker.is_type(instance, "object"):
        for pattern, schema in patterns.items():
            for name, part in instance.items():
                if _found(pattern, name):
                    yield from checker.descend(part, schema, path=name, schema_path=pattern)


def undeclared(instance: Mapping[str, object], schema: Mapping[str, Any]) -> list[str]:
    """Return the keys that a schema neither names nor has a pattern for."""
    declared, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    return [
        name for name in instance if name not in declared and not any(_found(pattern, name) for pattern in patterns)
    ]


def _additional(checker: Any, allowed: Part, instance: Any, schema: Any) -> "Iterator[SchemaFault]":
    if not checker.is_type(instance, "object"):
        return
    extras = undeclared(instance, schema)
    if isinstance(allowed, dict):
        for name in extras:
            yield from checker.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield _fault("keys that are not allowed")


def _enum(checker: Any, choices: list[Any], instance: object, schema: object) -> "Iterator[SchemaFault]":
    run = _spend(1)
    known = run.enums.get(id(choices))
    if known is None:
        _spend(len(choices) >> 4)
        known = run.enums[id(choices)] = frozenset(map(_as_text, choices))
    if _as_text(instance) not in known:
        yield _fault("is none of the choices")


def _unique(checker: Any, wanted: bool, instance: Any, _: Any) -> "Iterator[SchemaFault]":
    if wanted and checker.is_type(instance, "array"):
        _spend(len(instance) >> 4)
        if len(set(map(_as_text, instance))) < len(instance):
            yield _fault("repeats an item")


def _as_text(value: object) -> str:
    """Return a text that is equal for what JSON Schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if type(value) is str:
        return "s" + value
    return "j" + json.dumps(_plain(value), sort_keys=True, default=lambda other: f"{type(other).__name__} {other!r}")


def _plain(value: object) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value


_OURS: Final[dict[str, _Keyword]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "enum": _enum,
    "uniqueItems": _unique,
}


# -- the library --------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=16)
def _bounded(dialect: Any) -> Any:
    """Return a draft's validator class with these keywords, all of them counted."""
    from attrs import fields
    from jsonschema.validators import extend

    ours = {name: keyword for name, keyword in _OURS.items() if name in dialect.VALIDATORS}
    cls = extend(dialect, {name: _counted(keyword) for name, keyword in {**dialect.VALIDATORS, **ours}.items()})
    names = [(each.name, each.alias) for each in fields(cls) if each.init]

    def evolve(self: Any, **changes: Any) -> Any:
        # The library's own takes the class that a `$schema` inside names, and that one is not bounded.
        for name, alias in names:
            changes.setdefault(alias, getattr(self, name))
        return cls(**changes)

    cls.evolve = evolve
    return cls


def checker_of(schema: Schema) -> "Checker":
    """Return what checks values against a schema, in a number of steps that is known.

    Raises:
        ToolDefinitionError: It is no schema, or one that cannot be checked.
    """
    # Imported here because beside JupyterLab it costs 1.7 s: a grammar of its `rfc3987_syntax` is built at import.
    from jsonschema.exceptions import best_match
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]  # it ships no types

    dialect = _bounded(_dialect(schema))
    try:
        with stepping():
            # What its formats say is not asked: `regex` means Python's, which is not what checks a pattern here.
            error = best_match(_bounded(_meta_of(dialect))(dialect.META_SCHEMA).iter_errors(schema))
    except (TooMuch, RecursionError):
        raise _uncheckable("", "it takes too many steps to read") from None
    if error is not None:
        where = "/".join(str(step) for step in error.absolute_path) or "the root"
        raise ToolDefinitionError(
            f"The schema is wrong at `{where}`: {error.message[:200]}. "
            'Write a JSON Schema, e.g. `{"type": "object", "properties": {"city": {"type": "string"}}}`.'
        )
    # An explicit registry, because the default one would fetch unknown references from the network.
    checker: Checker = dialect(schema, registry=REGISTRY)
    return checker


def _meta_of(dialect: Any) -> Any:
    from jsonschema.validators import validator_for as named_by

    return named_by(dialect.META_SCHEMA, default=dialect)


def _dialect(schema: Schema) -> Any:
    """Return the draft that `$schema` names; else the one whose way of writing tuples and limits is used."""
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


_EXCLUSIVE: Final = ("exclusiveMinimum", "exclusiveMaximum")


def _all_schemas(schema: Part) -> Iterator[Schema]:
    if isinstance(schema, dict):
        yield schema
        for part in subschemas(schema):
            yield from _all_schemas(part)


# -- what is no schema for us -------------------------------------------------------------------------------------


def refuse_unbounded(schema: object) -> None:
    """Refuse a schema that is too deep or too large to read, or has a pattern that cannot be checked.

    What a `$ref` finds where no schema is expected is not looked at here; it refuses the value.

    Raises:
        ToolDefinitionError: Says which, and why.
    """
    if is_deep(schema):
        raise _uncheckable("", f"it is nested more than {DEPTH} levels deep")
    _refuse_too_large(schema)
    parts = list(_all_schemas(cast("Part", schema)))
    if len(parts) > SCHEMA_PARTS:
        raise _uncheckable("", f"it has {len(parts):,} parts; at most {SCHEMA_PARTS:,} are taken")
    for part in parts:
        by_key, text = part.get("patternProperties"), part.get("pattern")
        for pattern in [*(by_key if isinstance(by_key, dict) else ()), text]:
            if isinstance(pattern, str):
                _refuse_uncheckable(pattern)


def _refuse_uncheckable(pattern: str) -> None:
    try:
        pattern_of(pattern)
    except UncheckablePattern as error:
        raise _uncheckable(pattern, str(error)) from error


def _refuse_too_large(schema: object) -> None:
    count, follows = 0, False
    keys: list[object] = []
    todo: list[Any] = [schema]
    while todo:
        each = todo.pop()
        count += 1
        if isinstance(each, dict):
            todo += each.values()
            follows = follows or "unevaluatedProperties" in each
            patterns = each.get("patternProperties")
            keys += patterns if isinstance(patterns, dict) else ()
        elif isinstance(each, list):
            todo += each
    if count > SCHEMA_VALUES:
        raise _uncheckable("", f"it holds {count:,} values; at most {SCHEMA_VALUES:,} are taken")
    # Which keys are evaluated, the library finds out by itself, and with Python's own engine.
    for key in keys if follows else ():
        if set(str(key)) & set("*+?{"):
            raise _uncheckable(str(key), "beside `unevaluatedProperties` a pattern must repeat nothing")


def _uncheckable(pattern: str, reason: str) -> ToolDefinitionError:
    what = f"the pattern `{pattern[:80]}`" if pattern else "the schema"
    return ToolDefinitionError(
        f"A value could not be checked against {what}: {reason}. Write a simpler one, and check the rest in the tool."
    )
