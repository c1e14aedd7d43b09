"""A page where cards can be tried without installing anything: one file, no request, its records made by real Python.

For the answers that can be foreseen (yes, no, as proposed) the record and what the cell gives are computed here, when
the page is built. For any other answer the page shows what would go to the kernel, and makes nothing up.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, Field

from hitl_nb import approve, ask, choose, interrupt, review, review_code
from hitl_nb._calls import Call, Handle
from hitl_nb._transcript import CallEntry
from hitl_nb.cards import StepReview
from hitl_nb.cards._protocol import item_of
from hitl_nb.cards._registry import card_of, script, style
from hitl_nb.errors import NotApproved
from tests.browser.states import STATES
from tests.conftest import REPO

HERE = REPO / "tests" / "docs"
YES: dict[str, Any] = {"op": "respond", "value": {"approved": True}}
NO: dict[str, Any] = {"op": "decline", "reason": ""}
AS_PROPOSED: dict[str, Any] = {"op": "respond", "value": {"edits": []}}


class Booking(BaseModel):
    """A night somewhere."""

    hotel: str
    nights: int = Field(ge=1, le=14)
    room: Literal["single", "double"] = "single"
    breakfast: bool = True


class Step(BaseModel):
    """One step of a plan."""

    description: str
    status: Literal["enabled", "disabled"] = "enabled"


MODELS = [{"model": "tree", "auc": 0.93}, {"model": "logistic", "auc": 0.99}]
STEPS = [Step(description=each) for each in ("Pack the rover", "Wipe the old flight computer", "Launch")]
BEFORE = """def mean(values):
    total = 0
    for value in values:
        total += value
    return total / len(values)
"""
AFTER = "def mean(values):\n    return sum(values) / len(values)\n"


@dataclass
class Example:
    """A question, as code that a reader would write, and the answers that are foreseen."""

    title: str
    code: str
    ask: Callable[..., Any]
    messages: list[dict[str, Any]]


EXAMPLES = [
    Example(
        "Yes or no",
        'await approve("Drop these **12 rows**?", {"column": "income", "above": 187_000})',
        partial(approve, "Drop these **12 rows**?", {"column": "income", "above": 187_000}),
        [YES, NO],
    ),
    Example(
        "One of several",
        'models = [{"model": "tree", "auc": 0.93}, {"model": "logistic", "auc": 0.99}]\n'
        'await choose("Which model goes live?", models, label="model")',
        partial(choose, "Which model goes live?", MODELS, label="model"),
        [{"op": "respond", "value": {"chosen": [0]}}, {"op": "respond", "value": {"chosen": [1]}}, NO],
    ),
    Example(
        "A value to correct",
        'await review(Booking(hotel="Ritz", nights=9), "Shall I book this?")',
        partial(review, Booking(hotel="Ritz", nights=9), "Shall I book this?"),
        [AS_PROPOSED, NO],
    ),
    Example(
        "Steps of a plan",
        'await interrupt("Which of these steps?", steps, answer=list[Step], render=StepReview)',
        partial(interrupt, "Which of these steps?", STEPS, answer=list[Step], render=StepReview),
        [
            *(
                {"op": "respond", "value": {"checked": [bool(bits & 1), bool(bits & 2), bool(bits & 4)]}}
                for bits in range(8)
            ),
            NO,
        ],
    ),
    Example(
        "A change to code",
        'await review_code(after, "Take this change?", before=before, language="python")',
        partial(review_code, AFTER, "Take this change?", before=BEFORE, language="python"),
        [NO],
    ),
    Example(
        "Words", 'await ask("What shall the report be called?")', partial(ask, "What shall the report be called?"), [NO]
    ),
]


class Click:
    """Somebody at the card who sends one message, and what was seen before and after."""

    via, name = "card", None

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message
        self.item: dict[str, Any] = {}
        self.call: Call | None = None

    async def __call__(self, call: Call) -> None:
        self.call, self.item = call, item_of(CallEntry(key=call.occurrence, call=call), {})
        turn = call.turn
        with Handle.of(call).turns.clicked(turn.token if turn is not None else None):
            if self.message["op"] == "decline":
                call.decline(None)
            else:
                card_of(call).decide(self.message["value"])

    def record(self) -> dict[str, Any]:
        """The item once it is decided."""
        assert self.call is not None
        return item_of(CallEntry(key=self.call.occurrence, call=self.call), {})


async def made(example: Example) -> dict[str, Any]:
    """The card, open, and by each foreseen message its record and what the cell gives."""
    outcomes, item = [], None
    for message in example.messages:
        click = Click(message)
        try:
            said = repr(await example.ask(people=click))
        except NotApproved as error:
            said = f"{type(error).__name__}: {error}"
        item = item or click.item
        record = {**click.record(), "key": item["key"], "id": item["id"]}
        outcomes.append({"message": message, "item": record, "said": said})
    return {"title": example.title, "code": example.code, "item": item, "outcomes": outcomes}


def trial_page() -> str:
    """The page to try cards on."""
    return _page(asyncio.run(_all_made()))


async def _all_made() -> list[dict[str, Any]]:
    return [await made(example) for example in EXAMPLES]


def gallery_page() -> str:
    """Every state that needs no person to be reached, under its name."""
    shown = [
        {"title": f"{name} {number + 1}" if number else name, "code": "", "item": item, "outcomes": []}
        for name, state in STATES.items()
        if "acts" not in state
        for number, item in enumerate(state["items"])
    ]
    return _page(shown)


_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; padding: 4px 16px 24px; font: 14px/1.5 system-ui, sans-serif; background: light-dark(#fff, #1a1b20);
  color: light-dark(#222, #ddd); }
h2 { font-size: 15px; margin: 28px 0 4px; }
pre { white-space: pre-wrap; margin: 4px 0 8px; font-size: 13px; color: light-dark(#444, #bbb); }
.said:not(:empty)::before { content: "→ "; }
.again { font: inherit; margin-top: 4px; }
"""


def _page(examples: list[dict[str, Any]]) -> str:
    model = (REPO / "tests" / "browser" / "fake_model.js").read_text(encoding="utf-8")
    script_ = (HERE / "trial.js").read_text(encoding="utf-8")
    data = f"const RUN = {_inline(script())};\nconst EXAMPLES = {_inline(examples)};\n"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>hitl_nb: cards</title>'
        '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
        f"<style>{style()}{_STYLE}</style>\n<script>\n{model}{data}{script_}</script></head><body></body></html>\n"
    )


def _inline(value: object) -> str:
    """JSON that may stand in a script: nothing in it ends one."""
    return (
        json.dumps(value, ensure_ascii=False)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )
