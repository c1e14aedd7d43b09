"""The door for cards: a package that follows CONTRIBUTING has a card like ours; one that fails hides no question."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import ipywidgets
import pytest

from hitl_nb._calls import Call, Handle
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb.cards import Card
from hitl_nb.cards._card import known_cards
from hitl_nb.cards._registry import script, style
from hitl_nb.cards._transport import CardList
from hitl_nb.cards._view import RunView
from tests.unit.cards.desk import Desk, opened

REPO = Path(__file__).parents[3]
WIDGET = "application/vnd.jupyter.widget-view+json"
GOOD = "export default { seed: () => ({}), answer: () => ({}), draw: () => () => {} };\n"


# -- a card in 60 lines ---------------------------------------------------------------------------------------


def blocks() -> dict[str, str]:
    """The files of CONTRIBUTING's section, by name."""
    section = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## A card in 60 lines")[1].split("\n## ")[0]
    found = re.findall(r"`([\w/]+\.(?:toml|py|js|css))`.*?```\w+\n(.*?)```", section, re.DOTALL)
    return dict(found)


def test_a_card_is_60_lines():
    files = {name: text for name, text in blocks().items() if name.startswith("hitl_stars/")}
    assert sorted(files) == ["hitl_stars/__init__.py", "hitl_stars/stars.css", "hitl_stars/stars.js"]
    assert sum(len([line for line in text.splitlines() if line.strip()]) for text in files.values()) <= 60


@pytest.mark.timeout(240)
def test_the_package_of_contributing_is_installed_used_and_drawn(tmp_path):
    source, target = tmp_path / "source", tmp_path / "site"
    for name, text in blocks().items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text, encoding="utf-8")
    run(sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", target, source, cwd=tmp_path)
    said = run(sys.executable, "-m", "tests.unit.cards.door_visitor", cwd=REPO, path=f"{target}{os.pathsep}{REPO}")
    seen = json.loads(said.splitlines()[-1])
    assert seen["known"] == ["hitl_stars.Stars"]
    assert seen["gallery"] == ["hitl_stars.Stars"]
    assert seen["headless"]["answer"] == {"stars": 4, "comment": "salty"}
    assert json.loads(seen["headless"]["told"][0]) == {"stars": 4, "comment": "salty"}
    assert "4 of 5 stars" in seen["headless"]["record"]
    assert seen["chromium"] == {
        "alert": "Choose one to five stars.",
        "flex": "flex",
        "answer": {"stars": 4, "comment": "<b>salty</b>"},
        "failed": [],
        "errors": [],
    }


def run(*command: object, cwd: Path, path: str = "") -> str:
    env = {**os.environ, **({"PYTHONPATH": path} if path else {})}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# -- a card that fails ----------------------------------------------------------------------------------------


@pytest.fixture
def card_in(tmp_path):
    """Defines a card whose module and style are these texts; it is forgotten afterwards."""
    before = set(known_cards)

    def define(module: str | None, css: str | None = None) -> type[Card]:
        at = tmp_path / f"card{len(known_cards)}.js"
        if module is not None:
            at.write_text(module, encoding="utf-8")
        if css is not None:
            at.with_suffix(".css").write_text(css, encoding="utf-8")

        class Theirs(Card):
            module = at
            style = at.with_suffix(".css") if css is not None else None

            def props(self):
                return {}

            def answer(self, value):
                return "theirs"

        return Theirs

    yield define
    for name in set(known_cards) - before:
        del known_cards[name]


def test_a_card_of_another_package_is_in_every_run_as_a_module_of_its_own(card_in):
    theirs = card_in('import { h } from "./kit.js";\n' + GOOD.replace("() => {}", "() => h()"))
    assert theirs.called().endswith("Theirs")
    text = script()
    assert json.dumps(theirs.called()) in text
    assert text.count("export function h(") == 0
    with opened({"rows": 3}, render=theirs) as call:
        assert Desk(call).item["card"] == theirs.called()
        assert Desk(call).item["warning"] is None


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (None, "There is no `card"),
        ("export const x = 1;\n", "needs one `export default"),
        ('import { nothing } from "./kit.js";\n' + GOOD, "write `export` before `nothing`"),
        ('import { x } from "./elsewhere.js";\n' + GOOD, "there is no `elsewhere.js`"),
        ("document.body.innerHTML = 1;\n" + GOOD, "draw text with"),
        ('document.addEventListener("keydown", () => {});\n' + GOOD, "listen at elements of the card"),
        ("window.onkeydown = () => {};\n" + GOOD, "listen at elements of the card"),
        ('const later = import("https://example.org/x.js");\n' + GOOD, "import at the top"),
        ("const later = (url) => import(url);\n" + GOOD, "stands in its file"),
    ],
)
def test_a_card_that_cannot_be_linked_leaves_the_question_to_the_default_card(card_in, module, why):
    theirs = card_in(module)
    with opened({"rows": 3}, render=theirs) as call:
        item = Desk(call).item
        assert item["card"] == "plain"
        assert [row["text"] for row in item["props"]["rows"]] == ["3"]
        desk = Desk(call)
    assert json.dumps(theirs.called()) not in script()  # and takes no other card with it
    assert desk.call.outcome == "superseded"


def test_why_it_cannot_is_told_on_the_card(card_in):
    with opened({"rows": 3}, render=card_in(None)) as call:
        desk = Desk(call)
        assert desk.item["warning"].startswith("Its own card cannot be drawn: There is no `card")


def test_its_styles_reach_the_inside_of_the_card_only(card_in):
    theirs = card_in(GOOD, ".hitl-options { display: flex; }\n")
    assert f".hitl-body[data-card={json.dumps(theirs.called())}] {{" in style()


def test_styles_that_would_swallow_what_follows_are_left_out(card_in):
    theirs = card_in(GOOD, "} body { display: none; \n")
    assert "display: none; \n" not in style()
    with opened({"rows": 3}, render=theirs) as call:
        assert Desk(call).item["card"] == "plain"


class Screen:
    """A view, and what it tells the browser."""

    def __init__(self, monkeypatch) -> None:
        self.told: list = []
        monkeypatch.setattr(CardList, "send", lambda _, content, buffers=None: self.told.append(content))
        boxes: list = []
        monkeypatch.setattr(
            "hitl_nb.cards._view.display",
            lambda bundle, **_: boxes.append(bundle["application/vnd.jupyter.widget-view+json"]),
        )
        self.transcript = Transcript()
        self.transcript.foreground = False  # put into the cell at once
        self.view = RunView(self.transcript)
        self.view.open()
        self.box = ipywidgets.widgets.widget._instances[boxes[0]["model_id"]]

    async def receive(self, **content) -> None:
        """A message of the browser, as the widget gets it."""
        self.box.children[0]._handle_custom_msg(content, [])
        await asyncio.sleep(0)  # it is taken in the loop's next turn

    async def item(self) -> dict:
        """The call as the browser has it."""
        await self.receive(op="hello", have=0)
        (item,) = self.told[-1]["items"]
        return item


def shown(screen: Screen, call: Call) -> None:
    screen.transcript.add(CallEntry(key=call.occurrence, call=call))


async def test_a_card_that_a_browser_cannot_draw_gives_way_to_the_default_card(card_in, monkeypatch):
    theirs = card_in(GOOD)
    screen = Screen(monkeypatch)
    with opened({"rows": 3}, render=theirs) as call:
        shown(screen, call)
        assert (await screen.item())["card"] == theirs.called()
        await screen.receive(op="failed", call_id=call.occurrence, card=theirs.called(), error="x is not a function")
        item = await screen.item()
        assert item["card"] == "plain"
        assert "could not be drawn (x is not a function)" in item["warning"]
        await screen.receive(op="failed", call_id=call.occurrence, card=theirs.called(), error="again")
        assert await screen.item() == item
        assert Handle.of(call).decision is None
    screen.view.close()


async def test_a_card_that_is_defined_while_a_run_is_shown_is_delivered_too(card_in, monkeypatch):
    screen = Screen(monkeypatch)
    theirs = card_in(GOOD)
    with opened({"rows": 3}, render=theirs) as call:
        shown(screen, call)
        first, second = screen.box.children
        assert json.dumps(theirs.called()) not in first._esm
        assert json.dumps(theirs.called()) in second._esm
    screen.view.close()
