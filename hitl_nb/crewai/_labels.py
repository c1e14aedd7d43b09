"""Which of the outcomes somebody has written: without case and punctuation, and nothing that has to be understood."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_AROUND: Final = "\"'`*()[]{}<>“”„‘’‚«»‹›"  # noqa: RUF001 - these are the quotes that people type
_AFTER: Final = ".,;:!…。、！"  # noqa: RUF001
"""What may stand at the end of a word without another sense. A question mark is a question, and no yes."""
_BETWEEN: Final = re.compile(r"(?<=\w)(?:[.,;:!]+\s+|[\s_\-‐‑–—]+)(?=\w)")  # noqa: RUF001
"""What joins two words: ``needs_changes``, ``Needs changes``, ``needs-changes``."""


def label_of(words: str, labels: Sequence[str]) -> str | None:
    """Give the label that the words are; None if they are none, or could be two.

    >>> label_of("Approved!", ["approved", "rejected"])
    'approved'
    >>> label_of("no!", ["approved", "rejected"])
    """
    if words.strip() in labels:
        return words.strip()
    bare = _bare(words)
    found = [label for label in labels if bare and _bare(label) == bare]
    return found[0] if len(found) == 1 else None


def _bare(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    before = None
    while before != text:
        before = text
        text = text.rstrip(_AROUND + _AFTER).lstrip(_AROUND).strip()
    return _BETWEEN.sub(" ", text)
