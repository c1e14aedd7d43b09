"""A run on the screen: the root widget in the cell that started it, and what stays there afterwards.

All output of a run goes through this one display, never through print or display of a background task, which
some kernels lose (facts/kernel.md §4). At the end the live widget is replaced by the static record, so that the
saved notebook is readable without a kernel.
"""

import asyncio
from contextlib import ExitStack
from typing import Any

import ipywidgets
from IPython.display import display, update_display

from hitl_nb._calls import Call
from hitl_nb._transcript import CallEntry, Entry, Transcript
from hitl_nb.cards._card import Card
from hitl_nb.cards._choose import card_of, has_preview, rendered, use_default
from hitl_nb.cards._items import headline_of, item_of
from hitl_nb.cards._record import bundle, record_of_call
from hitl_nb.cards._root import CardList
from hitl_nb.errors import HitlError

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_OBSERVED = ("args", "status", "error")


class RunView:
    """Shows one transcript and takes the answers given on its cards.

    Args:
        transcript: What to show; followed until `close`.
        user: Who answers on these cards, for the record.
    """

    def __init__(self, transcript: Transcript, *, user: str) -> None:
        self.transcript = transcript
        self.drawn = asyncio.Event()
        """Set once a browser has said that it draws this view."""
        self._user = user
        self._warnings: dict[str, str] = {}
        self._lists = [self._new_list()]
        self._home: dict[str, CardList] = {}
        self._box = ipywidgets.VBox(self._lists)
        self._slots: dict[str, Any] = {}
        self._observed: dict[str, Call] = {}
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
        for task in self._fetching:
            task.cancel()
        for call in self._observed.values():
            call.unobserve(self._on_trait, names=list(_OBSERVED))
        for cards in self._lists:
            cards.finish()
        if self._display_id:
            update_display(self._record(), raw=True, display_id=self._display_id)

    # -- transcript → screen ------------------------------------------------------------------------------

    def _changed(self, entry: Entry) -> None:
        if isinstance(entry, CallEntry):
            self._follow(entry.call)
            if entry.call.status == "inProgress" and not has_preview(entry.call):
                return
            if entry.key in self._slots and entry.call.outcome is None:
                return
        self._home.setdefault(entry.key, self._lists[-1]).put(item_of(entry, self._warnings))

    def _follow(self, call: Call) -> None:
        if call.id not in self._observed:
            self._observed[call.id] = call
            call.observe(self._on_trait, names=list(_OBSERVED))
            if call.status == "executing":
                self._render(call)

    def _on_trait(self, change: Any) -> None:
        call = change["owner"]
        if change["name"] == "status" and call.status == "executing":
            self._render(call)
        elif change["name"] == "status" and call.status == "complete":
            self._empty_slot(call)
        self._changed(CallEntry(key=call.id, call=call))
        if change["name"] == "status":
            self._home_of(call).flush()
        if change["name"] == "status" and call.status == "executing":
            self._unseen[call.id] = (self._home_of(call), self._home_of(call).seq)
        if change["name"] == "status" and call.status == "complete":
            self._save_decided()

    def _save_decided(self) -> None:
        """Put what is decided into the document at once: a notebook may be saved in the middle of a run.

        Only while nothing is open, since JupyterLab draws the view anew and a person would lose the focus.
        """
        if self._display_id and not any(call.status == "executing" for call in self._observed.values()):
            update_display(self._live_bundle(), raw=True, display_id=self._display_id)

    def _home_of(self, call: Call) -> CardList:
        return self._home.get(call.id, self._lists[-1])

    # -- a render of the user's own ---------------------------------------------------------------------

    def _render(self, call: Call) -> None:
        """Mount what the user's ``render`` returns between two card lists."""
        try:
            widget = rendered(call)
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            self._warnings[call.id] = f"Its `render` failed ({why}); the default card instead."
            return
        if widget is None:
            self._fetch(call)
            return
        if not isinstance(widget, ipywidgets.DOMWidget):
            self._warnings[call.id] = f"Its `render` returned a `{type(widget).__name__}`, not a widget."
            return
        self._home[call.id] = self._lists[-1]
        # What is asked stands above the user's widget; the record takes its place afterwards.
        self._lists[-1].put(headline_of(call), soon=False)
        self._slots[call.id] = widget
        self._lists.append(self._new_list())
        self._box.children = (*self._box.children, widget, self._lists[-1])

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
            self._warnings[call.id] = (
                f"Its card could not fetch what it shows ({type(error).__name__}: {error}); the default card instead."
            )
            use_default(call)
        self._changed(CallEntry(key=call.id, call=call))

    def _empty_slot(self, call: Call) -> None:
        widget = self._slots.pop(call.id, None)
        if widget is not None:
            self._box.children = tuple(child for child in self._box.children if child is not widget)

    # -- screen → call ------------------------------------------------------------------------------------

    def _new_list(self) -> CardList:
        return CardList(self._on_answer, self._on_drawn)

    def _on_drawn(self) -> None:
        self.drawn.set()
        for call_id, (cards, seq) in list(self._unseen.items()):
            if cards.have >= seq:
                del self._unseen[call_id]
                self._observed[call_id]._is_shown()
        if len(self._lists) > 1:
            # Which widgets are mounted is said once, in a message that can get lost: said again at each poll.
            self._box.send_state("children")

    def _on_answer(self, message: dict[str, Any]) -> None:
        call = self._observed.get(str(message.get("call_id")))
        if call is None:
            # The browser repeats an answer until it hears what became of it.
            self._lists[0].acknowledge(str(message.get("call_id")), accepted=False, error=None)
            return
        accepted, error = False, None
        try:
            accepted = self._decide(call, message)
        except HitlError as problem:
            error = str(problem)
        except Exception as problem:
            # A fault in the kernel is shown on the card, never swallowed: the person believes to have answered.
            error = f"{type(problem).__name__}: {problem}"
        self._home_of(call).acknowledge(call.id, accepted=accepted, error=error)

    def _decide(self, call: Call, message: dict[str, Any]) -> bool:
        if call.decided:
            return call._too_late(message.get("value"))
        if message["op"] == "decline":
            return call.decline(message.get("reason") or None, by=self._user, via="card")
        return card_of(call).decide(message.get("value"), by=self._user)

    # -- what is saved --------------------------------------------------------------------------------------

    def _record(self) -> dict[str, Any]:
        return bundle(
            (entry, record_of_call(entry.call) if isinstance(entry, CallEntry) else None) for entry in self.transcript
        )

    def _live_bundle(self) -> dict[str, Any]:
        view = {"model_id": self._box.model_id, "version_major": 2, "version_minor": 0}
        return {**self._record(), _WIDGET_VIEW: view}
