"""What is only looked at: tool calls that nobody is asked about, drawn by a card of ours or a function of the user's.

Nobody decides anything here, so what has the name of a secret is stars, as in a record. What a user's function gives is
Markdown if it is a text, and data otherwise, and so it is the same tree on the screen and in the saved notebook; only a
widget lives on the screen alone, and the file has the words of our own card in its place.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from hitl_nb._calls import Call
from hitl_nb._limits import brief, contained, words_of
from hitl_nb._secrets import masked
from hitl_nb._text import logger, visible, visible_tree, warned, warning_in
from hitl_nb._transcript import StateEntry, ToolEntry
from hitl_nb.cards._card import Row, argument_rows, result_row, row_props
from hitl_nb.cards._markdown import markdown
from hitl_nb.cards._nodes import Node
from hitl_nb.cards._seen import seen

_log = logger()

_LONGEST = 10_000
"""Characters of a result that are shown; the model has all of it."""


def nodes_of(value: object) -> list[Node]:
    """Return how something is shown that a user's function gave: a text as Markdown, anything else as what it is."""
    if isinstance(value, str):
        return markdown(masked(value))
    return seen(value)


class Drawn:
    """What a user's function has made of something, once, and again when it has changed.

    Attributes:
        widget: The ipywidget to show, or None.
        nodes: What else to show, or None where the card of ours is to be drawn.
        hidden: Whether nothing is to be shown.
        fault: Why the function could not do it.
    """

    def __init__(self, what: str, function: Callable[[Any], object]) -> None:
        self._what, self._function = what, function
        self.widget: Any = None
        self.nodes: list[Node] | None = None
        self.hidden = False
        self.fault = ""

    def draw(self, value: object) -> None:
        """Call the function; one that fails takes nothing with it but its own picture."""
        self.widget, self.nodes, self.hidden, self.fault = None, None, False, ""
        try:
            with contained(self._what):
                made = self._function(value)
                if made is None:
                    self.hidden = True
                elif hasattr(made, "comm") and hasattr(made, "_view_name"):
                    self.widget = made
                else:
                    self.nodes = visible_tree(nodes_of(made))[0]
        except Exception as error:
            _log.exception("%s failed", self._what)
            self.fault = f"{self._what} failed ({type(error).__name__}: {words_of(error)})."


def drawing_of(entry: ToolEntry | StateEntry) -> Drawn | None:
    """Return what draws an entry by a function of the user's; None where it has none."""
    if isinstance(entry, StateEntry):
        return Drawn("What draws the shared state", entry.render)
    if entry.render is None:
        return None
    return Drawn(f"The `render` of `{visible(entry.call.name)}`", entry.render)


# -- a call: on the screen, and in words ----------------------------------------------------------------------

_STATES = {"inProgress": "writing", "executing": "running"}


def state_of(call: Call) -> str:
    """Return how far a call is: ``writing``, ``running``, ``done``, ``failed`` or ``stopped``."""
    if call.status != "complete":
        return _STATES[call.status]
    if call.outcome == "answered":
        return "done"
    return "failed" if call.outcome == "invalid" else "stopped"


def seconds_of(call: Call) -> float | None:
    """Return how long it has run; None if it never began."""
    if call.asked_at is None:
        return None
    until: datetime = call.answered_at or datetime.now(UTC)
    asked: datetime = call.asked_at
    return (until - asked).total_seconds()


def state_item(entry: StateEntry, drawn: Drawn) -> dict[str, Any]:
    """Return the item of a shared state that is looked at."""
    return {
        "key": entry.key,
        "type": "drawn",
        "tree": drawn.nodes or [],
        "hidden": drawn.nodes is None and not drawn.fault,
        "warning": warned(drawn.fault) if drawn.fault else "",
    }


def tool_item(entry: ToolEntry, title: str, drawn: Drawn | None) -> dict[str, Any]:
    """Return the item of a call that nobody is asked about."""
    call, name = entry.call, visible(entry.call.name)
    state, custom = state_of(call), drawn is not None and not drawn.fault
    shown: dict[str, Any] = {
        "args": row_props(argument_rows(call)) if call.args is not None and not custom else [],
        "result": row_props(outcome_rows(call)) if not custom else [],
    }
    shown, escaped = visible_tree(shown)
    return {
        "key": entry.key,
        "type": "tool",
        "name": name if title != name else "",
        "title": title,
        "state": state,
        "error": warned(masked(brief(call.reason or ""))) if state in ("failed", "stopped") else "",
        "seconds": seconds_of(call),
        "progress": _progress(call) if state == "running" else None,
        "own": drawn is not None and drawn.nodes is not None,
        "tree": (drawn.nodes if drawn is not None else None) or [],
        "hidden": drawn is not None and (drawn.hidden or drawn.widget is not None),
        "warning": warned(drawn.fault) if drawn is not None and drawn.fault else warning_in(shown) if escaped else "",
        **shown,
    }


def _progress(call: Call) -> dict[str, Any] | None:
    progress = call.progress
    if progress is None:
        return None
    return {"fraction": progress.fraction, "words": warned(masked(brief(progress.message)))}


def outcome_rows(call: Call) -> list[Row]:
    """Return what came of it, without secrets."""
    if state_of(call) != "done" or call.result in (None, ""):
        return []
    value = call.answer
    if value is None or isinstance(value, str) or not isinstance(value, BaseModel | dict | list | tuple):
        value = _read(call.result)
    return [result_row(masked(value) if isinstance(value, str) else value)]


def _read(text: str) -> object:
    """A result of another program: data, if it is some."""
    if len(text) > _LONGEST:
        return f"{text[:_LONGEST]} … ({len(text) - _LONGEST:,} more characters)"
    if text[:1] in "{[":
        try:
            return json.loads(text)
        except ValueError:
            pass
    return text
