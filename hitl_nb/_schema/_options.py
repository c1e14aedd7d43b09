"""Fixed values: `enum`, `const`, and the ways to spell them with `oneOf` (which then has the labels)."""

import json
from typing import Any

from hitl_nb._schema._node import FormNode, Option
from hitl_nb._schema._values import same

__all__ = ["constant", "merged_options", "options_node"]


def constant(value: Any) -> FormNode:
    """A value that can be no other."""
    return FormNode(kind="constant", options=(_option(value),))


def options_node(values: list[Any]) -> FormNode:
    """A choice between `values`, each once; of one value, a constant."""
    options: list[Option] = []
    for value in values:
        if not any(same(value, known.value) for known in options):
            options.append(_option(value))
    return FormNode(kind="choice" if len(options) > 1 else "constant", options=tuple(options))


def merged_options(nodes: list[FormNode]) -> FormNode | None:
    """One choice instead of several choices and constants (a label is the constant's title); None if any is other."""
    if any(node.kind not in ("choice", "constant") for node in nodes):
        return None
    options: list[Option] = []
    for node in nodes:
        for each in node.options:
            if not any(same(each.value, known.value) for known in options):
                label = node.title if node.kind == "constant" and node.title else each.label
                options.append(Option(value=each.value, label=label))
    return FormNode(kind="choice" if len(options) > 1 else "constant", options=tuple(options))


def _option(value: Any) -> Option:
    label = value if isinstance(value, str) and value.strip() else json.dumps(value, ensure_ascii=False)
    return Option(value=value, label=label)
