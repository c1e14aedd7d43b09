"""What a person has begun and not sent is there again after a reload and in a second tab; it is never an answer."""

import asyncio
from typing import Annotated

from playwright.async_api import expect
from pydantic import BaseModel, Field, SecretStr

from hitl_nb import Journal, ask, choose, review, use
from hitl_nb.people import Escalate
from tests.browser.halves import Reader, halves

BACK = "what was begun here is back"


class Trip(BaseModel):
    city: str
    nights: int
    stops: list[str]
    extras: dict[str, int]
    pay: Annotated[str, Field(json_schema_extra={"format": "password"})] = ""
    pin: str = ""
    key: SecretStr = SecretStr("")


TRIP = Trip(city="Oslo", nights=2, stops=["Bergen", "Moss", "Hamar"], extras={"skis": 1, "sled": 2})


async def reloaded(cards, both) -> None:
    """Reload once what was begun has reached the kernel."""
    await cards.wait(500)
    await both.heard("draft")
    both._heard.clear()
    await both.connect()
    await cards.settled()


def box(cards, name):
    return cards.page.get_by_role("textbox", name=name, exact=True)


async def test_a_form_is_as_it_was_and_answers_only_when_it_is_confirmed(cards):
    async with halves(cards, review(TRIP, "Where to?", people=Reader())) as both:
        await box(cards, "City").fill("Bodø")
        await box(cards, "Nights").fill("not yet a num")
        await cards.page.get_by_role("button", name="Remove Stops 1").click()
        await cards.page.get_by_role("button", name="Add Stops").click()
        await box(cards, "Stops 3").fill("Narvik")
        await cards.page.get_by_role("button", name="Add Extras").click()
        await box(cards, "Key Extras").fill("tent")
        await reloaded(cards, both)
        await expect(box(cards, "City")).to_have_value("Bodø")
        await expect(box(cards, "Nights")).to_have_value("not yet a num")
        assert [await stop.input_value() for stop in await cards.page.get_by_role("textbox", name="Stops").all()] == [
            "Moss",
            "Hamar",
            "Narvik",
        ]
        await expect(box(cards, "Key tent Extras")).to_have_value("tent")
        await expect(cards.text("Oslo → Bodø").first).to_be_visible()
        await expect(cards.status.filter(has_text=BACK)).to_be_visible()
        assert not both.call.decided
        await box(cards, "Nights").fill("3")
        await cards.page.get_by_role("textbox", name="Extras Key tent").fill("1")
        await cards.button("Confirm changes").click()
        answer = await both.question
    extras = {"skis": 1, "sled": 2, "tent": 1}
    assert answer == TRIP.model_copy(
        update={"city": "Bodø", "nights": 3, "stops": ["Moss", "Hamar", "Narvik"], "extras": extras}
    )


async def test_no_secret_is_kept_and_nothing_is_journaled_or_saved(cards, tmp_path):
    journal = Journal(tmp_path / "trip.db")
    async with halves(cards, journaled(journal, review(TRIP, "Where to?", people=Reader()))) as both:
        await box(cards, "City").fill("Bodø-unsent")
        for name in ("Pay", "Pin", "Key"):
            await box(cards, name).fill(f"hunter2-{name}")
        await reloaded(cards, both)
        await expect(box(cards, "City")).to_have_value("Bodø-unsent")
        for name in ("Pay", "Pin", "Key"):
            await expect(box(cards, name)).not_to_have_value(f"hunter2-{name}")
        (draft,) = [
            item["draft"] for each in both.sent if each["op"] == "snapshot" for item in each["items"] if "draft" in item
        ]
        assert "hunter2" not in str(draft)
        assert "unsent" not in str(both.view.live_bundle())
        assert "unsent" not in str(list(journal))
        assert b"unsent" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())


async def journaled(journal, question):
    with use(journal=journal):
        return await question


async def test_ticks_words_and_a_reason_are_back_and_a_pressed_button_is_not(cards):
    asked = choose("Which?", ["a", "b", "c"], multiple=True, people=Reader())
    async with halves(cards, asked) as both:
        await cards.page.get_by_role("checkbox", name="b").check()
        await reloaded(cards, both)
        await expect(cards.page.get_by_role("checkbox", name="b")).to_be_checked()
        await cards.page.get_by_role("checkbox", name="c").check()
        await cards.button("Confirm 2 of 3").click()
        assert await both.question == ["b", "c"]
    async with halves(cards, ask("Why?", long=True, people=Reader())) as both:
        await box(cards, "Your answer").fill("half a sen")
        await cards.button("Decline").click()
        await box(cards, "Reason (optional)").fill("tired")
        await reloaded(cards, both)
        await expect(box(cards, "Your answer")).to_have_value("half a sen")
        await cards.button("Decline").click()
        await expect(box(cards, "Reason (optional)")).to_have_value("tired")
        assert not both.call.decided


async def test_a_second_tab_begins_with_it_and_the_first_is_not_disturbed(cards):
    async with halves(cards, ask("Why?", people=Reader())) as both:
        await box(cards, "Your answer").fill("one")
        await reloaded(cards, both)
        await expect(box(cards, "Your answer")).to_have_value("one")
        token = both.call.turn.token
        elsewhere = {"op": "draft", "call_id": both.call.occurrence, "turn": token, "draft": {"draft": {"text": "two"}}}
        both._list.updates.receive(elsewhere)
        both._list.updates.receive({"op": "hello", "have": 0, "page": "other", "views": 1})
        await cards.settled()
        await expect(box(cards, "Your answer")).to_have_value("one")
        await both.connect()
        await expect(box(cards, "Your answer")).to_have_value("two")


async def test_it_is_dropped_when_the_question_is_about_something_else_and_when_somebody_else_is_asked(cards):
    plan = {"days": 2, "note": "sun"}
    async with halves(cards, review(plan, "Go?", people=Reader())) as both:
        await box(cards, "note").fill("rain")
        await reloaded(cards, both)
        await expect(box(cards, "note")).to_have_value("rain")
        plan["days"] = 3
        await both.connect()
        await expect(box(cards, "note")).to_have_value("sun")
    bob = Reader()
    bob.name = "Bob"
    async with halves(cards, ask("Why?", people=Escalate(Reader(), after=1.5, to=bob))) as both:
        await box(cards, "Your answer").fill("of Ada")
        await cards.wait(500)
        await both.heard("draft")
        async with asyncio.timeout(20):
            while not (both.call.turn and both.call.turn.by == "Bob"):
                await asyncio.sleep(0.05)
        await both.connect()
        await expect(box(cards, "Your answer")).to_have_value("")
