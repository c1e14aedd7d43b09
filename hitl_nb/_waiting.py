"""The one place that waits for people.

An awaiting cell has two problems that a plain ``await future`` does not solve:
the stop button is not noticed until something wakes the loop (ipython/ipykernel#881), and an answer may come from
another thread. Hence a heartbeat, one a loop however many calls are open, and ``call_soon_threadsafe``.
There is no waiting that blocks the kernel's loop.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from weakref import WeakKeyDictionary

from hitl_nb._calls import Call

TICK = 0.25
"""Seconds between two heartbeats: how long the stop button may go unnoticed."""


async def until_decided(call: Call) -> None:
    """Wait until `call` is decided, in whichever thread that happens.

    A cancelled wait leaves the call open: whoever cancels closes it (the session does).
    """
    decided = asyncio.Event()
    call.add_done_callback(partial(_wake, asyncio.get_running_loop(), decided))
    with heartbeat():
        await decided.wait()


def _wake(loop: asyncio.AbstractEventLoop, waiting: asyncio.Event) -> None:
    # A loop that was closed has nobody waiting in it any more.
    if not loop.is_closed():
        loop.call_soon_threadsafe(waiting.set)


def loop_answers(loop: asyncio.AbstractEventLoop, patience: float = 2.0) -> bool:
    """Whether a loop of another thread still turns; asks it, and waits at most `patience` seconds."""
    turned = threading.Event()
    loop.call_soon_threadsafe(turned.set)
    return turned.wait(patience)


class _Heart:
    """A no-op timer that schedules itself again while anyone holds it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.holders = 0
        self._timer: asyncio.TimerHandle | None = None

    def beat(self) -> None:
        self._timer = self._loop.call_later(TICK, self.beat)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_hearts: WeakKeyDictionary[asyncio.AbstractEventLoop, _Heart] = WeakKeyDictionary()


@contextmanager
def heartbeat() -> Iterator[None]:
    """Wake the running loop every `TICK` seconds, so that the stop button works while everything awaits."""
    loop = asyncio.get_running_loop()
    heart = _hearts.setdefault(loop, _Heart(loop))
    heart.holders += 1
    if heart.holders == 1:
        heart.beat()
    try:
        yield
    finally:
        heart.holders -= 1
        if heart.holders == 0:
            heart.stop()


@contextmanager
def stopped_in_a_line(words: str) -> Iterator[None]:
    """Have the stop button show a line in place of a traceback, whose frames are all ours and the kernel's.

    Args:
        words: What became of what was awaited. The outermost wait knows best, so the last one who says it counts.
    """
    try:
        yield
    except asyncio.CancelledError as error:
        line = f"{type(error).__name__}: {words}"
        # IPython asks the error itself; to scripts it is a `CancelledError` like any other.
        error._render_traceback_ = lambda: [line]  # type: ignore[attr-defined]
        raise
