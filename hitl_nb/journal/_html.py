"""How the journal looks in a notebook: quiet tables in the notebook's own colours, without a script."""

import html
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from hitl_nb.journal._queries import kind_of

_LONGEST: Final = 120
"""Characters of a cell; this is an overview, `to_frame` has it all."""

TEXT: Final = "color:var(--jp-content-font-color1,currentColor)"
QUIET: Final = "color:var(--jp-content-font-color2,#757575);font-size:0.9em"
LINE: Final = "border-bottom:1px solid var(--jp-border-color2,#bdbdbd)"
COLOURS: Final = {
    "approved": "var(--jp-success-color1,#2e7d32)",
    "edited": "var(--jp-info-color1,#0277bd)",
    "declined": "var(--jp-error-color1,#c62828)",
    "expired": "var(--jp-warn-color1,#ef6c00)",
    "other": "var(--jp-content-font-color2,#757575)",
    "open": "var(--jp-border-color1,#9e9e9e)",
}


def escaped(text: Any) -> str:
    """Give any text as HTML that shows it: markup as text, and what is invisible as its escape.

    Bidirectional overrides and zero-width characters change what a reader sees without being seen.
    """
    shown = "".join(char if char.isprintable() or char in "\n\t" else ascii(char)[1:-1] for char in str(text))
    return html.escape(shown)


def shortened(text: str) -> str:
    """Give a text that fits into a cell, and says when it goes on."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} … ({len(text) - _LONGEST} more characters)"


def table(caption: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Give a table; the cells are HTML already."""
    heads = "".join(
        f'<th scope="col" style="{LINE};text-align:left;padding:0.2em 0.8em">{head}</th>' for head in header
    )
    cell = f'<td style="{LINE};text-align:left;vertical-align:top;padding:0.2em 0.8em;white-space:pre-wrap">'
    body = "".join(f"<tr>{''.join(f'{cell}{value}</td>' for value in row)}</tr>" for row in rows)
    return (
        f'<table class="hitl-journal" style="border-collapse:collapse;{TEXT}">'
        f'<caption style="text-align:left;{QUIET}">{caption}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
    )


def decision_row(call: dict[str, Any]) -> list[str]:
    """Give the cells of one call, a row of `calls` as a dict."""
    kind = kind_of(call)
    who = " · ".join(part for part in (call["by"], call["via"]) if part)
    said = call["reason"] or (call["answer"] and _words(call["answer"])) or ""
    return [
        f'<span style="{QUIET}">{escaped((call["answered_at"] or call["asked_at"])[:16].replace("T", " "))}</span>',
        f"<strong>{escaped(call['tool'])}</strong><br>{escaped(shortened(call['message'] or ''))}",
        f'<span style="color:{COLOURS[kind]}">●</span> {escaped(call["outcome"] if kind == "other" else kind)}',
        escaped(shortened(said)),
        escaped(who),
    ]


def _words(answer: str) -> str:
    value = json.loads(answer)
    return value if isinstance(value, str) else answer
