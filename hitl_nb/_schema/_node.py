"""What a form is made of: a small tree of one kind of node, the same for every schema and every front end."""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, Final, Literal

from hitl_nb._schema._values import to_wire

__all__ = ["MISSING", "SCALARS", "FormNode", "Kind", "Missing", "Option"]

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

SCALARS: Final[frozenset[Kind]] = frozenset(
    {
        *("text", "long_text", "number", "integer", "boolean", "choice"),
        *("date", "time", "datetime", "duration", "secret", "constant"),
    }
)
"""The kinds that fit into one control, so also into a cell of a table."""


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""No default at all, which is not the same as the default None."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """One of the values a `choice` allows (or the one value of a `constant`)."""

    value: Any
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

    default: Any = MISSING
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

    tags: tuple[Any, ...] = ()
    """On a branch: the values of the discriminator that mean this branch."""

    note: str = field(default="", compare=False)
    """On a `json` box: why there is no better control."""

    def to_wire(self) -> dict[str, Any]:
        """The tree as plain JSON for the browser: what is empty is left out, values are as `to_wire` makes them.

        `children` are `[name, node]` pairs, because a name may be `__proto__`, and JavaScript sorts
        number-like keys.
        """
        wire = {each.name: _WIRE.get(each.name, _same)(getattr(self, each.name)) for each in fields(self)}
        filled = {name: part for name, part in wire.items() if name in _ALWAYS or not _is_empty(part)}
        return filled if self.default is MISSING else {**filled, "default": to_wire(self.default)}


_ALWAYS: Final = frozenset({"kind", "title", "required"})


def _is_empty(part: Any) -> bool:
    return part is None or part is False or part is MISSING or part in ("", [])


def _same(part: Any) -> Any:
    return part


_WIRE: Final[dict[str, Callable[[Any], Any]]] = {
    **dict.fromkeys(
        ("minimum", "maximum", "exclusive_minimum", "exclusive_maximum", "step"),
        lambda limit: None if limit is None else to_wire(limit),
    ),
    "default": lambda _: None,
    "options": lambda options: [{"value": to_wire(each.value), "label": each.label} for each in options],
    "children": lambda children: [[name, node.to_wire()] for name, node in children],
    "item": lambda node: node and node.to_wire(),
    "branches": lambda nodes: [node.to_wire() for node in nodes],
    "tags": lambda tags: [to_wire(tag) for tag in tags],
}
"""Field → how it travels; the others are JSON already."""
