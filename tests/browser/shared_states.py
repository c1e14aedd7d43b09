"""States of what stands beside the questions: a shared state to edit, and a chat."""

from typing import Any, Literal

from pydantic import BaseModel

from hitl_nb import Session
from hitl_nb.cards import StateEditor
from hitl_nb.testing import says
from tests.agents import ScriptedAgent
from tests.browser.items import Item, message


class Step(BaseModel):
    id: int
    title: str
    status: Literal["open", "done"] = "open"


class Trip(BaseModel):
    title: str
    days: int
    fast: bool = False
    notes: dict[str, Any]
    tags: list[str]
    steps: list[Step]


TRIP = Trip(
    title="Mars",
    days=3,
    notes={"cheap": True, "why": None},
    tags=["cheap"],
    steps=[Step(id=1, title="pack"), Step(id=2, title="launch")],
)


def state(*, conflicts: tuple[str, ...] = (), **changes: Any) -> Item:
    """A shared state, and where both sides have changed it."""
    session: Session = Session(ScriptedAgent([says("ok")]), state=TRIP.model_copy(update=changes), journal=None)
    drawn = StateEditor(session.state).item(session.state.schema)
    both = [{"path": path, "label": path, "yours": "Moon", "theirs": "Phobos", "was": "Mars"} for path in conflicts]
    return {"key": "state", "type": "state", "id": "state", **drawn, "conflicts": both}


def chat_head(*, busy: bool = False) -> Item:
    status = "The agent is at work" if busy else ""
    return {"key": "head", "type": "chat-head", "id": "head", "title": "Flight desk", "status": status, "busy": busy}


def composer(
    *,
    busy: bool = False,
    last: str = "Find a window",
    suggestions: tuple[str, ...] = (),
    attached: tuple[str, ...] = (),
) -> Item:
    """Where one writes to the agent."""
    offered = [{"title": title, "message": title} for title in suggestions]
    item = {"key": "foot", "type": "composer", "id": "foot", "busy": busy, "last": last}
    return {**item, "suggestions": offered, "attached": list(attached)}


_SAID = [
    message("m1", "Find a window", role="user"),
    message("m2", "There are **two**:\n\n```python\nwindows(2031)\n```\n\n- 2031\n- 2033"),
]
_OFFERED = ("Book the first", "Compare the two")

SHARED_STATES: dict[str, dict[str, Any]] = {
    "state": {"items": [state()]},
    "state-conflicts": {"items": [state(conflicts=("title", "steps[1].title"))]},
    "chat": {"items": [chat_head(), *_SAID, composer(suggestions=_OFFERED, attached=("table of 2 rows", "plot.png"))]},
    "chat-busy": {"items": [chat_head(busy=True), _SAID[0], composer(busy=True)]},
}
