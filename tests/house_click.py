"""How long the way is from a click to the model's next request.

    python -m tests.house_click [FOLDER] [--trace] [--json] [--check]

A session with a journal on disk runs in a real kernel, and the browser's message with the answer is sent to it. From
there to litellm's next `acompletion`, in all threads, it counts what of `hitl_nb/` is entered: functions, each once;
the files they stand in; returns, that is how often the way leads back to a file that a reader has left. A thread that
writes while others go on makes that a few more or less.

`--trace` prints the way; FOLDER (default: this checkout) measures another commit.
"""

import argparse
import itertools
import json
import os
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Literal

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session as Wire

if TYPE_CHECKING:
    from tests.kernel.client import Kernel, Widget

HERE = Path(__file__).resolve().parent.parent
Step = tuple[str, str]
"""A file, from the package on, and a function in it."""

UNNAMED = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}
"""Part of the function they stand in: Python 3.12 inlines most of them."""

SETUP = """
import json, litellm
from pathlib import Path
from typing import Literal
from pydantic import BaseModel
from hitl_nb import Session, human_in_the_loop
from hitl_nb.agents import ChatAgent
from hitl_nb.cards import StepReview
from hitl_nb.testing import ScriptedModel, calls, says

class Step(BaseModel):
    description: str
    status: Literal["enabled", "disabled"] = "enabled"

@human_in_the_loop(render=StepReview)
def steps(steps: list[Step]) -> list[Step]:
    "Propose steps."

@human_in_the_loop
def form(steps: list[Step]) -> list[Step]:
    "Propose steps."

litellm.acompletion = way.ends_before(litellm.acompletion)
"""
ASK = """
way.begins_with_the_next_answer()
proposed = [Step(description="pack"), Step(description="launch")]
with ScriptedModel([calls({tool}.name, steps=proposed), says("Off we go.")]):
    reply = await Session(ChatAgent("openai/gpt-4o"), tools=[{tool}], journal={journal!r}).run("Go")
assert reply.calls[0].approved, reply.calls
Path({way!r}).write_text(json.dumps(way.steps))
"""


@dataclass(frozen=True, kw_only=True)
class Click:
    """What a person does on a card."""

    name: str
    """For the table."""

    tool: Literal["steps", "form"]
    value: dict[str, Any]
    """What the browser sends."""


EDIT = {"op": "set", "path": [0, "description"], "value": "pack the tent"}
CLICKS = (
    # The first is on the quickstart's card, and is what is limited; it also pays for what is read once a type.
    Click(name="a click", tool="steps", value={"checked": [True, False]}),
    Click(name="the same again", tool="steps", value={"checked": [True, False]}),
    Click(name="a form, one edit", tool="form", value={"edits": [EDIT]}),
    Click(name="a form, untouched", tool="form", value={"edits": []}),
)


# -- in the kernel --------------------------------------------------------------------------------------------------


class Way:
    """What is entered while it is open: from the message with an answer to the model's next request."""

    def __init__(self, package: Path) -> None:
        self.steps: list[Step] = []
        """Each call of a function, in the order in which they began."""
        self._package = f"{package}{os.sep}"
        self._expected = self._open = False

    def watch(self) -> None:
        """Look at every thread from now on; at the very start, since no thread that runs already can be reached."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)
        deserialize = Wire.deserialize

        def received(wire: Wire, *args: Any, **options: Any) -> Any:
            message = deserialize(wire, *args, **options)
            if self._expected and _is_answer(message):
                self._expected, self._open = False, True
                self._enter(sys._getframe(1))
            return message

        Wire.deserialize = received  # type: ignore[method-assign, assignment]  # it is there to be replaced

    def begins_with_the_next_answer(self) -> None:
        """Forget the last way, and wait for the browser."""
        self.steps.clear()
        self._expected = True

    def ends_before(self, request: Any) -> Any:
        """Give the function that ends the way, in place of `request`."""

        def next_request(*args: Any, **options: Any) -> Any:
            self._open = False
            return request(*args, **options)

        return next_request

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if self._open and event == "call" and self._is_ours(frame.f_code):
            self.steps.append((frame.f_code.co_filename.removeprefix(self._package), frame.f_code.co_qualname))

    def _enter(self, frame: FrameType | None) -> None:
        """Begin with what has the message in its hands already."""
        if frame is not None:
            self._enter(frame.f_back)
            self._see(frame, "call", None)

    def _is_ours(self, code: CodeType) -> bool:
        # A function, not the body of a module or class that is only now loaded.
        is_function = code.co_flags & CO_OPTIMIZED and code.co_name not in UNNAMED
        return bool(is_function) and code.co_filename.startswith(self._package)


def _is_answer(message: Any) -> bool:
    content = message.get("content") if isinstance(message, dict) else None
    data = content.get("data") if isinstance(content, dict) else None
    sent = data.get("content") if isinstance(data, dict) else None
    return isinstance(sent, dict) and sent.get("op") == "respond"


def be_the_kernel(package: Path) -> None:
    """Be a kernel that watches itself from its first thread on."""
    from ipykernel.kernelapp import IPKernelApp

    way = Way(package)
    way.watch()
    IPKernelApp.launch_instance(argv=sys.argv[3:], user_ns={"way": way})


# -- in front of it -------------------------------------------------------------------------------------------------


@contextmanager
def kernel_of(folder: Path) -> Iterator["Kernel"]:
    """Start a kernel that imports the package of this checkout."""
    # Not at the top: as a kernel this file stands alone.
    from tests.kernel.client import Kernel

    with tempfile.TemporaryDirectory() as home:
        be = [sys.executable, "-P", __file__, "--kernel", str(folder / "hitl_nb")]
        spec = {
            "argv": [*be, "-f", "{connection_file}", "--IPKernelApp.log_level=ERROR"],
            "display_name": "watched",
            "language": "python",
            "env": {"PYTHONPATH": str(folder), "HITL_NB_PEOPLE": ""},
        }
        (Path(home) / "watched").mkdir()
        (Path(home) / "watched" / "kernel.json").write_text(json.dumps(spec))
        specs = KernelSpecManager(kernel_dirs=[home], ensure_native_kernel=False)
        manager = KernelManager(kernel_name="watched", kernel_spec_manager=specs)
        manager.start_kernel(cwd=home)
        client = manager.client()
        client.start_channels()
        kernel = Kernel(manager, client)
        try:
            client.wait_for_ready(timeout=60)
            kernel.run(SETUP, patience=120)
            yield kernel
        finally:
            kernel.stop()


def way_of(click: Click, kernel: "Kernel") -> list[Step]:
    """Ask, click, and give the way."""
    with tempfile.TemporaryDirectory() as home:
        way = Path(home) / "way.json"  # a file of its own: whatever else the kernel prints is no part of it
        cell = kernel.execute(ASK.format(tool=click.tool, journal=f"{home}/journal.sqlite", way=str(way)))
        widget = kernel.until(lambda: cards_of(kernel, cell), "a widget", patience=60)
        widget.send({"op": "hello", "have": 0})
        card = kernel.until(lambda: open_card(widget), "an open question")
        turn = (card.get("turn") or {}).get("token")
        answer = {"op": "respond", "call_id": card["id"], "turn": turn, "click": uuid.uuid4().hex, "value": click.value}
        widget.send(answer)
        if said := kernel.output(cell):
            print(said, file=sys.stderr)
        steps = json.loads(way.read_text())
    return [(file, name) for file, name in steps]


def cards_of(kernel: "Kernel", cell: str) -> "Widget | None":
    """Give the widget that has the cards of a cell; fails with the cell."""
    from tests.kernel.client import Widget

    if kernel.is_over(cell):
        kernel.output(cell)
    opened = (content for content in kernel.about(cell, "comm_open") if "_esm" in content["data"]["state"])
    return next((Widget(kernel, content["comm_id"]) for content in opened), None)


def open_card(widget: "Widget") -> dict[str, Any] | None:
    """Give the newest card, once it takes an answer."""
    items = [item for message in widget.received for item in message.get("items", ()) if item["type"] == "call"]
    is_open = items and items[-1]["status"] == "executing" and (items[-1].get("turn") or {"open": True})["open"]
    return items[-1] if is_open else None


# -- the figures ----------------------------------------------------------------------------------------------------


def figures_of(name: str, steps: Sequence[Step]) -> dict[str, float]:
    """Count functions, files, and returns to a file that was left."""
    visits = [file for file, _ in itertools.groupby(file for file, _ in steps)]
    return {
        f"{name} → next request, functions": len(set(steps)),
        f"{name} → next request, files": len(set(visits)),
        f"{name} → next request, returns": len(visits) - len(set(visits)),
    }


def trace(steps: Sequence[Step]) -> str:
    """Give a line a file, with what is entered there for the first time."""
    first = itertools.groupby(dict.fromkeys(steps), key=lambda step: step[0])
    return "\n".join(f"{file:<28} {', '.join(name for _, name in group)}" for file, group in first)


def main() -> None:
    """Print the figures."""
    from tests.house import exceeded, table

    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?", type=Path, default=HERE, help="a checkout")
    options.add_argument("--trace", action="store_true", help="the way, file by file")
    options.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options.add_argument("--check", action="store_true", help="exit with 1 if a limit is exceeded")
    chosen = options.parse_args()
    with kernel_of(chosen.folder.resolve()) as kernel:
        ways = {click.name: way_of(click, kernel) for click in CLICKS}
    figures = {name: value for way in ways for name, value in figures_of(way, ways[way]).items()}
    print(json.dumps({"figures": figures, "ways": ways}, ensure_ascii=False) if chosen.json else table(figures))
    if chosen.trace:
        for name, steps in ways.items():
            print(f"\n{name}:\n{trace(steps)}")
    sys.exit(bool(chosen.check and exceeded(figures)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--kernel"]:
        be_the_kernel(Path(sys.argv[2]))
    else:
        main()
