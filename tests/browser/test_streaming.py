"""What is on screen while the model writes, and what belongs to the person once they may answer."""

from playwright.async_api import expect

from tests.browser.items import STEPS, arg, call, message, note, record, review, step

ONE, TWO, THREE = STEPS


async def test_steps_grow_while_the_model_writes(cards):
    await cards.put(review(status="inProgress", labels=()))
    await expect(cards.page.get_by_role("checkbox")).to_have_count(0)
    for labels in ((ONE[:6],), (ONE,), (ONE, TWO[:4])):
        await cards.put(review(status="inProgress", labels=labels))
        await expect(cards.page.get_by_role("listitem")).to_have_text(list(labels))
    await expect(cards.box(ONE)).to_be_checked()
    await expect(cards.box(ONE)).to_be_disabled()


async def test_the_choice_begins_with_what_the_complete_call_proposes(cards):
    await cards.put(review(status="inProgress", labels=(ONE,)))
    steps = [step(ONE, checked=False), step(TWO), step(THREE, checked=False)]
    await cards.put(review(status="executing", props={"steps": steps}))
    await expect(cards.box(ONE)).not_to_be_checked()
    await expect(cards.box(TWO)).to_be_checked()
    await cards.button("Confirm 1 of 3").click()
    assert (await cards.answers())[0]["value"] == {"checked": [False, True, False]}


async def test_a_later_patch_resets_neither_choice_nor_focus(cards):
    await cards.put(review())
    await cards.box(TWO).uncheck()
    await cards.put(review(error="Look again.", message="Another message"))
    await expect(cards.text("Another message")).to_be_visible()
    await expect(cards.box(TWO)).not_to_be_checked()
    await expect(cards.box(TWO)).to_be_focused()
    await expect(cards.button("Confirm 2 of 3")).to_be_enabled()


async def test_a_later_patch_does_not_take_a_reason_out_of_the_field(cards):
    await cards.put(review())
    await cards.button("Decline").click()
    await cards.page.keyboard.type("too ")
    await cards.put(review(warning="Mind the gap."), message("m1", "Meanwhile", streaming=True))
    await cards.page.keyboard.type("late")
    await cards.page.keyboard.press("Enter")
    assert (await cards.answers())[0]["reason"] == "too late"


async def test_a_growing_message_keeps_the_readers_selection(cards):
    await cards.put(message("m1", "Read this", streaming=True))
    await cards.text("Read this").evaluate(
        "(el) => getSelection().setBaseAndExtent(el.firstChild, 0, el.firstChild, 4)"
    )
    await cards.put(message("m1", "Read this, too.", streaming=True))
    await expect(cards.text("Read this, too.")).to_be_visible()
    assert await cards.run("getSelection().toString()") == "Read"


async def test_a_message_may_be_rewritten(cards):
    await cards.put(message("m1", "One thing", streaming=True))
    await cards.put(message("m1", "Another"))
    await expect(cards.page.locator(".hitl-message")).to_have_text("Assistant Another", use_inner_text=True)


async def test_only_a_streaming_message_has_a_caret(cards):
    caret = cards.page.locator("[data-streaming]")
    await cards.put(message("m1", "", streaming=True))
    await expect(caret).to_be_visible()
    await cards.put(message("m1", "Done."))
    await expect(caret).to_be_hidden()


async def test_a_caret_stands_still_for_those_who_asked_for_it(cards):
    await cards.put(message("m1", "Text", streaming=True))
    animation = "(el) => getComputedStyle(el.lastElementChild, '::after').animationName"
    assert await cards.page.locator("[data-streaming]").evaluate(animation) == "hitl-breathe"
    await cards.page.emulate_media(reduced_motion="reduce")
    assert await cards.page.locator("[data-streaming]").evaluate(animation) == "none"
    await cards.page.emulate_media(reduced_motion="no-preference")


async def test_everything_stands_in_the_order_of_the_kernel(cards):
    await cards.put(message("m1", "First", role="user"), message("m2", "Second"))
    await cards.put(note("n1", "Third", level="error"), call("c1", title="Fourth"))
    await cards.put(message("m1", "First, again", role="user"))
    texts = await cards.page.locator(".hitl-run > *").all_inner_texts()
    assert [text.split("\n")[-1] for text in texts[:2]] == ["First, again", "Second"]
    assert "Third" in texts[2]
    assert texts[3].startswith("Fourth")


async def test_arguments_fill_in_while_the_model_writes(cards):
    await cards.put(call(status="inProgress", props={"rows": [arg("to", "ada@")]}))
    await cards.put(call(status="inProgress", props={"rows": [arg("to", "ada@example.org"), arg("body", "He")]}))
    await expect(cards.page.get_by_role("group", name="to", exact=True)).to_have_text("ada@example.org")
    await expect(cards.page.get_by_role("group", name="body")).to_have_text("He")


async def test_another_card_for_the_same_call_replaces_the_first(cards):
    await cards.put(review(status="inProgress", labels=(ONE,)))
    await cards.put(call(props={"rows": [arg("steps", ONE)]}, warning="Its own card cannot show this call."))
    await expect(cards.page.get_by_role("checkbox")).to_have_count(0)
    await cards.button("Confirm").click()
    assert (await cards.answers())[0]["value"] == {}


async def test_a_call_that_is_never_asked_goes_straight_to_its_record(cards):
    await cards.put(review(status="inProgress", labels=(ONE,)))
    await cards.put(review(status="complete", props={}, record=record("invalid", "Not asked: `steps` is missing")))
    await expect(cards.text("Not asked")).to_be_visible()
    await expect(cards.page.get_by_role("button")).to_have_count(0)
