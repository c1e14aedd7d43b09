"""Both halves of a card, joined as by a comm: the kernel's view of a run, and the page that draws it."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from hitl_nb import pending
from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb._waiting import until_decided
from hitl_nb.cards._view import RunView

_names = itertools.count()


class Reader:
    """Somebody at the page."""

    via = "card"
    name = "Ada"

    async def __call__(self, call: Call) -> None:
        await until_decided(call)


class Halves:
    """A question on a page: what the page sends reaches the kernel's view, and the other way round."""

    def __init__(self, cards: Any, call: Call, question: "asyncio.Task[Any]") -> None:
        self.cards, self.call, self.question = cards, call, question
        self.sent: list[Any] = []
        """What the kernel has sent."""
        self._heard: list[str] = []
        self._lost = 0
        transcript = Transcript()
        self.view = RunView(transcript)
        transcript.add(CallEntry(key=call.occurrence, call=call))
        [self._list] = self.view._slots.lists
        self._list.updates._send = self._to_page
        self._out: asyncio.Queue[Any] = asyncio.Queue()

    async def connect(self) -> None:
        """Mount the widget of the run in the page, once more after a reload."""
        page, name = self.cards.page, f"kernel{next(_names)}"
        await page.expose_function(name, self._from_page)
        await page.evaluate(
            """async (name) => {
              unmount(window.run);
              window.run = await mount({ into: [] });
              run.model.onsent = (content) => void window[name](JSON.stringify(content));
              for (const content of run.model.sent) run.model.onsent(content);
              await run.addView("el");
            }""",
            name,
        )

    async def heard(self, op: str) -> None:
        """Wait until the page has sent such a message."""
        while op not in self._heard:
            await asyncio.sleep(0.01)

    def _from_page(self, text: str) -> None:
        content = json.loads(text)
        self._heard.append(content["op"])
        self._list.updates.receive(content)

    def lose(self, count: int) -> None:
        """The next messages to the page do not arrive."""
        self._lost += count

    def find(self) -> None:
        """From now on all messages arrive."""
        self._lost = 0

    def _to_page(self, content: Any) -> None:
        self.sent.append(content)
        if self._lost:
            self._lost -= 1
            return
        self._out.put_nowait(json.dumps(content))

    async def carried(self) -> None:
        """Wait until all that either side has sent is there, and can be answered."""
        said = -1
        while said > len(self._heard) or said < 0:
            await self._out.join()
            said = await self.cards.page.evaluate("window.run?.model.sent.length ?? 0")

    async def pump(self) -> None:
        """Carry what the kernel sends."""
        while True:
            text = await self._out.get()
            try:
                await self.cards.page.evaluate("(text) => window.run?.model.receive(JSON.parse(text))", text)
                await self.cards.rest()
            finally:
                self._out.task_done()


@asynccontextmanager
async def halves(cards: Any, question: Any) -> AsyncIterator[Halves]:
    """Ask, and draw the question; at the end it is open no more."""
    before = pending()
    asked = asyncio.ensure_future(question)
    while not (new := [call for call in pending() if call not in before and call.turn]):
        await asyncio.sleep(0)
    both = Halves(cards, new[0], asked)
    pump = asyncio.create_task(both.pump())
    cards.carried = both.carried
    # A person clicks again where a card that has just moved took nothing; Playwright waits before it clicks.
    moving = cards.page.locator("[data-resting]").first
    await cards.page.add_locator_handler(moving, lambda _: cards.rest())
    try:
        await both.connect()
        yield both
    finally:
        if not both.call.decided:
            both.call.cancel("the test is over")
        await asyncio.wait([asked])
        asked.cancelled() or asked.exception()  # whoever wants the answer has awaited it
        both.view.close()
        cards.carried = None
        pump.cancel()
        await cards.page.remove_locator_handler(moving)
