"""The person at the notebook: sees the run in the cell, answers on its cards."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hitl_nb._calls import Call, Handle
from hitl_nb._kernel import comm_delivery, current_kernel, front_end
from hitl_nb._process import user_name
from hitl_nb._transcript import CallEntry, Transcript
from hitl_nb._waiting import TICK, until_decided
from hitl_nb.errors import NoHumanError
from hitl_nb.people._person import declared_kind, nobody_answered

if TYPE_CHECKING:
    from hitl_nb.cards import RunView

_TWO_CELLS = (
    "this kernel does not deliver clicks while a cell awaits. Use two cells instead:\n"
    '    run = session.start("...")   # first cell; answer its card\n'
    "    reply = await run            # second cell, after the answer"
)


class NotebookPerson:
    """Asks whoever sits in front of the notebook (the default of ``Session(people=...)``).

    Args:
        name: Who answers, in the record; default: the JupyterHub user, else the operating system's.
        handshake: Seconds until the browser must have drawn the first question; after that nobody is there.
    """

    via = "card"

    def __init__(self, name: str | None = None, *, handshake: float = 10.0) -> None:
        self.name = user_name(name)
        self.handshake = handshake

    def declared(self) -> list[str] | None:
        """Say who this is, for decisions that are recalled; see `hitl_nb.people.declared`."""
        kind = declared_kind(self)
        return None if kind is None else [kind, self.name]

    @contextmanager
    def watch(self, transcript: Transcript) -> Iterator[bool]:
        """Show the run in the cell while it lasts; yields whether somebody may see it."""
        if front_end() != "possible":
            yield False
            return
        if any(view.transcript is transcript for view in _views):
            # Several people at this notebook have one view: each question is drawn live once.
            yield True
            return
        from hitl_nb.cards import RunView  # the only person who needs widgets, and only now

        view = RunView(transcript)
        _views.append(view)
        view.open()
        try:
            yield True
        finally:
            _views.remove(view)
            view.close()

    async def __call__(self, call: Call) -> None:
        """Wait until the person has decided, however long that takes.

        Raises:
            NoHumanError: No front end; or a likely one that never drew the question; or a kernel that cannot
                deliver clicks to this cell.
        """
        turn = call.turn
        if turn is not None and not turn.takes_clicks:
            # Asked by a person of the user's own, whose turn it is: `async def careful(call): await notebook(call)`.
            with Handle.of(call).put_to(self) as mine:
                await self._ask(mine)
        else:
            await self._ask(call)

    async def _ask(self, call: Call) -> None:
        view = next((view for view in reversed(_views) if call in view.transcript), None)
        if view is not None:
            await self._answered(view, call)
            return
        if front_end() != "possible":
            raise NoHumanError(nobody_answered(call, _absent()))
        transcript = Transcript()
        transcript.add(CallEntry(key=call.occurrence, call=call))
        with self.watch(transcript):
            await self._answered(_views[-1], call)

    async def _answered(self, view: "RunView", call: Call) -> None:
        if view.transcript.foreground and comm_delivery(current_kernel()) == "unknown":
            raise NoHumanError(nobody_answered(call, _TWO_CELLS))
        answer = asyncio.ensure_future(until_decided(call))
        try:
            await self._drawn(view, call, answer)
            await answer
        finally:
            answer.cancel()

    async def _drawn(self, view: "RunView", call: Call, answer: asyncio.Future[None]) -> None:
        # In ticks, not in one timeout: while a cell blocks the loop, the browser's sign of life waits with us.
        for _ in range(max(1, round(self.handshake / TICK))):
            if view.drawn.is_set() or answer.done():
                return
            await asyncio.wait([answer], timeout=TICK)
        if not view.drawn.is_set():
            raise NoHumanError(nobody_answered(call, f"no browser has drawn it within {self.handshake:g} s"))

    def __repr__(self) -> str:
        return f"<NotebookPerson {self.name}>"


_views: "list[RunView]" = []
"""What is on screen in this kernel, whoever of the people here is asked."""


def _absent() -> str:
    if current_kernel() is None:
        return "this process is no notebook kernel, so there is no front end"
    return "this notebook is executed without a front end (nbclient, nbconvert, papermill, nbval)"
