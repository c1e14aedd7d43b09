"""What differs between what was recorded and what is asked now, for a reader in a terminal."""

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any, Final

from hitl_nb.journal._hiding import MASK

_LONGEST: Final = 60
"""Lines of a difference that are shown."""


def aligned(recorded: Any, live: Any) -> Any:
    """Give `live` with the stars of `recorded` wherever a secret may have stood there."""
    if isinstance(recorded, str) and MASK in recorded:
        return recorded if _may_be(recorded, live) else live
    if isinstance(recorded, dict) and isinstance(live, dict):
        return {name: aligned(recorded.get(name), part) for name, part in live.items()}
    if isinstance(recorded, list) and isinstance(live, list):
        rest = [*recorded, *[None] * len(live)]
        return [aligned(*pair) for pair in zip(rest, live, strict=False)]
    return live


def _may_be(recorded: str, live: Any) -> bool:
    text = live if isinstance(live, str) else json.dumps(live, ensure_ascii=False)
    if re.fullmatch(".*".join(map(re.escape, recorded.split(MASK))), text, re.DOTALL):
        return True
    try:
        # JSON inside of JSON is spaced anew where a secret is taken out.
        inside = json.loads(recorded)
        return bool(aligned(inside, json.loads(text)) == inside)
    except ValueError:
        return False


def difference(recorded: Any, live: Any, before: str, now: str) -> str:
    """Give a unified difference of two pieces of plain JSON; empty if there is none."""
    old, new = list(_lines(recorded)), list(_lines(aligned(recorded, live)))
    found = list(unified_diff(old, new, before, now, lineterm="", n=2))
    more = [f"… {len(found) - _LONGEST} more lines"] if len(found) > _LONGEST else []
    return "\n".join([*found[:_LONGEST], *more])


def _lines(value: Any, indent: str = "") -> Iterator[str]:
    """One value a line, without indices: an entry more in front does not move the rest."""
    if isinstance(value, dict):
        for name in sorted(value, key=str):
            yield from _entry(f"{indent}{name}:", value[name], indent + "  ")
    elif isinstance(value, list):
        for part in value:
            yield from _entry(f"{indent}-", part, indent + "  ")
    else:
        yield from _entry(indent, value, indent)


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield head
        yield from _lines(value, indent)
    elif isinstance(value, str) and "\n" in value:
        yield f"{head} |"
        yield from (f"{indent}{line}" for line in value.split("\n"))
    else:
        yield f"{head} {json.dumps(value, ensure_ascii=False)}"
