"""The journal itself: what a session writes before it does anything, and finds again after a restart."""

import os
import weakref
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from sqlite3 import IntegrityError
from types import TracebackType
from typing import Any, Final, Self

from hitl_nb._calls import Call
from hitl_nb._identity import user_name
from hitl_nb._schema import Validator
from hitl_nb.errors import UsageError
from hitl_nb.journal._decisions import (
    DECISION_OF,
    OPEN_CALLS,
    RECALLED,
    UNDELIVERED,
    StoredDecision,
    open_call,
    stored_decision,
)
from hitl_nb.journal._place import default_path
from hitl_nb.journal._plain import storable
from hitl_nb.journal._reading import Reading
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.journal._store import Store, Transaction
from hitl_nb.journal._threads import SAVED, ThreadRecord, Threads, folded

_LATEST: Final = """
    SELECT id, args_sha256, tool, message, EXISTS (
        SELECT 1 FROM events WHERE event = 'delivered' AND question = asked.id
    ) FROM events AS asked WHERE event = 'asked' AND call = ? {thread} ORDER BY id DESC LIMIT 1
"""
_IN_THREAD: Final = _LATEST.format(thread="AND thread = ?")
_ANYWHERE: Final = _LATEST.format(thread="")


class Journal(Reading):
    """Every question and every answer, on disk before anything else happens; append-only, chained, without secrets.

    Args:
        path: The SQLite file; made if it is not there. ``"memory"`` keeps everything in memory. Default:
            ``.hitl_nb/journal.sqlite`` beside the notebook.
        thread: The conversation of calls that belong to none (an `interrupt` in a plain cell).
        name: Who answers here; see `who`.

    The order is what makes it safe: `asked` before the question is shown, `answered` before anybody acts on the answer,
    `delivered` when the model has it. A process may be killed anywhere in between. Any number of kernels may share a
    file. Safe from any thread.

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
        self._threads = Threads(self._store, self._secrets)
        self._questions: weakref.WeakKeyDictionary[Call, int] = weakref.WeakKeyDictionary()

    def who(self) -> str:
        """Give the name of who answers here: `name`, else the JupyterHub user, else the operating system's."""
        return user_name(self._name)

    # -- the life of a call -------------------------------------------------------------------------------

    def asked(self, call: Call, *, arguments: str, parameters: Validator | None = None) -> None:
        """Record a question; call it before anybody is shown it.

        The same question again (same id and content, not delivered yet: a restarted kernel asks once more) stays one
        question. Another one under the id of an old one is a new question, whose answer is its own.

        Args:
            call: The call, its arguments validated.
            arguments: The arguments as the model wrote them: JSON text.
            parameters: What checked them; it says where a secret stands as plain text. Default: ``call.args_type``,
                else the type of the arguments, if it is a model.
        """
        row = self._rows.asked(call, arguments, parameters)
        with self._store.writing() as transaction:
            self._questions[call] = self._asked(transaction, call, row)

    def _asked(self, transaction: Transaction, call: Call, row: dict[str, Any]) -> int:
        known = transaction.one(_IN_THREAD, (row["call"], row["thread"]))
        if known is not None:
            question, *content, delivered = known
            if not delivered and content == [row["args_sha256"], row["tool"], row["message"]]:
                transaction.append("asked_again", question=question, ts=row["ts"], **self._rows.call(call))
                return int(question)
        return transaction.append("asked", **row)

    def shown(self, call: Call) -> None:
        """Record that a person can see the question now."""
        with self._store.writing() as transaction:
            transaction.append("shown", question=self._question(transaction, call), **self._rows.call(call))

    def answered(self, call: Call) -> bool:
        """Record the decision of a call; call it before anybody acts on it. Survives a power failure.

        Returns:
            True if this decision counts. False if the question has one already, from another tab, kernel or process:
            then this one is kept as a late attempt, and `winner` gives the one that counts.

        Raises:
            UsageError: The call is not decided.
        """
        decision = call._decision
        if decision is None:
            raise UsageError(f"`{call.name}` ({call.id}) is not decided. Write `call.respond(...)` first.")
        row = self._rows.answered(call, decision)
        if row["by"] is None and decision.via == "card":
            row["by"] = self.who()
        with self._store.writing(durable=True) as transaction:
            row["question"] = self._question(transaction, call)
            try:
                transaction.append("answered", **row)
            except IntegrityError:
                if transaction.one(DECISION_OF, (row["question"],)) is None:
                    raise
                transaction.append("late", **{**row, "value": row["answer"], "answer": None})
                return False
        return True

    def winner(self, call: Call | str) -> StoredDecision | None:
        """Give the decision that counts for a call (or for the latest call with this id); None if it is open."""
        question = self._questions.get(call) if isinstance(call, Call) else None
        if question is None:
            known = self._latest(call)
            question = known[0] if known else 0
        found = self._store.rows(DECISION_OF, (question,))
        return stored_decision(found[0]) if found else None

    def delivered(self, call_ids: Iterable[str], *, thread: str | None = None) -> None:
        """Record that the model has been given these answers; ids without a recorded answer are passed over.

        Args:
            call_ids: The calls' ids.
            thread: Their conversation; default: the latest call with the id in any.
        """
        with self._store.writing() as transaction:
            for call_id in call_ids:
                sql, parameters = (_ANYWHERE, (call_id,)) if thread is None else (_IN_THREAD, (call_id, thread))
                known = transaction.one(sql, parameters)
                answer = known and transaction.one(DECISION_OF, (known[0],))
                if known and answer and not known[-1]:
                    decision = stored_decision(answer)
                    columns = {"thread": decision.thread, "call": decision.call, "tool": decision.tool}
                    transaction.append("delivered", question=known[0], **columns)

    def late(self, call: Call, value: Any, by: str | None = None) -> None:
        """Record an answer that came after the first and changes nothing."""
        row = self._rows.late(call, value, by)
        with self._store.writing() as transaction:
            transaction.append("late", question=self._question(transaction, call), **row)

    def _question(self, transaction: Transaction, call: Call) -> int:
        if call not in self._questions:
            known = transaction.one(_IN_THREAD, (call.id, call.thread_id or self._rows.thread))
            # Never asked through here: an answer is not lost for want of a question.
            row = None if known else self._rows.asked(call, "{}", None)
            self._questions[call] = int(known[0]) if known else transaction.append("asked", **(row or {}))
        return self._questions[call]

    def _latest(self, call: Call | str) -> tuple[Any, ...] | None:
        if isinstance(call, Call):
            found = self._store.rows(_IN_THREAD, (call.id, call.thread_id or self._rows.thread))
        else:
            found = self._store.rows(_ANYWHERE, (call,))
        return found[0] if found else None

    # -- a restart ----------------------------------------------------------------------------------------

    def save_thread(
        self,
        thread_id: str,
        messages_json: str,
        state_json: str,
        *,
        parameters: Mapping[str, Validator] | None = None,
    ) -> None:
        """Record a conversation as it is now; only what is new since the last time takes space.

        Args:
            thread_id: The conversation.
            messages_json: The history as AG-UI writes it, a JSON array.
            state_json: The shared state, JSON.
            parameters: Tool name → what checks its arguments: they say where a tool call in the history holds a secret,
                also one that nobody was asked yet. Those of calls that went through `asked` are known.
        """
        self._threads.save(thread_id, messages_json, state_json, parameters or {})

    def load_thread(self, thread_id: str) -> ThreadRecord | None:
        """Give all that is known of a conversation, None if that is nothing."""
        with self._store.writing() as transaction:  # one moment for all three, while other kernels write
            saved = folded(transaction.rows(SAVED, (thread_id, 0)))
            open_calls = [open_call(row) for row in transaction.rows(OPEN_CALLS, (thread_id,))]
            undelivered = [stored_decision(row) for row in transaction.rows(UNDELIVERED, (thread_id,))]
            known = saved or transaction.one("SELECT 1 FROM events WHERE event = 'asked' AND thread = ?", (thread_id,))
        if not known:
            return None
        messages, state = saved or ([], None)
        return ThreadRecord(messages=messages, state=state, open=open_calls, undelivered=undelivered)

    # -- sticky decisions ---------------------------------------------------------------------------------

    def remember(self, key: str, fingerprint: str, call: Call) -> None:
        """Keep the decision of a call for the next time the same is asked.

        Args:
            key: The question's own name, ``approve(..., key=)``.
            fingerprint: Of its input; see `hitl_nb.journal.fingerprint`.
            call: The call, whose decision is recorded.
        """
        with self._store.writing() as transaction:
            question = self._question(transaction, call)
            kept = {"key": storable(key), "fingerprint": storable(fingerprint)}
            transaction.append("remembered", question=question, **kept, **self._rows.call(call))

    def recall(self, key: str, fingerprint: str) -> StoredDecision | None:
        """Give the decision that was kept last for this question with this input.

        None if it was never asked, or with other input only; or if the answer held a secret: that is not in the
        journal, so it has to be asked again.
        """
        found = self._store.rows(RECALLED, (storable(key), storable(fingerprint)))
        decision = stored_decision(found[0]) if found else None
        return None if decision is None or "answer" in decision.redacted else decision

    # -- the file -----------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the file; the journal cannot be used afterwards. Happens by itself when nobody holds it any more."""
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
