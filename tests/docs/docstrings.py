"""What the reference makes of docstrings: a block behind "::" is code, as in reStructuredText, drawn by Markdown."""

import copy
import re
from typing import Any

import griffe

_BLOCK = re.compile(r"(?m)^(?P<indent> *)(?P<before>.*?)::[ ]*\n\n(?P<block>(?:(?P=indent) {4,}.*\n?|[ ]*\n)+)")


def as_markdown(text: str) -> str:
    """A docstring whose literal blocks are fences."""

    def fence(found: re.Match[str]) -> str:
        indent, block = found["indent"], found["block"].rstrip()
        lines = [line[4:] if line.strip() else indent for line in block.split("\n")]
        kind = (
            "python" if re.search(r"^\s*(from|import|await|@|def|async|with|[\w.]+ = |[\w.]+\()", lines[0]) else "text"
        )
        before = f"{indent}{found['before']}:\n\n" if found["before"] else ""
        return f"{before}{indent}```{kind}\n" + "\n".join(lines) + f"\n{indent}```\n\n"

    return _BLOCK.sub(fence, text)


class Fences(griffe.Extension):
    """Changes each docstring as it is read, and shows a protocol's overloads; the source stays as it is."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Mend one."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Make members of overloads without an implementation, which a protocol has."""
        for name, overloads in cls.overloads.items():
            if name not in cls.members:
                shown = copy.copy(overloads[-1])
                shown.overloads = list(overloads)
                cls.set_member(name, shown)
