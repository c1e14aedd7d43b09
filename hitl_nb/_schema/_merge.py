"""`allOf`, and a `$ref` with keywords beside it, mean "both at once"; a form needs them as one schema.

The result is for drawing, not for checking: where two rules cannot be written as one (two different
patterns), the later stays. The validator reads the original.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

__all__ = ["merged"]


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """One schema that asks for both; for words (`title`, `description`, `default`) `second` wins.

    Neither may hold `$ref` or `allOf` at its top. Properties that both have become an `allOf` of the two, to
    be opened when their turn comes.
    """
    result = dict(first)
    for keyword, value in second.items():
        combine = _COMBINE.get(keyword)
        result[keyword] = combine(first[keyword], value) if combine and keyword in first else value
    return result


def _properties(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    both = {name: _both(first[name], part) if name in first else part for name, part in second.items()}
    return {**first, **both}


def _both(first: Any, second: Any) -> Any:
    return first if first == second else {"allOf": [first, second]}


def _extra(first: Any, second: Any) -> Any:
    if first is False or second is True:
        return first
    return second if second is False or first is True else _both(first, second)


def _required(first: list[str], second: list[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _types(first: Any, second: Any) -> Any:
    """The types both allow (an integer is a number, too); without any in common the later, to draw something."""
    kept = [word for word in _listed(first) if _allows(second, word)]
    kept += [word for word in _listed(second) if word not in kept and _allows(first, word)]
    if not kept:
        return second
    return kept if len(kept) > 1 else kept[0]


def _allows(words: Any, word: str) -> bool:
    return word in _listed(words) or (word == "integer" and "number" in _listed(words))


def _listed(words: Any) -> list[str]:
    return words if isinstance(words, list) else [words]


def _choices(first: list[Any], second: list[Any]) -> list[Any]:
    return [choice for choice in first if choice in second] or second


def _each(pick: Callable[[Iterable[Any]], Any]) -> Callable[[Any, Any], Any]:
    return lambda first, second: pick((first, second))


_COMBINE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "properties": _properties,
    "patternProperties": _properties,
    "additionalProperties": _extra,
    "items": _both,
    "required": _required,
    "type": _types,
    "enum": _choices,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _each(max)),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _each(min)),
    **dict.fromkeys(("anyOf", "oneOf"), lambda first, second: first),
}
"""Keywords that both may have; for any other the later wins."""
