"""Several views of one run, and what is left when they are gone."""

from playwright.async_api import expect

from tests.browser.items import STEPS, message, review

ONE, TWO, THREE = STEPS


async def test_two_views_share_one_choice_and_one_answer(cards):
    await cards.run("run.addView('el2')")
    await cards.put(review())
    first, second = cards.page.locator("#el"), cards.page.locator("#el2")
    await first.get_by_label(ONE).uncheck()
    await expect(second.get_by_label(ONE)).not_to_be_checked()
    await second.get_by_role("button", name="Confirm 2 of 3").click()
    for view in (first, second):
        await expect(view.get_by_role("button")).to_have_count(0)
    assert len(await cards.answers()) == 1


async def test_a_second_view_asks_the_kernel_nothing(cards):
    await cards.put(message("m1", "Hello"))
    await cards.run("run.addView('el2')")
    await expect(cards.text("Hello")).to_have_count(2)
    assert len(await cards.sent("hello")) == 1


async def test_a_choice_survives_the_view_it_was_made_in(cards):
    await cards.put(review())
    await cards.box(TWO).uncheck()
    await cards.run("run.ends.views[0].abort(), document.getElementById('el').replaceChildren()")
    await cards.run("run.addView('el2')")
    await cards.settled()
    await expect(cards.box(TWO)).not_to_be_checked()
    await expect(cards.button("Confirm 2 of 3")).to_be_enabled()


async def test_a_reason_survives_the_view_it_was_written_in(cards):
    await cards.put(review())
    await cards.button("Decline").click()
    await cards.page.keyboard.type("too dangerous")
    await cards.run("run.ends.views[0].abort(), document.getElementById('el').replaceChildren()")
    await cards.run("run.addView('el2')")
    await cards.settled()
    await cards.button("Decline").click()
    await expect(cards.page.get_by_label("Reason (optional)")).to_have_value("too dangerous")


async def test_a_closed_view_is_no_longer_drawn(cards):
    await cards.put(message("m1", "Before"))
    await cards.run("run.ends.views[0].abort()")
    await cards.put(message("m1", "After"))
    await expect(cards.text("Before")).to_be_visible()


async def test_views_listen_to_the_store_and_not_to_the_model(cards):
    alone = await cards.run("run.model.listeners")
    await cards.run("run.addView('el2')")
    assert await cards.run("run.model.listeners") == alone


async def test_the_end_of_the_model_ends_listeners_and_polls(cards):
    await cards.put(review())
    assert await cards.unmount() == 0
    sent = await cards.run("run.model.sent.length")
    await cards.wait(60_000)
    await cards.run("document.dispatchEvent(new Event('visibilitychange'))")
    assert await cards.run("run.model.sent.length") == sent


async def test_two_runs_in_one_page_do_not_know_each_other(cards):
    await cards.put(review())
    await cards.run("window.first = run, 0")
    await cards.mount(into=["el2"])
    await cards.put(review())
    second = cards.page.locator("#el2")
    await second.get_by_label(ONE).uncheck()
    await second.get_by_role("button", name="Confirm 2 of 3").click()
    assert len(await cards.answers()) == 1
    assert await cards.run("first.kernel.answers") == []
    await expect(cards.page.locator("#el").get_by_role("button", name="Confirm 3 of 3")).to_be_enabled()
    await cards.run("unmount(first), 0")


async def test_every_id_of_a_page_is_its_own(cards):
    await cards.run("run.addView('el2')")
    await cards.put(review("c1"), review("c2"))
    assert await cards.run("document.querySelectorAll('[id^=hitl-]').length") > 8
    ids = await cards.run("[...document.querySelectorAll('[id]')].map((el) => el.id)")
    assert len(ids) == len(set(ids))
