"""The cell that is running, and the ways to let widget messages pass it, one a kind of kernel.

ipykernel 6 holds messages back in a queue; 7.0 to 7.3 with a lock; 7.4 and later delivers by itself, but leaves out
"idle". Each way is a context manager that changes one kernel and leaves it as it was.
"""

import asyncio
import functools
import inspect
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Set
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

Message = dict[str, Any]
"""A deserialised Jupyter message: header, parent_header, metadata, content, buffers."""


def request_of(kernel: Any) -> Message | None:
    """The `execute_request` this code runs for; None in a widget's callback, or if a kernel cannot tell."""
    get_parent = getattr(kernel, "get_parent", None)
    parent = get_parent() if get_parent else None
    if isinstance(parent, dict) and parent.get("header", {}).get("msg_type") == "execute_request":
        return parent
    return None


class RunningCell:
    """Which cell runs in the kernel's main thread, kept up to date by IPython's own events."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        # A background task keeps the cell that started it as its parent long after that cell has ended. Hence
        # the second question: IPython swaps the display hook for the duration of a cell.
        running = sys.displayhook is kernel.shell.displayhook
        self.request: Message | None = request_of(kernel) if running else None
        """The cell's `execute_request`; None between cells."""

    def started(self, _info: Any) -> None:
        """For `pre_run_cell`."""
        if _in_main_thread():
            self.request = request_of(self._kernel)

    def ended(self, _result: Any) -> None:
        """For `post_run_cell`."""
        if _in_main_thread():
            self.request = None


@contextmanager
def followed_cells(kernel: Any) -> Iterator[RunningCell]:
    """The cell that runs now and those that come after it, for as long as the context lasts."""
    cell = RunningCell(kernel)
    # Kept in variables: IPython 7 (Colab) takes back the very object it was given, and a bound method is a
    # new one at each look-up.
    started, ended = cell.started, cell.ended
    events = kernel.shell.events
    events.register("pre_run_cell", started)
    events.register("post_run_cell", ended)
    try:
        yield cell
    finally:
        events.unregister("post_run_cell", ended)
        events.unregister("pre_run_cell", started)


def _in_main_thread() -> bool:
    # Cells of a subshell run in other threads and fire the same events.
    return threading.current_thread() is threading.main_thread()


COMM_TYPES = frozenset({"comm_open", "comm_msg", "comm_close"})
"""The messages of widgets."""

COMM_INFO = "comm_info_request"
"""Which widgets there are. A page asks for it when it is loaded, and draws no card before it has been told; it has
another way, of comms alone, but gives that up after four seconds, which a slow line or machine takes."""

PASSING = COMM_TYPES | {COMM_INFO}
"""What may pass a cell that waits. All others keep their place in the line."""


def is_comm(kernel: Any, frames: Any, kinds: Set[str] = PASSING) -> bool:
    """Whether these raw frames are a widget's message, or ask for widgets; they can be deserialised in full afterwards.

    A session refuses to read a signature twice, unless the content was left packed the first time.
    """
    try:
        _, rest = kernel.session.feed_identities(frames, copy=False)
        header = kernel.session.deserialize(rest, content=False, copy=False)["header"]
    except Exception:
        # Not signed, or no message at all (7.x sends itself a bare "stop aborting"): the kernel's business.
        return False
    return header["msg_type"] in kinds


def handle_now(kernel: Any, frames: Any, cell: RunningCell) -> None:
    """Handle a widget's message in the middle of whatever runs, and leave everything as it was.

    The steps are those of `Kernel.dispatch_shell`. Nothing is raised into the stream behind it.
    """
    # ipykernel 6 has one parent for all; from 7.1 on, code outside of messages sees the one that was set last.
    ident, parent = kernel._parent_ident["shell"], kernel.get_parent("shell")
    try:
        idents, rest = kernel.session.feed_identities(frames, copy=False)
        message = kernel.session.deserialize(rest, content=True, copy=False)
        _flush_prints()  # of the cell: the streams of 6.23 and before give all they hold to the parent of the moment
        kernel.set_parent(idents, message, channel="shell")
        _publish_status(kernel, "busy", message)
        try:
            handled = kernel.shell_handlers[message["header"]["msg_type"]](_for_replies(kernel), idents, message)
            if inspect.iscoroutine(handled):  # that of `COMM_INFO`, which awaits nothing
                _run(handled)
        finally:
            say_idle(kernel, message, cell)
    except Exception:
        kernel.log.exception("A widget's message failed while a cell was running")
    finally:
        kernel.set_parent(ident, parent, channel="shell")


def _for_replies(kernel: Any) -> Any:
    """Give what a reply goes out by: with a thread that receives, only that thread may use its stream."""
    thread = getattr(kernel, "shell_channel_thread", None)
    return thread.manager.get_subshell_to_shell_channel_socket(None) if thread else kernel.shell_stream


def _run(handled: Coroutine[Any, Any, object]) -> None:
    with suppress(StopIteration):
        handled.send(None)
    handled.close()


def say_idle(kernel: Any, message: Message, cell: RunningCell) -> None:
    """Tell the front end that `message` is done, and that the cell is not.

    ipywidgets sends the next change of a widget only after "idle" for the one before: without it a second
    click on a checkbox never leaves the browser.
    """
    _flush_prints()  # of the callback: front ends drop what comes after "idle"
    _publish_status(kernel, "idle", message)
    if cell.request is not None:
        _publish_status(kernel, "busy", cell.request)


def _flush_prints() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _publish_status(kernel: Any, state: str, parent: Message) -> None:
    content = {"execution_state": state}
    kernel.session.send(kernel.iopub_socket, "status", content, parent=parent, ident=kernel._topic("status"))


_Dispatch = Callable[..., Awaitable[None]]
_Handler = Callable[[Any, Any, Message], Any]


# -- ipykernel 7.4 and later --------------------------------------------------------------------------------------


@contextmanager
def native(kernel: Any, cell: RunningCell) -> Iterator[None]:
    """Say "idle" after each widget message, which the kernel leaves out while a cell runs; and let `COMM_INFO` pass."""
    handlers = kernel.shell_handlers
    originals = {kind: handlers[kind] for kind in COMM_TYPES if kind in handlers}
    handlers.update({kind: _with_idle(kernel, cell, original) for kind, original in originals.items()})
    try:
        with _sorted(kernel, cell, frozenset({COMM_INFO})):
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


# -- ipykernel 7: a lock lets one message in at a time, and a waiting cell holds it --------------------------------
#
# `Kernel.shell_main` takes ``self._main_asyncio_lock`` and then calls ``self.dispatch_shell``, both looked up anew for
# each message. So everybody passes the first, and is sorted at the second: what may pass is handled at once, all
# others take the real lock there, in the order in which they came. (From 7.4 on it asks the lock whether it is taken,
# and then lets widgets' messages pass by itself.)


@contextmanager
def _sorted(kernel: Any, cell: RunningCell, passing: Set[str]) -> Iterator[None]:
    lock = kernel._main_asyncio_lock
    door = _OpenDoor(lock)
    kernel._main_asyncio_lock = door
    kernel.dispatch_shell = _sorting(kernel, cell, door, passing)
    try:
        yield
    finally:
        del kernel.dispatch_shell  # the class's own method shows again
        kernel._main_asyncio_lock = lock


@contextmanager
def locked(kernel: Any, cell: RunningCell) -> Iterator[None]:
    """Let widget messages pass a running cell; anything else keeps its place in the line."""
    with _sorted(kernel, cell, PASSING), _nothing_overlooked(kernel):
        yield


_LOOK = 0.25
"""Seconds between two looks for messages that were overlooked."""

_LOOKS_AFTERWARDS = 8
"""Looks once nobody waits any more: the reply of the cell that waited is still to be sent."""


@contextmanager
def _nothing_overlooked(kernel: Any) -> Iterator[None]:
    """Have the thread that receives look for messages now and then.

    These kernels send a reply past the stream that receives on the same socket. That takes the signal of a message that
    arrives at this moment, such as the first of a card whose cell has just ended: it and all later ones stay unread,
    for good (mended in 7.4).
    """
    loop, stream = kernel.shell_channel_thread.io_loop, kernel.shell_stream
    over = threading.Event()

    def look(left: int) -> None:
        if left and not stream.closed():
            stream.flush(_POLLIN)
            loop.call_later(_LOOK, look, left - over.is_set())

    loop.add_callback(look, _LOOKS_AFTERWARDS)
    try:
        yield
    finally:
        over.set()


_POLLIN = 1
"""That of zmq, which only kernels import."""


class _OpenDoor:
    """Stands in for the lock, lets everybody in, and knows who came this way."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self.lock, self.locked = lock, lock.locked
        self._tasks: set[asyncio.Task[Any] | None] = set()

    async def __aenter__(self) -> None:
        self._tasks.add(asyncio.current_task())

    async def __aexit__(self, *exception: object) -> None:
        self._tasks.discard(asyncio.current_task())

    def let_in(self, task: asyncio.Task[Any] | None) -> bool:
        return task in self._tasks


def _sorting(kernel: Any, cell: RunningCell, door: _OpenDoor, passing: Set[str]) -> _Dispatch:
    dispatch: _Dispatch = kernel.dispatch_shell

    @functools.wraps(dispatch)  # by its parameters kernels are told apart
    async def dispatch_shell(msg: Any, /, **options: Any) -> None:
        # Who did not come through our door holds a lock already: a subshell its own, a message that queued
        # up before we came the real one. To make the latter take it again would hang the kernel for good.
        if not door.let_in(asyncio.current_task()):
            await dispatch(msg, **options)
        elif is_comm(kernel, msg, passing):  # even if the lock is free: it may be promised to the next cell already
            handle_now(kernel, msg, cell)
        else:
            async with door.lock:
                await dispatch(msg, **options)

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
