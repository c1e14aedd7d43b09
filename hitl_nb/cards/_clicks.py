"""What people do on the cards of one view: a click counts once, and only in the turn that it was drawn for.

The browser sends a click again until it hears what became of it, and it hears that only when the answer is on disk. So
a click has an identity of its own: one that comes again answers nothing twice, and gets the same word.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from hitl_nb._calls import CHANGED, Call, Handle
from hitl_nb.cards._choose import card_of
from hitl_nb.cards._text import visible
from hitl_nb.errors import HitlError


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
