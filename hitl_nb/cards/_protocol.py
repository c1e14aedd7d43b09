"""What the kernel and the browser tell each other, whatever carries it: items, whose turn it is, and numbered updates.

The notebook server drops messages above a rate limit (``--ServerApp.iopub_msg_rate_limit``), so nothing here is a
one-shot message: all that is on screen is state with a number, and the browser asks again for what it has missed.
``widgets/store.js`` is the other side. All display strings leave here ready to be shown; the browser only ever uses
``textContent``.
"""

import asyncio
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._limits import contained, words_of
from hitl_nb._process import user_name
from hitl_nb._secrets import masked
from hitl_nb._text import HIDDEN, SIGN, Pieces, visible, visible_line, warned, warning_about, warning_in
from hitl_nb._transcript import CallEntry, Entry, MessageEntry, StateEntry, ToolEntry
from hitl_nb.cards._card import Card
from hitl_nb.cards._markdown import LONGEST, Growing, attached_tree, markdown
from hitl_nb.cards._nodes import Node, Tree, grown
from hitl_nb.cards._record import compared_by_identity, headline_if, record_of, title_of
from hitl_nb.cards._registry import card_of, check_drawable, fall_back, use_default
from hitl_nb.cards._shown import Drawn, state_item, tool_item
from hitl_nb.cards._sights import Sights
from hitl_nb.errors import FrontendError

Item = dict[str, Any]


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
        return _call_item(entry.call, warnings, passed)
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


def _call_item(call: Call, warnings: dict[str, str], passed: bool) -> Item:
    try:
        with contained("It"):
            card = card_of(call)
            check_drawable(card)
            return _framed(call, card, warnings.get(call.occurrence), passed)
    except FrontendError as error:
        use_default(call)
        warnings[call.occurrence] = f"Its own card cannot be drawn: {error} The default card instead."
        return _call_item(call, warnings, passed)
    except Exception as error:
        card = fall_back(call)
        warnings[call.occurrence] = f"Its own card cannot show this call: {words_of(error)}"
        return _framed(call, card, warnings[call.occurrence], passed)


def _framed(call: Call, card: Card, warning: str | None, passed: bool) -> Item:
    turn = turn_item(call, passed=passed)
    # Where several are asked, each has a card with all of it.
    shown, escaped = card.shown() if call.outcome is None and not turn["several"] else ({}, False)
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
        **({} if (begun := begun_at(call)) is None else {"draft": begun}),
        "warning": "\n".join(line for line in (visible(warning or ""), _warning(call, warning, shown, escaped)) if line)
        or None,
        "about": compared_by_identity(call) or None,
        "error": visible(call.error) if call.error else None,
        "confirm": card.confirm,
        "decline": card.decline,
        **({"cancel": card.cancel} if card.cancel else {}),
        "props": shown,
        "unread": card.unread() if call.outcome is None else "",
        "held": _held_item(call, card),
        "deadline": _deadline_item(call),
        "record": record_of(call, card).wire() if call.outcome is not None else None,
    }


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
        says = markdown(_asked(call), breaks=call.kind != "tool")
        named = call.kind == "tool" or call.name not in _PLAIN_NAMES
        return {"head": [title], "says": says, "tag": name if named and title != name else ""}
    tag = "" if call.name in _PLAIN_NAMES else name
    blocks = markdown(_asked(call))
    if blocks and isinstance(blocks[0], list) and blocks[0][0] in ("p", "h", "plain"):
        return {"head": blocks[0][2:], "says": blocks[1:], "tag": tag}
    return {"head": [visible(title_of(call.name, call.title))], "says": blocks, "tag": tag}


def _asked(call: Call) -> str:
    """Whoever decides sees what they are asked; what is read afterwards quotes no secret."""
    return call.message if call.outcome is None else masked(call.message)


def _warning(call: Call, warning: str | None, shown: dict[str, Any], escaped: bool) -> str:
    """What a reader of the card has to be told about its characters."""
    if call.outcome is not None:  # its record says the rest
        return warning_in([call.message if call.kind == "tool" else "", warning]) or ""
    turn = call.turn.words if call.turn is not None else ""
    found = warning_in([call.name, call.title, call.message, call.error, warning, turn, shown]) or ""
    return found if not escaped or found.startswith(HIDDEN) else f"{HIDDEN}\n{found}".strip()


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
    turn = call.turn if call.status == "executing" else None
    taken = Handle.of(call).taken
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
    return None if handle.taken or not handle.origin else handle.begun


def takes_clicks(call: Call) -> bool:
    """Whether a person at a card is being asked now."""
    return call.status == "executing" and call.turn is not None and call.turn.takes_clicks


def _turn_in_words(call: Call, turn: Turn | None, *, taken: bool, passed: bool) -> str:
    if call.status != "executing":
        return ""
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


# -- updates -------------------------------------------------------------------------------------------------


FLUSH = 0.05
"""Seconds between two updates at most: a comm message costs more than what is in it."""


class Updates:
    """The items of one list and how they travel: each update has a number, and can be asked for again.

    Args:
        send: Gives a message to the browser.
        on_answer: Called with a ``respond``, ``decline``, ``undo``, ``draft``, ``look``, ``ask`` or ``failed`` message.
        on_drawn: Called when a browser says that it is there, and whether it draws anything.
        draft_of: Gives what a person has begun at the item with this key, for a page that draws it anew.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        on_answer: Callable[[dict[str, Any]], None],
        on_drawn: Callable[[], None],
        draft_of: Callable[[str], Any] = lambda key: None,
    ) -> None:
        self._send, self._on_answer, self._on_drawn, self._draft_of = send, on_answer, on_drawn, draft_of
        self._items: dict[str, Item] = {}
        self._dirty: dict[str, Item] = {}
        self._trees: dict[str, tuple[list[Node], int]] = {}
        """What the browser has of a text, and which reading of it."""
        self._due: dict[str, Callable[[], Item]] = {}
        self.live = True
        """Whether more may come: the browser asks again until it is told that nothing does."""
        self.seq = 0
        """The number of the newest update."""
        self.have = 0
        """The newest update that a browser says it has drawn."""
        self.sights = Sights()
        """Where it is drawn."""
        self._timer: asyncio.TimerHandle | None = None

    def show(self, item: Item, *, soon: bool = True) -> None:
        """Show an item, replacing the one with its key; `soon` waits for more changes, else it goes at once."""
        if not self.put(item):
            return
        if not soon:
            self.flush()
        else:
            self._flush_soon()

    def show_later(self, key: str, make: Callable[[], Item]) -> None:
        """Show what `make` gives when the next update goes: a thousand changes a second are made twenty times."""
        if key not in self._items:
            self.show(make())  # its place is behind what is there now
            return
        self._due[key] = make
        self._flush_soon()

    def _flush_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH, self.flush)

    def put(self, item: Item) -> bool:
        """Keep an item for the next update, in the place of the one with its key; gives whether it is news."""
        self._due.pop(item["key"], None)
        if "tree" not in item and self._items.get(item["key"]) == item:
            return False
        self._items[item["key"]] = self._dirty[item["key"]] = item
        return True

    def flush(self, *, always: bool = False) -> None:
        """Send all changed items as one message."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due, self._due = self._due, {}
        for make in due.values():
            self.put(make())
        if self._dirty or always:
            self.seq += 1
            items, self._dirty = [self._grown(item) for item in self._dirty.values()], {}
            self.tell(op="patch", items=items)

    def _grown(self, item: Item) -> Item:
        """A text goes once: what the browser has of it is not sent again."""
        if "tree" not in item:
            return item
        tree = item["tree"]
        reading = tree.reading if isinstance(tree, Tree) else 0
        (was, known), self._trees[item["key"]] = self._trees.get(item["key"], ([], 0)), (tree, reading)
        if isinstance(tree, Tree) and was is tree and reading == known + 1:
            changed = tree.grown()
        elif was and was is not tree and not (isinstance(was, Tree) and was.reading != known):
            changed = grown(was, tree)
        else:
            return {**item, "tree": list(tree)}  # the next reading changes it
        return {**{name: part for name, part in item.items() if name != "tree"}, "grown": changed}

    def drop(self, keys: Iterable[str]) -> None:
        """Show some items no more."""
        gone = [key for key in keys if self._items.pop(key, None) is not None]
        for key in gone:
            self._dirty.pop(key, None)
            self._due.pop(key, None)
            self._trees.pop(key, None)
        if gone:
            self.seq += 1
            self._dirty.clear()
            self._tell_all()

    def finish(self) -> None:
        """Send what is left and let the browser stop asking."""
        self.live = False
        self.flush(always=True)

    def acknowledge(
        self, call_id: str, *, click: str | None, accepted: bool, error: str | None, undone: bool, late: bool
    ) -> None:
        """Tell the browser what became of its answer."""
        self.flush()
        self.tell(op="answered", call_id=call_id, click=click, accepted=accepted, error=error, undone=undone, late=late)

    def reply(self, call_id: str, *, ask: object, **found: Any) -> None:
        """Give the browser what a card has asked for."""
        self.flush()
        self.tell(op="reply", call_id=call_id, ask=ask, **found)

    def tell(self, **content: Any) -> None:
        """Send a message, with where things stand."""
        # With the time of this clock, by which the times of its items are meant: the browser's may be another one.
        self._send({**content, "seq": self.seq, "live": self.live, "now": _milliseconds(datetime.now(UTC))})

    def receive(self, content: Any) -> None:
        """Do what a message of the browser asks for."""
        op = content.get("op") if isinstance(content, dict) else None
        if op == "views":
            self.sights.note(content)
            self._on_drawn()
        elif op == "hello":
            have = content.get("have")
            self.sights.note(content)
            if self.sights.drawn:
                self.have = max(self.have, have if isinstance(have, int) else 0)
            self._on_drawn()
            self._resync(have)
        elif op == "bye":
            self.sights.forget(content)
        elif op in ("respond", "decline", "cancel", "undo", "draft", "failed", "look", "ask", "at"):
            self._on_answer(content)

    def _resync(self, have: object) -> None:
        self.flush()
        if have == self.seq and have != 0:
            self.tell(op="same")
        else:
            self._tell_all()

    def _tell_all(self) -> None:
        self.tell(op="snapshot", items=[self._with_draft(item) for item in self._items.values()])

    def _with_draft(self, item: Item) -> Item:
        draft = self._draft_of(item["key"]) if item["type"] == "call" else None
        return item if draft is None else {**item, "draft": draft}

    def __len__(self) -> int:
        return len(self._items)
