"""What a scripted model does in one turn: says something, calls tools, or both."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import to_jsonable_python

from hitl_nb.errors import ScriptError


@dataclass(frozen=True, kw_only=True)
class Says:
    """Some text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class Calls:
    """One tool call."""

    name: str
    """The tool."""

    arguments: str
    """The arguments as the model writes them: JSON text, also a broken one."""

    id: str | None = None
    """The call's id; None gives ``call_1``, ``call_2``, … in the order of the script."""

    extra: Mapping[str, object] = field(default_factory=dict)
    """What else the provider says of it, and wants back with it: Gemini's signatures."""


Part = Says | Calls


def says(text: str) -> Says:
    """Have the model say `text`.

    Args:
        text: What it says.
    """
    return Says(text=text)


def calls(name: str, /, *, id: str | None = None, raw: str | None = None, **arguments: object) -> Calls:  # noqa: A002
    """Have the model call a tool.

    Args:
        name: The tool's name.
        id: The tool call id; default ``call_1``, ``call_2``, …
        raw: The JSON text of the arguments, for models that write it badly.
        arguments: The arguments: plain data, pydantic models, dates, …
    """
    text = json.dumps(to_jsonable_python(arguments), ensure_ascii=False) if raw is None else raw
    return Calls(name=name, arguments=text, id=id)


def parts_of(turn: object) -> list[Part]:
    """Return the parts of one turn of a script: a text, a `says`, a `calls`, or a list of them.

    Raises:
        ScriptError: It is none of these.
    """
    if isinstance(turn, str):
        return [says(turn)]
    if isinstance(turn, (Says, Calls)):
        return [turn]
    if isinstance(turn, Sequence):
        return [part for child in turn for part in parts_of(child)]
    raise ScriptError(
        f"A turn of a scripted model cannot be `{turn!r}`. "
        'Write `says("...")`, `calls("tool", argument=...)`, or a list of them for one turn.'
    )


def fragments(text: str, size: int) -> list[str]:
    """Cut `text` as a model's stream would: `size` characters each, at least one piece."""
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
