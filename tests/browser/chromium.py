"""A Chromium for cards and for pictures of them: the distribution's own, driven by Playwright's async API."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Page, Route, async_playwright

from tests.browser.site import resource

ADDRESS = "http://cards.test/"
FLAGS = [
    "--no-sandbox",  # needed as root, as in containers and CI
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def executable() -> str | None:
    """The path of an installed Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


@asynccontextmanager
async def launched(path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


async def serve(page: Page, headers: dict[str, str] | None = None) -> None:
    """Answer every request of `page` from this folder; nothing leaves the machine."""

    async def answer(route: Route) -> None:
        found = resource(route.request.url)
        if found is None or not route.request.url.startswith(ADDRESS):
            await route.fulfill(status=404, body="not found")
        else:
            kind, text = found
            await route.fulfill(status=200, body=text, headers={"Content-Type": kind, **(headers or {})})

    await page.route("**/*", answer)
