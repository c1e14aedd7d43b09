"""The site as a person reads it: all of it is there, nothing is dead, and no request leaves the machine."""

import ast
import importlib
import inspect
import re
import typing
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page

from hitl_nb import use
from hitl_nb._schema import MISSING
from tests.browser.chromium import executable, launched
from tests.docs import build
from tests.docs.docstrings import as_markdown
from tests.docs.pages import DOORS, GUIDE, doctor_table
from tests.docs.trial import EXAMPLES

pytestmark = pytest.mark.timeout(240)
SHOWN = [(door, name) for door in DOORS for name in importlib.import_module(door).__all__]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does, which fails for any warning, dead link or asset from elsewhere."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        for name, place in {"SOURCES": "docs", "CONFIG": "mkdocs.yml", "SITE": "site"}.items():
            patch.setattr(build, name, folder / place)
        build.build()
    return folder / "site"


def text_of(site: Path, page: str) -> str:
    return (site / page).read_text(encoding="utf-8")


def test_each_public_name_has_a_place_in_the_reference(site):
    package = importlib.import_module("hitl_nb").__all__
    for door, name in SHOWN:
        home = "hitl_nb" if name in package else door
        assert f'id="{home}.{name}"' in text_of(site, f"reference/{home}.html"), f"{door}.{name}"


def test_each_overload_of_a_public_function_is_shown(site):
    package = importlib.import_module("hitl_nb").__all__
    for door, name in SHOWN:
        thing = getattr(importlib.import_module(door), name)
        overloads = typing.get_overloads(thing) if inspect.isfunction(thing) else []
        if not overloads:
            continue
        home = "hitl_nb" if name in package else door
        page = text_of(site, f"reference/{home}.html")
        block = page[page.index(f'id="{home}.{name}"') :]
        block = block[: block.find("</h2>") + block[block.find("</h2>") :].find("doc-contents")]
        assert block.count('<div class="doc-signature') >= len(overloads), name


def test_what_interrupt_gives_is_shown_in_each_of_its_forms(site):
    page = text_of(site, "reference/hitl_nb.html")
    assert "if_expired" in page[page.index('id="hitl_nb.interrupt"') :][:20_000]
    for form in ("__call__", "sync"):
        begun = page.index(f'id="hitl_nb.interrupts._interrupt.Interrupt.{form}"')
        assert page[begun:][:60_000].count('<div class="doc-signature') >= 3


def test_no_docstring_leaves_a_bare_double_colon(site):
    for page in sorted((site / "reference").glob("*.html")):
        assert not re.search(r"<p>[^<]*::</p>", page.read_text(encoding="utf-8")), page.name


def test_a_literal_block_is_a_fence():
    assert as_markdown("Say::\n\n    x = 1\n\n    y = 2\n\nDone.") == "Say:\n\n```python\nx = 1\n\ny = 2\n```\n\nDone."


def test_what_the_doctor_says_is_on_the_page_about_trouble(site):
    assert doctor_table().count("\n") > 8
    page = text_of(site, "guide/trouble.html")
    assert "in a later one" in page
    assert "draws no widgets" in page


async def agrees(call):
    """Whoever is asked leaves a table as it was proposed, and says yes to the rest."""
    call.respond(True if call.proposal is MISSING else call.proposal)


async def test_each_block_of_code_of_the_guide_runs():
    for path in sorted(GUIDE.glob("*.md")):
        for block in re.findall(
            r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        ):
            with use(people=agrees):
                result = eval(compile(block, path.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), {})
                if result is not None:
                    await result


@pytest.fixture(scope="module")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    path = executable()
    if path is None:
        pytest.fail("No Chromium: `apt-get install chromium`")
    async with launched(path) as chromium:
        yield chromium


class Reader:
    """Somebody whose network is off, and what the page has asked for all the same."""

    def __init__(self, page: Page, site: Path) -> None:
        self.page, self.site = page, site
        self.asked: list[str] = []
        self.errors: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    async def read(self, place: str) -> None:
        await self.page.goto((self.site / place).as_uri())

    def outside(self) -> list[str]:
        return [url for url in self.asked if not url.startswith(("file:", "data:", "blob:"))]


@pytest.fixture
async def reader(browser: Browser, site: Path) -> AsyncIterator[Reader]:
    context = await browser.new_context(offline=True, color_scheme="light", viewport={"width": 1300, "height": 900})
    reader = Reader(await context.new_page(), site)
    yield reader
    assert reader.outside() == []
    assert reader.errors == []
    await context.close()


async def test_no_request_leaves_the_machine_while_every_page_is_read(reader, site):
    for page in sorted(site.rglob("*.html")):
        await reader.read(str(page.relative_to(site)))
    assert len(reader.asked) > 100


async def test_the_search_finds_a_name_from_disk(reader):
    await reader.read("index.html")
    await reader.page.get_by_role("textbox", name="Search").fill("escalate")
    await reader.page.get_by_role("link").filter(has_text="Escalate").first.wait_for()


async def test_the_page_and_its_cards_turn_dark_together(reader):
    await reader.read("try.html")
    frame = reader.page.frame_locator("iframe.cards")
    await frame.locator("body[data-ready]").wait_for()
    await reader.page.locator("label[for=__palette_1]").click()
    await frame.locator(':root[style*="dark"]').wait_for(state="attached")
    assert await reader.page.evaluate("document.body.dataset.mdColorScheme") == "slate"


async def press(section: Locator, name: str) -> None:
    """Press a button as a person does who looks first: a card that was just drawn, or has moved, takes no click."""
    await section.locator("[data-resting]").wait_for(state="detached")
    await section.get_by_role("button", name=name).click()


async def test_a_card_is_answered_on_the_page_with_the_record_that_python_made(reader):
    await reader.read("cards.html")
    await reader.page.locator("body[data-ready]").wait_for()
    sections = reader.page.locator("body > section")
    assert await sections.count() == len(EXAMPLES)
    yes, one, form, steps = (sections.nth(number) for number in range(4))
    await steps.get_by_role("checkbox").nth(1).uncheck()
    await press(steps, "Confirm")
    await steps.get_by_text("status='disabled'").wait_for()
    await press(form, "Confirm")
    await form.get_by_text("Booking(hotel='Ritz', nights=9, room='single', breakfast=True)").wait_for()
    await one.get_by_role("radio").nth(1).check()
    await press(one, "Confirm")
    await one.get_by_text("{'model': 'logistic', 'auc': 0.99}").wait_for()
    await press(yes, "Approve")
    await yes.get_by_text("True", exact=True).wait_for()


async def test_an_answer_that_nobody_foresaw_is_shown_as_what_goes_to_the_kernel(reader):
    await reader.read("cards.html")
    await reader.page.locator("body[data-ready]").wait_for()
    form = reader.page.locator("body > section").nth(2)
    await form.get_by_label("Nights").fill("3")
    await press(form, "Confirm")
    await form.get_by_text("This goes to the kernel").wait_for()
    await form.get_by_role("button", name="Again").click()
    await form.get_by_role("button", name="Confirm").wait_for()
