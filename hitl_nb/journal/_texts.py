"""What of a long text, or of a long list, is as it was: found by comparing in bulk, not piece by piece."""

import bisect
import json
import re
from typing import Final, TypeVar

_Part = TypeVar("_Part", str, list[str])

_BEGIN: Final = re.compile(r"\s*\[\s*")
_NEXT: Final = re.compile(r"\s*([,\]])\s*")
_decoded = json.JSONDecoder().raw_decode


_CHUNK: Final = 16_384
"""Characters that are compared at once."""


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


class _Ends:
    """A text that is compared with its successors; cut into chunks once, because cutting is what takes the time."""

    def __init__(self) -> None:
        self.text = ""
        self._front: list[str] = []
        self._back: list[str] = []

    def change_to(self, text: str) -> tuple[int, int]:
        """Take a new text and give how much of begin and end is as before."""
        old, size = self.text, min(len(self.text), len(text))
        begin = 0
        while begin + _CHUNK <= size:
            if begin == len(self._front) * _CHUNK:
                self._front.append(old[begin : begin + _CHUNK])
            if not text.startswith(self._front[begin // _CHUNK], begin):
                break
            begin += _CHUNK
        del self._front[begin // _CHUNK :]
        begin += same_start(old[begin : begin + _CHUNK], text[begin : begin + _CHUNK])
        end, size = 0, size - begin
        while end + _CHUNK <= size:
            if end == len(self._back) * _CHUNK:
                self._back.append(old[len(old) - end - _CHUNK : len(old) - end])
            if not text.startswith(self._back[end // _CHUNK], len(text) - end - _CHUNK):
                break
            end += _CHUNK
        del self._back[end // _CHUNK :]
        rest = min(size - end, _CHUNK)
        end += same_end(old[len(old) - end - rest : len(old) - end], text[len(text) - end - rest : len(text) - end], 0)
        self.text = text
        return begin, end


class ArrayText:
    """A JSON array that is written again and again with little that is new: only that is parsed."""

    def __init__(self) -> None:
        self._ends = _Ends()
        self._parts: list[str] = []
        self._starts: list[int] = []

    def parts(self, text: str) -> list[str]:
        """Give the texts of an array's elements; those that were there before are the identical objects.

        Raises:
            ValueError: It is no JSON array.
        """
        length = len(self._ends.text)
        try:
            begin, end = self._ends.change_to(text)
            # An element is as before if what stands beside it is, too: `[12` may go on as `[123`.
            keep = bisect.bisect_left(self._starts, begin)
            keep -= keep > 0 and self._end(keep - 1) >= begin
            last = max(bisect.bisect_right(self._starts, length - end), keep)
            found = self._between(text, keep, last, len(text) - length)
            if found is None:
                last = len(self._parts)
                found = self._between(text, keep, last, 0) or []
        except ValueError:
            # Of what it was compared with last, nothing is known.
            self._ends, self._parts, self._starts = _Ends(), [], []
            raise
        shift = len(text) - length
        self._parts[keep:last] = [text[start:stop] for start, stop in found]
        self._starts[keep:] = [start for start, _ in found] + [start + shift for start in self._starts[last:]]
        return list(self._parts)

    def _end(self, index: int) -> int:
        return self._starts[index] + len(self._parts[index])

    def _between(self, text: str, keep: int, last: int, shift: int) -> list[tuple[int, int]] | None:
        """Where the elements stand that are new, between those that are kept; None if the last cannot be kept."""
        found: list[tuple[int, int]] = []
        goal = self._starts[last] + shift if last < len(self._parts) else None
        place, is_first = (self._end(keep - 1), False) if keep else (_begin(text), True)
        if is_first and text[place : place + 1] == "]":
            return found if goal is None else None
        while True:
            if not is_first:
                delimiter = _NEXT.match(text, place)
                if delimiter is None:
                    raise ValueError(f"no JSON array: {text[place : place + 20]!r} at {place}")
                if delimiter[1] == "]":
                    return found if goal is None else None
                place = delimiter.end()
            if goal is not None and place >= goal:
                return found if place == goal else None
            _, end = _decoded(text, place)
            found.append((place, end))
            place, is_first = end, False


def _begin(text: str) -> int:
    found = _BEGIN.match(text)
    if found is None:
        raise ValueError(f"no JSON array: {text[:20]!r}")
    return found.end()
