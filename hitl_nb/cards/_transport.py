"""The widgets of a run: one anywidget a list of cards, and other widgets between such lists, as live figures.

One comm serves all cards and messages of a list: a thousand cards are on screen in 0.2 s, where a comm each takes
seconds.
"""

import asyncio
import html
from collections.abc import Callable, Sequence
from typing import Any

import anywidget
import ipywidgets
import traitlets

from hitl_nb._calls import Call
from hitl_nb._limits import beside_the_loop, words_of
from hitl_nb._text import logger, visible
from hitl_nb.cards._figures import drawn_of, figure_words, figures_in, live, load, maker_of, picture_of_figure
from hitl_nb.cards._registry import all_cards, script, style
from hitl_nb.cards._updates import Updates


class CardList(anywidget.AnyWidget):
    """Draws items in order.

    Args:
        on_answer: Called in the loop's thread with a ``respond``, ``decline``, ``draft``, ``look``, ``ask`` or
            ``failed`` message.
        on_drawn: Called when a browser says that it is there, and whether it draws anything.
        draft_of: Gives what a person has begun at an item.
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

    def __init__(
        self,
        on_answer: Callable[[dict[str, Any]], None],
        on_drawn: Callable[[], None],
        draft_of: Callable[[str], Any] = lambda key: None,
    ) -> None:
        super().__init__()
        self.draws = frozenset(all_cards())
        """The cards that it can draw: those that were known when it began."""
        self.updates = Updates(self.send, on_answer, on_drawn, draft_of)
        """What it draws."""
        self._loop = asyncio.get_running_loop()
        self.on_msg(self._receive)

    def _receive(self, _widget: object, content: object, _buffers: object) -> None:
        # ipykernel 7.0-7.3 runs this in a subshell's thread.
        self._loop.call_soon_threadsafe(self.updates.receive, content)

    def __repr__(self) -> str:
        return f"<CardList: {len(self.updates)} items>"


class Slots:
    """Where things stand on the screen of a run: the lists and widgets of one view, in order.

    A widget cannot stand inside a card list, which is one anywidget. So behind a question that has a widget of its own
    another list begins.

    Args:
        new_list: Makes another list.
        mounts: Whether widgets can stand between lists. Where not (marimo draws no ipywidgets but anywidgets), there is
            one list.
    """

    def __init__(self, new_list: Callable[[], CardList], *, mounts: bool = True) -> None:
        self._new_list = new_list
        self.mounts = mounts
        self.lists = [new_list()]
        """All lists; new items go to the last one."""
        self.box: ipywidgets.DOMWidget = ipywidgets.VBox(self.lists) if mounts else self.lists[0]
        """What is displayed."""
        self._homes: dict[str, CardList] = {}
        self._widgets: dict[str, Any] = {}
        self._reserved = ""

    def home_of(self, key: str, card: str = "") -> CardList:
        """Return the list that the item with this key stands in; a new one comes last.

        Args:
            key: The key.
            card: The card that draws it. One that was not known when the list began is drawn by another list.
        """
        if key not in self._homes:
            if self._reserved:
                self._begin_list()
            self._homes[key] = self.lists[-1]
        if card and card not in self._homes[key].draws and self.mounts:
            if card not in self.lists[-1].draws:
                self._begin_list()
            self._homes[key] = self.lists[-1]
        return self._homes[key]

    def reserve(self, key: str) -> None:
        """Keep the place below this item, the last one, for a widget: what comes next begins another list."""
        self.home_of(key)
        self._reserved = key if self.mounts else ""

    def mount(self, key: str, widget: object) -> None:
        """Put a widget below its item, in the place of an earlier one."""
        home = self.home_of(key)
        if not self.mounts:
            return
        self.unmount(key)
        if home is self.lists[-1]:
            self._begin_list()
        self._widgets[key] = widget
        children = list(self.box.children)
        children.insert(children.index(home) + 1, widget)
        self.box.children = tuple(children)

    def place(self, key: str, widget: object) -> None:
        """Put this widget, or none, below its item, if another one stands there now."""
        if self._widgets.get(key) is widget:
            return
        if widget is None:
            self.unmount(key)
        else:
            self.mount(key, widget)

    def unmount(self, key: str, *, for_good: bool = False) -> None:
        """Take away the widget of this item, if it has one; `for_good`: nor is its place kept."""
        widget = self._widgets.pop(key, None)
        if widget is not None:
            self.box.children = tuple(child for child in self.box.children if child is not widget)
        if for_good and self._reserved == key:
            self._reserved = ""

    def repeat(self) -> None:
        """Say again which widgets are mounted: it is said once, in a message that can get lost."""
        if len(self.lists) > 1:
            self.box.send_state("children")

    def _begin_list(self) -> None:
        self._reserved = ""
        self.lists.append(self._new_list())
        self.box.children = (*self.box.children, self.lists[-1])


# -- figures below their card -----------------------------------------------------------------------------------------

_log = logger()
_MOST = 12
"""Figures of one question that are live; all of them are told in words."""

_FIRST = 2.0
"""Seconds in which the live figures load before pictures are made: an exporter may start a browser of its own."""


class Figures:
    """The live figures of one view.

    Args:
        slots: Where things stand in it.
        redraw: Draws a call again, or what is kept of it.
    """

    def __init__(self, slots: Slots, redraw: Callable[[Call], None]) -> None:
        self._slots, self._redraw = slots, redraw
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._made: dict[str, list[Any]] = {}

    def show(self, call: Call) -> None:
        """Put the figures in what a call is about below it, if there are any."""
        found = list(figures_in(call.args))[:_MOST]
        if found and call.occurrence not in self._tasks:
            self._slots.reserve(call.occurrence)
            self._tasks[call.occurrence] = asyncio.get_running_loop().create_task(self._shown(call, found))

    def hide(self, call: Call) -> None:
        """Take them away; pictures that are still being made come into the record."""
        self._slots.unmount(call.occurrence, for_good=True)
        for widget in self._made.pop(call.occurrence, ()):
            widget.close()

    async def _shown(self, call: Call, found: Sequence[tuple[str, Any]]) -> None:
        boxes = [box for name, figure in found for box in await self._live(call, name, figure)]
        if boxes and not call.decided:
            self._slots.mount(call.occurrence, ipywidgets.VBox(boxes))
        await asyncio.sleep(_FIRST)
        for _, figure in found:
            picture = await beside_the_loop(picture_of_figure, figure)
            kept = picture if isinstance(picture, list) else ["em", {}, f"{figure_words(figure)}. {picture}"]
            drawn_of(call)[id(figure)] = [kept]
            self._redraw(call)

    async def _live(self, call: Call, name: str, figure: object) -> list[Any]:
        """The widget of a figure, below what it is called; nothing where it cannot be live, which its words say."""
        maker = maker_of(figure)
        try:
            if maker is None or call.decided:
                return []
            await beside_the_loop(load, maker)
            widget = live(figure)
        except Exception as error:
            why = f"`{error.name}` is not installed" if isinstance(error, ImportError) else words_of(error)
            _log.info("A figure of %s is not shown live: %s", maker, why)
            drawn_of(call)[id(figure)] = [["em", {}, f"{figure_words(figure)}. Not live here: {why}."]]
            self._redraw(call)
            return []
        if not isinstance(figure, ipywidgets.Widget):
            self._made.setdefault(call.occurrence, []).append(widget)
        return [ipywidgets.HTML(f"<b>{html.escape(visible(name or 'figure'))}</b>"), widget]
