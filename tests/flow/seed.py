"""The documentation's own Flow, taken out of the seed at run time and never committed."""

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from tests.conftest import shared_file


def code_block(first_line: str) -> str:
    """The Python block of the seed document that begins with this comment, as a reader would paste it."""
    text = shared_file("seeds/000_*.txt").read_text(encoding="utf-8")
    for block in re.findall(r"^( *)```python[^\n]*\n(.*?)^ *```", text, flags=re.DOTALL | re.MULTILINE):
        indent, body = block
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        if lines and lines[0].strip() == first_line:
            return "\n".join(lines) + "\n"
    raise AssertionError(f"the seed has no block {first_line!r}")


def seed_flow(folder: Path) -> Any:
    """Import the seed's Flow class from a file of the name that the document gives it."""
    package = folder / "my_agents"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").touch()
    source = code_block("# human_in_the_loop_flow.py")
    (package / "human_in_the_loop_flow.py").write_text(source, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        importlib.invalidate_caches()
        return importlib.import_module("my_agents.human_in_the_loop_flow").HumanInTheLoopFlow
    finally:
        sys.path.remove(str(folder))
