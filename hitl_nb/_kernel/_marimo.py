"""marimo, which is a notebook without a Jupyter kernel: which one this code runs in, and clicks that pass its cell.

marimo takes one command after the other from a queue, and reads none while a cell runs. So while a cell of ours awaits
we read that queue: messages of widgets are handled at once, all other commands go back when the cell is over, in the
order in which they came.
"""

import asyncio
import inspect
import logging
import queue
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

_log = logging.getLogger("hitl_nb")

LOOK: Final = 0.1
"""Seconds between two looks into the queue."""

_QUEUES: Final = ("control_queue", "set_ui_element_queue")
"""Commands; and those of widgets once more, for marimo merges them."""


def marimo_notebook() -> Any | None:
    """Return marimo's context of the notebook this code runs in; None elsewhere, also in a script and in its threads.

    Each reader of ``marimo run`` has a notebook of their own, in a thread of its own.
    """
    contexts = sys.modules.get("marimo._runtime.context")
    found = contexts.safe_get_context() if contexts is not None else None
    return found if found is not None and hasattr(found, "_kernel") else None


def queues_of(notebook: Any) -> tuple[Any, Any] | None:
    """Return the queues that a notebook reads its commands from; None if this marimo keeps them elsewhere."""
    enqueue = getattr(notebook._kernel, "enqueue_control_request", None)
    try:
        found = inspect.getclosurevars(enqueue).nonlocals  # type: ignore[arg-type]
    except TypeError:
        return None
    control, elements = (found.get(name) for name in _QUEUES)
    if not all(hasattr(each, "get_nowait") and hasattr(each, "put_nowait") for each in (control, elements)):
        return None
    return control, elements


@contextmanager
def clicks_pass(notebook: Any) -> Iterator[None]:
    """Handle the messages of widgets while a cell of this notebook awaits."""
    found = queues_of(notebook)
    assert found is not None
    line = _Line(notebook, *found)
    task = asyncio.get_running_loop().create_task(line.watch(), name="hitl_nb: clicks pass marimo's cell")
    try:
        yield
    finally:
        task.cancel()
        line.give_back()


class _Line:
    """The commands that wait until a cell is over."""

    def __init__(self, notebook: Any, commands: Any, elements: Any) -> None:
        self._notebook = notebook
        self._commands, self._elements = commands, elements
        self._held: list[Any] = []
        self._handled: set[str] = set()

    async def watch(self) -> None:
        while True:
            if self._notebook.execution_context is None:
                self.give_back()  # the cell is over: marimo itself reads
            else:
                self._look()
            await asyncio.sleep(LOOK)

    def give_back(self) -> None:
        """Put back what is held, behind which stands what has come since."""
        if self._held:
            held, self._held = [*self._held, *_taken(self._commands)], []
            for command in held:
                self._commands.put_nowait(command)

    def _look(self) -> None:
        for command in _taken(self._commands):
            if _is_of_widget(command):
                self._handled.add(command.token)
                _handle(command)
            else:
                self._held.append(command)
        copies = [copy for copy in _taken(self._elements) if copy.token not in self._handled]
        for copy in copies:
            self._elements.put_nowait(copy)


def _taken(commands: Any) -> list[Any]:
    taken = []
    while True:
        try:
            taken.append(commands.get_nowait())
        except (queue.Empty, asyncio.QueueEmpty):
            return taken


def _is_of_widget(command: Any) -> bool:
    """Whether it is one message of a widget: a change of its state may run other cells, so that waits."""
    message = getattr(command, "message", None)
    return hasattr(command, "model_id") and type(message).__name__ == "ModelCustomMessage"


def _handle(command: Any) -> None:
    from marimo._plugins.ui._impl.anywidget.init import WIDGET_COMM_MANAGER  # what its own kernel does

    try:
        WIDGET_COMM_MANAGER.receive_comm_message(command)
    except Exception:
        _log.exception("A widget's message failed while a cell was running")
