"""Screen → kernel: what people do on the cards of one view, whatever carries it.

A click counts once, and only in the turn that it was drawn for. The browser sends it again until it hears what became
of it, and it hears that only when the answer is on disk. So a click has an identity of its own: one that comes again
answers nothing twice, and gets the same word.

What a person has begun at a card and not sent is held, so that a reload or a second tab loses none of it: in memory,
while its question is open to the same person about the same thing, and nowhere else, neither in the journal nor in the
notebook. It is no answer: only a page that opens the question anew is given it, and whoever sits there sees it, and
confirms it or does not. What a schema calls a secret stays in the page; what has the name of one, or quotes one that
passed by, is left out here.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from hitl_nb._calls import CHANGED, Call, Handle, Held
from hitl_nb._limits import contained, words_of
from hitl_nb._secrets import is_secret_name, masked, names_a_secret
from hitl_nb._text import warned
from hitl_nb.cards._card import Card, Plain
from hitl_nb.cards._protocol import begun_at, takes_clicks
from hitl_nb.cards._registry import card_of, use_default
from hitl_nb.cards._updates import Fate, Updates
from hitl_nb.errors import HitlError, UsageError


class Clicks:
    """Takes the ``respond``, ``decline``, ``cancel`` and ``undo`` messages of one view.

    Args:
        find: Gives the call of an occurrence, or None.
        redraw: Draws a call again with the next update.
        updates_of: What reaches the browser that draws an occurrence.
    """

    def __init__(
        self,
        find: Callable[[str], Call | None],
        redraw: Callable[[Call], None],
        updates_of: Callable[[str], Updates],
    ) -> None:
        self._find, self._redraw, self._updates_of = find, redraw, updates_of
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
                self._updates_of(call_id).acknowledge(call_id, click, fate)
            return
        call = self._find(call_id)
        if call is None:
            self._updates_of(call_id).acknowledge(call_id, click, Fate(accepted=False))
            return
        if message["op"] == "undo":
            self._settle(call, click, _undone(call, message))
            return
        card = _confirming(call, message)
        if card is None:
            self._decide(call, click, message)
            return
        if click is not None:
            self._fates[click] = None
        self._later(self._confirmed(card, call, click, message))

    async def _confirmed(self, card: Card, call: Call, click: str | None, message: dict[str, Any]) -> None:
        """Decide on a click once the card is done with what takes its time."""
        try:
            await card.confirming()
        except Exception as problem:
            self._settle(call, click, Fate(accepted=False, error=warned(f"{type(problem).__name__}: {problem}")))
            return
        self._decide(call, click, message)

    def _decide(self, call: Call, click: str | None, message: dict[str, Any]) -> None:
        fate, handle = _fate_of(call, message), Handle.of(call)
        if not fate.accepted or handle.decision is not None:
            self._settle(call, click, fate)
            return
        if click is not None:
            self._fates[click] = None
        self._redraw(call)
        self._later(self._written(call, click, handle.grace.held))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)

    async def _written(self, call: Call, click: str | None, held: Held | None) -> None:
        """Acknowledge an answer once it is on disk."""
        handle = Handle.of(call)
        error = ""
        if held is not None and not await held.kept():
            self._settle(call, click, _not_kept(call))
            return
        try:
            await handle.written()
        except Exception as problem:
            error = str(problem)
        if handle.decision is None:
            # A draft is not lost: the card is open again, and says why.
            why = call.error or error or "Your answer could not be written down and does not count."
            fate = Fate(accepted=False, error=why)
        else:
            fate = Fate(accepted=True) if handle.is_mine else _lost(call)
        self._settle(call, click, fate)

    def _settle(self, call: Call, click: str | None, fate: Fate) -> None:
        if click is not None:
            self._fates[click] = fate
        if not fate.accepted:  # else its status has changed, and it is drawn
            self._redraw(call)
        self._updates_of(call.occurrence).acknowledge(call.occurrence, click, fate)


def _undone(call: Call, message: dict[str, Any]) -> Fate:
    """Take back what is held; where nothing is, say what that comes to."""
    if Handle.of(call).grace.undo(message.get("turn")) or not call.decided:
        return Fate(accepted=False, undone=True)
    return Fate(accepted=False, error="It was too late to undo this. It counts:")


def _not_kept(call: Call) -> Fate:
    """Say what became of an answer that was held and has not been let count."""
    if call.decided:
        return Fate(accepted=False, error="This ended before your answer counted:")
    return Fate(accepted=False, error=call.error) if call.error else Fate(accepted=False, undone=True)


def _fate_of(call: Call, message: dict[str, Any]) -> Fate:
    if call.decided:
        call.respond(message.get("value"))  # kept among the late answers
        return _lost(call)
    if Handle.of(call).grace.held is not None:
        return Fate(accepted=False, error="This is answered already; undo it first.")
    try:
        with contained(f"The card of `{call.name}`"):
            accepted = _decide(call, message)
    except HitlError as problem:
        return Fate(accepted=False, error=warned(words_of(problem)))
    except Exception as problem:
        # A fault in the kernel is shown on the card, never swallowed: the person believes to have answered.
        return Fate(accepted=False, error=warned(f"{type(problem).__name__}: {words_of(problem)}"))
    if not accepted and call.reason == CHANGED:
        return Fate(accepted=False, error=f"Not approved: {CHANGED}.")
    return Fate(accepted=accepted)


def _lost(call: Call) -> Fate:
    """Return what whoever comes too late is told: who was first, or that nobody is asked any more."""
    decision = Handle.of(call).decision
    if decision is None:
        return Fate(accepted=False, late=True)  # it is being written down
    if not decision.approves and decision.outcome != "declined":
        return Fate(accepted=False, late=True, error="This was not asked any more. What became of it:")
    who = f" by {decision.by}" if decision.by else ""
    return Fate(accepted=False, late=True, error=warned(f"Already answered{who}. This is what counts:"))


def _confirming(call: Call, message: dict[str, Any]) -> Card | None:
    """Give the card that has something to do before this click is decided on."""
    if message["op"] != "respond" or call.decided or not takes_clicks(call):
        return None
    try:
        card = card_of(call)
    except Exception:
        return None  # to decide fails in the same way, and says so
    return card if type(card).confirming is not Card.confirming else None


def _decide(call: Call, message: dict[str, Any]) -> bool:
    with Handle.of(call).turns.clicked(message.get("turn")):
        if message["op"] == "decline":
            reason = message.get("reason")
            return call.decline(reason if isinstance(reason, str) and reason else None)
        card = card_of(call)
        if message["op"] == "cancel":
            if card.cancel is None:
                raise UsageError(f'`{type(card).__name__}` has no button that cancels. Write `cancel = "Cancel"`.')
            return call.cancel()
        card.check_read()
        return card.decide(message.get("value"))


# -- what has been begun and not sent ---------------------------------------------------------------------------------

LARGEST: Final = 1_000_000
"""Characters of JSON; what is longer is not held."""

_LEFT_OUT: Final = object()


class Drafts:
    """The drafts of one view, by occurrence."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Any]] = {}

    def keep(self, call: Call, message: Mapping[str, object]) -> None:
        """Hold what a page says was begun at an open call, in the place of what was begun there before."""
        turn, draft = call.turn, message.get("draft")
        if call.status != "executing" or turn is None or not turn.takes_clicks or turn.token != message.get("turn"):
            return  # of a question that is over, or that somebody else is asked now
        kept = _without_secrets(draft, "") if isinstance(draft, dict) else None
        if not kept or kept is _LEFT_OUT or len(json.dumps(kept)) > LARGEST:
            self.forget(call)
        else:
            self._kept[call.occurrence] = turn.token, kept

    def of(self, call: Call) -> Any:
        """Give what was begun at a call, None if there is nothing, or if it was about something else."""
        token, draft = self._kept.get(call.occurrence, ("", None))
        if draft is None:
            return None
        if call.turn is None or call.turn.token != token or Handle.of(call).was_changed:
            self.forget(call)
            return None
        return draft

    def forget(self, call: Call) -> None:
        """Hold nothing of this call any more."""
        self._kept.pop(call.occurrence, None)


def _without_secrets(part: object, name: str) -> Any:
    """Give plain JSON without what is called, or quotes, a secret; a part of a form says its name as ``key``."""
    if is_secret_name(name):
        return _LEFT_OUT
    if isinstance(part, str):
        return _LEFT_OUT if names_a_secret(part) or masked(part) != part else part
    if isinstance(part, dict):
        called = part.get("key")
        secret = isinstance(called, str) and is_secret_name(called)
        inside = {
            key: _without_secrets(each, "secret" if secret and key == "kept" else key) for key, each in part.items()
        }
        return {key: each for key, each in inside.items() if each is not _LEFT_OUT}
    if isinstance(part, list):
        items = [_without_secrets(each, "") for each in part]
        return _LEFT_OUT if any(each is _LEFT_OUT for each in items) else items
    return part


# -- and all else that the browser half of a card says ----------------------------------------------------------------

_LONGEST_FAULT: Final = 500


class Talk:
    """Does what the browser half of the cards of one view asks for.

    Args:
        find: Gives the call of an occurrence, or None.
        redraw: Draws a call again.
        updates_of: What reaches the browser that draws an occurrence.
        warnings: By occurrence, what the person must be told about a card.
        redraw_later: Draws a call again with the next update; default: `redraw`.
    """

    def __init__(
        self,
        find: Callable[[str], Call | None],
        redraw: Callable[[Call], None],
        updates_of: Callable[[str], Updates],
        warnings: dict[str, str],
        redraw_later: Callable[[Call], None] | None = None,
    ) -> None:
        self._find, self._redraw, self._updates_of, self._warnings = find, redraw, updates_of, warnings
        self._clicks = Clicks(find, redraw_later or redraw, updates_of)
        self.drafts = Drafts()
        """What has been begun and not sent."""
        self._fetching: set[asyncio.Task[None]] = set()
        self._replying: set[str] = set()

    def close(self) -> None:
        """Wait for nothing any more."""
        self._clicks.close()
        for task in self._fetching:
            task.cancel()

    def take(self, message: dict[str, Any]) -> None:
        """Do what a message means: an answer, ``undo``, ``draft``, ``failed``, ``ask`` or ``look``."""
        if message["op"] == "failed":
            self._card_failed(message)
        elif message["op"] == "ask":
            self._asked(message)
        elif message["op"] == "look":
            self._look(message)
        elif message["op"] == "at":
            if (call := self._find(str(message.get("call_id")))) is not None:
                Handle.of(call).looked_at()
        elif message["op"] == "draft":
            if (call := self._find(str(message.get("call_id")))) is not None:
                self.drafts.keep(call, message)
                handle = Handle.of(call)
                # Whoever asks may refuse the answer, and ask anew: then what was typed is there again.
                handle.begun = self.drafts.of(call)
                handle.looked_at()
        else:
            self._clicks.take(message)

    def draft_of(self, key: str) -> Any:
        """Give what a person has begun at an item, None if that is nothing."""
        call = self._find(key)
        return None if call is None else self.drafts.of(call) or begun_at(call)

    def fetch(self, call: Call) -> None:
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
            with contained("Its `prepare`"):
                await card.prepare()
        except Exception as error:
            self._warnings[call.occurrence] = (
                f"Its card could not fetch what it shows ({type(error).__name__}: {words_of(error)}); "
                "the default card instead."
            )
            use_default(call)
        self._redraw(call)

    def _look(self, message: dict[str, Any]) -> None:
        """Open another page of a table; which one is open is part of what is drawn."""
        call, path, page = self._find(str(message.get("call_id"))), message.get("at"), message.get("page")
        if call is not None and not call.decided and isinstance(path, str) and type(page) is int:
            card_of(call).look(path, page)
            self._redraw(call)
            self._updates_of(call.occurrence).flush()

    def _asked(self, message: dict[str, Any]) -> None:
        """Have a card reply to its module; what is asked again while it is at work is under way."""
        call = self._find(str(message.get("call_id")))
        ask = message.get("ask")
        if call is None or not isinstance(ask, str) or ask in self._replying:
            return
        self._replying.add(ask)
        task = asyncio.get_running_loop().create_task(self._replied(call, ask, message))
        self._fetching.add(task)
        task.add_done_callback(self._fetching.discard)

    async def _replied(self, call: Call, ask: str, message: dict[str, Any]) -> None:
        found: dict[str, Any]
        try:
            theirs = takes_clicks(call) and not call.decided and call.turn.token == message.get("turn")
            found = {"body": await card_of(call).reply(message.get("body") or {}, open_to=theirs)}
        except Exception as problem:
            found = {"error": warned(str(problem) or type(problem).__name__)}
        finally:
            self._replying.discard(ask)
        self._redraw(call)
        self._updates_of(call.occurrence).reply(call.occurrence, ask=ask, **found)

    def _card_failed(self, message: dict[str, Any]) -> None:
        """Draw a call by the default card, since a browser could not draw it by its own."""
        call = self._find(str(message.get("call_id")))
        if call is None or call.decided:
            return
        card = card_of(call)
        if isinstance(card, Plain) or card.called() != message.get("card"):
            return  # said before, of a card that is gone
        why = str(message.get("error"))[:_LONGEST_FAULT]
        self._warnings[call.occurrence] = f"Its own card could not be drawn ({why}); the default card instead."
        use_default(call)
        self._redraw(call)
