"""What the browser draws of a transcript, whatever carries it: one item an entry, and whose turn it is.

All display strings leave here ready to be shown; the browser only ever uses ``textContent``.
"""

import functools
from collections.abc import Callable
from datetime import datetime
from typing import Any

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._limits import contained, words_of
from hitl_nb._process import user_name
from hitl_nb._secrets import masked
from hitl_nb._text import HIDDEN, SIGN, Pieces, visible, visible_line, warned, warning_about, warning_in
from hitl_nb._transcript import CallEntry, Entry, MessageEntry, StateEntry, ToolEntry
from hitl_nb.cards._card import Card
from hitl_nb.cards._markdown import LONGEST, Growing, attached_tree, markdown
from hitl_nb.cards._nodes import Node
from hitl_nb.cards._record import compared_by_identity, headline_if, record_of, title_of
from hitl_nb.cards._registry import card_of, check_drawable, fall_back, use_default
from hitl_nb.cards._shown import Drawn, state_item, tool_item
from hitl_nb.cards._updates import Item
from hitl_nb.errors import FrontendError


def item_of(
    entry: Entry,
    warnings: dict[str, str],
    *,
    passed: bool = False,
    growing: Callable[[MessageEntry], list[Node]] | None = None,
    drawn: Drawn | None = None,
) -> Item:
    """Give the item for one entry.

    Args:
        entry: What to draw.
        warnings: By occurrence, what the person must be told about a card; a failing card adds its line.
        passed: Whether somebody at this screen has been asked before.
        growing: Gives the tree of a message that may still grow; default: it is read as a whole.
        drawn: What a function of the user's has made of it.
    """
    if isinstance(entry, StateEntry):
        assert drawn is not None
        return state_item(entry, drawn)
    if isinstance(entry, ToolEntry):
        return tool_item(entry, visible(title_of(entry.call.name)), drawn)
    if isinstance(entry, MessageEntry):
        tree = growing(entry) if growing else [*message_tree(entry), *_warning_nodes(entry.text)]
        return {"key": entry.key, "type": "message", "role": entry.role, "tree": tree, "streaming": entry.streaming}
    if isinstance(entry, CallEntry):
        return call_item(entry.call, warnings, passed=passed)
    return {"key": entry.key, "type": "note", "level": entry.level, "text": warned(entry.text)}


class Messages:
    """The messages of one view as they grow: of a text that streams only the last block is read again."""

    def __init__(self) -> None:
        self._texts: dict[str, Growing] = {}
        self._looked_at: dict[str, int] = {}
        """How much of a text holds nothing that a reader has to be warned of."""

    def __call__(self, entry: MessageEntry) -> list[Node]:
        """Give the tree of a message as far as it is there."""
        said = entry.said
        if entry.role == "user" or not entry.streaming:
            growing = self._texts.pop(entry.key, None)
            # A very long one is not read once more as a whole: that would hold up everything.
            kept = growing is not None and len(said) > LONGEST
            tree = growing.read(said, last=True) if growing is not None and kept else message_tree(entry)
        else:
            tree = self._texts.setdefault(entry.key, Growing()).read(said)
        tree += self._warning(entry.key, said)
        return tree

    def _warning(self, key: str, text: Pieces) -> list[Node]:
        at = self._looked_at.get(key, 0)
        if at > len(text):
            at = 0
        if warning_about(text[max(0, at - 100) :]) is None:  # a word or a pair of signs may have been cut
            self._looked_at[key] = len(text)
            return []
        return _warning_nodes(text.read())


def message_tree(entry: MessageEntry) -> list[Node]:
    """What the user has written is shown as it is; the model's is Markdown."""
    if entry.role == "user":
        return [*([["plain", {}, visible(entry.text)]] if entry.text else []), *attached_tree(entry.attached)]
    return markdown(entry.text)


def headline_of(call: Call, *, passed: bool = False) -> Item:
    """Give the item that stands for a call that a widget of the user's own draws: which tool asks, what, and whom."""
    turn = turn_item(call, passed=passed)
    asked = f"{title_of(call.name, call.title)} ({call.name})" + (f": {call.message}" if call.message else "")
    lines = [asked, *([] if turn["open"] else [turn["words"]]), *([call.error] if call.error else [])]
    level = "warning" if call.error else "info"
    return {"key": call.occurrence, "type": "note", "level": level, "text": warned("\n".join(lines))}


def call_item(call: Call, warnings: dict[str, str], *, passed: bool = False) -> Item:
    """Give the item of a call that somebody is asked about; arguments as of `item_of`."""
    try:
        with contained("It"):
            card = card_of(call)
            check_drawable(card)
            return _framed(call, card, warnings.get(call.occurrence), passed)
    except FrontendError as error:
        use_default(call)
        warnings[call.occurrence] = f"Its own card cannot be drawn: {error} The default card instead."
        return call_item(call, warnings, passed=passed)
    except Exception as error:
        card = fall_back(call)
        warnings[call.occurrence] = f"Its own card cannot show this call: {words_of(error)}"
        return _framed(call, card, warnings[call.occurrence], passed)


def _framed(call: Call, card: Card, warning: str | None, passed: bool) -> Item:
    turn = turn_item(call, passed=passed)
    said, inside = _while_open(call, card, warning, turn) if call.outcome is None else _when_over(call, card, warning)
    return {
        "key": call.occurrence,
        "type": "call",
        "card": card.called(),
        "id": call.occurrence,
        "name": visible(call.name),
        "title": visible(title_of(call.name, call.title)),
        "message": visible(_asked(call)),
        **headed(call),
        "status": call.status,
        "turn": turn,
        **({"shared": True} if Handle.of(call).origin else {}),
        "warning": "\n".join(line for line in (visible(warning or ""), said) if line) or None,
        "about": compared_by_identity(call) or None,
        "error": visible(call.error) if call.error else None,
        "confirm": card.confirm,
        "decline": card.decline,
        **({"cancel": card.cancel} if card.cancel else {}),
        **inside,
    }


def _while_open(call: Call, card: Card, warning: str | None, turn: Item) -> tuple[str, Item]:
    """What a reader has to be told about the characters, and what there is to decide."""
    # Where several are asked, each has a card with all of it.
    shown, escaped = ({}, False) if turn["several"] else card.shown()
    words = call.turn.words if call.turn is not None else ""
    said = warning_in([call.name, call.title, call.message, call.error, warning, words, shown]) or ""
    if escaped and not said.startswith(HIDDEN):
        said = f"{HIDDEN}\n{said}".strip()
    begun = begun_at(call)
    return said, {
        **({} if begun is None else {"draft": begun}),
        "props": shown,
        "unread": card.unread(),
        "held": _held_item(call, card),
        "deadline": _deadline_item(call),
        "record": None,
    }


def _when_over(call: Call, card: Card, warning: str | None) -> tuple[str, Item]:
    """The same of a question that is over: what is left of it is its record, which has warnings of its own."""
    said = warning_in([call.message if call.kind == "tool" else "", warning]) or ""
    record = record_of(call, card).wire()
    return said, {"props": {}, "unread": "", "held": None, "deadline": None, "record": record}


_PLAIN_NAMES = frozenset({"approve", "ask", "choose", "review", "interrupt", "label", "review_table", "review_code"})
"""A checkpoint that is called like its function has no name of its own."""


def headed(call: Call) -> dict[str, Any]:
    """Give what stands at the head of a card: a tool's name and description, or the question itself.

    Returns:
        ``head``, in one line; ``says``, what follows; ``tag``, the name beside it, or "".
    """
    name = visible(call.name)
    if call.kind == "tool" or call.title:
        title = visible(title_of(call.name, call.title))
        says = _blocks_of(_asked(call), breaks=call.kind != "tool")
        named = call.kind == "tool" or call.name not in _PLAIN_NAMES
        return {"head": [title], "says": says, "tag": name if named and title != name else ""}
    tag = "" if call.name in _PLAIN_NAMES else name
    blocks = _blocks_of(_asked(call), breaks=True)
    if blocks and isinstance(blocks[0], list) and blocks[0][0] in ("p", "h", "plain"):
        return {"head": blocks[0][2:], "says": blocks[1:], "tag": tag}
    return {"head": [visible(title_of(call.name, call.title))], "says": blocks, "tag": tag}


@functools.lru_cache(maxsize=256)
def _blocks_of(text: str, *, breaks: bool) -> list[Node]:
    """A question is drawn again with every change of its card, and stays the same."""
    return markdown(text, breaks=breaks)


def _asked(call: Call) -> str:
    """Whoever decides sees what they are asked; what is read afterwards quotes no secret."""
    return call.message if call.outcome is None else masked(call.message)


def _warning_nodes(text: str) -> list[Node]:
    return [["plain", {}, f"{SIGN} {line}"] for line in (warning_about(text) or "").split("\n") if line]


# -- whose turn it is: a question can be answered only by whoever is being asked now -------------------------

_VERBS = {"script": "answers", "replay": "answers"}


def turn_item(call: Call, *, passed: bool = False) -> dict[str, Any]:
    """Return the turn as the browser has it: what a click has to carry, whether one counts, and what the card says.

    Args:
        call: The call.
        passed: Whether somebody at this screen has been asked before.
    """
    if call.status != "executing":
        return {"token": "", "open": False, "several": False, "words": ""}
    turn, taken = call.turn, call.decided
    return {
        "token": turn.token if turn is not None else "",
        "open": turn is not None and turn.takes_clicks and not taken,
        "several": turn is not None and turn.several,
        "words": visible_line(_turn_in_words(call, turn, taken=taken, passed=passed)),
    }


def _held_item(call: Call, card: Card) -> dict[str, Any] | None:
    """What was answered and can be taken back, in words, and until when."""
    held = call.held
    if held is None:
        return None
    return {"words": visible(headline_if(call, card, held.decision)), "until": _milliseconds(held.until)}


def _deadline_item(call: Call) -> dict[str, Any] | None:
    """Until when somebody is waited for, and what happens then."""
    deadline = Handle.of(call).deadline
    if deadline is None or call.status != "executing":
        return None
    until, words = deadline
    return {"words": visible_line(words), "until": _milliseconds(until)}


def _milliseconds(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def begun_at(call: Call) -> Any:
    """Return what was begun at the card of a question that is asked anew; None if nothing was, or it is decided."""
    handle = Handle.of(call)
    return None if call.decided or not handle.origin else handle.begun


def takes_clicks(call: Call) -> bool:
    """Whether a person at a card is being asked now."""
    return call.status == "executing" and call.turn is not None and call.turn.takes_clicks


def _turn_in_words(call: Call, turn: Turn | None, *, taken: bool, passed: bool) -> str:
    if taken:
        return "The answer is being written down…"
    if turn is None:
        return "One moment…"
    if turn.several:
        return f"Asked of {turn.words}, one card each"
    if turn.takes_clicks:
        # Their own name tells nobody anything who sits alone at a notebook.
        words = "Waiting for you" if turn.by in (None, user_name()) else f"Waiting for {turn.by}"
        origin = Handle.of(call).origin
        return f"{words} · {origin}" if origin else words
    if passed:
        return f"Passed on to {turn.words}"
    who = f"The rule {turn.by}" if turn.via == "policy" and turn.by else turn.words
    verb = "decides" if turn.via == "policy" else _VERBS.get(turn.via, "is asked")
    return f"{who[:1].upper()}{who[1:]} {verb} first"
