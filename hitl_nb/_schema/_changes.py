"""What a person changed, in words for the model and for the record: the place, what was there, what is there now.

Found by comparing the two values, not by counting clicks: who changes something and back has changed nothing. A
secret is compared, never told.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from pydantic import SecretBytes, SecretStr

from hitl_nb._schema._layout import hide_secrets, readable
from hitl_nb._schema._node import FormNode
from hitl_nb._schema._wire import Json, Path, by_text, is_sequence, looks_same, opened, to_wire

__all__ = ["changes_of"]

Change = dict[str, Json]
Block = tuple[int, int, int, int]
"""Items `first` to `last` of one list, and `start` to `end` of the other."""

_SECRETS: Final = (SecretStr, SecretBytes)

_ALIGNED: Final = 1_000_000
"""Lists are aligned up to so many pairs of equal items (some 0.5 s); beyond, items are compared place by place."""


def changes_of(original: object, final: object, form: FormNode | None, *, name: str = "") -> list[Change]:
    """Return the differences between a proposal and its edited form.

    Args:
        original: What was proposed.
        final: What it became.
        form: The tree of both, which says where a secret stands; None if there is none (`secret_form_of`).
        name: What the whole value is called, the start of every path.

    Returns:
        ``{"path": "steps[0].status", "from": …, "to": …}`` each, plain JSON. Without ``from`` where something was
        added, without ``to`` where it was taken away (the index is then the one it had).
    """
    was, now = (each if form is None else hide_secrets(each, form) for each in (original, final))
    return list(_compared(original, final, was, now, (name,) if name else ()))


def _compared(old: object, new: object, was: object, now: object, path: Path) -> Iterator[Change]:
    """Compare `old` and `new`; `was` and `now` are the same two without their secrets, which is what may be told."""
    before, after = opened(old), opened(new)
    was, now = opened(was), opened(now)
    # What is a secret as a whole has no parts there, so that nothing in it is told.
    if (
        isinstance(before, Mapping)
        and isinstance(after, Mapping)
        and isinstance(was, Mapping)
        and isinstance(now, Mapping)
    ):
        yield from _compared_keys(before, after, was, now, path)
    elif is_sequence(before) and is_sequence(after) and is_sequence(was) and is_sequence(now):
        yield from _compared_items(list(before), list(after), list(was), list(now), path)
    # On the wire all secrets look the same.
    elif old != new if isinstance(old, _SECRETS) or isinstance(new, _SECRETS) else not looks_same(old, new):
        yield {"path": _dotted(path), "from": readable(was), "to": readable(now)}


def _compared_keys(
    before: Mapping[object, object],
    after: Mapping[object, object],
    was: Mapping[object, object],
    now: Mapping[object, object],
    path: Path,
) -> Iterator[Change]:
    for name, key in by_text({**before, **after}).items():
        inner = (*path, name)
        if key not in after:
            yield {"path": _dotted(inner), "from": readable(was[key])}
        elif key not in before:
            yield {"path": _dotted(inner), "to": readable(now[key])}
        else:
            yield from _compared(before[key], after[key], was[key], now[key], inner)


def _compared_items(
    old: list[object], new: list[object], was: list[object], now: list[object], path: Path
) -> Iterator[Change]:
    for first, last, start, end in _blocks(old, new):
        both = min(last - first, end - start)
        for step in range(both):
            at, to = first + step, start + step
            yield from _compared(old[at], new[to], was[at], now[to], (*path, to))
        yield from ({"path": _dotted((*path, at)), "from": readable(was[at])} for at in range(first + both, last))
        yield from ({"path": _dotted((*path, to)), "to": readable(now[to])} for to in range(start + both, end))


def _blocks(old: list[object], new: list[object]) -> Iterator[Block]:
    """Yield the stretches of two lists that belong together, so that one row taken out does not change all after it."""
    before, after = ([json.dumps(to_wire(item)) for item in items] for items in (old, new))
    head = shared_start(before, after)
    tail = shared_start(before[head:][::-1], after[head:][::-1])
    yield 0, head, 0, head
    last, end = len(old) - tail, len(new) - tail
    for first, until, start, to in _middle(before[head:last], after[head:end]):
        yield head + first, head + until, head + start, head + to
    yield last, len(old), end, len(new)


def shared_start(first: Sequence[object], second: Sequence[object]) -> int:
    """Return how many items the two begin with."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(first), len(second)))


def _middle(before: list[str], after: list[str]) -> list[Block]:
    """Return the stretches place by place, or aligned: whichever says less."""
    whole = [(0, len(before), 0, len(after))]
    counts = Counter(before)
    # Aligning takes as long as there are pairs of equal items.
    if not before or not after or sum(counts[text] for text in after) > _ALIGNED:
        return whole
    aligned = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    moved = sum(max(last - first, end - start) for word, first, last, start, end in aligned if word != "equal")
    if len(before) == len(after) and sum(map(str.__ne__, before, after)) <= moved:
        return whole
    return [(first, last, start, end) for _, first, last, start, end in aligned]


def _dotted(path: Path) -> str:
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step, ensure_ascii=False)}]"
    return text
