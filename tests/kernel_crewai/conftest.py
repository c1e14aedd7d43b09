"""One kernel of the current environment for all tests here: importing crewai takes longer than all of them."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from tests.conftest import REPO
from tests.kernel.client import Kernel, Widget

SETUP = """
import asyncio, logging, warnings
warnings.simplefilter("ignore")
logging.getLogger("crewai").setLevel("ERROR")  # it warns that it cannot count a scripted model's tokens
from crewai.flow.flow import Flow, listen, start
from crewai.flow.flow_config import flow_config
from crewai.flow.human_feedback import human_feedback
from hitl_nb import pending
from hitl_nb.crewai import approve_tools, install, uninstall
from tests.flow.crews import Mailer, crew_of, scripted, wants
import crewai.flow.runtime  # what a first run imports lazily is not timed by a test
await type("Warm", (Flow,), {"begin": start()(lambda self: None)})(suppress_flow_events=True).kickoff_async()
"""


class _Kernels:
    """The kernel that runs, if one does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: Kernel | None = None

    def get(self) -> Kernel:
        if self._running is None:
            self._running = self._start()
        return self._running

    def stop(self) -> None:
        if self._running:
            self._running.stop()
        self._running = None

    def _start(self) -> Kernel:
        specs = KernelSpecManager(kernel_dirs=[str(self._folder.parent)], ensure_native_kernel=False)
        manager = KernelManager(kernel_name=self._folder.name, kernel_spec_manager=specs)
        manager.start_kernel(env={**os.environ, "PYTHONPATH": str(REPO)}, cwd=str(self._folder))
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        kernel = Kernel(manager, client)
        kernel.run((REPO / "tests" / "kernel" / "in_kernel.py").read_text(), patience=60)
        kernel.run(SETUP, patience=120)
        return kernel


@pytest.fixture(scope="session")
def _kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_Kernels]:
    folder = tmp_path_factory.mktemp("kernels") / "this"
    folder.mkdir()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "this", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    kernels = _Kernels(folder)
    yield kernels
    kernels.stop()


@pytest.fixture
def kernel(_kernels: _Kernels) -> Iterator[Kernel]:
    """The kernel; it must be as it was afterwards, else the next test gets a new one."""
    kernel = _kernels.get()
    yield kernel
    try:
        kernel.run("while flow_config.hitl_provider:\n    uninstall()")
        assert kernel.run("print(leftovers(), pending())") == "[] []"
    except BaseException:
        _kernels.stop()
        raise


def asked(kernel: Kernel, cell: str, *, after: int = 0) -> "Card":
    """Wait for the cell's next question, say hello to its view as the browser does, and give the card.

    The questions of a cell share a view until the cell puts out something else.
    """
    greeted: set[str] = set()

    def question() -> Card | None:
        widgets = _views(kernel, cell)
        for widget in widgets:
            if widget.comm_id not in greeted:
                greeted.add(widget.comm_id)
                widget.send({"op": "hello", "have": 0})
        cards = {item["id"]: Card(widget, item["id"]) for widget in widgets for item in _calls(widget)}
        card = [*cards.values()][after] if len(cards) > after else None
        return card if card is not None and card.item("executing") else None

    return kernel.until(question, f"question {after} of the cell")


def _views(kernel: Kernel, cell: str) -> list[Widget]:
    return [
        Widget(kernel, message["content"]["comm_id"])
        for message in kernel.published
        if message["msg_type"] == "comm_open"
        and message["parent_header"].get("msg_id") == cell
        and message["content"]["data"]["state"].get("_model_name") == "AnyModel"
    ]


def _calls(widget: Widget) -> list[dict[str, Any]]:
    """Every state of every question of a view, in order."""
    return [item for message in widget.received for item in message.get("items", []) if item["type"] == "call"]


class Card:
    """One question on the screen."""

    def __init__(self, widget: Widget, call_id: str) -> None:
        self.widget = widget
        self.call_id = call_id

    def item(self, status: str) -> dict[str, Any] | None:
        """The newest item of the card with this status; one that is asked once somebody here can answer."""
        calls = [item for item in _calls(self.widget) if item["id"] == self.call_id and item["status"] == status]
        calls = [item for item in calls if status != "executing" or item["turn"]["open"]]
        return calls[-1] if calls else None

    @property
    def question(self) -> dict[str, Any]:
        item = self.item("executing")
        assert item is not None
        return item

    def click(self, value: Any = None) -> None:
        """Press the button that answers."""
        self._send(op="respond", value=value or {})

    def decline(self, reason: str = "") -> None:
        """Press Decline."""
        self._send(op="decline", reason=reason)

    def _send(self, **message: Any) -> None:
        # As the browser does: a click carries the turn that its card was drawn for.
        question = self.question
        self.widget.send({**message, "call_id": question["id"], "turn": question["turn"]["token"]})
