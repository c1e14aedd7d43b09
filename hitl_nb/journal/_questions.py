"""Which row is the question of which call.

Agents use an id again: for the same question after a restart, for another one, for the same one in a later run. The
wire's id cannot tell these apart; what can is the asking's own identity, and whether the answer has been delivered.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from hitl_nb._calls import Call
from hitl_nb.journal._decisions import DECISION_OF, OpenCall, StoredDecision, rows_of
from hitl_nb.journal._per_call import PerCall
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._store import Store
from hitl_nb.journal._transaction import Transaction

_LATEST: Final = """
    SELECT id, args_sha256, tool, message, kind, EXISTS (
        SELECT 1 FROM events WHERE event = 'delivered' AND question = asked.id
    ) FROM events AS asked WHERE event = 'asked' AND call = ? {thread} ORDER BY id DESC LIMIT 1
"""
_IN_THREAD: Final = _LATEST.format(thread="AND thread = ?")
_ANYWHERE: Final = _LATEST.format(thread="")
_OCCURRENCE: Final = "SELECT question FROM events WHERE occurrence = ? LIMIT 1"
_CONTENT: Final = ("args_sha256", "tool", "message", "kind")


@dataclass(eq=False)
class Known:
    """What this process knows of a call's question."""

    generation: int | None = None
    """In which file; None as long as nothing is written of it."""

    id: int = 0
    """The row of the question."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Event → its columns, as they were written: should the file be deleted, they are written again."""

    def note(self, generation: int, question: int, event: str, row: dict[str, Any]) -> None:
        """Take down what is on disk now."""
        self.generation, self.id = generation, question
        self.rows[event] = row


class Questions:
    """The questions of one journal.

    Args:
        store: Its file.
        rows: Makes the columns.
    """

    def __init__(self, store: Store, rows: RowWriter) -> None:
        self._store = store
        self._rows = rows
        self._known = PerCall(lambda _: Known())

    # -- while writing ------------------------------------------------------------------------------------

    def ask(self, transaction: Transaction, call: Call, row: dict[str, Any]) -> None:
        """Append a question; or that it is asked again, if it is one that was never delivered.

        Only a tool call can be asked again: the id of an interrupt says nothing, LangGraph's is the same each time.
        """
        known = self._known[call]
        is_adopted = known.generation == transaction.generation
        same = known.id if is_adopted else self._same(transaction, row)
        if same is not None and self._is_believed(transaction, same):
            about = {"ts": row["ts"], "occurrence": row["occurrence"], **self._rows.call(call)}
            transaction.append("asked_again", question=same, **about)
        else:
            same = transaction.append("asked", **row)
        transaction.after(lambda: known.note(transaction.generation, same, "asked", row))

    def of(self, transaction: Transaction, call: Call) -> tuple[Known, int]:
        """Give what is known of a call, and the row of its question.

        That is appended if this file has none: an answer is not lost for want of a question.
        """
        known = self._known[call]
        if known.generation == transaction.generation:
            return known, known.id
        found = transaction.one(_OCCURRENCE, (call.occurrence,))
        if found is not None and known.generation is None:
            return known, int(found[0])
        asked = known.rows.get("asked") or self._rows.asked(call, "{}", None)
        question = int(found[0]) if found is not None else self._same(transaction, asked)
        if question is None:
            question = transaction.append("asked", **asked)
        for event, row in known.rows.items():
            event_of = "SELECT 1 FROM events WHERE event = ? AND question = ?"
            if event != "asked" and transaction.one(event_of, (event, question)) is None:
                transaction.append(event, **row, question=question)
        transaction.after(lambda: known.note(transaction.generation, question, "asked", asked))
        return known, question

    def adopt(self, call: Call, stored: OpenCall | StoredDecision) -> None:
        """Take a call for another asking of a question that is in the file."""
        known = self._known[call]
        known.generation, known.id = self._store.generation, stored.question

    def _same(self, transaction: Transaction, row: dict[str, Any]) -> int | None:
        """The question with this id and content in this thread, if its answer was not delivered yet."""
        if row["kind"] != "tool":
            return None
        found = transaction.one(_IN_THREAD, (row["call"], row["thread"]))
        if found is None:
            return None
        question, *content, is_delivered = found
        return None if is_delivered or content != [row[name] for name in _CONTENT] else int(question)

    def _is_believed(self, transaction: Transaction, question: int) -> bool:
        """Whether a question can be asked again: not if it has an answer that nobody has given."""
        decision = transaction.one(DECISION_OF, (question,))
        return decision is None or self._store.believes(transaction.rows, rows_of(decision), uncommitted=True)

    # -- while reading ------------------------------------------------------------------------------------

    def find(self, call: Call | str) -> int | None:
        """Give the row of a call's question (or of the latest with an id), None if there is none."""
        if isinstance(call, str):
            found = self._store.rows(_ANYWHERE, (call,))
            return int(found[0][0]) if found else None
        known = self._known[call]
        if known.generation == self._store.generation:
            return known.id
        found = self._store.rows(_OCCURRENCE, (call.occurrence,))
        return int(found[0][0]) if found else None


def latest(transaction: Transaction, call_id: str, thread: str | None) -> int | None:
    """Give the row of the latest question with an id, in a thread or anywhere."""
    sql, parameters = (_ANYWHERE, (call_id,)) if thread is None else (_IN_THREAD, (call_id, thread))
    found = transaction.one(sql, parameters)
    return None if found is None else int(found[0])
