"""The journal itself: what a session writes before it does anything, and finds again after a restart."""

import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self, Unpack

from hitl_nb._calls import Call, Decision
from hitl_nb._process import started_with, user_name, warn_of_later
from hitl_nb._schema import Validator
from hitl_nb._secrets import KnownSecrets
from hitl_nb.errors import UsageError
from hitl_nb.journal._labelling import Labelling
from hitl_nb.journal._payloads import Erasure, whole
from hitl_nb.journal._place import default_path
from hitl_nb.journal._postgres import PostgresStore, address_in_words, is_address, refuse_other_address
from hitl_nb.journal._postings import Order, Postings, Watcher
from hitl_nb.journal._queries import (
    CALL_COLUMNS,
    HOW_MANY,
    Filters,
    OpenCall,
    StoredDecision,
    believed_decision,
    call_rows,
    find_calls,
    find_events,
    recalled,
)
from hitl_nb.journal._recording import Append, Eraser, EventWriter, Questions, Started, run_of
from hitl_nb.journal._rows import RowWriter, storable
from hitl_nb.journal._sqlite import SqliteStore
from hitl_nb.journal._store import Store
from hitl_nb.journal._tables import COLUMNS, Verification, heads_of, linked_to_the_end, verified
from hitl_nb.journal._threads import ThreadRecord, Threads, stored_thread
from hitl_nb.journal._views import (
    QUIET,
    Summary,
    decision_row,
    escaped,
    frame,
    summary_of,
    table,
    write_csv,
    write_jsonl,
)

if TYPE_CHECKING:
    from hitl_nb.inbox import InboxView

_SHOWN: Final = 20
_HEADER: Final = ("when (UTC)", "asked", "outcome", "answer", "by")

_RECALLABLE: Final = "2:"
"""Stands before what a sticky decision is found by. Version 0.1 compared less; what it has kept is asked again."""


_PERSONAL: Final = "HITL_NB_JOURNAL_PERSONAL"
_YES_OR_NO: Final = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}


def _is_personal() -> bool:
    """Whether this process was started so that what is asked can be erased.

    Raises:
        UsageError: The variable is neither yes nor no; to read it as a no would keep what somebody wants erased.
    """
    warn_of_later(_PERSONAL, "Journal(..., personal=True)", stacklevel=3)
    named = started_with(_PERSONAL).strip()
    if named.lower() not in _YES_OR_NO:
        raise UsageError(f"`{_PERSONAL}={named}` is neither yes nor no. Start the process with `{_PERSONAL}=1`.")
    return _YES_OR_NO[named.lower()]


class Journal:
    """Every question and every answer, on disk before anything else happens; append-only, chained, without secrets.

    Args:
        path: The SQLite file; made if it is not there. ``"memory"`` keeps everything in memory, an address
            (``postgresql://user@host/database``) in PostgreSQL, for people and jobs on many machines. Default:
            ``.hitl_nb/journal.sqlite`` beside the notebook.
        thread: The conversation of calls that belong to none (an `interrupt` in a plain cell).
        name: Who answers here; see `who`.
        personal: Whether what is asked here can be erased later, whatever its size: see `erase`. Default: what
            ``HITL_NB_JOURNAL_PERSONAL`` says (``1`` or ``0``), as this process was started with it; else not.

    The order is what makes it safe: `asked` before the question is shown, `answered` before anybody acts on the answer,
    `started` before what was approved runs, `delivered` when the model has it. A process may be killed anywhere in
    between. Any number of kernels may share a file. Safe from any thread.

    Each of these has a form that only begins (`begin_asked`) and a plain form that waits. To begin takes down at once,
    in the caller's thread, what is to be written; that happens in the journal's own thread, in the order in which all
    began, so that a slow disk, or another process that has locked the file, never holds up a kernel's loop. It gives a
    future, which is done already where there is no thread to be had, and for a journal in memory.

    What is read back has been followed along the hash chain before it is believed; see `verify`.

    All filters of what reads (`to_frame`, `events`, `summary`, `to_jsonl`, `to_csv`) are optional and the same:

    ==========  =================================================================================
    `tool`      a tool's name, or several
    `outcome`   ``answered``, ``declined``, ``expired``, …, or ``open``; one or several
    `by`        who decided, or several
    `thread`    a conversation's id, or several
    `since`     a datetime (naive: local time), an ISO text, or a timedelta back from now
    ==========  =================================================================================

    Should the file be deleted or replaced while it is open, recording goes on in the one that is there then, and the
    log says so.

    Raises:
        JournalError: The file cannot be opened, is no journal, or was written by a newer version. So does every method
            that the file refuses; then nothing was written.
        UsageError: It is an address of something else, or ``HITL_NB_JOURNAL_PERSONAL`` is neither yes nor no.
        MissingExtraError: An address was given, and psycopg is not installed.
    """

    def __init__(
        self,
        path: str | PathLike[str] | None = None,
        *,
        thread: str = "default",
        name: str | None = None,
        personal: bool | None = None,
    ) -> None:
        personal = _is_personal() if personal is None else personal
        refuse_other_address(path)
        self.path: Path | None = None
        """The file; None for memory, and for a database on a server."""
        if path is None:
            self.path = default_path()
        elif path != "memory" and not is_address(path):
            # Absolute at once: a cell may change the working directory later.
            self.path = Path(os.path.abspath(Path(path).expanduser()))
        self._where = "memory" if self.path is None else os.path.relpath(self.path)
        self._name = name
        self._store: Store
        if is_address(path):
            self._where = address_in_words(str(path))
            self._store = PostgresStore(str(path), personal=personal)
        else:
            self._store = SqliteStore(self.path, personal=personal)
        self._secrets = KnownSecrets()
        self._threads = Threads(self._secrets)
        self._rows = RowWriter(secrets=self._secrets, thread=thread)
        self._questions = Questions(self._store, self._rows)
        self._eraser = Eraser(self._questions, self._rows)
        self._recording = EventWriter(self._store, self._rows, self._questions, partial(user_name, name))
        self.postings = Postings(self._store, self._recording, self._questions, self._secrets)
        """The questions that are put to people elsewhere; `hitl_nb.inbox` asks and answers with them."""
        self._watcher = Watcher(self._store, self.postings)
        self.labelling = Labelling(self._store, self._rows, self._questions, self._secrets)
        """The labels of queues, as they are given; `hitl_nb.label` goes on with them."""
        # What has begun is written all the same; the store sees to it, also at the end of the process.
        self._finalizer = weakref.finalize(self, self._store.let_go)
        self._finalizer.atexit = False

    def who(self) -> str:
        """Return the name of who answers here: `name`, else the JupyterHub user, else the operating system's."""
        return user_name(self._name)

    # -- the life of a call -------------------------------------------------------------------------------

    def begin_asked(self, call: Call, *, arguments: str, parameters: Validator | None = None) -> "Future[None]":
        """Record a question; show it when that is done.

        A tool call with the id and content of one whose answer was not delivered yet (a restarted kernel asks once
        more) stays the same question. All else is a question of its own, with an answer of its own: another content,
        and whatever is no tool call, since agents ask again under the same id.

        Args:
            call: The call, its arguments validated.
            arguments: The arguments as the model wrote them: JSON text.
            parameters: What checked them; it says where a secret stands as plain text. Default: ``call.args_type``,
                else the type of the arguments, if it is a model.
        """
        return self._store.begin(self._recording.question(call, arguments, parameters))

    def asked(self, call: Call, *, arguments: str, parameters: Validator | None = None) -> None:
        """Do `begin_asked` and wait."""
        self._store.write(self._recording.question(call, arguments, parameters))

    def begin_shown(self, call: Call) -> "Future[None]":
        """Record that a person can see the question now."""
        return self._begin_unwatched(self._recording.note("shown", call, {}))

    def shown(self, call: Call) -> None:
        """Do `begin_shown` and wait."""
        self._store.write(self._recording.note("shown", call, {}))

    def begin_answered(self, call: Call, decision: Decision | None = None) -> "Future[bool]":
        """Record a decision; act on it when that is done. It survives a power failure.

        Args:
            call: The call.
            decision: What was decided; default: what counts for the call.

        Returns:
            True if this decision counts. False if the question has one already, from another tab, kernel or process:
            then this one is kept as a late attempt, and `winner` gives the one that counts. A `JournalError` if that
            one was changed after it was written.

        Raises:
            UsageError: The call is not decided.
        """
        return self._store.begin(self._recording.answer(call, decision), durable=True)

    def answered(self, call: Call, decision: Decision | None = None) -> bool:
        """Do `begin_answered` and wait.

        Raises:
            UsageError: The call is not decided.
        """
        return self._store.write(self._recording.answer(call, decision), durable=True)

    def winner(self, call: Call | str) -> StoredDecision | None:
        """Return the decision that counts for a call (or for the latest call with this id); None if it is open.

        Also None if the rows that say so were changed after they were written.
        """
        question = self._questions.find(call)
        return self._store.read(lambda query: believed_decision(self._store, query, question))

    def begin_late(self, call: Call, value: object, by: str | None = None) -> "Future[None]":
        """Record an answer that came after the first and changes nothing."""
        return self._begin_unwatched(self._recording.late(call, value, by))

    def late(self, call: Call, value: object, by: str | None = None) -> None:
        """Do `begin_late` and wait."""
        self._store.write(self._recording.late(call, value, by))

    def begin_started(self, call: Call) -> "Future[bool]":
        """Take the grant: record that what was approved begins to run. It survives a power failure.

        Returns:
            True if it may run, here and now, once. False if it has begun elsewhere; see `started`. A `UsageError` if
            nobody has approved the question.
        """
        return self._store.begin(self._recording.start(call), durable=True)

    def start(self, call: Call) -> bool:
        """Do `begin_started` and wait.

        Raises:
            UsageError: Nobody has approved the question.
        """
        return self._store.write(self._recording.start(call), durable=True)

    def begin_ended(self, call: Call, result: str) -> "Future[None]":
        """Record what came of the run; the first end counts.

        Args:
            call: The call.
            result: What the model is told.
        """
        return self._begin_unwatched(self._recording.end(call, result))

    def ended(self, call: Call, result: str) -> None:
        """Do `begin_ended` and wait.

        Raises:
            UsageError: It has not begun.
        """
        self._store.write(self._recording.end(call, result))

    def started(self, call: Call | str) -> Started | None:
        """Return who runs what was approved, None if nobody has begun. An end that is not believed is none."""
        return run_of(self._store, self._questions.find(call))

    def begin_delivered(
        self, calls: Iterable[Call | StoredDecision | str], *, thread: str | None = None
    ) -> "Future[None]":
        """Record that the model has been given these answers; what has none in the journal is passed over.

        Args:
            calls: The calls, or what was stored of them; or ids, each meaning the latest call with it.
            thread: The conversation of the ids; default: any.
        """
        return self._begin_unwatched(self._recording.delivery(list(calls), thread))

    def delivered(self, calls: Iterable[Call | StoredDecision | str], *, thread: str | None = None) -> None:
        """Do `begin_delivered` and wait."""
        self._store.write(self._recording.delivery(list(calls), thread))

    def _begin_unwatched(self, append: Append) -> "Future[None]":
        """Begin what nobody may be waiting for: that it failed is said once in the log."""
        future = self._store.begin(append)

        def report(done: "Future[None]") -> None:
            error = done.exception()
            if error is not None:
                self._store.warn_once(f"Not recorded, and nor may be what follows: {error}")

        future.add_done_callback(report)
        return future

    # -- a restart ----------------------------------------------------------------------------------------

    def begin_save_thread(
        self,
        thread_id: str,
        messages: str | Sequence[str],
        state_json: str,
        *,
        beside_json: str = "{}",
        parameters: Mapping[str, Validator] | None = None,
    ) -> "Future[None]":
        """Record a conversation as it is now; only what is new since the last time costs space, and time.

        Args:
            thread_id: The conversation.
            messages: The history as AG-UI writes it: a JSON array, or the JSON text of each message.
            state_json: The shared state, JSON.
            beside_json: What else it needs to go on, a JSON object.
            parameters: Tool name → what checks its arguments: they say where a tool call in the history holds a secret,
                also one that nobody was asked yet. Those of calls that went through `asked` are known.
        """
        work = self._threads.save(thread_id, messages, state_json, parameters or {}, beside_json)
        return self._begin_unwatched(work)

    def save_thread(
        self,
        thread_id: str,
        messages: str | Sequence[str],
        state_json: str,
        *,
        beside_json: str = "{}",
        parameters: Mapping[str, Validator] | None = None,
    ) -> None:
        """Do `begin_save_thread` and wait."""
        self._store.write(self._threads.save(thread_id, messages, state_json, parameters or {}, beside_json))

    def load_thread(self, thread_id: str) -> ThreadRecord | None:
        """Return all that is known of a conversation, None if that is nothing.

        An answer whose rows were changed after they were written is not believed: its question is open again.
        """
        return stored_thread(self._store, thread_id)

    def adopt(self, call: Call, stored: OpenCall | StoredDecision) -> None:
        """Take a call for another asking of a question that `load_thread` gave: all recorded of it belongs there."""
        self._questions.adopt(call, stored)

    # -- people elsewhere ---------------------------------------------------------------------------------

    def inbox(self, *, to: str | None = None, job: str | None = None, order: Order = "oldest") -> "InboxView":
        """Return the open questions that jobs have put to people elsewhere: live cards as the last line of a cell.

        Args:
            to: Whom they are for (``Inbox(to=...)``); None for all.
            job: Of which job (``HITL_NB_JOB``); None for all.
            order: Which come first: ``oldest``, ``newest`` or ``riskiest``.

        Raises:
            UsageError: There is no such order.
        """
        from hitl_nb.inbox import InboxView  # one of two conveniences that look up

        return InboxView(self, to=to, job=job, order=order)

    def watch(self, call: Call, answered: Callable[[], None]) -> Callable[[], None]:
        """Have `answered` called once when a question has an answer, whichever process gives it.

        Args:
            call: The call; its question is recorded.
            answered: Is called in a thread of its own; `winner` gives the answer then.

        Returns:
            Stops watching.

        Raises:
            UsageError: The question is not recorded.
        """
        question = self._questions.find(call)
        if question is None:
            raise UsageError(
                f"`{call.name}` ({call.id}) is not in this journal. Write `journal.asked(call, ...)` first."
            )
        return self._watcher.watch(question, answered)

    # -- sticky decisions ---------------------------------------------------------------------------------

    def begin_remember(self, key: str, fingerprint: str, call: Call) -> "Future[None]":
        """Keep the decision of a call for the next time the same is asked.

        Args:
            key: The question's own name, ``approve(..., key=)``.
            fingerprint: Of all that makes it the same question: what is asked, about what, who has to answer.
            call: The call, whose decision is recorded.
        """
        return self._begin_unwatched(self._memory(key, fingerprint, call))

    def remember(self, key: str, fingerprint: str, call: Call) -> None:
        """Do `begin_remember` and wait."""
        self._store.write(self._memory(key, fingerprint, call))

    def _memory(self, key: str, fingerprint: str, call: Call) -> Append:
        kept = {"key": storable(key), "fingerprint": storable(f"{_RECALLABLE}{fingerprint}")}
        return self._recording.note("remembered", call, kept)

    def recall(self, key: str, fingerprint: str) -> StoredDecision | None:
        """Return the decision that was kept last for this question with this input.

        None if it was never asked, or with other input only; or if the answer held a secret: that is not in the
        journal, so it has to be asked again. None as well if any row was changed, deleted or put in since the question
        was asked: what was tampered with is not believed.
        """
        return recalled(self._store, storable(key), storable(f"{_RECALLABLE}{fingerprint}"))

    # -- tables, sums, exports, proof ---------------------------------------------------------------------

    def to_frame(self, *, expand: bool = False, **filters: Unpack[Filters]) -> Any:
        """Return the calls as a DataFrame, one row each, in the order in which they were asked.

        Args:
            expand: Parse the JSON columns: one column ``args.<name>`` an argument; `answer`, `edited` as Python data.
            filters: See the class.

        Returns:
            A pandas DataFrame (polars, if only that is installed) with the columns id, tool, kind, message, outcome
            (None while open), by, via, reason, asked_at, answered_at (UTC), seconds (from asked to answered), args,
            answer, edited (JSON text; `edited` is the list of changed paths), late (how many answers came after the
            first), thread, run.

        Raises:
            MissingExtraError: Neither pandas nor polars is installed.
            UsageError: A filter that there is not.
        """
        return frame(CALL_COLUMNS, find_calls(self._store, filters), expand=expand)

    def events(self, **filters: Unpack[Filters]) -> Any:
        """Return the events as a DataFrame, one row each: asked, shown, answered, delivered, late and so on.

        Args:
            filters: See the class.

        Raises:
            MissingExtraError, UsageError: As `to_frame`.
        """
        return frame(COLUMNS, find_events(self._store, filters))

    def summary(self, **filters: Unpack[Filters]) -> Summary:
        """Count what was asked, approved, edited, declined and expired; ``.plot()`` draws it over time.

        Args:
            filters: See the class.

        Raises:
            UsageError: A filter that there is not.
        """
        return summary_of(call_rows(self._store, filters))

    def verify(self, *, head: str | None = None, notebook: str | PathLike[str] | None = None) -> Verification:
        """Follow the hash chain through the whole file: was anything changed, cut out or put in?

        The chain alone proves that no row was changed, taken out or put in between two others. It cannot tell that
        rows at the end were cut off, nor that somebody who can write the file has written all of it anew. A head that
        was kept elsewhere can: each record in a notebook keeps the head of its moment in its output's metadata, so the
        notebook proves all up to its last record, against everybody who cannot change both the journal and the
        notebook. What came after the last head that was kept, nothing can prove.

        Args:
            head: A ``Verification.head`` that was kept elsewhere; it must still be in the chain.
            notebook: An ``.ipynb`` whose outputs keep some; all of them must be.

        Raises:
            UsageError: `notebook` is no notebook.
        """
        heads = {} if notebook is None else heads_of(notebook)
        if head is not None:
            heads = {head: "", **heads}
        rows = linked_to_the_end(self._store.all_rows(), self._store.rows)
        return verified(rows, heads, self._store.rows)

    def erase(
        self,
        question: Call | OpenCall | StoredDecision | str | None = None,
        *,
        thread: str | None = None,
        by: str | None = None,
        reason: str | None = None,
    ) -> Erasure:
        """Erase what a question was about, and what was answered; that it was asked and decided stays, and verifies.

        What can be erased stands apart from the chain: everything of a journal that is ``Journal(..., personal=True)``
        where the question is asked, and whatever is longer than 32 kB. Names of tools, ids, times, outcomes, and who
        decided are no payload, and stay. An open question is withdrawn: nobody can answer what nobody can read. A
        decision whose payload was erased is never used again in a person's place.

        Of an SQLite file nothing of it is left in the file. PostgreSQL finds it no more at once, and has it off the
        disk with the next VACUUM; what is in backups, in outputs of notebooks, or was told to a model, is elsewhere.

        Args:
            question: A call, what the journal gives of one, or the id of one (the latest with it).
            thread: Without a question: all questions of a conversation; with an id: where to look for it.
            by: Who erases; default: `who`. A database that knows people takes nobody else's name.
            reason: Why, in words that stay in the chain.

        Returns:
            What is gone, and what could not be erased.

        Raises:
            UsageError: There is no such question, or nothing of it can be erased.
            JournalError: The database does not let this login erase it.
        """
        if question is None and thread is None:
            raise UsageError('Erase what? Write `journal.erase("call id")`, or `journal.erase(thread="…")`.')
        who = storable(self._secrets.scrub_text(by or self.login or self.who())) or ""
        why = storable(self._secrets.scrub_text(reason))
        done = self._store.write(self._eraser.erasure(question, thread, who, why), durable=True)
        self._store.wipe()
        return done

    def to_jsonl(self, path: str | PathLike[str], **filters: Unpack[Filters]) -> Path:
        """Write one JSON object an event, and give the path.

        Raises:
            UsageError: A filter that there is not.
            OSError: The file cannot be written.
        """
        return write_jsonl(path, COLUMNS, find_events(self._store, filters))

    def to_csv(self, path: str | PathLike[str], **filters: Unpack[Filters]) -> Path:
        """Write one row a call, as `to_frame`, and give the path. Text that a spreadsheet would run is made harmless.

        Raises:
            UsageError: A filter that there is not.
            OSError: The file cannot be written.
        """
        return write_csv(path, CALL_COLUMNS, find_calls(self._store, filters))

    def __iter__(self) -> Iterator[dict[str, object]]:
        """Iterate over the events in order, each a dict of the columns it has; needs no pandas."""
        for row in whole(self._store.all_rows(), COLUMNS, self._store.rows):
            yield {name: value for name, value in zip(COLUMNS, row, strict=True) if value is not None}

    def _repr_html_(self) -> str:
        rows = [decision_row(call) for call in call_rows(self._store, {}, latest=_SHOWN)]
        if not rows:
            return f'<span style="{QUIET}">{escaped(repr(self))}: nothing asked yet</span>'
        return table(f"{escaped(repr(self))}: the last {len(rows)} calls", _HEADER, rows)

    def __repr__(self) -> str:
        [(count,)] = self._store.rows(HOW_MANY)
        return f"<Journal {self._where} · {count} calls>"

    # -- the file -----------------------------------------------------------------------------------------

    @property
    def where(self) -> str:
        """Return where it is kept, in words: a path from here, ``memory``, an address without its password."""
        return self._where

    @property
    def login(self) -> str | None:
        """As whom the database knows this process; None for a file, which knows nobody."""
        return self._store.login

    @cached_property
    def knows_people(self) -> bool:
        """Whether the database itself says who may answer, and in whose name: after ``hitl-nb inbox setup``."""
        return self._store.knows_people

    def set_up_people(self) -> None:
        """Have the database know people; what ``hitl-nb inbox setup`` does, for whoever owns the tables.

        Raises:
            JournalError: It is a file, or this login may not do that.
        """
        self._store.set_up_people()
        self.__dict__.pop("knows_people", None)

    @property
    def head(self) -> str:
        """The hash of the last row that this process knows of; costs nothing.

        Kept anywhere else, it proves later that nothing up to this row was changed, and that it is still there:
        ``journal.verify(head=...)``.
        """
        return self._store.head

    def close(self) -> None:
        """Write what has begun and close the file; the journal cannot be used afterwards.

        Happens by itself when nobody holds it any more, and when the process ends.
        """
        self._store.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._store.closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
