"""Where things stand on the screen of a run: items in card lists, users' own widgets between them.

A widget cannot stand inside a card list, which is one anywidget. So behind a question that has a widget of its own
another list begins.
"""

from collections.abc import Callable
from typing import Any

import ipywidgets

from hitl_nb.cards._root import CardList


class Slots:
    """The lists and widgets of one view, in order.

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

    def home_of(self, key: str) -> CardList:
        """Give the list that the item with this key stands in; a new one comes last."""
        if key not in self._homes:
            if self._reserved:
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
