"""Pictures of every state of every card: ``python -m tests.browser.gallery OUTDIR [STATE …]``.

Light and dark as in JupyterLab, and with the system's own colours as outside of it; narrow and wide.
"""

import asyncio
import sys
from pathlib import Path

from playwright.async_api import Browser

from tests.browser.chromium import ADDRESS, executable, launched, serve
from tests.browser.states import STATES

THEMES = ("light", "dark", "system-light", "system-dark")
WIDTHS = (340, 760)


async def photograph(browser: Browser, out: Path, theme: str, width: int, names: list[str]) -> None:
    page = await browser.new_page(viewport={"width": width, "height": 200}, device_scale_factor=2)
    page.on("pageerror", lambda error: print(f"{theme} {width}: {error}", file=sys.stderr))
    await serve(page)
    for name in names:
        await page.goto(f"{ADDRESS}?state={name}&theme={theme}")
        await page.wait_for_selector(".hitl-run > *")
        await page.screenshot(path=out / f"{name}-{theme}-{width}.png", full_page=True, animations="disabled")
    await page.close()


async def main(out: Path, names: list[str]) -> None:
    path = executable()
    if path is None:
        raise SystemExit("No Chromium: apt-get install chromium")
    async with launched(path) as browser:
        for theme in THEMES:
            for width in WIDTHS:
                await photograph(browser, out, theme, width, names)
    print(f"{len(names) * len(THEMES) * len(WIDTHS)} pictures in {out}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2:] or list(STATES)))
