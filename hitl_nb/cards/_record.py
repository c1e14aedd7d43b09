"""What stays in the notebook: a static record, readable without a kernel, on nbviewer and in a diff.

One neutral structure feeds three readers: the browser (while the run is live), text/html and text/plain.
"""

import html
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Entry, MessageEntry, NoteEntry, Transcript
from hitl_nb.cards._card import Card, Row
from hitl_nb.cards._choose import card_of, fall_back
from hitl_nb.cards._text import visible

_HEADLINES = {
    "declined": "Declined",
    "cancelled": "Cancelled",
    "expired": "Expired",
    "invalid": "Not asked: the model's call was invalid",
    "aborted": "Stopped before an answer",
    "superseded": "Superseded",
}
_MARKS = {"on": "☑", "off": "☐", "": "•"}
_SIGNS = {"answered": "✓", "edited": "✓", "invalid": "⚠"}


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
    """Which tool, by whom, by which path, when."""

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
    return Record(
        outcome=call.outcome,
        headline=visible(headline),
        rows=tuple(Row(label=visible(row.label), text=visible(row.text), mark=row.mark) for row in rows),
        footer=visible(_footer(call)),
    )


def _footer(call: Call) -> str:
    parts = [call.name]
    if call.answered_by:
        parts.append(f"by {call.answered_by}")
    if call.via == "card" and call.answered_at is not None:
        # Only a person's own click carries a time: scripted tutorials have to print the same every day.
        parts.append(call.answered_at.strftime("%Y-%m-%d %H:%M UTC"))
    return " · ".join(parts)


def bundle(entries: Iterable[tuple[Entry, Record | None]]) -> dict[str, str]:
    """Give a transcript as a MIME bundle: text/html and text/plain with the same content."""
    pairs = list(entries)
    body = "".join(_html(entry, record) for entry, record in pairs)
    return {
        "text/html": f'<div class="hitl-record" style="max-width:54em">{body}</div>',
        "text/plain": "\n".join(line for entry, record in pairs for line in _lines(entry, record)),
    }


def _lines(entry: Entry, record: Record | None) -> Iterator[str]:
    if isinstance(entry, MessageEntry):
        yield f"{'You' if entry.role == 'user' else 'Assistant'}: {visible(entry.text)}"
    elif isinstance(entry, NoteEntry):
        yield f"[{entry.level}] {visible(entry.text)}"
    elif record is None:
        yield f"? {entry.call.name}: no answer yet"
    else:
        yield f"{_SIGNS.get(record.outcome, '✗')} {record.headline}"
        for row in record.rows:
            label = f"{row.label}: " if row.label else ""
            yield f"    {_MARKS[row.mark]} {label}{row.text}".replace("\n", "\n      ")
        yield f"    {record.footer}"


_QUIET = "color:var(--jp-content-font-color2,#757575);font-size:0.9em"
_CARD = (
    "border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid {edge};border-radius:4px;"
    "padding:0.5em 0.8em;margin:0.5em 0"
)
_YES, _NO = "var(--jp-success-color1,#2e7d32)", "var(--jp-warn-color1,#ef6c00)"


def _html(entry: Entry, record: Record | None) -> str:
    if isinstance(entry, MessageEntry):
        who = "You" if entry.role == "user" else "Assistant"
        label = f'<span style="{_QUIET}">{who}</span>'
        return f'<p style="white-space:pre-wrap;margin:0.5em 0">{label}<br>{_escaped(entry.text)}</p>'
    if isinstance(entry, NoteEntry):
        return f'<p style="white-space:pre-wrap;margin:0.5em 0"><em>{_escaped(entry.text)}</em></p>'
    if record is None:
        name = _escaped(entry.call.name)
        return f'<div style="{_CARD.format(edge=_NO)}"><strong>{name}</strong>: no answer yet</div>'
    yes = record.outcome in ("answered", "edited")
    sign = _SIGNS.get(record.outcome, "✗")
    rows = "".join(_html_row(row) for row in record.rows)
    items = f'<ul style="list-style:none;margin:0.4em 0;padding-left:0">{rows}</ul>' if rows else ""
    return (
        f'<div style="{_CARD.format(edge=_YES if yes else _NO)}"><strong>{sign} {html.escape(record.headline)}</strong>'
        f'{items}<span style="{_QUIET}">{html.escape(record.footer)}</span></div>'
    )


def _html_row(row: Row) -> str:
    label = f"<strong>{html.escape(row.label)}</strong> " if row.label else ""
    text = html.escape(row.text)
    text = f"<s>{text}</s>" if row.mark == "off" else text
    mark = f"{_MARKS[row.mark]} " if row.mark else ""
    return f'<li style="white-space:pre-wrap">{mark}{label}{text}</li>'


def _escaped(text: str) -> str:
    return html.escape(visible(text))


def display_record(transcript: Transcript) -> None:
    """Put the record of a run into the current cell; needs IPython, as every kernel has."""
    from IPython.display import display

    pairs = [(entry, record_of_call(entry.call) if isinstance(entry, CallEntry) else None) for entry in transcript]
    if pairs:
        display(bundle(pairs), raw=True)
