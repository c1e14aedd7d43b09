"""What a person changed, in words for the model and for the record: the place, what was there, what is there now.

Found by comparing the two values, not by counting clicks: who changes something and back has changed nothing. A
secret is compared, never told.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from pydantic import SecretBytes, SecretStr

from hitl_nb._schema._branches import hide_secrets
from hitl_nb._schema._marks import MARK, from_mark
from hitl_nb._schema._node import FormNode
from hitl_nb._schema._parts import by_text, is_sequence, opened
from hitl_nb._schema._values import equal_wires, to_wire

__all__ = ["changes_of", "readable"]

STARS: Final = "**********"
"""pydantic's own sign for a secret."""

Path = tuple[str | int, ...]
Change = dict[str, Any]

_ALIGNED: Final = 1_000_000
"""Lists are aligned up to so many pairs of equal items (some 0.5 s); beyond, items are compared place by place."""


def readable(value: Any, form: FormNode | None = None) -> Any:
    """`value` as plain JSON data to read: dates and exact numbers as text, stars in the place of secrets."""
    return _plain(to_wire(value if form is None else hide_secrets(value, form)))


def _plain(wire: Any) -> Any:
    if isinstance(wire, list):
        return [_plain(part) for part in wire]
    if not isinstance(wire, dict):
        return wire
    match wire.get(MARK):
        case None:
            return {key: _plain(part) for key, part in wire.items()}
        case "object":
            return {_plain(key): _plain(part) for key, part in wire["entries"]}
        case "secret":
            return STARS
        case "integer" | "float" | "escaped":
            return from_mark(wire)
        case _:
            return wire["text"]


def changes_of(original: Any, final: Any, form: FormNode, *, name: str = "") -> list[Change]:
    """The differences between a proposal and its edited form.

    Args:
        original: What was proposed.
        final: What it became.
        form: The tree of both; it says where a secret stands.
        name: What the whole value is called, the start of every path.

    Returns:
        ``{"path": "steps[0].status", "from": …, "to": …}`` each, plain JSON. Without ``from`` where something was
        added, without ``to`` where it was taken away (the index is then the one it had).
    """
    pair = (readable(original, form), readable(final, form))
    return list(_changes(original, final, pair, (name,) if name else ()))


def _changes(old: Any, new: Any, shown: tuple[Any, Any], path: Path) -> Iterator[Change]:
    before, after = opened(old), opened(new)
    if STARS in (shown[0], shown[1]):
        pass
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from _changes_in_mapping(before, after, shown, path)
        return
    elif is_sequence(before) and is_sequence(after):
        yield from _changes_in_list(list(before), list(after), shown, path)
        return
    if not _is_same(old, new):
        yield {"path": _text(path), "from": shown[0], "to": shown[1]}


def _changes_in_mapping(
    before: Mapping[Any, Any], after: Mapping[Any, Any], shown: tuple[Any, Any], path: Path
) -> Iterator[Change]:
    old, new = ({key: name for name, key in by_text(each).items()} for each in (before, after))
    for name, key in by_text({**before, **after}).items():
        inner = (*path, name)
        if key not in new:
            yield {"path": _text(inner), "from": shown[0][old[key]]}
        elif key not in old:
            yield {"path": _text(inner), "to": shown[1][new[key]]}
        else:
            yield from _changes(before[key], after[key], (shown[0][old[key]], shown[1][new[key]]), inner)


def _changes_in_list(
    old: list[Any], new: list[Any], shown: tuple[list[Any], list[Any]], path: Path
) -> Iterator[Change]:
    for first, last, start, end in _blocks(old, new):
        both = min(last - first, end - start)
        for step in range(both):
            at, to = first + step, start + step
            yield from _changes(old[at], new[to], (shown[0][at], shown[1][to]), (*path, to))
        yield from ({"path": _text((*path, at)), "from": shown[0][at]} for at in range(first + both, last))
        yield from ({"path": _text((*path, to)), "to": shown[1][to]} for to in range(start + both, end))


def _blocks(old: list[Any], new: list[Any]) -> Iterator[tuple[int, int, int, int]]:
    """The stretches of two lists that belong together, so that one row taken out does not change all after it."""
    before, after = ([json.dumps(to_wire(item)) for item in items] for items in (old, new))
    head = _shared(before, after)
    tail = _shared(before[head:][::-1], after[head:][::-1])
    yield 0, head, 0, head
    last, end = len(old) - tail, len(new) - tail
    for first, until, start, to in _middle(before[head:last], after[head:end]):
        yield head + first, head + until, head + start, head + to
    yield last, len(old), end, len(new)


def _shared(first: list[str], second: list[str]) -> int:
    return next(
        (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )


def _middle(before: list[str], after: list[str]) -> list[tuple[int, int, int, int]]:
    """Place by place, or aligned: whichever says less."""
    whole = [(0, len(before), 0, len(after))]
    counts = Counter(before)
    if not before or not after or sum(counts[text] for text in after) > _ALIGNED:
        return whole
    aligned = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    moved = sum(max(last - first, end - start) for word, first, last, start, end in aligned if word != "equal")
    if len(before) == len(after) and sum(map(str.__ne__, before, after)) <= moved:
        return whole
    return [(first, last, start, end) for _, first, last, start, end in aligned]


def _is_same(old: Any, new: Any) -> bool:
    if isinstance(old, SecretStr | SecretBytes) or isinstance(new, SecretStr | SecretBytes):
        return bool(old == new)
    return equal_wires(to_wire(old), to_wire(new))


def _text(path: Path) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text
