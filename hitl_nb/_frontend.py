"""The browser half, ready to send: one self-contained JavaScript module per widget, made without Node.

anywidget imports a widget's ``_esm`` from a ``blob:`` URL, and a blob URL has no neighbours: an import from
``"./kit.js"`` is not found from there. So the files in ``widgets/`` are joined here into one text, in an
order that works. They stay real ES modules, and what arrives in the browser is readable in its developer tools.

A linker that guesses would fail in front of the user, when a card is drawn. This one knows one form of import
and one of export, and refuses everything else with its file and line.
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from hitl_nb.errors import FrontendError

_IMPORT = re.compile(r'^import \{([^{}]*)\} from "\./([\w-]+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default\b)", re.MULTILINE)
_EXPORT_LIST = re.compile(r"^export \{([^{}]*)\};$", re.MULTILINE)
_DEFAULT = re.compile(r"^export default\b", re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async )?(?:const|let|var|class|function\*?) ([\w$]+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.MULTILINE | re.DOTALL)

# What would not be found by the browser, or break only when a card is drawn, and what to write instead.
_REFUSED = (
    (r"^import\b(?!\()", 'write `import { a, b } from "./file.js";`'),
    (r"\bimport\s*\(", "a linked module has no neighbours to load later; import at the top"),
    (r"^export .*\bfrom\s*[\"']", "import the name where it is used"),
    (r"^export \*", "import the name where it is used"),
    (r"^export \{[^}]*\bas\b", "export a name as it is"),
    (r"^export (?:const|let|var) [\[{]", "write `export const name = …`, one for each name"),
)


def _find_root(*places: Path) -> Path:
    for place in places:
        if place.is_dir():
            return place
    looked = ", ".join(f"`{place}`" for place in places)
    raise FrontendError(f"The browser half is missing, there is no {looked}: `pip install --force-reinstall hitl-nb`")


_HERE = Path(__file__).parent
ROOT = _find_root(_HERE / "widgets", _HERE.parent / "widgets")
"""The folder of the ``.js`` and ``.css`` files: in the package when installed, beside it in a checkout."""


@functools.cache
def linked(name: str, root: Path = ROOT) -> str:
    """The widget `name` and everything it imports, as one ES module for anywidget's ``_esm``.

    Args:
        name: an entry, ``<name>.js`` in `root`: the one file of the module with an ``export default``.
        root: the folder of the files.

    Returns:
        The module's text. Each file is in it once, before the files that use it.

    Raises:
        FrontendError: a file is missing, or holds an import or export that cannot be linked.
    """
    texts: dict[str, str] = {}
    _collect(name, root, texts, seen=set())
    _check_defaults(name, texts)
    _check_names(texts)
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts.values())


@functools.cache
def stylesheet(name: str, root: Path = ROOT) -> str:
    """The text of ``<name>.css`` in `root`, for anywidget's ``_css``.

    Raises:
        FrontendError: there is no such file.
    """
    return _read(root / f"{name}.css")


def _collect(name: str, root: Path, texts: dict[str, str], seen: set[str]) -> None:
    """Put the file `name` into `texts`, after what it imports.

    Depth first: any other order fails for a constant that two files share ("before initialization").
    """
    seen.add(name)
    text = _read(root / f"{name}.js")
    _check_forms(name, text)
    for found in _IMPORT.finditer(text):
        _check_import(name, text, found, root)
        if found[2] not in seen:
            _collect(found[2], root, texts, seen)
    texts[name] = text


def _check_forms(name: str, text: str) -> None:
    # What is understood becomes empty lines, so that the rest keeps its line numbers.
    rest = text
    for known in (_COMMENT, _IMPORT):
        rest = known.sub(lambda found: "\n" * found[0].count("\n"), rest)
    for pattern, instead in _REFUSED:
        if found := re.search(pattern, rest, re.MULTILINE):
            raise _error(name, rest, found, instead)


def _check_import(name: str, text: str, found: re.Match[str], root: Path) -> None:
    if " as " in found[1]:
        raise _error(name, text, found, "import a name as it is, without `as`")
    path = root / f"{found[2]}.js"
    if not path.is_file():
        raise _error(name, text, found, f"there is no `{path.name}` in `{root}`")
    if missing := sorted(set(_words(found[1])) - _exported(_read(path))):
        raise _error(name, text, found, f"write `export` before `{missing[0]}` in `{path.name}`")


def _check_defaults(entry: str, texts: dict[str, str]) -> None:
    if len(_DEFAULT.findall(texts[entry])) != 1:
        raise FrontendError(f"`{entry}.js` is no widget: it needs one `export default {{ initialize, render }};`")
    for name, text in texts.items():
        if name != entry and (found := _DEFAULT.search(text)):
            raise _error(name, text, found, "only the entry has a default; write `export const name = …`")


def _check_names(texts: dict[str, str]) -> None:
    """Refuse a name that two files declare: they share one namespace, and the browser would not say where."""
    owners: dict[str, str] = {}
    for name, text in texts.items():
        for found in _DECLARED.finditer(text):
            owner = owners.setdefault(found[2], name)
            if owner != name:
                raise _error(name, text, found, f"`{owner}.js` declares `{found[2]}`, too; rename one")


def _exported(text: str) -> set[str]:
    declared = {found[2] for found in _DECLARED.finditer(text) if found[1]}
    return declared.union(*(_words(found[1]) for found in _EXPORT_LIST.finditer(text)))


def _words(names: str) -> Iterator[str]:
    return (word for part in names.split(",") if (word := part.strip()))


def _error(name: str, text: str, found: re.Match[str], instead: str) -> FrontendError:
    line = text.count("\n", 0, found.start()) + 1
    shown = text.splitlines()[line - 1].strip()
    return FrontendError(f"`{name}.js`, line {line}, cannot be linked: `{shown}`; {instead}")


def _read(path: Path) -> str:
    """The file with a last line end: the next file must not begin in its last comment."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FrontendError(f"There is no `{path.name}` in `{path.parent}`.") from None
    return text if text.endswith("\n") else text + "\n"
