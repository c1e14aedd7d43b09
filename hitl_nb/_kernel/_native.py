"""ipykernel 7.4 and later: widget messages come through, but "idle" is missing."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hitl_nb._kernel._cell import Message, RunningCell
from hitl_nb._kernel._messages import COMM_TYPES, say_idle

_Handler = Callable[[Any, Any, Message], Any]


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
