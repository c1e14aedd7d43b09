"""The lines of a docstring that describe parameters: Google's `Args:` and numpy's `Parameters`.

Only these two, because they are what notebooks contain; anything else is left alone rather than guessed at.
"""

import re
from typing import Final

__all__ = ["described_parameters"]

_GOOGLE_SECTION: Final = re.compile(r"^(Args|Arguments|Parameters|Params):\s*$")
_GOOGLE_ENTRY: Final = re.compile(r"^(?P<indent>\s+)\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY: Final = re.compile(r"^\*{0,2}(?P<names>\w+(\s*,\s*\w+)*)\s*(:.*)?$")


def described_parameters(docstring: str) -> dict[str, str]:
    """Parameter name → its description on one line, as far as `docstring` (already dedented) says.

    ======================================  ===========================
    ``Args:`` / ``    x: How far.``         ``{"x": "How far."}``
    ``Args:`` / ``    x (int): How far.``   ``{"x": "How far."}``
    ``Parameters`` / ``----------`` /
    ``x : int`` / ``    How far.``          ``{"x": "How far."}``
    anything else                           ``{}``
    ======================================  ===========================
    """
    lines = docstring.expandtabs(4).splitlines()
    for number, line in enumerate(lines):
        if _GOOGLE_SECTION.match(line):
            return _google(lines[number + 1 :])
        if line.strip() == "Parameters" and re.match(r"^-{3,}\s*$", "".join(lines[number + 1 : number + 2])):
            return _numpy(lines[number + 2 :])
    return {}


def _google(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    indent, current = "", None
    for line in lines:
        if line.strip() and not line.startswith(" "):
            break  # the next section
        entry = _GOOGLE_ENTRY.match(line)
        if entry and len(entry["indent"]) <= len(indent or entry["indent"]):
            indent, current = entry["indent"], entry["name"]
            found[current] = [entry["text"]]
        elif current is not None:
            found[current].append(line)
    return _joined(found)


def _numpy(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for number, line in enumerate(lines):
        if re.match(r"^-{3,}\s*$", "".join(lines[number + 1 : number + 2])):
            break  # `line` is the next section's title
        entry = _NUMPY_ENTRY.match(line)
        if entry:
            current = re.split(r"\s*,\s*", entry["names"])
            found.update({name: [] for name in current})
        elif line.startswith(" "):
            for name in current:
                found[name].append(line)
    return _joined(found)


def _joined(found: dict[str, list[str]]) -> dict[str, str]:
    texts = {name: " ".join(part.strip() for part in parts if part.strip()) for name, parts in found.items()}
    return {name: text for name, text in texts.items() if text}
