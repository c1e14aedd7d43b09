"""What a cell puts out beside our cards, and what becomes of the cells behind it when it is run again."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

from hitl_nb._kernel._cell import request_of

_OUTPUTS = frozenset({"stream", "display_data", "execute_result", "error", "clear_output"})


class CellOutputs:
    """Counts what the cell of this code puts out, from now on until the cell is over.

    Args:
        kernel: The kernel.
        cell: The id of the cell's request.
    """

    def __init__(self, kernel: Any, cell: str) -> None:
        self._kernel, self._cell = kernel, cell
        self._sent: Counter[str] = Counter()
        self._ended: list[Callable[[], object]] = []
        self.is_over = False
        """Whether the cell is over."""
        self._send = kernel.session.send
        kernel.session.send = self._count_and_send
        self._over = self._end  # IPython 7 takes back the very object it was given
        kernel.shell.events.register("post_run_cell", self._over)

    @property
    def count(self) -> int:
        """How many outputs there were; what is printed counts once it has left the kernel, so have it leave."""
        sys.stdout.flush()
        sys.stderr.flush()
        return self._sent[self._cell]

    def when_over(self, act: Callable[[], object]) -> None:
        """Have `act()` called when the cell is over; at once if it is."""
        if self.is_over:
            act()
        else:
            self._ended.append(act)

    def _count_and_send(self, stream: Any, kind: Any, *rest: Any, **options: Any) -> Any:
        sent = self._send(stream, kind, *rest, **options)
        message = kind if isinstance(kind, dict) else sent
        try:
            if message["header"]["msg_type"] in _OUTPUTS:
                self._sent[message["parent_header"]["msg_id"]] += 1
        except (KeyError, TypeError):
            pass  # no message of a cell
        return sent

    def is_of(self, request: Any) -> bool:
        """Whether this is the cell's request."""
        return bool(request["header"]["msg_id"] == self._cell)

    def _end(self, *_: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # a cell of a subshell
        self._kernel.shell.events.unregister("post_run_cell", self._over)
        if vars(self._kernel.session).get("send") == self._count_and_send:
            del self._kernel.session.send
        self.is_over = True
        ended, self._ended = self._ended, []
        for act in ended:
            act()


_followed: WeakKeyDictionary[Any, CellOutputs] = WeakKeyDictionary()
"""By kernel, the cell that was asked about last."""


def outputs_of_cell(kernel: Any | None) -> CellOutputs | None:
    """Return what counts the outputs of the cell that this code runs for; None outside of cells, or once it is over."""
    request = request_of(kernel) if kernel is not None else None
    if kernel is None or request is None or not hasattr(getattr(kernel, "shell", None), "events"):
        return None
    followed = _followed.get(kernel)
    if followed is not None and not followed.is_over:
        return followed if followed.is_of(request) else None  # else: a task in the background, of another cell
    if sys.displayhook is not kernel.shell.displayhook:
        return None  # likewise, and no cell is running
    _followed[kernel] = CellOutputs(kernel, request["header"]["msg_id"])
    return _followed[kernel]


def in_next_cell(kernel: Any, act: Callable[[], object]) -> None:
    """Have `act()` called once, when the next cell begins, so that what it displays stands in that cell."""
    events = kernel.shell.events

    def begun(*_: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # a cell of a subshell
        events.unregister("pre_run_cell", begun)
        act()

    events.register("pre_run_cell", begun)


def let_newer_cells_run(kernel: Any, since: float | None) -> None:
    """Have the cells run that a person has run since then, although the cell of this code is about to fail.

    A kernel drops all cells that wait behind one that fails. Those that were started together with it have to be
    dropped: they may rely on a yes. But whoever has run the cell again wants it to run.

    Args:
        kernel: The kernel.
        since: When the cell was run again, or deleted, in seconds since 1970, by the clock of the browser.
    """
    failing = request_of(kernel)
    if failing is None or not hasattr(kernel, "_aborting") or "set_parent" in vars(kernel):
        return
    cell = failing.get("metadata", {}).get("cellId")
    original = kernel.set_parent

    def set_parent(ident: Any, parent: Any, channel: str = "shell") -> Any:
        if channel == "shell" and isinstance(parent, dict) and parent["header"].get("msg_type") == "execute_request":
            if kernel._aborting and _is_newer(parent, cell, since):
                kernel._aborting = False
            if not kernel._aborting:
                vars(kernel).pop("set_parent", None)
        return original(ident, parent, channel)

    kernel.set_parent = set_parent


_TOGETHER = 0.5
"""Seconds between the first and the last request of a "Run All": a person who has seen a card takes longer."""


def _is_newer(request: Any, cell: Any, since: float | None) -> bool:
    if cell is not None and request.get("metadata", {}).get("cellId") == cell:
        return True
    sent = request["header"].get("date")
    return since is not None and isinstance(sent, datetime) and sent.timestamp() >= since - _TOGETHER
