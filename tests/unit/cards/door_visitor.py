"""A user of an installed card, in a process of their own: ``python -m tests.unit.cards.door_visitor``.

Answers without a browser, then in one; prints what came of it as JSON.
"""

import asyncio
import json

from hitl_stars import Stars  # type: ignore[import-not-found]

from hitl_nb import human_in_the_loop, interrupt, pending
from hitl_nb._waiting import until_decided
from hitl_nb.cards._registry import all_cards
from tests.browser.chromium import executable, launched
from tests.browser.conftest import Cards
from tests.browser.states import STATES
from tests.unit.cards.desk import Desk, ask, record


@human_in_the_loop(render=Stars)
def rate(talk: str) -> dict:
    """Ask how a talk was."""


class Ada:
    """Waits for her own click."""

    via = "card"
    name = "Ada"

    async def __call__(self, call) -> None:
        await until_decided(call)


async def rate_in_code() -> dict:
    return await interrupt("How was it?", {"talk": "Notebooks at sea"}, render=Stars, people=Ada())


async def headless() -> dict:
    call, agent = await ask(rate, lambda desk: desk.send({"stars": 4, "comment": "salty"}), talk="Notebooks at sea")
    told = [message.content for message in agent.inputs[-1].messages if message.role == "tool"]
    return {"answer": call.answer, "told": told, "record": record(call)}


async def in_chromium() -> dict:
    async with launched(str(executable())) as browser:
        cards = Cards(await browser.new_page())
        await cards.load()
        await cards.mount()
        asked = asyncio.create_task(rate_in_code())
        await asyncio.sleep(0)
        (call,) = pending()
        await cards.put(Desk(call).item)
        await cards.button("Confirm").click()
        alert = await cards.alert.first.inner_text()
        await cards.page.get_by_role("radio", name="4 ★★★★").check()
        await cards.page.get_by_role("textbox", name="Comment").fill("<b>salty</b>")
        flex = await cards.run("getComputedStyle(document.querySelector('.hitl-options')).display")
        await cards.button("Confirm").click()
        (answer,) = await cards.sent("respond")
        Desk(call).send(answer["value"])
        drawn = {"alert": alert, "flex": flex, "answer": await asked, "failed": await cards.sent("failed")}
        return {**drawn, "errors": cards.errors}


async def main() -> None:
    known = [name for name, card in all_cards().items() if card is Stars]
    seen = {"known": known, "gallery": [name for name in STATES if "Stars" in name]}
    print(json.dumps({**seen, "headless": await headless(), "chromium": await in_chromium()}))


asyncio.run(main())
