"""What ``session.run(...)`` gives before its ``await``: the likely slip, recognised."""

import asyncio
import warnings
from collections.abc import Callable, Generator
from typing import Any

from hitl_nb.errors import NotAwaitedError
from hitl_nb.session._reply import Reply
from hitl_nb.session._run import Run


class PendingRun:
    """``session.run(...)`` before its ``await``: nothing has happened yet, and it says so."""

    def __init__(self, launch: Callable[[], Run], line: str) -> None:
        self._launch = launch
        self._line = line
        self._awaited = False

    def __await__(self) -> Generator[Any, None, Reply]:
        self._awaited = True
        return self._foreground().__await__()

    async def _foreground(self) -> Reply:
        __tracebackhide__ = True  # IPython's: the stop button shows the user's line, not ours
        run = self._launch()
        try:
            return await run
        except asyncio.CancelledError:
            # The stop button cancels the cell; the run must not go on behind it.
            run.stop()
            await run.settled()
            raise

    def _hint(self) -> str:
        return f"nothing has run yet: write `reply = await {self._line}`"

    def __repr__(self) -> str:
        return f"<{self._line} without await: {self._hint()}>"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotAwaitedError(f"`{self._line}` has no `{name}` before its `await`; {self._hint()}.")

    def __del__(self) -> None:
        if not self.__dict__.get("_awaited", True):
            warnings.warn(f"`{self._line}` was never awaited; {self._hint()}.", RuntimeWarning, stacklevel=2)
