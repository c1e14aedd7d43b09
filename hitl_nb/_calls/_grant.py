"""What runs because a person approved it: taken once, with exactly what was shown; and how far it is meanwhile.

The grant is on disk before anything runs, so that of several kernels one runs it, and a crash leaves no doubt.

Which call a tool's progress is about is found by a context variable, which tasks and ``asyncio.to_thread`` inherit. So
a tool's function keeps its own parameters, and can still be called from a cell, where nobody listens.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hitl_nb._calls._decision import Decision, Recorder
from hitl_nb._calls._fingerprint import Print, print_of
from hitl_nb._calls._held import frozen
from hitl_nb._encoding import encode_refusal
from hitl_nb.errors import InvalidValue, RunStopped, UsageError

if TYPE_CHECKING:
    from hitl_nb._calls._handle import Handle

_running: set[tuple[str | None, str]] = set()
"""What runs in this process under a grant, by thread and call."""

MAY_HAVE_RUN = (
    "Error: a person approved this, and then its process ended; it may or may not have run, and it is not run again."
)
_TICK = 0.25
_PATIENCE = 30.0
"""Seconds that another process has to begin what it was allowed, or to end it where nobody can tell if it lives."""


class Grant:
    """The single right to run what was approved of one call.

    Args:
        handle: Of the call.
    """

    def __init__(self, handle: "Handle") -> None:
        self._handle, self._call = handle, handle.call
        self.is_gated = False
        """Whether something runs once the call is approved."""
        self.frozen: Any = None
        """What is asked to run with, as it was opened; nobody else holds this copy."""
        self.approved: tuple[Any, Print] | None = None
        """What was approved, and its print; set with the decision."""
        self.is_taken = False
        """Whether it has been used up."""

    def to_run(self, decision: Decision) -> tuple[Any, Print] | None:
        """Return what may run if this decision counts, in a copy that nobody else holds; None if nothing may."""
        if not self.is_gated or not decision.approves:
            return None
        untouched = decision.outcome == "answered" and decision.answer is self._call.args
        value = self.frozen if untouched else frozen(decision.answer)
        return value, print_of(value)

    async def begin(self) -> Any:
        """Take the grant: the single right to run what was approved. Gives what to run it with.

        The value is the frozen copy of what was shown, or of the edited answer, compared once more.

        Raises:
            UsageError: Nothing was approved, or it has been run already.
            InvalidValue: The copy is not what was approved any more: it holds what cannot be copied, and was changed.
            GrantLost: Another process runs it.
        """
        call, decision = self._call, self._handle.decision
        if decision is None or self.approved is None or not decision.approves:
            raise UsageError(f"`{call.name}` ({call.id}) was not approved, so it does not run.")
        if self.is_taken:
            raise UsageError(f"`{call.name}` ({call.id}) has run already; one approval is for one run.")
        self.is_taken = True
        if not self._handle.is_mine:
            raise GrantLost(self._handle)
        if self._handle.recorder is not None:
            await self._start(self._handle.recorder)
        _running.add(self._question)
        value, approved = self.approved
        if print_of(value).digest != approved.digest:
            why = f"`{call.name}` was approved for other arguments than these, so it does not run."
            self.end(encode_refusal("not_executed", why))
            raise InvalidValue(why)
        return value

    async def _start(self, recorder: Recorder) -> None:
        """Write down that it begins.

        Raises:
            GrantLost: It has begun elsewhere.
            JournalError: That could not be written, so it does not begin.
        """
        starting = asyncio.wrap_future(recorder.begin_started(self._call))
        try:
            mine = await asyncio.shield(starting)
        except asyncio.CancelledError:
            # Stopped while the grant was on its way to the disk: whose it is decides what is told of the run.
            await asyncio.wait([starting])
            self._not_begun(elsewhere=starting.exception() is None and not starting.result())
            raise
        if not mine:
            raise GrantLost(self._handle)

    def _not_begun(self, *, elsewhere: bool) -> None:
        """Tell what comes of an approval whose session has ended."""
        if not elsewhere:
            self.end(encode_refusal("not_executed", "the run was stopped before it began"))
            return
        recorder = self._handle.recorder
        started = recorder.started(self._call) if recorder is not None else None
        self._handle.delivered = (started.ended if started is not None else None) or MAY_HAVE_RUN

    @property
    def runs_here(self) -> bool:
        """Whether this process is running what was approved, for this session or another one on the same thread."""
        return self._question in _running

    async def waive(self) -> None:
        """What was approved and has not begun will not run here: its session has ended. Its grant is used up."""
        decision = self._handle.decision
        if not self.is_gated or decision is None or not decision.approves or self.is_taken:
            return
        self.is_taken = True
        elsewhere = not self._handle.is_mine
        if self._handle.is_mine and self._handle.recorder is not None:
            starting = asyncio.wrap_future(self._handle.recorder.begin_started(self._call))
            await asyncio.wait([starting])
            elsewhere = starting.exception() is None and not starting.result()
        self._not_begun(elsewhere=elsewhere)

    def end(self, result: str) -> None:
        """Note what came of the run, and give that to the model."""
        self._handle.delivered = result
        _running.discard(self._question)
        if self._handle.recorder is not None:
            self._handle.note(lambda recorder: recorder.begin_ended(self._call, result), "The end of its run")

    @property
    def _question(self) -> tuple[str | None, str]:
        return (self._call.thread_id, self._call.id)


class GrantLost(Exception):  # noqa: N818 - what happened; never leaves the session
    """What was approved is run by somebody else; `outcome` waits for what comes of it."""

    def __init__(self, handle: "Handle") -> None:
        super().__init__(handle.call.id)
        self._handle = handle

    async def outcome(self) -> str:
        """Wait for the end of the run, and give what the model is to be told; "may have run" if it will never end."""
        call, recorder = self._handle.call, self._handle.recorder
        waited = 0.0
        while recorder is not None:
            started = recorder.started(call)
            if started is not None and started.ended is not None:
                return started.ended
            if started is not None and (started.alive is False or (started.mine and not self._handle.grant.runs_here)):
                break
            if (started is None or started.alive is None) and waited >= _PATIENCE:
                break
            await asyncio.sleep(_TICK)
            waited += _TICK
        return MAY_HAVE_RUN


# -- how far it is ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a tool is."""

    done: float
    """How much is done, of `total`."""

    total: float | None = None
    """How much there is to do; None: nobody knows."""

    message: str = ""
    """What is being done, in words."""

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None without a `total`."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total else None


_reporting: "ContextVar[Handle | None]" = ContextVar("hitl_nb_running_tool", default=None)


@contextmanager
def reporting(handle: "Handle") -> Iterator[None]:
    """Have `report_progress` of code below be about this call."""
    token = _reporting.set(handle)
    try:
        yield
    finally:
        _reporting.reset(token)


def report_progress(progress: float, total: float | None = None, message: str = "") -> None:
    """Say how far a `frontend_tool` is, from inside its function; its card shows it. Safe from any thread.

    Outside of a tool that the model has called it does nothing, so that the function can be tried in a cell.

    Args:
        progress: How much is done, in any unit.
        total: How much there is to do, in the same; 1.0 for fractions.
        message: What is being done.

    Raises:
        RunStopped: The run was stopped meanwhile: so work in a thread, which nothing else can stop, ends here.
        UsageError: It is no number.

    ::

        @frontend_tool
        async def index(files: list[str]) -> int:
            "Index files."
            for done, file in enumerate(files):
                report_progress(done, len(files), file)
                await asyncio.to_thread(read, file)
            return len(files)
    """
    for number in (progress, total):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int | float)):
            raise UsageError(
                f"`report_progress` takes numbers, not `{type(number).__name__}`. "
                'Write `report_progress(3, 10, "reading")`.'
            )
    handle = _reporting.get()
    if handle is None:
        return
    if not handle.may_report:
        raise RunStopped(f"`{handle.call.name}` was stopped; what it still does counts for nothing.")
    handle.report(Progress(done=progress, total=total, message=message))
