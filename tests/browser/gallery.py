"""Pictures of every state of every card, on one page: ``python -m tests.browser.gallery OUTDIR [STATE …]``.

Light and dark as in JupyterLab, and with the system's own colours as outside of it; narrow, and as wide as JupyterLab's
output is on screens of 800 and of 1,280 pixels. ``OUTDIR/index.html`` shows them side by side, one row a state.
``python -m tests.browser.gallery --readme`` makes the six pictures of the README.
"""

import asyncio
import html
import sys
from pathlib import Path

from playwright.async_api import Browser

from tests.browser.chromium import ADDRESS, executable, launched, serve
from tests.browser.states import STATES
from tests.conftest import REPO

THEMES = ("light", "dark", "system-light", "system-dark")
WIDTHS = (340, 640, 1100)
README = {
    "value-figure": "light",
    "value-long-frame": "light",
    "choice-columns": "dark",
    "form-edited": "light",
    "value-code": "dark",
    "words": "light",
}
"""The states of its gallery, each in the theme that it is shown in."""


async def photograph(browser: Browser, out: Path, theme: str, width: int, names: list[str]) -> None:
    page = await browser.new_page(viewport={"width": width, "height": 200}, device_scale_factor=2)
    page.on("pageerror", lambda error: print(f"{theme} {width}: {error}", file=sys.stderr))
    await serve(page)
    for name in names:
        await page.goto(f"{ADDRESS}?state={name}&theme={theme}")
        await page.wait_for_selector("[data-shown] .hitl-run > :not([hidden])")
        folded = page.get_by_role("button", name="Show all that was decided")
        if await folded.count():
            await folded.first.click()
        await page.screenshot(path=out / f"{name}-{theme}-{width}.png", full_page=True, animations="disabled")
    await page.close()


_STYLE = "body{font:14px system-ui;background:#888} div{display:flex;flex-wrap:wrap;gap:8px;align-items:start}"


def page_of(names: list[str]) -> str:
    """One HTML page: a row a state, its pictures in every theme and width."""
    rows = "".join(
        f'<h2 id="{html.escape(name)}">{html.escape(name)}</h2><div>{"".join(map(_picture, _files(name)))}</div>'
        for name in names
    )
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Cards</title><style>{_STYLE}</style>{rows}\n'


def _files(name: str) -> list[tuple[str, int]]:
    return [(f"{name}-{theme}-{width}.png", width) for width in WIDTHS for theme in THEMES]


def _picture(file: tuple[str, int]) -> str:
    name, width = file
    return f'<img src="{html.escape(name)}" alt="{html.escape(name)}" width="{width // 2}" loading="lazy">'


async def main(out: Path, names: list[str]) -> None:
    async with launched(_chromium()) as browser:
        for theme in THEMES:
            for width in WIDTHS:
                await photograph(browser, out, theme, width, names)
    (out / "index.html").write_text(page_of(names), encoding="utf-8")
    print(f"{len(names) * len(THEMES) * len(WIDTHS)} pictures: {out / 'index.html'}")


async def for_readme(out: Path) -> None:
    """Make the README's pictures."""
    async with launched(_chromium()) as browser:
        for name, theme in README.items():
            await photograph(browser, out, theme, 640, [name])
            (out / f"{name}-{theme}-640.png").rename(out / f"card-{name}.png")


def _chromium() -> str:
    path = executable()
    if path is None:
        raise SystemExit("No Chromium: apt-get install chromium")
    return path


if __name__ == "__main__":
    if sys.argv[1:] == ["--readme"]:
        asyncio.run(for_readme(REPO / "notebooks" / "images"))
    elif len(sys.argv) < 2:
        raise SystemExit(__doc__)
    else:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        asyncio.run(main(Path(sys.argv[1]), sys.argv[2:] or list(STATES)))
