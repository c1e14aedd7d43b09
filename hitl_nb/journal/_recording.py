"""The life of a call as it is written: asked before it is shown, answered before anybody acts on it, started once."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from sqlite3 import IntegrityError
from typing import Any, Final

from hitl_nb._calls import Call, Decision, Handle
from hitl_nb._calls._decision import APPROVALS
from hitl_nb._schema import Validator
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._decisions import DECISION_OF, OpenCall, StoredDecision, rows_of, stored_decision
from hitl_nb.journal._grants import STARTED, Started, started_from, this_process
from hitl_nb.journal._questions import Questions, latest
from hitl_nb.journal._reading import Reading
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._transaction import Transaction, now

_Append = Callable[[Transaction], Any]
_DELIVERED: Final = "SELECT 1 FROM events WHERE event = 'delivered' AND question = ?"


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
        return self._store.begin(self._question(call, arguments, parameters))

    def asked(self, call: Call, *, arguments: str, parameters: Validator | None = None) -> None:
        """Do `begin_asked` and wait.

        Raises:
            JournalError: It could not be written.
        """
        self._store.write(self._question(call, arguments, parameters))

    def _question(self, call: Call, arguments: str, parameters: Validator | None) -> _Append:
        row = self._rows.asked(call, arguments, parameters)
        return lambda transaction: self._questions.ask(transaction, call, row)

    def begin_shown(self, call: Call) -> "Future[None]":
        """Record that a person can see the question now."""
        return self._begin_unwatched(self._note("shown", call, {}))

    def shown(self, call: Call) -> None:
        """Do `begin_shown` and wait."""
        self._store.write(self._note("shown", call, {}))

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
        return self._store.begin(self._answer(call, decision), durable=True)

    def answered(self, call: Call, decision: Decision | None = None) -> bool:
        """Do `begin_answered` and wait.

        Raises:
            JournalError: It could not be written, or what the file holds in its place is not believed.
            UsageError: The call is not decided.
        """
        return bool(self._store.write(self._answer(call, decision), durable=True))

    def _answer(self, call: Call, decision: Decision | None) -> _Append:
        decided = decision or Handle.of(call).decision
        if decided is None:
            raise UsageError(f"`{call.name}` ({call.id}) is not decided. Write `call.respond(...)` first.")
        row = self._rows.answered(call, decided)
        if row["by"] is None and decided.via == "card":
            row["by"] = self.who()

        def append(transaction: Transaction) -> bool:
            known, question = self._questions.of(transaction, call)
            try:
                transaction.append("answered", **row, question=question)
            except IntegrityError:
                self._check_answer(transaction, call, question)
                late = {**row, "value": row["answer"], "answer": None}
                transaction.append("late", **late, question=question)
                return False
            transaction.after(lambda: known.note(transaction.generation, question, "answered", row))
            return True

        return append

    def _check_answer(self, transaction: Transaction, call: Call, question: int) -> StoredDecision:
        """Give the answer that a question has; raise if there is none, or none that can be believed."""
        found = transaction.one(DECISION_OF, (question,))
        if found is None:
            raise UsageError(f"`{call.name}` ({call.id}) has no answer in the journal, so nothing was approved.")
        if not self._store.believes(transaction.rows, rows_of(found), uncommitted=True):
            raise JournalError(
                f"The journal's answer to `{call.name}` ({call.id}) was changed after it was written and is not "
                "believed. Ask again; `print(journal.verify())` says which row it is."
            )
        return stored_decision(found)

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
        return self._begin_unwatched(self._note("late", call, self._rows.late(call, value, by)))

    def late(self, call: Call, value: Any, by: str | None = None) -> None:
        """Do `begin_late` and wait."""
        self._store.write(self._note("late", call, self._rows.late(call, value, by)))

    # -- started, ended -----------------------------------------------------------------------------------

    def begin_started(self, call: Call) -> "Future[bool]":
        """Take the grant: record that what was approved begins to run. It survives a power failure.

        Returns:
            True if it may run, here and now, once. False if it has begun elsewhere; see `started`. The future has a
            `UsageError` if nobody has approved the question.
        """
        return self._store.begin(self._start(call), durable=True)

    def start(self, call: Call) -> bool:
        """Do `begin_started` and wait.

        Raises:
            JournalError: It could not be written, or the approval that the file holds is not believed.
            UsageError: Nobody has approved it.
        """
        return bool(self._store.write(self._start(call), durable=True))

    def _start(self, call: Call) -> _Append:
        row = {**self._rows.call(call), "ts": now(), "value": this_process()}

        def append(transaction: Transaction) -> bool:
            known, question = self._questions.of(transaction, call)
            # What was decided here needs no look; what comes from the file is followed along the chain.
            ours = known.rows.get("answered")
            outcome = ours["outcome"] if ours else self._check_answer(transaction, call, question).outcome
            if outcome not in APPROVALS:
                raise UsageError(f"`{call.name}` ({call.id}) was not approved ({outcome}), so it does not run.")
            try:
                transaction.append("started", **row, question=question)
            except IntegrityError:
                if transaction.one(STARTED, (question,)) is None:
                    raise
                return False
            transaction.after(lambda: known.note(transaction.generation, question, "started", row))
            return True

        return append

    def begin_ended(self, call: Call, result: str) -> "Future[None]":
        """Record what came of the run; the first end counts.

        Args:
            call: The call.
            result: What the model is told.
        """
        return self._begin_unwatched(self._end(call, result))

    def ended(self, call: Call, result: str) -> None:
        """Do `begin_ended` and wait."""
        self._store.write(self._end(call, result))

    def _end(self, call: Call, result: str) -> _Append:
        row = {**self._rows.ended(call, result), "ts": now()}

        def append(transaction: Transaction) -> None:
            _, question = self._questions.of(transaction, call)
            found = transaction.one(STARTED, (question,))
            if found is None:
                raise UsageError(f"`{call.name}` ({call.id}) has not begun. Write `journal.begin_started(call)` first.")
            if found[-2] is None:
                transaction.append("ended", **row, question=question)

        return append

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
        return self._begin_unwatched(self._delivery(list(calls), thread))

    def delivered(self, calls: Iterable[Call | StoredDecision | str], *, thread: str | None = None) -> None:
        """Do `begin_delivered` and wait."""
        self._store.write(self._delivery(list(calls), thread))

    def _delivery(self, given: Sequence[Call | StoredDecision | str], thread: str | None) -> _Append:
        ts = now()

        def append(transaction: Transaction) -> None:
            for each in given:
                question = self._given_question(transaction, each, thread)
                answer = transaction.one(DECISION_OF, (question,))
                if answer and transaction.one(_DELIVERED, (question,)) is None:
                    decision = stored_decision(answer)
                    columns = {"thread": decision.thread, "call": decision.call, "tool": decision.tool}
                    transaction.append("delivered", ts=ts, question=question, **columns)

        return append

    def _given_question(
        self, transaction: Transaction, call: Call | StoredDecision | str, thread: str | None
    ) -> int | None:
        if isinstance(call, Call):
            return self._questions.of(transaction, call)[1]
        return latest(transaction, call, thread) if isinstance(call, str) else call.question

    def adopt(self, call: Call, stored: OpenCall | StoredDecision) -> None:
        """Take a call for another asking of a question that `load_thread` gave: all recorded of it belongs there."""
        self._questions.adopt(call, stored)

    # -- how ----------------------------------------------------------------------------------------------

    def _note(self, event: str, call: Call, columns: dict[str, Any]) -> _Append:
        row = {**self._rows.call(call), "ts": now(), **columns}

        def append(transaction: Transaction) -> None:
            transaction.append(event, **row, question=self._questions.of(transaction, call)[1])

        return append

    def _begin_unwatched(self, append: _Append) -> "Future[None]":
        """Begin what nobody may be waiting for: that it failed is said once in the log."""
        future = self._store.begin(append)

        def report(done: "Future[None]") -> None:
            error = done.exception()
            if error is not None:
                self._store.warn_once(f"Not recorded, and nor may be what follows: {error}")

        future.add_done_callback(report)
        return future
