"""A front end reduced to its messages: what VS Code and older front ends send, without a browser.

Cells and widget messages go out at once, in order, and each returns its id; whatever comes back is kept. Ask for
what you expect, and the client reads until it is there or says what came instead::

    kernel = Kernel.start("7.4.0")
    waiting = kernel.execute("print(await Question('go?').answer())")
    kernel.widget(label="go?").send("yes")
    assert kernel.output(waiting) == "yes"
    kernel.stop()

What goes over the wire is what a notebook front end sends.
"""

import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from . import environments

T = TypeVar("T")
Message = dict[str, Any]

PATIENCE = 30.0  # only a test that fails waits that long; a machine may be four times slower
"""Seconds until something missing is a failure; nothing waits longer than it has to."""


class Kernel:
    """A running kernel, and everything it said."""

    def __init__(self, manager: KernelManager, client: BlockingKernelClient) -> None:
        self.published: list[Message] = []
        """All iopub messages so far, in order."""
        self._replies: dict[str, Message] = {}
        self._manager = manager
        self._client = client
        self._poller = zmq.Poller()
        for channel in (client.iopub_channel, client.shell_channel):
            self._poller.register(channel.socket, zmq.POLLIN)

    @classmethod
    def start(cls, version: str) -> "Kernel":
        """Start this ipykernel version (see `environments.VERSIONS`) and run `in_kernel.py` in it."""
        specs = KernelSpecManager(kernel_dirs=[str(environments.SPECS)], ensure_native_kernel=False)
        manager = KernelManager(kernel_name=environments.kernel_name(version), kernel_spec_manager=specs)
        manager.start_kernel()
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        kernel = cls(manager, client)
        kernel.run((Path(__file__).parent / "in_kernel.py").read_text(), patience=60)
        return kernel

    def stop(self) -> None:
        """End the kernel's process, whatever it is doing."""
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def interrupt(self) -> None:
        """Press the stop button (SIGINT)."""
        self._manager.interrupt_kernel()

    def execute(self, code: str, **options: Any) -> str:
        """Send a cell and return its id at once; `options` are those of `KernelClient.execute`."""
        return str(self._client.execute(code, **options))

    def reply(self, cell: str, patience: float = PATIENCE) -> Message:
        """The content of a cell's reply, once the cell is over: `status` is ok, error or aborted."""
        reply = self.until(lambda: self._replies.get(cell), f"reply to the cell {cell}", patience)
        self.until_idle(cell)
        content: Message = reply["content"]
        return content

    def output(self, cell: str, patience: float = PATIENCE) -> str:
        """What a cell printed, less the last line break, once it is over; it must succeed."""
        content = self.reply(cell, patience)
        assert content["status"] == "ok", "\n".join(content.get("traceback", [content["status"]]))
        return self.printed(cell).removesuffix("\n")

    def run(self, code: str, patience: float = PATIENCE, **options: Any) -> str:
        """Execute a cell that must succeed, and return what it printed, less the last line break."""
        return self.output(self.execute(code, **options), patience)

    def is_over(self, cell: str) -> bool:
        """Whether a reply to this cell was among what has been read so far."""
        return cell in self._replies

    def widget(self, model: str = "AnyModel", **traits: Any) -> "Widget":
        """The newest widget that was opened as this model with these traits; waits for one."""
        traits["_model_name"] = model

        def opened() -> str | None:
            for message in reversed(self.published):
                if message["msg_type"] == "comm_open":
                    state = message["content"]["data"]["state"]
                    if all(state.get(name) == value for name, value in traits.items()):
                        return str(message["content"]["comm_id"])
            return None

        return Widget(self, self.until(opened, f"widget with {traits}"))

    def comm_msg(self, comm_id: str, data: Message, buffers: Sequence[bytes] = ()) -> str:
        """Send a widget message on the shell channel and return its id at once."""
        message = self._client.session.msg("comm_msg", {"comm_id": comm_id, "data": data})
        message["buffers"] = list(buffers)
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def which_widgets(self) -> str:
        """Ask which widgets there are, as a page that is loaded does, and return the message's id at once."""
        message = self._client.session.msg("comm_info_request", {"target_name": "jupyter.widget"})
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def about(self, request: str, kind: str) -> list[Message]:
        """The contents published so far on behalf of a cell or a widget message."""
        return [
            message["content"]
            for message in self.published
            if message["msg_type"] == kind and message["parent_header"].get("msg_id") == request
        ]

    def statuses(self, request: str) -> list[str]:
        """The states published so far on behalf of a cell or a widget message: busy, idle."""
        return [content["execution_state"] for content in self.about(request, "status")]

    def printed(self, request: str) -> str:
        """What was printed so far on behalf of a cell or a widget message."""
        return "".join(content["text"] for content in self.about(request, "stream"))

    def until_idle(self, request: str, patience: float = PATIENCE) -> None:
        """Read until a cell or a widget message is over. No "idle" is how ipywidgets loses changes."""
        self.until(lambda: "idle" in self.statuses(request), f"idle for the message {request}", patience)

    def until(self, found: Callable[[], T | None], what: str, patience: float = PATIENCE) -> T:
        """Read until `found` returns something, and return that."""
        deadline = time.monotonic() + patience
        while not (result := found()):
            ready = self._poller.poll(max(int(1000 * (deadline - time.monotonic())), 0))
            if not ready:
                last = "\n".join(f"{m['msg_type']}: {m['content']}"[:200] for m in self.published[-8:])
                raise TimeoutError(f"no {what} within {patience} s; the last messages were\n{last}")
            for socket, _ in ready:
                self._read(socket)
        return result

    def _read(self, socket: Any) -> None:
        _, message = self._client.session.recv(socket)
        assert message is not None
        if socket is self._client.iopub_channel.socket:
            self.published.append(message)
        else:
            self._replies[message["parent_header"]["msg_id"]] = message


class Widget:
    """The browser's half of a widget."""

    def __init__(self, kernel: Kernel, comm_id: str) -> None:
        self.kernel = kernel
        self.comm_id = comm_id

    def send(self, content: Any, buffers: Sequence[bytes] = ()) -> str:
        """Send a custom message, as anywidget's `model.send` and a Button's click do; return its id."""
        return self.kernel.comm_msg(self.comm_id, {"method": "custom", "content": content}, buffers)

    def respond(self, item: Message, value: Any) -> str:
        """Press a card's button; `item` is the card as it was drawn. Returns the message's id."""
        return self._click(item, {"op": "respond", "value": value})

    def decline(self, item: Message, reason: str = "") -> str:
        """Say no on a card, likewise."""
        return self._click(item, {"op": "decline", "reason": reason})

    def _click(self, item: Message, what: Message) -> str:
        click = {"call_id": item["id"], "turn": item["turn"]["token"], "click": uuid.uuid4().hex}
        return self.send({**what, **click})

    def change(self, **traits: Any) -> str:
        """Change traits, as a person at a checkbox does; return the message's id."""
        data = {"method": "update", "state": traits, "buffer_paths": []}
        return self.kernel.comm_msg(self.comm_id, data)

    @property
    def received(self) -> list[Any]:
        """The contents of the kernel's custom messages so far."""
        return [data["content"] for data in self._from_kernel() if data.get("method") == "custom"]

    @property
    def state(self) -> dict[str, Any]:
        """The traits as the kernel has set them so far."""
        state: dict[str, Any] = {}
        for data in self._from_kernel():
            if data.get("method") in (None, "update"):  # None: the opening message
                state.update(data.get("state", {}))
        return state

    def _from_kernel(self) -> list[Message]:
        return [
            message["content"]["data"]
            for message in self.kernel.published
            if message["msg_type"] in ("comm_open", "comm_msg") and message["content"]["comm_id"] == self.comm_id
        ]
