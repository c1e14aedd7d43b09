"""What a decision leaves behind, in words: one neutral structure for the browser, and for the saved notebook.

There it is a static record, readable without a kernel, on nbviewer and in a diff. Whoever writes a text must not be
able to write a record: each line that is not ours begins with a sign that says so.
"""

import html
import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from hitl_nb._calls import Call, Handle
from hitl_nb._transcript import CallEntry, Entry, MessageEntry, NoteEntry, Transcript
from hitl_nb.cards._card import Card, Row
from hitl_nb.cards._registry import card_of, fall_back
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


# -- the saved notebook --------------------------------------------------------------------------------------

_MARKS = {"on": "☑", "off": "☐", "": "•"}
_SIGNS = {"answered": "✓", "edited": "✎", "invalid": "⚠"}
_NO_SIGN = "✗"

_log = logging.getLogger("hitl_nb")


def display_record(transcript: Transcript) -> None:
    """Put the record of a run into the current cell; needs IPython, as every kernel has."""
    from IPython.display import display

    pairs = [(entry, record_of_call(entry.call) if isinstance(entry, CallEntry) else None) for entry in transcript]
    if pairs:
        display(bundle(pairs), raw=True, metadata=metadata_of(getattr(transcript, "head", None)))


def metadata_of(head: Callable[[], str | None] | None) -> dict[str, Any]:
    """Give what stands beside a record: where the journal's chain was, so that one cut short afterwards is seen."""
    try:
        last = head() if head is not None else None
    except Exception:
        # The record of what was decided is not to be lost because the journal cannot be read.
        _log.exception("The head of the journal could not be read")
        return {}
    return {"hitl_nb": {"journal_head": last}} if last is not None else {}


def bundle(entries: Iterable[tuple[Entry, Record | None]]) -> dict[str, str]:
    """Give a transcript as a MIME bundle: text/html and text/plain with the same content."""
    pairs = list(entries)
    body = "".join(_html(entry, record) for entry, record in pairs)
    return {
        "text/html": f'<div class="hitl-record" style="max-width:54em">{body}</div>',
        "text/plain": "\n".join(line for entry, record in pairs for line in _lines(entry, record)),
    }


# -- text/plain ----------------------------------------------------------------------------------------------


def _lines(entry: Entry, record: Record | None) -> Iterator[str]:
    if isinstance(entry, MessageEntry):
        yield _quoted(f"{_speaker(entry)}: ", visible(entry.text))
    elif isinstance(entry, NoteEntry):
        yield _quoted(f"[{entry.level}] ", visible(entry.text))
    elif record is None:
        yield f"? {visible_name(entry.call.name)}: no answer yet"
    else:
        yield _quoted(f"{_SIGNS.get(record.outcome, _NO_SIGN)} ", record.headline, "  ")
        for row in record.rows:
            label = f"{row.label}: " if row.label else ""
            yield _quoted(f"    {_MARKS[row.mark]} ", f"{label}{row.text}", "      ")
        yield f"    {record.footer}"


def _quoted(start: str, text: str, margin: str = "") -> str:
    """Give a text of somebody else behind `start`, with a bar before every further line."""
    first, *more = text.split("\n")
    return "\n".join([f"{start}{first}", *(f"{margin}│ {line}".rstrip() for line in more)])


def _speaker(entry: MessageEntry) -> str:
    return "You" if entry.role == "user" else "Assistant"


# -- text/html -----------------------------------------------------------------------------------------------

_GREY = "color:var(--jp-content-font-color2,#757575)"
_QUIET = f"{_GREY};font-size:0.9em"
_CARD = (
    "border:1px solid var(--jp-border-color2,#bdbdbd);border-left:4px solid {edge};border-radius:4px;"
    "padding:0.5em 0.8em;margin:0.5em 0"
)
_SAID = (
    "white-space:pre-wrap;margin:0.5em 0;padding:0 0 0 0.8em;border:0 solid var(--jp-border-color2,#bdbdbd);"
    "border-left-width:2px"
)
"""A quotation: also where a host takes the style away, as GitHub does, it is none of ours."""
_ROW = "white-space:pre-wrap;padding-left:1.4em;text-indent:-1.4em"
"""Further lines stand further in, so that none looks like the next row."""
_YES, _NO = "var(--jp-success-color1,#2e7d32)", "var(--jp-warn-color1,#ef6c00)"


def _html(entry: Entry, record: Record | None) -> str:
    if isinstance(entry, MessageEntry):
        who = f'<span style="{_QUIET}">{_speaker(entry)}</span>'
        return f'<blockquote style="{_SAID}">{who}<br>{_escaped(entry.text)}</blockquote>'
    if isinstance(entry, NoteEntry):
        return f'<blockquote style="{_SAID}"><em>{_escaped(entry.text)}</em></blockquote>'
    if record is None:
        name = html.escape(visible_name(entry.call.name))
        return f'<div style="{_CARD.format(edge=_NO)}"><strong>{name}</strong>: no answer yet</div>'
    yes = record.outcome in ("answered", "edited")
    sign = _SIGNS.get(record.outcome, _NO_SIGN)
    rows = "".join(_html_row(row) for row in record.rows)
    items = f'<ul style="list-style:none;margin:0.4em 0;padding-left:0">{rows}</ul>' if rows else ""
    return (
        f'<div style="{_CARD.format(edge=_YES if yes else _NO)}"><strong>{sign} {html.escape(record.headline)}</strong>'
        f'{items}<span style="{_QUIET}">{html.escape(record.footer)}</span></div>'
    )


def _html_row(row: Row) -> str:
    label = f'<span style="{_GREY}">{html.escape(row.label)}:</span> ' if row.label else ""
    text = html.escape(row.text)
    text = f"<s>{text}</s>" if row.mark == "off" else text
    return f'<li style="{_ROW}">{_MARKS[row.mark]} {label}{text}</li>'


def _escaped(text: str) -> str:
    return html.escape(visible(text))
