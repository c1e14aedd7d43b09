"""Questions that outlive who asked them: found again by a later run, answered by people elsewhere, taken once.

Whoever asks writes, with the question, what a later run finds it by, and with the posting all that somebody elsewhere
needs to draw and check it. The answer is a row like any other; `delivered` is the receipt of the one run that took it.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypeAlias, cast

from hitl_nb._calls import Call, Handle
from hitl_nb._secrets import KnownSecrets
from hitl_nb._text import logger
from hitl_nb.errors import UsageError
from hitl_nb.journal._payloads import column, erased_when, is_gone
from hitl_nb.journal._queries import (
    DECISION_OF,
    QUESTION_COLUMNS,
    OpenCall,
    StoredDecision,
    believed_decision,
    open_call,
)
from hitl_nb.journal._recording import EventWriter, Questions, row_id
from hitl_nb.journal._rows import json_text, storable
from hitl_nb.journal._store import AlreadyThere, Bell, Columns, Query, Store, Transaction, Value
from hitl_nb.journal._tables import now, written

_FREE: Final = """
    id IN (
        SELECT id FROM events WHERE event = 'asked' AND fingerprint = ? UNION ALL
        SELECT apart.id FROM blobs CROSS JOIN events AS apart
        WHERE blobs.part = 'fingerprint' AND blobs.body = ? AND apart.payload = blobs.digest AND apart.event = 'asked'
    )
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'erased' AND question = question.id)
        AND EXISTS (SELECT 1 FROM events WHERE event = 'posted' AND question = question.id)
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'delivered' AND question = question.id)
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'refused' AND question = question.id)
"""
_ANSWERED: Final = "EXISTS (SELECT 1 FROM events WHERE event = 'answered' AND question = question.id)"

# One that has an answer comes first, else the one that people saw first: two runs may have asked the same at once.
_FOUND: Final = f"SELECT id FROM events AS question WHERE {_FREE} ORDER BY {_ANSWERED} DESC, id LIMIT 1"
_STILL_OPEN: Final = f"SELECT id FROM events AS question WHERE {_FREE} AND NOT {_ANSWERED} ORDER BY id LIMIT 1"

# `CROSS JOIN`, so that SQLite begins with what is open and not with all that was ever posted.
_POSTED: Final = f"""
    SELECT {QUESTION_COLUMNS}, question.thread, question.key, posted.value, {column("posted", "args")},
        waiting.assigned, waiting.claimed, waiting.claimed_until,
        (SELECT count(*) FROM events WHERE event = 'parked' AND question = waiting.question), {is_gone("posted")}
    FROM waiting CROSS JOIN events AS posted CROSS JOIN events AS question
    WHERE posted.id = waiting.posted AND question.id = waiting.question AND {{where}}
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'answered' AND question = waiting.question)
    ORDER BY {{order}} LIMIT {{at_most}}
"""

_COUNTED: Final = """
    SELECT waiting.recipient, count(*), sum(CASE WHEN waiting.risk = 2 THEN 1 ELSE 0 END)
    FROM waiting CROSS JOIN events AS question
    WHERE question.id = waiting.question AND {where} GROUP BY waiting.recipient ORDER BY waiting.recipient
"""

_OF_JOB: Final = """
    SELECT count(*), sum(CASE WHEN EXISTS (
        SELECT 1 FROM events WHERE event = 'answered' AND question = question.id
    ) THEN 1 ELSE 0 END) FROM events AS question
    WHERE event = 'asked' AND key = ? AND fingerprint IS NOT NULL
        AND EXISTS (SELECT 1 FROM events WHERE event = 'posted' AND question = question.id)
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'delivered' AND question = question.id)
        AND NOT EXISTS (SELECT 1 FROM events WHERE event = 'refused' AND question = question.id)
"""


LOOKING: Final = timedelta(minutes=5)
"""How long somebody is said to look at a question who has shown no sign of it since."""

_TELLING: Final = "SELECT value FROM events WHERE event = 'telling' AND question = ? ORDER BY id DESC LIMIT 1"

_TOLD: Final = "told"
"""Stands where the end of a turn does; later than each."""

_PLAIN: Final = frozenset(
    {"version", "expires", "four_eyes", "widens", "answer", "several", "offers_arguments", "again", "own_view"}
)
"""What a posting says of the question's form."""


_ROUTING: Final = frozenset({"version", "to", "expires", "four_eyes", "wider", "widens", "asker", "risk", "again"})
"""What a posting says of whom it is for; all else is how it is drawn."""


Order: TypeAlias = Literal["oldest", "newest", "riskiest"]
"""Which questions come first; of the same risk the oldest."""

_ORDERS: Final[dict[str, str]] = {
    "oldest": "waiting.question",
    "newest": "waiting.question DESC",
    "riskiest": "waiting.risk DESC, waiting.question",
}


@dataclass(frozen=True, kw_only=True)
class Filter:
    """Which of the open questions are meant, and in which order."""

    to: str | None = None
    """Whom they are for: a team, a name; None for all."""

    job: str | None = None
    """Of which job; None for all."""

    order: Order = "oldest"
    """Which come first."""

    def __post_init__(self) -> None:
        if self.order not in _ORDERS:
            raise UsageError(f'`order={self.order!r}` is none of {", ".join(_ORDERS)}. Write `order="oldest"`.')

    def where(self) -> tuple[str, tuple[Value, ...]]:
        """Return the condition, as SQL, and its parameters."""
        moment = now()
        parts, given = ["(waiting.expires IS NULL OR waiting.expires > ?)"], [moment]
        if self.to is not None:
            parts.append("(? IN (waiting.recipient, waiting.assigned) OR (waiting.wider = ? AND waiting.widens <= ?))")
            given += [self.to, self.to, moment]
        if self.job is not None:
            parts.append("question.key = ?")
            given.append(self.job)
        return " AND ".join(parts), tuple(given)


@dataclass(frozen=True, kw_only=True)
class Count:
    """How many questions are open for somebody."""

    to: str
    """For whom; empty: for everybody."""

    open: int
    """How many."""

    high: int
    """How many of these are of high risk."""


@dataclass(frozen=True, kw_only=True)
class Posted:
    """An open question that anybody with this journal may be asked."""

    asked: OpenCall
    """The question."""

    thread: str
    """The conversation."""

    job: str
    """What the asker calls its job; empty if it says nothing."""

    about: dict[str, Any]
    """What the asker wrote for whoever draws it."""

    assigned: str | None = None
    """To whom somebody has given it."""

    looking: str | None = None
    """Who is looking at it."""

    parked: bool = False
    """Whether a run that asked it has ended without an answer."""


class Postings:
    """The questions of one journal that are put to people elsewhere."""

    def __init__(self, store: Store, recording: EventWriter, questions: Questions, secrets: KnownSecrets) -> None:
        self._store, self._recording, self._questions, self._secrets = store, recording, questions, secrets

    # -- for whoever asks ---------------------------------------------------------------------------------

    def find(self, found_by: str) -> OpenCall | StoredDecision | None:
        """Return the question of an earlier run, or what was decided about it, if no run has taken that yet."""
        return self._store.read(lambda query: self._found(query, found_by))

    def _found(self, query: Query, found_by: str) -> OpenCall | StoredDecision | None:
        for row in query(_FOUND, (found_by, found_by)):
            question = row_id(row)
            decision = believed_decision(self._store, query, question)
            if decision is None and not query(DECISION_OF, (question,)):
                return self._open(query, question)
            return decision
        return None

    @staticmethod
    def _open(query: Query, question: int) -> OpenCall:
        [row] = query(f"SELECT {QUESTION_COLUMNS} FROM events AS question WHERE id = ?", (question,))
        return open_call(row)

    def begin_post(self, call: Call, about: dict[str, Any]) -> "Future[None]":
        """Put a question to people elsewhere, without a secret that it is known to hold.

        Where another run has put the same one to them a moment ago, it is that question: people see it once.
        """
        # Not in the type of the answer, where a word is a keyword before it is somebody's password.
        clean = {name: part if name in _PLAIN else self._secrets.scrub(part) for name, part in about.items()}
        # What the database itself reads is no payload: whom it is for, until when.
        routing = {name: part for name, part in clean.items() if name in _ROUTING}
        drawing = {name: part for name, part in clean.items() if name not in _ROUTING}
        note = self._recording.note("posted", call, {"value": json.dumps(routing), "args": json.dumps(drawing)})
        found_by = Handle.of(call).found_by

        def post(transaction: Transaction) -> None:
            same = None if found_by is None else transaction.one(_STILL_OPEN, (found_by.content,) * 2)
            if same is not None:
                self._questions.join(transaction, call, row_id(same))
            note(transaction)

        return self._store.begin(post, durable=True)

    def begin_tell(self, call: Call, seconds: float) -> 'Future[Literal["mine", "theirs", "done"]]':
        """Take one's turn in telling people of a question outside of the journal.

        Args:
            call: The question.
            seconds: How long one's turn is; a process that is killed in it leaves it to the next one.

        Returns:
            Whether it is one's own, another process's, or done.
        """

        def tell(transaction: Transaction) -> Literal["mine", "theirs", "done"]:
            # Nobody else writes in between, so that this look is as good as an index.
            question = self._questions.of(transaction, call)[1]
            found = transaction.one(_TELLING, (question,))
            until = "" if found is None else str(json.loads(str(found[0])))
            if until > now():
                return "done" if until == _TOLD else "theirs"
            end = written(datetime.now(UTC) + timedelta(seconds=seconds))
            self._recording.note("telling", call, {"value": json_text(end)})(transaction)
            return "mine"

        return self._store.begin(tell, durable=True)

    def begin_told(self, call: Call) -> "Future[None]":
        """Record that people were told."""
        return self._store.begin(self._recording.note("telling", call, {"value": json_text(_TOLD)}), durable=True)

    def begin_park(self, call: Call) -> "Future[None]":
        """Record that the asker has left, and that the question stays."""
        return self._store.begin(self._recording.note("parked", call, {}), durable=True)

    def begin_take(self, stored: StoredDecision) -> "Future[bool]":
        """Record that this run takes an answer; False if another one has it."""
        row: Columns = {"thread": stored.thread, "call": stored.call, "tool": stored.tool, "question": stored.question}

        def take(transaction: Transaction) -> bool:
            try:
                transaction.append("delivered", row)
            except AlreadyThere:
                return False
            return True

        return self._store.begin(take, durable=True)

    def begin_refuse(self, stored: StoredDecision, errors: Sequence[object]) -> "Future[None]":
        """Record that the asker cannot take an answer, and why; once."""
        row: Columns = {"thread": stored.thread, "call": stored.call, "tool": stored.tool, "question": stored.question}

        def refuse(transaction: Transaction) -> None:
            with suppress(AlreadyThere):
                transaction.append("refused", {**row, "value": json_text(list(errors))})

        return self._store.begin(refuse, durable=True)

    def begin_ask_anew(self, call: Call) -> "Future[None]":
        """Ask a question once more, as a new one; for a call whose answer was refused."""
        return self._store.begin(self._recording.asked_anew(call, json_text(call.args)))

    # -- for whoever answers, and whoever waits -----------------------------------------------------------

    def posted(self, which: Filter, *, at_most: int = 1000) -> list[Posted]:
        """Return the open questions that are put to people elsewhere."""
        where, parameters = which.where()
        sql = _POSTED.format(where=where, order=_ORDERS[which.order], at_most=int(at_most))
        found = self._store.rows(sql, parameters)
        # One whose payload is gone, and not by an erasure, which would have closed it, can be shown to nobody. In SQL
        # this would look to PostgreSQL as if few were open, and it would read them all.
        return [posted for *row, is_gone_ in found if not is_gone_ and not (posted := _posted(row)).asked.is_gone]

    def counts(self, which: Filter) -> list[Count]:
        """Return how many questions are open, and for whom."""
        where, parameters = which.where()
        rows = self._store.rows(_COUNTED.format(where=where), parameters)
        return [Count(to=str(to), open=cast("int", found), high=int(cast("int", high))) for to, found, high in rows]

    # -- beside the chain, and never in anybody's way: who is at it ---------------------------------------

    def begin_look(self, question: int | None, who: str) -> "Future[None]":
        """Say that somebody is looking at a question for a while, and at no other; None: at none.

        Nobody is kept from answering it. Whoever looks first is named until they go.
        """
        moment = datetime.now(UTC)
        until = written(moment + LOOKING)

        def look(transaction: Transaction) -> None:
            transaction.execute(
                "UPDATE waiting SET claimed = NULL WHERE claimed = ? AND question <> ?", (who, question or 0)
            )
            transaction.execute(
                "UPDATE waiting SET claimed = ?, claimed_until = ? WHERE question = ? "
                "AND (claimed IS NULL OR claimed = ? OR claimed_until <= ?)",
                (who, until, question, who, written(moment)),
            )
            transaction.announce("looked", question or 0)

        return self._store.begin(look)

    def assign(self, question: int, to: str | None) -> None:
        """Give a question to somebody; None: to nobody in particular. Others can answer it all the same."""

        def give(transaction: Transaction) -> None:
            transaction.execute("UPDATE waiting SET assigned = ? WHERE question = ?", (storable(to), question))
            transaction.announce("assigned", question)

        self._store.write(give)

    # -- looking ------------------------------------------------------------------------------------------

    def bell(self) -> Bell:
        """Return what rings when anything is asked or answered."""
        return self._store.bell()

    def erased(self, questions: list[int]) -> dict[int, str]:
        """Return which of these questions were erased, and when and by whom in words."""
        found: dict[int, str] = {}
        for first in range(0, len(questions), 500):
            some = questions[first : first + 500]
            places = ", ".join("?" * len(some))
            sql = f"SELECT question, ts, \"by\" FROM events WHERE event = 'erased' AND question IN ({places})"
            for question, ts, by in cast("list[tuple[int, str, str | None]]", self._store.rows(sql, tuple(some))):
                found[question] = erased_when(ts, by)
        return found

    def decisions(self, questions: Sequence[int]) -> set[int]:
        """Return which of these questions have an answer."""
        found: set[int] = set()
        for first in range(0, len(questions), 500):
            some = questions[first : first + 500]
            places = ", ".join("?" * len(some))
            sql = f"SELECT question FROM events WHERE event = 'answered' AND question IN ({places})"
            found |= {row_id(row) for row in self._store.rows(sql, tuple(some))}
        return found

    def of_job(self, job: str) -> tuple[int, int]:
        """Return how many questions of a job no run has taken yet, and how many of these have an answer."""
        [(asked, answered)] = self._store.rows(_OF_JOB, (job,))
        return cast("int", asked), int(cast("int", answered or 0))


def _posted(row: Sequence[object]) -> Posted:
    *question, thread, job, value, drawing, assigned, claimed, until, parked = row
    return Posted(
        asked=open_call(tuple(question)),
        thread=cast("str", thread),
        job=cast("str", job or ""),
        about={**(json.loads(cast("str", drawing or "{}")) or {}), **json.loads(cast("str", value))},
        assigned=cast("str | None", assigned),
        looking=cast("str | None", claimed) if str(until or "") > now() else None,
        parked=bool(parked),
    )


# -- waiting for what other processes append ---------------------------------------------------------------------------


_log = logger()

_AT_MOST: Final = 2.0
"""Seconds between two looks, whether or not anything was heard."""

_SHORTEST_NAP: Final = 0.1
_LONGEST_NAP: Final = 5.0
"""Seconds between two attempts to hear again: each lasts twice as long as the one before."""


class Watcher:
    """Tells when questions are answered, whoever does it.

    Args:
        store: Where they are.
        postings: Looks.
    """

    def __init__(self, store: Store, postings: Postings) -> None:
        self._store = store
        self._postings = postings
        self._changed = threading.Lock()
        self._waiting: dict[int, list[Callable[[], None]]] = {}
        self._thread: threading.Thread | None = None

    def watch(self, question: int, answered: Callable[[], None]) -> Callable[[], None]:
        """Have `answered` called once when a question has an answer, in a thread of its own.

        Args:
            question: Its row.
            answered: What to call.

        Returns:
            Stops watching.
        """
        with self._changed:
            self._waiting.setdefault(question, []).append(answered)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hitl_nb inbox", daemon=True)
                self._thread.start()
        # Only for this one: each of a thousand that begin to wait would look for all the others as well.
        self._look([question])

        def stop() -> None:
            with self._changed:
                callbacks = self._waiting.get(question, [])
                if answered in callbacks:
                    callbacks.remove(answered)
                if not callbacks:
                    self._waiting.pop(question, None)

        return stop

    def _look(self, questions: Sequence[int] | None = None) -> None:
        """Look for answers to these questions; default: to all that somebody waits for."""
        with self._changed:
            mine = list(self._waiting) if questions is None else questions
        found = self._postings.decisions(mine) if mine else ()
        for question in found:
            with self._changed:
                callbacks = self._waiting.pop(question, [])
            for answered in callbacks:
                answered()

    def _run(self) -> None:
        bell, nap = self._store.bell(), _SHORTEST_NAP
        try:
            while self._goes_on():
                try:
                    bell.wait(_AT_MOST)
                    self._look()
                    nap = _SHORTEST_NAP
                except Exception:  # the database is away; what happens meanwhile is seen at the next look
                    _log.debug("Not heard; looking again in %s s", nap, exc_info=True)
                    time.sleep(nap)
                    nap = min(2 * nap, _LONGEST_NAP)
        finally:
            bell.close()

    def _goes_on(self) -> bool:
        """Whether anybody still waits; else the next one starts a thread of its own."""
        with self._changed:
            if self._waiting and not self._store.closed:
                return True
            self._thread = None
            return False
