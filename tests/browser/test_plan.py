"""A plan on a page: put in order with the mouse and by keys alone, also after a reload; words are words."""

from playwright.async_api import expect

from hitl_nb import review
from hitl_nb.cards import PlanReview
from tests.browser.halves import Reader, halves
from tests.browser.test_safety import ATTACKS

ada = Reader()
STEPS = [
    {"description": "pack", "status": "enabled", "steps": [{"description": "food"}, {"description": "air"}]},
    {"description": "fly", "status": "enabled"},
    {"description": "land", "status": "disabled"},
]


def question(steps=STEPS):
    return review(steps, "This way?", render=PlanReview, people=ada)


def told(steps):
    """The texts of a plan, those that are off in brackets."""
    texts = []
    for step in steps:
        inner = f" {told(step['steps'])}" if step.get("steps") else ""
        off = step.get("status") == "disabled"
        texts.append(f"({step['description']}){inner}" if off else f"{step['description']}{inner}")
    return ", ".join(texts)


async def test_with_the_mouse(cards):
    async with halves(cards, question()) as both:
        await cards.button("Move up step 3").click()
        await cards.page.get_by_role("checkbox", name="land").check()
        await cards.button("Reword step 3").click()
        await cards.page.get_by_role("textbox", name="Words of step 3").fill("fly low")
        await cards.button("Move down step 1.1").click()
        await cards.button("Add a step").click()
        await cards.page.get_by_role("textbox", name="Words of step 4").fill("rest")
        await expect(cards.text("was: fly")).to_be_visible()
        await expect(cards.text("was number 3")).to_be_visible()
        await cards.button("Confirm 6 of 6 steps").click()
        assert told(await both.question) == "pack air, food, land, fly low, rest"


INNER = [{"description": "food", "status": "enabled"}, {"description": "air", "status": "enabled"}]
ALIKE = [{"description": "pack", "status": "enabled", "steps": INNER}, *STEPS[1:]]
"""Steps that say the same of themselves, wherever they are."""


async def test_a_step_is_moved_under_another_one_and_out_of_it_with_the_mouse(cards):
    async with halves(cards, question(ALIKE)) as both:
        await cards.button("Move in step 2").click()
        await expect(cards.button("Move in step 1.3")).to_be_hidden()  # the one above has no steps of its own
        await expect(cards.text("was number 2")).to_be_visible()
        await cards.button("Move out step 1.1").click()
        await expect(cards.text("was number 1.1")).to_be_visible()
        await cards.button("Confirm 4 of 5 steps").click()
        assert told(await both.question) == "pack air, fly, food, (land)"


async def test_a_step_is_moved_under_another_one_and_out_of_it_by_keys_also_after_a_reload(cards):
    async with halves(cards, question(ALIKE)) as both:
        press = cards.page.keyboard.press
        fly = cards.page.get_by_role("checkbox", name="fly")
        await fly.focus()
        for key in ("Alt+ArrowLeft", "Alt+ArrowRight", "Alt+ArrowRight", "Alt+ArrowUp"):
            await press(key)
            await expect(fly).to_be_focused()
        await expect(cards.page.get_by_role("status").filter(has_text="Now 1.2, in step 1")).to_have_count(1)
        await cards.wait(500)
        await both.heard("draft")
        await both.connect()
        await expect(cards.text("was number 2")).to_be_visible()
        await cards.page.get_by_role("checkbox", name="food").focus()
        await press("Alt+ArrowLeft")
        await cards.button("Confirm 4 of 5 steps").press("Enter")
        assert told(await both.question) == "pack fly, air, food, (land)"


async def test_by_keys_alone(cards):
    async with halves(cards, question()) as both:
        press = cards.page.keyboard.press
        await cards.page.get_by_role("checkbox", name="pack").focus()
        for key in ("ArrowDown", "Alt+ArrowDown", "ArrowDown"):  # food behind air, then to fly
            await press(key)
        await expect(cards.page.get_by_role("checkbox", name="fly")).to_be_focused()
        await press("Enter")
        await expect(cards.page.get_by_role("textbox", name="Words of step 2")).to_be_focused()
        await cards.page.keyboard.type(" low")
        await press("Alt+ArrowDown")
        await expect(cards.page.get_by_role("textbox", name="Words of step 3")).to_be_focused()
        await press("Enter")
        await press("ArrowUp")
        await press("Space")  # land
        await press("Insert")
        await cards.page.keyboard.type("rest")
        await press("Enter")
        await press("Insert")
        await press("Escape")  # one too many
        await press("Control+Enter")
        assert told(await both.question) == "pack air, food, land, rest, fly low"


async def test_escape_takes_back_what_was_written_and_as_proposed_everything(cards):
    async with halves(cards, question()) as both:
        await cards.button("Reword step 2").press("Enter")
        await cards.page.keyboard.type("!!")
        await cards.page.keyboard.press("Escape")
        await expect(cards.page.get_by_role("checkbox", name="fly")).to_be_focused()
        await cards.button("Move up step 2").click()
        await cards.button("Select none").click()
        await expect(cards.button("Confirm 0 of 5 steps")).to_be_visible()
        await cards.button("As proposed").click()
        await cards.button("Confirm 4 of 5 steps").click()
        assert await both.question is STEPS


async def test_a_step_ticks_those_above_and_below_it(cards):
    async with halves(cards, question()):
        await cards.page.get_by_role("checkbox", name="pack").uncheck()
        await expect(cards.button("Confirm 1 of 5 steps")).to_be_visible()
        await cards.page.get_by_role("checkbox", name="air").check()
        await expect(cards.page.get_by_role("checkbox", name="pack")).to_be_checked()
        await expect(cards.page.get_by_role("checkbox", name="food")).not_to_be_checked()


async def test_a_step_without_words_is_not_confirmed(cards):
    async with halves(cards, question()) as both:
        await cards.button("Add a step").click()
        await cards.button("Confirm 5 of 6 steps").click()
        await expect(cards.alert).to_have_text("Step 4 has no words. Write them, or take it back.")
        await expect(cards.page.get_by_role("textbox", name="Words of step 4")).to_be_focused()
        await cards.button("Take out step 4").click()
        await cards.button("Confirm 4 of 5 steps").click()
        assert await both.question is STEPS


async def test_a_reload_keeps_what_was_done(cards):
    async with halves(cards, question()) as both:
        await cards.button("Move up step 3").click()
        await cards.button("Add a step").click()
        await cards.page.get_by_role("textbox", name="Words of step 4").fill("rest\u200d")
        await cards.wait(500)
        await both.heard("draft")
        await both.connect()
        await cards.button("Confirm 5 of 6 steps").click()
        assert told(await both.question) == "pack food, air, (land), fly, rest\u200d"


async def test_what_is_invalid_is_told_with_the_number_of_its_step(cards):
    steps = [{"description": "pack", "n": 1}]
    async with halves(cards, review(steps, render=PlanReview, answer=SHORT, people=ada)) as both:
        await cards.button("Reword step 1").click()
        await cards.page.get_by_role("textbox", name="Words of step 1").fill("x" * 9)
        await cards.button("Confirm 1 of 1 steps").click()
        await expect(cards.alert).to_contain_text("Step 1: ")
        await cards.page.get_by_role("textbox", name="Words of step 1").fill("go")
        await cards.button("Confirm 1 of 1 steps").click()
        assert await both.question == [{"description": "go", "n": 1}]


SHORT = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"description": {"type": "string", "maxLength": 5}, "n": {"type": "integer"}},
    },
}


async def test_no_words_of_a_step_become_an_element_when_they_are_edited(cards):
    attack = " ".join(ATTACKS)
    steps = [{"description": attack, "note": attack, "steps": [{"description": attack}]}]
    async with halves(cards, question(steps)) as both:
        await cards.button("Reword step 1").click()
        box = cards.page.get_by_role("textbox", name="Words of step 1")
        await expect(box).to_have_value(attack)
        await box.fill(f"{attack}!")
        await box.press("Enter")
        await expect(cards.page.get_by_role("checkbox", name=attack).first).to_be_visible()
        await cards.page.locator(".hitl-primary").click()
        await both.question
        await expect(cards.page.locator(".hitl-decided")).to_be_visible()
        assert await cards.run("window.owned") is None
        assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a)').length") == 0
