"""What the browser shows and what the kernel has are the same.

ipywidgets sends a change of a widget, and keeps the next ones back until the kernel has said "idle" for it. A kernel
that leaves this out executes B after the person has approved A.
"""

from .client import Kernel

WAITING = """
    import ipywidgets
    box = ipywidgets.Checkbox(description={label!r})
    await Question({label!r}).answer()
    print(box.value)
"""


def test_the_second_toggle_arrives_before_the_answer(kernel: Kernel) -> None:
    waiting = kernel.execute(WAITING.format(label="toggled twice"))
    box = kernel.widget("CheckboxModel", description="toggled twice")
    for value in (True, False):
        kernel.until_idle(box.change(value=value))  # as ipywidgets does
    kernel.widget(label="toggled twice").send("go on")
    assert kernel.output(waiting) == "False"
    assert [kernel.run("print(box.value)") for _ in range(2)] == ["False", "False"]


def test_each_widget_message_is_idle_once_and_the_cell_busy_again(kernel: Kernel) -> None:
    waiting = kernel.execute(WAITING.format(label="statuses"))
    box = kernel.widget("CheckboxModel", description="statuses")
    changes = [box.change(value=value) for value in (True, False, True)]
    for change in changes:
        kernel.until_idle(change)
        assert kernel.statuses(change) in (["idle"], ["busy", "idle"])
    kernel.until(lambda: kernel.statuses(waiting) == ["busy"] * 4, "busy again after each change")
    kernel.widget(label="statuses").send("go on")
    kernel.output(waiting)
    assert kernel.statuses(waiting) == [*["busy"] * 5, "idle"]


def test_a_message_between_cells_does_not_leave_the_kernel_looking_busy(kernel: Kernel) -> None:
    kernel.run("""
        async def two_questions():
            await Question("one").decided  # no cell runs from here on
            return await Question("two").answer()

        task = asyncio.create_task(two_questions())
        await asyncio.sleep(0)
    """)
    kernel.widget(label="one").send("go on")
    card = kernel.widget(label="two")
    before = len(kernel.published)
    clicks = [card.send("yes"), card.send("again")]
    kernel.until_idle(clicks[-1])
    parents = {
        message["parent_header"]["msg_id"]
        for message in kernel.published[before:]
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "busy"
    }
    assert parents <= set(clicks)
    assert kernel.run("print(await task)") == "yes"
