"""Words of a model or of code as a tree of marks and texts: Markdown, parsed here, built in the browser as text.

A kept parser (markdown-it-py: CommonMark and tables, no HTML) finds the marks; what leaves here is a tree, and a
browser makes elements of it, never of a text. Two promises go beyond the parser's. No picture is fetched from
anywhere: one that is not in the text itself stands there as words, with the address it would have come from; and a
link shows where it goes. And no character that is no mark is lost: a block that would hide one (cells beyond a
table's head, what is nested too deeply) is shown as it was written, and what defines a reference is written out.

While a text grows only its last block is parsed again, since nothing that comes later changes the ones before.
"""

import functools
import html
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from hitl_nb._text import Pieces, visible, visible_line
from hitl_nb.cards._nodes import Node, Tree, add, code, texts_in

LONGEST: Final = 200_000
"""Characters from which on a text is shown as it was written."""
_MOST_CELLS: Final = 2_000
"""Of a table; each costs an element, and a table can have many more of them than it has characters."""
_LARGEST_PICTURE: Final = 400_000
"""Characters of a picture in a text."""
_REST: Final = 10
_ENDS: Final = 500
"""How many times as long as parsing took is waited until it is done again."""


def markdown(text: str, *, breaks: bool = True) -> list[Node]:
    """Return a whole text as a tree, one node a block.

    Args:
        text: Markdown, or any text.
        breaks: Whether a line end is one on the screen, as people write messages; a docstring's is none.
    """
    return Growing(breaks=breaks).read(text, whole=True)


class Growing:
    """A text that grows, as a tree: blocks that are finished stay the same objects.

    Args:
        breaks: As for `markdown`.
        clock: Gives the seconds; parsing never takes more than a tenth of them.
    """

    def __init__(self, *, breaks: bool = True, clock: Callable[[], float] = time.perf_counter) -> None:
        self._breaks, self._clock = breaks, clock
        self._env: dict[str, Any] = {}
        self._tree = Tree()
        """The one that is given again and again: to copy ten thousand finished blocks each time is felt."""
        self._done = 0
        """How many nodes of it will not change."""
        self._open: list[Node] = []
        self._text: str | Pieces = ""
        self._start = self._parsed = 0
        self._next = 0.0
        self._cut: _Cut | None = None
        """The part of the open block that is finished."""

    def read(self, text: str | Pieces, *, whole: bool = False, last: bool = False) -> list[Node]:
        """Return the tree of the text as far as it is there: always the same one, which the next reading changes.

        Args:
            text: All of it, not only what is new.
            whole: Whether nothing more will come: then references to what stood further down are found, too.
            last: Whether nothing more will come, and only what is new is read all the same.
        """
        if whole or not self._goes_on(text):
            self.__init__(breaks=self._breaks, clock=self._clock)  # type: ignore[misc]
        self._text = text
        tree = self._tree
        tree.kept, tree.before = self._done, tree[self._done :]
        del tree[self._done :]
        began = self._clock()
        if whole or last or began >= self._next:
            self._parse(whole)
            self._next = self._clock() + _REST * (self._clock() - began)
        rest = text[self._parsed :]
        tree += self._open
        tree += [["plain", {}, _clear(rest)]] if rest else []
        tree.reading += 1
        return tree

    def _goes_on(self, text: str | Pieces) -> bool:
        """Whether a text is the one before with more behind it: as messages grow, a look at its ends tells that."""
        start = self._start
        ends = (slice(0, min(start, _ENDS)), slice(max(0, start - _ENDS), start))
        return len(text) >= start and all(text[end] == self._text[end] for end in ends)

    def _parse(self, whole: bool) -> None:
        tail = self._text[self._start :]
        self._parsed = len(self._text)
        if len(tail) > LONGEST:
            self._open = [["plain", {}, _clear(tail)]]
            return
        cut, self._cut = self._cut, None
        lead = cut.lead if cut is not None else ""
        inner = tail[cut.start :] if cut is not None else tail
        source = _clear(lead + inner)
        *finished, (last, self._open) = blocks = list(_blocks(source, self._env, breaks=self._breaks, whole=whole))
        if cut is not None:
            first = blocks[0][1]
            if not cut.joins(first):
                # It has become something else, or too much: read all of it once more.
                self._cut = None
                self._parse(whole)
                return
            blocks[0] = (0, [cut.joined(first[0])])
            *finished, (last, self._open) = blocks
        self._tree += [node for _, nodes in finished for node in nodes]
        self._done = len(self._tree)
        begun = (cut.start if cut is not None else 0) - len(lead)
        if finished:
            self._start += begun + len("\n".join((lead + inner).split("\n")[:last])) + 1
        elif not whole:
            self._cut = _cut(lead + inner, source, self._open, begun, cut)


_ITEMS: Final = 8
"""Of a list or table that grows: more of them than that are not read again, but for the last two."""


@dataclass(frozen=True, kw_only=True)
class _Cut:
    """What is finished of a list or a table that still grows: its items, or rows."""

    tag: str
    attributes: dict[str, Any]
    head: list[Node]
    """What stands before the rows of a table."""

    parts: list[Node]
    lead: str
    """The lines before the rows of a table, which make one of what follows."""

    start: int
    """Where what follows begins, in the open block."""

    cells: int

    def joins(self, nodes: list[Node]) -> bool:
        """Whether these are the same list or table, further on."""
        if len(nodes) != 1 or not isinstance(nodes[0], list) or nodes[0][0] != self.tag:
            return False
        return self.cells + _cells_of(nodes[0]) <= _MOST_CELLS

    def joined(self, node: Any) -> Node:
        """Return the whole of it."""
        if self.tag == "table":
            return ["table", self.attributes, *self.head, ["tbody", {}, *self.parts, *node[-1][2:]]]
        return [self.tag, self.attributes, *self.parts, *node[2:]]


def _cells_of(table: Any) -> int:
    return sum(len(row) - 2 for part in table[2:] for row in part[2:]) if table[0] == "table" else 0


def _cut(text: str, source: str, nodes: list[Node], begun: int, before: _Cut | None) -> _Cut | None:
    """Return what is finished of the open block, if it is a list or a table with many parts.

    Args:
        text: What was parsed.
        source: The same, with invisible signs written out; it has as many lines.
        nodes: What came of it, joined with what was finished before.
        begun: Where `text` begins in the block.
        before: What was finished before.
    """
    node: Any = nodes[0] if len(nodes) == 1 else None
    if not isinstance(node, list) or node[0] not in ("ul", "ol", "table"):
        return before
    tokens = _parser().parse(source, {})
    wanted = "tr_open" if node[0] == "table" else "list_item_open"
    level = 2 if node[0] == "table" else 1
    lines = [token.map[0] for token in tokens if token.type == wanted and token.level == level and token.map]
    lines = lines[1:] if node[0] == "table" and lines and lines[0] == tokens[0].map[0] else lines
    if len(lines) <= _ITEMS:
        return before
    line = lines[-2]
    lead = ""
    if node[0] == "table":
        lead = before.lead if before is not None else "\n".join(text.split("\n")[: lines[0]]) + "\n"
    parts = node[-1][2:] if node[0] == "table" else node[2:]
    start = begun + len("\n".join(text.split("\n")[:line])) + 1
    head = node[2:-1] if node[0] == "table" else []
    done = ["table", {}, ["tbody", {}, *parts[:-2]]] if node[0] == "table" else node
    return _Cut(
        tag=node[0], attributes=node[1], head=head, parts=parts[:-2], lead=lead, start=start, cells=_cells_of(done)
    )


def _clear(text: str) -> str:
    """Give a text with each invisible sign written out; it has as many lines as before."""
    return visible(text.replace("\r\n", "\n"))


# -- a text → its blocks -------------------------------------------------------------------------------------


_OPTIONS: Final = {"html": False, "inline_definitions": True, "store_labels": True}


@functools.cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", _OPTIONS).enable(["table", "strikethrough"])
    # An address stays as it was written: what is shown is where the browser goes.
    parser.normalizeLink = parser.normalizeLinkText = str  # type: ignore[method-assign,assignment]
    return parser


def _blocks(text: str, env: dict[str, Any], *, breaks: bool, whole: bool) -> Iterator[tuple[int, list[Node]]]:
    """Yield each block with the line that it begins at; with the last one what follows it."""
    tokens = _parser().parse(text, env)
    lines = text.split("\n")
    spans = _spans(tokens)
    if not spans:
        yield 0, [["plain", {}, text]] if text.strip() else []
        return
    ends = [*(at for at, _ in spans[1:]), len(lines)]
    first = 0
    for number, ((_, inside), end) in enumerate(zip(spans, ends, strict=True)):
        source = "\n".join(lines[first:end]).strip("\n")
        nodes = _Reader(inside, breaks=breaks, colours=whole or number + 1 < len(spans)).nodes()
        kept = _cells(inside) <= _MOST_CELLS and not _lost(source, nodes)
        yield first, nodes if kept else [["plain", {}, source]]
        first = end


def _spans(tokens: Sequence[Any]) -> list[tuple[int, list[Any]]]:
    """Give the tokens of each block, with its first line."""
    spans: list[tuple[int, list[Any]]] = []
    for token in tokens:
        if token.level == 0 and token.nesting >= 0:
            spans.append((token.map[0] if token.map else 0, []))
        spans[-1][1].append(token)
    return spans


def _cells(tokens: Sequence[Any]) -> int:
    return sum(token.type in ("td_open", "th_open") for token in tokens)


def _lost(source: str, nodes: Sequence[Node]) -> bool:
    """Whether a reader of the nodes would miss a character of the source that is no mark."""
    return bool(_significant(visible(html.unescape(source))) - _significant("".join(texts_in(nodes))))


def _significant(text: str) -> Counter[str]:
    return Counter(text.casefold().translate(_MARKS))


_MARKS: Final = dict.fromkeys(map(ord, string.punctuation + string.whitespace + "\u00a0"))


# -- tokens → nodes ------------------------------------------------------------------------------------------

_PAIRS: Final = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
    "em": "em",
    "strong": "strong",
    "s": "s",
}


class _Reader:
    """Makes nodes of the tokens of one block."""

    def __init__(self, tokens: Sequence[Any], *, breaks: bool, colours: bool) -> None:
        self._tokens, self._breaks, self._colours = tokens, breaks, colours

    def nodes(self) -> list[Node]:
        """Give the nodes."""
        return self._read(self._tokens)

    def _read(self, tokens: Sequence[Any]) -> list[Node]:
        root: list[Any] = []
        stack = [root]
        for token in tokens:
            if token.nesting < 0:
                stack.pop()
            elif token.nesting > 0:
                # Paragraphs of a list without blank lines are its lines.
                node = stack[-1] if token.hidden else self._pair(token)
                if not token.hidden:
                    add(stack[-1], node)
                stack.append(node)
            else:
                for part in self._single(token):
                    add(stack[-1], part)
        return root

    def _pair(self, token: Any) -> list[Any]:
        name = token.type.removesuffix("_open")
        if name == "heading":
            return ["h", {"level": int(token.tag[1:])}]
        if name == "link":
            return _link(token)
        attributes: dict[str, Any] = {}
        if name == "list_item" and token.info.isdecimal():
            attributes["value"] = int(token.info)
        if token.attrGet("style"):
            attributes["align"] = str(token.attrGet("style")).removeprefix("text-align:")
        return [_PAIRS[name], attributes]

    def _single(self, token: Any) -> list[Node]:
        match token.type:
            case "inline":
                return self._read(token.children or [])
            case "text":
                return [visible(token.content)] if token.content else []
            case "softbreak":
                return [["br", {}]] if self._breaks else ["\n"]
            case "hardbreak":
                return [["br", {}]]
            case "hr":
                return [["hr", {}]]
            case "code_inline":
                return [["code", {}, visible(token.content)]]
            case "fence" | "code_block":
                return [code(token.content.removesuffix("\n"), visible(token.info.strip()), colours=self._colours)]
            case "image":
                return [_picture(token)]
            case "definition":
                found = token.meta
                title = f' "{found["title"]}"' if found["title"] else ""
                return [["plain", {}, visible(f"[{found['label']}]: {found['url']}{title}")]]
        return [visible(token.content)]


def _link(token: Any) -> list[Any]:
    address = str(token.attrGet("href") or "")
    attributes = {"to": visible(address) + _title(token), **_label(token)}
    return ["a", {"href": address, **attributes} if _may_be_followed(address) else attributes]


def _title(token: Any) -> str:
    title = token.attrGet("title")
    return f' "{visible(str(title))}"' if title else ""


def _label(token: Any) -> dict[str, str]:
    """What a reference is called by: it stands where it is defined."""
    return {"label": token.meta["label"]} if "label" in token.meta else {}


def _may_be_followed(address: str) -> bool:
    """Only to where a person sees that it goes: never the notebook's own server, ``bank@elsewhere``, look-alikes."""
    if not address.isascii() or any(sign <= " " or sign == "\\" for sign in address):
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    web = parts.scheme in ("https", "http") and bool(parts.netloc) and "@" not in parts.netloc
    return web or parts.scheme == "mailto"


def _picture(token: Any) -> Node:
    source, words = str(token.attrGet("src") or ""), visible(token.content)
    if _PICTURE.match(source) and len(source) <= _LARGEST_PICTURE:
        return ["img", {"src": source, **_label(token)}, words + _title(token)]
    return ["img", {"to": visible(source) + _title(token), **_label(token)}, words]


_PICTURE: Final = re.compile(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+\Z")
"""Never SVG, which is a page of its own."""


def attached_tree(attached: Sequence[tuple[str, str]]) -> list[Node]:
    """Return what the user has handed over with a message: pictures as such, all else by its name."""
    nodes: list[Node] = []
    for name, picture in attached:
        shown = bool(picture) and len(picture) <= _LARGEST_PICTURE and bool(_PICTURE.match(picture))
        words: list[Any] = ["p", {}, f"{CLIP} {visible_line(name)}"]
        nodes.append(["p", {}, ["img", {"src": picture}, visible_line(name)]] if shown else words)
    return nodes


CLIP: Final = "\N{PAPERCLIP}"
"""Stands before what goes with a message."""
