"""What a server asks, with both halves: the protocol's three answers, an address that nobody opens by itself."""

import pytest
from mcp.types import ElicitRequestFormParams, ElicitRequestURLParams
from playwright.async_api import expect

from hitl_nb.mcp import elicitation
from tests.browser.halves import Reader, halves
from tests.browser.mcp_states import TABLE
from tests.unit.cards.desk import record


def asks(cards, **params):
    """Ask as a server does; gives both halves of the card."""
    kind = ElicitRequestURLParams if "url" in params else ElicitRequestFormParams
    answers = elicitation("orders", people=Reader())
    assert answers is not None
    return halves(cards, answers(None, kind(message="Which table?", **params)))


async def reply(both):
    found = await both.question
    return found.action, found.content


@pytest.mark.parametrize(("button", "action"), [("Cancel", "cancel"), ("Decline", "decline")])
async def test_no_answer_and_a_no_are_two_things(cards, button, action):
    async with asks(cards, requestedSchema=TABLE) as both:
        await cards.settled()
        await cards.button(button).click()
        if button == "Decline":
            await cards.button(button).click()
        assert await reply(both) == (action, None)


async def test_a_form_is_filled_in_with_titles_and_ticks_and_sent_as_the_schema_has_it(cards):
    async with asks(cards, requestedSchema=TABLE) as both:
        page = cards.page
        await cards.settled()
        await expect(page.get_by_role("group", name="Orders asks").first).to_be_visible()
        await page.get_by_role("textbox", name="Name").fill("Ada")
        await page.get_by_role("textbox", name="E-mail").fill("nope")
        await page.get_by_role("textbox", name="Day").fill("2026-12-24")
        await page.get_by_role("radio", name="No").check()
        await page.get_by_role("radio", name="Fireplace").check()
        await page.get_by_role("checkbox", name="Step-free").check()
        await page.get_by_role("checkbox", name="Vegetarian").check()
        await cards.button("Confirm").click()
        await expect(page.locator(".hitl-wrong:visible")).to_have_text(
            "This is not an e-mail address, ada@example.org."
        )
        await page.get_by_role("textbox", name="E-mail").fill("ada@example.org")
        await cards.button("Confirm").click()
        entered = {"name": "Ada", "email": "ada@example.org", "day": "2026-12-24", "people": 2, "outside": False}
        assert await reply(both) == ("accept", {**entered, "room": "f", "needs": ["veg", "ramp"]})


async def test_an_address_is_a_link_that_nobody_has_followed(cards):
    requests = []
    cards.page.on("request", lambda request: requests.append(request.url))
    cards.page.context.on("page", lambda page: requests.append(page.url))
    there = "https://accounts.example.org/login?a=1&b=2"
    async with asks(cards, mode="url", url=there, elicitationId="1") as both:
        await cards.settled()
        link = cards.page.get_by_role("link", name=there)
        assert await link.get_attribute("href") == there
        assert await link.get_attribute("target") == "_blank"
        await cards.button("Accept").click()
        assert await reply(both) == ("accept", None)
        assert not [url for url in requests if "example.org" in url]


@pytest.mark.parametrize(
    ("there", "host", "why"),
    [
        ("https://bank.example@evil.example/", "evil.example", "It goes to evil.example"),
        ("https://ada:pin@bank.example/login", "bank.example", "It goes to bank.example"),
        ("https://bank.example:443@evil.example/", "evil.example", "It goes to evil.example"),
        ("https://bank.example%2F@evil.example/", "evil.example", "It goes to evil.example"),
        ("javascript:alert(1)", "none", "no address of a page"),
        ("https:evil.example", "none", "no address of a page"),
        ("mailto:ada@bank.example", "none", "no address of a page"),
        ("http://localhost\\x", "not clear", "It may go anywhere"),
        ("https://bank.example\\@evil.example/", "not clear", "It may go anywhere"),
        ("https://b\u00e4nk.example/", "b\u00e4nk.example", "It may go anywhere"),
        ("https://[bank.example/", "none", "no address that can be read"),
    ],
)
async def test_an_address_that_does_not_show_where_it_goes_is_text_of_high_risk_and_says_why(cards, there, host, why):
    async with asks(cards, mode="url", url=there, elicitationId="1") as both:
        await cards.settled()
        page = cards.page
        await expect(page.get_by_text(there, exact=True)).to_be_visible()
        await expect(page.get_by_role("link")).to_have_count(0)
        await expect(page.get_by_label("host", exact=True)).to_have_text(host)
        await expect(page.get_by_label("no link", exact=True)).to_contain_text(why)
        await expect(page.get_by_text("High risk: look twice")).to_be_visible()
        await cards.button("Cancel").click()
        assert await reply(both) == ("cancel", None)
    assert why in record(both.call)
