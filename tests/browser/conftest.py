"""One Chromium for all tests here, and a person in front of a page with cards."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.browser.chromium import ADDRESS, executable, launched, serve
from tests.browser.items import Item

Json = Any

# Where a page is right nobody waits for it; a busy machine is not wrong.
expect.set_options(timeout=30_000)


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    path = executable()
    if path is None:
        pytest.fail("No Chromium for the card tests: `apt-get install chromium`")
    async with launched(path) as chromium:
        yield chromium


class Cards:
    """The page, the widget mounted in it, and the fake kernel behind it. Time stands still but for `wait`."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.carried: Callable[[], Awaitable[None]] | None = None
        """Waits until all is drawn that a kernel on the other side has sent; there is one in `halves`."""
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)

    async def load(self, headers: dict[str, str] | None = None) -> None:
        """Load the page, with its clock stopped."""
        await serve(self.page, headers)
        await self.page.clock.install(time=0)
        await self.page.goto(ADDRESS)
        await self.page.clock.pause_at(60_000)

    async def mount(self, **options: Json) -> None:
        """Mount a new run; `options` are those of `mount` in page.js."""
        await self.page.evaluate("async (options) => (window.run = await mount(options), 0)", {"kernel": {}, **options})

    async def unmount(self) -> Json:
        """End the run as anywidget does, and count the listeners that it leaves at its model."""
        return await self.page.evaluate("unmount(run)")

    async def put(self, *items: Item) -> None:
        """The kernel shows or changes items."""
        await self.page.evaluate("(items) => run.kernel.put(...items)", list(items))
        await self.settled()

    async def settled(self) -> None:
        """Let a moment pass: a card that has just been drawn or moved is answered by nobody."""
        if self.carried is not None:
            await self.carried()
        await self.rest()

    async def rest(self) -> None:
        """Let the moment pass in which what is drawn now takes no answer."""
        await self.wait(350)
        for _ in range(10):  # what came meanwhile has moved it once more
            if not await self.page.evaluate("document.querySelector('[data-resting]') !== null"):
                return
            await self.wait(350)

    async def receive(self, **content: Json) -> None:
        """Any message of the kernel, as written here."""
        await self.page.evaluate("(content) => run.model.receive(content)", content)

    async def wait(self, milliseconds: int) -> None:
        await self.page.clock.run_for(milliseconds)

    async def run(self, script: str) -> Json:
        """Evaluate JavaScript; ``run`` has model, kernel and ends."""
        return await self.page.evaluate(script)

    async def sent(self, op: str) -> list[Json]:
        """What the browser sent so far, of one kind."""
        return [content for content in await self.run("run.model.sent") if content["op"] == op]

    async def answers(self) -> Json:
        """What the kernel took as answers."""
        return await self.run("run.kernel.answers")

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def box(self, label: str) -> Locator:
        return self.page.get_by_role("checkbox", name=label)

    def text(self, text: str) -> Locator:
        return self.page.get_by_text(text)

    def card_named(self, name: str) -> Locator:
        return self.page.get_by_role("group", name=name).and_(self.page.locator(".hitl-card"))

    @property
    def card(self) -> Locator:
        return self.page.get_by_role("group", name="Generate task steps")

    @property
    def status(self) -> Locator:
        return self.page.get_by_role("status")

    @property
    def alert(self) -> Locator:
        return self.page.get_by_role("alert")


@pytest.fixture(scope="session")
async def shared_page(browser: Browser) -> AsyncIterator[Cards]:
    """A new page costs 0.7 s and a mount 0.05 s: most tests mount in the same page, one after the other."""
    cards = Cards(await browser.new_page())
    await cards.load()
    yield cards
    await cards.page.close()


@pytest.fixture
async def cards(shared_page: Cards) -> AsyncIterator[Cards]:
    """A run that shows nothing yet. At the end it leaves nothing behind, and nothing in the console."""
    shared_page.errors.clear()
    await shared_page.mount()
    yield shared_page
    assert await shared_page.unmount() == 0
    assert shared_page.errors == []


@pytest.fixture
async def blank(browser: Browser) -> AsyncIterator[Cards]:
    """A page of one's own, in which nothing is loaded yet."""
    cards = Cards(await browser.new_page())
    yield cards
    await cards.page.close()
    assert cards.errors == []
