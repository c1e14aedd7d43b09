"""When an answer counts: in the turn of whoever is being asked now, and once they can no longer take it back.

Nothing of an answer that is held counts: no journal has it, no code goes on with it, and the question is open, also for
whoever finds it after a crash. What ends the moment:

=====================================================  ================================================================
it is over                                             the answer counts, if what it is about was not changed meanwhile
the person takes it back                               the question goes on, with what they had entered
time is up (``timeout``), or somebody else is to be    the answer counts at once: it was given in time, and by whom was
asked                                                  asked
anything else decides the question: another answer,    that counts, and not what was held: a stop is never an approval
a cancel, a stop, another process
=====================================================  ================================================================
"""

import asyncio
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from hitl_nb._calls._decision import Decision, Turn, Via
from hitl_nb.errors import CallNotOpenError, NotYourTurn, UsageError

if TYPE_CHECKING:
    from hitl_nb._calls._call import Call
    from hitl_nb._calls._handle import Handle

_answering: ContextVar[dict[str, str] | None] = ContextVar("hitl_nb_turns", default=None)
"""The turns that this code answers in, by occurrence: a person's own tasks and threads inherit theirs."""

_clicking: ContextVar[str | None] = ContextVar("hitl_nb_clicking", default=None)
"""The turn of the click that this code decides on."""

_WORDS: dict[Via | Literal[""], str] = {
    "policy": "a rule",
    "script": "a script",
    "replay": "a recording",
    "card": "the person at the notebook",
}


class Turns:
    """Puts one call to one person after the other, or to several; nobody else can answer, however long they keep it.

    Args:
        handle: Of the call.
    """

    def __init__(self, handle: "Handle") -> None:
        self._handle, self._call = handle, handle.call
        self._count = 0

    @contextmanager
    def put_to(self, person: object, *, apart: bool = False) -> Iterator["Call"]:
        """Ask this person while the block lasts: nobody else can answer, and afterwards they no longer can.

        Args:
            person: Who is asked.
            apart: Whether others are asked the same question before or after; then the person gets a face of the call
                that answers in this turn only, wherever they keep it.

        Yields:
            The call to hand to them.
        """
        name = getattr(person, "name", None)
        via: Via = getattr(person, "via", "callback")
        by = name if isinstance(name, str) else None
        within_another = self._call.turn is not None
        with self._turn(words=by or _WORDS.get(via, "somebody else"), via=via, by=by) as turn:
            yield self._call.face(turn) if apart or within_another else self._call

    @contextmanager
    def put_to_several(self, words: str) -> Iterator[Turn]:
        """Let several people be asked, one question each; this one takes nobody's answer meanwhile."""
        with self._turn(words=words, via="callback", several=True) as turn:
            yield turn

    @contextmanager
    def _turn(self, **about: Any) -> Iterator[Turn]:
        before = self._call.turn
        self._count += 1
        turn = Turn(token=f"{self._call.occurrence}:{self._count}", **about)
        token = _answering.set({**(_answering.get() or {}), self._call.occurrence: turn.token})
        self._handle.set(turn=turn)
        try:
            yield turn
        finally:
            _answering.reset(token)
            self._handle.set(turn=before)

    @contextmanager
    def clicked(self, token: object) -> Iterator[None]:
        """Take what is done inside for an answer of the turn that a click was drawn for.

        Raises:
            NotYourTurn: Somebody else is being asked now.
        """
        turn = self._call.turn
        if turn is None or not turn.takes_clicks or turn.token != token:
            self._handle.too_late(None, None)
            raise NotYourTurn(self._whose(turn))
        reset = _answering.set({**(_answering.get() or {}), self._call.occurrence: turn.token})
        clicking = _clicking.set(turn.token)
        try:
            yield
        finally:
            _clicking.reset(clicking)
            _answering.reset(reset)

    def _whose(self, turn: Turn | None) -> str:
        if turn is None or (turn.takes_clicks and not turn.several):
            return (
                f"`{self._call.name}` is asked anew; answer the card as it is drawn now (`hitl_nb.pending()` shows it "
                "again)."
            )
        return f"`{self._call.name}` is put to {turn.words} first. It can be answered here if they pass."

    def may_answer(self, mine: str | None) -> bool:
        """Whether this code may answer now.

        Args:
            mine: The turn that it has been given, if any.

        Raises:
            CallNotOpenError: Several people are asked, each a question of their own.
        """
        turn = self._call.turn
        mine = mine or (_answering.get() or {}).get(self._call.occurrence)
        if mine is not None and (turn is None or mine != turn.token):
            return False
        if turn is not None and turn.several:
            raise CallNotOpenError(
                f"`{self._call.name}` ({self._call.id}) is put to {turn.words}, one question each, and nobody can "
                "answer it for them. Answer theirs: `hitl_nb.pending()` as the last line of a cell shows their cards "
                "again."
            )
        return True

    @property
    def clicking(self) -> str | None:
        """The turn of the click that this code decides on, if it is the one that is asked now."""
        turn, token = self._call.turn, _clicking.get()
        return token if turn is not None and token == turn.token else None


# -- until when an answer can be taken back ---------------------------------------------------------------------------

LONGEST = 60.0
"""Seconds: whoever wants longer to think does not press yet."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """An answer that was given and can be taken back."""

    decision: Decision
    """What it would be."""

    token: str
    """The turn in which it was given."""

    until: datetime
    """When it counts (aware, UTC)."""

    over: "Future[bool]" = field(default_factory=Future)
    """Whether it was let count; False if it was taken back, or if the question ended otherwise."""

    async def kept(self) -> bool:
        """Wait until it is held no more; gives whether it was let count."""
        await asyncio.wait([asyncio.wrap_future(self.over)])  # so that whoever waits no longer does not end it
        return self.over.result()


class Grace:
    """Holds the answer of one call.

    Args:
        count: Lets a decision count; gives whether it does.
        tell: Called with what is held now, or None, whenever that changes.
    """

    def __init__(self, count: Callable[[Decision], bool], tell: Callable[[Held | None], None]) -> None:
        self.seconds = 0.0
        """How long an answer of a card is held; 0: not at all."""
        self.held: Held | None = None
        """What is held now."""
        self._count, self._tell = count, tell
        self._lock = threading.Lock()

    def hold(self, decision: Decision, token: str) -> bool:
        """Hold a decision, in the loop's own thread; False if there is one already."""
        until = datetime.now(UTC) + timedelta(seconds=self.seconds)
        held = Held(decision=decision, token=token, until=until)
        with self._lock:
            if self.held is not None:
                return False
            self.held = held
        asyncio.get_running_loop().call_later(self.seconds, self._end, held)
        self._tell(held)
        return True

    def undo(self, token: object) -> bool:
        """Take back what is held, if it was given in this turn."""
        held = self.held
        if held is None or held.token != token or not self._taken(held):
            return False
        held.over.set_result(False)
        return True

    def end(self) -> None:
        """Let what is held count now."""
        if self.held is not None:
            self._end(self.held)

    def drop(self) -> Decision | None:
        """Hold nothing any more, since the question is decided; gives what was held."""
        held = self.held
        if held is None or not self._taken(held):
            return None
        held.over.set_result(False)
        return held.decision

    def _end(self, held: Held) -> None:
        if self._taken(held):
            held.over.set_result(self._count(held.decision))

    def _taken(self, held: Held) -> bool:
        """Whether this, and nobody else, has taken what was held."""
        with self._lock:
            if self.held is not held:
                return False
            self.held = None
        self._tell(None)
        return True


def grace_of(undo: object) -> float:
    """Return ``undo=`` in seconds.

    Raises:
        UsageError: It is no number of seconds, or too many.
    """
    if isinstance(undo, int | float) and not isinstance(undo, bool) and math.isfinite(undo) and 0 <= undo <= LONGEST:
        return float(undo)
    raise UsageError(
        f"`undo` is `{undo!r}`, and not the seconds in which an answer can be taken back (0 to {LONGEST:g}). "
        "Write `undo=5`."
    )
