"""Every card in every state, with a keyboard and with a screen reader."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.browser.access import axe, unnamed, violations
from tests.browser.chromium import ADDRESS, serve
from tests.browser.conftest import Cards
from tests.browser.states import STATES

DECIDED = ("records", "conversation", "records-edited", "answer-lost-race", "words-streaming", "expired")
UNDECIDED = {name: state for name, state in STATES.items() if name not in DECIDED}

pytestmark = pytest.mark.timeout(300)  # every state, one after the other


@pytest.fixture(scope="session")
async def axed(browser: Browser) -> AsyncIterator[Cards]:
    """A page with axe-core in it, whose clock runs: axe-core waits between its rules."""
    cards = Cards(await browser.new_page())
    await serve(cards.page)
    await cards.page.goto(ADDRESS)
    await cards.page.evaluate(f"{axe()}; 0")
    yield cards
    await cards.page.close()


async def show(cards: Cards, name: str) -> None:
    """Bring a new run into a state."""
    await cards.mount()
    await cards.page.evaluate(
        "({ items, acts: wanted = [] }) => bring(run, items, wanted)",
        STATES[name],
    )


async def put_on(cards: Cards, theme: str) -> None:
    await cards.page.evaluate(
        """async (theme) => {
          document.querySelectorAll("link[href$='t.css'], link[href$='k.css']").forEach((link) => link.remove());
          document.documentElement.style.colorScheme = theme === "system-dark" ? "dark" : "";
          document.body.dataset.jpThemeLight = String(!theme.endsWith("dark"));
          if (!theme.startsWith("system")) await addStylesheet(`/${theme}.css`);
          await addStylesheet("/kit.css");
        }""",
        theme,
    )


@pytest.mark.parametrize(
    ("theme", "rules"), [("light", ()), ("dark", ("color-contrast",)), ("system-dark", ("color-contrast",))]
)
async def test_axe_finds_nothing_serious_on_any_card_in_any_state(axed, theme, rules):
    found = []
    await put_on(axed, theme)
    for name in STATES:
        await show(axed, name)
        found += [f"{name}: {each}" for each in await violations(axed, *rules)]
        await axed.unmount()
    assert not found, "\n".join(found)


async def test_axe_would_have_found_it(axed):
    await show(axed, "text-long")
    await axed.page.evaluate("document.querySelector('#el textarea').removeAttribute('id')")
    await axed.page.evaluate("document.querySelector('#el .hitl-title').style.color = '#999'")
    await put_on(axed, "light")
    found = await violations(axed)
    await axed.unmount()
    assert {"label", "color-contrast"} <= {each.split(":")[0] for each in found}


async def test_every_control_of_every_state_has_a_name(axed):
    found = []
    for name in UNDECIDED:
        await show(axed, name)
        found += [f"{name}: {each}" for each in await unnamed(axed)]
        await axed.unmount()
    assert not found, "\n".join(found)
