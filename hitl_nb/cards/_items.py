"""An entry of the transcript as the plain JSON item that the browser draws (the wire of ``widgets/store.js``).

All display strings leave here ready to be shown; the browser only ever uses ``textContent``.
"""

from typing import Any

from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Entry, MessageEntry
from hitl_nb.cards._card import Card
from hitl_nb.cards._choose import card_of, fall_back
from hitl_nb.cards._record import compared_by_identity, record_of
from hitl_nb.cards._text import WARNING, visible
from hitl_nb.cards._turns import turn_item

Item = dict[str, Any]


def item_of(entry: Entry, warnings: dict[str, str], *, passed: bool = False) -> Item:
    """Give the item for one entry.

    Args:
        entry: What to draw.
        warnings: By occurrence, what the person must be told about a card; a failing card adds its line.
        passed: Whether somebody at this screen has been asked before.
    """
    if isinstance(entry, MessageEntry):
        text = visible(entry.text)
        return {
            "key": entry.key,
            "type": "message",
            "role": entry.role,
            "text": text,
            "streaming": entry.streaming,
        }
    if isinstance(entry, CallEntry):
        return _call_item(entry.call, warnings, passed)
    return {"key": entry.key, "type": "note", "level": entry.level, "text": visible(entry.text)}


def headline_of(call: Call, *, passed: bool = False) -> Item:
    """Give the item that stands for a call that a widget of the user's own draws: which tool asks, what, and whom."""
    turn = turn_item(call, passed=passed)
    asked = f"{_title(call.name)} ({call.name})" + (f": {call.message}" if call.message else "")
    lines = [asked, *([] if turn["open"] else [turn["words"]]), *([call.error] if call.error else [])]
    level = "warning" if call.error else "info"
    return {"key": call.occurrence, "type": "note", "level": level, "text": visible("\n".join(lines))}


def _call_item(call: Call, warnings: dict[str, str], passed: bool) -> Item:
    try:
        return _framed(call, card_of(call), warnings.get(call.occurrence), passed)
    except Exception as error:
        card = fall_back(call)
        warnings[call.occurrence] = f"Its own card cannot show this call: {error}"
        return _framed(call, card, warnings[call.occurrence], passed)


def _framed(call: Call, card: Card, warning: str | None, passed: bool) -> Item:
    turn = turn_item(call, passed=passed)
    # Where several are asked, each has a card with all of it.
    shown, escaped = card.shown() if call.outcome is None and not turn["several"] else ({}, False)
    return {
        "key": call.occurrence,
        "type": "call",
        "card": card.module,
        "id": call.occurrence,
        "name": visible(call.name),
        "title": visible(_title(call.name)),
        "message": visible(call.message),
        "status": call.status,
        "turn": turn,
        "warning": "\n".join(line for line in (warning, WARNING if escaped else None) if line) or None,
        "about": compared_by_identity(call) or None,
        "error": visible(call.error) if call.error else None,
        "confirm": card.confirm,
        "decline": card.decline,
        "props": shown,
        "record": record_of(call, card).wire() if call.outcome is not None else None,
    }


def _title(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]
