"""What the kernel and the browser tell each other, whatever carries it: items, whose turn it is, and numbered updates.

The notebook server drops messages above a rate limit (``--ServerApp.iopub_msg_rate_limit``), so nothing here is a
one-shot message: all that is on screen is state with a number, and the browser asks again for what it has missed.
``widgets/store.js`` is the other side. All display strings leave here ready to be shown; the browser only ever uses
``textContent``.
"""

from collections.abc import Callable
from typing import Any

from hitl_nb._calls import Call, Handle, Turn
from hitl_nb._process import user_name
from hitl_nb._transcript import CallEntry, Entry, MessageEntry
from hitl_nb.cards._card import Card
from hitl_nb.cards._record import compared_by_identity, record_of
from hitl_nb.cards._registry import card_of, check_drawable, fall_back, use_default
from hitl_nb.cards._text import WARNING, visible, visible_line
from hitl_nb.errors import FrontendError

Item = dict[str, Any]


def item_of(entry: Entry, warnings: dict[str, str], *, passed: bool = False) -> Item:
    """Give the item for one entry.

    Args:
        entry: What to draw.
        warnings: By occurrence, what the person must be told about a card; a failing card adds its line.
        passed: Whether somebody at this screen has been asked before.
    """
    if isinstance(entry, MessageEntry):
        text = visible(entry.text)
        return {
            "key": entry.key,
            "type": "message",
            "role": entry.role,
            "text": text,
            "streaming": entry.streaming,
        }
    if isinstance(entry, CallEntry):
        return _call_item(entry.call, warnings, passed)
    return {"key": entry.key, "type": "note", "level": entry.level, "text": visible(entry.text)}


def headline_of(call: Call, *, passed: bool = False) -> Item:
    """Give the item that stands for a call that a widget of the user's own draws: which tool asks, what, and whom."""
    turn = turn_item(call, passed=passed)
    asked = f"{_title(call.name)} ({call.name})" + (f": {call.message}" if call.message else "")
    lines = [asked, *([] if turn["open"] else [turn["words"]]), *([call.error] if call.error else [])]
    level = "warning" if call.error else "info"
    return {"key": call.occurrence, "type": "note", "level": level, "text": visible("\n".join(lines))}


def _call_item(call: Call, warnings: dict[str, str], passed: bool) -> Item:
    try:
        card = card_of(call)
        check_drawable(card)
        return _framed(call, card, warnings.get(call.occurrence), passed)
    except FrontendError as error:
        use_default(call)
        warnings[call.occurrence] = f"Its own card cannot be drawn: {error} The default card instead."
        return _call_item(call, warnings, passed)
    except Exception as error:
        card = fall_back(call)
        warnings[call.occurrence] = f"Its own card cannot show this call: {error}"
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
        "title": visible(_title(call.name)),
        "message": visible(call.message),
        "status": call.status,
        "turn": turn,
        "warning": "\n".join(line for line in (visible(warning or ""), WARNING if escaped else None) if line) or None,
        "about": compared_by_identity(call) or None,
        "error": visible(call.error) if call.error else None,
        "confirm": card.confirm,
        "decline": card.decline,
        "props": shown,
        "record": record_of(call, card).wire() if call.outcome is not None else None,
    }


def _title(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").strip()
    return words[:1].upper() + words[1:]


# -- whose turn it is: a question can be answered only by whoever is being asked now -------------------------

_VERBS = {"script": "answers", "replay": "answers"}


def turn_item(call: Call, *, passed: bool = False) -> dict[str, Any]:
    """Give the turn as the browser has it: what a click has to carry, whether one counts, and what the card says.

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
        "words": visible_line(_words(call, turn, taken=taken, passed=passed)),
    }


def takes_clicks(call: Call) -> bool:
    """Whether a person at a card is being asked now."""
    return call.status == "executing" and call.turn is not None and call.turn.takes_clicks


def _words(call: Call, turn: Turn | None, *, taken: bool, passed: bool) -> str:
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
        return "Waiting for you" if turn.by in (None, user_name()) else f"Waiting for {turn.by}"
    if passed:
        return f"Passed on to {turn.words}"
    who = f"The rule {turn.by}" if turn.via == "policy" and turn.by else turn.words
    verb = "decides" if turn.via == "policy" else _VERBS.get(turn.via, "is asked")
    return f"{who[:1].upper()}{who[1:]} {verb} first"


# -- updates -------------------------------------------------------------------------------------------------


class Updates:
    """The items of one list and how they travel: each update has a number, and can be asked for again.

    Args:
        send: Gives a message to the browser.
        on_answer: Called with a ``respond``, ``decline`` or ``failed`` message of the browser.
        on_drawn: Called when a browser says that it is there.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        on_answer: Callable[[dict[str, Any]], None],
        on_drawn: Callable[[], None],
    ) -> None:
        self._send, self._on_answer, self._on_drawn = send, on_answer, on_drawn
        self._items: dict[str, Item] = {}
        self._dirty: dict[str, Item] = {}
        self.live = True
        """Whether more may come: the browser asks again until it is told that nothing does."""
        self.seq = 0
        """The number of the newest update."""
        self.have = 0
        """The newest update that a browser says it has drawn."""

    def put(self, item: Item) -> bool:
        """Keep an item for the next update, in the place of the one with its key; gives whether it is news."""
        if self._items.get(item["key"]) == item:
            return False
        self._items[item["key"]] = self._dirty[item["key"]] = item
        return True

    def flush(self, *, always: bool = False) -> None:
        """Send all changed items as one message."""
        if self._dirty or always:
            self.seq += 1
            items, self._dirty = list(self._dirty.values()), {}
            self.tell(op="patch", items=items)

    def tell(self, **content: Any) -> None:
        """Send a message, with where things stand."""
        self._send({**content, "seq": self.seq, "live": self.live})

    def receive(self, content: Any) -> None:
        """Do what a message of the browser asks for."""
        op = content.get("op") if isinstance(content, dict) else None
        if op == "hello":
            have = content.get("have")
            self.have = max(self.have, have if isinstance(have, int) else 0)
            self._on_drawn()
            self._resync(have)
        elif op in ("respond", "decline", "failed"):
            self._on_answer(content)

    def _resync(self, have: Any) -> None:
        self.flush()
        if have == self.seq and have != 0:
            self.tell(op="same")
        else:
            self.tell(op="snapshot", items=list(self._items.values()))

    def __len__(self) -> int:
        return len(self._items)
