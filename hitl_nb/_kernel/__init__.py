"""Clicks that reach the kernel while a cell waits for them.

A Jupyter kernel takes one message after the other, so the click that would end a waiting cell queues up
behind that very cell. How a kernel can be helped depends on how it holds its messages back; we ask for
features and not for versions, and undo everything when nobody waits any more::

    "native"   ipykernel >= 7.4       delivers by itself, but forgets to say "idle"
    "locked"   ipykernel 7.0 - 7.3    holds messages back with a lock
    "queued"   ipykernel 6            holds messages back in a queue
    "unknown"  any other kernel       we cannot help: run in the background instead
    "none"     no kernel              nothing to deliver
"""

import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal
from weakref import WeakKeyDictionary

from hitl_nb._kernel._cell import RunningCell, followed_cells, request_of
from hitl_nb._kernel._ways import locked, native, queued

__all__ = ["Delivery", "FrontEnd", "comm_delivery", "current_kernel", "delivering", "front_end"]

Delivery = Literal["native", "locked", "queued", "unknown", "none"]
"""How widget messages can reach a kernel while one of its cells awaits."""

FrontEnd = Literal["none", "absent", "possible"]
"""Whether anybody could click: no kernel, a kernel that a program runs, a kernel that may have a reader."""

_Install = Callable[[Any, RunningCell], AbstractContextManager[None]]

_HELP: dict[Delivery, _Install] = {"native": native, "locked": locked, "queued": queued}


def current_kernel() -> Any | None:
    """The kernel this code runs in; None in a plain script and in a terminal.

    IPython is looked up and never imported: a script that has not imported it is not in a kernel.
    """
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return getattr(get_ipython(), "kernel", None) if get_ipython else None


def comm_delivery(kernel: Any | None) -> Delivery:
    """How widget messages can reach this kernel while a cell awaits; asks, and changes nothing."""
    if kernel is None:
        return "none"
    if not hasattr(kernel, "shell_handlers"):
        return "unknown"
    if "concurrent" in _parameters(getattr(kernel, "dispatch_shell", None)):
        return "native"
    if getattr(kernel, "shell_channel_thread", None) and hasattr(kernel, "_main_asyncio_lock"):
        return "locked"
    if hasattr(kernel, "msg_queue") and hasattr(kernel, "schedule_dispatch"):
        return "queued"
    return "unknown"


def _parameters(function: Any) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # not callable, or a callable that does not tell
        return ()


@dataclass
class _Help:
    """What is installed in one kernel, and for how many."""

    holders: int = 0
    undo: ExitStack = field(default_factory=ExitStack)


_helps: WeakKeyDictionary[Any, _Help] = WeakKeyDictionary()


@contextmanager
def delivering() -> Iterator[None]:
    """Deliver widget messages while cells await, for as long as anybody is in this context.

    Put it around a whole run and not around each wait: a click that comes while the run does something else
    would otherwise be held back until the cell ends. Where nothing has to be or can be done (no kernel, an
    unknown kernel; ask `comm_delivery`) it does nothing.

    Raises:
        RuntimeError: Not in the kernel's main thread. A kernel is patched, counted and restored in one
            thread, without locks; a worker hands its whole wait over to the kernel's loop.
    """
    kernel = current_kernel()
    install = _HELP.get(comm_delivery(kernel))
    if install is None:
        yield
        return
    _refuse_worker_threads()
    help_ = _helps.setdefault(kernel, _Help())
    if help_.holders == 0:
        help_.undo = _installed(kernel, install)
    help_.holders += 1
    try:
        yield
    finally:
        help_.holders -= 1
        if help_.holders == 0:
            help_.undo.close()


def _installed(kernel: Any, install: _Install) -> ExitStack:
    with ExitStack() as steps:
        cell = steps.enter_context(followed_cells(kernel))
        steps.enter_context(install(kernel, cell))
        return steps.pop_all()


def _refuse_worker_threads() -> None:
    thread = threading.current_thread()
    if thread is not threading.main_thread():
        raise RuntimeError(
            f"`delivering()` was entered in the thread `{thread.name}`, but a kernel is patched in its main "
            "thread only. Hand the wait over to the kernel's loop: "
            "`asyncio.run_coroutine_threadsafe(wait(), loop).result()`"
        )


_last_allow_stdin = True
"""What the last cell said that asked us; a process has one kernel."""


def front_end() -> FrontEnd:
    """Whether anybody could answer a question asked here.

    Programs that run notebooks (nbclient, nbconvert, papermill, nbval) say ``allow_stdin: false`` with each
    cell. Voila says so too and has a reader: its environment tells. A widget's
    callback or a background task may have no cell to ask: then the last cell that asked counts.
    """
    global _last_allow_stdin
    kernel = current_kernel()
    if kernel is None:
        return "none"
    if request := request_of(kernel):
        _last_allow_stdin = bool(request["content"].get("allow_stdin", False))
    return "possible" if _last_allow_stdin or "VOILA_KERNEL_ID" in os.environ else "absent"
