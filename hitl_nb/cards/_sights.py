"""Where a list of cards is drawn, as far as living pages have said so: silence is not zero.

Laptops sleep and hidden tabs do not ask, so only a page that says "nowhere" counts as one that draws nothing.
"""

import time
from dataclasses import dataclass
from math import inf
from typing import Any

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
