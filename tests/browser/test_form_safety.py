"""Nothing of a tool, a schema or a value becomes markup or code, on any card; and no secret is anywhere on the page."""

from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.chromium import ADDRESS, serve
from tests.browser.forms import control, form
from tests.browser.items import Item, arg, call, review, step
from tests.browser.small_states import approval, choice, slot, text, times
from tests.browser.test_safety import ATTACKS

PLACES = ("tool name", "title", "description", "property name", "enum value", "default", "value", "error text")


def words(place: str, attack: str, at: str, harmless: str = "harmless") -> str:
    """`attack` at its place, something harmless elsewhere."""
    return attack if place == at else harmless


def schema(place: str, attack: str) -> dict[str, Any]:
    """A schema with `attack` at `place` of every kind of node."""
    about = {
        "title": words(place, attack, "title"),
        "description": words(place, attack, "description"),
        "default": words(place, attack, "default"),
    }
    kinds: dict[str, Any] = {
        "text": {"type": "string"},
        "long": {"type": "string", "format": "textarea"},
        "number": {"type": "number"},
        "day": {"type": "string", "format": "date"},
        "pick": {"enum": [words(place, attack, "enum value"), "other"]},
        "many": {"enum": [words(place, attack, "enum value"), *"abcdef"]},
        "fixed": {"const": words(place, attack, "enum value")},
        "union": {"anyOf": [{"type": "integer", **about}, {"type": "string", **about}]},
        "list": {"type": "array", "items": {"type": "string", **about}},
        "table": {"type": "array", "items": {"type": "object", "properties": {"cell": {"type": "string", **about}}}},
        "dict": {"type": "object", "additionalProperties": {"type": "string"}},
        "json": {},
    }
    nested = {"type": "object", "properties": {words(place, attack, "property name"): {"type": "string", **about}}}
    properties = {**{name: {**node, **about} for name, node in kinds.items()}, "nested": nested}
    return {"type": "object", "properties": {**properties, words(place, attack, "property name"): {"type": "string"}}}


def value(place: str, attack: str) -> dict[str, Any]:
    said, enum, name = (words(place, attack, each) for each in ("value", "enum value", "property name"))
    return {
        "text": said,
        "long": f"{said}\n{said}",
        "number": said,
        "day": said,
        "pick": enum,
        "many": enum,
        "fixed": enum,
        "union": said,
        "list": [said],
        "table": [{"cell": said, said: said}, said],
        "dict": {said: said},
        "json": {said: [said]},
        "nested": {name: said},
        name: said,
    }


def every_card(place: str, attack: str) -> list[Item]:
    head = {
        "name": words(place, attack, "tool name"),
        "title": words(place, attack, "title"),
        "message": words(place, attack, "description"),
        "error": words(place, attack, "error text"),
    }
    said = words(place, attack, "value")
    faults = [{"path": path, "message": head["error"]} for path in ([], ["text"], ["table", 0], ["table", 0, "cell"])]
    spec, proposed = schema(place, attack), value(place, attack)
    rows = [arg(said, said), arg(said, said, long=True)]
    return [
        form(spec, proposed, "c1", errors=faults, instead=True, **head),
        form(spec, proposed, "c2", mode="answer", rows=rows, **head),
        form(spec, proposed, "c3", status="inProgress", **head),
        approval("c4", risk="high", reason="optional", **head),
        {**choice(said, enum := words(place, attack, "enum value"), notes=said, **head), "key": "c5", "id": "call_c5"},
        {**text(long=True, placeholder=said, initial=said, **head), "key": "c6", "id": "call_c6"},
        {**times([slot(said, said, said), slot(enum)], **head), "key": "c7", "id": "call_c7"},
        review("c8", props={"steps": [step(said, note=said)]}, **head),
        call("c9", props={"rows": rows}, **head),
        call("c10", card="reply", props={"rows": rows, "choices": [said], "label": said}, **head),
    ]


@pytest.mark.parametrize("place", PLACES)
async def test_nothing_runs_and_nothing_becomes_an_element(cards, place):
    for attack in ATTACKS:
        await cards.unmount()
        await cards.mount()
        await cards.put(*every_card(place, attack))
        assert await cards.page.locator("#el .hitl-card").count() == 10
        assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a, iframe)').length") == 0
        shown = "[...document.querySelectorAll('#el :is(input, textarea)')].map((box) => box.value + box.placeholder)"
        page = await cards.run(f"document.getElementById('el').textContent + {shown}.join('')")
        assert page.count(attack) > 2, f"{attack} is not shown as text"
    await cards.wait(1_000)
    assert await cards.run("window.owned") is None


@pytest.mark.parametrize("attack", ATTACKS)
async def test_what_is_typed_is_text_too(cards, attack):
    await cards.put(form({"properties": {"a": {"type": "string"}, "b": {}}}, {"a": "", "b": 1}))
    await control(cards, "a").fill(attack)
    await control(cards, "b").fill(attack)
    await cards.button("Confirm changes").click()
    assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a)').length") == 0
    assert await cards.run("window.owned") is None


async def test_the_form_needs_no_eval(blank):
    await serve(blank.page, {"Content-Security-Policy": "script-src 'self' blob:"})
    await blank.page.goto(f"{ADDRESS}?state=form-open")
    await blank.page.get_by_role("textbox", name="Retries").fill("4")
    await blank.page.get_by_role("textbox", name="Headers Key X-Trace").fill("[1, 2")
    await expect(blank.text("This is not JSON")).to_be_visible()
    await expect(blank.button("Confirm changes")).to_be_visible()


async def test_a_secret_is_nowhere_on_the_page(cards):
    spec = {"properties": {"token": {"type": "string", "format": "password", "default": "s3cret"}}}
    await cards.put(form(spec, {"token": "s3cret"}))
    assert "s3cret" not in await cards.run("document.documentElement.outerHTML")
    await control(cards, "token").fill("0ther")
    assert "0ther" not in await cards.run("document.documentElement.innerHTML")
    await cards.button("Confirm changes").click()
    await cards.put(form(spec, {"token": "s3cret"}, status="complete"))
    assert "0ther" not in await cards.run("document.body.innerText")
