"""Kernels behind a client that sends on the main shell channel only, as VS Code's does: no browser, no subshell."""

import os
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from tests.conftest import REPO
from tests.hosts.cell import Cell, words
from tests.kernel import environments
from tests.kernel.client import Kernel, Widget

READY = "import hitl_nb, asyncio; from hitl_nb import approve; hitl_nb.use(journal='off')"


@contextmanager
def kernel_of(folder: Path, name: str, **environment: str) -> Iterator[Kernel]:
    """A kernel of a kernelspec, ready to be asked."""
    specs = KernelSpecManager(kernel_dirs=[str(folder)], ensure_native_kernel=False)
    manager = KernelManager(kernel_name=name, kernel_spec_manager=specs)
    manager.start_kernel(env={**os.environ, "PYTHONPATH": str(REPO), "HITL_NB_PEOPLE": "", **environment})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=90)
        kernel = Kernel(manager, client)
        kernel.run(READY, patience=90)
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def ipykernel(version: str) -> Any:
    """A kernel of this ipykernel, in an environment of its own."""
    environments.ensure(version)
    return kernel_of(environments.SPECS, environments.kernel_name(version))


def root_of(kernel: Kernel, cell: str) -> Widget:
    """The list of cards that a cell shows; says hello, as a page does."""

    def root() -> Widget | None:
        for message in kernel.published:
            if message["msg_type"] != "comm_open" or message["parent_header"].get("msg_id") != cell:
                continue
            if message["content"]["data"]["state"].get("_model_name") == "AnyModel":
                return Widget(kernel, message["content"]["comm_id"])
        return None

    widget = kernel.until(root, "a card", 30)
    widget.send({"op": "hello", "have": 0, "page": uuid.uuid4().hex, "views": 1})
    return widget


def open_card(kernel: Kernel, cell: str) -> tuple[Widget, dict[str, Any]]:
    """The card of a cell's question once it can be answered."""
    widget = root_of(kernel, cell)

    def item() -> dict[str, Any] | None:
        items = [each for message in widget.received for each in message.get("items", []) if each["type"] == "call"]
        return next((each for each in reversed(items) if each["status"] == "executing" and each["turn"]["open"]), None)

    return widget, kernel.until(item, "an open question", 30)


def awaits(kernel: Kernel) -> Cell:
    """A cell awaits, and a click ends it."""
    cell = kernel.execute("print(await approve('Go?'))")
    try:
        widget, item = open_card(kernel, cell)
    except TimeoutError:
        return words(kernel.reply(cell, 30).get("evalue", ""))
    if kernel.is_over(cell):
        return words(kernel.reply(cell)["evalue"])
    widget.respond(item, {"approved": True})
    reply = kernel.reply(cell, 20)
    if reply["status"] != "ok":
        return words(reply["evalue"])
    return Cell("yes") if kernel.printed(cell).endswith("True\n") else Cell("no", kernel.printed(cell))


def background(kernel: Kernel) -> Cell:
    """A question is started, clicked, and awaited in a later cell."""
    cell = kernel.execute("question = approve('Later?').start()")
    widget, item = open_card(kernel, cell)
    kernel.reply(cell, 20)
    click = widget.respond(item, {"approved": True})
    kernel.until_idle(click, 20)
    return Cell("yes") if kernel.run("print(await question)", 20).endswith("True") else Cell("no")


def too_early(kernel: Kernel) -> Cell:
    """The same, awaited before anybody has clicked: it waits, or it says what to do first."""
    cell = kernel.execute("question = approve('Early?').start()")
    widget, item = open_card(kernel, cell)
    kernel.reply(cell, 20)
    early = kernel.execute("print(await question)")
    click = widget.respond(item, {"approved": True})
    reply = kernel.reply(early, 20)
    kernel.until_idle(click, 20)
    if reply["status"] == "ok":
        return Cell("yes")
    later = kernel.run("print(await question)", 20)
    said = words(reply["evalue"])
    return said if later.endswith("True") else Cell("no", "the click was lost")


def stopped(kernel: Kernel) -> Cell:
    """The stop button ends a waiting cell, and the kernel is free."""
    cell = kernel.execute("print('waits', flush=True); await approve('Stop?')")
    try:
        open_card(kernel, cell)
    except TimeoutError:
        return words(kernel.reply(cell, 30).get("evalue", ""))
    if kernel.is_over(cell):
        return words(kernel.reply(cell)["evalue"])
    kernel.interrupt()
    kernel.reply(cell, 20)
    return Cell("yes") if kernel.run("print('free')").endswith("free") else Cell("no")


def nobody(kernel: Kernel) -> Cell:
    """A program runs the cell, and nobody can click."""
    return words(kernel.reply(kernel.execute("await approve('Anybody?')", allow_stdin=False), 30).get("evalue", ""))


def overruled(kernel: Kernel) -> Cell:
    """A program runs the cell while somebody watches, and says so."""
    cell = kernel.execute(
        "from hitl_nb.people import NotebookPerson\nprint(await approve('Here?', people=NotebookPerson(present=True)))",
        allow_stdin=False,
    )
    widget, item = open_card(kernel, cell)
    if kernel.is_over(cell):
        return words(kernel.reply(cell)["evalue"])
    widget.respond(item, {"approved": True})
    reply = kernel.reply(cell, 20)
    if reply["status"] != "ok":
        return words(reply["evalue"])
    return Cell("yes") if kernel.printed(cell).endswith("True\n") else Cell("no", kernel.printed(cell))


SITUATIONS: dict[str, Callable[[Kernel], Cell]] = {
    "a click while a cell awaits": awaits,
    "in the background": background,
    "awaited before the click": too_early,
    "stop": stopped,
    "nobody there": nobody,
    "somebody watches a program": overruled,
}

PATCHED: dict[str, tuple[str, list[str]]] = {
    "anyio": (
        """import anyio
asked = approve
async def approve(*words):
    async with anyio.create_task_group():
        with anyio.move_on_after(60):
            return await asked(*words)
""",
        ["a click while a cell awaits", "stop"],  # what is awaited inside of a group is not started
    ),
    "nest_asyncio": ("import nest_asyncio; nest_asyncio.apply()", list(SITUATIONS)),
}
"""What a notebook may do around its questions, by the package, and where it was looked at."""


def looked_at(kernel: Kernel, names: list[str]) -> dict[str, Cell]:
    """Each situation in turn; one that fails says why, and the others go on."""
    found = {}
    for name in names:
        try:
            found[name] = SITUATIONS[name](kernel)
        except Exception as error:
            found[name] = Cell("no", f"{type(error).__name__}: {str(error).splitlines()[0][:200]}")
            sys.stderr.write(f"{name}: {error}\n")
    return found
