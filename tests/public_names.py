"""Every public name with its parameters and first sentence, as CONTRIBUTING lists them: `python -m tests.public_names`.

`--write` puts the list into CONTRIBUTING.md; a test keeps the two the same.
"""

import importlib
import inspect
import re
import sys
from inspect import Parameter
from pathlib import Path

CONTRIBUTING = Path(__file__).parent.parent / "CONTRIBUTING.md"
DOORS = (
    "",
    ".cards",
    ".data",
    ".people",
    ".agents",
    ".agui",
    ".crewai",
    ".chat",
    ".testing",
    ".journal",
    ".inbox",
    ".mcp",
    ".errors",
)
BEGIN, END = "<!-- names: begin -->", "<!-- names: end -->"


def listed() -> str:
    """Give the list, one table a door."""
    return "\n\n".join(_door(f"hitl_nb{door}") for door in DOORS)


def _door(name: str) -> str:
    door = importlib.import_module(name)
    rows = [f"| `{name}.` | |", "|---|---|"]
    rows += [
        f"| `{each}{_signature(getattr(door, each))}` | {_sentence(getattr(door, each))} |" for each in door.__all__
    ]
    return "\n".join(rows)


def _signature(thing: object) -> str:
    if not callable(thing) or (isinstance(thing, type) and issubclass(thing, BaseException)):
        return ""
    try:
        stars: dict[object, str] = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}
        names = []
        for each in inspect.signature(thing).parameters.values():
            star = stars.get(each.kind, "")
            default = "=" if each.default is not each.empty else ""
            names.append(f"{star}{each.name}{default}")
        return f"({', '.join(names)})"
    except (TypeError, ValueError):
        return ""


def _sentence(thing: object) -> str:
    text = inspect.getdoc(thing) or ""
    first = re.split(r"(?<=[.:])\s", " ".join(text.split("\n\n")[0].split()))[0]
    return first.rstrip(":").replace("|", "\\|")


def main() -> None:
    if "--write" not in sys.argv:
        print(listed())
        return
    text = CONTRIBUTING.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    CONTRIBUTING.write_text(f"{before}{BEGIN}\n\n{listed()}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
