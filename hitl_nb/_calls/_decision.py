"""The words of a call, who is being asked, how it ends, and what checks and records it.

And for this whole kernel: which calls are open, and who wants to know of every decision.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol
from weakref import WeakKeyDictionary

from hitl_nb._text import logger

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call


Status = Literal["inProgress", "executing", "complete"]
Kind = Literal["tool", "interrupt", "feedback", "mcp"]
Outcome = Literal[
    "answered", "declined", "edited", "cancelled", "expired", "invalid", "aborted", "superseded", "parked"
]
Via = Literal["card", "script", "policy", "timeout", "replay", "callback", "session"]

APPROVALS: tuple[Outcome, ...] = ("answered", "edited")
"""The only two outcomes that are a yes."""


ERASED = "what it was about was erased from the journal"
"""Why a decision of the journal cannot be used any more."""

FAILED = "failed with "
"""How the reason of a question begins that ended, not answered, because what asked it failed."""


def why_ended(error: BaseException) -> str | None:
    """Say why a question ended with the code that asked it: it failed, or (None) it was stopped."""
    return f"{FAILED}{type(error).__name__}" if isinstance(error, Exception) else None


class AnswerType(Protocol):
    """What checks an answer: it gives the typed value back, or raises `InvalidValue`."""

    def validate(self, value: Any) -> Any:
        """Give the value as its declared type."""
        ...


@dataclass(frozen=True, kw_only=True)
class FoundBy:
    """What a later run finds a question by: the same job asks the same, for the n-th time."""

    job: str
    """What the job is called; stands in for user and notebook."""

    content: str
    """The fingerprint of all that makes it the same question."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Who is being asked now. A question can be answered by nobody else."""

    token: str
    """What a click has to carry: the turn it was drawn for."""

    words: str
    """Who that is, for a person to read: ``Ada``, ``a rule``."""

    via: Via = "callback"
    """By which path an answer comes that names none."""

    by: str | None = None
    """Who has answered, if the answer names nobody."""

    several: bool = False
    """Several people are asked, one question each; this one is then answered by what they say, and by nobody else."""

    @property
    def takes_clicks(self) -> bool:
        """Whether it is a person at a card."""
        return self.via == "card" and not self.several


@dataclass(frozen=True, kw_only=True)
class Decision:
    """The end of a call: what was decided, by whom, by which path, when."""

    outcome: Outcome
    """The why behind ``complete``."""

    answer: Any = None
    """The typed value; None unless somebody answered."""

    result: str
    """The tool message content."""

    edits: tuple[dict[str, Any], ...] = ()
    """What was changed in the proposal; as `Call.edits`."""

    reason: str | None = None
    """A person's or a rule's own words."""

    by: str | None = None
    """Who."""

    login: str | None = None
    """As whom a database knew whoever wrote it down; None where nobody knows."""

    via: Via = "session"
    """By which path."""

    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When (aware, UTC)."""

    @property
    def approves(self) -> bool:
        """Whether it is a yes."""
        return self.outcome in APPROVALS


class StartedRun(Protocol):
    """What a record says of the run that a decision allowed."""

    @property
    def alive(self) -> bool | None:
        """Whether the process that runs it is still there; None if that cannot be told."""

    @property
    def mine(self) -> bool:
        """Whether it is this process."""

    @property
    def ended(self) -> str | None:
        """What the model was told of its end; None while it runs."""


class Recorder(Protocol):
    """What keeps a durable record of a call (`hitl_nb.journal.Journal`).

    Each `begin_…` takes down at once what is to be written and writes it in the order in which they began, off the
    caller's thread where that is possible.
    """

    def begin_asked(self, call: Any, *, arguments: str, parameters: Any = None) -> "Future[Any]":
        """Record the question, before it is shown."""
        ...

    def begin_shown(self, call: Any) -> "Future[Any]":
        """Record that a person can see the question now."""
        ...

    def begin_answered(self, call: Any, decision: Decision) -> "Future[bool]":
        """Record a decision, before anybody acts on it; False if another process has decided the call."""
        ...

    def begin_late(self, call: Any, value: Any, by: str | None = None) -> "Future[Any]":
        """Record an answer that changes nothing."""
        ...

    def begin_started(self, call: Any) -> "Future[bool]":
        """Record that what was approved begins to run; False if it has begun elsewhere."""
        ...

    def begin_ended(self, call: Any, result: str) -> "Future[Any]":
        """Record what came of it."""
        ...

    def winner(self, call: Any) -> Any:
        """Return the decision that counts, as it was stored."""

    def started(self, call: Any) -> StartedRun | None:
        """Return who runs what was approved, or None if nobody has begun."""
        ...


log = logger()

_opened: "WeakKeyDictionary[Call, object]" = WeakKeyDictionary()
"""Calls, and in which notebook each was opened, where a process has several."""

_here: Callable[[], object] = lambda: None  # noqa: E731


def told_where_by(here: Callable[[], object]) -> None:
    """Have `here` say in which notebook code runs: what one reader of ``marimo run`` is asked concerns no other."""
    global _here
    _here = here


def pending() -> list["Call"]:
    """Give all calls of this kernel that a person can answer now, whichever session or cell asks, oldest first.

    As the last line of a cell it shows their cards again, and they can be answered there.
    """
    here = _here()
    waiting = [call for call, where in list(_opened.items()) if where == here and can_be_answered(call)]
    return _Pending(sorted(waiting, key=lambda call: call.asked_at))


class _Pending(list["Call"]):
    """A list; as the last line of a cell it is the live cards."""

    def _ipython_display_(self) -> None:
        show_live(self)

    def _display_(self) -> object:
        return live_for_marimo([call for call in self if can_be_answered(call)], repr(self))


_show: "Callable[[Sequence[Call]], bool]" = lambda calls: False  # noqa: E731
_give: "Callable[[Sequence[object]], object | None]" = lambda what: None  # noqa: E731


def drawn_live_by(
    show: "Callable[[Sequence[Call]], bool]", give: "Callable[[Sequence[object]], object | None]"
) -> None:
    """Have others draw live cards.

    Args:
        show: Puts them into the current cell; it gives whether there are any.
        give: Gives those of calls, or of whole transcripts, as something that marimo displays; None if there are none.
    """
    global _show, _give
    _show, _give = show, give


def show_live(calls: "Sequence[Call]") -> None:
    """Put the live cards of calls into the current cell: what ``_ipython_display_`` of whatever waits does.

    Raises:
        NotImplementedError: There are none, so IPython shows the repr.
    """
    waiting = [call for call in calls if can_be_answered(call)]
    if not waiting or not _show(waiting):
        raise NotImplementedError


def live_for_marimo(what: Sequence[object], words: str) -> object:
    """Return what marimo displays for whatever waits, its ``_display_``: live cards, else words.

    Args:
        what: Calls; or the transcripts in which they are, and may come yet.
        words: What it is, where nothing of it is on screen.
    """
    if (cards := _give(what)) is not None:
        return cards
    import marimo  # it asks for `_display_`, so it is there

    found: object = marimo.plain_text(words)
    return found


def can_be_answered(call: "Call") -> bool:
    """Whether somebody can answer the call itself now; where several people are asked, they have calls of their own."""
    several = call.turn is not None and call.turn.several
    return call.status == "executing" and not call.decided and not several


def note_opened(call: "Call") -> None:
    """Count a call among those that can be answered."""
    _opened[call] = _here()


_watchers: list[Callable[["Call"], object]] = []


@contextmanager
def decisions_watched(watcher: Callable[["Call"], object]) -> Iterator[None]:
    """Have `watcher(call)` called for each decision of this process, before anybody acts on it, in deciding order."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def tell_watchers(call: Any) -> None:
    """Tell everybody of a decision; a watcher that fails must not keep the run waiting."""
    for watcher in tuple(_watchers):
        try:
            watcher(call)
        except Exception:
            log.exception("A watcher of decisions failed on `%s` (%s)", call.name, call.id)
