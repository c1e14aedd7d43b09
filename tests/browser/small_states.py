"""States of the small cards."""

from typing import Any

from tests.browser.items import Item, arg, call

_DEPLOY = {"name": "deploy", "title": "Deploy", "message": "Put version 2.1 on the air?", "confirm": "Approve"}
_ROWS = [arg("version", "2.1"), arg("target", "production")]


def approval(
    key: str = "c1", *, risk: str | None = None, reason: str | None = None, keys: bool = False, **changes: Any
) -> Item:
    props = {"rows": _ROWS, "risk": risk, "reason": reason, "keys": keys}
    return call(key, card="approval", props=props, **{**_DEPLOY, **changes})


def choice(
    *labels: str,
    multiple: bool = False,
    limits: tuple[int, int | None] = (1, None),
    notes: str = "",
    keys: bool = False,
    **changes: Any,
) -> Item:
    props = {
        "rows": [],
        "options": [{"label": label, "note": notes} for label in labels],
        "multiple": multiple,
        "min": limits[0],
        "max": limits[1] if multiple else 1,
        "keys": keys,
    }
    asked = {"name": "pick_seat", "title": "Pick seat", "message": "Where do you want to sit?", **changes}
    return call(card="choice", props=props, **asked)


def quick(*choices: str, keys: bool = False, **changes: Any) -> Item:
    props = {"rows": [], "choices": list(choices), "label": "Or in your own words", "keys": keys}
    asked = {"name": "accept", "title": "Accept", "message": "Take the two seats?", "confirm": "Send", **changes}
    return call(card="reply", props=props, **asked)


def text(*, long: bool = False, placeholder: str = "", initial: str = "", **changes: Any) -> Item:
    props = {"rows": [], "long": long, "placeholder": placeholder, "initial": initial}
    asked = {"name": "ask_name", "title": "Ask name", "message": "What shall the ship be called?", "confirm": "Answer"}
    return call(card="text", props=props, **{**asked, **changes})


def slot(label: str, group: str = "", note: str = "") -> Item:
    return {"label": label, "note": note, "group": group}


MONDAY, TUESDAY = "Monday 2 March 2026", "Tuesday 3 March 2026"
SLOTS = [
    *(slot(time, MONDAY) for time in ("09:00", "10:30", "14:00")),
    slot("16:00", MONDAY, "by phone"),
    *(slot(time, TUESDAY) for time in ("08:00", "11:00")),
]


def times(slots: list[Item] | None = None, *, loading: bool = False, **changes: Any) -> Item:
    props = {"rows": [arg("topic", "Launch"), arg("attendee", "Ada")], "slots": slots or [], "loading": loading}
    asked = {"name": "schedule_meeting", "title": "Schedule meeting", "message": "When shall you meet?"}
    return call(card="time_picker", props=props, **{**asked, **changes})


def plan_step(label: str, *inner: Item, checked: bool = True, note: str | None = None, edit: bool = True) -> Item:
    return {"label": label, "checked": checked, "edit": edit, "note": note, "steps": list(inner) or None}


PLAN = [
    plan_step(
        "Load the sales of 2026",
        plan_step("Read the three files", note="tool: read_csv · files: 3"),
        plan_step("Join them by order number"),
    ),
    plan_step("Fill what is missing with the median of its month", note="column: income"),
    plan_step("Drop the outliers", checked=False),
    plan_step("Fit a gradient boosting model, cross-validated five times, and keep the best of them for the report"),
]


def plan(**changes: Any) -> Item:
    props = {"rows": [arg("goal", "Forecast the sales")], "steps": PLAN, "order": True, "add": True}
    asked = {"name": "plan", "title": "Plan", "message": "Is this the plan?", "props": props}
    return call(card="plan_review", **{**asked, **changes})


def _node(at: int | None, text: str | None = None, *inner: Item, on: bool = True, key: str = "") -> Item:
    return {"key": key or str(at), "at": at, "text": text, "on": on, "steps": list(inner) or None}


_HELD = {
    "steps": [
        _node(0, None, _node(1, key="0.1"), _node(0, "Read the four files", key="0.0")),
        _node(3),
        _node(None, "Show the residuals to Grace"),
        _node(1, on=False),
        _node(2, on=False),
    ]
}

_SEATS = ("Window", "Aisle", "Middle")
_PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")

SMALL_STATES: dict[str, dict[str, Any]] = {
    "approval": {"items": [approval()]},
    "approval-high": {"items": [approval(risk="high", reason="required")]},
    "approval-low": {"items": [approval(risk="low", reason="optional")]},
    "approval-why": {"items": [approval(risk="high", reason="required")], "acts": ["confirm"]},
    "approval-one-key": {"items": [approval(keys=True)]},
    "approval-held": {"items": [approval(), approval("c2", title="Announce", name="announce")], "acts": ["held"]},
    "approval-deadline": {"items": [approval()], "acts": ["deadline"]},
    "approval-deadline-soon": {"items": [approval(risk="high", reason="optional")], "acts": ["deadline_soon"]},
    "choice-one-key": {"items": [choice(*_SEATS, keys=True)]},
    "choice-one-key-many": {"items": [choice(*_PLANETS, *_SEATS, keys=True, notes="As long as there are any.")]},
    "reply-one-key": {"items": [quick("Accept", "Later", keys=True)]},
    "choice": {"items": [choice(*_SEATS)]},
    "choice-notes": {"items": [choice(*_SEATS, notes="Free of charge, as long as there are any left.")]},
    "choice-many": {"items": [choice(*_PLANETS, multiple=True, limits=(1, 3))], "acts": ["key"]},
    "choice-none": {"items": [choice(*_SEATS)], "acts": ["confirm"]},
    "plan": {"items": [plan()]},
    "plan-changed": {"items": [plan(draft={"draft": _HELD})]},
    "plan-words": {"items": [plan(draft={"draft": _HELD})], "acts": ["reword"]},
    "plan-writing": {"items": [plan(status="inProgress")]},
    "text": {"items": [text(placeholder="Anything but Titanic")]},
    "text-long": {"items": [text(long=True, initial="Dear Ada,\n\n")]},
    "text-empty": {"items": [text()], "acts": ["confirm"]},
    "times": {"items": [times(SLOTS)], "acts": ["key"]},
    "times-loading": {"items": [times(loading=True)]},
    "times-none": {"items": [times()]},
}
