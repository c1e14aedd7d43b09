"""The cell that is running, and one widget message that is handled at once although it runs."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
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
"""The messages of widgets. All others keep their place in the line."""


def is_comm(kernel: Any, frames: Any) -> bool:
    """Whether these raw frames are a widget's message; they can be deserialised in full afterwards.

    A session refuses to read a signature twice, unless the content was left packed the first time.
    """
    try:
        _, rest = kernel.session.feed_identities(frames, copy=False)
        header = kernel.session.deserialize(rest, content=False, copy=False)["header"]
    except Exception:
        # Not signed, or no message at all (7.x sends itself a bare "stop aborting"): the kernel's business.
        return False
    return header["msg_type"] in COMM_TYPES


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
            kernel.shell_handlers[message["header"]["msg_type"]](kernel.shell_stream, idents, message)
        finally:
            say_idle(kernel, message, cell)
    except Exception:
        kernel.log.exception("A widget's message failed while a cell was running")
    finally:
        kernel.set_parent(ident, parent, channel="shell")


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
