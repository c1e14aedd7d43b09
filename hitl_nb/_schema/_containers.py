"""Lists and objects with one thing changed: always a copy, always of the same kind, keys in the same order."""

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from hitl_nb._schema._parts import by_text, is_sequence, opened, real_key
from hitl_nb.errors import InvalidValue

__all__ = ["ABSENT", "added", "moved", "part_at", "removed", "with_part"]

ABSENT: Final = object()
"""What stands at a key that is not there (yet)."""

Step = str | int
Path = tuple[Step, ...]


def part_at(value: Any, step: Step, path: Path, *, new_allowed: bool = False) -> Any:
    """What stands at `step`; `ABSENT` for a new key of an object if that is allowed.

    Raises:
        InvalidValue: `step` leads nowhere; `path` is named as a whole.
    """
    value = opened(value)
    if isinstance(value, Mapping):
        try:
            return value[real_key(value, step)]
        except KeyError:
            if new_allowed and isinstance(step, str):
                return ABSENT
            raise _nowhere(path, f"there is no key `{step}`") from None
    if is_sequence(value):
        place = _index(value, step, path, len(value) - 1)
        return value[place] if isinstance(value, list | tuple) else list(value)[place]
    raise _nowhere(path, f"`{step}` would be inside a `{type(value).__name__}`")


def with_part(value: Any, step: Step, part: Any) -> Any:
    """A copy of `value` with `part` at `step`, which `part_at` has found."""
    value = opened(value)
    if isinstance(value, Mapping):
        try:
            key = real_key(value, step)
        except KeyError:
            key = step
        return _changed_mapping(value, lambda entries: {**entries, key: part})
    return _changed_list(value, lambda items: items.__setitem__(int(step), part))


def added(value: Any, step: Step, part: Any, path: Path) -> Any:
    """A copy with `part` before the index, or at a new key, `step`."""
    value = opened(value)
    if isinstance(value, Mapping):
        if step in by_text(value):
            raise _nowhere(path, f"the key `{step}` is there already; send `set` to change it")
        return _changed_mapping(value, lambda entries: {**entries, str(step): part})
    place = _index(value, step, path, len(value) if is_sequence(value) else -1)
    return _changed_list(value, lambda items: items.insert(place, part))


def removed(value: Any, step: Step, path: Path, *, missing_allowed: bool) -> Any:
    """A copy without what stands at `step`; `value` itself if nothing does and that is allowed."""
    value_opened = opened(value)
    if isinstance(value_opened, Mapping):
        if missing_allowed and part_at(value, step, path, new_allowed=True) is ABSENT:
            return value
        part_at(value, step, path)
        gone = real_key(value_opened, step)
        return _changed_mapping(
            value_opened, lambda entries: {key: part for key, part in entries.items() if not _is_key(key, gone)}
        )
    if missing_allowed:
        raise _nowhere(path, "only a key of an object can be left out; send `remove` for an item")
    part_at(value, step, path)
    return _changed_list(value_opened, lambda items: items.pop(int(step)))


def moved(value: Any, step: Step, target: Any, path: Path) -> Any:
    """A copy with the item at another index, or with the key renamed at its place."""
    part = part_at(value, step, path)
    value_opened = opened(value)
    if isinstance(value_opened, Mapping):
        old = real_key(value_opened, step)
        others = {name for name, key in by_text(value_opened).items() if not _is_key(key, old)}
        if not isinstance(target, str) or target in others:
            raise _nowhere(path, f"the key cannot be renamed to `{target}`")
        return _changed_mapping(
            value_opened,
            lambda entries: {(target if _is_key(key, old) else key): each for key, each in entries.items()},
        )
    place = _index(value_opened, target, path, len(value_opened) - 1)

    def move(items: list[Any]) -> None:
        items.insert(place, items.pop(int(step)))

    return value if place == step else _changed_list(value_opened, move) if part is not ABSENT else value


def _is_key(key: Any, wanted: Any) -> bool:
    return key is wanted or bool(key == wanted)  # a NaN is a key that equals nothing


def _index(value: Any, step: Any, path: Path, last: int) -> int:
    if type(step) is not int:
        raise _nowhere(path, f"`{step}` is no index of a `{type(value).__name__}`")
    if not 0 <= step <= last:
        raise _nowhere(path, f"index {step} is beyond the end, {last}")
    return step


def _changed_list(value: Any, change: Callable[[list[Any]], Any]) -> Any:
    items = list(value)
    change(items)
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(items)
    if type(value) is list:
        return items
    try:
        return type(value)(items)
    except TypeError:
        return items


def _changed_mapping(value: Mapping[Any, Any], change: Callable[[dict[Any, Any]], dict[Any, Any]]) -> Any:
    entries = change(dict(value))
    if type(value) is dict:
        return entries
    try:
        other: Any = copy.copy(value)  # keeps what the class has besides, such as a `defaultdict`'s factory
        other.clear()
        other.update(entries)
    except (AttributeError, TypeError):
        return entries
    return other


def _nowhere(path: Path, reason: str) -> InvalidValue:
    shown = ".".join(str(step) for step in path)
    message = f"The edit of `{shown}` does not fit the value: {reason}."
    return InvalidValue(message, [{"path": list(path), "message": message}])
