"""The life of a call as it is written: asked before it is shown, answered before anybody acts on it, started once."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from sqlite3 import IntegrityError
from typing import Any

from hitl_nb._calls import Call, Decision, Handle
from hitl_nb._schema import Validator
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._decisions import DECISION_OF, OpenCall, StoredDecision, rows_of, stored_decision
from hitl_nb.journal._grants import STARTED, Started, started_from, this_process
from hitl_nb.journal._questions import Questions, latest
from hitl_nb.journal._reading import Reading
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._transaction import Transaction, now

_DELIVERED = "SELECT 1 FROM events WHERE event = 'delivered' AND question = ?"


class Recording(Reading):
    """What is written about one call. Every ``begin_…`` has a plain form that waits until it is on disk.

    A ``begin_…`` takes down what is to be written at once, in the caller's thread, so that the arguments may be
    changed afterwards, and writes it in the journal's own thread, in the order in which all began. It gives a future,
    which is done at once where there is no thread to be had (and for a journal in memory). So a slow disk, or another
    process that has locked the file, never holds up a kernel's loop.
    """

    _rows: RowWriter
    _questions: Questions

    def who(self) -> str:
        """Give the name of who answers here."""
        raise NotImplementedError

    # -- asked, shown -------------------------------------------------------------------------------------

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
        row = self._rows.asked(call, arguments, parameters)
        return self._store.begin(lambda transaction: self._questions.ask(transaction, call, row))

    def asked(self, call: Call, *, arguments: str, parameters: Validator | None = None) -> None:
        """Do `begin_asked` and wait.

        Raises:
            JournalError: It could not be written.
        """
        self._wait(self.begin_asked(call, arguments=arguments, parameters=parameters))

    def begin_shown(self, call: Call) -> "Future[None]":
        """Record that a person can see the question now."""
        return self._noted(self._note("shown", call, {}))

    def shown(self, call: Call) -> None:
        """Do `begin_shown` and wait."""
        self._wait(self._note("shown", call, {}))

    # -- answered -----------------------------------------------------------------------------------------

    def begin_answered(self, call: Call, decision: Decision | None = None) -> "Future[bool]":
        """Record a decision; act on it when that is done. It survives a power failure.

        Args:
            call: The call.
            decision: What was decided; default: what counts for the call.

        Returns:
            True if this decision counts. False if the question has one already, from another tab, kernel or process:
            then this one is kept as a late attempt, and `winner` gives the one that counts.

        Raises:
            UsageError: The call is not decided.
        """
        decided = decision or Handle.of(call).decision
        if decided is None:
            raise UsageError(f"`{call.name}` ({call.id}) is not decided. Write `call.respond(...)` first.")
        row = self._rows.answered(call, decided)
        if row["by"] is None and decided.via == "card":
            row["by"] = self.who()

        def append(transaction: Transaction) -> bool:
            question = self._questions.of(transaction, call)
            try:
                transaction.append("answered", **row, question=question)
            except IntegrityError:
                self._check_answer(transaction, call, question)
                late = {**row, "value": row["answer"], "answer": None}
                transaction.append("late", **late, question=question)
                return False
            self._questions.keep(transaction, call, "answered", row)
            return True

        return self._store.begin(append, durable=True)

    def answered(self, call: Call, decision: Decision | None = None) -> bool:
        """Do `begin_answered` and wait.

        Raises:
            JournalError: It could not be written, or what the file holds in its place is not believed.
            UsageError: The call is not decided.
        """
        return bool(self._wait(self.begin_answered(call, decision)))

    def winner(self, call: Call | str) -> StoredDecision | None:
        """Give the decision that counts for a call (or for the latest call with this id); None if it is open.

        Also None if the rows that say so were changed after they were written.
        """
        question = self._questions.find(call)
        with self._store.moment() as query:
            found = query(DECISION_OF, (question,))
            if not found or not self._store.believes(query, rows_of(found[0])):
                return None
        return stored_decision(found[0])

    def begin_late(self, call: Call, value: Any, by: str | None = None) -> "Future[None]":
        """Record an answer that came after the first and changes nothing."""
        return self._noted(self._note("late", call, self._rows.late(call, value, by)))

    def late(self, call: Call, value: Any, by: str | None = None) -> None:
        """Do `begin_late` and wait."""
        self._wait(self._note("late", call, self._rows.late(call, value, by)))

    def _check_answer(self, transaction: Transaction, call: Call, question: int) -> tuple[Any, ...]:
        """Give the answer that a question has; raise if there is none, or none that can be believed."""
        found = transaction.one(DECISION_OF, (question,))
        if found is None:
            raise JournalError(f"`{call.name}` ({call.id}) has no answer in the journal.")
        if not self._store.believes(transaction.rows, rows_of(found), uncommitted=True):
            raise JournalError(
                f"The journal's answer to `{call.name}` ({call.id}) was changed after it was written and is not "
                "believed. Ask again; `print(journal.verify())` says which row it is."
            )
        return found

    # -- started, ended -----------------------------------------------------------------------------------

    def begin_started(self, call: Call) -> "Future[bool]":
        """Take the grant: record that what was approved begins to run. It survives a power failure.

        Returns:
            True if it may run, here and now, once. False if it has begun elsewhere; see `started`. The future has a
            `UsageError` if nobody has approved the question.
        """
        row = {**self._rows.call(call), "ts": now(), "value": this_process()}

        def append(transaction: Transaction) -> bool:
            question = self._questions.of(transaction, call)
            decision = stored_decision(self._check_answer(transaction, call, question))
            if not decision.approved:
                raise UsageError(
                    f"`{call.name}` ({call.id}) was not approved ({decision.outcome}), so it does not run."
                )
            try:
                transaction.append("started", **row, question=question)
            except IntegrityError:
                if transaction.one(STARTED, (question,)) is None:
                    raise
                return False
            self._questions.keep(transaction, call, "started", row)
            return True

        return self._store.begin(append, durable=True)

    def begin_ended(self, call: Call, result: str) -> "Future[None]":
        """Record what came of the run; the first end counts.

        Args:
            call: The call.
            result: What the model is told.
        """
        row = {**self._rows.ended(call, result), "ts": now()}

        def append(transaction: Transaction) -> None:
            question = self._questions.of(transaction, call)
            found = transaction.one(STARTED, (question,))
            if found is None:
                raise UsageError(f"`{call.name}` ({call.id}) has not begun. Write `journal.begin_started(call)` first.")
            if found[-2] is None:
                transaction.append("ended", **row, question=question)

        return self._store.begin(append)

    def ended(self, call: Call, result: str) -> None:
        """Do `begin_ended` and wait."""
        self._wait(self.begin_ended(call, result))

    def started(self, call: Call | str) -> Started | None:
        """Give who runs what was approved, None if nobody has begun. An end that is not believed is none."""
        question = self._questions.find(call)
        with self._store.moment() as query:
            found = query(STARTED, (question,))
            if not found:
                return None
            row = found[0]
            ids = [question or 0, *(each for each in (row[0], row[3]) if each is not None)]
            if not self._store.believes(query, ids):
                row = (*row[:3], None, None)
        return started_from(row)

    # -- delivered ----------------------------------------------------------------------------------------

    def begin_delivered(
        self, calls: Iterable[Call | StoredDecision | str], *, thread: str | None = None
    ) -> "Future[None]":
        """Record that the model has been given these answers; what has none in the journal is passed over.

        Args:
            calls: The calls, or what was stored of them; or ids, each meaning the latest call with it.
            thread: The conversation of the ids; default: any.
        """
        return self._noted(self._deliver(list(calls), thread))

    def delivered(self, calls: Iterable[Call | StoredDecision | str], *, thread: str | None = None) -> None:
        """Do `begin_delivered` and wait."""
        self._wait(self._deliver(list(calls), thread))

    def _deliver(self, given: Sequence[Call | StoredDecision | str], thread: str | None) -> "Future[None]":
        ts = now()

        def append(transaction: Transaction) -> None:
            for each in given:
                question = self._question_of(transaction, each, thread)
                answer = transaction.one(DECISION_OF, (question,))
                if answer and transaction.one(_DELIVERED, (question,)) is None:
                    decision = stored_decision(answer)
                    columns = {"thread": decision.thread, "call": decision.call, "tool": decision.tool}
                    transaction.append("delivered", ts=ts, question=question, **columns)

        return self._store.begin(append)

    def _question_of(
        self, transaction: Transaction, call: Call | StoredDecision | str, thread: str | None
    ) -> int | None:
        if isinstance(call, Call):
            return self._questions.of(transaction, call)
        return latest(transaction, call, thread) if isinstance(call, str) else call.question

    def adopt(self, call: Call, stored: OpenCall | StoredDecision) -> None:
        """Take a call for another asking of a question that `load_thread` gave: all recorded of it belongs there."""
        self._questions.adopt(call, stored)

    # -- how ----------------------------------------------------------------------------------------------

    def _note(self, event: str, call: Call, columns: dict[str, Any]) -> "Future[None]":
        row = {**self._rows.call(call), "ts": now(), **columns}

        def append(transaction: Transaction) -> None:
            transaction.append(event, **row, question=self._questions.of(transaction, call))

        return self._store.begin(append)

    def _noted(self, future: "Future[None]") -> "Future[None]":
        """Say once in the log that something was not written which nobody may be waiting for."""

        def report(done: "Future[None]") -> None:
            error = done.exception()
            if error is not None:
                self._store.warn_once(f"Not recorded, and nor may be what follows: {error}")

        future.add_done_callback(report)
        return future

    def _wait(self, future: "Future[Any]") -> Any:
        return self._store.result(future)
