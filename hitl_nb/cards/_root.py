"""The one anywidget of a run: a list of items, in the browser as on the wire.

The notebook server drops messages above a rate limit (facts/performance.md §2.2), so nothing here is a one-shot
message: all that is on screen is state with a sequence number, and the browser asks again for what it has missed.
One comm serves all cards and messages of a run: a thousand cards are on screen in 0.2 s (facts/kernel.md §7).
"""

import asyncio
from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from hitl_nb._frontend import linked, stylesheet
from hitl_nb.cards._items import Item

FLUSH = 0.05
"""Seconds between two updates at most: a comm message costs more than what is in it."""


class CardList(anywidget.AnyWidget):
    """Draws items in order; ``widgets/store.js`` is the other side of the protocol.

    Args:
        on_answer: Called in the loop's thread with a ``respond`` or ``decline`` message of the browser.
        on_drawn: Called when a browser says that it is there.
    """

    # Read when the first run is shown, not at import.
    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)

    @traitlets.default("_esm")
    def _linked_module(self) -> str:
        return linked("run")

    @traitlets.default("_css")
    def _stylesheet(self) -> str:
        return stylesheet("kit")

    def __init__(self, on_answer: Callable[[dict[str, Any]], None], on_drawn: Callable[[], None]) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()
        self._on_answer, self._on_drawn = on_answer, on_drawn
        self._items: dict[str, Item] = {}
        self._dirty: dict[str, Item] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._seq = 0
        self._live = True
        self.have = 0
        """The newest update that a browser says it has drawn."""
        self.on_msg(self._receive)

    @property
    def seq(self) -> int:
        """The number of the newest update."""
        return self._seq

    def put(self, item: Item, *, soon: bool = True) -> None:
        """Show an item, replacing the one with its key; `soon` waits for more changes, else it goes at once."""
        if self._items.get(item["key"]) == item:
            return
        self._items[item["key"]] = self._dirty[item["key"]] = item
        if not soon:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(FLUSH, self.flush)

    def finish(self) -> None:
        """Send what is left and let the browser stop asking."""
        self._live = False
        self.flush(always=True)

    def acknowledge(self, call_id: str, *, click: str | None, accepted: bool, error: str | None) -> None:
        """Tell the browser what became of its answer."""
        self.flush()
        self._tell(op="answered", call_id=call_id, click=click, accepted=accepted, error=error)

    def flush(self, *, always: bool = False) -> None:
        """Send all changed items as one message."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._dirty or always:
            self._seq += 1
            items, self._dirty = list(self._dirty.values()), {}
            self._tell(op="patch", items=items)

    def _tell(self, **content: Any) -> None:
        self.send({**content, "seq": self._seq, "live": self._live})

    def _receive(self, _widget: Any, content: Any, _buffers: Any) -> None:
        # ipykernel 7.0-7.3 runs this in a subshell's thread.
        self._loop.call_soon_threadsafe(self._handle, content)

    def _handle(self, content: Any) -> None:
        op = content.get("op") if isinstance(content, dict) else None
        if op == "hello":
            have = content.get("have")
            self.have = max(self.have, have if isinstance(have, int) else 0)
            self._on_drawn()
            self._resync(have)
        elif op in ("respond", "decline"):
            self._on_answer(content)

    def _resync(self, have: Any) -> None:
        if self._dirty:
            self.flush()
        if have == self._seq and have != 0:
            self._tell(op="same")
        else:
            self._tell(op="snapshot", items=list(self._items.values()))

    def __repr__(self) -> str:
        return f"<CardList: {len(self._items)} items>"
