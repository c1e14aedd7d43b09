"""Text and numbers: which control, and the limits it shows."""

from typing import Any, Final

from hitl_nb._schema._node import FormNode, Kind

__all__ = ["is_decimal_text", "number_node", "text_node"]

_BY_FORMAT: Final[dict[str, Kind]] = {
    "date": "date",
    "time": "time",
    "date-time": "datetime",
    "datetime": "datetime",
    "duration": "duration",
    "password": "secret",
    **dict.fromkeys(("textarea", "multiline", "multi-line", "markdown", "html", "sql", "code"), "long_text"),
}

_MANY: Final = 300
"""A text that may be longer than this gets more than one line."""

_DECIMAL: Final = "^(?!^[-+.]*$)[+-]?0*"
"""How pydantic's pattern for the text of a Decimal begins, with and without limits on its digits."""


def text_node(schema: dict[str, Any]) -> FormNode:
    """A control for text."""
    format_ = schema.get("format", "")
    kind = _BY_FORMAT.get(format_, "text")
    if schema.get("writeOnly"):
        kind = "secret"
    elif kind == "text" and (schema.get("maxLength", 0) > _MANY or _is_prose(schema)):
        kind = "long_text"
    return FormNode(
        kind=kind,
        format=format_,
        pattern=schema.get("pattern", ""),
        min_length=schema.get("minLength"),
        max_length=schema.get("maxLength"),
    )


def number_node(schema: dict[str, Any], type_: Any) -> FormNode:
    """A control for a number or a whole number."""
    return FormNode(
        kind="integer" if type_ == "integer" else "number",
        format=schema.get("format", ""),
        step=schema.get("multipleOf"),
        **_limits(schema),
    )


def is_decimal_text(node: FormNode) -> bool:
    """Whether this is the text branch of pydantic's Decimal, `{"anyOf": [{"type": "number"}, {"type": "string"}]}`."""
    return node.kind == "text" and node.pattern.startswith(_DECIMAL)


def _is_prose(schema: dict[str, Any]) -> bool:
    return str(schema.get("contentMediaType", "")).startswith("text/")


def _limits(schema: dict[str, Any]) -> dict[str, Any]:
    """Draft 4 says `"exclusiveMinimum": true` beside `minimum`; later drafts give the number itself."""
    limits: dict[str, Any] = {}
    for bound in ("minimum", "maximum"):
        open_, inclusive = schema.get(f"exclusive{bound.title()}"), schema.get(bound)
        if isinstance(open_, bool):
            limits[f"exclusive_{bound}" if open_ else bound] = inclusive
        else:
            limits |= {f"exclusive_{bound}": open_, bound: inclusive}
    return limits
