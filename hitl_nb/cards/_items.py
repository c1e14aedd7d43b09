"""An entry of the transcript as the plain JSON item that the browser draws (the wire of ``widgets/store.js``).

All display strings leave here ready to be shown; the browser only ever uses ``textContent``.
"""

from typing import Any

from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Entry, MessageEntry
from hitl_nb.cards._card import Card
from hitl_nb.cards._choose import card_of, fall_back
from hitl_nb.cards._record import record_of
from hitl_nb.cards._text import WARNING, visible

Item = dict[str, Any]


def item_of(entry: Entry, warnings: dict[str, str]) -> Item:
    """Give the item for one entry.

    Args:
        entry: What to draw.
        warnings: By call id, what the person must be told about a card; a failing card adds its line.
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
        return _call_item(entry.call, warnings)
    return {"key": entry.key, "type": "note", "level": entry.level, "text": visible(entry.text)}


def headline_of(call: Call) -> Item:
    """Give the item that stands for a call while a widget of the user's own draws it: which tool asks, and what."""
    words = f"{_title(call.name)} ({call.name})" + (f": {call.message}" if call.message else "")
    return {"key": call.id, "type": "note", "level": "info", "text": visible(words)}


def _call_item(call: Call, warnings: dict[str, str]) -> Item:
    try:
        return _framed(call, card_of(call), warnings.get(call.id))
    except Exception as error:
        card = fall_back(call)
        warnings[call.id] = f"Its own card cannot show this call: {error}"
        return _framed(call, card, warnings[call.id])


def _framed(call: Call, card: Card, warning: str | None) -> Item:
    shown, escaped = card.shown() if call.outcome is None else ({}, False)
    return {
        "key": call.id,
        "type": "call",
        "card": card.module,
        "id": call.id,
        "name": visible(call.name),
        "title": visible(_title(call.name)),
        "message": visible(call.message),
        "status": call.status,
        "warning": "\n".join(line for line in (warning, WARNING if escaped else None) if line) or None,
        "error": visible(call.error) if call.error else None,
        "confirm": card.confirm,
        "decline": card.decline,
        "props": shown,
        "record": record_of(call, card).wire() if call.outcome is not None else None,
    }


def _title(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]
