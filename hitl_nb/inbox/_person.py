"""`Inbox`: whoever answers elsewhere, in another notebook or later; as a person that any question can be put to."""

import asyncio
import json
import re
import sys
import threading
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from types import TracebackType
from typing import Any, Final
from urllib.parse import urlsplit

from hitl_nb._calls import Call, Handle
from hitl_nb._secrets import shown_address
from hitl_nb._text import logger, said_line
from hitl_nb._waiting import heartbeat
from hitl_nb.data import as_at_home
from hitl_nb.errors import InvalidValue, NoHumanError, Parked, UsageError
from hitl_nb.inbox._posting import Whom, posting_of, refuse_secrets
from hitl_nb.journal import Journal, StoredDecision, open_journal

# -- one line to a webhook, never what a question is about, and never in anybody's way --------------------------------


_log = logger()

_PATIENCE: Final = 10.0
"""Seconds that the other side has."""

_TURN: Final = 3 * _PATIENCE
"""Seconds that one process has to tell it, until another one takes that over."""


def notify_of(
    address: str, call: Call, to: str, *, link: str = "", told: Callable[[], object] = lambda: None
) -> threading.Thread:
    """Tell a webhook of a question, in a thread of its own; that it cannot be told is said in the log.

    Args:
        address: The webhook.
        call: The question.
        to: Whom it is for.
        link: Where they answer.
        told: Called once the other side has taken it.
    """
    whom = f" for {to}" if to else ""
    text = " ".join([said_line(f"A question waits{whom}: {call.message or call.name}"), *([link] if link else [])])
    body = json.dumps({"text": text}).encode()

    def tell() -> None:
        try:
            _send(address, body)
        except (OSError, ValueError) as error:
            # The address of a webhook is a secret.
            _log.warning("A webhook was not told of a question: %s", type(error).__name__)
        else:
            told()

    # No daemon: a run that parks ends after the people have been told.
    thread = threading.Thread(target=tell, name="hitl_nb notify")
    thread.start()
    return thread


def _checked_hook(address: str | None) -> str | None:
    """Return the address of a webhook, of which nothing but its host is ever said.

    Raises:
        UsageError: It is none that can be told.
    """
    try:
        parts = None if address is None else urlsplit(address)
        if parts is None or (parts.scheme in ("http", "https") and parts.hostname and parts.port != 0):
            return address
    except ValueError:
        pass
    raise UsageError(
        f"`notify={shown_address(str(address), path=False)!r}` is not the address of a webhook. Write "
        '`notify="https://hooks.example/…"`, all of it.'
    )


def _send(address: str, body: bytes) -> None:
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=_PATIENCE):
        pass


PAUSED: Final = 75
"""The exit code of a script that waits for a person: EX_TEMPFAIL of sysexits.h, "try again later"."""

_STARS: Final = (
    "The answer holds a secret, and the inbox is a journal, which keeps stars in its place. Leave it out, or answer at "
    "the notebook that asks."
)

_SAME_EYES: Final = "Four eyes: who asks does not approve. Somebody else has to."

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([smhd]?)\s*")


class Inbox:
    """Puts a question to people elsewhere, and waits; or leaves it there, for a later run to take the answer.

    Args:
        journal: Where the people read: a `Journal`, a path, an address; default: the journal of whoever asks.
        to: Whom it is for: a team, a name; they filter by it.
        wait: How long this run waits for an answer: seconds, ``"10m"``, a timedelta; None as long as it takes, 0 not
            at all. Counted from when the question is put to the inbox, in this process.
        park: Whether the question stays open when this run no longer waits. Else it is cancelled.
        four_eyes: Whether somebody else than who asks has to approve; the database sees to it, so it has to be
            PostgreSQL, after ``hitl-nb inbox setup``.
        escalate_to: Whom it is put to as well, after `escalate_after` without an answer.
        escalate_after: How long that is, as for `wait`, by the clock on the wall.
        expires: When the question ends, by the clock on the wall, as for `wait`: also while nothing runs.
        notify: The address of a webhook that takes ``{"text": …}``, as Slack's do; told once a question, after it is
            on disk, and never what the question is about. Whoever is killed while telling it leaves that to the next
            run.
        link: Where people answer (the page of ``hitl-nb inbox serve``); the webhook is told of it.

    Raises:
        UsageError: A duration that is none, or an address; or four eyes where nobody could see to it.
        JournalError: The journal cannot be opened.
    """

    via = "callback"
    parks = True

    def __init__(
        self,
        journal: Journal | str | None = None,
        *,
        to: str = "",
        wait: float | str | timedelta | None = None,
        park: bool = True,
        four_eyes: bool = False,
        escalate_to: str = "",
        escalate_after: float | str | timedelta | None = None,
        expires: float | str | timedelta | None = None,
        notify: str | None = None,
        link: str = "",
    ) -> None:
        self.journal = None if journal is None else open_journal(journal)
        """Where the people read, None for the journal of whoever asks."""
        self.to = to
        self.name = f"the inbox of {to}" if to else "the inbox"
        self.parks = park
        self.four_eyes = four_eyes
        if self.journal is not None:
            self._check_eyes(self.journal)
        self._wait = _seconds("wait", wait)
        self._expires = _seconds("expires", expires)
        self._wider, self._widens = escalate_to, _seconds("escalate_after", escalate_after)
        if bool(escalate_to) != (escalate_after is not None):
            raise UsageError(
                'To escalate needs a whom and a when. Write `Inbox(escalate_to="managers", escalate_after="4h")`.'
            )
        self._notify, self._link = _checked_hook(notify), link
        self._telling: set[asyncio.Future[None]] = set()

    def declared(self) -> list[str]:
        """Say who this is, for questions that are found again."""
        more = [*(["four eyes"] if self.four_eyes else []), *(["or", self._wider] if self._wider else [])]
        return ["Inbox", self.to, *more]

    async def __call__(self, call: Call) -> None:
        """Wait until somebody has decided, as long as this run may wait.

        Raises:
            Parked: This run waits no longer; the question stays open.
            NoHumanError: There is no journal, or another one than the people read.
            UsageError: The question holds a secret that whoever approves would have to see, or asks for one.
        """
        handle = Handle.of(call)
        journal = self._journal_of(call)
        refuse_secrets(call)
        expires = None if self._expires is None else (call.asked_at or _now()) + timedelta(seconds=self._expires)
        loop = asyncio.get_running_loop()
        give_up = None if self._wait is None else loop.time() + self._wait
        await self._post(journal, call, expires)
        while not handle.taken:
            if not await self._answered(journal, call, _left(give_up, loop.time(), expires)):
                self._end(call, expires)
                continue
            stored = journal.winner(call)
            if stored is not None and not await self._taken(journal, call, stored):
                await self._post(journal, call, expires)

    def _journal_of(self, call: Call) -> Journal:
        journal = Handle.of(call).recorder
        if not isinstance(journal, Journal):
            raise NoHumanError(
                f"`{call.name}` ({call.id}) is put to {self.name}, which is a journal, and there is none. "
                'Write `hitl_nb.use(journal="postgresql://host/database")`.'
            )
        if self.journal is not None and self.journal is not journal:
            raise UsageError(
                f"`{call.name}` is recorded in `{journal.where}`, and {self.name} reads `{self.journal.where}`. Write "
                "`Session(..., journal=...)` with the same one."
            )
        self._check_eyes(journal)
        return journal

    def _check_eyes(self, journal: Journal) -> None:
        if not self.four_eyes or journal.knows_people:
            return
        if journal.login is None:
            raise UsageError(
                f"`four_eyes=True` cannot be kept in `{journal.where}`: whoever can write the file can write anybody's "
                'name. Write `Inbox("postgresql://host/database", four_eyes=True)`, after `hitl-nb inbox setup`.'
            )
        raise UsageError(
            f"`four_eyes=True` cannot be kept in `{journal.where}`: it does not know people yet. Whoever owns it "
            "writes `hitl-nb inbox setup --journal postgresql://owner@host/database`, once."
        )

    async def _post(self, journal: Journal, call: Call, expires: datetime | None) -> None:
        # A table is read to its last row, a statement is looked into: beside the loop.
        posting = await asyncio.to_thread(self._posting, call, expires)
        await asyncio.wrap_future(journal.postings.begin_post(call, posting))
        if self._notify is not None:
            await self._tell(journal, call, self._notify)

    async def _tell(self, journal: Journal, call: Call, address: str) -> None:
        """Tell the webhook, unless another run has, or is at it; if that one is killed meanwhile, later."""
        turn = await asyncio.wrap_future(journal.postings.begin_tell(call, _TURN))
        if turn == "mine":

            def told() -> None:
                journal.postings.begin_told(call)

            notify_of(address, call, self.to, link=self._link, told=told)
        elif turn == "theirs":
            later = asyncio.ensure_future(self._tell_later(journal, call, address))
            self._telling.add(later)
            later.add_done_callback(self._telling.discard)

    async def _tell_later(self, journal: Journal, call: Call, address: str) -> None:
        await asyncio.sleep(_TURN)
        if not call.decided:
            await self._tell(journal, call, address)

    def _posting(self, call: Call, expires: datetime | None) -> dict[str, Any]:
        after = None if self._widens is None else (call.asked_at or _now()) + timedelta(seconds=self._widens)
        whom = Whom(to=self.to, expires=expires, four_eyes=self.four_eyes, wider=self._wider, widens=after)
        return posting_of(call, whom)

    @staticmethod
    async def _answered(journal: Journal, call: Call, seconds: float | None) -> bool:
        """Wait for an answer in the journal, or for one that was given here; False if time is up."""
        loop, rung = asyncio.get_running_loop(), asyncio.Event()

        def ring() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(rung.set)

        stop = await asyncio.to_thread(journal.watch, call, ring)
        call.add_done_callback(ring)
        try:
            with heartbeat():
                await asyncio.wait_for(rung.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            stop()
        return True

    async def _taken(self, journal: Journal, call: Call, stored: StoredDecision) -> bool:
        """Take an answer; False if it does not fit, and the question is asked anew.

        Raises:
            Parked: Another run has taken it.
        """
        handle = Handle.of(call)
        if stored.is_gone:
            handle.adopt(stored, mine=True)
            return True
        try:
            stored = as_at_home(call, stored)
            handle.check(stored)
            whole = handle.with_the_proposal(stored)
            if whole is stored and "answer" in stored.redacted:
                raise InvalidValue(_STARS, [{"path": [], "message": _STARS}])
            if self.four_eyes and stored.approved and stored.login in (None, journal.login):
                raise InvalidValue(_SAME_EYES, [{"path": [], "message": _SAME_EYES}])
        except InvalidValue as error:
            await asyncio.wrap_future(journal.postings.begin_refuse(stored, error.errors))
            await asyncio.wrap_future(journal.postings.begin_ask_anew(call))
            handle.refusal, handle.refused = tuple(error.errors), stored.question
            return False
        if handle.found_by is not None and not await asyncio.wrap_future(journal.postings.begin_take(stored)):
            handle.park("another run has taken the answer")
            raise _parked(call, f"another run of this job has taken the answer that {self.name} gave")
        handle.adopt(whole, mine=True)
        return True

    def _end(self, call: Call, expires: datetime | None) -> None:
        """End the waiting: for good, or for this run.

        Raises:
            Parked: For this run.
        """
        handle = Handle.of(call)
        if handle.taken:
            return
        if expires is not None and _now() >= expires:
            handle.expire(f"nobody answered until {expires:%Y-%m-%d %H:%M} UTC")
        elif not self.parks or handle.found_by is None:
            handle.close("cancelled", f"{self.name} did not answer while this run could wait")
        else:
            handle.park(f"{self.name} has not answered yet; a later run takes the answer")
            journal = handle.recorder
            if isinstance(journal, Journal):
                journal.postings.begin_park(call)
            raise _parked(call, f"{self.name} has not answered yet")

    def __repr__(self) -> str:
        where = "" if self.journal is None else f" in {self.journal.where}"
        return f"<Inbox{f' of {self.to}' if self.to else ''}{where}>"


def from_variable(words: str) -> Inbox:
    """Return who ``HITL_NB_PEOPLE=inbox:10m`` means.

    Raises:
        UsageError: What stands behind the colon is no duration.
    """
    return Inbox(wait=words or None)


from_variable.takes_words = "10m"  # type: ignore[attr-defined]  # no file behind the colon


def _parked(call: Call, why: str) -> Parked:
    _end_with_75()
    return Parked(
        f"`{call.message or call.name}` is parked: {why}. It stays open; run this again to take the answer, once "
        "somebody has given it in `Journal(...).inbox()`. Nothing was approved."
    )


def _left(give_up: float | None, now: float, expires: datetime | None) -> float | None:
    left = [] if give_up is None else [give_up - now]
    left += [] if expires is None else [(expires - _now()).total_seconds()]
    return max(0.0, min(left)) if left else None


def _now() -> datetime:
    return datetime.now(UTC)


def _seconds(name: str, value: float | str | timedelta | None) -> float | None:
    """Return a duration in seconds.

    Raises:
        UsageError: It is none.
    """
    if value is None:
        return None
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return float(value)
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise UsageError(f'`{name}={value!r}` is no duration. Write `{name}="10m"`, `"2d"`, or seconds.')
    return float(match[1]) * _UNITS[match[2] or "s"]


# -- a script that is parked ends with 75 -----------------------------------------------------------------------------


def _end_with_75() -> None:
    """Have a script that ends in `Parked` exit with `PAUSED`: a scheduler tries it again later."""
    if not isinstance(sys.excepthook, partial):
        sys.excepthook = partial(_told, sys.excepthook)


def _told(
    before: Callable[[type[BaseException], BaseException, TracebackType | None], Any],
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    if not issubclass(kind, Parked):
        before(kind, error, trace)
        return
    sys.stderr.write(f"parked: {error}\n")
    raise SystemExit(PAUSED)  # Python takes it, also from a hook
