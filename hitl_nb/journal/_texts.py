"""What of a long text, or of a long list, is as it was: found by comparing in bulk, not piece by piece."""

import bisect
import json
import re
from typing import Final, TypeVar

_Part = TypeVar("_Part", str, list[str])

_BEGIN: Final = re.compile(r"\s*\[\s*")
_NEXT: Final = re.compile(r"\s*([,\]])\s*")
_decoded = json.JSONDecoder().raw_decode


def same_start(old: _Part, new: _Part) -> int:
    """Give how much of the begin of two texts, or lists of texts, is the same."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def same_end(old: _Part, new: _Part, start: int) -> int:
    """Give how much of the end is the same, of what comes after `start`."""
    low, high = 0, min(len(old), len(new)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class ArrayText:
    """A JSON array that is written again and again with little that is new: only that is parsed."""

    def __init__(self) -> None:
        self._text = ""
        self._places: list[tuple[int, int]] = []
        self._parts: list[str] = []

    def parts(self, text: str) -> list[str]:
        """Give the texts of an array's elements; those that were there before are the identical objects.

        Raises:
            ValueError: It is no JSON array.
        """
        start = same_start(self._text, text)
        tail = same_end(self._text, text, start)
        # An element is as before if what stands beside it is, too: `[12` may go on as `[123`.
        keep = bisect.bisect_left(self._places, start, key=lambda place: place[1])
        same = len(self._text) - tail
        end = min(
            len(self._places) - bisect.bisect_right(self._places, same, key=lambda place: place[0]),
            len(self._places) - keep,
        )
        places = self._parsed(text, keep, end) or self._parsed(text, keep, 0) or []
        made = [text[begin:stop] for begin, stop in places[keep : len(places) - end]]
        self._parts[keep : len(self._parts) - end] = made
        self._text, self._places = text, places
        return list(self._parts)

    def _parsed(self, text: str, keep: int, end: int) -> list[tuple[int, int]] | None:
        """Where the elements stand, if so many at begin and end are as before; None if those at the end are not."""
        shift = len(text) - len(self._text)
        after = [(start + shift, stop + shift) for start, stop in self._places[len(self._places) - end :]]
        places, goal = self._places[:keep], after[0][0] if after else -1
        place = _begin(text) if not places else places[-1][1]
        if not places and text[place] == "]":
            return []
        while True:
            if places:
                delimiter = _NEXT.match(text, place)
                if delimiter is None:
                    raise ValueError(f"no JSON array: {text[place : place + 20]!r} at {place}")
                if delimiter[1] == "]":
                    return places if end == 0 else None
                place = delimiter.end()
            if place == goal:
                return places + after
            if end and place > goal:
                return None
            _, stop = _decoded(text, place)
            places.append((place, stop))
            place = stop


def _begin(text: str) -> int:
    found = _BEGIN.match(text)
    if found is None:
        raise ValueError(f"no JSON array: {text[:20]!r}")
    return found.end()
