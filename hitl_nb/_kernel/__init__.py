"""Clicks that reach the kernel while a cell waits for them.

A Jupyter kernel takes one message after the other, so the click that would end a waiting cell queues up
behind that very cell. How a kernel can be helped depends on how it holds its messages back; we ask for
features and not for versions, and undo everything when nobody waits any more::

    "native"   ipykernel >= 7.4       delivers by itself, but forgets to say "idle"
    "locked"   ipykernel 7.0 - 7.3    holds messages back with a lock
    "queued"   ipykernel 6            holds messages back in a queue
    "unknown"  any other kernel       we cannot help: run in the background instead
    "marimo"   no kernel, a marimo    holds commands back in a queue
    "none"     no kernel              nothing to deliver
"""

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal
from weakref import WeakKeyDictionary

from hitl_nb._kernel._cell import RunningCell, followed_cells, locked, native, queued, request_of
from hitl_nb._kernel._marimo import clicks_pass, marimo_notebook, queues_of
from hitl_nb._kernel._outputs import CellOutputs, in_next_cell, let_newer_cells_run, outputs_of_cell
from hitl_nb._kernel._server import Server, server_of_kernel
from hitl_nb._process import started_with

__all__ = [
    "OVERRULED",
    "CellOutputs",
    "Delivery",
    "FrontEnd",
    "Server",
    "comm_delivery",
    "current_kernel",
    "delivering",
    "delivery",
    "front_end",
    "in_next_cell",
    "in_thread_of_kernel",
    "in_voila",
    "let_newer_cells_run",
    "marimo_notebook",
    "outputs_of_cell",
    "refuse_capture",
    "server_of_kernel",
]

Delivery = Literal["native", "locked", "queued", "marimo", "unknown", "none"]
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


def delivery() -> Delivery:
    """How widget messages can reach a cell that awaits here, in a kernel or in marimo."""
    notebook = marimo_notebook()
    if notebook is None:
        # Voila shows its page once all cells have run; a task that a cell has begun may wait as long as it takes.
        return "unknown" if in_voila() and _cell_awaits() else comm_delivery(current_kernel())
    return "marimo" if queues_of(notebook) is not None else "unknown"


def in_voila() -> bool:
    """Whether this kernel's notebook is a page of Voila."""
    return "VOILA_KERNEL_ID" in os.environ


def _cell_awaits() -> bool:
    """Whether it is the cell itself that would wait here, in the task that runs it, and not a task of the user's."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    frame = getattr(task.get_coro() if task is not None else None, "cr_frame", None)
    return frame is not None and str(frame.f_globals.get("__name__")).startswith(("IPython.", "ipykernel."))


def in_thread_of_kernel() -> bool:
    """Whether this is the thread in which cells run: the main one, or a marimo notebook's own."""
    return threading.current_thread() is threading.main_thread() or marimo_notebook() is not None


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
    kernel, begin = _way()
    if begin is None:
        yield
        return
    help_ = _helps.setdefault(kernel, _Help())
    if help_.holders == 0:
        help_.undo = begin()
    help_.holders += 1
    try:
        yield
    finally:
        help_.holders -= 1
        if help_.holders == 0:
            help_.undo.close()


def _way() -> tuple[Any, Callable[[], ExitStack] | None]:
    """What is helped here, and what begins to help it."""
    notebook = marimo_notebook()
    if notebook is not None:
        return notebook._kernel, partial(_entered, partial(clicks_pass, notebook)) if delivery() == "marimo" else None
    kernel = current_kernel()
    install = _HELP.get(comm_delivery(kernel))
    if install is None:
        return kernel, None
    _refuse_worker_threads()
    return kernel, partial(_installed, kernel, install)


def _entered(help_: Callable[[], AbstractContextManager[None]]) -> ExitStack:
    stack = ExitStack()
    stack.enter_context(help_())
    return stack


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
    """Whether anybody could answer a question asked here; in marimo, somebody may.

    Programs that run notebooks (nbclient, nbconvert, papermill, nbval) say ``allow_stdin: false`` with each
    cell. Voila says so too and has a reader: its environment tells. So do programs that run cells while a person
    watches them: `OVERRULED` tells. A widget's callback or a background task may have no cell to ask: then the last
    cell that asked counts.
    """
    global _last_allow_stdin
    if marimo_notebook() is not None:
        return "possible"
    kernel = current_kernel()
    if kernel is None:
        return "none"
    # A kernel of another make may know the header only, and then nothing speaks against a reader.
    if (request := request_of(kernel)) and "content" in request:
        _last_allow_stdin = bool(request["content"].get("allow_stdin", False))
    sure = in_voila() or started_with(OVERRULED) not in ("", "0")
    return "possible" if _last_allow_stdin or sure else "absent"


OVERRULED: Final = "HITL_NB_FRONT_END"
"""The variable that says that somebody watches, whatever the program says that runs the cells."""


def refuse_capture(line: str) -> bool:
    """Whether the cell of this code keeps its outputs to itself (``%%capture``): then nobody would see a card in it.

    An error would be kept to itself, too, so `line` is put out past it.
    """
    kernel = current_kernel()
    shell = getattr(kernel, "shell", None)
    if kernel is None or type(getattr(shell, "display_pub", None)).__name__ != "CapturingDisplayPublisher":
        return False
    content = {"name": "stderr", "text": f"hitl_nb: {line}\n"}
    kernel.session.send(
        kernel.iopub_socket, "stream", content, parent=request_of(kernel), ident=kernel._topic("stream")
    )
    return True
