"""The widgets of a run: one anywidget a list of cards, and users' own widgets between such lists.

One comm serves all cards and messages of a list: a thousand cards are on screen in 0.2 s, where a comm each takes
seconds.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import anywidget
import ipywidgets
import traitlets

from hitl_nb.cards._protocol import Item, Updates
from hitl_nb.cards._registry import all_cards, script, style

FLUSH = 0.05
"""Seconds between two updates at most: a comm message costs more than what is in it."""


class CardList(anywidget.AnyWidget):
    """Draws items in order.

    Args:
        on_answer: Called in the loop's thread with a ``respond``, ``decline`` or ``failed`` message of the browser.
        on_drawn: Called when a browser says that it is there.
    """

    # Read when the first run is shown, not at import.
    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    @traitlets.default("_esm")
    def _linked_module(self) -> str:
        return script()

    @traitlets.default("_css")
    def _stylesheet(self) -> str:
        return style()

    def __init__(self, on_answer: Callable[[dict[str, Any]], None], on_drawn: Callable[[], None]) -> None:
        super().__init__()
        self.draws = frozenset(all_cards())
        """The cards that it can draw: those that were known when it began."""
        self._loop = asyncio.get_running_loop()
        self._updates = Updates(self.send, on_answer, on_drawn)
        self._timer: asyncio.TimerHandle | None = None
        self.on_msg(self._receive)

    @property
    def have(self) -> int:
        """The newest update that a browser says it has drawn."""
        return self._updates.have

    @property
    def seq(self) -> int:
        """The number of the newest update."""
        return self._updates.seq

    def put(self, item: Item, *, soon: bool = True) -> None:
        """Show an item, replacing the one with its key; `soon` waits for more changes, else it goes at once."""
        if not self._updates.put(item):
            return
        if not soon:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(FLUSH, self.flush)

    def finish(self) -> None:
        """Send what is left and let the browser stop asking."""
        self._updates.live = False
        self.flush(always=True)

    def acknowledge(self, call_id: str, *, click: str | None, accepted: bool, error: str | None) -> None:
        """Tell the browser what became of its answer."""
        self.flush()
        self._updates.tell(op="answered", call_id=call_id, click=click, accepted=accepted, error=error)

    def flush(self, *, always: bool = False) -> None:
        """Send all changed items as one message."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._updates.flush(always=always)

    def _receive(self, _widget: Any, content: Any, _buffers: Any) -> None:
        # ipykernel 7.0-7.3 runs this in a subshell's thread.
        self._loop.call_soon_threadsafe(self._updates.receive, content)

    def __repr__(self) -> str:
        return f"<CardList: {len(self._updates)} items>"


class Slots:
    """Where things stand on the screen of a run: the lists and widgets of one view, in order.

    A widget cannot stand inside a card list, which is one anywidget. So behind a question that has a widget of its own
    another list begins.

    Args:
        new_list: Makes another list.
    """

    def __init__(self, new_list: Callable[[], CardList]) -> None:
        self._new_list = new_list
        self.lists = [new_list()]
        """All lists; new items go to the last one."""
        self.box = ipywidgets.VBox(self.lists)
        """What is displayed."""
        self._homes: dict[str, CardList] = {}
        self._widgets: dict[str, Any] = {}
        self._reserved = ""

    def home_of(self, key: str, card: str = "") -> CardList:
        """Give the list that the item with this key stands in; a new one comes last.

        Args:
            key: The key.
            card: The card that draws it. One that was not known when the list began is drawn by another list.
        """
        if key not in self._homes:
            if self._reserved:
                self._begin_list()
            self._homes[key] = self.lists[-1]
        if card and card not in self._homes[key].draws:
            if card not in self.lists[-1].draws:
                self._begin_list()
            self._homes[key] = self.lists[-1]
        return self._homes[key]

    def reserve(self, key: str) -> None:
        """Keep the place below this item, the last one, for a widget: what comes next begins another list."""
        self.home_of(key)
        self._reserved = key

    def mount(self, key: str, widget: Any) -> None:
        """Put a widget below its item, in the place of an earlier one."""
        home = self.home_of(key)
        self.unmount(key)
        if home is self.lists[-1]:
            self._begin_list()
        self._widgets[key] = widget
        children = list(self.box.children)
        children.insert(children.index(home) + 1, widget)
        self.box.children = tuple(children)

    def unmount(self, key: str) -> None:
        """Take away the widget of this item, if it has one."""
        widget = self._widgets.pop(key, None)
        if widget is not None:
            self.box.children = tuple(child for child in self.box.children if child is not widget)

    def release(self, key: str) -> None:
        """Do the same for good."""
        self.unmount(key)
        if self._reserved == key:
            self._reserved = ""

    def repeat(self) -> None:
        """Say again which widgets are mounted: it is said once, in a message that can get lost."""
        if len(self.lists) > 1:
            self.box.send_state("children")

    def _begin_list(self) -> None:
        self._reserved = ""
        self.lists.append(self._new_list())
        self.box.children = (*self.box.children, self.lists[-1])
