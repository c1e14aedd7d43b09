"""One JupyterLab and one Chromium for all journeys; a notebook is closed when its test is over."""

from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from typing import Any

import pytest
from playwright.async_api import Page

from tests.browser.chromium import executable, launched
from tests.lab.lab import Lab, Notebook
from tests.lab.server import Server

TIMEOUT = 150
"""Seconds for a journey; the first one also waits for the server, and one imports crewai."""

_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/lab" in item.nodeid and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[_FAILED] = report.failed or item.stash.get(_FAILED, False)
    return report


@pytest.fixture(scope="session")
async def lab(anyio_backend: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    path = executable()
    if path is None:
        pytest.fail("The journeys need Chromium: `make browser`, or `apt-get install chromium`")
    async with Server(tmp_path_factory.mktemp("lab")).running() as server, launched(path) as browser:
        yield Lab(server, browser)


Open = Callable[..., Awaitable[Notebook]]


@pytest.fixture
async def open_notebook(lab: Lab, request: pytest.FixtureRequest) -> AsyncIterator[Open]:
    opened: list[Notebook] = []

    async def open_(cells: Any, **options: Any) -> Notebook:
        opened.append(await lab.open(cells, **options))
        return opened[-1]

    yield open_
    problems = [fault for notebook in opened for fault in notebook.faults]
    if request.node.stash.get(_FAILED, False):
        problems += [f"What was on the page:\n{await notebook.text()}" for notebook in opened]
    for notebook in opened:
        await notebook.close()
    assert not problems, "\n\n".join(problems)


@pytest.fixture
async def browser_pages(lab: Lab) -> AsyncIterator[Callable[[str, str], Awaitable[Page]]]:
    """Gives a page outside of JupyterLab, which is logged in as somebody."""
    pages: list[Page] = []

    async def open_(url: str, user: str) -> Page:
        pages.append(await lab.page(url, {"X-Forwarded-User": user}))
        return pages[-1]

    yield open_
    for page in pages:
        await page.context.close()
