"""Messages get lost; the screen and the answers do not."""

from playwright.async_api import expect

from tests.browser.items import STEPS, message, record, review

ONE, TWO, THREE = STEPS
LONG_ENOUGH = 8_000  # more than one retry (5 s) and one poll (2 s)


async def test_the_first_thing_is_a_hello(cards):
    first, *_ = await cards.run("run.model.sent")
    assert (first["op"], first["have"], first["views"]) == ("hello", 0, 0)


async def test_the_kernel_is_told_how_often_the_run_is_drawn_and_since_when_it_is_not(cards):
    async def told():
        return [(each["views"], each["gone"]) for each in await cards.sent("views")]

    assert await told() == [(1, None)]
    await cards.run("run.addView('el2')")
    await cards.run("run.ends.views[0].abort()")
    assert [views for views, _ in await told()] == [1, 1]
    await cards.wait(1_500)
    await cards.run("run.ends.views[1].abort()")
    assert (await told())[-1] == (0, await cards.run("Date.now()"))


async def test_a_page_with_nothing_drawn_says_so_every_second(cards):
    await cards.put(review())
    await cards.run("run.ends.views[0].abort()")
    before = len(await cards.sent("hello"))
    await cards.wait(3_100)
    assert [hello["views"] for hello in (await cards.sent("hello"))[before:]] == [0, 0, 0]


async def test_a_page_says_who_it_is_and_when_it_goes(cards):
    await cards.run("dispatchEvent(new PageTransitionEvent('pagehide'))")
    (bye,) = await cards.sent("bye")
    first = (await cards.sent("hello"))[0]
    assert {bye["page"], bye["tab"]} == {first["page"], first["tab"]}


async def test_the_kernel_is_asked_before_anything_is_drawn(cards):
    await cards.unmount()
    await cards.mount(into=[])
    await cards.put(review())
    await cards.run("run.addView('el')")
    await cards.settled()
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()


async def test_a_live_run_is_polled_every_two_seconds(cards):
    await cards.put(message("m1", "Hello"))
    await cards.wait(6_000)
    assert [hello["have"] for hello in await cards.sent("hello")] == [0, 1, 1, 1]


async def test_a_run_that_is_over_is_not_polled(cards):
    await cards.put(message("m1", "Goodbye"))
    await cards.run("run.kernel.finish()")
    await cards.wait(60_000)
    assert len(await cards.sent("hello")) <= 2


async def test_a_hidden_page_polls_again_when_it_is_looked_at(cards):
    show = "(state) => { Object.defineProperty(document, 'visibilityState', { value: state, configurable: true }) }"
    tell = "document.dispatchEvent(new Event('visibilitychange'))"
    await cards.page.evaluate(show, "hidden")
    await cards.run(tell)
    await cards.wait(60_000)
    asked = len(await cards.sent("hello"))
    assert asked <= 2
    await cards.page.evaluate(show, "visible")
    await cards.run(tell)
    assert len(await cards.sent("hello")) == asked + 1


async def test_one_question_at_a_time_and_again_after_five_seconds(cards):
    await cards.run("run.kernel.busy = true")
    await cards.wait(2_000)
    assert len(await cards.sent("hello")) == 2
    await cards.wait(4_900)
    assert len(await cards.sent("hello")) == 2
    await cards.wait(200)
    assert len(await cards.sent("hello")) == 3


async def test_a_gap_is_asked_about_at_once(cards):
    await cards.put(message("m1", "One"))
    await cards.run("run.kernel.lose()")
    await cards.put(message("m2", "Two"))
    await cards.put(message("m3", "Three"))
    await expect(cards.page.locator(".hitl-message p")).to_have_text(["One", "Two", "Three"])
    assert [hello["have"] for hello in await cards.sent("hello")] == [0, 1]


async def test_a_poll_that_shows_a_gap_is_followed_by_a_question(cards):
    await cards.put(message("m1", "One"))
    await cards.run("run.kernel.lose()")
    await cards.put(message("m2", "Two"))
    await cards.receive(op="same", seq=2, live=True)  # the answer to another tab's poll
    await expect(cards.text("Two")).to_be_visible()


async def test_the_end_of_a_run_beyond_a_gap_does_not_end_the_questions(cards):
    await cards.put(message("m1", "One"))
    # The next message and the snapshot that it will be missed for; the end of the run, between them, arrives.
    await cards.run("run.kernel.lost.push(run.kernel.told, run.kernel.told + 2)")
    await cards.put(message("m2", "Two"))
    await cards.run("run.kernel.finish()")
    await expect(cards.text("Two")).to_have_count(0)
    await cards.wait(LONG_ENOUGH)
    await expect(cards.text("Two")).to_be_visible()


async def test_a_message_that_is_not_ours_changes_nothing(cards):
    await cards.put(message("m1", "One"))
    await cards.receive(id="x", kind="anywidget-command")
    await expect(cards.text("One")).to_be_visible()
    await cards.wait(4_000)
    assert len(await cards.sent("hello")) == 3


async def test_old_patches_change_nothing(cards):
    await cards.put(message("m1", "New"))
    await cards.receive(op="patch", seq=1, live=True, items=[message("m1", "Old")])
    await expect(cards.text("New")).to_be_visible()


async def test_a_snapshot_replaces_what_is_there(cards):
    await cards.put(message("m1", "One"), message("m2", "Two"))
    await cards.receive(op="snapshot", seq=7, live=True, items=[message("m2", "Two"), message("m3", "Three")])
    await expect(cards.page.locator(".hitl-message p")).to_have_text(["Two", "Three"])


async def test_a_snapshot_puts_what_was_missed_in_its_place_and_leaves_the_focus(cards):
    await cards.put(review())
    await cards.box(TWO).focus()
    missed = [message("m1", "Before"), review(), message("m2", "After")]
    await cards.receive(op="snapshot", seq=7, live=True, items=missed)
    texts = await cards.page.locator(".hitl-run > *").all_text_contents()
    assert ["Before" in texts[0], STEPS[0] in texts[1], "After" in texts[2]] == [True, True, True]
    await expect(cards.box(TWO)).to_be_focused()


async def test_after_a_reload_everything_is_there_again(cards):
    await cards.put(message("m1", "Hello"), review())
    state = await cards.run("({ seq: run.kernel.seq })")
    await cards.unmount()
    await cards.mount()
    snapshot = {"op": "snapshot", "live": True, "items": [message("m1", "Hello"), review()]}
    await cards.receive(**snapshot, **state)
    await expect(cards.text("Hello")).to_be_visible()
    await cards.settled()
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()


async def test_an_answer_is_sent_again_unchanged_until_the_kernel_has_it(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.box(ONE).uncheck()
    await cards.button("Confirm 2 of 3").click()
    await cards.wait(12_000)
    sent = await cards.sent("respond")
    assert len(sent) > 1
    assert all(answer == sent[0] for answer in sent)
    await cards.run("run.kernel.resume()")
    assert len(await cards.answers()) == 1
    again = len(await cards.sent("respond"))
    await cards.wait(20_000)
    assert len(await cards.sent("respond")) == again


async def test_an_acknowledgement_shows_a_gap_as_well(cards):
    await cards.put(review())
    await cards.run("run.kernel.lose()")
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.text("by a test")).to_be_visible()


async def test_a_record_is_an_acknowledgement_as_well(cards):
    await cards.put(review())
    await cards.run("run.kernel.lost.push(run.kernel.told + 1)")
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.text("by a test")).to_be_visible()
    await cards.wait(LONG_ENOUGH)
    assert len(await cards.sent("respond")) == 1


async def test_an_unacknowledged_answer_outlives_the_polling(cards):
    await cards.put(review())
    await cards.run("run.kernel.finish(); run.kernel.busy = true")
    await cards.wait(LONG_ENOUGH)
    await cards.button("Confirm 3 of 3").click()
    await cards.wait(2_000)
    assert len(await cards.sent("respond")) == 2


async def test_another_tabs_refusal_is_not_ours(cards):
    await cards.put(review())
    await cards.receive(op="answered", call_id="call_c1", accepted=False, error="Not like that.", seq=1, live=True)
    await expect(cards.text("Not like that.")).to_have_count(0)
    await expect(cards.status).to_have_text("Waiting for you")


async def test_another_tabs_answer_shuts_the_card(cards):
    await cards.put(review())
    await cards.receive(op="answered", call_id="call_c1", accepted=True, error=None, seq=1, live=True)
    await expect(cards.status).to_have_text("Answered")
    await expect(cards.button("Confirm 3 of 3")).to_be_disabled()


async def test_an_answer_that_came_too_late_says_so(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.button("Confirm 3 of 3").click()
    [sent] = await cards.sent("respond")
    late = {"op": "answered", "call_id": "call_c1", "click": sent["click"], "accepted": False, "error": None}
    await cards.receive(**late, seq=1, live=True)
    await expect(cards.status).to_have_text("Already answered elsewhere")
    await expect(cards.button("Decline")).to_be_disabled()


async def test_a_silent_kernel_is_named_and_the_card_stays_open(cards):
    await cards.put(review())
    await cards.run("run.kernel.busy = true")
    await cards.wait(20_000)
    await expect(cards.status).to_contain_text("The kernel is not answering")
    await expect(cards.button("Confirm 3 of 3")).to_be_enabled()
    await cards.run("run.kernel.resume()")
    await expect(cards.status).to_have_text("Waiting for you")


async def test_a_kernel_that_never_said_a_word_does_not_leave_the_cell_empty(cards):
    await cards.unmount()
    await cards.mount(kernel={"lost": list(range(100))})
    await expect(cards.text("No word from the kernel yet")).to_be_hidden()
    await cards.wait(20_000)
    await expect(cards.status).to_contain_text("No word from the kernel yet")
    await cards.run("run.kernel.lost = []")
    await cards.put(message("m1", "Hello"))
    await cards.wait(LONG_ENOUGH)
    await expect(cards.text("Hello")).to_be_visible()
    await expect(cards.text("No word from the kernel yet")).to_be_hidden()


async def test_a_lost_kernel_shuts_the_card(cards):
    await cards.put(review(), message("m1", "Hello"))
    await cards.run("run.model.disconnect()")
    await expect(cards.status).to_have_text(
        "Disconnected from the kernel. This question can no longer be answered here."
    )
    for control in (cards.button("Confirm 3 of 3"), cards.button("Decline"), cards.box(ONE)):
        await expect(control).to_be_disabled()
    asked = len(await cards.sent("hello"))
    await cards.wait(60_000)
    assert len(await cards.sent("hello")) == asked


async def test_a_lost_kernel_does_not_change_a_record(cards):
    await cards.put(review(status="complete", record=record("answered", "Confirmed 3 of 3")))
    await cards.run("run.model.disconnect()")
    await expect(cards.text("Confirmed 3 of 3")).to_be_visible()
    await expect(cards.text("Disconnected")).to_have_count(0)


async def test_a_comm_that_throws_is_a_lost_kernel(cards):
    await cards.put(review())
    await cards.run("run.model.comm_live = false")  # gone, and nobody said so
    await cards.button("Confirm 3 of 3").click()
    await expect(cards.status).to_contain_text("Disconnected from the kernel.")


async def _scripted_run(cards, drop: int) -> tuple[object, ...]:
    """One run with a preview, a question, an answer and a last word; one message to the browser is lost."""
    await cards.unmount()
    await cards.mount(kernel={"lost": [drop]})
    await cards.put(message("m1", "Plan a trip", role="user"))
    for text in ("I will", "I will propose"):
        await cards.put(message("m2", text, streaming=True))
    await cards.put(message("m2", "I will propose steps."), review(status="inProgress", labels=(ONE,)))
    await cards.wait(2_500)
    await cards.put(review(status="inProgress"))
    await cards.put(review())
    await cards.wait(LONG_ENOUGH)
    await cards.box(TWO).uncheck(timeout=2_000)
    await cards.button("Confirm 2 of 3").click()
    await cards.wait(LONG_ENOUGH)
    await cards.put(message("m3", "All booked."))
    await cards.run("run.kernel.finish()")
    await cards.wait(LONG_ENOUGH)
    asked = len(await cards.sent("hello"))
    await cards.wait(LONG_ENOUGH)
    stopped = len(await cards.sent("hello")) == asked
    screen = await cards.page.locator("#el").aria_snapshot()
    return screen, await cards.page.locator("#el").inner_text(), await cards.answers(), stopped


async def test_any_single_message_to_the_browser_may_be_lost(cards):
    expected = await _scripted_run(cards, drop=-1)
    assert "All booked." in str(expected[1])
    assert expected[3], "the polling stops at the end"
    for drop in range(await cards.run("run.kernel.told")):
        assert await _scripted_run(cards, drop) == expected, f"without message {drop}"


async def test_a_click_says_when_it_was_made_by_the_kernels_clock(cards):
    ahead = 1_000_000_000
    await cards.run(f"run.kernel.ahead = {ahead}")
    await cards.put(review())
    await cards.wait(5_000)
    await cards.button("Confirm 3 of 3").click()
    [sent] = await cards.sent("respond")
    assert sent["pressed"] == await cards.run("Date.now()") + ahead
