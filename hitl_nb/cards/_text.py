"""Text of a model, made safe to look at.

It is never HTML. Characters that change what a reader sees without being seen (bidirectional overrides, zero-width
and control characters) are shown escaped, with a warning: a person must see what they approve.
"""

import json
import re
from typing import Any

from hitl_nb._schema import readable

WARNING = "This text contains invisible or direction-changing characters; they are shown escaped."

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]|[\ud800-\udfff]"
)
_NAME = re.compile(r"\w[\w .:/#-]*")
# An emoji's own joiners and variation selectors are part of a visible sign, not a disguise.
_EMOJI_JOINER = re.compile("(?<=[\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff\ufe0f])[\u200d\ufe0f]")


def visible(text: str) -> str:
    """Give `text` with every invisible character written as its Unicode escape."""
    kept = {match.start() for match in _EMOJI_JOINER.finditer(text)}
    return _INVISIBLE.sub(lambda match: match[0] if match.start() in kept else _escape(match[0]), text)


def visible_line(text: str) -> str:
    """Give `text` so in one line: where a second one could be taken for something else."""
    return visible(text).replace("\n", " ⏎ ")


def visible_name(name: str) -> str:
    """Give a tool's name as it stands in a line of ours; in quotes if a model has made one up that is no name."""
    return name if _NAME.fullmatch(name) else visible_line(json.dumps(name, ensure_ascii=False))


def suspicious(text: str) -> bool:
    """Whether `visible` shows something that the plain text would hide."""
    return visible(text) != text


def visible_tree(value: Any) -> tuple[Any, bool]:
    """Give plain JSON with every string made visible, and whether any of them hid something."""
    if isinstance(value, str):
        return visible(value), suspicious(value)
    if isinstance(value, dict):
        pairs = {key: visible_tree(child) for key, child in value.items()}
        return {key: child for key, (child, _) in pairs.items()}, any(found for _, found in pairs.values())
    if isinstance(value, list):
        shown = [visible_tree(child) for child in value]
        return [child for child, _ in shown], any(found for _, found in shown)
    return value, False


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08x}"


def plain(value: Any) -> str:
    """Give any argument or answer as text for a reader: strings as they are, the rest as indented JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    shown = readable(value)
    return shown if isinstance(shown, str) else json.dumps(shown, indent=2, ensure_ascii=False)
