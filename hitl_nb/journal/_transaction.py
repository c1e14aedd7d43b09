"""Rows are appended, each linked to the last, and believed along the links: the same for each database."""

import asyncio
import atexit
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeVar, cast

from hitl_nb._text import logger
from hitl_nb.journal._payloads import IS_ERASED, bodies, digest_of, is_large, payload_of, set_apart
from hitl_nb.journal._store import (
    AlreadyThere,
    Columns,
    Outcome,
    Query,
    Row,
    Transaction,
    Unusable,
    Value,
    Writer,
)
from hitl_nb.journal._tables import (
    CHUNK,
    CLOSES,
    COLUMNS,
    ID,
    NO_LONGER_WAITS,
    OPEN_POSTINGS,
    PAYLOAD,
    PREVIOUS,
    QUESTION,
    SHA256,
    START,
    VALUE,
    WAITING,
    WAITS,
    digest,
    fault,
    followed_through,
    hidden_links,
    is_hidden,
    link,
    now,
    waits,
)

_log = logger()

_T = TypeVar("_T")

_LAST: Final = "SELECT id, sha256 FROM chain ORDER BY id DESC LIMIT 1"

_IS_APART: Final = """
    SELECT CASE WHEN asked.payload IS NULL THEN 0 ELSE 1 END,
        (SELECT count(*) FROM events AS gone WHERE gone.event = 'erased' AND gone.question = asked.id)
    FROM events AS asked WHERE asked.id = ?
"""
"""Whether the payload of a question stands apart, and whether it was erased."""

# One way to the database, not two: a transaction is as long as its ways.
_LAST_AND_APART: Final = f"""
    SELECT last.id, last.sha256, apart.* FROM ({_LAST}) AS last LEFT JOIN ({_IS_APART}) AS apart ON 1 = 1
"""

_KEEP: Final = "INSERT INTO blobs (digest, part, body) VALUES {}"


class LinkedTransaction(ABC):
    """Appends rows, each linked to the last.

    Args:
        generation: Which file it is: the one that was opened first, or one that has taken its place since.
        personal: Whether every payload is to be set apart, so that it can be erased.
    """

    def __init__(self, generation: int = 0, *, personal: bool = False) -> None:
        self.generation = generation
        self.personal = personal
        self.login: str | None = None
        """As whom the database knows this process; None where it knows nobody."""
        self.scratch: dict[object, object] = {}
        """What one piece of work leaves for the next of the same transaction; emptied if either fails."""
        self.before: tuple[int, str] | None = None
        """Id and hash of the row before the first that was appended."""
        self.head: tuple[int, str] | None = None
        """Id and hash of the last row, if that was looked up."""
        self._after: list[Callable[[], None]] = []

    @abstractmethod
    def one(self, sql: str, parameters: tuple[Value, ...] = (), /) -> Row | None:
        """Return the first row that a query finds, or None."""

    @abstractmethod
    def rows(self, sql: str, parameters: tuple[Value, ...] = (), /) -> list[Row]:
        """Return all rows that a query finds."""

    @abstractmethod
    def execute(self, statement: str, parameters: tuple[Value, ...] = (), /) -> None:
        """Do something that finds nothing."""

    @abstractmethod
    def insert(self, event: str, row: Sequence[Value]) -> bool:
        """Insert a row; False if a question has such an event already. The transaction goes on either way."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether it can still be rolled back: the database has not given up all of it."""

    def append(self, event: str, columns: Columns) -> int:
        """Append one event and return its id; see the protocol."""
        parts = payload_of(event, columns)
        question = columns.get("question")
        known = self._of_question(cast("int", question)) if parts and question is not None else (False, False)
        last, last_hash = self.last()
        new = last + 1
        columns, apart = self._apart(new, columns, parts, *known)
        fields = {"question": new, **columns, "id": new, "event": event, "prev_sha256": last_hash}
        fields["ts"], fields["login"] = columns.get("ts") or now(), self.login
        row = list(map(fields.get, COLUMNS))
        row[SHA256] = sha256 = digest(row)
        if not self.insert(event, row):
            raise AlreadyThere(f"a question can have only one `{event}`")
        if apart:
            digest_of_all = str(columns["payload"])
            kept = [text for part, body in apart.items() for text in (digest_of_all, part, body)]
            self.execute(_KEEP.format(", ".join(["(?, ?, ?)"] * len(apart))), tuple(kept))
        self.before = self.before or (last, last_hash)
        self.head = (new, sha256)
        self.keep_waiting(event, row)
        return new

    def _of_question(self, question: int) -> tuple[bool, bool]:
        """Return whether the payload of a question stands apart, and whether it was erased."""
        if self.head is not None:
            found = self.one(_IS_APART, (question,))
        else:
            row = self.one(_LAST_AND_APART, (question,))
            self.head = (0, START) if row is None else cast("tuple[int, str]", row[:2])
            found = None if row is None else row[2:]
        return (False, False) if found is None else (bool(found[0]), bool(found[1]))

    def _apart(
        self, new: int, columns: Columns, parts: Mapping[str, str], is_apart: bool, is_erased: bool
    ) -> tuple[Columns, Mapping[str, str]]:
        """Return the columns of a row, and what of it is kept apart from it.

        What is written of a question whose payload is apart is apart as well, whoever writes it; of one that was
        erased it is not kept at all.
        """
        if not parts or not (self.personal or is_apart or is_erased or is_large(parts)):
            return columns, {}
        left, apart = set_apart({**columns, "question": columns.get("question") or new}, parts)
        return left, {} if is_erased else apart

    def announce(self, what: str, question: int) -> None:
        """Have the bell ring; whoever looks at a file hears each commit, without that."""
        del what, question

    def keep_waiting(self, event: str, row: Sequence[Value]) -> None:
        """Keep the table of what is open."""
        if event in CLOSES:
            self.execute(NO_LONGER_WAITS, (row[QUESTION],))
        elif event == "posted":
            self.execute(WAITS, waits(row[QUESTION], cast("int", row[ID]), str(row[VALUE])))

    def last(self) -> tuple[int, str]:
        """Return id and hash of the last row."""
        if self.head is None:
            found = self.one(_LAST)
            self.head = (0, START) if found is None else cast("tuple[int, str]", found)
        return self.head

    def after(self, note: Callable[[], None]) -> None:
        """Have `note` called once all this is on disk; never, if it is not."""
        self._after.append(note)

    def committed(self) -> None:
        """Call what waits for the commit."""
        for note in self._after:
            note()

    def run_alone(self, work: Callable[[Transaction], object]) -> Outcome:
        """Run the only piece of work; if it fails, so does the transaction."""
        try:
            return work(self), None
        except BaseException as error:  # it belongs to whoever waits for this work
            if self.is_open:
                self.execute("ROLLBACK")
            self._after.clear()
            return None, error

    def run(self, work: Callable[[Transaction], object]) -> Outcome:
        """Run one piece of work of several; if it fails, the others stay.

        What the database raises when it has given up the whole transaction is raised.
        """
        waiting, before = len(self._after), self.before
        self.execute("SAVEPOINT work")
        try:
            result: Outcome = (work(self), None)
        except BaseException as error:
            if not self.is_open:
                raise
            self.execute("ROLLBACK TO SAVEPOINT work")
            self.head, self.before = None, before
            self.scratch.clear()
            del self._after[waiting:]
            result = (None, error)
        self.execute("RELEASE SAVEPOINT work")
        return result


def fill_waiting(transaction: LinkedTransaction) -> None:
    """Make the table of what is open anew, from the events."""
    for statement in WAITING:
        transaction.execute(statement)
    for question, posted in transaction.rows(OPEN_POSTINGS):
        [(about,)] = transaction.rows("SELECT value FROM events WHERE id = ?", (cast("int", posted),))
        transaction.execute(WAITS, waits(cast("int", question), cast("int", posted), str(about)))


# -- rows are followed along it before anything is done because of them -----------------------------------------------

# What was found good once is not read again: the table refuses changes and deletions (triggers), and whoever works
# around that changes what the store's guard says, after which everything is read again.


class Span(NamedTuple):
    """Rows that are as they were written, one linked to the next."""

    first: int
    last: int
    sha256: str
    """Of the last row."""


@dataclass(frozen=True, kw_only=True)
class Guard:
    """What keeps the rows as they are, in the database itself."""

    version: object
    """Another one whenever somebody has changed the tables or their triggers."""

    stands: bool
    """Whether changes and deletions are refused."""


class Trust:
    """What of one file was found good.

    Args:
        query: Reads the file as it was opened.
        guard: Looks whether the database itself keeps the rows as they are.
    """

    def __init__(self, query: Query, guard: Callable[[Query], Guard]) -> None:
        self._lock = threading.RLock()
        self._span: Span | None = None
        self._guard_of = guard
        self._guard = guard(query)

    def note(self, first: int, before: str, last: int, sha256: str) -> None:
        """Count rows as good that this process has appended.

        Args:
            first: The id of the first.
            before: The hash of the row before it.
            last: The id of the last.
            sha256: Its hash.
        """
        # Without the lock: should `holds` not see it, it reads these rows itself.
        span = self._span
        if span is None:
            self._span = Span(first, last, sha256)
        elif span.last == first - 1 and span.sha256 == before:
            self._span = Span(span.first, last, sha256)

    def holds(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are in the chain, from the earliest of them to the last of the file.

        Args:
            query: Reads the file.
            ids: The rows.
            uncommitted: Whether what it reads may yet come to nothing.
        """
        with self._lock:
            guard = self._guard_of(query)
            if guard != self._guard or not guard.stands:
                self._span, self._guard = None, guard
            span = _followed(query, min(ids), self._span)
            if not uncommitted:
                self._span = span
            return span is not None and all(_is_linked(query, each, span) for each in ids)

    @property
    def head(self) -> tuple[int, str]:
        """Id and hash of the last row that was found good."""
        span = self._span
        return (0, "") if span is None else (span.last, span.sha256)


def _followed(query: Query, first: int, span: Span | None) -> Span | None:
    """The rows from `first` (or from earlier) to the last; None if one is not as it was written."""
    if span is None or first < span.first:
        last, sha256 = first - 1, ""
    elif query("SELECT sha256 FROM chain WHERE id = ?", (span.last,)) != [(span.sha256,)]:
        return None
    else:
        first, last, sha256 = span.first, span.last, span.sha256
    while chunk := query("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", (last, CHUNK)):
        for row in followed_through(chunk, query, last):
            if fault(row, last, sha256 or (row[1] if is_hidden(row) else row[PREVIOUS])):
                return None
            last, sha256 = link(row)
    for row in hidden_links(query, last, None):
        if fault(row, last, sha256 or row[1]):
            return None
        last, sha256 = link(row)
    return Span(first=first, last=last, sha256=sha256) if sha256 else None


def _is_linked(query: Query, id_: int, span: Span) -> bool:
    """Whether a row, and its payload, are what its own hash, and the next row, say."""
    rows = query("SELECT * FROM events WHERE id = ?", (id_,))
    if not rows or fault(rows[0], id_ - 1, rows[0][PREVIOUS]):
        return False
    [row] = rows
    after = [(span.sha256,)] if id_ == span.last else query("SELECT prev_sha256 FROM chain WHERE id = ?", (id_ + 1,))
    if after != [(row[SHA256],)]:
        return False
    if row[PAYLOAD] is None:
        return True
    digest = str(row[PAYLOAD])
    parts = bodies(query, [digest]).get(digest)
    # What was erased is believed to be: nothing is done because of it.
    return bool(query(IS_ERASED, (cast("int", row[QUESTION]),))) if parts is None else digest_of(parts) == digest


# -- the same for each store ------------------------------------------------------------------------------------------


class LinkedStore(ABC):
    """What a store does whichever database it stands on; see the protocol.

    Args:
        where: What tells the place from others: a path, an address; None: nobody else has it.
        words: The same for people.
        errors: What is told as a `JournalError`, beside our own.
    """

    def __init__(self, where: object, words: str, errors: type[Exception]) -> None:
        self._where, self._words = where, words
        self._ours = (errors, Unusable, AlreadyThere)
        self._lock = threading.RLock()
        """Held while the writing connection is used."""
        self._is_open = True
        self._has_warned: set[str] = set()

    def _ready(self, writer: Writer) -> None:
        """Count as open from now on."""
        self._writer = writer
        _stores.add(self)

    @property
    @abstractmethod
    def _trust(self) -> "Trust": ...

    @abstractmethod
    def rows(self, sql: str, parameters: tuple[Value, ...] = ()) -> list[Row]:
        """Return what a query finds, also of what this process has begun to write before."""

    @abstractmethod
    def _explained(self, error: BaseException) -> BaseException:
        """Return what is raised in the place of an error."""

    def begin(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> "Future[_T]":
        """Append in one transaction, all or nothing, after all that began before; see the protocol."""
        return self._writer.begin(append, durable=durable)

    def write(self, append: Callable[[Transaction], _T], *, durable: bool = False) -> _T:
        """Do the same and wait for it; that spares two changes of threads.

        Raises:
            JournalError: The database refused; nothing was written.
        """
        return self._writer.write(append, durable=durable)

    def all_rows(self) -> Iterator[Row]:
        """Return every row in order, without holding them all at once."""
        last = 0
        while chunk := self.rows("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT 1000", (last,)):
            yield from chunk
            last = cast("int", chunk[-1][0])

    def believes(self, query: Query, ids: Sequence[int], *, uncommitted: bool = False) -> bool:
        """Whether rows are what was written, from the earliest of them to the end; says so once if not.

        Args:
            query: Reads them.
            ids: The rows that something would be done because of.
            uncommitted: Whether `query` is a transaction's.
        """
        if self._trust.holds(query, ids, uncommitted=uncommitted):
            return True
        self.warn_once(
            f"The journal `{self._words}` was changed after it was written. What it says of such a question "
            "is not believed, and it is asked again. `print(journal.verify())` says which row it is."
        )
        return False

    def warn_once(self, words: str) -> None:
        """Say something in the log, once."""
        if words not in self._has_warned:
            self._has_warned.add(words)
            _log.warning(words)

    def _wait_for_all(self, *, whatever_it_takes: bool) -> None:
        """Wait for what has begun here, also in other stores of this process at the same place."""
        others = [it for it in tuple(_stores) if it is not self and it._where == self._where is not None]
        for store in (self, *others):
            store._writer.wait_for_all(whatever_it_takes=whatever_it_takes)

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except self._ours as error:
            raise self._explained(error) from error

    def close(self) -> None:
        """Write what has begun and close it; it is an error to use the store afterwards."""
        self._writer.close(wait=True)

    def let_go(self) -> None:
        """Do the same without waiting for it."""
        self._writer.close(wait=False)

    @property
    def closed(self) -> bool:
        """Whether it takes nothing more."""
        return self._writer.closed

    def pause(self) -> None:
        """Write nothing while this process forks."""
        self._writer.pause()

    def resume(self) -> None:
        """Go on, in the process that has forked."""
        self._writer.resume()

    @abstractmethod
    def inherit(self) -> None:
        """Go on in the new process: with connections of its own."""


def is_in_a_loop() -> bool:
    """Whether whoever waits here holds up a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


_stores: weakref.WeakSet[LinkedStore] = weakref.WeakSet()


def _of_all(act: Callable[[LinkedStore], None]) -> None:
    for store in tuple(_stores):
        act(store)


atexit.register(_of_all, LinkedStore.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=partial(_of_all, lambda store: store.pause()),
        after_in_parent=partial(_of_all, lambda store: store.resume()),
        after_in_child=partial(_of_all, lambda store: store.inherit()),
    )
