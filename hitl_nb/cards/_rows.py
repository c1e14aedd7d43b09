"""What was asked and what was answered, as lines to read; a secret in them is stars."""

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from hitl_nb._calls import Call
from hitl_nb._schema import FormNode, readable
from hitl_nb.cards._card import Row
from hitl_nb.cards._forms import answer_form_of, args_form_of
from hitl_nb.cards._text import plain

_LONG = 80
"""Characters from which on a text gets a box of its own; nothing is ever cut off."""


def argument_rows(call: Call, *, without: Collection[str] = ()) -> list[Row]:
    """Give the arguments, one a row, but those whose names are in `without`."""
    rows = rows_of(call.args, args_form_of(call)) if call.args is not None else []
    return [row for row in rows if row.label not in without]


def rows_of(value: Any, form: FormNode | None, name: str = "") -> list[Row]:
    """Give a value: an object as one row a key, anything else as one row called `name`."""
    shown = readable(value, form)
    if isinstance(shown, dict):
        return [Row(label=str(key), text=_words(part)) for key, part in shown.items()]
    return [Row(label=name, text=_words(shown))]


def answer_row(call: Call, *, form: FormNode | None = None) -> Row:
    """Give the answer as one row."""
    return Row(label="answer", text=_words(readable(call.answer, form or answer_form_of(call) or args_form_of(call))))


def _words(shown: Any, pad: str = "") -> str:
    """Give readable data as text: a list or object in one line where it fits, else one line a part."""
    if not isinstance(shown, dict | list):
        return plain(shown) if not pad else json.dumps(shown, ensure_ascii=False)
    line = json.dumps(shown, ensure_ascii=False)
    if len(pad) + len(line) <= _LONG:
        return line
    inner = f"{pad}  "
    if isinstance(shown, list):
        opening, closing, parts = "[", "]", [_words(part, inner) for part in shown]
    else:
        opening, closing = "{", "}"
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_words(part, inner)}" for key, part in shown.items()]
    body = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{body}\n{pad}{closing}"


def change_rows(call: Call, *, without: Callable[[dict[str, Any]], bool] | None = None) -> list[Row]:
    """Give what was changed in the proposal, but those changes that `without` is true of."""
    return [_change_row(change) for change in call.edits if without is None or not without(change)]


def approved_headline(call: Call) -> str:
    """Give what became of an approved proposal: how much of it was changed, if it was."""
    count = len(call.edits)
    return f"Approved with {count} change{'s' if count > 1 else ''}" if count else "Approved"


def _change_row(change: dict[str, Any]) -> Row:
    path = change["path"]
    if "from" not in change:
        return Row(label=f"added {path}", text=_words(change["to"]))
    if "to" not in change:
        return Row(label=f"removed {path}", text=_words(change["from"]))
    before, after = _words(change["from"]), _words(change["to"])
    gap = " " if len(before) + len(after) < _LONG and "\n" not in before + after else "\n"
    return Row(label=f"changed {path}", text=f"{before}{gap}→ {after}")


def row_props(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Give rows as the browser draws them, to read."""
    return [{"label": row.label, "text": row.text, "long": len(row.text) > _LONG or "\n" in row.text} for row in rows]
