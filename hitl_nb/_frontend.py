"""The browser half, ready to send: one self-contained JavaScript module per widget, made without Node.

anywidget imports a widget's ``_esm`` from a ``blob:`` URL, and a blob URL has no neighbours: an import from
``"./kit.js"`` is not found from there. So the files in ``widgets/`` are joined here into one text, in an
order that works. They stay real ES modules, and what arrives in the browser is readable in its developer tools.

A linker that guesses would fail in front of the user, when a card is drawn. This one knows one form of import
and one of export, and refuses everything else with its file and line.

The cards of other packages are linked in the same way, each into a text of its own with the files of ours that it
imports. A run carries these texts and imports each from a ``blob:`` URL: so every one has its own names, and one that
does not even parse takes no other with it.
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
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
    (r"\bimport\s*\(\s*(?!url\))", "a linked module has no neighbours to load later; import at the top"),
    (r"^export .*\bfrom\s*[\"']", "import the name where it is used"),
    (r"^export \*", "import the name where it is used"),
    (r"^export \{[^}]*\bas\b", "export a name as it is"),
    (r"^export (?:const|let|var) [\[{]", "write `export const name = …`, one for each name"),
)


# What a card may not do, ours no more than others: a text of a model is no markup, and keys belong to whoever has the
# focus. (A package is code that somebody has installed; this catches mistakes, not malice.)
_REFUSED_IN_CARDS = (
    (r"innerHTML|outerHTML|insertAdjacent|document\.write|createContextualFragment", "draw text with `h(…, { text })`"),
    (r"\beval\(|new Function|\bimport\s*\(", "what a card runs stands in its file"),
    (r"\b(?:document|window|globalThis|self)\s*\.\s*(?:addEventListener|on[a-z]+\b)", "listen at elements of the card"),
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
def linked(name: str, root: Path = ROOT, *, cards: tuple[str, ...] = ()) -> str:
    """The module `name` and everything it imports, as one ES module.

    Args:
        name: an entry, ``<name>.js`` in `root`: a file with an ``export default``.
        root: the folder of the files; what is not there is looked for among ours.
        cards: entries in `root` that are put in as the list of ``cards.js``.

    Returns:
        The module's text. Each file is in it once, before the files that use it.

    Raises:
        FrontendError: a file is missing, or holds an import or export that cannot be linked.
    """
    texts: dict[Path, str] = {}
    seen: set[Path] = set()
    entries = {root / f"{card}.js": card for card in cards}
    for path in entries:
        _collect(path, texts, seen)
    if cards:
        texts[root / "cards.js"] = _list_of(cards)
        seen.add(root / "cards.js")
    entry = root / f"{name}.js"
    _collect(entry, texts, seen)
    _check_defaults({entry, *entries}, texts)
    _check_names(texts)
    return "\n".join(_joined(text, entries.get(path)) for path, text in texts.items())


def with_others(run: str, others: Mapping[str, str]) -> str:
    """The text of a run that also carries cards of other packages: the linked text of each, by its name."""
    pairs = json.dumps(list(others.items()), ensure_ascii=True)
    return run.replace(_NO_OTHERS, f"const OTHERS = new Map({pairs});", 1) if others else run


_NO_OTHERS = "const OTHERS = new Map();"


def _list_of(cards: tuple[str, ...]) -> str:
    pairs = "".join(f'  ["{card}", {_constant(card)}],\n' for card in cards)
    return f"export const CARDS = new Map([\n{pairs}]);\nexport {_NO_OTHERS}\n"


def _constant(card: str) -> str:
    return f"card_{card}"


def _joined(text: str, card: str | None) -> str:
    inside = _EXPORT.sub("", _IMPORT.sub("", text))
    return inside if card is None else _DEFAULT.sub(f"const {_constant(card)} =", inside)


@functools.cache
def stylesheet(name: str, root: Path = ROOT) -> str:
    """The text of ``<name>.css`` in `root`, for anywidget's ``_css``.

    Raises:
        FrontendError: there is no such file.
    """
    return _read(root / f"{name}.css")


def scoped(path: Path, selector: str) -> str:
    """The styles of a card of another package, which reach the inside of that card and nothing else.

    Raises:
        FrontendError: there is no such file, or its braces do not match: the styles behind it would be lost.
    """
    text = _CSS_COMMENT.sub("", _read(path))
    depth = 0
    for sign in _CSS_STRING.sub("", text):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            break
    if depth != 0:
        raise FrontendError(f"`{path.name}` cannot be used: its braces do not match; each `{{` needs one `}}`.")
    return f"{selector} {{\ncontain: layout;\noverflow: clip;\noverflow-clip-margin: 6px;\n\n{text}}}\n"


_CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CSS_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")


def _collect(path: Path, texts: dict[Path, str], seen: set[Path]) -> None:
    """Put the file at `path` into `texts`, after what it imports.

    Depth first: any other order fails for a constant that two files share ("before initialization").
    """
    seen.add(path)
    text = _read(path)
    _check_forms(path, text)
    for found in _IMPORT.finditer(text):
        other = _neighbour(path, text, found)
        if other not in seen:
            _collect(other, texts, seen)
    texts[path] = text


def _check_forms(path: Path, text: str) -> None:
    # What is understood becomes empty lines, so that the rest keeps its line numbers.
    rest = text
    for known in (_COMMENT, _IMPORT):
        rest = known.sub(lambda found: "\n" * found[0].count("\n"), rest)
    for pattern, instead in (*_REFUSED, *(() if path.parent == ROOT else _REFUSED_IN_CARDS)):
        if found := re.search(pattern, rest, re.MULTILINE):
            raise _error(path, rest, found, instead)


def _neighbour(path: Path, text: str, found: re.Match[str]) -> Path:
    """The file that an import names: beside the one that imports it, or else one of ours."""
    if " as " in found[1]:
        raise _error(path, text, found, "import a name as it is, without `as`")
    places = [folder / f"{found[2]}.js" for folder in (path.parent, ROOT)]
    other = next((place for place in places if place.is_file()), None)
    if other is None:
        raise _error(path, text, found, f"there is no `{places[0].name}` in `{path.parent}`")
    if missing := sorted(set(_words(found[1])) - _exported(_read(other))):
        raise _error(path, text, found, f"write `export` before `{missing[0]}` in `{other.name}`")
    return other


def _check_defaults(entries: set[Path], texts: dict[Path, str]) -> None:
    for entry in entries:
        if len(_DEFAULT.findall(texts[entry])) != 1:
            raise FrontendError(f"`{entry.name}` is no widget and no card: it needs one `export default …;`")
    for path, text in texts.items():
        if path not in entries and (found := _DEFAULT.search(text)):
            raise _error(path, text, found, "only the entry has a default; write `export const name = …`")


def _check_names(texts: dict[Path, str]) -> None:
    """Refuse a name that two files declare: they share one namespace, and the browser would not say where."""
    owners: dict[str, Path] = {}
    for path, text in texts.items():
        for found in _DECLARED.finditer(text):
            owner = owners.setdefault(found[2], path)
            if owner != path:
                raise _error(path, text, found, f"`{owner.name}` declares `{found[2]}`, too; rename one")


def _exported(text: str) -> set[str]:
    declared = {found[2] for found in _DECLARED.finditer(text) if found[1]}
    return declared.union(*(_words(found[1]) for found in _EXPORT_LIST.finditer(text)))


def _words(names: str) -> Iterator[str]:
    return (word for part in names.split(",") if (word := part.strip()))


def _error(path: Path, text: str, found: re.Match[str], instead: str) -> FrontendError:
    line = text.count("\n", 0, found.start()) + 1
    shown = text.splitlines()[line - 1].strip()
    return FrontendError(f"`{path.name}`, line {line}, cannot be linked: `{shown}`; {instead}")


def _read(path: Path) -> str:
    """The file with a last line end: the next file must not begin in its last comment."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FrontendError(f"There is no `{path.name}` in `{path.parent}`.") from None
    return text if text.endswith("\n") else text + "\n"
