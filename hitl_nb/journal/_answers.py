"""What answers in a person's place: decisions that the file has, believed only if nobody has touched them since."""

from hitl_nb._calls import Call
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
from hitl_nb.journal._grants import STARTED, Started, started_from
from hitl_nb.journal._questions import Questions
from hitl_nb.journal._store import Store
from hitl_nb.journal._threads import SAVED, ThreadRecord, folded


class Answers:
    """Reads them.

    Args:
        store: The file.
        questions: Knows which row is whose question.
    """

    def __init__(self, store: Store, questions: Questions) -> None:
        self._store = store
        self._questions = questions

    def of(self, call: Call | str) -> StoredDecision | None:
        """Give the decision about a call, or about the latest with an id."""
        question = self._questions.find(call)
        with self._store.moment() as query:
            found = query(DECISION_OF, (question,))
            if not found or not self._store.believes(query, rows_of(found[0])):
                return None
        return stored_decision(found[0])

    def kept(self, key: str | None, fingerprint: str | None) -> StoredDecision | None:
        """Give the decision that was kept last under a key; None if it has lost a secret."""
        with self._store.moment() as query:
            for question, kept in query(RECALLED, (key, fingerprint)):
                found = query(DECISION_OF, (question,))
                if found and self._store.believes(query, (*rows_of(found[0]), kept)):
                    decision = stored_decision(found[0])
                    return None if "answer" in decision.redacted else decision
        return None

    def in_thread(self, thread: str) -> ThreadRecord | None:
        """Give a conversation; an answer that is not believed leaves its question open."""
        open_calls: list[OpenCall] = []
        undelivered: list[StoredDecision] = []
        with self._store.moment() as query:  # one moment for all three, while other kernels write
            saved = folded(query(SAVED, (thread, 0)))
            asked = query("SELECT 1 FROM events WHERE event = 'asked' AND thread = ? LIMIT 1", (thread,))
            open_calls += map(open_call, query(OPEN_CALLS, (thread,)))
            for row in query(UNDELIVERED, (thread,)):
                if self._store.believes(query, rows_of(row)):
                    undelivered.append(stored_decision(row))
                else:
                    open_calls.append(open_call(row))
        if not saved and not asked:
            return None
        messages, state = saved or ([], None)
        open_calls.sort(key=lambda call: call.question)
        return ThreadRecord(messages=messages, state=state, open=open_calls, undelivered=undelivered)

    def run_of(self, call: Call | str) -> Started | None:
        """Give who runs what was approved; an end that is not believed is none."""
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
