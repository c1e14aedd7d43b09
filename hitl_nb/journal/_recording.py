"""What is written about one call, as work for the writer: built at once, in the caller's thread, appended in its turn.

The arguments may be changed by then; what is on disk is what was true when it began.
"""

from collections.abc import Callable, Sequence
from sqlite3 import IntegrityError
from typing import Any, Final

from hitl_nb._calls import Call, Decision, Handle
from hitl_nb._schema import Validator
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._decisions import APPROVALS, DECISION_OF, StoredDecision, rows_of, stored_decision
from hitl_nb.journal._grants import STARTED, this_process
from hitl_nb.journal._questions import Questions, latest
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._store import Store
from hitl_nb.journal._transaction import Transaction, now

Append = Callable[[Transaction], Any]
"""Appends rows."""

_DELIVERED: Final = "SELECT 1 FROM events WHERE event = 'delivered' AND question = ?"


class Recording:
    """Makes what the writer appends about calls.

    Args:
        store: The file.
        rows: Makes the columns.
        questions: Knows which row is whose question.
        who: Gives who answers here.
    """

    def __init__(self, store: Store, rows: RowWriter, questions: Questions, who: Callable[[], str]) -> None:
        self._store = store
        self._rows = rows
        self._questions = questions
        self._who = who

    def question(self, call: Call, arguments: str, parameters: Validator | None) -> Append:
        """Append a question, or that it is asked again."""
        row = self._rows.asked(call, arguments, parameters)
        return lambda transaction: self._questions.ask(transaction, call, row)

    def note(self, event: str, call: Call, columns: dict[str, Any]) -> Append:
        """Append something that happened to a call."""
        row = {**self._rows.call(call), "ts": now(), **columns}

        def append(transaction: Transaction) -> None:
            transaction.append(event, **row, question=self._questions.of(transaction, call)[1])

        return append

    def late(self, call: Call, value: Any, by: str | None) -> Append:
        """Append an answer that changes nothing."""
        return self.note("late", call, self._rows.late(call, value, by))

    def answer(self, call: Call, decision: Decision | None) -> Append:
        """Append a decision, if there is none, and give whether it counts.

        Raises:
            UsageError: The call is not decided.
        """
        decided = decision or Handle.of(call).decision
        if decided is None:
            raise UsageError(f"`{call.name}` ({call.id}) is not decided. Write `call.respond(...)` first.")
        row = self._rows.answered(call, decided)
        if row["by"] is None and decided.via == "card":
            row["by"] = self._who()

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

    def start(self, call: Call) -> Append:
        """Append that what was approved begins to run, if it has not, and give whether it may run here."""
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

    def end(self, call: Call, result: str) -> Append:
        """Append what came of the run; the first end counts."""
        row = {**self._rows.ended(call, result), "ts": now()}

        def append(transaction: Transaction) -> None:
            _, question = self._questions.of(transaction, call)
            found = transaction.one(STARTED, (question,))
            if found is None:
                raise UsageError(f"`{call.name}` ({call.id}) has not begun. Write `journal.begin_started(call)` first.")
            if found[-2] is None:
                transaction.append("ended", **row, question=question)

        return append

    def delivery(self, given: Sequence[Call | StoredDecision | str], thread: str | None) -> Append:
        """Append that the model has been given these answers; what has none is passed over."""
        ts = now()

        def append(transaction: Transaction) -> None:
            for each in given:
                question = self._question_of(transaction, each, thread)
                answer = transaction.one(DECISION_OF, (question,))
                if answer and transaction.one(_DELIVERED, (question,)) is None:
                    decision = stored_decision(answer)
                    columns = {"thread": decision.thread, "call": decision.call, "tool": decision.tool}
                    transaction.append("delivered", ts=ts, question=question, **columns)

        return append

    def _question_of(
        self, transaction: Transaction, call: Call | StoredDecision | str, thread: str | None
    ) -> int | None:
        if isinstance(call, Call):
            return self._questions.of(transaction, call)[1]
        return latest(transaction, call, thread) if isinstance(call, str) else call.question

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
