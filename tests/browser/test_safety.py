"""Nothing from a model becomes code or markup, and what cannot be drawn cannot be approved."""

import re

import pytest
from playwright.async_api import expect

from tests.browser.chromium import ADDRESS, serve
from tests.browser.items import arg, call, message, note, record, review, row, step

CSP = "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:"
ATTACKS = (
    "<img src=x onerror='window.owned = 1'>",
    "<script>window.owned = 1</script>",
    '"><svg onload="window.owned = 1">',
    "javascript:window.owned=1",
    "${window.owned = 1}",
    "</style><style>*{display:none}</style>",
)


def every_field(attack: str) -> list[dict[str, object]]:
    """One item of every type, with `attack` wherever a text can be."""
    head = {"name": attack, "title": attack, "message": attack, "warning": attack, "error": attack}
    labels = {"confirm": attack, "decline": attack}
    rows = [row(attack, label=attack, mark="on"), row(attack, mark="off"), row(attack)]
    return [
        message("m1", attack, role="user"),
        message("m2", attack, streaming=True),
        message("m3", attack, role=attack),
        note("n1", attack, level="error"),
        note("n2", attack, level=attack),
        {"key": attack, "type": attack, "text": attack},
        review("c1", **head, **labels, props={"steps": [step(attack, note=attack), step(attack)]}),
        call("c2", **head, **labels, props={"rows": [arg(attack, attack), arg(attack, attack, long=True)]}),
        call("c3", **head, **labels, card=attack),
        call("c4", **head, status="complete", record=record("answered", attack, rows, attack)),
        call("c5", **head, status="complete", record=record(attack, attack, rows, attack)),
    ]


@pytest.mark.parametrize("attack", ATTACKS)
async def test_no_text_runs_or_becomes_an_element(cards, attack):
    await cards.put(*every_field(attack))
    await expect(cards.page.locator(".hitl-card")).to_have_count(5)
    await cards.page.locator(".hitl-card[data-state=open]").first.get_by_role("button").last.click()
    await cards.wait(1_000)
    assert await cards.run("window.owned") is None
    assert await cards.run("document.querySelectorAll('#el :is(img, script, style, svg, a)').length") == 0
    assert (await cards.page.locator("#el").inner_text()).count(attack) > 20
    # The unknown card says so in the console, once and as text.
    assert [error for error in cards.errors if "there is no card called" not in error] == []
    cards.errors.clear()


@pytest.mark.parametrize("width", [320, 1200])
async def test_no_text_is_wider_than_the_page(cards, width):
    await cards.page.set_viewport_size({"width": width, "height": 700})
    await cards.put(*every_field("unbreakable" * 60))
    cards.errors.clear()
    wide = "[...document.querySelectorAll('#el *')].filter(overflows).map((el) => el.className)"
    assert await cards.run(wide) == []
    assert await cards.run("document.documentElement.scrollWidth") <= width
    await cards.page.set_viewport_size({"width": 1280, "height": 720})


async def test_cards_load_where_only_blobs_may(blank):
    await blank.load({"Content-Security-Policy": CSP})
    await blank.mount()
    await blank.put(review())
    await blank.button("Confirm 3 of 3").click()
    assert len(await blank.answers()) == 1


async def test_the_policy_of_the_test_before_is_in_force(blank):
    await serve(blank.page, {"Content-Security-Policy": CSP})
    await blank.page.goto(ADDRESS)
    loads = "import('data:text/javascript,1').then(() => true, () => false)"
    assert await blank.run(loads) is False
    blank.errors.clear()


async def test_an_unknown_card_is_named_and_can_only_be_declined(cards):
    await cards.put(call(card="starmap"), message("m1", "Still here"))
    await expect(cards.alert).to_have_text(
        "This card could not be drawn: there is no card called `starmap` in this version of hitl_nb."
    )
    await expect(cards.button("Confirm")).to_be_disabled()
    await expect(cards.text("Still here")).to_be_visible()
    await cards.button("Decline").click()
    await cards.page.keyboard.press("Enter")
    assert [answer["op"] for answer in await cards.answers()] == ["decline"]
    cards.errors.clear()


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString"])
async def test_no_name_of_the_language_is_a_card(cards, name):
    await cards.put(call(card=name))
    await expect(cards.alert).to_contain_text(f"`{name}`")
    cards.errors.clear()


async def test_a_card_that_throws_says_why_and_can_only_be_declined(cards):
    await cards.put(review(props={"steps": None}), message("m1", "Still here"))
    await expect(cards.alert).to_have_text(re.compile("^This card could not be drawn: .*null"))
    await expect(cards.button("Confirm")).to_be_disabled()
    await expect(cards.button("Decline")).to_be_enabled()
    await expect(cards.text("Still here")).to_be_visible()
    assert len(cards.errors) == 1
    assert len(cards.errors[0].splitlines()) <= 8
    cards.errors.clear()


async def test_a_card_that_threw_comes_back_with_a_state_that_it_can_draw(cards):
    await cards.put(review(status="inProgress", props={}))
    await expect(cards.alert).to_contain_text("could not be drawn")
    await cards.put(review())
    await expect(cards.alert).to_have_count(0)
    await cards.button("Confirm 3 of 3").click()
    assert len(await cards.answers()) == 1
    cards.errors.clear()


async def test_an_item_without_sense_does_not_take_the_others_with_it(cards):
    broken = review("c2", status="complete", record={"outcome": "answered", "headline": "Odd", "rows": None})
    await cards.put(broken, message("m1", "Still here"))
    await expect(cards.alert).to_contain_text("Could not be drawn")
    await expect(cards.text("Still here")).to_be_visible()
    cards.errors.clear()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_text_stands_out_from_its_ground(cards, scheme):
    await cards.page.emulate_media(color_scheme=scheme)
    await cards.page.evaluate("(scheme) => { document.documentElement.style.colorScheme = scheme }", scheme)
    await cards.put(review(error="Wrong", warning="Mind"), message("m1", "Hi", role="user"), note("n1", "Note"))
    ratios = await cards.run("contrasts(document.getElementById('el'))")
    assert len(ratios) > 8
    assert {text: ratio for text, ratio in ratios if ratio < 4.5} == {}
    await cards.page.evaluate("document.documentElement.style.colorScheme = ''")
