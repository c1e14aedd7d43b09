"""Which calls this kernel has open, and who wants to know of every decision."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call

log = logging.getLogger("hitl_nb")

_opened: "WeakSet[Call]" = WeakSet()


def pending() -> list["Call"]:
    """Give all calls of this kernel that a person can answer now, whichever session or cell asks, oldest first."""
    waiting = [call for call in _opened if can_be_answered(call)]
    return sorted(waiting, key=lambda call: call.asked_at)


def can_be_answered(call: "Call") -> bool:
    """Whether somebody can answer the call itself now; where several people are asked, they have calls of their own."""
    several = call.turn is not None and call.turn.several
    return call.status == "executing" and not call.decided and not several


def note_opened(call: "Call") -> None:
    """Count a call among those that can be answered."""
    _opened.add(call)


_watchers: list[Callable[["Call"], object]] = []


@contextmanager
def decisions_watched(watcher: Callable[["Call"], object]) -> Iterator[None]:
    """Have `watcher(call)` called for each decision of this process, before anybody acts on it, in deciding order."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def tell_watchers(call: Any) -> None:
    """Tell everybody of a decision; a watcher that fails must not keep the run waiting."""
    for watcher in tuple(_watchers):
        try:
            watcher(call)
        except Exception:
            log.exception("A watcher of decisions failed on `%s` (%s)", call.name, call.id)
