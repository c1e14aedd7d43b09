"""The browser half, ready to send: one self-contained JavaScript module per widget, made without Node.

anywidget imports a widget's ``_esm`` from a ``blob:`` URL, and a blob URL has no neighbours: an import from
``"./kit.js"`` is not found from there. So the files in ``widgets/`` are joined here into one text, in an
order that works, each in a scope of its own: a name is nobody's business but of the file that declares it, and of those
that import it. They stay real ES modules, and what arrives in the browser is readable in its developer tools, but for
the comments and types, which stay here: every notebook with a card would carry them.

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
_EXPORTED = re.compile(r"^export (?:async )?(?:const|class|function\*?) ([\w$]+)", re.MULTILINE)
_COMMENT = re.compile(r"/\*.*?\*/|^\s*//.*?$", re.MULTILINE | re.DOTALL)

# What would not be found by the browser, or break only when a card is drawn, and what to write instead.
_REFUSED = (
    (r"^import\b(?!\()", 'write `import { a, b } from "./file.js";`'),
    (r"\bimport\s*\(\s*(?!url\))", "a linked module has no neighbours to load later; import at the top"),
    (r"^export .*\bfrom\s*[\"']", "import the name where it is used"),
    (r"^export \*", "import the name where it is used"),
    (r"^export \{[^}]*\bas\b", "export a name as it is"),
    (r"^export (?:const|let|var) [\[{]", "write `export const name = …`, one for each name"),
    (r"^export (?:let|var)\b", "export a constant, or a function that gives what has changed"),
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
    scopes = _Scopes(texts)
    others = [scopes.closed(path, entries.get(path)) for path in texts if path != entry]
    return "\n".join([*scopes.begun(), *others, scopes.body(entry)])


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


class _Scopes:
    """The files of one text, each in a scope of its own, in the order in which they run.

    A file gives what it exports as an object, once it has run. Files that import each other cannot wait for that: what
    one of them takes before it is there has to be a function, as it is for ES modules, too.
    """

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = texts
        self._order = {path: number for number, path in enumerate(texts)}
        self._names = {
            path: f"${number}_{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}" for path, number in self._order.items()
        }
        self._early: dict[Path, set[str]] = {}
        for path, text in texts.items():
            for found in _IMPORT.finditer(text):
                other = _place(path, found)
                if self._order[other] >= self._order[path]:
                    self._early.setdefault(other, set()).update(_names_in(found[1]))
                    self._check_early(path, text, found, other)

    def _check_early(self, path: Path, text: str, found: re.Match[str], other: Path) -> None:
        for word in _names_in(found[1]):
            if not re.search(rf"^export (?:async )?function\*? {re.escape(word)}\b", self._texts[other], re.MULTILINE):
                instead = (
                    f"`{other.name}` imports it, too, and only an `export function` can be used before it is there"
                )
                raise _error(path, text, found, instead)

    def begun(self) -> Iterator[str]:
        """The objects of those that are imported before they have run."""
        return (f"const {self._names[path]} = {{}};\n" for path in self._early)

    def closed(self, path: Path, card: str | None) -> str:
        """A file, run in its own scope; a card's default is then a constant of the text."""
        body, exports, name = self.body(path), sorted(_exported(self._texts[path])), self._names[path]
        if card is not None:
            body, exports = _DEFAULT.sub("const $default =", body), ["$default", *exports]
        given = f"{{ {', '.join(exports)} }}"
        if path in self._early:
            run = f"(() => {{\n{body}Object.assign({name}, {given});\n}})();\n"
        else:
            run = f"const {name} = (() => {{\n{body}return {given};\n}})();\n"
        return run if card is None else f"{run}const {_constant(card)} = {name}.$default;\n"

    def body(self, path: Path) -> str:
        """What stands in a file, with its imports taken from where they are."""
        text = self._texts[path]

        def taken(found: re.Match[str]) -> str:
            other, words = self._names[place := _place(path, found)], sorted(set(_names_in(found[1])))
            if self._order[place] < self._order[path]:
                return f"const {{ {', '.join(words)} }} = {other};\n"
            return "".join(f"const {word} = (...given) => {other}.{word}(...given);\n" for word in words)

        own = without_comments(_EXPORT.sub("", _IMPORT.sub(taken, text)))
        early = sorted(self._early.get(path, ()))
        return f"Object.assign({self._names[path]}, {{ {', '.join(early)} }});\n{own}" if early else own


_MARK = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|[`{}/]""", re.DOTALL
)
_TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/")
_ENDS_A_VALUE = re.compile(
    r"(?:[)\]}\"'`]|(?<![\w$.])(?!(?:return|typeof|case|in|of|do|else|void|throw|await|yield)\b)[\w$]+)\s*$"
)
"""Behind this, a slash divides; behind anything else it begins a regular expression."""


def without_comments(text: str) -> str:
    """Return JavaScript without its comments (but for ``/*! … */``: licences), and otherwise as it is."""
    kept: list[str] = []
    braces: list[int] = []  # that are open, in each `${…}` around
    done = at = 0
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark["comment"] and not mark[0].startswith("/*!"):
            kept.append(text[done : mark.start()])
            done = at = _without_its_line(text, mark, kept)
        elif mark[0] == "/":
            line = text[text.rfind("\n", 0, mark.start()) + 1 : mark.start()]
            regex = None if _ENDS_A_VALUE.search(line) else _REGEX.match(text, mark.start())
            at = regex.end() if regex else at
        elif mark[0] == "{" and braces:
            braces[-1] += 1
        elif mark[0] == "}" and braces and braces[-1]:
            braces[-1] -= 1
        elif mark[0] == "`" or (mark[0] == "}" and braces):
            if mark[0] == "}":
                braces.pop()
            if (template := _TEMPLATE.match(text, at)) is None:
                return text  # it does not even end; the browser says so better
            at = template.end()
            if text[at - 1] == "{":
                braces.append(0)
    return "".join([*kept, text[done:]])


def _without_its_line(text: str, comment: re.Match[str], kept: list[str]) -> int:
    """Take the line out of `kept` on which nothing but a comment stands; return where the text goes on behind it."""
    end = comment.end()
    before, after = kept[-1].rstrip(" "), text[end : end + 1]
    if after in ("\n", ""):
        kept[-1] = before
        return end + 1 if not before or before.endswith("\n") else end
    if "\n" in comment[0]:
        kept.append("\n")
    elif before == kept[-1] and before[-1:] not in ("", "(", "\n"):
        kept.append(" ")
    return end + (after == " ")


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
    """The file that an import names; refuses what it does not export."""
    if " as " in found[1]:
        raise _error(path, text, found, "import a name as it is, without `as`")
    other = _place(path, found)
    if not other.is_file():
        raise _error(path, text, found, f"there is no `{other.name}` in `{path.parent}`")
    if missing := sorted(set(_names_in(found[1])) - _exported(_read(other))):
        raise _error(path, text, found, f"write `export` before `{missing[0]}` in `{other.name}`")
    return other


def _place(path: Path, found: re.Match[str]) -> Path:
    """Where an import leads: beside the file that imports, or else to one of ours."""
    beside, ours = (folder / f"{found[2]}.js" for folder in (path.parent, ROOT))
    return ours if ours.is_file() and not beside.is_file() else beside


def _check_defaults(entries: set[Path], texts: dict[Path, str]) -> None:
    for entry in entries:
        if len(_DEFAULT.findall(texts[entry])) != 1:
            raise FrontendError(f"`{entry.name}` is no widget and no card: it needs one `export default …;`")
    for path, text in texts.items():
        if path not in entries and (found := _DEFAULT.search(text)):
            raise _error(path, text, found, "only the entry has a default; write `export const name = …`")


def _exported(text: str) -> set[str]:
    declared = {found[1] for found in _EXPORTED.finditer(text)}
    return declared.union(*(_names_in(found[1]) for found in _EXPORT_LIST.finditer(text)))


def _names_in(names: str) -> Iterator[str]:
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
