"""What an answer looks like on the wire.

A tool message carries a string. The table is the web's (CopilotKit's `respond`): a string travels verbatim,
nothing becomes the empty string, all else is compact JSON with non-ASCII kept and NaN as ``null``.
The typed value itself stays in the kernel, in ``Call.answer``.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from hitl_nb._limits import ANSWER, TooMuch, refuse_endless
from hitl_nb.errors import InvalidValue

ABORTED = "Error: Human-in-the-loop interaction aborted"
"""The web client's own words for a call that was stopped; models know them."""

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_CHANGED = "The user changed your proposal before approving it. Go on with the final value."
_NOT_DONE = "This was NOT executed. Do not call it again with the same arguments unless the user asks for it."


def encode(value: object) -> str:
    """Return the tool message content for an answer.

    Args:
        value: None, a string, plain data, a pydantic model, dataclass, date, Decimal, set, … or a mix.

    Raises:
        InvalidValue: `value` has no JSON form (a DataFrame, an open file, a cycle), or a very long one.

    ======================  =======================
    ``None``, ``""``        ``""``
    ``"a string"``          verbatim
    ``True``, ``0``         ``true``, ``0``
    ``float("nan")``        ``null``
    ``{"a": 1}``            ``{"a":1}``
    a pydantic model        its JSON, compact
    ======================  =======================
    """
    if value is None:
        return ""
    try:
        text = _encoded(value)
    except TooMuch as error:
        raise InvalidValue(f"The answer, a `{type(value).__name__}`, cannot be sent to the model: {error}.") from error
    if len(text) > ANSWER:
        raise InvalidValue(
            f"The answer has {len(text):,} characters, and a model is sent {ANSWER:,} at most. "
            "Answer with a part of it, or with where it is, e.g. a file's name."
        )
    return text


def _encoded(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    refuse_endless(value)
    try:
        return to_json(value, inf_nan_mode="null", by_alias=True, fallback=_number).decode()
    except (PydanticSerializationError, ValueError, TypeError, UnicodeError) as error:
        if "surrogates not allowed" in str(error):
            return _encode_halves(value)
        raise InvalidValue(
            f"The answer, a `{type(value).__name__}`, cannot be sent to the model: {error}. "
            "Answer with plain data or a pydantic model instead, e.g. `call.respond(df.to_dict('records'))`."
        ) from error


def _number(value: Any) -> Any:
    """A number of numpy's as Python's; everything else has no JSON form."""
    if getattr(value, "shape", None) == () and hasattr(value, "dtype"):
        return value.item()
    raise TypeError(f"Unable to serialize unknown type: {type(value)}")


def _encode_halves(value: object) -> str:
    """Encode what holds half a surrogate pair, as a model may write it: escaped, as by the web's `JSON.stringify`."""
    plain = to_jsonable_python(value, inf_nan_mode="null", by_alias=True)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return _HALF_PAIR.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def whole_text(text: str) -> str:
    """Return a text that can be sent: halves of a pair that stand together are joined, one that stands alone is U+FFFD.

    A stream that is cut inside an emoji leaves halves, and no UTF-8 has room for them.
    """
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def edited_content(value: object, edits: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the model is told of a proposal that a person changed before approving it.

    Args:
        value: The final value.
        edits: ``{"path": …, "from": …, "to": …}`` each, plain JSON.
    """
    return {"status": "edited", "approved": True, "value": value, "edits": list(edits), "message": _CHANGED}


def encode_instead(text: str) -> str:
    """Return the tool message content for words that a person gave in place of an approval."""
    content = {
        "status": "answered_instead",
        "approved": False,
        "message": f"The user did not approve; their answer: {text}",
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def encode_refusal(status: str, reason: str | None) -> str:
    """Return the tool message content for a call that ended without an answer: structured, and unmistakable."""
    content = {"status": status, "approved": False, "reason": reason, "message": _NOT_DONE}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def encode_error(message: str) -> str:
    """Return the tool message content that tells the model its call was wrong, so that it can call again."""
    return json.dumps({"error": message}, ensure_ascii=False, separators=(",", ":"))
