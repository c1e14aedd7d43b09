"""ipykernel 7.0 to 7.3: a lock lets one message in at a time, and a waiting cell holds it.

`Kernel.shell_main` takes ``self._main_asyncio_lock`` and then calls ``self.dispatch_shell``, both looked up
anew for each message. So everybody passes the first, and is sorted at the second: widget messages are
handled at once, all others take the real lock there, in the order in which they came.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hitl_nb._kernel._cell import RunningCell
from hitl_nb._kernel._messages import handle_now, is_comm

_Dispatch = Callable[..., Awaitable[None]]


@contextmanager
def locked(kernel: Any, cell: RunningCell) -> Iterator[None]:
    """Let widget messages pass a running cell; anything else keeps its place in the line."""
    lock = kernel._main_asyncio_lock
    door = _OpenDoor()
    kernel._main_asyncio_lock = door
    kernel.dispatch_shell = _sorting(kernel, cell, lock, door)
    try:
        yield
    finally:
        del kernel.dispatch_shell  # the class's own method shows again
        kernel._main_asyncio_lock = lock


class _OpenDoor:
    """Stands in for the lock, lets everybody in, and knows who came this way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> None:
        self._tasks.add(asyncio.current_task())

    async def __aexit__(self, *exception: object) -> None:
        self._tasks.discard(asyncio.current_task())

    def let_in(self, task: asyncio.Task[Any] | None) -> bool:
        return task in self._tasks


def _sorting(kernel: Any, cell: RunningCell, lock: asyncio.Lock, door: _OpenDoor) -> _Dispatch:
    dispatch: _Dispatch = kernel.dispatch_shell

    async def dispatch_shell(msg: Any, /, subshell_id: str | None = None) -> None:
        # Who did not come through our door holds a lock already: a subshell its own, a message that queued
        # up before we came the real one. To make the latter take it again would hang the kernel for good.
        if not door.let_in(asyncio.current_task()):
            await dispatch(msg, subshell_id=subshell_id)
        elif is_comm(kernel, msg):  # even if the lock is free: it may be promised to the next cell already
            handle_now(kernel, msg, cell)
        else:
            async with lock:
                await dispatch(msg, subshell_id=subshell_id)

    return dispatch_shell
