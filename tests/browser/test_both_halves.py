"""The browser's half and Python's half of a card together: the real item is drawn, the real click is decided on."""

import asyncio

import pytest
from playwright.async_api import expect
from pydantic import BaseModel

from hitl_nb import ask, choose, pending, review
from hitl_nb._waiting import until_decided
from tests.unit.cards.desk import Desk
from tests.unit.schema import models


class Address(BaseModel):
    street: str
    zip: str = "12345"


class Order(BaseModel):
    name: str
    gift: bool
    address: Address
    extras: list[str]


class Ada:
    """Waits for her own click."""

    via = "card"
    name = "Ada"

    async def __call__(self, call):
        await until_decided(call)


waits = Ada()


async def opened(cards, question):
    """The question, being asked, and its card in the browser."""
    asked = asyncio.create_task(question)
    await asyncio.sleep(0)
    (call,) = pending()
    await cards.mount()
    await cards.put(Desk(call).item)
    return asked, Desk(call)


async def confirmed(cards, desk, button="Confirm"):
    """Press Confirm, and decide with what the browser sends."""
    await cards.button(button).click()
    (answer,) = await cards.sent("respond")
    desk.send(answer["value"])
    await cards.unmount()


@pytest.mark.parametrize("sample", models.SAMPLES.values(), ids=models.SAMPLES)
async def test_a_model_confirmed_untouched_is_the_identical_instance(cards, sample):
    asked, desk = await opened(cards, review(sample, people=waits))
    await confirmed(cards, desk)
    assert await asked is sample


async def test_an_edit_in_the_browser_is_the_one_change(cards):
    rows = [{"name": "pack", "days": 2**60 + 1}, {"name": "a\u202eb", "days": 3}]
    asked, desk = await opened(cards, review(rows, people=waits))
    await cards.page.get_by_role("textbox", name="name").first.fill("packed")
    await confirmed(cards, desk, "Confirm changes")
    assert await asked == [{"name": "packed", "days": 2**60 + 1}, rows[1]]
    assert list(desk.call.edits) == [{"path": "[0].name", "from": "pack", "to": "packed"}]


async def test_hidden_characters_are_written_out_in_the_control(cards):
    asked, desk = await opened(cards, review([{"name": "a\u202eb"}], people=waits))
    value = await cards.page.get_by_role("textbox", name="name").input_value()
    assert value == '"a\\u202eb"'
    await cards.page.get_by_role("textbox", name="name").fill('"a\\u202ec"')
    await confirmed(cards, desk, "Confirm changes")
    assert await asked == [{"name": "a\u202ec"}]


async def test_hidden_characters_in_a_key_are_written_out_in_the_box_of_its_object(cards):
    asked, desk = await opened(cards, review({"to": {"pay\u202eme": 1, "note": "p\u0430ypal"}}, people=waits))
    value = await cards.page.get_by_role("textbox").first.input_value()
    assert "pay\\u202eme" in value
    assert "\u202e" not in await cards.page.content()
    text = await cards.page.inner_text("body")
    assert "invisible or direction-changing" in text
    assert "mixes Latin and Cyrillic letters: p\\u0430ypal" in text
    await confirmed(cards, desk)
    assert await asked == {"to": {"pay\u202eme": 1, "note": "p\u0430ypal"}}


async def test_an_empty_form_is_filled_in_and_gives_the_typed_answer(cards):
    asked, desk = await opened(cards, ask("Whom?", answer=Order, people=waits))
    await cards.page.get_by_role("textbox", name="Name", exact=True).fill("Ada")
    await cards.page.get_by_role("radio", name="No").check()
    await cards.page.get_by_role("textbox", name="Street").fill("Main St")
    await confirmed(cards, desk)
    assert await asked == Order(name="Ada", gift=False, address=Address(street="Main St"), extras=[])


async def test_an_untouched_empty_form_is_refused_by_the_kernel_at_each_place(cards):
    asked, desk = await opened(cards, ask("Whom?", answer=Order, people=waits))
    with pytest.raises(Exception, match="needed"):
        await confirmed(cards, desk)
    assert [fault["path"] for fault in desk.props["errors"]] == [["name"], ["gift"], ["address", "street"]]
    desk.call.decline()
    with pytest.raises(Exception, match="declined"):
        await asked


async def test_small_cards_send_what_python_reads(cards):
    asked, desk = await opened(cards, choose("Which?", ["a", "b"], people=waits))
    await cards.page.get_by_role("radio", name="b").check()
    await confirmed(cards, desk)
    assert await asked == "b"
    asked, desk = await opened(cards, ask("What?", people=waits))
    await cards.page.get_by_role("textbox", name="Your answer").fill("words")
    await confirmed(cards, desk, "Answer")
    assert await asked == "words"


async def test_keys_that_are_one_text_are_two_fields_and_the_edit_is_of_the_one_that_was_shown(cards):
    asked, desk = await opened(cards, review({1: "drop", "1": "keep"}, answer=dict[int | str, str], people=waits))
    names = (f"Please review this. Key {key}" for key in ("1 (int)", "1"))
    number, text = (cards.page.get_by_role("textbox", name=name, exact=True) for name in names)
    await expect(number).to_have_value("drop")
    await expect(text).to_have_value("keep")
    await number.fill("drop it")
    await confirmed(cards, desk, "Confirm changes")
    assert await asked == {1: "drop it", "1": "keep"}
    assert list(desk.call.edits) == [{"path": '["1 (int)"]', "from": "drop", "to": "drop it"}]


async def test_a_question_that_is_put_to_a_rule_first_is_shut(cards):
    class Rule(Ada):
        via = "policy"
        name = None  # type: ignore[assignment]

    asked, desk = await opened(cards, ask("What?", people=Rule()))
    await expect(cards.status).to_have_text("A rule decides first")
    await expect(cards.button("Answer")).to_be_disabled()
    await cards.unmount()
    desk.call.decline()
    with pytest.raises(Exception, match="declined"):
        await asked
