"""A run on the screen: the root widget in the cell that started it, and what stays there afterwards.

All output of a run goes through this one display, never through print or display of a background task, which
some kernels lose. At the end the live widget is replaced by the static record, so that the saved notebook is readable
without a kernel.

A click counts once, and only in the turn that it was drawn for. The browser sends it again until it hears what became
of it, and it hears that only when the answer is on disk. So a click has an identity of its own: one that comes again
answers nothing twice, and gets the same word.
"""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Protocol

import ipywidgets
from IPython.display import display, update_display

from hitl_nb._calls import CHANGED, Call, Handle
from hitl_nb._transcript import CallEntry, Entry, Transcript
from hitl_nb.cards._card import Card
from hitl_nb.cards._protocol import headline_of, item_of, takes_clicks
from hitl_nb.cards._record import bundle, metadata_of, record_of_call
from hitl_nb.cards._registry import card_of, has_preview, rendered, use_default
from hitl_nb.cards._text import visible
from hitl_nb.cards._transport import CardList, Slots
from hitl_nb.cards.plain import Plain
from hitl_nb.errors import HitlError

# -- screen → kernel: what people do on the cards of one view ------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Fate:
    """What became of a click."""

    accepted: bool
    """Whether it is what counts now."""

    error: str | None = None
    """Why not, in words for whoever clicked; None if the question was decided elsewhere."""


class Tell(Protocol):
    """Says to the browser what became of a click."""

    def __call__(self, call_id: str, click: str | None, fate: Fate, /) -> None:
        """Say it."""
        ...


class Clicks:
    """Takes the ``respond`` and ``decline`` messages of one view.

    Args:
        find: Gives the call of an occurrence, or None.
        redraw: Draws a call again.
        tell: Acknowledges a click.
    """

    def __init__(self, find: Callable[[str], Call | None], redraw: Callable[[Call], None], tell: Tell) -> None:
        self._find, self._redraw, self._tell = find, redraw, tell
        self._fates: dict[str, Fate | None] = {}
        self._writing: set[asyncio.Task[None]] = set()

    def close(self) -> None:
        """Wait for nothing any more."""
        for task in self._writing:
            task.cancel()

    def take(self, message: dict[str, Any]) -> None:
        """Do what a click means, and acknowledge it once that is certain."""
        call_id = str(message.get("call_id"))
        click = message.get("click") if isinstance(message.get("click"), str) else None
        if click in self._fates:
            fate = self._fates[click]
            if fate is not None:
                self._tell(call_id, click, fate)
            return
        call = self._find(call_id)
        if call is None:
            self._tell(call_id, click, Fate(accepted=False))
            return
        fate = _fate_of(call, message)
        if fate.accepted and Handle.of(call).decision is None:
            self._await(call, click)
        else:
            self._settle(call, click, fate)

    def _await(self, call: Call, click: str | None) -> None:
        if click is not None:
            self._fates[click] = None
        self._redraw(call)
        task = asyncio.get_running_loop().create_task(self._written(call, click))
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _written(self, call: Call, click: str | None) -> None:
        """Acknowledge an answer once it is on disk."""
        handle = Handle.of(call)
        error = ""
        try:
            await handle.written()
        except Exception as problem:
            error = str(problem)
        if handle.decision is None:
            # A draft is not lost: the card is open again, and says why.
            why = call.error or error or "Your answer could not be written down and does not count."
            fate = Fate(accepted=False, error=why)
        else:
            fate = Fate(accepted=handle.is_mine)
        self._settle(call, click, fate)

    def _settle(self, call: Call, click: str | None, fate: Fate) -> None:
        if click is not None:
            self._fates[click] = fate
        self._redraw(call)
        self._tell(call.occurrence, click, fate)


def _fate_of(call: Call, message: dict[str, Any]) -> Fate:
    if call.decided:
        return Fate(accepted=call.respond(message.get("value")))  # kept among the late answers
    try:
        accepted = _decide(call, message)
    except HitlError as problem:
        return Fate(accepted=False, error=visible(str(problem)))
    except Exception as problem:
        # A fault in the kernel is shown on the card, never swallowed: the person believes to have answered.
        return Fate(accepted=False, error=visible(f"{type(problem).__name__}: {problem}"))
    if not accepted and call.reason == CHANGED:
        return Fate(accepted=False, error=f"Not approved: {CHANGED}.")
    return Fate(accepted=accepted)


def _decide(call: Call, message: dict[str, Any]) -> bool:
    with Handle.of(call).clicked(message.get("turn")):
        if message["op"] == "decline":
            reason = message.get("reason")
            return call.decline(reason if isinstance(reason, str) and reason else None)
        return card_of(call).decide(message.get("value"))


# -- transcript → screen -------------------------------------------------------------------------------------

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_LONGEST_FAULT = 500
_OBSERVED = ("args", "status", "turn", "error")


class RunView:
    """Shows one transcript and takes the answers given on its cards; whose they are, the turn says.

    Args:
        transcript: What to show; followed until `close`.
        head: Gives the head of the journal, which stands beside the record; default: the transcript's own ``head``.
    """

    def __init__(self, transcript: Transcript, *, head: Callable[[], str | None] | None = None) -> None:
        self.transcript = transcript
        self.drawn = asyncio.Event()
        """Set once a browser has said that it draws this view."""
        self._head = head
        self._warnings: dict[str, str] = {}
        self._passed: set[str] = set()
        self._clicks = Clicks(lambda occurrence: self._observed.get(occurrence), self._redraw, self._acknowledge)
        self._slots = Slots(lambda: CardList(self._take, self._on_drawn))
        self._observed: dict[str, Call] = {}
        self._own: set[str] = set()
        self._rendered: dict[str, str] = {}
        self._stack = ExitStack()
        self._display_id = ""
        self._unseen: dict[str, tuple[CardList, int]] = {}
        self._fetching: set[asyncio.Task[None]] = set()

    def open(self) -> None:
        """Put the view into the current cell and follow the transcript."""
        self._stack.enter_context(self.transcript.watched(self._changed))
        for entry in self.transcript:
            self._changed(entry)
        handle = display(self._live_bundle(), raw=True, display_id=True)
        self._display_id = handle.display_id if handle is not None else ""

    def close(self) -> None:
        """Stop following and leave the static record in the cell."""
        self._stack.close()
        self._clicks.close()
        for task in self._fetching:
            task.cancel()
        for call in self._observed.values():
            call.unobserve(self._on_trait, names=list(_OBSERVED))
        for cards in self._slots.lists:
            cards.finish()
        if self._display_id:
            beside = metadata_of(self._head or getattr(self.transcript, "head", None))
            update_display(self._record(), raw=True, display_id=self._display_id, metadata=beside)

    # -- transcript → screen ------------------------------------------------------------------------------

    def _changed(self, entry: Entry) -> None:
        if not isinstance(entry, CallEntry):
            self._slots.home_of(entry.key).put(item_of(entry, self._warnings))
            return
        call = entry.call
        self._follow(call)
        if call.status == "inProgress" and not has_preview(call):
            return
        passed = call.occurrence in self._passed
        by_user = call.occurrence in self._own and call.outcome is None
        item = headline_of(call, passed=passed) if by_user else item_of(entry, self._warnings, passed=passed)
        self._slots.home_of(call.occurrence, str(item.get("card") or "")).put(item)

    def _redraw(self, call: Call) -> None:
        self._changed(CallEntry(key=call.occurrence, call=call))

    def _follow(self, call: Call) -> None:
        if call.occurrence not in self._observed:
            self._observed[call.occurrence] = call
            call.observe(self._on_trait, names=list(_OBSERVED))
            if call.status == "executing":
                self._opened(call)
                self._take_turn(call)

    def _on_trait(self, change: Any) -> None:
        call, name = change["owner"], change["name"]
        if name == "turn" and change["old"] is not None and change["old"].takes_clicks:
            self._passed.add(call.occurrence)
        if name == "status" and call.status == "executing":
            self._opened(call)
        if name == "status" and call.status == "complete":
            self._slots.release(call.occurrence)
        if name in ("status", "turn"):
            self._take_turn(call)
        self._redraw(call)
        if takes_clicks(call) or call.status == "complete":
            self._slots.home_of(call.occurrence).flush()
        if name == "status" and call.status == "complete":
            self._save_decided()

    def _opened(self, call: Call) -> None:
        home = self._slots.home_of(call.occurrence)
        self._unseen[call.occurrence] = (home, home.seq + 1)
        if has_preview(call):
            self._fetch(call)
        else:
            self._own.add(call.occurrence)
            self._slots.reserve(call.occurrence)

    def _save_decided(self) -> None:
        """Put what is decided into the document at once: a notebook may be saved in the middle of a run.

        Only while nothing is open, since JupyterLab draws the view anew and a person would lose the focus.
        """
        if self._display_id and not any(call.status == "executing" for call in self._observed.values()):
            update_display(self._live_bundle(), raw=True, display_id=self._display_id)

    # -- a render of the user's own ---------------------------------------------------------------------

    def _take_turn(self, call: Call) -> None:
        """Mount what the user's ``render`` returns, for whoever is being asked now, and in their turn only."""
        if call.occurrence not in self._own:
            return
        if not takes_clicks(call):
            self._slots.unmount(call.occurrence)
        elif self._rendered.get(call.occurrence) != call.turn.token:
            self._rendered[call.occurrence] = call.turn.token
            self._render(call)

    def _render(self, call: Call) -> None:
        try:
            widget = rendered(call, call.turn)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            self._use_card(call, f"Its `render` failed ({why}); the default card instead.")
            return
        if widget is None:
            self._use_card(call)
            self._fetch(call)
        elif not isinstance(widget, ipywidgets.DOMWidget):
            self._use_card(call, f"Its `render` returned a `{type(widget).__name__}`, not a widget.")
        else:
            # What is asked stands above the user's widget; the record takes its place afterwards.
            self._slots.home_of(call.occurrence).put(headline_of(call), soon=False)
            self._slots.mount(call.occurrence, widget)

    def _use_card(self, call: Call, warning: str = "") -> None:
        """Draw the call by a card from now on."""
        self._own.discard(call.occurrence)
        self._slots.release(call.occurrence)
        if warning:
            self._warnings[call.occurrence] = warning

    def _fetch(self, call: Call) -> None:
        """Let a card fetch what it needs, and draw it again afterwards."""
        if call.render is None:
            return
        try:
            card = card_of(call)
        except Exception:
            return  # drawing it fails in the same way, and says so
        if type(card).prepare is not Card.prepare:
            task = asyncio.get_running_loop().create_task(self._fetched(call, card))
            self._fetching.add(task)
            task.add_done_callback(self._fetching.discard)

    async def _fetched(self, call: Call, card: Card) -> None:
        try:
            await card.prepare()
        except Exception as error:
            self._warnings[call.occurrence] = (
                f"Its card could not fetch what it shows ({type(error).__name__}: {error}); the default card instead."
            )
            use_default(call)
        self._redraw(call)

    # -- screen → kernel ----------------------------------------------------------------------------------

    def _take(self, message: dict[str, Any]) -> None:
        if message["op"] == "failed":
            self._card_failed(message)
        else:
            self._clicks.take(message)

    def _card_failed(self, message: dict[str, Any]) -> None:
        """Draw a call by the default card, since a browser could not draw it by its own."""
        call = self._observed.get(str(message.get("call_id")))
        if call is None or call.decided:
            return
        card = card_of(call)
        if isinstance(card, Plain) or card.called() != message.get("card"):
            return  # said before, of a card that is gone
        why = str(message.get("error"))[:_LONGEST_FAULT]
        self._warnings[call.occurrence] = f"Its own card could not be drawn ({why}); the default card instead."
        use_default(call)
        self._redraw(call)

    def _on_drawn(self) -> None:
        self.drawn.set()
        for occurrence, (cards, seq) in list(self._unseen.items()):
            if cards.have >= seq:
                del self._unseen[occurrence]
                Handle.of(self._observed[occurrence]).shown()
        self._slots.repeat()

    def _acknowledge(self, call_id: str, click: str | None, fate: Fate) -> None:
        cards = self._slots.home_of(call_id) if call_id in self._observed else self._slots.lists[0]
        cards.acknowledge(call_id, click=click, accepted=fate.accepted, error=fate.error)

    # -- what is saved --------------------------------------------------------------------------------------

    def _record(self) -> dict[str, Any]:
        return bundle(
            (entry, record_of_call(entry.call) if isinstance(entry, CallEntry) else None) for entry in self.transcript
        )

    def _live_bundle(self) -> dict[str, Any]:
        view = {"model_id": self._slots.box.model_id, "version_major": 2, "version_minor": 0}
        return {**self._record(), _WIDGET_VIEW: view}
