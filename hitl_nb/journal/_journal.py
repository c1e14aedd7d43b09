"""The journal itself: what a session writes before it does anything, and finds again after a restart."""

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hitl_nb._calls import Call
from hitl_nb._process import user_name
from hitl_nb._schema import Validator
from hitl_nb.journal._decisions import (
    DECISION_OF,
    OPEN_CALLS,
    RECALLED,
    UNDELIVERED,
    OpenCall,
    StoredDecision,
    open_call,
    rows_of,
    stored_decision,
)
from hitl_nb.journal._place import default_path
from hitl_nb.journal._plain import storable
from hitl_nb.journal._questions import Questions
from hitl_nb.journal._recording import Recording
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.journal._store import Store
from hitl_nb.journal._threads import SAVED, ThreadRecord, Threads, folded
from hitl_nb.journal._transaction import Transaction

_RECALLABLE: Final = "2:"
"""Stands before what a sticky decision is found by. Version 0.1 compared less; what it has kept is asked again."""


class Journal(Recording):
    """Every question and every answer, on disk before anything else happens; append-only, chained, without secrets.

    Args:
        path: The SQLite file; made if it is not there. ``"memory"`` keeps everything in memory. Default:
            ``.hitl_nb/journal.sqlite`` beside the notebook.
        thread: The conversation of calls that belong to none (an `interrupt` in a plain cell).
        name: Who answers here; see `who`.

    The order is what makes it safe: `asked` before the question is shown, `answered` before anybody acts on the answer,
    `started` before what was approved runs, `delivered` when the model has it. A process may be killed anywhere in
    between. Any number of kernels may share a file. Safe from any thread.

    Each of these has a form that only begins (`begin_asked`) and gives a future, for a kernel's loop; the plain form
    waits. What is read back has been followed along the hash chain before it is believed; see `verify`.

    Should the file be deleted or replaced while it is open, recording goes on in the one that is there then, and the
    log says so.

    Raises:
        JournalError: The file cannot be opened, is no journal, or was written by a newer version. So does every method
            that the file refuses; then nothing was written.
    """

    def __init__(
        self, path: str | PathLike[str] | None = None, *, thread: str = "default", name: str | None = None
    ) -> None:
        self.path: Path | None = None
        if path is None:
            self.path = default_path()
        elif path != "memory":
            # Absolute at once: a cell may change the working directory later.
            self.path = Path(os.path.abspath(Path(path).expanduser()))
        self._where = "memory" if self.path is None else os.path.relpath(self.path)
        self._name = name
        self._store = Store(self.path)
        self._secrets = KnownSecrets()
        self._rows = RowWriter(secrets=self._secrets, thread=thread)
        self._threads = Threads(self._secrets)
        self._questions = Questions(self._store, self._rows)
        # What has begun is written all the same; the store sees to it, also at the end of the process.
        self._finalizer = weakref.finalize(self, self._store.let_go)
        self._finalizer.atexit = False

    def who(self) -> str:
        """Give the name of who answers here: `name`, else the JupyterHub user, else the operating system's."""
        return user_name(self._name)

    # -- a restart ----------------------------------------------------------------------------------------

    def begin_save_thread(
        self,
        thread_id: str,
        messages: str | Sequence[str],
        state_json: str,
        *,
        parameters: Mapping[str, Validator] | None = None,
    ) -> "Future[None]":
        """Record a conversation as it is now; only what is new since the last time costs space, and time.

        Args:
            thread_id: The conversation.
            messages: The history as AG-UI writes it: a JSON array, or the JSON text of each message.
            state_json: The shared state, JSON.
            parameters: Tool name → what checks its arguments: they say where a tool call in the history holds a secret,
                also one that nobody was asked yet. Those of calls that went through `asked` are known.
        """
        return self._begin_unwatched(self._threads.save(thread_id, messages, state_json, parameters or {}))

    def save_thread(
        self,
        thread_id: str,
        messages: str | Sequence[str],
        state_json: str,
        *,
        parameters: Mapping[str, Validator] | None = None,
    ) -> None:
        """Do `begin_save_thread` and wait."""
        self._store.write(self._threads.save(thread_id, messages, state_json, parameters or {}))

    def load_thread(self, thread_id: str) -> ThreadRecord | None:
        """Give all that is known of a conversation, None if that is nothing.

        An answer whose rows were changed after they were written is not believed: its question is open again.
        """
        open_calls: list[OpenCall] = []
        undelivered: list[StoredDecision] = []
        with self._store.moment() as query:  # one moment for all three, while other kernels write
            saved = folded(query(SAVED, (thread_id, 0)))
            asked = query("SELECT 1 FROM events WHERE event = 'asked' AND thread = ? LIMIT 1", (thread_id,))
            open_calls += map(open_call, query(OPEN_CALLS, (thread_id,)))
            for row in query(UNDELIVERED, (thread_id,)):
                if self._store.believes(query, rows_of(row)):
                    undelivered.append(stored_decision(row))
                else:
                    open_calls.append(open_call(row))
        if not saved and not asked:
            return None
        messages, state = saved or ([], None)
        open_calls.sort(key=lambda call: call.question)
        return ThreadRecord(messages=messages, state=state, open=open_calls, undelivered=undelivered)

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

    def _memory(self, key: str, fingerprint: str, call: Call) -> Callable[[Transaction], None]:
        kept = {"key": storable(key), "fingerprint": storable(f"{_RECALLABLE}{fingerprint}")}
        return self._note("remembered", call, kept)

    def recall(self, key: str, fingerprint: str) -> StoredDecision | None:
        """Give the decision that was kept last for this question with this input.

        None if it was never asked, or with other input only; or if the answer held a secret: that is not in the
        journal, so it has to be asked again. None as well if any row was changed, deleted or put in since the question
        was asked: what was tampered with is not believed.
        """
        with self._store.moment() as query:
            for question, kept in query(RECALLED, (storable(key), storable(f"{_RECALLABLE}{fingerprint}"))):
                found = query(DECISION_OF, (question,))
                if found and self._store.believes(query, (*rows_of(found[0]), kept)):
                    decision = stored_decision(found[0])
                    return None if "answer" in decision.redacted else decision
        return None

    # -- the file -----------------------------------------------------------------------------------------

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
