"""What a form is made of: a small tree of one kind of node, the same for every schema and every front end."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from enum import Enum
from functools import cached_property
from typing import Final, Literal

from hitl_nb._schema._patterns import pattern_in_words
from hitl_nb._schema._wire import Json, look_of, read_wire, to_wire

__all__ = ["MISSING", "FormNode", "Kind", "Option", "choice_between", "from_wire", "option_of"]

Kind = Literal[
    "text",
    "long_text",
    "number",
    "integer",
    "boolean",
    "choice",
    "date",
    "time",
    "datetime",
    "duration",
    "secret",
    "constant",
    "list",
    "table",
    "object",
    "dict",
    "tuple",
    "union",
    "json",
]

_SCALARS: Final[frozenset[Kind]] = frozenset(
    {
        *("text", "long_text", "number", "integer", "boolean", "choice"),
        *("date", "time", "datetime", "duration", "secret", "constant"),
    }
)
"""The kinds that fit into one control."""

_WORDS: Final[dict[Kind, str]] = {
    "text": "Text",
    "long_text": "Text",
    "number": "Number",
    "integer": "Whole number",
    "boolean": "Yes or no",
    "choice": "Choice",
    "date": "Date",
    "time": "Time",
    "datetime": "Date and time",
    "duration": "Duration",
    "secret": "Secret",
    "constant": "Constant",
    "list": "List",
    "table": "Table",
    "object": "Fields",
    "dict": "Keys and values",
    "tuple": "Fixed list",
    "union": "Alternatives",
    "json": "JSON",
}
"""What a person calls them."""


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""No default at all, which is not the same as the default None."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of the values a `choice` allows (or the one value of a `constant`)."""

    value: object
    """The value itself, of its own type: 1, "1" and true are three options."""

    label: str
    """What a person reads."""


@dataclass(frozen=True, kw_only=True)
class FormNode:
    """One control, or a group of them; it does not know where it stands (no path), so it can stand anywhere.

    ==============  ==============================================================================
    kind            what it holds
    ==============  ==============================================================================
    scalars         `options` (choice, constant); limits; `format` for a hint (`email`, `uuid`, …)
    ``list``        `item`
    ``table``       `item`, an object of scalars: the columns
    ``tuple``       `children` by index, `item` for the rest (or None)
    ``object``      `children` by name, `item` for further keys (or None)
    ``dict``        `item` for every value, `pattern` for the keys
    ``union``       `branches`; which one a value has, `layout_of` says
    ``json``        a box for JSON text: whatever the others cannot draw; `note` says why
    ==============  ==============================================================================
    """

    kind: Kind
    """Which control."""

    title: str = ""
    """The label; never empty for a child of an object, and unlike its siblings'."""

    description: str = ""
    """Help text, as the schema has it: plain text, never markup."""

    required: bool = True
    """False: the key may be absent (`unset`), which is not the same as null."""

    nullable: bool = False
    """Null is allowed besides."""

    default: object = MISSING
    """What the schema says is used when the key is absent; shown, never filled in."""

    options: tuple[Option, ...] = ()
    minimum: int | float | None = None
    maximum: int | float | None = None
    exclusive_minimum: int | float | None = None
    exclusive_maximum: int | float | None = None
    step: int | float | None = None
    """`multipleOf`."""

    exact: bool = False
    """A decimal number: send it back as text, every digit counts."""

    pattern: str = ""
    """A regular expression for the text; for the keys of a `dict`."""

    min_length: int | None = None
    max_length: int | None = None
    """Characters of a text, items of a list, keys of a dict."""

    unique: bool = False
    """No item twice."""

    format: str = ""
    """JSON Schema's `format`, as a hint only."""

    children: tuple[tuple[str | int, "FormNode"], ...] = ()
    item: "FormNode | None" = None
    branches: tuple["FormNode", ...] = ()
    discriminator: str = ""
    """The property whose value names the branch."""

    tags: tuple[object, ...] = ()
    """On a branch: the values of the discriminator that mean this branch."""

    note: str = field(default="", compare=False)
    """On a `json` box: why there is no better control."""

    @property
    def is_cell(self) -> bool:
        """Whether it fits into one cell of a table."""
        if self.kind == "union":
            return all(branch.kind in _SCALARS for branch in self.branches)
        return self.kind in _SCALARS or (self.kind == "json" and not self.note)

    @property
    def is_row(self) -> bool:
        """Whether it fits into one row of a table: an object whose every value fits into one cell."""
        is_closed = self.kind == "object" and not self.nullable and self.item is None
        return is_closed and bool(self.children) and all(child.is_cell for _, child in self.children)

    @cached_property
    def _by_look(self) -> dict[str, Option]:
        return {look_of(option.value): option for option in reversed(self.options)}

    def option_for(self, value: object) -> Option | None:
        """Return the option that looks like `value`, or None."""
        return self._by_look.get(look_of(value))

    def contents(self) -> str:
        """Return what it holds in words, for where the schema has no title."""
        if self.tags or self.kind == "constant":
            return ", ".join(str(tag) for tag in self.tags) or self.options[0].label
        if self.kind == "list" and self.item is not None:
            return f"List of: {self.item.contents().lower()}"
        if self.kind in ("object", "table"):
            columns = self.item.children if self.item else self.children
            return f"{_WORDS[self.kind]}: {', '.join(str(name) for name, _ in columns[:3])}"
        return _WORDS[self.kind]

    def to_wire(self) -> dict[str, Json]:
        """Return the tree as plain JSON for the browser: what is empty is left out, values are as `to_wire` makes them.

        `children` are `[name, node]` pairs, because a name may be `__proto__`, and JavaScript sorts
        number-like keys.
        """
        wire = {name: getattr(self, name) if write is None else write(self) for name, write in _FIELDS.items()}
        filled = {name: part for name, part in wire.items() if name in _ALWAYS or not _says_nothing(part)}
        # A default may be empty, too, and says something then.
        return filled if self.default is MISSING else {**filled, "default": to_wire(self.default)}


_ALWAYS: Final = frozenset({"kind", "title", "required"})

_WRITTEN: Final[dict[str, Callable[[FormNode], Json]]] = {
    # Limits may be beyond what a browser can count.
    "minimum": lambda node: to_wire(node.minimum),
    "maximum": lambda node: to_wire(node.maximum),
    "exclusive_minimum": lambda node: to_wire(node.exclusive_minimum),
    "exclusive_maximum": lambda node: to_wire(node.exclusive_maximum),
    "step": lambda node: to_wire(node.step),
    "pattern": lambda node: pattern_in_words(node.pattern),  # to be read: only the kernel matches
    "options": lambda node: [{"value": to_wire(each.value), "label": each.label} for each in node.options],
    "children": lambda node: [[name, child.to_wire()] for name, child in node.children],
    "item": lambda node: None if node.item is None else node.item.to_wire(),
    "branches": lambda node: [branch.to_wire() for branch in node.branches],
    "tags": lambda node: [to_wire(tag) for tag in node.tags],
}
"""Field → how it travels; the others are JSON already."""

_FIELDS: Final = {each.name: _WRITTEN.get(each.name) for each in fields(FormNode) if each.name != "default"}


def _says_nothing(part: Json) -> bool:
    return part is None or part is False or part in ("", [])


def from_wire(wire: Json, node: FormNode | None = None) -> object:
    """Return what the browser sent, as the Python value it stands for.

    Args:
        wire: Plain JSON data with marks.
        node: The node of the form it was entered in. A choice then gives the schema's own value back (1.0,
            not JavaScript's 1), an integer field an int.

    Raises:
        InvalidValue: a mark that cannot be read.
    """
    value = read_wire(wire)
    if node is None:
        return value
    if node.kind in ("choice", "constant"):
        option = node.option_for(value)
        return value if option is None else option.value
    if node.kind == "integer" and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # beyond, a float says what was meant more honestly than its 300 digits
    return value


def option_of(value: object) -> Option:
    """Return a value as it stands in a list of choices: a text as it is, anything else as JSON."""
    label = value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
    return Option(value=value, label=label)


def choice_between(options: Iterable[Option]) -> FormNode:
    """Return a choice between `options`, each value once; of one value, a constant."""
    distinct: dict[str, Option] = {}
    for option in options:
        distinct.setdefault(look_of(option.value), option)
    return FormNode(kind="choice" if len(distinct) > 1 else "constant", options=tuple(distinct.values()))
