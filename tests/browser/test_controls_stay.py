"""What a person is at stays where it is: no control is replaced by a redraw that nobody at the page has asked for.

One that is replaced loses the focus, the caret, an open menu, half-typed text, and a click whose press came before it.
Each control of each card in each state is gone to in turn, something is half typed into it, and then everything happens
that happens in life (``controls.js``).
"""

import pandas as pd
import pytest
from playwright.async_api import expect

from hitl_nb import label, pending, review_table
from tests.browser.halves import Reader, halves
from tests.browser.states import STATES
from tests.browser.test_access import DECIDED, put_on
from tests.browser.test_batch import table as batch
from tests.browser.test_data_cards import CASES

ada = Reader()
LIVE = [name for name in STATES if name not in (*DECIDED, "missing-card")]
"""All that is not decided; what cannot be drawn is drawn no other way."""

pytestmark = pytest.mark.timeout(300)


async def shown(cards, name):
    """Bring a new run into a state."""
    await cards.mount()
    await cards.page.evaluate(
        "(state) => { window.brought = bring(run, state.items, state.acts ?? []); }", STATES[name]
    )
    await cards.settled()
    await cards.page.evaluate("brought")


async def stays(cards, *, least=1):
    found = await cards.page.evaluate("disturb(run.model)")
    assert not found["faults"], "\n".join(found["faults"])
    assert found["gone"] >= least


@pytest.mark.parametrize("name", LIVE)
async def test_a_control_stays_over_everything_that_the_kernel_says(cards, name):
    await shown(cards, name)
    await stays(cards, least=0)


@pytest.mark.parametrize("name", LIVE)
async def test_a_control_stays_over_everything_that_happens_around_it(cards, name):
    await shown(cards, name)
    if not await cards.page.evaluate("beginSomewhere()"):
        return  # nothing can be done there
    found = []

    async def look(cause):
        found.extend(await cards.page.evaluate("(cause) => lostSince(cause)", cause))

    try:
        await cards.page.set_viewport_size({"width": 360, "height": 700})
        await look("a narrow window")
        await put_on(cards, "dark")
        await look("a dark theme")
        await cards.run("run.addView('el2')")
        await look("a second view")
        await cards.run("tellMore(run.model)")
        await cards.rest()
        await look("another question")
        heard = "run.model.onsent"
        await cards.run(f"window.heard = {heard}, {heard} = () => {{}}, 0")
        await cards.wait(20_000)
        await look("the kernel is busy")
        await cards.run(f"{heard} = heard, run.model.receive({{ op: 'same', ...run.model.shown, items: [] }})")
        await cards.wait(6_000)
        await look("the kernel is back")
        await cards.run("tellAgain(run.model), document.dispatchEvent(new Event('visibilitychange'))")
        await cards.wait(6_000)
        await look("the page was away")
    finally:
        await cards.page.set_viewport_size({"width": 1280, "height": 720})
        await put_on(cards, "light")
    assert not found, "\n".join(found)


async def presses(cards):
    """Press everything that can be pressed, and draw in between."""
    page, lost, done = cards.page, [], 0
    again = "tellAgain(run.model)"
    await page.evaluate("catchClicks(), window.press = toPress(document.getElementById('el')), 0")
    while place := await page.evaluate("press.next().value ?? null"):
        await page.mouse.move(place["x"], place["y"])
        for count in (1, 2):
            await page.mouse.down(click_count=count)
            await page.evaluate(again)
            await page.mouse.up(click_count=count)
            await page.evaluate(again)
        if (came := await page.evaluate("arrived()")) != ["click", "click", "dblclick"]:
            lost.append(f"{place['key']}: {came}")
        done += 1
    await page.evaluate("catchClicks.end.abort()")
    assert not lost, "\n".join(lost)
    return done


@pytest.mark.parametrize(
    "name",
    [
        *(
            "approval-high",
            "steps-open",
            "steps-declining",
            "plain-long",
            "choice-many",
            "choice-one-key",
            "reply-one-key",
        ),
        *("form-every-kind", "form-table-picked", "form-nested", "form-instead", "plan-changed", "plan-words", "times"),
        *(
            "mcp-form",
            "mcp-address",
            "state",
            "state-conflicts",
            "chat",
            "conversation",
            "tool-calls",
            "value-long-frame",
        ),
    ],
)
async def test_a_press_and_a_double_press_arrive_whatever_is_drawn_meanwhile(cards, name):
    await shown(cards, name)
    assert await presses(cards) > 0


# -- cards whose other half is asked for what they show


@pytest.mark.parametrize("name", CASES)
async def test_a_card_about_data_stays(cards, name, tmp_path):
    async with halves(cards, CASES[name].ask("a", tmp_path)):
        await CASES[name].begin(cards.page)
        await cards.settled()
        await stays(cards)
        assert await presses(cards) > 1


@pytest.fixture
def df():
    return pd.DataFrame({"income": [float(n * 100) for n in range(40)], "city": ["Bern", "Rome"] * 20})


async def test_the_conditions_of_a_table_stay_while_somebody_works_in_it_elsewhere(cards, df):
    async with halves(cards, review_table(df, "Drop?", drop=True, edit=["income"], people=ada)) as both:
        view = cards.page.locator("#el")
        await expect(view.get_by_role("rowheader").first).not_to_be_empty()
        for value in ("500", "700"):
            await view.get_by_role("textbox", name="Value").fill(value)
            await view.get_by_role("button", name="Filter", exact=True).click()
        await expect(view.get_by_role("button", name="Remove")).to_have_count(2)
        await cards.run("run.addView('el2')")
        other = cards.page.locator("#el2")
        await expect(other.get_by_role("rowheader").first).not_to_be_empty()
        assert await cards.page.evaluate("beginSomewhere()")
        press = "new KeyboardEvent('keydown', { key: ' ', bubbles: true })"
        await cards.page.evaluate(f"document.querySelector('#el2 [role=grid]').dispatchEvent({press})")
        await expect(cards.button("Confirm: keep 39 of 40 rows").first).to_be_visible()
        await both.carried()
        assert await cards.page.evaluate("lostSince('a row is dropped elsewhere')") == []
        await stays(cards, least=8)


async def test_the_table_of_many_questions_stays_while_one_of_them_is_decided_elsewhere(cards):
    async with batch(cards) as (both, _):
        await stays(cards, least=8)
        await presses(cards)
        decline = cards.page.get_by_role("checkbox", name="decline").nth(2)
        await decline.focus()
        assert await cards.page.evaluate("beginSomewhere()")
        for call in pending():
            if call is not both.call and call.args.get("euro") == 0:
                call.decline("elsewhere")
        await both.carried()
        await cards.settled()
        assert await cards.page.evaluate("lostSince('one is decided elsewhere')") == []


async def test_a_queue_of_labels_stays_while_they_are_saved(cards):
    async with halves(cards, label([f"text {at}." for at in range(12)], ["good", "bad"], people=ada)) as both:
        await (
            cards.page.get_by_role("textbox", name="Filter").or_(cards.page.locator(".hitl-queue-stage")).first.focus()
        )
        await expect(cards.page.get_by_text("text 0.")).to_be_visible()
        await cards.settled()
        await stays(cards, least=4)
        await presses(cards)
        assert await cards.page.evaluate("beginSomewhere()")
        press = "new KeyboardEvent('keydown', { key: '1', bubbles: true })"
        await cards.page.evaluate(f"document.querySelector('.hitl-queue-stage').dispatchEvent({press})")
        await cards.wait(2_000)
        await both.carried()
        await expect(cards.page.get_by_text("all saved")).to_be_visible()
        lost = await cards.page.evaluate("lostSince('a label was saved')")
        assert not [line for line in lost if "replaced" in line or "focus" in line]
