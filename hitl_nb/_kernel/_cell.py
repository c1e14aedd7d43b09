"""The cell that is running: what the kernel is busy with, and who sent it."""

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
