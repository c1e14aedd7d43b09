"""Cards of other packages in the browser: each a module of its own; one that fails takes none with it."""

import pytest
from playwright.async_api import expect

from hitl_nb.cards import Card
from hitl_nb.cards._card import known_cards
from tests.browser.items import call, review

DRAWS = """
import { h } from "./kit.js";
const RUN_SILENCE = "a name that a run has, too";
export default {
  seed: () => ({}),
  answer: () => ({ said: RUN_SILENCE }),
  draw: (body) => (body.append(h("p", { class: "theirs", text: RUN_SILENCE })), () => {}),
};
"""
STYLE = ".theirs { position: fixed; inset: 0; color: rgb(1 2 3); }"


@pytest.fixture
def theirs(tmp_path):
    """Defines the one card of another package, and gives its name."""
    before = set(known_cards)

    def define(text: str) -> str:
        (tmp_path / "theirs.js").write_text(text, encoding="utf-8")
        (tmp_path / "theirs.css").write_text(STYLE, encoding="utf-8")

        class Theirs(Card):
            module = tmp_path / "theirs.js"
            style = tmp_path / "theirs.css"

        return Theirs.called()

    yield define
    for name in set(known_cards) - before:
        del known_cards[name]


async def test_it_is_drawn_and_answers(cards, theirs):
    await cards.mount()
    name = theirs(DRAWS)
    await cards.mount()
    await cards.put(call(card=name))
    await cards.button("Confirm").click()
    assert [answer["value"] for answer in await cards.sent("respond")] == [{"said": "a name that a run has, too"}]
    assert await cards.sent("failed") == []


async def test_its_styles_stay_inside_of_it(blank, theirs):
    name = theirs(DRAWS)
    await blank.load()
    await blank.mount()
    await blank.put(call(card=name), review("c2"))
    await expect(blank.page.locator(".theirs")).to_have_css("color", "rgb(1, 2, 3)")
    outer = await blank.page.locator(".hitl-body").first.bounding_box()
    inner = await blank.page.locator(".theirs").bounding_box()
    assert inner["height"] <= outer["height"] + 1
    assert inner["y"] >= outer["y"] - 1
    await blank.button("Select none").click()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("export default {;\n", "Unexpected token"),
        ('throw new Error("no sea today");\nexport default {};\n', "no sea today"),
        ("export default { seed: () => ({}), answer: () => ({}) };\n", "has no `draw`"),
        (DRAWS.replace("h(", "nothing("), "nothing is not defined"),
    ],
)
async def test_one_that_fails_is_told_of_once_and_takes_no_other_with_it(blank, theirs, text, why):
    name = theirs(text)
    await blank.load()
    await blank.mount()
    await blank.put(call(card=name), review("c2"))
    (failed,) = await blank.sent("failed")
    assert (failed["call_id"], failed["card"]) == ("call_c1", name)
    assert why in failed["error"]
    await blank.put(call(card=name, message="again"))
    assert len(await blank.sent("failed")) == 1
    await expect(blank.button("Confirm").first).to_be_disabled()
    await expect(blank.button("Confirm 3 of 3")).to_be_enabled()
    blank.errors.clear()


async def test_it_loads_where_only_blobs_may(blank, theirs):
    name = theirs(DRAWS)
    await blank.load({"Content-Security-Policy": "script-src 'self' blob:"})
    await blank.mount()
    await blank.put(call(card=name))
    await expect(blank.page.locator(".theirs")).to_have_count(1)
    assert await blank.sent("failed") == []
