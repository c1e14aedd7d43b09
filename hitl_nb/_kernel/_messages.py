"""One widget message, handled at once although a cell is running."""

import sys
from typing import Any

from hitl_nb._kernel._cell import Message, RunningCell

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
    click on a checkbox never leaves the browser (facts/kernel.md, fact 2).
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
