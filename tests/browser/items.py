"""Items as the kernel sends them (hitl_nb/cards/_protocol.py), with what a test does not care about filled in."""

from typing import Any, Literal

from hitl_nb._transcript import MessageEntry
from hitl_nb.cards._protocol import message_tree

Item = dict[str, Any]

STEPS = ("Choose a launch window", "Book two seats", "Wipe the old flight computer")


def call(key: str = "c1", *, status: str = "executing", **changes: Any) -> Item:
    """A question with the card `plain`, unless `changes` say otherwise."""
    return {
        "key": key,
        "type": "call",
        "card": "plain",
        "id": f"call_{key}",
        "name": "generate_task_steps",
        "title": "Generate task steps",
        "message": "Propose the steps of a task for the user to approve.",
        "status": status,
        "turn": turn() if status == "executing" else turn("", is_open=False, token=""),
        "warning": None,
        "about": None,
        "error": None,
        "confirm": "Confirm",
        "decline": "Decline",
        "props": {"rows": []},
        "record": None,
        **changes,
    }


def turn(
    words: str = "Waiting for you", *, is_open: bool = True, several: bool = False, token: str = "t1"
) -> dict[str, Any]:
    """Whose turn it is."""
    return {"token": token, "open": is_open, "several": several, "words": words}


def step(label: str, *, checked: bool = True, note: str | None = None) -> Item:
    return {"label": label, "checked": checked, "note": note}


def review(key: str = "c1", *, labels: tuple[str, ...] = STEPS, **changes: Any) -> Item:
    """Steps to review, all ticked."""
    return call(key, **{"card": "step_review", "props": {"steps": [step(label) for label in labels]}, **changes})


def arg(label: str, text: str, *, long: bool = False) -> Item:
    return {"label": label, "text": text, "long": long}


def message(key: str, text: str, *, role: Literal["user", "assistant"] = "assistant", streaming: bool = False) -> Item:
    tree = message_tree(MessageEntry(key=key, role=role, text=text, streaming=streaming))
    return {"key": key, "type": "message", "role": role, "tree": tree, "streaming": streaming}


def note(key: str, text: str, *, level: str = "info") -> Item:
    return {"key": key, "type": "note", "level": level, "text": text}


def record(outcome: str, headline: str, rows: list[Item] | None = None, footer: str = "") -> Item:
    return {"outcome": outcome, "headline": headline, "rows": rows or [], "footer": footer}


def row(text: str, *, label: str = "", mark: str = "") -> Item:
    return {"label": label, "text": text, "mark": mark}
