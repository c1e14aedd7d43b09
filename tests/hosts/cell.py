"""What was found in one host in one situation."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """One cell of the table."""

    found: str
    """``yes``; ``words``: it cannot, says so at once, and ends with the line to write; ``no``."""

    said: str = ""
    """What it said, or what was seen in place of it."""

    why: str = ""
    """Of a known ``no``: why it is one, and what to do instead, in words for a user."""


_A_LINE = re.compile(r"a script:|Use two cells|answer its card first|Write `|create_task|people=")


def words(said: str) -> Cell:
    """Words with the line to write, or anything else that was said."""
    first = said.strip().splitlines()[0] if said.strip() else "it hangs, without a word"
    first = re.sub(r" \((interrupt|call)_\w+\)", "", first)
    return Cell("words" if _A_LINE.search(said) else "no", first[:160])
