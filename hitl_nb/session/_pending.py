"""What ``session.run(...)`` gives before its ``await``: the likely slip, recognised."""

import asyncio
from typing import Protocol

from hitl_nb._awaiting import Unawaited, Words
from hitl_nb.session._reply import Reply
from hitl_nb.session._run import Run


class Launch(Protocol):
    """Begins the run, with a cell that waits for it or without."""

    def __call__(self, *, foreground: bool) -> Run: ...


class PendingRun(Unawaited[Reply]):
    """``session.run(...)`` before its ``await``: nothing has run yet, and whatever else is tried says so."""

    __slots__ = ("_launch",)

    def __init__(self, launch: Launch, call: str) -> None:
        super().__init__(lambda: _foreground(launch), Words(call, "reply = await {}", "nothing has run"))
        self._launch = launch

    def start(self) -> Run:
        """Begin it in the background, as ``session.start(...)`` does; await the `Run` in a later cell.

        Raises:
            SessionBusyError: Another run of this session is under way.
            UsageError: No event loop is running.
        """
        self._take()
        return self._launch(foreground=False)


async def _foreground(launch: Launch) -> Reply:
    __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
    run = launch(foreground=True)
    try:
        return await run
    except asyncio.CancelledError:
        # The stop button cancels the cell; the run must not go on behind it.
        run.stop()
        await run.settled()
        raise
