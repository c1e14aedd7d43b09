"""A run on the screen: the root widget in the cell that started it, and what stays there afterwards.

All output of a run goes through this one display, never through print or display of a background task, which
some kernels lose. At the end the live widget is replaced by the static record, so that the saved notebook is readable
without a kernel.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from contextvars import Context, copy_context
from functools import partial
from typing import Any

import ipywidgets
from IPython.display import display, update_display

from hitl_nb._calls import Call, Handle
from hitl_nb._kernel import current_kernel, in_next_cell, marimo_notebook
from hitl_nb._limits import contained, words_of
from hitl_nb._process import has_threads
from hitl_nb._transcript import CallEntry, Entry, NoteEntry, StateEntry, ToolEntry, Transcript
from hitl_nb.cards._clicks import Talk
from hitl_nb.cards._protocol import Messages, call_item, headline_of, item_of, takes_clicks
from hitl_nb.cards._record import Record, bundle, metadata_of, record_of_call
from hitl_nb.cards._registry import has_preview, rendered
from hitl_nb.cards._shown import Drawn, drawing_of
from hitl_nb.cards._transport import CardList, Figures, Slots
from hitl_nb.cards._updates import Item, Sights, Updates

# -- transcript → screen -------------------------------------------------------------------------------------

_WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
_OBSERVED = ("args", "status", "turn", "error", "held")
_LOOKED_AT = ("args", "status", "progress")


UNSEEN = 3.0
"""Seconds for which living pages have to say that they draw nothing, until a card counts as gone."""

ASIDE = "aside"
"""The key of what is said about the screen; ``widgets/run.js`` knows it."""

CALM = 1.0
"""Seconds after a decision until the record is put into the document, where the next question does not come at once:
JupyterLab draws a view anew when what is stored of it changes, and the person would lose the focus."""

MOVED = NoteEntry(
    key="moved",
    level="info",
    text="Asked by an earlier cell; decided after its page was reloaded, so it is recorded here.",
)

_CALM_BYTES = 20_000
"""Bytes of a record for which it waits a second longer: a long loop does not send it again and again."""


class RunView:
    """Shows transcripts, one after the other or at once, and takes the answers given on their cards.

    Whose answers they are, the turn says.

    Args:
        transcript: What to show; followed until `leave`.
        head: Gives the head of the journal, which stands beside the record; default: the transcript's own ``head``.
        around: Gives what is displayed in place of the box that holds it all, with that box in it.
    """

    def __init__(
        self,
        transcript: Transcript,
        *,
        head: Callable[[], str | None] | None = None,
        around: Callable[[ipywidgets.Box], ipywidgets.Widget] | None = None,
    ) -> None:
        self.drawn = asyncio.Event()
        """Set once a browser has said that it draws this view."""
        self.lost = asyncio.Event()
        """Set once living pages have said again and again, also after it was shown again, that none draws it."""
        self._head = head
        self._transcripts: list[Transcript] = []
        self._followed: dict[int, tuple[Transcript, ExitStack]] = {}
        self._open: set[str] = set()
        self._origins: dict[str, Transcript] = {}
        self._entries: dict[str, Entry] = {}
        self._warnings: dict[str, str] = {}
        self._passed: set[str] = set()
        self._messages = Messages()
        self._observed: dict[str, Call] = {}
        self._talk = Talk(
            self._observed.get, self._redraw, self._updates_of, self._warnings, redraw_later=self._redraw_later
        )
        # marimo keeps no outputs in its file, and an output that is replaced there takes its neighbours with it.
        self._in_marimo = marimo_notebook() is not None
        self._slots = Slots(
            lambda: CardList(self._talk.take, self._on_drawn, self._talk.draft_of), mounts=not self._in_marimo
        )
        self._figures = Figures(self._slots, self._figured)
        self._widget: ipywidgets.Widget = self._slots.box if around is None else around(self._slots.box)
        self._own: set[str] = set()
        self._tools: dict[str, tuple[ToolEntry, Drawn | None]] = {}
        self._states: dict[str, Drawn] = {}
        self._drawn_at: dict[str, str] = {}
        """The status of a call when a function of the user's has drawn it."""
        self._rendered: dict[str, str] = {}
        self._displayed: dict[str, float] = {}
        """By display id, when."""
        self._stored = ("", 0.0)
        """What is in the document, as text, and since when."""
        self._context: Context = copy_context()
        self._postponed = False
        self.displayed: Callable[[], object] = lambda: None
        """Called when it was put into a cell."""
        self._shown_again = False
        self._saving: threading.Timer | asyncio.TimerHandle | None = None
        self._calm = CALM
        self._unseen: dict[str, tuple[Updates, int]] = {}
        self.follow(transcript)

    def __contains__(self, what: object) -> bool:
        if isinstance(what, Call):
            return what.occurrence in self._observed
        return any(what is each for each in self._transcripts)

    @property
    def in_use(self) -> bool:
        """Whether a transcript is followed."""
        return bool(self._followed)

    def is_awaited(self, call: Call) -> bool:
        """Whether a cell waits for this call, and can do nothing else."""
        return self._origins[call.occurrence].foreground

    @property
    def has_pages(self) -> bool:
        """Whether there are pages that could draw it."""
        return self._sights.has_pages

    @property
    def gone(self) -> float | None:
        """Since when no page draws it, in seconds since 1970, by the clock of the browser."""
        return self._sights.gone

    @property
    def _sights(self) -> Sights:
        return self._slots.lists[0].updates.sights

    def open(self) -> None:
        """Put the view into the current cell."""
        # Of the cell: what is shown again from elsewhere has to stand there, too.
        self._context = copy_context()
        # What is stored names the question, so that is better there first; in the background the cell may be over then.
        self._postponed = self._transcripts[-1].foreground and not self._entries
        if not self._postponed:
            self.display()

    def display(self) -> None:
        """Put the view into the current cell once more: all of them are live."""
        bundle = self.live_bundle()
        handle = display(bundle, raw=True, display_id=True)
        if handle is not None:
            self._displayed[handle.display_id] = time.monotonic()
            self._note_stored(bundle)
        self.displayed()

    def say_aside(self, words: str) -> None:
        """Say something about the screen itself; it is no part of the record."""
        self._slots.lists[-1].updates.show({"key": ASIDE, "type": "note", "level": "info", "text": words})

    def follow(self, transcript: Transcript) -> None:
        """Show a transcript, too."""
        number = len(self._transcripts)
        self._transcripts.append(transcript)
        stack = ExitStack()
        self._followed[id(transcript)] = transcript, stack
        stack.enter_context(transcript.watched(partial(self._changed, number=number)))
        for entry in transcript:
            self._changed(entry, number=number)

    def forget(self, transcript: Transcript) -> None:
        """Show a transcript no more, nor what was shown of it."""
        self.leave(transcript)
        number = next((at for at, each in enumerate(self._transcripts) if each is transcript), -1)
        calls = {entry.call.occurrence for entry in self._entries.values() if isinstance(entry, CallEntry)}
        mine = {key for key in calls if self._origins.get(key) is transcript}
        mine |= {call.occurrence for call in transcript.tools}
        gone = [key for key in self._entries if key in mine or key.startswith(f"{number}:")]
        for key in gone:
            del self._entries[key]
            self._slots.unmount(key, for_good=True)
        for cards in self._slots.lists:
            cards.updates.drop(gone)

    def save_soon(self) -> None:
        """Put what is shown into the document in a moment, unless a question is open."""
        self._save_decided()

    def leave(self, transcript: Transcript) -> None:
        """Follow a transcript no more; what was shown of it stays."""
        _, stack = self._followed.pop(id(transcript), (None, None))
        if stack is not None:
            stack.close()

    def close(self) -> None:
        """Stop following and leave the static record in the cell."""
        for _, stack in self._followed.values():
            stack.close()
        self._followed.clear()
        self._talk.close()
        self._save_no_more()
        for call in self._observed.values():
            call.unobserve(self._on_trait, names=list(_OBSERVED))
        for entry, _ in self._tools.values():
            entry.call.unobserve(self._on_tool, names=list(_LOOKED_AT))
        for cards in self._slots.lists:
            cards.updates.finish()
        # A widget that draws a call is no question that is over: it stays as long as the kernel does.
        made = [*(drawn for _, drawn in self._tools.values()), *self._states.values()]
        stays = any(drawn is not None and drawn.widget is not None for drawn in made)
        self._update(self.live_bundle() if stays else self._record(), self._beside())
        if self._is_forgotten():
            self._record_later()

    def _update(self, stored: dict[str, Any], beside: dict[str, Any]) -> None:
        for display_id in () if self._in_marimo else self._displayed:
            update_display(stored, raw=True, display_id=display_id, metadata=beside)
        if not self._is_forgotten():
            self._note_stored(stored)

    def _note_stored(self, stored: dict[str, Any]) -> None:
        self._stored = (stored["text/plain"], time.monotonic())

    def _is_forgotten(self) -> bool:
        """Whether no page knows any more where the view is to be changed in the document, since each was reloaded."""
        return bool(self._displayed) and not any(map(self._sights.knows, self._displayed.values()))

    def _record_later(self) -> None:
        """Have the next cell that runs put the record into the document, unless it is there."""
        kernel, stored = current_kernel(), self._record(MOVED)
        text, since = self._stored
        if kernel is None or (text == self._record()["text/plain"] and self._sights.saw(since)):
            return
        beside = self._beside()
        in_next_cell(kernel, lambda: display(stored, raw=True, metadata=beside))

    def _beside(self) -> dict[str, Any]:
        return metadata_of(self._head or getattr(self._transcripts[-1], "head", None))

    # -- transcript → screen ------------------------------------------------------------------------------

    def _changed(self, entry: Entry, *, number: int = 0) -> None:
        if isinstance(entry, ToolEntry):
            self._show_tool(entry)
            return
        if not isinstance(entry, CallEntry):
            key = f"{number}:{entry.key}"  # those of two transcripts may be the same
            self._entries[key] = entry
            self._slots.home_of(key).updates.show_later(key, lambda: self._item(key, entry))
            self._display_postponed()
            if isinstance(entry, NoteEntry) and entry.instead_of in self._observed:
                self._take_away(self._observed[entry.instead_of])
            return
        call = entry.call
        self._entries[call.occurrence] = entry
        self._origins.setdefault(call.occurrence, self._transcripts[number])
        self._follow(call)
        self._redraw(call)

    def _take_away(self, call: Call) -> None:
        """Show a call no more, and keep nothing of it, neither here nor in the document."""
        key = call.occurrence
        call.unobserve(self._on_trait, names=list(_OBSERVED))
        del self._observed[key]
        self._entries.pop(key, None)
        self._open.discard(key)
        self._unseen.pop(key, None)
        self._talk.drafts.forget(call)
        self._figures.hide(call)
        self._slots.unmount(key, for_good=True)
        self._slots.home_of(key).updates.drop([key])
        self._update(self.live_bundle(), {})  # also while somebody is at another question

    def _redraw(self, call: Call) -> None:
        is_forgotten = call.occurrence not in self._entries
        if is_forgotten or (call.status == "inProgress" and not has_preview(call)):
            return
        item = self._call_item(call)
        self._slots.home_of(call.occurrence, str(item.get("card") or "")).updates.show(item)
        self._display_postponed()

    def _redraw_later(self, call: Call) -> None:
        """Draw a call again when the next update goes: it may be decided by then, and is drawn once."""
        key = call.occurrence
        self._slots.home_of(key).updates.show_later(key, lambda: self._call_item(call))

    def _call_item(self, call: Call) -> Item:
        passed = call.occurrence in self._passed
        if call.occurrence in self._own and call.outcome is None:
            return headline_of(call, passed=passed)
        return call_item(call, self._warnings, passed=passed)

    def _item(self, key: str, entry: Entry) -> Item:
        drawn = None
        if isinstance(entry, StateEntry):
            drawn = self._states.setdefault(key, drawing_of(entry) or Drawn("", str))
            drawn.draw(entry.state)
            self._slots.place(key, drawn.widget)
        return item_of(entry, self._warnings, growing=self._messages, drawn=drawn) | {"key": key}

    # -- calls that nobody is asked about -----------------------------------------------------------------

    def _show_tool(self, entry: ToolEntry) -> None:
        if entry.key not in self._tools:
            self._entries[entry.key] = entry
            self._tools[entry.key] = entry, drawing_of(entry)
            entry.call.observe(self._on_tool, names=list(_LOOKED_AT))
        entry, drawn = self._tools[entry.key]
        if drawn is not None:
            self._draw(entry, drawn)
        self._slots.home_of(entry.key).updates.show(item_of(entry, self._warnings, drawn=drawn))
        if drawn is not None and drawn.hidden and not entry.call.decided:
            self._slots.reserve(entry.key)  # there may be a widget later, and its place is here
        self._slots.place(entry.key, drawn.widget if drawn is not None else None)
        self._display_postponed()

    def _on_tool(self, change: Any) -> None:
        self._show_tool(self._tools[change["owner"].occurrence][0])

    def _draw(self, entry: ToolEntry, drawn: Drawn) -> None:
        """Have a function of the user's draw a call; a widget follows its call by itself until the status changes."""
        call = entry.call
        if drawn.widget is not None and self._drawn_at.get(entry.key) == call.status:
            return
        self._drawn_at[entry.key] = call.status
        drawn.draw(call)

    def _display_postponed(self) -> None:
        if self._postponed:
            self._postponed = False
            self._context.copy().run(self.display)

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
            self._open.discard(call.occurrence)
            self._talk.drafts.forget(call)
            self._figures.hide(call)
        if name in ("status", "turn"):
            self._take_turn(call)
        self._redraw(call)
        if takes_clicks(call) or call.status == "complete":
            self._updates_of(call.occurrence).flush()
        if name == "status" and call.status == "complete":
            self._save_decided()

    def _opened(self, call: Call) -> None:
        self._open.add(call.occurrence)
        self._save_no_more()
        if len(self._observed) == 1:
            self._update(self.live_bundle(), {})  # what is saved names the question; nobody is at work here yet
        home = self._slots.home_of(call.occurrence).updates
        self._unseen[call.occurrence] = (home, home.seq + 1)
        if has_preview(call):
            self._talk.fetch(call)
            self._figures.show(call)
        else:
            self._own.add(call.occurrence)
            self._slots.reserve(call.occurrence)

    # -- what is saved ------------------------------------------------------------------------------------

    def _save_decided(self) -> None:
        """Put what is decided into the document soon: a notebook may be saved in the middle of a run.

        By a clock of its own, since what runs next may block the loop; by the loop's where there are no threads.
        """
        self._save_no_more()
        if self._displayed and not self._open:
            context = copy_context()
            if not has_threads():
                self._saving = asyncio.get_running_loop().call_later(self._calm, self._save, context=context)
                return
            timer = self._saving = threading.Timer(self._calm, lambda: context.run(self._save))
            timer.daemon = True
            timer.start()

    def _save(self) -> None:
        if not self._open:
            stored = self.live_bundle()
            self._calm = max(CALM, len(stored["text/html"]) / _CALM_BYTES)
            self._update(stored, {})

    def _save_no_more(self) -> None:
        if self._saving is not None:
            self._saving.cancel()
            self._saving = None

    def _record(self, *before: Entry) -> dict[str, Any]:
        return bundle((entry, self._record_of(entry)) for entry in [*before, *self._entries.values()])

    def _record_of(self, entry: Entry) -> Record | Drawn | None:
        if isinstance(entry, ToolEntry):
            return self._tools[entry.key][1]
        if isinstance(entry, StateEntry):
            return next((drawn for key, drawn in self._states.items() if key.endswith(f":{entry.key}")), None)
        return record_of_call(entry.call) if isinstance(entry, CallEntry) else None

    def live_bundle(self) -> dict[str, Any]:
        """Return what is displayed: the live view, and the record of what it shows."""
        view = {"model_id": self._widget.model_id, "version_major": 2, "version_minor": 0}
        return {**self._record(), _WIDGET_VIEW: view}

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
            with contained(f"The `render` of `{call.name}`"):
                widget = rendered(call, call.turn)
        except Exception as error:
            why = f"{type(error).__name__}: {words_of(error)}"
            self._use_card(call, f"Its `render` failed ({why}); the default card instead.")
            return
        if widget is None:
            self._use_card(call)
            self._talk.fetch(call)
        elif self._in_marimo:
            self._use_card(call, "marimo draws no ipywidgets, so its `render` is not shown; the default card instead.")
            self._talk.fetch(call)
        elif not isinstance(widget, ipywidgets.DOMWidget):
            self._use_card(call, f"Its `render` returned a `{type(widget).__name__}`, not a widget.")
        else:
            # What is asked stands above the user's widget; the record takes its place afterwards.
            self._slots.home_of(call.occurrence).updates.show(headline_of(call), soon=False)
            self._slots.mount(call.occurrence, widget)

    def _figured(self, call: Call) -> None:
        """Show what was made of a call's figures; a picture takes its time, also beyond the end of a run."""
        if self._followed:
            self._redraw(call)
        else:
            self._update(self._record(), self._beside())

    def _use_card(self, call: Call, warning: str = "") -> None:
        """Draw the call by a card from now on."""
        self._own.discard(call.occurrence)
        self._slots.unmount(call.occurrence, for_good=True)
        if warning:
            self._warnings[call.occurrence] = warning

    # -- who sees it --------------------------------------------------------------------------------------

    def _on_drawn(self) -> None:
        if self._sights.drawn:
            self.drawn.set()
            self._shown_again = False
        for occurrence, (updates, seq) in list(self._unseen.items()):
            if updates.have >= seq:
                del self._unseen[occurrence]
                Handle.of(self._observed[occurrence]).shown()
        self._slots.repeat()
        self._look_for_views()

    def _look_for_views(self) -> None:
        """Show the cards again, once, where a cell waits and no page draws them; if that does not help, give up."""
        sights = self._sights
        waits = any(self._observed[open_].status == "executing" for open_ in self._open)
        if not waits or not any(transcript.foreground for transcript, _ in self._followed.values()):
            sights.wait_anew()
        elif sights.zero_for >= UNSEEN and self._shown_again:
            self.lost.set()
        elif sights.zero_for >= UNSEEN:
            self._shown_again = True
            sights.wait_anew()
            self._context.copy().run(self.display)

    def _updates_of(self, occurrence: str) -> Updates:
        cards = self._slots.home_of(occurrence) if occurrence in self._observed else self._slots.lists[0]
        return cards.updates
