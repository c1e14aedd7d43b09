"""A form while the model writes, while a person edits, and after the kernel has refused: nothing typed is ever lost."""

from typing import Literal

from playwright.async_api import expect
from pydantic import BaseModel

from tests.browser.forms import control, edits, form, set_to


class Mail(BaseModel):
    subject: str
    retries: int
    tags: list[str]
    tone: Literal["formal", "terse"] | None = None


MAIL = {"subject": "Hello", "retries": 3, "tags": ["a", "b"]}
SUBJECT, RETRIES = ["subject"], ["retries"]


def wrong(*faults):
    return [{"path": path, "message": message} for path, message in faults]


async def test_the_fields_fill_in_while_the_model_writes(cards):
    for value in ({}, {"subject": "Hel"}, {"subject": "Hello", "tags": ["a"]}):
        await cards.put(form(Mail, value, status="inProgress"))
    await expect(control(cards, "Subject")).to_have_value("Hello")
    await expect(cards.page.get_by_role("textbox", name="Tags 1")).to_have_value("a")
    await expect(control(cards, "Subject")).to_be_disabled()
    await expect(cards.button("Confirm")).to_be_disabled()
    await cards.put(form(Mail, MAIL))
    await expect(control(cards, "Subject")).to_be_enabled()
    await expect(cards.page.get_by_role("textbox", name="Tags 2")).to_have_value("b")
    assert await edits(cards) == []


async def test_half_a_value_is_shown_as_far_as_it_is_there(cards):
    schema = {"properties": {"day": {"type": "string", "format": "date"}, "steps": {"type": "array"}}}
    await cards.put(form(schema, {"day": "2024-0", "steps": None}, status="inProgress"))
    await expect(control(cards, "day")).to_have_value('"2024-0"')


async def test_a_later_patch_resets_no_edit_and_takes_no_focus(cards):
    await cards.put(form(Mail, MAIL))
    await control(cards, "Subject").fill("Changed")
    await control(cards, "Retries").focus()
    await cards.page.keyboard.press("End")
    await cards.page.keyboard.type("4")
    await cards.put(form(Mail, {**MAIL, "subject": "From the kernel"}, title="Another title"))
    await expect(control(cards, "Retries")).to_be_focused()
    await cards.page.keyboard.type("5")
    assert await edits(cards) == [
        set_to("Changed", "subject"),
        set_to({"$": "number", "text": "345"}, "retries"),
    ]


async def test_faults_come_to_their_fields_and_the_first_has_the_focus(cards):
    await cards.put(form(Mail, MAIL))
    await control(cards, "Retries").fill("99")
    await cards.run("run.kernel.refuse.call_c1 = '2 fields are wrong.', run.kernel.busy = true")
    await cards.button("Confirm changes").click()
    faults = wrong((["tags", 1], "Too short"), (RETRIES, "Too many"))
    await cards.put(form(Mail, MAIL, errors=faults, error="2 fields are wrong."))
    await cards.run("run.kernel.resume()")
    await expect(cards.alert).to_have_text("2 fields are wrong.")
    await expect(control(cards, "Retries")).to_be_focused()
    await expect(control(cards, "Retries")).to_have_accessible_description("Too many")
    await expect(cards.page.get_by_role("textbox", name="Tags 2")).to_have_attribute("aria-invalid", "true")
    await expect(control(cards, "Retries")).to_have_value("99")


async def test_a_fault_goes_when_its_field_is_edited_and_the_others_stay(cards):
    faults = wrong((RETRIES, "Too many"), (SUBJECT, "Too short"))
    await cards.put(form(Mail, MAIL, errors=faults))
    await control(cards, "Retries").fill("4")
    await expect(cards.text("Too many")).to_have_count(0)
    await expect(cards.text("Too short")).to_be_visible()


async def test_the_same_fault_twice_is_shown_twice(cards):
    await cards.put(form(Mail, MAIL, errors=wrong((RETRIES, "Too many"))))
    await control(cards, "Retries").fill("99")
    await expect(cards.text("Too many")).to_have_count(0)
    await cards.run("run.kernel.refuse.call_c1 = 'Too many'")
    await cards.button("Confirm changes").click()
    await expect(control(cards, "Retries")).to_be_focused()
    await expect(control(cards, "Retries")).to_have_accessible_description("Too many")


async def test_a_fault_of_a_row_that_was_moved_is_shown_where_the_row_is_now(cards):
    await cards.put(form(Mail, MAIL))
    await cards.button("Move up Tags 2").click()
    await cards.put(form(Mail, MAIL, errors=wrong((["tags", 0], "No such tag"))))
    box = cards.page.get_by_role("textbox", name="Tags 1")
    await expect(box).to_have_value("b")
    await expect(box).to_have_accessible_description("No such tag")


async def test_a_fault_of_a_place_that_is_not_there_is_shown_as_near_as_can_be(cards):
    await cards.put(form(Mail, {"subject": "x", "tags": []}, errors=wrong((RETRIES, "Field required"))))
    await expect(control(cards, "Retries")).to_have_accessible_description("Field required")
    await cards.put(form(Mail, MAIL, errors=wrong((["nowhere", 3], "Odd"), ([], "As a whole, no"))))
    await expect(cards.text("Odd")).to_be_visible()
    await expect(cards.text("As a whole, no")).to_be_visible()


async def test_a_date_that_was_refused_can_be_typed_as_text(cards):
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time"}}, "required": ["at"]}
    await cards.put(form(schema, {}, mode="answer"))
    await control(cards, "at").fill("2024-02-29T10:00")
    await cards.put(form(schema, {}, mode="answer", errors=wrong((["at"], "It needs a time zone."))))
    await control(cards, "at").fill("2024-02-29T10:00:00Z")
    assert await edits(cards) == [set_to("2024-02-29T10:00:00Z", "at")]


async def test_two_views_of_a_form_are_one_form(cards):
    await cards.run("run.addView('el2')")
    await cards.put(form(Mail, MAIL))
    first, second = cards.page.locator("#el"), cards.page.locator("#el2")
    await first.get_by_role("textbox", name="Subject").fill("Changed")
    await expect(second.get_by_role("textbox", name="Subject")).to_have_value("Changed")
    await second.get_by_role("button", name="Add Tags").click()
    await cards.page.keyboard.type("c")
    await expect(first.get_by_role("textbox", name="Tags 3")).to_have_value("c")
    await first.get_by_role("button", name="Confirm changes").click()
    (answer,) = await cards.answers()
    assert [edit["path"] for edit in answer["value"]["edits"]] == [["subject"], ["tags", 2]]


async def test_edits_survive_the_view_they_were_made_in(cards):
    await cards.put(form(Mail, MAIL))
    await control(cards, "Subject").fill("Changed")
    await cards.run("run.ends.views[0].abort(), document.getElementById('el').replaceChildren()")
    await cards.run("run.addView('el2')")
    await expect(control(cards, "Subject")).to_have_value("Changed")
    await cards.settled()
    assert await edits(cards) == [set_to("Changed", "subject")]


async def test_what_must_be_there_is_marked_in_an_answer(cards):
    await cards.put(form(Mail, {"tags": []}, mode="answer"))
    await expect(cards.text("required")).to_have_count(3)
    await control(cards, "Subject").fill("New")
    await control(cards, "Retries").fill("1")
    await cards.page.get_by_role("radio", name="terse").check()
    await expect(cards.button("Confirm")).to_be_visible()
    assert await edits(cards) == [
        set_to("New", "subject"),
        set_to({"$": "number", "text": "1"}, "retries"),
        set_to("terse", "tone"),
    ]


async def test_an_answer_to_nothing_is_sent_as_a_whole(cards):
    await cards.put(form(Mail, None, mode="answer"))
    await control(cards, "Subject").fill("New")
    assert await edits(cards) == [set_to({"subject": "New", "tags": []})]


async def test_words_can_be_sent_instead(cards):
    await cards.put(form(Mail, MAIL, instead=True))
    await control(cards, "Subject").fill("Changed")
    await cards.button("Reply in words").click()
    words = cards.page.get_by_role("textbox", name="Your reply")
    await expect(words).to_be_focused()
    await expect(cards.page.get_by_role("textbox", name="Subject")).to_be_disabled()
    await cards.button("Send reply").click()
    await expect(cards.alert).to_have_text("Nothing is written yet.")
    await words.fill("Ask Grace.")
    await cards.page.keyboard.press("Control+Enter")
    assert [answer["value"] for answer in await cards.answers()] == [{"instead": "Ask Grace."}]


async def test_back_from_the_words_is_the_form_as_it_was(cards):
    await cards.put(form(Mail, MAIL, instead=True))
    await control(cards, "Subject").fill("Changed")
    await cards.button("Reply in words").click()
    await cards.button("Back").click()
    await expect(control(cards, "Subject")).to_have_value("Changed")
    assert await edits(cards) == [set_to("Changed", "subject")]


async def test_without_leave_there_are_no_words_instead(cards):
    await cards.put(form(Mail, MAIL))
    await expect(cards.button("Confirm")).to_be_enabled()
    await expect(cards.button("Reply in words")).to_have_count(0)


async def test_what_a_form_is_about_stands_above_it(cards):
    row = {"label": "trip", "text": "Mars", "long": False}
    await cards.put(form(Mail, {"tags": []}, mode="answer", rows=[row]))
    await expect(cards.page.get_by_role("group", name="trip")).to_have_text("Mars")


async def test_enter_in_a_field_confirms_nothing(cards):
    await cards.put(form(Mail, MAIL))
    await control(cards, "Retries").focus()
    await cards.page.keyboard.press("Enter")
    assert await cards.sent("respond") == []
