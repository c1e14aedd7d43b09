"""Two sides change one document: what both have agreed on, what each has made of it, and where they overlap.

Three ways, place by place (`merge`). A place that one side has changed is as that side left it. Where both have, and
not to the same, the first side's value stands and the overlap is told of, with both values: nothing is lost silently.

What is a place: each key of an object; each row of a list by its ``id``, where the rows have one, whatever moved; each
position of a list as long as neither side has made it longer or shorter; anything else as a whole. ``True`` is not
``1``, and ``1`` is ``1.0``, as in JSON.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias


class _Missing:
    def __repr__(self) -> str:
        return "(not there)"

    def __copy__(self) -> "_Missing":
        return self

    def __deepcopy__(self, memo: object) -> "_Missing":
        return self

    def __bool__(self) -> bool:
        return False


NOT_THERE: Final = _Missing()
"""The value of a place that is not there."""


@dataclass(frozen=True)
class RowId:
    """A row of a list, by its ``id``."""

    id: str | int


Step: TypeAlias = str | int | RowId
Path: TypeAlias = tuple[Step, ...]
"""Where something stands in a document."""


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """One place that both sides have changed, each in its own way."""

    path: Path
    was: Any
    mine: Any
    theirs: Any
    is_order: bool = False
    """Whether it is the order of the rows, by their ids, and not what is in them."""


def same(one: object, other: object) -> bool:
    """Whether two documents say the same."""
    if one is other:
        return True
    if isinstance(one, bool) or isinstance(other, bool):
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return len(one) == len(other) and all(key in other and same(part, other[key]) for key, part in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float) and one != one and other != other:
        return True
    try:
        return bool(one == other)
    except Exception:
        return False  # a table is another one, as far as anybody can tell


def copied(document: object) -> Any:
    """Return a copy that shares nothing that can change, as far as it is plain data."""
    if isinstance(document, Mapping):
        return {key: copied(part) for key, part in document.items()}
    return [copied(part) for part in document] if isinstance(document, list) else document


def merge(base: object, mine: object, theirs: object) -> tuple[Any, list[Overlap]]:
    """Merge what two sides have made of `base`.

    Returns:
        The document, and the places where both have changed it in different ways: there it has what is `mine`.
    """
    found: list[Overlap] = []
    return _merged((), base, mine, theirs, found.append), found


_Tell = Callable[[Overlap], None]


def _merged(path: Path, base: object, mine: object, theirs: object, tell: _Tell) -> Any:
    if same(base, mine):
        return theirs
    if same(base, theirs) or same(mine, theirs):
        return mine
    if isinstance(mine, Mapping) and isinstance(theirs, Mapping) and (base is NOT_THERE or isinstance(base, Mapping)):
        return _merged_keys(path, base or {}, mine, theirs, tell)
    if isinstance(mine, list) and isinstance(theirs, list) and (base is NOT_THERE or isinstance(base, list)):
        before: list[Any] = base or []  # type: ignore[assignment]  # a list, or not there
        old, new, other = rows_of(before), rows_of(mine), rows_of(theirs)
        if old is not None and new is not None and other is not None:
            return _merged_rows(path, old, new, other, tell)
        if len(before) == len(mine) == len(theirs):
            items = zip(before, mine, theirs, strict=True)
            return [_merged((*path, at), was, my, their, tell) for at, (was, my, their) in enumerate(items)]
    tell(Overlap(path=path, was=base, mine=mine, theirs=theirs))
    return mine


def _merged_keys(path: Path, base: Any, mine: Any, theirs: Any, tell: _Tell) -> dict[str, Any]:
    merged = {}
    for key in dict.fromkeys((*theirs, *mine)):
        was, my, their = (side.get(key, NOT_THERE) for side in (base, mine, theirs))
        value = _merged((*path, key), was, my, their, tell)
        if value is not NOT_THERE:
            merged[key] = value
    return merged


_Rows: TypeAlias = dict[str | int, Any]


def rows_of(items: Sequence[object]) -> _Rows | None:
    """Return the rows of a list by their ids; None if it has no such rows."""
    rows: _Rows = {}
    for item in items:
        name = item.get("id") if isinstance(item, Mapping) else None
        if isinstance(name, bool) or not isinstance(name, str | int) or name in rows:
            return None
        rows[name] = item
    return rows


def _merged_rows(path: Path, base: _Rows, mine: _Rows, theirs: _Rows, tell: _Tell) -> list[Any]:
    merged = {}
    for name in dict.fromkeys((*theirs, *mine)):
        was, my, their = (side.get(name, NOT_THERE) for side in (base, mine, theirs))
        merged[name] = _merged((*path, RowId(name)), was, my, their, tell)
    order = _merged_order(path, list(base), list(mine), list(theirs), tell)
    return [merged[name] for name in order if merged[name] is not NOT_THERE]


def _merged_order(path: Path, base: list[Any], mine: list[Any], theirs: list[Any], tell: _Tell) -> list[Any]:
    moved, they_moved = (_has_moved(base, side) for side in (mine, theirs))
    first, second = (mine, theirs) if moved or not they_moved else (theirs, mine)
    both = set(mine) & set(theirs)
    if moved and they_moved and [n for n in mine if n in both] != [n for n in theirs if n in both]:
        tell(Overlap(path=path, was=base, mine=mine, theirs=theirs, is_order=True))
    order = list(first)
    for at, name in enumerate(second):
        if name not in order:
            before = next((each for each in reversed(second[:at]) if each in order), None)
            order.insert(order.index(before) + 1 if before is not None else 0, name)
    return order


def _has_moved(base: list[Any], side: list[Any]) -> bool:
    there, known = set(side), set(base)
    return [name for name in base if name in there] != [name for name in side if name in known]


def changes(before: object, after: object, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Yield each place that differs, with what was there and what is: places as `merge` has them."""
    if same(before, after):
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in dict.fromkeys((*before, *after)):
            yield from changes(before.get(key, NOT_THERE), after.get(key, NOT_THERE), (*path, key))
        return
    if isinstance(before, list) and isinstance(after, list):
        old, new = rows_of(before), rows_of(after)
        if old is not None and new is not None and not _has_moved(list(old), list(new)):
            for name in dict.fromkeys((*old, *new)):
                yield from changes(old.get(name, NOT_THERE), new.get(name, NOT_THERE), (*path, RowId(name)))
            return
        if len(before) == len(after) and (old is None or new is None):
            for at, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from changes(one, other, (*path, at))
            return
    yield path, before, after


# -- places -----------------------------------------------------------------------------------------------------------

_STEP: Final = re.compile(r"\[id=(?P<row>[^\]]*)\]|\[(?P<at>-?\d+)\]|\.?(?P<key>[^.\[\]]+)")


def path_of(text: str | Path) -> Path:
    """Return a path as a person writes it, ``trip.steps[id=7].title`` or ``trip.steps[0]``; a tuple is one already.

    Raises:
        ValueError: It cannot be read.
    """
    if isinstance(text, tuple):
        return text
    steps: list[Step] = []
    end = 0
    for found in _STEP.finditer(text):
        if found.start() != end:
            break
        end = found.end()
        if found["row"] is not None:
            steps.append(RowId(found["row"]))
        else:
            steps.append(int(found["at"]) if found["at"] is not None else found["key"])
    if end != len(text):
        raise ValueError(text)
    return tuple(steps)


def text_of(path: Path) -> str:
    """Return a path as a person reads it."""
    text = ""
    for step in path:
        if isinstance(step, RowId):
            text += f"[id={step.id}]"
        elif isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def value_at(document: object, path: Path) -> Any:
    """Return what stands at a place, or `NOT_THERE`."""
    for step in path:
        document = _inside(document, step)
    return document


def _inside(document: object, step: Step) -> Any:
    if isinstance(document, Mapping) and not isinstance(step, RowId):
        return document.get(step, NOT_THERE)
    if not isinstance(document, list):
        return NOT_THERE
    at = _position(document, step)
    return document[at] if at is not None else NOT_THERE


def _position(items: list[Any], step: Step) -> int | None:
    if isinstance(step, RowId):
        return next((at for at, item in enumerate(items) if _is_row(item, step.id)), None)
    if isinstance(step, str) and step.isdecimal():
        step = int(step)
    return step if isinstance(step, int) and -len(items) <= step < len(items) else None


def _is_row(item: object, name: str | int) -> bool:
    # A path that a person has written has texts for ids.
    return isinstance(item, Mapping) and "id" in item and str(item["id"]) == str(name)


def put(document: object, path: Path, value: object) -> Any:
    """Return the document with a value at a place, or without the place where it is `NOT_THERE`.

    The document itself is not changed. A list is appended to at the position behind its last item.

    Raises:
        LookupError: What the place stands in is not there.
    """
    if not path:
        return value
    step, *rest = path
    if isinstance(document, Mapping) and not isinstance(step, RowId):
        inside = put(document.get(step, {} if rest else NOT_THERE), tuple(rest), value)
        kept = {key: part for key, part in document.items() if key != step or inside is not NOT_THERE}
        return kept if inside is NOT_THERE else {**kept, step: inside}
    if not isinstance(document, list):
        raise LookupError(text_of(path))
    at = _position(document, step)
    if at is None and not rest and (isinstance(step, RowId) or step == len(document)):
        return [*document, value] if value is not NOT_THERE else list(document)
    if at is None:
        raise LookupError(text_of(path))
    inside = put(document[at], tuple(rest), value)
    new = list(document)
    if inside is NOT_THERE:
        del new[at]
    else:
        new[at] = inside
    return new


def in_order(items: list[Any], names: Sequence[object]) -> list[Any]:
    """Return rows in the order of these ids; rows that are not named stay behind the one before them."""
    rows = rows_of(items)
    if rows is None:
        return items
    order = _merged_order((), [], [name for name in names if name in rows], list(rows), lambda _: None)
    return [rows[name] for name in order]
