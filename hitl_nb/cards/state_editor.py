"""The editor of a shared state: a field a place, rows to add, move and remove, and conflicts with both values."""

import html
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from IPython.display import display

from hitl_nb._kernel import current_kernel, front_end, in_next_cell
from hitl_nb._merge import NOT_THERE, RowId, copied, rows_of, text_of
from hitl_nb._text import said, visible, visible_tree
from hitl_nb.cards._nodes import tree_text
from hitl_nb.cards._record import title_of
from hitl_nb.cards._seen import seen

if TYPE_CHECKING:
    from hitl_nb.cards._screen import Panel

Node = dict[str, Any]


class Document(Protocol):
    """What is edited (`hitl_nb.session.State`)."""

    @property
    def data(self) -> Any:
        """All of it as plain data."""

    @property
    def predicted(self) -> Any:
        """The same, with what the agent is about to write."""

    @property
    def conflicts(self) -> Sequence[Any]:
        """Where both sides have changed the same."""

    @property
    def schema(self) -> Mapping[str, Any]:
        """Its JSON Schema, as far as there is one."""

    def watch(self, function: Callable[[], object]) -> Callable[[], None]:
        """Have a function called on each change."""

    def edited(self, path: Any, base: Any, value: Any) -> None:
        """Take a person's change."""

    def resolve(self, path: Any, take: Any) -> None:
        """Resolve a conflict."""


class StateEditor:
    """Shows a shared state in the cell, and lets a person change it; both sides are followed while it stands there."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._panel: Panel | None = None
        self._unsaved = False

    def _ipython_display_(self) -> None:
        if front_end() != "possible":
            display(self.record(), raw=True)
            return
        if self._panel is None:
            from hitl_nb.cards._screen import Panel

            self._panel = Panel(self._act, self.record)
            self._document.watch(self._changed)
        self._draw()
        self._panel.display()

    def __repr__(self) -> str:
        return said(self.record()["text/plain"])

    def record(self) -> dict[str, str]:
        """Return what the saved notebook has of it."""
        lines = ["Shared state", tree_text(seen(self._document.data))]
        lines += [
            f"⚠ {each.path}: you have {_words(each.yours)}, the agent has {_words(each.theirs)}"
            for each in self._document.conflicts
        ]
        text = said("\n".join(lines))
        return {"text/plain": text, "text/html": f'<pre style="white-space:pre-wrap">{html.escape(text)}</pre>'}

    def _changed(self) -> None:
        self._draw()
        kernel = current_kernel()
        if kernel is not None and self._panel is not None and not self._unsaved:
            # Not at once: JupyterLab draws a view anew then, and somebody may be typing there.
            self._unsaved = True
            in_next_cell(kernel, self._save)

    def _save(self) -> None:
        self._unsaved = False
        if self._panel is not None:
            self._panel.save()

    def _draw(self) -> None:
        assert self._panel is not None
        schema = self._document.schema
        self._panel.cards.updates.show({"key": "state", "type": "state", "id": "state", **self.item(schema)})

    def item(self, schema: Mapping[str, object]) -> dict[str, Any]:
        """Return what the browser draws."""
        data, predicted = self._document.data, self._document.predicted
        conflicts = [
            {
                "path": each.path,
                "label": visible(each.path),
                "yours": _words(each.yours),
                "theirs": _words(each.theirs),
                "was": _words(each.was),
            }
            for each in self._document.conflicts
        ]
        guess = (
            {key: part for key, part in predicted.items() if part != data.get(key)} if isinstance(data, dict) else {}
        )
        shown, _ = visible_tree([_words(guess)] if guess else [])
        return {"root": _node(data, (), "", schema, schema), "conflicts": conflicts, "guess": shown}

    def _act(self, _key: str, body: Mapping[str, Any]) -> None:
        if body.get("do") == "resolve":
            self._document.resolve(str(body.get("path")), body.get("take"))
            return
        path = tuple(RowId(step["id"]) if isinstance(step, Mapping) else step for step in body.get("path", ()))
        base = body.get("base", NOT_THERE)
        value = body.get("value", NOT_THERE)
        self._document.edited(path, base, value)


def _words(value: object) -> str:
    return "(taken away)" if value is NOT_THERE else visible(tree_text(seen(value)))


# -- a value as fields ----------------------------------------------------------------------------------------


def _node(value: Any, path: tuple[Any, ...], label: str, schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Node:
    schema = _resolved(schema, whole)
    about = {"path": [_step(step) for step in path], "at": text_of(path), "label": visible(label)}
    if isinstance(value, Mapping):
        inside = schema.get("properties", {})
        parts = [
            _node(part, (*path, key), title_of(str(key)), inside.get(key, {}), whole) for key, part in value.items()
        ]
        return {**about, "kind": "object", "parts": parts}
    if isinstance(value, list):
        return {**about, **_rows(value, path, schema, whole), "value": value}
    if "enum" in schema:
        return {**about, "kind": "choice", "options": schema["enum"], "value": value}
    kinds = {bool: "bool", int: "number", float: "number", str: "text"}
    kind = kinds.get(type(value)) or {"string": "text", "number": "number", "integer": "number", "boolean": "bool"}.get(
        str(schema.get("type")), "json"
    )
    return {**about, "kind": kind, "value": value}


def _rows(value: list[Any], path: tuple[Any, ...], schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Node:
    inside = schema.get("items", {})
    named = rows_of(value) is not None
    rows = []
    for at, item in enumerate(value):
        step = RowId(item["id"]) if named else at
        node = _node(item, (*path, step), "", inside, whole)
        if named:
            node["parts"] = [part for part in node["parts"] if part["path"][-1] != "id"]
        rows.append(node)
    return {"kind": "rows", "parts": rows, "blank": _blank(value, _resolved(inside, whole), whole, named=named)}


def _blank(items: list[Any], schema: Mapping[str, Any], whole: Mapping[str, Any], *, named: bool) -> Any:
    """A row like the others, with nothing in it."""
    last = items[-1] if items else None
    if not isinstance(last, Mapping) and "properties" not in schema:
        return _nothing(last if items else "")
    known = schema.get("properties", {})
    row = {key: _nothing(part) for key, part in (last or {}).items()}
    for key, about in known.items():
        inside = _resolved(about, whole)
        row[key] = about["default"] if "default" in about else (inside.get("enum") or [row.get(key, "")])[0]
    if named and items:
        numbers = [item["id"] for item in items if isinstance(item["id"], int)]
        row["id"] = max(numbers) + 1 if len(numbers) == len(items) else f"row-{len(items) + 1}"
    return row


def _nothing(value: object) -> Any:
    blanks: dict[type, Any] = {bool: False, int: 0, float: 0, str: ""}
    if isinstance(value, list):
        return []
    return copied({}) if isinstance(value, Mapping) else blanks.get(type(value))


def _step(step: object) -> Any:
    return {"id": step.id} if isinstance(step, RowId) else step


def _resolved(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(8):
        if "$ref" in schema:
            schema = whole.get("$defs", {}).get(str(schema["$ref"]).rsplit("/", 1)[-1], {})
        elif "anyOf" in schema:
            schema = next((each for each in schema["anyOf"] if each.get("type") != "null"), {})
        else:
            break
    return schema
