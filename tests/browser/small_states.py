"""States of the small cards."""

from typing import Any

from tests.browser.items import Item, arg, call

_DEPLOY = {"name": "deploy", "title": "Deploy", "message": "Put version 2.1 on the air?", "confirm": "Approve"}
_ROWS = [arg("version", "2.1"), arg("target", "production")]


def approval(key: str = "c1", *, risk: str | None = None, reason: str | None = None, **changes: Any) -> Item:
    return call(key, card="approval", props={"rows": _ROWS, "risk": risk, "reason": reason}, **{**_DEPLOY, **changes})


def choice(
    *labels: str, multiple: bool = False, limits: tuple[int, int | None] = (1, None), notes: str = "", **changes: Any
) -> Item:
    props = {
        "rows": [],
        "options": [{"label": label, "note": notes} for label in labels],
        "multiple": multiple,
        "min": limits[0],
        "max": limits[1] if multiple else 1,
    }
    asked = {"name": "pick_seat", "title": "Pick seat", "message": "Where do you want to sit?", **changes}
    return call(card="choice", props=props, **asked)


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


_SEATS = ("Window", "Aisle", "Middle")
_PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")

SMALL_STATES: dict[str, dict[str, Any]] = {
    "approval": {"items": [approval()]},
    "approval-high": {"items": [approval(risk="high", reason="required")]},
    "approval-low": {"items": [approval(risk="low", reason="optional")]},
    "approval-why": {"items": [approval(risk="high", reason="required")], "acts": ["confirm"]},
    "choice": {"items": [choice(*_SEATS)]},
    "choice-notes": {"items": [choice(*_SEATS, notes="Free of charge, as long as there are any left.")]},
    "choice-many": {"items": [choice(*_PLANETS, multiple=True, limits=(1, 3))], "acts": ["key"]},
    "choice-none": {"items": [choice(*_SEATS)], "acts": ["confirm"]},
    "text": {"items": [text(placeholder="Anything but Titanic")]},
    "text-long": {"items": [text(long=True, initial="Dear Ada,\n\n")]},
    "text-empty": {"items": [text()], "acts": ["confirm"]},
    "times": {"items": [times(SLOTS)], "acts": ["key"]},
    "times-loading": {"items": [times(loading=True)]},
    "times-none": {"items": [times()]},
}
