"""States of what an MCP server asks, drawn from the real cards."""

from types import SimpleNamespace
from typing import Any

from hitl_nb._calls import Handle
from hitl_nb.mcp._asking import put
from tests.browser.items import Item, turn
from tests.unit.cards.desk import Desk

TABLE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 2, "description": "Under which the table is kept."},
        "email": {"type": "string", "title": "E-mail", "format": "email"},
        "day": {"type": "string", "title": "Day", "format": "date"},
        "people": {"type": "integer", "title": "People", "minimum": 1, "maximum": 12, "default": 2},
        "outside": {"type": "boolean", "title": "Outside"},
        "room": {"type": "string", "title": "Room", "enum": ["g", "f"], "enumNames": ["Garden", "Fireplace"]},
        "needs": {
            "type": "array",
            "title": "Needs",
            "minItems": 1,
            "items": {
                "anyOf": [
                    {"const": "veg", "title": "Vegetarian"},
                    {"const": "chair", "title": "High chair"},
                    {"const": "ramp", "title": "Step-free"},
                ]
            },
        },
        "note": {"type": "string", "title": "Note", "maxLength": 80},
    },
    "required": ["name", "email", "day", "people", "outside", "room", "needs"],
}


def asks(message: str, **params: Any) -> Item:
    """A question of the server `orders`, as the kernel sends it."""
    call, about, _ = put("orders", SimpleNamespace(message=message, **params))
    Handle.of(call).open_now(about or {})
    item = Desk(call).item
    call.cancel()  # it is drawn only: nobody finds it open
    return {**item, "key": "c1", "id": "call_c1", "turn": turn()}


_ADDRESS = "https://accounts.example.org/login?for=orders&state=4b1e6a1c2f"
_LIES = "https://accounts.example.org@evil.example/login"

MCP_STATES: dict[str, dict[str, Any]] = {
    "mcp-form": {"items": [asks("Which table shall I **book**?", requested_schema=TABLE)]},
    "mcp-address": {"items": [asks("Sign in, so that I can see your bookings.", mode="url", url=_ADDRESS)]},
    "mcp-address-that-lies": {"items": [asks("Sign in.", mode="url", url=_LIES)]},
}
