"""What a person without a mouse or without a screen has of a page: names, stops of the Tab key, and axe-core's verdict.

axe-core comes from npm, pinned, into the git-ignored ``.node/axe``.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

AXE_VERSION = "4.14.1"
HOME = Path(__file__).parents[2] / ".node" / "axe"
CONTROLS = frozenset(
    {
        *("textbox", "searchbox", "checkbox", "radio", "radiogroup", "combobox", "button", "listbox", "spinbutton"),
        *("Date", "DateTime", "InputTime", "option", "table", "group", "list"),
    }
)
"""Chromium's own words for what needs a name."""
UNNAMED = frozenset({"list", "group"})
"""Of these, the ones that may do without."""


async def unnamed(cards: Any) -> list[str]:
    """The controls without an accessible name, as Chromium computes it."""
    session = await cards.page.context.new_cdp_session(cards.page)
    nodes = (await session.send("Accessibility.getFullAXTree"))["nodes"]
    await session.detach()
    found = [node for node in nodes if node.get("role", {}).get("value") in CONTROLS - UNNAMED]
    assert found
    return [node["role"]["value"] for node in found if not node.get("name", {}).get("value", "").strip()]


async def tab_stops(cards: Any) -> list[str]:
    """The ids (of radio buttons the names) of what Tab stops at, from the beginning of the page on."""
    shown = await cards.run(
        """() => {
          window.stops = [];
          window.note = ({ target }) => stops.push(target.name || target.id);
          document.addEventListener("focusin", note);
          document.activeElement?.blur();
          getSelection().collapse(document.body, 0);
          // Some come up only when the focus is near, and a date is several stops.
          const all = document.querySelectorAll("#el :is(input, select, textarea, button):not([hidden], [hidden] *)");
          return all.length + 6 * document.querySelectorAll("#el :is([type^=date], [type=time])").length;
        }"""
    )
    for _ in range(shown):
        await cards.page.keyboard.press("Tab")
    return await cards.run("() => (document.removeEventListener('focusin', note), stops)")


def axe() -> str:
    """The text of axe-core, installed with npm where it is missing."""
    script = HOME / "node_modules" / "axe-core" / "axe.min.js"
    package = HOME / "node_modules" / "axe-core" / "package.json"
    if not package.exists() or json.loads(package.read_text())["version"] != AXE_VERSION:
        _install()
    return script.read_text(encoding="utf-8")


async def begin_with_axe(cards: Any, theme: str) -> None:
    """Begin a run in an empty page, in the light or the dark theme, with axe-core beside it."""
    await cards.load()
    await cards.mount()
    await cards.page.evaluate(f"{axe()}; 0")
    await cards.page.evaluate(
        "(theme) => (document.body.dataset.jpThemeLight = String(theme === 'light'), addStylesheet(`/${theme}.css`))",
        theme,
    )


def _install() -> None:
    npm = shutil.which("npm")
    if npm is None:
        _give_up("axe-core needs npm: `apt-get install npm`")
    HOME.mkdir(parents=True, exist_ok=True)
    command = [npm, "install", "--prefix", str(HOME), "--no-save", "--no-audit", "--no-fund", f"axe-core@{AXE_VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        _give_up(f"`npm install axe-core@{AXE_VERSION}` failed: {done.stderr.strip()[-300:]}")


def _give_up(reason: str) -> Any:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


async def violations(cards: Any, *rules: str) -> list[str]:
    """What axe-core calls serious or critical in the runs of the page, one line each; by all rules, or those named."""
    options = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
    found = await cards.run(f"axe.run('#el', {json.dumps(options)})")
    return [
        f"{each['id']}: {node['html'][:160]} ({node['failureSummary'][:200]})"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]
