"""Words of a model as a tree: nothing is lost, nothing is fetched, and what streams costs its last block."""

import html
import json
import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hitl_nb._text import Pieces
from hitl_nb.cards._markdown import Growing, markdown
from hitl_nb.cards._nodes import code, grown, tree_html
from hitl_nb.cards._updates import Updates

LINES = st.sampled_from(
    [
        *("# Head", "words *of* a **model**", "", "- one", "- two", "   - deeper", "3. three", "7. seven", "> said"),
        *("| a | b |", "|--|:-:|", "| 1 | 2 | 3 |", "```python", "x = 1  # one", "```", "    indented", "---", "***"),
        *("[text](https://example.org/a?b=c 'why')", "[r][ref]", "[ref]: https://example.org 'T'", "<!-- hidden -->"),
        *("![chart](https://tracker.example/p.png)", "<b onclick=x>", "&copy; &#8238;", "a\\", "`code` ~~gone~~"),
        *("\u202eevil", "zero\u200bwidth", "***", "1)", "[x](javascript:alert)", "<https://a.example>", "Ünï 漢字 🙂"),
    ]
)
TEXTS = st.lists(LINES, max_size=14).map("\n".join) | st.text(max_size=60)


def shown(nodes):
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from (str(part) for part in node[1].values())
            yield from shown(node[2:])


def letters(text):
    return Counter(sign for sign in html.unescape(text).casefold() if sign.isalnum())


def nodes_in(nodes):
    for node in nodes:
        if not isinstance(node, str):
            yield node
            yield from nodes_in(node[2:])


@settings(deadline=None, max_examples=400)
@given(TEXTS)
def test_no_letter_of_a_text_is_lost(text):
    visible = text.replace("\u202e", "").replace("\u200b", "")
    assert not letters(visible) - letters("".join(shown(markdown(text))))


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.integers(1, 9))
def test_what_streams_shows_all_of_it_at_any_time_and_ends_as_if_it_had_come_at_once(text, step):
    stream = Growing(clock=lambda: 0.0)
    for end in range(step, len(text), step):
        tree = stream.read(text[:end])
        assert not letters(text[:end].translate({0x202E: None, 0x200B: None})) - letters("".join(shown(tree)))
    assert stream.read(text, whole=True) == markdown(text)


ROWS = st.sampled_from(
    [
        *("- one", "- *two*", "  deeper", "  - nested", "", "1. first", "2) second", "* star", "| 1 | 2 |", "| 3 |"),
        *(
            "```",
            "  ```",
            "words",
            "[ref]: https://example.org 'T'",
            "- [r][ref]",
            "| `a|b` | \u202ec |",
            "> said",
            "---",
        ),
    ]
)
LONG = st.tuples(
    st.sampled_from(["", "| a | b |\n|--|:-:|\n", "intro\n\n"]),
    st.sampled_from(["- an item", "1. an item", "| 1 | 2 |", "* it\n"]),
    st.integers(9, 24),
    st.lists(ROWS, max_size=8),
    st.integers(0, 14),
).map(lambda it: it[0] + "\n".join([it[1]] * it[2] + it[3] + [it[1]] * it[4]))


@settings(deadline=None, max_examples=200)
@given(LONG, st.integers(7, 60))
def test_a_long_list_or_table_that_streams_shows_all_of_it_once_at_any_time(text, step):
    stream = Growing(clock=lambda: 0.0)
    for end in [*range(step, len(text), step), len(text)]:
        words = "".join(shown(stream.read(text[:end])))
        assert not letters(text[:end].translate({0x202E: None, 0x200B: None})) - letters(words)
        assert words.count("item") == text[:end].count("item")  # none of them twice
    assert stream.read(text, whole=True) == markdown(text)


def test_of_a_long_list_only_the_end_is_read_again():
    for head, row in (("", "- an *item*\n"), ("| a |\n|--|\n", "| *row* |\n"), ("", "1. an *item*\n\n")):
        stream, text = Growing(clock=lambda: 0.0), head
        for _ in range(200):
            before, text = stream.read(text), text + row
        tree = stream.read(text)
        assert tree == markdown(text)
        parts, were = (each[0][-1] if head else each[0] for each in (tree, before))
        assert all(now is was for now, was in zip(parts[2:-4], were[2:-3], strict=False))


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_nothing_is_fetched_and_no_link_goes_where_it_must_not(text):
    for tag, attributes, *_ in nodes_in(markdown(text)):
        assert re.match(r"https?://[!-~]+\Z|mailto:", attributes.get("href", "mailto:"))
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/")
        assert tag not in ("script", "iframe", "style")
    assert not re.findall(r"""(?:src|srcset|poster|background)=["']?(?!data:)""", tree_html(markdown(text)))


@pytest.mark.parametrize(
    "address",
    [
        *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "vbscript:x", "data:text/html,x", "file:///etc/passwd"),
        *("javascript%3Aalert(1)", "../../api/shutdown", "/hub/logout", "#x", "//evil.example", "https:evil.example"),
        *("https://\u0430pple.com", "https://bank.example\\@evil.example", "data:image/svg+xml;base64,AA=="),
    ],
)
def test_such_an_address_is_no_link_and_can_be_read(address):
    [[_, _, *parts]] = markdown(f"[the bank](<{address}>)")
    tree = [part for part in parts if not isinstance(part, str)]
    assert not any("href" in attributes for _, attributes, *_ in nodes_in(tree))
    assert address.replace("\\", "").casefold() in "".join(shown(parts)).replace("\\", "").casefold()


def test_a_picture_in_the_text_itself_is_shown_and_any_other_is_told_of():
    data = "data:image/png;base64,iVBORw0KGgo="
    assert markdown(f"![dot]({data})") == [["p", {}, ["img", {"src": data}, "dot"]]]
    assert markdown("![dot](https://t.example/p.png)") == [["p", {}, ["img", {"to": "https://t.example/p.png"}, "dot"]]]
    assert "[picture “dot”, not loaded: https://t.example/p.png]" in tree_html(
        markdown("![dot](https://t.example/p.png)")
    )


def test_a_block_that_would_hide_something_is_shown_as_it_was_written():
    table = "| a | b |\n|--|--|\n| 1 | 2 | the third |"
    assert markdown(table) == [["plain", {}, table]]
    deep = "> " * 40 + "deep"
    assert markdown(deep) == [["plain", {}, deep]]
    assert markdown("[ref]: https://example.org") == [["plain", {}, "[ref]: https://example.org"]]


def test_a_number_is_the_one_that_was_written():
    assert markdown("3. a\n7. b") == [["ol", {}, ["li", {"value": 3}, "a"], ["li", {"value": 7}, "b"]]]


def test_the_line_ends_of_a_docstring_are_none():
    assert markdown("one\ntwo", breaks=False) == [["p", {}, "one\ntwo"]]
    assert markdown("one\ntwo") == [["p", {}, "one", ["br", {}], "two"]]


def test_code_has_colours_only_where_they_lose_nothing():
    assert code("x = 1", "python")[2:] == ["x = ", ["span", {"look": "number"}, "1"]]
    assert code("x = 1\r\n", "python")[2:] == ["x = 1\r\n"]  # the lexer would change the line end
    assert code("x = 1", "no such language")[2:] == ["x = 1"]


def in_browser(was, change):
    """As `grownNodes` of tree.js."""
    keep, into, rest = change
    if into is None:
        return [*was[:keep], *rest]
    last = was[keep]
    grew = last + into if isinstance(into, str) else [*last[:2], *in_browser(last[2:], into)]
    return [*was[:keep], grew, *rest]


@settings(deadline=None, max_examples=200)
@given(TEXTS, TEXTS)
def test_what_has_grown_makes_the_new_tree_of_the_old_one(first, second):
    for text in (first + second, second):
        was, now = markdown(first), markdown(text)
        assert in_browser(was, json.loads(json.dumps(grown(was, now)))) == now


@settings(deadline=None, max_examples=200)
@given(LONG | TEXTS, st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=40), st.booleans())
def test_a_browser_has_what_was_read_also_where_a_reading_was_not_sent(text, steps, whole):
    sent: list[Any] = []
    updates, stream, end, has = Updates(sent.append, print, print), Growing(clock=lambda: 0.0), 0, []
    for step, goes in [*steps, (len(text), True)]:
        end += step
        tree = stream.read(text[:end], whole=whole and end >= len(text))
        if goes:
            updates.put({"key": "m", "type": "message", "tree": tree})
            updates.flush()
            (item,) = json.loads(json.dumps(sent[-1]["items"]))
            has = in_browser(has, item["grown"]) if "grown" in item else item["tree"]
            assert has == tree


@pytest.mark.parametrize("block", ["word ", "- item\n", "| 1 | 2 |\n", "line of code\n", "para\n\n"])
def test_of_a_long_text_only_what_is_new_travels(block):
    start = {"| 1 | 2 |\n": "| a | b |\n|--|--|\n", "line of code\n": "```\n"}.get(block, "")
    sent = []
    updates = Updates(sent.append, print, print)
    stream = Growing(clock=lambda: 0.0)
    text = start
    for _ in range(120):
        text += block
        updates.put({"key": "m", "type": "message", "tree": stream.read(text)})
        updates.flush()
    sizes = [len(json.dumps(message)) for message in sent]
    assert max(sizes[-20:]) < 400


@given(st.lists(st.text(max_size=5)), st.integers(-20, 20), st.integers(-20, 20), st.booleans())
def test_a_part_of_what_comes_in_pieces_is_the_part_of_the_whole(pieces, start, stop, joined):
    said = Pieces("")
    for piece in pieces:
        said.add(piece)
        if joined:
            said.read()
    text = "".join(pieces)
    assert (said[start:stop], said[start:], said[:stop], len(said)) == (
        *(text[start:stop], text[start:], text[:stop]),
        len(text),
    )
    assert said.read() == text
