"""What a decision leaves behind, in words: one neutral structure for the browser, for text/html and for text/plain."""

from dataclasses import asdict, dataclass
from typing import Any

from hitl_nb._calls import Call, Handle
from hitl_nb.cards._card import Card, Row
from hitl_nb.cards._choose import card_of, fall_back
from hitl_nb.cards._text import visible, visible_line, visible_name

_HEADLINES = {
    "declined": "Declined",
    "cancelled": "Cancelled",
    "expired": "Expired",
    "invalid": "Not asked: the model's call was invalid",
    "aborted": "Stopped before an answer",
    "superseded": "Superseded",
}


@dataclass(frozen=True, kw_only=True)
class Record:
    """One decided call, in words."""

    outcome: str
    """The call's outcome."""

    headline: str
    """What was decided."""

    rows: tuple[Row, ...]
    """What was asked and answered."""

    footer: str
    """Which tool, by whom, by which path, when; one line."""

    def wire(self) -> dict[str, Any]:
        """Give it as plain JSON for the browser."""
        return asdict(self) | {"rows": [asdict(row) for row in self.rows]}


def record_of_call(call: Call) -> Record | None:
    """Give the record of a call, by its own card or, if that fails, by the plain view; None if it is not decided."""
    if call.outcome is None:
        return None
    try:
        return record_of(call, card_of(call))
    except Exception:
        return record_of(call, fall_back(call))


def record_of(call: Call, card: Card) -> Record:
    """Give the record of a decided call as its card has it."""
    headline = card.headline() if call.approved else _HEADLINES[call.outcome]
    if call.reason:
        headline = f"{headline}: {call.reason}"
    rows = list(card.rows()) if call.outcome != "invalid" else []
    if call.kind != "tool" and call.message:
        # The code's own question, which is nowhere else; a tool's is its name and arguments.
        rows.insert(0, Row(text=call.message))
    if call.approved and (about := compared_by_identity(call)):
        rows.append(Row(text=about))
    return Record(
        outcome=call.outcome,
        headline=visible(headline),
        rows=tuple(Row(label=visible(row.label), text=visible(row.text), mark=row.mark) for row in rows),
        footer=visible_line(_footer(call)),
    )


def compared_by_identity(call: Call) -> str:
    """Give what a person must know who approves something that has no content to compare; empty if it all has."""
    live = Handle.of(call).live
    return visible_line(f"Compared by identity, not by content: {', '.join(live)}") if live else ""


def _footer(call: Call) -> str:
    parts = [visible_name(call.name)]
    if call.answered_by:
        parts.append(f"by {call.answered_by}")
    if call.via == "card" and call.answered_at is not None:
        # Only a person's own click carries a time: scripted tutorials have to print the same every day.
        parts.append(call.answered_at.strftime("%Y-%m-%d %H:%M UTC"))
    return " · ".join(parts)
