"""What every test kernel runs first: a card to wait for, and a look at what was left patched.

The client sends this file to the kernel as a cell; the tests do not import it.
"""

import asyncio
from functools import partial
from typing import Any

import anywidget
import traitlets

from hitl_nb._kernel import current_kernel, delivering, front_end  # noqa: F401 - for the cells to come


class Question(anywidget.AnyWidget):
    """A card that takes one custom message as its answer; the first one wins."""

    _esm = "export default {}"
    label = traitlets.Unicode().tag(sync=True)

    def __init__(self, label: str) -> None:
        super().__init__(label=label)
        loop = asyncio.get_running_loop()
        self.heard: list[Any] = []
        self.buffers: list[bytes] = []
        self.decided: asyncio.Future[Any] = loop.create_future()
        # Which thread an answer comes from differs between kernels.
        self.on_msg(lambda _, *message: loop.call_soon_threadsafe(self._hear, *message))

    def _hear(self, content: Any, buffers: list[memoryview]) -> None:
        self.heard.append(content)
        self.buffers += [bytes(buffer) for buffer in buffers]
        if not self.decided.done():
            self.decided.set_result(content)

    async def answer(self) -> Any:
        """Wait with a tick, or else the stop button is not noticed."""
        with delivering():
            while not self.decided.done():
                await asyncio.wait([self.decided], timeout=0.25)
            return self.decided.result()


async def until_parked(count: int) -> None:
    """Wait until this many messages are held back behind the running cell."""
    kernel = current_kernel()
    assert kernel is not None
    while _parked(kernel) < count:
        await asyncio.sleep(0.01)


def _parked(kernel: Any) -> int:
    lock = getattr(kernel, "_main_asyncio_lock", None)
    return len(lock._waiters or ()) if lock else int(kernel.msg_queue.qsize())


def _patchable() -> dict[str, Any]:
    kernel = current_kernel()
    assert kernel is not None
    receive = kernel.shell_stream._recv_callback
    return {
        "shell_handlers": {kind: id(handler) for kind, handler in kernel.shell_handlers.items()},
        "_main_asyncio_lock": getattr(kernel, "_main_asyncio_lock", None),
        "dispatch_shell": "dispatch_shell" in vars(kernel),
        "shell_stream": (receive.func, receive.args) if isinstance(receive, partial) else receive,
        "events": {name: list(callbacks) for name, callbacks in kernel.shell.events.callbacks.items()},
    }


_pristine = _patchable()


def leftovers() -> list[str]:
    """What hitl_nb (or anybody) changed in this kernel since it started, and did not undo."""
    return [name for name, now in _patchable().items() if now != _pristine[name]]
