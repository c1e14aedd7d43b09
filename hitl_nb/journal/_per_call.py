"""What is kept of each call as long as the call is there."""

import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from hitl_nb._calls import Call

_Kept = TypeVar("_Kept")


class PerCall(Generic[_Kept]):
    """One record a call, found by its occurrence, gone with it.

    Args:
        make: Makes the record of a call that has none.
    """

    def __init__(self, make: Callable[[Call], _Kept]) -> None:
        self._make = make
        self._held: dict[str, tuple[weakref.ref[Call], _Kept]] = {}

    def __getitem__(self, call: Call) -> _Kept:
        found = self._held.get(call.occurrence)
        if found is not None:
            return found[1]
        held, occurrence, kept = self._held, call.occurrence, self._make(call)
        held[occurrence] = weakref.ref(call, lambda _: held.pop(occurrence, None) and None), kept
        return kept
