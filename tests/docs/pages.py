"""The pages of the site, as Markdown: what is written once elsewhere, and the lists that code knows best."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

from hitl_nb import _doctor, errors
from tests.bench import __main__ as bench
from tests.conftest import REPO
from tests.public_names import DOORS as LISTED

NOTEBOOKS = REPO / "notebooks"
GUIDE = NOTEBOOKS / "guide"
DOORS = [f"hitl_nb{door}" for door in (*LISTED, ".interrupts", ".gates", ".session")]
"""In the order of the site's reference; the last three have names that stand at the package's own door, too."""

_HOW_TO = "how_to_"


def tutorials() -> list[Path]:
    """The numbered notebooks."""
    return sorted(path for path in NOTEBOOKS.glob("*.ipynb") if not path.name.startswith(_HOW_TO))


def how_tos() -> list[Path]:
    """The notebooks that answer one question each."""
    return sorted(NOTEBOOKS.glob(f"{_HOW_TO}*.ipynb"))


def title_of(markdown: str) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", markdown, flags=re.MULTILINE)
    assert found is not None
    return found[1]


def notebook_page(path: Path) -> str:
    """A notebook with its stored outputs."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data:  # one line: Markdown ends a block of HTML at an empty one
                data["text/html"] = re.sub(r"\n\s*\n", "\n", data["text/html"])
    text, found = MarkdownExporter().from_notebook_node(notebook, {"output_files_dir": f"{path.stem}_files"})
    assert isinstance(text, str)
    pictures[path.stem] = found["outputs"]
    return relinked(re.sub(r"\n{3,}", "\n\n", text), "tutorials")


pictures: dict[str, dict[str, bytes]] = {}
"""What notebooks drew, by the notebook; filled while its page is made."""


def relinked(text: str, base: str) -> str:
    """Links between files of the repository as links between pages of the site.

    Args:
        text: The page.
        base: The folder of the site that it will stand in; "" is the top.
    """

    def link(found: re.Match[str]) -> str:
        target, _, fragment = found[2].partition("#")
        if target.startswith(("http", "data:", "mailto:")) or not target:
            return found[0]
        notebook = re.fullmatch(r"(?:notebooks/)?(\w+)\.ipynb", target)
        guide = re.fullmatch(r"notebooks/(guide/\w+\.md)", target)
        place = f"tutorials/{notebook[1]}.md" if notebook else guide[1] if guide else _PAGES.get(target)
        if place is None:  # a picture: beside the notebook that drew it, or in its folder
            return found[0] if base else f"]({target.removeprefix('notebooks/')})"
        return f"]({'../' if base else ''}{place}{'#' if fragment else ''}{fragment})"

    return re.sub(r"(\])\(([^)\s]+)\)", link, text)


_PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "LICENSE": "licences.md",
}


def door_page(door: str) -> str:
    """One door: each name of its ``__all__``, with all that its docstring says."""
    module = importlib.import_module(door)
    if module.__all__ and all(name in _package_names() for name in module.__all__) and door != "hitl_nb":
        rows = "\n".join(f"- [`{name}`](hitl_nb.md#hitl_nb.{name})" for name in module.__all__)
        return f"# {door}\n\nThe same names stand at the package's own door:\n\n{rows}\n"
    blocks = [
        f"# {door}\n\n::: {door}\n    options: {{members: [], show_root_heading: false, show_root_toc_entry: false}}\n"
    ]
    for name in module.__all__:
        if door != "hitl_nb" and name in _package_names():
            blocks.append(f"- [`{name}`](hitl_nb.md#hitl_nb.{name}): at the package's own door, too.\n")
        elif name in _UNSEEN:
            blocks.append(_UNSEEN[name])
        else:
            blocks.append(f"::: {door}.{name}\n")
    return "\n".join(blocks)


def _package_names() -> list[str]:
    return list(importlib.import_module("hitl_nb").__all__)


_UNSEEN = {
    "interrupt": (
        "::: hitl_nb.interrupt\n\n"
        "What it gives depends on what it is given; type checkers see:\n\n"
        "::: hitl_nb.interrupts._interrupt.Interrupt\n"
        "    options: {show_root_heading: false, show_root_toc_entry: false, show_docstring_description: false,"
        " filters: [], members: [__call__, sync]}\n"
    )
}
"""What a static look cannot see: an instance whose overloads are those of a protocol."""


def doctor_table() -> str:
    """What the doctor may say, from its own source."""
    rows = ["| about | ✕ or ! | it says | write |", "|---|---|---|---|"]
    for finding in _findings(Path(_doctor.__file__)):
        if finding.get("about") == "host":
            rows += [f"| host | ! | {name}{words} | {line} |" for name, (words, line) in _doctor.OF_HOSTS.items()]
        elif finding.get("level") != "ok":
            cells = (finding.get(name, "") for name in ("about", "level", "found", "write"))
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _findings(path: Path) -> Iterator[dict[str, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Finding":
            found = {keyword.arg or "": _words(keyword.value) for keyword in node.keywords}
            yield {**found, "level": _LEVELS.get(found.get("level", ""), found.get("level", ""))}


_LEVELS = {"fail": "✕", "warn": "!", "ok": "ok"}


def _words(node: ast.expr) -> str:
    """The text of an expression, with … for what is known only when it runs."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return "…"
    if isinstance(node, ast.IfExp):
        either = [words for words in (_words(node.body), _words(node.orelse)) if words not in ("", "…", "ok")]
        return either[-1] if either else ""
    return "…"


def errors_tree() -> str:
    """The tree of errors, as its module draws it."""
    doc = str(errors.__doc__)
    tree = re.search(r"^::\n\n(.*?)\n\n(?=\S)", doc, flags=re.DOTALL | re.MULTILINE)
    assert tree is not None
    drawn = re.sub("^    ", "", tree[1], flags=re.MULTILINE)
    return f"```text\n{drawn}\n```\n\nEach of them: [`hitl_nb.errors`](../reference/hitl_nb.errors.md)."


def figures() -> str:
    """What `make bench --write` has measured last, as bars and as a table."""
    measured, found = bench.kept()
    bars = f'<div class="bars">{bench.plot(found)}</div>'
    return f"Measured {measured}; the dashed line is the goal.\n\n{bars}\n\n{bench.table(found)}"
