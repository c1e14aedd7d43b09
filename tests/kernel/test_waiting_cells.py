"""A cell awaits a person while more cells are queued behind it."""

from .client import Kernel


def test_queued_cells_run_after_the_waiting_one_in_order(kernel: Kernel) -> None:
    waiting = kernel.execute("""
        import ipywidgets
        box = ipywidgets.Checkbox(description="in order")
        with delivering():
            for label in ("first look", "second look"):
                await Question(label).answer()
                print(box.value)
        order = []
    """)
    queued = [kernel.execute(f"order.append({n}); print(order)") for n in range(4)]
    box = kernel.widget("CheckboxModel", description="in order")
    box.change(value=True)
    kernel.widget(label="first look").send("go on")
    card = kernel.widget(label="second look")
    box.change(value=False)
    card.send("go on")
    assert kernel.output(waiting) == "True\nFalse"
    assert [kernel.output(cell) for cell in queued] == ["[0]", "[0, 1]", "[0, 1, 2]", "[0, 1, 2, 3]"]


def test_a_page_that_is_loaded_while_a_cell_waits_is_told_which_widgets_there_are(kernel: Kernel) -> None:
    waiting = kernel.execute("print(await Question('still there?').answer())")
    card = kernel.widget(label="still there?")
    queued = kernel.execute("print('behind')")
    asked = kernel.which_widgets()
    assert card.comm_id in kernel.reply(asked)["comms"]
    assert not kernel.is_over(waiting)
    card.send("yes")
    assert (kernel.output(waiting), kernel.output(queued)) == ("yes", "behind")
    assert card.comm_id in kernel.reply(kernel.which_widgets())["comms"]
    kernel.interrupt()  # between cells it does nothing
    assert kernel.run("print('usable')") == "usable"


def test_the_kernel_works_as_before_after_a_wait(kernel: Kernel) -> None:
    waiting = kernel.execute("""
        import ipywidgets
        box = ipywidgets.Checkbox(description="afterwards")
        await Question("afterwards").answer()
    """)
    kernel.widget(label="afterwards").send("go on")
    kernel.output(waiting)
    change = kernel.widget("CheckboxModel", description="afterwards").change(value=True)
    assert kernel.run("print(box.value)") == "True"
    assert kernel.statuses(change) == ["busy", "idle"]
    sleeping = kernel.execute("import time; print('asleep', flush=True); time.sleep(60)")
    kernel.until(lambda: kernel.printed(sleeping), "sleeping cell")
    kernel.interrupt()
    assert kernel.reply(sleeping)["ename"] == "KeyboardInterrupt"


def test_the_stop_button_ends_the_wait_and_drops_queued_cells(kernel: Kernel) -> None:
    waiting = kernel.execute("print('waiting', flush=True); await Question('stop me').answer()")
    queued = kernel.execute("print('ran after all')")
    kernel.until(lambda: kernel.printed(waiting), "waiting cell")
    kernel.interrupt()
    assert kernel.reply(waiting, patience=4)["ename"] == "CancelledError"
    assert kernel.reply(queued)["status"] == "aborted"
    assert kernel.run("print('usable')") == "usable"


def test_a_click_that_comes_before_the_question_is_awaited_counts(kernel: Kernel) -> None:
    waiting = kernel.execute("""
        with delivering():  # around the whole run, as the agent thinks
            card = Question("impatient")
            while not card.heard:
                await asyncio.sleep(0.01)
            print(await card.answer())
    """)
    kernel.widget(label="impatient").send("yes, yes")
    assert kernel.output(waiting) == "yes, yes"


def test_the_first_answer_wins(kernel: Kernel) -> None:
    waiting = kernel.execute("card = Question('twice'); print(await card.answer())")
    card = kernel.widget(label="twice")
    card.send("approve")
    card.send("reject")
    assert kernel.output(waiting) == "approve"
    assert kernel.run("print(card.heard)") == "['approve', 'reject']"


def test_buffers_of_an_answer_arrive_whole(kernel: Kernel) -> None:
    waiting = kernel.execute("card = Question('a file'); await card.answer(); print(card.buffers)")
    kernel.widget(label="a file").send({"name": "a.bin"}, [b"\x00\x01", b"\xff" * 3])
    assert kernel.output(waiting) == r"[b'\x00\x01', b'\xff\xff\xff']"


def test_prints_go_to_whom_they_belong(kernel: Kernel) -> None:
    waiting = kernel.execute("""
        import ipywidgets
        box = ipywidgets.Checkbox(description="prints")
        box.observe(lambda change: print("callback:", change.new), "value")
        print("cell: before")
        await Question("prints").answer()
        print("cell: after")
    """)
    change = kernel.widget("CheckboxModel", description="prints").change(value=True)
    kernel.until_idle(change)
    assert kernel.printed(change) == "callback: True\n"  # by now: a front end drops what comes after "idle"
    kernel.widget(label="prints").send("go on")
    assert kernel.output(waiting) == "cell: before\ncell: after"


def test_a_failing_callback_ends_neither_the_wait_nor_the_kernel(kernel: Kernel) -> None:
    waiting = kernel.execute("""
        import ipywidgets
        box = ipywidgets.Checkbox(description="fails")
        box.observe(lambda change: 1 / 0, "value")
        print(await Question("fails").answer())
    """)
    kernel.until_idle(kernel.widget("CheckboxModel", description="fails").change(value=True))
    kernel.widget(label="fails").send("unharmed")
    assert kernel.output(waiting) == "unharmed"


def test_a_worker_thread_is_told_to_hand_its_wait_over(kernel: Kernel) -> None:
    told = kernel.run("""
        def worker():
            with delivering():
                pass

        try:
            await asyncio.to_thread(worker)
        except RuntimeError as error:
            print(error)
    """)
    assert told.endswith("`asyncio.run_coroutine_threadsafe(wait(), loop).result()`")
