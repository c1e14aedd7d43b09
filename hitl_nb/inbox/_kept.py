"""Tables and pictures in what a question is about, kept as they were drawn for whoever sees them elsewhere.

A journal describes a DataFrame by its shape, and a figure by its type. Whoever has to approve one has to see it, also
where there is neither: so its cells are kept as words, a picture as a picture, and all that is plain as data.
"""

from collections.abc import Mapping
from typing import Any, Final

from hitl_nb import cards
from hitl_nb._schema import by_text, is_sequence, readable
from hitl_nb._schema import opened as opened_value
from hitl_nb._secrets import MASK, is_secret_name
from hitl_nb.data import MOST_CELLS

_DEEPEST: Final = 4
_LONGEST: Final = 200
"""Items of a list in which tables and pictures are looked for."""


def kept_view(value: object) -> list[Any] | None:
    """Return tables and pictures in what a question is about, and what is around them, as JSON data.

    Args:
        value: The arguments of a call.

    Returns:
        What `view_of_kept` makes a view of again; None where there is nothing that a journal would not keep anyhow.
    """
    kept = _kept_part(value, 0)
    return kept if _has_something(kept) else None


def _kept_part(value: object, depth: int) -> list[Any]:
    if callable(drawn := getattr(value, "__drawn__", None)):
        value = drawn()
    table = cards.table_of(value)
    if table is not None:
        return ["table", _kept_table(table)]
    if cards.maker_of(value) is not None:
        return ["words", cards.figure_words(value)]
    if (picture := cards.picture_of(value)) is not None:
        return ["picture", picture]
    inside = opened_value(value)
    if depth < _DEEPEST and isinstance(inside, Mapping):
        return ["map", {text: _kept_part(inside[key], depth + 1) for text, key in by_text(inside).items()}]
    if depth < _DEEPEST and is_sequence(inside) and len(inside) <= _LONGEST:
        return ["list", [_kept_part(part, depth + 1) for part in inside]]
    return ["data", readable(value)]


def _kept_table(table: cards.Grid) -> dict[str, Any]:
    columns = [str(column) for column in table.columns]
    hidden = [is_secret_name(column, in_rows=True) for column in columns]
    count = min(table.count, max(1, MOST_CELLS // max(len(columns), 1)))

    def cell(value: object, hides: bool) -> list[object]:
        return [MASK, False] if hides else list(cards.cell_words(value))

    rows = [[cell(*each) for each in zip(table.row(at), hidden, strict=True)] for at in range(count)]
    return {"columns": columns, "count": table.count, "rows": rows}


def _has_something(kept: list[Any]) -> bool:
    kind, content = kept
    if kind in ("map", "list"):
        parts: list[Any] = list(content.values() if kind == "map" else content)
        return any(map(_has_something, parts))
    return bool(kind != "data")


def view_of_kept(kept: list[Any]) -> Any:
    """Return what is drawn in the place of the arguments: plain data, tables, pictures."""
    kind, content = kept
    match kind:
        case "map":
            return {name: view_of_kept(part) for name, part in content.items()}
        case "list":
            return [view_of_kept(part) for part in content]
        case "table":
            return _drawn_table(content)
        case "picture":
            return cards.Kept(nodes=[content])
        case "words":
            return cards.Kept(nodes=[["em", {}, str(content)]])
    return content


def _drawn_table(content: Mapping[str, Any]) -> Any:
    rows = content["rows"]
    columns, count = content["columns"], content["count"]
    table = cards.Grid(columns=columns, count=len(rows), row=lambda at: [cards.Cell(*cell) for cell in rows[at]])
    if count <= len(rows):
        return cards.Kept(table=table)
    words = f"The first {len(rows):,} of {count:,} rows; the others are where it is asked."
    return cards.Kept(table=table, nodes=[["em", {}, words]])
