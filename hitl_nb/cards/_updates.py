"""How what is drawn reaches the browser: numbered updates, each of which can be asked for again; and where it is drawn.

The notebook server drops messages above a rate limit (``--ServerApp.iopub_msg_rate_limit``), so nothing here is a
one-shot message: all that is on screen is state with a number, and the browser asks again for what it has missed.
``widgets/store.js`` is the other side.

Laptops sleep and hidden tabs do not ask: silence is not zero. So only a page that says "nowhere" counts as one that
draws nothing.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Final

from hitl_nb.cards._nodes import Node, Tree, grown

Item = dict[str, Any]
"""What the browser draws, with a ``key`` and a ``type``; its texts are ready to be shown."""


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of a click."""

    accepted: bool
    """Whether it is what counts now."""

    error: str | None = None
    """Why not, in words for whoever clicked; None if the question was decided elsewhere."""

    undone: bool = False
    """Whether an answer was taken back: the question is open."""

    late: bool = False
    """Whether it came after the answer."""


FLUSH = 0.05
"""Seconds between two updates at most: a comm message costs more than what is in it."""


UNDER_WAY: Final[deque[float]] = deque(maxlen=1)
"""Milliseconds that the last click was under way, or rather there and back: no better is the browser's clock known."""


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
            items, self._dirty = [self._grown(item) if "tree" in item else item for item in self._dirty.values()], {}
            self.tell(op="patch", items=items)

    def _grown(self, item: Item) -> Item:
        """A text goes once: what the browser has of it is not sent again."""
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

    def acknowledge(self, call_id: str, click: str | None, fate: Fate) -> None:
        """Tell the browser what became of its answer, with all that is to be drawn before."""
        self.flush()
        self.tell(op="answered", call_id=call_id, click=click, **asdict(fate))

    def reply(self, call_id: str, *, ask: object, **found: Any) -> None:
        """Give the browser what a card has asked for."""
        self.flush()
        self.tell(op="reply", call_id=call_id, ask=ask, **found)

    def tell(self, **content: Any) -> None:
        """Send a message, with where things stand."""
        # With the time of this clock, by which the times of its items are meant: the browser's may be another one.
        self._send({**content, "seq": self.seq, "live": self.live, "now": round(time.time() * 1000)})

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
            if isinstance(pressed := content.get("pressed"), int | float):
                UNDER_WAY.append(max(0.0, time.time() * 1000 - pressed))
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


# -- where a list is drawn --------------------------------------------------------------------------------------------

_UNLOADING = 1.0
"""Seconds that an old page may take to go before the new one counts as loaded."""


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """What one page of a browser has said last."""

    tab: str | None
    """The browser's tab; a reload is another page of the same one."""

    views: int
    """How often it draws the list."""

    came_back: bool
    """Whether it was reloaded, and has not drawn it since."""

    behind: bool
    """Whether it may have been put behind a link, with the other outputs of a cell that has too many."""

    gone: float | None
    """Since when it draws it nowhere, in seconds since 1970, by its own clock."""

    born: float
    """When it was loaded, by the kernel's clock (`time.monotonic`); minus infinity if it does not say."""


class Sights:
    """Where one list is drawn, as far as living pages have said so."""

    def __init__(self) -> None:
        self._pages: dict[str, Sighting] = {}
        self._since: float | None = None
        self._last = 0.0
        self._newest: float | None = None

    def note(self, content: dict[str, Any]) -> None:
        """Take a page at its word."""
        name, tab = str(content.get("page")), content.get("tab")
        before = self._pages.get(name)
        earlier = (
            [] if tab is None else [page for page, said in self._pages.items() if said.tab == tab and page != name]
        )
        for page in earlier:
            del self._pages[page]
        views, behind = content.get("views"), content.get("behind") is True
        came_back = bool(earlier) or (before is not None and before.came_back)
        # A page that came back without the card has not had it since it began, whenever that was found out.
        gone = content.get("born") if came_back and not behind else content.get("gone")
        views = views if isinstance(views, int) else 1  # a front end that does not count
        # It says how old it is; a message that has waited makes it look younger, so the oldest guess is the best.
        age, born = content.get("age"), before.born if before is not None else inf
        born = min(born, time.monotonic() - age / 1000) if isinstance(age, int | float) else -inf
        self._newest = born if self._newest is None else max(self._newest, born)
        self._pages[name] = Sighting(
            tab=tab if isinstance(tab, str) else None,
            views=views,
            came_back=came_back and not views,
            behind=behind,
            gone=gone / 1000 if isinstance(gone, int | float) and not views else None,
            born=born,
        )
        self._last = time.monotonic()
        self._since = (self._since or self._last) if self.is_zero else None

    def forget(self, content: dict[str, Any]) -> None:
        """Take leave of a page."""
        self._pages.pop(str(content.get("page")), None)
        self._since = self._since if self.is_zero else None

    @property
    def has_pages(self) -> bool:
        """Whether there are pages that could draw it."""
        return bool(self._pages)

    @property
    def drawn(self) -> bool:
        """Whether a page draws it; one that is silent does what it did."""
        return any(page.views > 0 for page in self._pages.values())

    @property
    def is_zero(self) -> bool:
        """Whether pages live, and none draws it."""
        return self.has_pages and not any(page.views > 0 or page.behind for page in self._pages.values())

    @property
    def zero_for(self) -> float:
        """For how many seconds living pages have said again and again that none of them draws it."""
        return self._last - self._since if self.is_zero and self._since is not None else 0.0

    @property
    def gone(self) -> float | None:
        """Since when none draws it, by the clock of the browser that said so."""
        return max((page.gone for page in self._pages.values() if page.gone is not None), default=None)

    def knows(self, displayed: float) -> bool:
        """Whether a page can know where an output is that was displayed then: JupyterLab forgets it with a reload.

        Args:
            displayed: By `time.monotonic`.
        """
        return self._newest is None or any(page.born <= displayed for page in self._pages.values())

    def saw(self, stored: float) -> bool:
        """Whether what was stored then, by `time.monotonic`, was there before the newest page began to load."""
        return self._newest is not None and stored + _UNLOADING <= self._newest

    def wait_anew(self) -> None:
        """Count the seconds from now on."""
        self._since = self._last if self.is_zero else None
