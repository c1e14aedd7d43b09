"""marimo reads no command while a cell runs: a widget's message passes it, and all others keep their order.

marimo itself, in a browser, is in `tests.hosts.marimo_pages`; here is what it gives us to hold on to, and the line.
"""

import asyncio
import queue
import sys
from types import ModuleType, SimpleNamespace

import pytest

from hitl_nb._kernel import delivering, delivery, front_end, in_thread_of_kernel, marimo_notebook


class Kernel:
    """Holds its queues as marimo's does: in the function that puts commands into them."""

    def __init__(self, control_queue, set_ui_element_queue):
        def enqueue(command):
            control_queue.put_nowait(command)
            if hasattr(command, "model_id"):
                set_ui_element_queue.put_nowait(command)

        self.enqueue_control_request = enqueue


class Notebook:
    """Counts how often somebody asks whether a cell runs."""

    def __init__(self, kernel):
        self._kernel = kernel
        self.runs, self.asked = True, 0

    @property
    def execution_context(self):
        self.asked += 1
        return self if self.runs else None


class ModelCustomMessage:
    pass


def of_widget(token):
    return SimpleNamespace(model_id="m", message=ModelCustomMessage(), token=token)


@pytest.fixture
def marimo(monkeypatch):
    """A notebook of marimo in this thread: its context, its two queues, and what widgets got."""
    commands, elements, got = queue.Queue(), queue.Queue(), []
    notebook = Notebook(Kernel(commands, elements))
    comms = SimpleNamespace(receive_comm_message=lambda command: got.append(command.token))
    for name, what, has in (
        ("marimo._runtime.context", "safe_get_context", lambda: notebook),
        ("marimo._plugins.ui._impl.anywidget.init", "WIDGET_COMM_MANAGER", comms),
    ):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        monkeypatch.setattr(sys.modules[name], what, has, raising=False)
    return SimpleNamespace(notebook=notebook, commands=commands, elements=elements, got=got)


def in_line(commands):
    found = list(commands.queue)
    return [getattr(each, "token", each) for each in found]


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


async def test_it_counts_as_a_front_end_that_delivers(marimo):
    assert (front_end(), delivery(), in_thread_of_kernel()) == ("possible", "marimo", True)
    assert marimo_notebook() is marimo.notebook


async def test_a_click_passes_the_cell_and_all_else_waits_in_its_order(marimo):
    put = marimo.notebook._kernel.enqueue_control_request
    with delivering():
        for command in ("run cell 2", of_widget("click"), "run cell 3"):
            put(command)
        await until(lambda: marimo.got == ["click"])
        put("run cell 4")
        await until(marimo.commands.empty)
        assert marimo.elements.empty(), "marimo would hand the same click over once more"
    assert in_line(marimo.commands) == ["run cell 2", "run cell 3", "run cell 4"]


async def test_once_the_cell_is_over_marimo_reads_for_itself_while_a_question_stays_open(marimo):
    put = marimo.notebook._kernel.enqueue_control_request
    with delivering():
        put("run cell 2")
        await until(marimo.commands.empty)
        marimo.notebook.runs = False
        await until(lambda: in_line(marimo.commands) == ["run cell 2"])
        put(of_widget("later"))
        asked = marimo.notebook.asked
        await until(lambda: marimo.notebook.asked > asked + 2)
        assert in_line(marimo.commands) == ["run cell 2", "later"]
    assert marimo.got == []


async def test_a_marimo_that_keeps_its_queues_elsewhere_is_no_kernel_that_delivers(marimo):
    marimo.notebook._kernel.enqueue_control_request = print
    assert delivery() == "unknown"
    with delivering():
        pass
