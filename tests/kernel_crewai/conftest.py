"""One kernel of the current environment for all tests here: importing crewai takes longer than all of them."""

import json
import os
import sys
from collections.abc import Iterator
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


@pytest.fixture(scope="session")
def _running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("kernels") / "this"
    folder.mkdir()
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "this", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec))
    specs = KernelSpecManager(kernel_dirs=[str(folder.parent)], ensure_native_kernel=False)
    manager = KernelManager(kernel_name="this", kernel_spec_manager=specs)
    manager.start_kernel(env={**os.environ, "PYTHONPATH": str(REPO)}, cwd=str(folder))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    kernel = Kernel(manager, client)
    kernel.run((REPO / "tests" / "kernel" / "in_kernel.py").read_text(), patience=60)
    kernel.run(SETUP, patience=120)
    yield kernel
    kernel.stop()


@pytest.fixture
def kernel(_running: Kernel) -> Iterator[Kernel]:
    """The kernel; it must be as it was afterwards."""
    yield _running
    _running.run("while flow_config.hitl_provider:\n    uninstall()")
    assert _running.run("print(leftovers(), pending())") == "[] []"


def asked(kernel: Kernel, cell: str, *, after: int = 0) -> "Card":
    """Wait for the cell's next question, say hello to its card as the browser does, and give the card."""

    def opened() -> Widget | None:
        widgets = [
            Widget(kernel, message["content"]["comm_id"])
            for message in kernel.published
            if message["msg_type"] == "comm_open"
            and message["parent_header"].get("msg_id") == cell
            and message["content"]["data"]["state"].get("_model_name") == "AnyModel"
        ]
        return widgets[after] if len(widgets) > after else None

    widget = kernel.until(opened, f"card {after} of the cell")
    widget.send({"op": "hello", "have": 0})
    kernel.until(lambda: Card(widget).item("executing"), "a question")
    return Card(widget)


class Card:
    """One question on the screen."""

    def __init__(self, widget: Widget) -> None:
        self.widget = widget

    def item(self, status: str) -> dict[str, Any] | None:
        """The newest item of the card with this status; one that is asked once somebody here can answer."""
        items = [item for message in self.widget.received for item in message.get("items", [])]
        calls = [item for item in items if item["type"] == "call" and item["status"] == status]
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
