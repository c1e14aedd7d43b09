"""What is on screen in this kernel: one view for the questions of a cell, and where a question is shown again.

JupyterLab shows fifty outputs of a cell, and hides those that come later: a question among them would wait for ever. So
the questions of a cell share a view, until the cell puts out something else.

What is no question, as the editor of a state, is a panel: what it shows are items, and what a person does there are
requests. The browser asks again until there is a reply, under the same name, so a request acts once however often it
comes (the notebook server drops messages).
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from IPython.display import display, update_display

from hitl_nb._calls import Call
from hitl_nb._kernel import CellOutputs, current_kernel, outputs_of_cell
from hitl_nb._limits import contained, words_of
from hitl_nb._text import logger, warned
from hitl_nb._transcript import Transcript
from hitl_nb.cards._transport import CardList
from hitl_nb.cards._view import RunView

MOST = 20
"""Views of one cell at most; later questions are in the last, wherever it stands."""


MANY = "This cell has put out so much that its further questions are asked here, one below the other."


@dataclass
class _Stage:
    """The views of one cell."""

    mark: int = 0
    """The outputs of the cell when the last view was the last of them."""

    views: list[RunView] = field(default_factory=list)

    def note(self, outputs: CellOutputs) -> None:
        """Note that the last view is the last output now."""
        self.mark = outputs.count


_stages: WeakKeyDictionary[CellOutputs, _Stage] = WeakKeyDictionary()
_views: list[RunView] = []
"""All views that are followed, oldest first."""


@contextmanager
def on_screen(transcript: Transcript) -> Iterator[RunView]:
    """Show a transcript in the cell while the block lasts."""
    known = next((view for view in _views if transcript in view), None)
    if known is not None:
        # Several people at this notebook have one view: each question is drawn live once.
        yield known
        return
    outputs = outputs_of_cell(current_kernel())
    view = _joined(outputs, transcript) or _begun(outputs, transcript)
    try:
        yield view
    finally:
        view.leave(transcript)
        if outputs is None or outputs.is_over:
            _close_unused([view])


def keep_on_screen(view: RunView) -> None:
    """Have a view stay: it shows what its owner has it follow, for as long as the kernel runs."""
    _views.append(view)


def _joined(outputs: CellOutputs | None, transcript: Transcript) -> RunView | None:
    stage = _stages.get(outputs) if outputs is not None else None
    if outputs is None or stage is None or not stage.views or stage.views[-1].lost.is_set():
        return None
    if outputs.count != stage.mark:
        if len(stage.views) < MOST:
            return None
        stage.views[-1].say_aside(MANY)
    stage.views[-1].follow(transcript)
    return stage.views[-1]


def _begun(outputs: CellOutputs | None, transcript: Transcript) -> RunView:
    view = RunView(transcript)
    _views.append(view)
    if outputs is not None:
        stage = _stages.setdefault(outputs, _Stage())
        if not stage.views:
            outputs.when_over(lambda: _close_unused(stage.views))
        _close_unused(stage.views)
        stage.views.append(view)
        stage.mark = outputs.count
        view.displayed = lambda: stage.note(outputs)
    view.open()
    return view


def _close_unused(views: Iterable[RunView]) -> None:
    for view in list(views):
        if view in _views and not view.in_use:
            _views.remove(view)
            view.close()


def view_of(what: object) -> RunView | None:
    """Give the newest view that shows a call, or a transcript, and is alive."""
    return next((view for view in reversed(_views) if what in view), None)


def show_again(calls: Iterable[Call]) -> bool:
    """Put the live cards of these calls into the current cell, once more; gives whether there are any."""
    views = _views_of(calls)
    for view in views:
        view.display()
    return bool(views)


def given_to_marimo(what: Iterable[object]) -> object | None:
    """Give the live cards of calls or transcripts as something that marimo displays; None if none is on screen."""
    views = _views_of(what)
    if not views:
        return None
    import marimo  # it asks for them, so it is there

    stacked: object = marimo.vstack([_Bundled(view.live_bundle()) for view in views])
    return stacked


class _Bundled:
    """A bundle as an object."""

    def __init__(self, bundle: dict[str, object]) -> None:
        self._bundle = bundle

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, object]:
        return self._bundle


def _views_of(what: Iterable[object]) -> list[RunView]:
    found = [view_of(each) for each in what]
    return [view for view in dict.fromkeys(found) if view is not None]


# -- something of ours that is no question ----------------------------------------------------------------------------

Act = Callable[[str, Mapping[str, Any]], "Awaitable[Any] | Any"]
"""Does what a person asks for at the item with this key."""

_MOST: Final = 500
"""Replies that are remembered, for what is asked twice."""
WIDGET_VIEW: Final = "application/vnd.jupyter.widget-view+json"

_log = logger()


class Requests:
    """Takes the requests of one list, and replies.

    Args:
        act: Does it; what it raises is told where it was asked.
    """

    def __init__(self, act: Act) -> None:
        self._act = act
        self._replies: dict[str, dict[str, Any]] = {}
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def take(self, cards: CardList, message: Mapping[str, object]) -> None:
        """Do what a message asks for, once."""
        ask = message.get("ask")
        if message.get("op") != "ask" or not isinstance(ask, str) or ask in self._under_way:
            return
        if ask in self._replies:
            cards.updates.reply(str(message.get("call_id")), ask=ask, **self._replies[ask])
            return
        task = asyncio.get_running_loop().create_task(self._do(cards, ask, message))
        self._under_way[ask] = task

    async def _do(self, cards: CardList, ask: str, message: Mapping[str, object]) -> None:
        key, body = str(message.get("call_id")), message.get("body")
        found: dict[str, Any]
        try:
            with contained("What was asked for"):
                made = self._act(key, body if isinstance(body, Mapping) else {})
                found = {"body": await made if isinstance(made, Awaitable) else made}
        except Exception as error:
            _log.debug("A request failed", exc_info=True)
            found = {"error": warned(words_of(error) or type(error).__name__)}
        finally:
            self._under_way.pop(ask, None)
        self._replies[ask] = found
        while len(self._replies) > _MOST:
            del self._replies[next(iter(self._replies))]
        cards.updates.reply(key, ask=ask, **found)


class Panel:
    """One list of such items.

    Args:
        act: Does what is asked for.
        record: Gives what the saved notebook has of it, ``text/plain`` and ``text/html``.
    """

    def __init__(self, act: Act, record: Callable[[], dict[str, Any]]) -> None:
        self._requests = Requests(act)
        self._record = record
        self.cards = CardList(lambda message: self._requests.take(self.cards, message), lambda: None)
        self._display_ids: list[str] = []

    def display(self) -> None:
        """Put it into the current cell."""
        view = {"model_id": self.cards.model_id, "version_major": 2, "version_minor": 0}
        handle = display({**self._record(), WIDGET_VIEW: view}, raw=True, display_id=True)
        if handle is not None:
            self._display_ids.append(handle.display_id)

    def save(self) -> None:
        """Put what it shows now into the document."""
        view = {"model_id": self.cards.model_id, "version_major": 2, "version_minor": 0}
        for display_id in self._display_ids:
            update_display({**self._record(), WIDGET_VIEW: view}, raw=True, display_id=display_id)
