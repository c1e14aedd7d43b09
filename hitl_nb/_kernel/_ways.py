"""The three ways to let widget messages pass a running cell, one a kind of kernel.

ipykernel 6 holds messages back in a queue; 7.0 to 7.3 with a lock; 7.4 and later delivers by itself, but leaves out
"idle". Each is a context manager that changes one kernel and leaves it as it was.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hitl_nb._kernel._cell import COMM_TYPES, Message, RunningCell, handle_now, is_comm, say_idle

_Dispatch = Callable[..., Awaitable[None]]
_Handler = Callable[[Any, Any, Message], Any]


# -- ipykernel 7.4 and later --------------------------------------------------------------------------------------


@contextmanager
def native(kernel: Any, cell: RunningCell) -> Iterator[None]:
    """Say "idle" after each widget message, which the kernel leaves out while a cell runs."""
    handlers = kernel.shell_handlers
    originals = {kind: handlers[kind] for kind in COMM_TYPES if kind in handlers}
    handlers.update({kind: _with_idle(kernel, cell, original) for kind, original in originals.items()})
    try:
        yield
    finally:
        handlers.update(originals)


def _with_idle(kernel: Any, cell: RunningCell, original: _Handler) -> _Handler:
    def handler(stream: Any, ident: Any, message: Message) -> Any:
        try:
            return original(stream, ident, message)
        finally:
            say_idle(kernel, message, cell)

    return handler


# -- ipykernel 7.0 to 7.3: a lock lets one message in at a time, and a waiting cell holds it ----------------------
#
# `Kernel.shell_main` takes ``self._main_asyncio_lock`` and then calls ``self.dispatch_shell``, both looked up anew for
# each message. So everybody passes the first, and is sorted at the second: widget messages are handled at once, all
# others take the real lock there, in the order in which they came.


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


# -- ipykernel 6: a queue hands out one message at a time, and a waiting cell stops it ----------------------------
#
# The stream in front of the queue still runs while a cell awaits. So widget messages are taken there, and those that
# already stand in the queue are taken out of it once.


@contextmanager
def queued(kernel: Any, cell: RunningCell) -> Iterator[None]:
    """Let widget messages pass the queue; anything else keeps its place in it."""
    stand_in_line = partial(kernel.schedule_dispatch, kernel.dispatch_shell)  # what the kernel itself does

    def receive(frames: Any) -> None:
        if is_comm(kernel, frames):
            handle_now(kernel, frames, cell)
        else:
            stand_in_line(frames)

    kernel.shell_stream.on_recv(receive, copy=False)
    try:
        _take_out_comms(kernel, cell)
        yield
    finally:
        kernel.shell_stream.on_recv(stand_in_line, copy=False)


def _take_out_comms(kernel: Any, cell: RunningCell) -> None:
    comms = []
    for place in [kernel.msg_queue.get_nowait() for _ in range(kernel.msg_queue.qsize())]:
        _, _, arguments = place
        if len(arguments) == 1 and is_comm(kernel, arguments[0]):
            comms.append(arguments[0])
        else:
            kernel.msg_queue.put_nowait(place)
    for frames in comms:
        handle_now(kernel, frames, cell)
