"""ipykernel 6: a queue hands out one message at a time, and a waiting cell stops it.

The stream in front of the queue still runs while a cell awaits. So widget messages are taken there, and those
that already stand in the queue are taken out of it once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hitl_nb._kernel._cell import RunningCell
from hitl_nb._kernel._messages import handle_now, is_comm


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
