"""The tree that one function draws in the browser and another in the saved notebook: marks and texts, no HTML.

Whatever is shown comes as one: words (`_markdown`), values (`_seen`), figures. Here is what is done with a tree: what
has grown since it was sent, and the same as HTML and as plain text.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

Node: TypeAlias = str | list[Any]
"""A text, or ``[tag, attributes, *children]``."""

LINE: Final = 80
"""Characters that fit beside a label."""

_MOST_CODE: Final = 30_000
"""Characters of code from which on it has one colour."""


class Tree(list[Node]):
    """The tree of a text that grows, and how much of it is the tree that was read before."""

    reading: int = 0
    """How often it was read."""
    kept: int = 0
    """How many nodes at its begin are those of the reading before, the same objects."""
    before: Sequence[Node] = ()
    """And what stood behind them then."""

    def grown(self) -> list[Any]:
        """Return what a browser needs that has the reading before."""
        keep, into, rest = grown(self.before, self[self.kept :])
        return [self.kept + keep, into, rest]


def grown(was: Sequence[Node], now: Sequence[Node]) -> list[Any]:
    """Return what a browser needs to make `now` of `was` (``grownNodes`` of ``tree.js``).

    Returns:
        How many are as before, how the next one has grown (None: not at all), and what follows.
    """
    keep = 0
    while keep < min(len(was), len(now)) and (was[keep] is now[keep] or was[keep] == now[keep]):
        keep += 1
    if keep == min(len(was), len(now)):
        return [keep, None, list(now[keep:])]
    old, new = was[keep], now[keep]
    into: Any = None
    if isinstance(old, str) and isinstance(new, str) and new.startswith(old):
        into = new[len(old) :]
    elif isinstance(old, list) and isinstance(new, list) and old[:2] == new[:2]:
        into = grown(old[2:], new[2:])
    return [keep, into, list(now[keep + (into is not None) :])]


def add(parent: list[Any], node: Node) -> None:
    """Texts that stand beside each other are one."""
    if isinstance(node, str) and parent and isinstance(parent[-1], str) and len(parent) != 1:
        parent[-1] += node
    else:
        parent.append(node)


def texts_in(nodes: Sequence[Node]) -> Iterator[str]:
    """Give all texts in a tree, also those of its attributes."""
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from (str(part) for part in node[1].values())
            yield from texts_in(node[2:])


# -- code ----------------------------------------------------------------------------------------------------

_COLOURS: Final = (
    ("Comment", "comment"),
    ("Keyword", "keyword"),
    ("Literal.String", "string"),
    ("Literal.Number", "number"),
    ("Name.Function", "name"),
    ("Name.Class", "name"),
    ("Operator.Word", "keyword"),
)


def code(text: str, language: str = "", *, colours: bool = True) -> list[Any]:
    """Return code as a node; with colours, where Pygments knows the language and loses nothing of the text."""
    start: list[Any] = ["pre", {"lang": language} if language else {}]
    parts = _coloured(text, language) if colours and language and len(text) <= _MOST_CODE else []
    return [*start, *(parts or [text])]


def _coloured(text: str, language: str) -> list[Node]:
    try:
        from pygments.lexers import get_lexer_by_name
        from pygments.util import ClassNotFound
    except ImportError:
        return []
    try:
        lexer = get_lexer_by_name(language.split()[0], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return []
    found = [(str(kind).removeprefix("Token."), part) for kind, part in lexer.get_tokens(text)]
    if "".join(part for _, part in found) != text:
        return []
    nodes: list[Any] = ["", {}]
    for kind, part in found:
        look = next((name for start, name in _COLOURS if kind.startswith(start)), "")
        add(nodes, ["span", {"look": look}, part] if look else part)
    return nodes[2:]


# -- in the saved notebook ----------------------------------------------------------------------------------

_GREY: Final = "color:var(--jp-content-font-color2,#757575)"
_CODE: Final = "font-family:var(--jp-code-font-family,monospace)"
_ALIKE: Final = frozenset("p ul ol li blockquote thead tbody tr em strong s code ins del".split())


def tree_html(nodes: Sequence[Node]) -> str:
    """Return a tree as HTML for a saved notebook: these elements and no others, nothing that is fetched."""
    return "".join(html.escape(node) if isinstance(node, str) else _element(node) for node in nodes)


def _element(node: list[Any]) -> str:
    tag, attributes, *children = node
    inside = tree_html(children)
    match tag:
        case "h":
            return f'<p style="font-weight:600">{inside}</p>'
        case "plain":
            return f'<p style="white-space:pre-wrap">{inside}</p>'
        case "br" | "hr":
            return f"<{tag}>"
        case "pre":
            return f'<pre style="white-space:pre-wrap;{_CODE}">{inside}</pre>'
        case "a":
            return _link_html(attributes, children, inside)
        case "img" if "src" in attributes:
            return f'<img src="{html.escape(attributes["src"])}" alt="{inside}" style="max-width:100%">'
        case "img":
            return f'<span style="{_GREY}">{html.escape(not_loaded(node))}</span>'
        case "dl":
            return f'<ul style="list-style:none;margin:0;padding-left:1em">{_outline(children)}</ul>'
        case "span":
            return inside
        case "table":
            return f'<table style="border-collapse:collapse;margin:0.3em 0">{inside}</table>{_pages(attributes)}'
        case "th" | "td":
            align = attributes.get("align", "left")
            return f'<{tag} style="text-align:{align};padding:2px 10px 2px 0">{inside}</{tag}>'
        case "li" if "value" in attributes:
            return f'<li value="{attributes["value"]}">{inside}</li>'
    return f"<{tag}>{inside}</{tag}>" if tag in _ALIKE else inside


def _outline(parts: Sequence[Any]) -> str:
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return "".join(
        f'<li><span style="{_GREY}">{tree_html(label[2:])}:</span> {tree_html(part[2:])}</li>' for label, part in pairs
    )


def _pages(attributes: dict[str, Any]) -> str:
    if "pages" not in attributes:
        return ""
    words = f"Rows {attributes['first']:,}–{attributes['last']:,} of {attributes['rows']:,}"
    return f'<span style="{_GREY}">{words}</span>'


def _link_html(attributes: dict[str, Any], children: Sequence[Node], inside: str) -> str:
    to = "" if "".join(texts_in(children)) == attributes["to"] else f" ({attributes['to']})"
    address = f'<span style="{_GREY}">{html.escape(to)}</span>' if to else ""
    if "href" not in attributes:
        return inside + address
    return (
        f'<a href="{html.escape(attributes["href"])}" rel="noreferrer noopener" target="_blank">{inside}</a>{address}'
    )


def not_loaded(node: list[Any]) -> str:
    """Return the words in the place of a picture that is not fetched."""
    _, attributes, *children = node
    words = "".join(texts_in(children))
    return f"[picture{f' “{words}”' if words else ''}, not loaded: {attributes['to']}]"


# -- as plain text -------------------------------------------------------------------------------------------


def tree_text(nodes: Sequence[Node]) -> str:
    """Return a tree as plain text: an outline by its indents, a table in columns."""
    return "\n".join(_lines(nodes))


def line_text(nodes: Sequence[Node]) -> str | None:
    """Return an outline of a few short parts in one line; None for everything else."""
    if len(nodes) != 1 or isinstance(nodes[0], str) or nodes[0][0] != "dl":
        return None
    parts = nodes[0][2:]
    if not all(len(part) == 3 and isinstance(part[2], str) for part in parts):
        return None
    line = "; ".join(f"{label[2]}: {part[2]}" for label, part in zip(parts[::2], parts[1::2], strict=True))
    return line if len(line) <= LINE else None


def _lines(nodes: Sequence[Node]) -> Iterator[str]:
    line = ""
    for node in nodes:
        inline = node if isinstance(node, str) else _inline(node)
        if isinstance(node, str) or inline is not None:
            line += inline or ""
            continue
        if line:
            yield from line.split("\n")
            line = ""
        yield from _block_lines(node)
    if line:
        yield from line.split("\n")


def _inline(node: list[Any]) -> str | None:
    tag, attributes, *children = node
    inside = "".join(child if isinstance(child, str) else _inline(child) or "" for child in children)
    match tag:
        case "br":
            return "\n"
        case "a":
            return inside if inside == attributes["to"] else f"{inside} ({attributes['to']})"
        case "img":
            return f"[picture: {inside}]" if "src" in attributes else not_loaded(node)
        case "del":
            return f"[-{inside}-]"
        case "ins":
            return f"{{+{inside}+}}"
        case "em" | "strong" | "s" | "code" | "span":
            return inside
    return None


def _block_lines(node: list[Any]) -> Iterator[str]:
    tag, attributes, *children = node
    match tag:
        case "dl":
            for label, part in zip(children[::2], children[1::2], strict=True):
                yield from _under(f"{''.join(label[2:])}:", list(_lines(part[2:])))
        case "ul" | "ol":
            for at, item in enumerate(children, 1):
                start = "-" if tag == "ul" else f"{item[1].get('value', at)}."
                yield from _under(start, list(_lines(item[2:])), beside=True)
        case "table":
            yield from _table_lines(attributes, children)
        case "hr":
            yield "---"
        case _:
            yield from _lines(children)


def _under(start: str, lines: list[str], *, beside: bool = False) -> Iterator[str]:
    if len(lines) <= 1 or beside:
        yield " ".join([start, *lines[:1]])
        lines = lines[1:]
    else:
        yield start
    yield from (f"  {line}" for line in lines)


def _table_lines(attributes: Mapping[str, Any], parts: Sequence[Any]) -> Iterator[str]:
    cells = [[tree_text(cell[2:]).replace("\n", " ") for cell in row[2:]] for part in parts for row in part[2:]]
    widths = [max(len(row[at]) for row in cells if at < len(row)) for at in range(len(cells[0]))]
    rights = [cell[1].get("align") == "right" for cell in parts[-1][2][2:]] if parts[-1][2:] else []
    for row in cells:
        laid = [
            text.rjust(width) if at < len(rights) and rights[at] else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, widths, strict=False))
        ]
        yield "  ".join(laid).rstrip()
    if "pages" in attributes:
        yield f"(rows {attributes['first']:,}–{attributes['last']:,} of {attributes['rows']:,})"
