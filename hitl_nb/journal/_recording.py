"""What is written about one call, which question it belongs to, and who runs what was approved.

Rows are built at once, in the caller's thread, and appended in their turn: the arguments may be changed by then, and
what is on disk is what was true when it began.

Agents use an id again: for the same question after a restart, for another one, for the same one in a later run. The
wire's id cannot tell these apart; what can is the asking's own identity, and whether the answer has been delivered.

A yes is for one run. Whoever finds that it has begun elsewhere waits for its end, as long as there is a process that
could come to one.
"""

import functools
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias, TypedDict, cast

from hitl_nb._calls import Call, Decision, Handle
from hitl_nb._schema import Validator
from hitl_nb._secrets import MASK
from hitl_nb.errors import JournalError, UsageError
from hitl_nb.journal._payloads import Erasure, has_words
from hitl_nb.journal._queries import (
    APPROVALS,
    DECISION_OF,
    EVENT_OF,
    LATEST_ANYWHERE,
    LATEST_IN_THREAD,
    OCCURRENCE,
    STARTED,
    OpenCall,
    StoredDecision,
    rows_behind,
    stored_decision,
)
from hitl_nb.journal._rows import PerCall, RowWriter, storable
from hitl_nb.journal._store import AlreadyThere, Columns, Query, Row, Store, Transaction
from hitl_nb.journal._tables import COLUMNS, now

# -- who runs what was approved, and whether they are still there -----------------------------------------------------

_PROC: Final = Path("/proc")
_START_TIME: Final = 19
"""Where ``/proc/<pid>/stat`` has the start time (field 22), counted from behind the name."""


@dataclass(frozen=True, kw_only=True)
class Started:
    """Who runs what was approved."""

    at: datetime
    """Since when (aware, UTC)."""

    host: str
    """On which machine."""

    pid: int
    """In which process of it."""

    mine: bool
    """Whether that is this process."""

    alive: bool | None
    """Whether that process is still there; None where this process cannot look: another machine, another container."""

    ended: str | None
    """What the model is told of its end (with stars for secrets); None as long as there is none."""

    redacted: bool
    """Whether `ended` has lost a secret."""


class GrantRow(NamedTuple):
    """A row of `STARTED`."""

    id: int
    ts: str
    value: str
    end: int | None
    result: str | None


class _Process(TypedDict):
    """What is written of who started: enough to tell a process from any other."""

    host: str
    boot: str | None
    space: str | None
    pid: int
    since: int | None


def started_from(run: GrantRow) -> Started:
    """Return who runs it."""
    where: _Process = json.loads(run.value)
    ended = None if run.end is None else run.result or ""
    return Started(
        at=datetime.fromisoformat(run.ts),
        host=where["host"],
        pid=where["pid"],
        mine=where == _this_process(os.getpid()),
        alive=_is_alive(where),
        ended=ended,
        redacted=MASK in (ended or ""),
    )


def this_process() -> str:
    """Return what a `started` row says of who started: JSON, enough to tell this process from any other."""
    return _in_words(os.getpid())


@functools.lru_cache(maxsize=1)
def _in_words(pid: int) -> str:
    return json.dumps(_this_process(pid))


@functools.lru_cache(maxsize=1)
def _this_process(pid: int) -> _Process:
    return {
        "host": socket.gethostname(),
        # Process ids begin anew with each start of the machine, and in each container.
        "boot": _file_text(_PROC / "sys/kernel/random/boot_id"),
        "space": _link(_PROC / "self/ns/pid"),
        "pid": pid,
        "since": _start_time(pid),
    }


def _is_alive(where: _Process) -> bool | None:
    me = _this_process(os.getpid())
    if where == me:
        return True
    if where["host"] != me["host"]:
        return None
    if where["boot"] != me["boot"]:
        return False  # the machine was started anew since
    if where["space"] != me["space"]:
        return None
    if where["since"] is not None:
        return _start_time(where["pid"]) == where["since"]
    return _exists(where["pid"])


def _start_time(pid: int) -> int | None:
    """When a process was started, in ticks since the machine was; None if it is not there, or only its remains."""
    stat = _file_text(_PROC / str(pid) / "stat")
    if stat is None:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[_START_TIME - 1])


def _exists(pid: int) -> bool | None:
    """Whether there is such a process, where there is no ``/proc``: it may be another one by now."""
    if sys.platform == "win32":
        return None  # `os.kill` would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _file_text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _link(path: Path) -> str | None:
    try:
        return os.readlink(path)
    except OSError:
        return None


# -- which row is the question of which call --------------------------------------------------------------------------

_CONTENT: Final = ("args_sha256", "tool", "message", "kind")


def row_id(row: Row) -> int:
    """Return the id that a row begins with."""
    return cast("int", row[0])


@dataclass(eq=False)
class Known:
    """What this process knows of a call's question."""

    generation: int | None = None
    """In which file; None as long as nothing is written of it."""

    id: int = 0
    """The row of the question."""

    rows: dict[str, Columns] = field(default_factory=dict)
    """Event → its columns, as they were written: should the file be deleted, they are written again."""

    def note(self, generation: int, question: int, event: str, row: Columns) -> None:
        """Take down what is on disk now."""
        self.generation, self.id = generation, question
        self.rows[event] = row

    def begin_anew(self, generation: int, question: int, row: Columns) -> None:
        """Take down that it is another question from now on."""
        self.rows.clear()
        self.note(generation, question, "asked", row)


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

    def ask(self, transaction: Transaction, call: Call, row: Columns) -> None:
        """Append a question; or that it is asked again, if it is one that was never delivered.

        Only a tool call can be asked again: the id of an interrupt says nothing, LangGraph's is the same each time.
        """
        known = self._known[call]
        is_adopted = known.generation == transaction.generation
        same = known.id if is_adopted else self._same(transaction, row)
        if same is not None and self._is_believed(transaction, same):
            about = {"ts": row["ts"], "occurrence": row["occurrence"], **self._rows.call(call)}
            transaction.append("asked_again", {**about, "question": same})
        else:
            same = transaction.append("asked", row)
        transaction.after(lambda: known.note(transaction.generation, same, "asked", row))

    def of(self, transaction: Transaction, call: Call) -> tuple[Known, int]:
        """Return what is known of a call, and the row of its question.

        That is appended if this file has none: an answer is not lost for want of a question.
        """
        known = self._known[call]
        if known.generation == transaction.generation:
            return known, known.id
        found = transaction.one(OCCURRENCE, (call.occurrence,))
        if found is not None and known.generation is None:
            return known, row_id(found)
        asked = known.rows.get("asked") or self._rows.asked(call, "{}", None)
        question = row_id(found) if found is not None else self._same(transaction, asked)
        if question is None:
            question = transaction.append("asked", asked)
        for event, row in known.rows.items():
            if event != "asked" and transaction.one(EVENT_OF, (event, question)) is None:
                transaction.append(event, {**row, "question": question})
        transaction.after(lambda: known.note(transaction.generation, question, "asked", asked))
        return known, question

    def adopt(self, call: Call, stored: OpenCall | StoredDecision) -> None:
        """Take a call for another asking of a question that is in the file."""
        known = self._known[call]
        known.generation, known.id = self._store.generation, stored.question

    def join(self, transaction: Transaction, call: Call, question: int) -> None:
        """Take a call for another asking of an open question, from this transaction on."""
        known = self._known[call]
        known.generation, known.id = transaction.generation, question

    def _same(self, transaction: Transaction, row: Columns) -> int | None:
        """The question with this id and content in this thread, if its answer was not delivered yet."""
        if row["kind"] != "tool":
            return None
        found = transaction.one(LATEST_IN_THREAD, (row["call"], row["thread"]))
        if found is None:
            return None
        _, *content, is_delivered = found
        return None if is_delivered or content != [row[name] for name in _CONTENT] else row_id(found)

    def _is_believed(self, transaction: Transaction, question: int) -> bool:
        """Whether a question can be asked again: not if it has an answer that nobody has given."""
        decision = transaction.one(DECISION_OF, (question,))
        return decision is None or self._store.believes(transaction.rows, rows_behind(decision), uncommitted=True)

    def known(self, call: Call) -> Known:
        """Return what this process knows of a call's question."""
        return self._known[call]

    # -- while reading ------------------------------------------------------------------------------------

    def find(self, call: Call | str) -> int | None:
        """Return the row of a call's question (or of the latest with an id), None if there is none."""
        if isinstance(call, str):
            found = self._store.rows(LATEST_ANYWHERE, (call,))
            return row_id(found[0]) if found else None
        known = self._known[call]
        if known.generation == self._store.generation:
            return known.id
        found = self._store.rows(OCCURRENCE, (call.occurrence,))
        return row_id(found[0]) if found else None


def latest(transaction: Transaction, call_id: str, thread: str | None) -> int | None:
    """Return the row of the latest question with an id, in a thread or anywhere."""
    sql, parameters = (LATEST_ANYWHERE, (call_id,)) if thread is None else (LATEST_IN_THREAD, (call_id, thread))
    found = transaction.one(sql, parameters)
    return None if found is None else row_id(found)


# -- work for the writer ----------------------------------------------------------------------------------------------

Append: TypeAlias = Callable[[Transaction], None]
"""Appends rows."""


class EventWriter:
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
        row = {**self._rows.asked(call, arguments, parameters), **self._found_by(call)}
        return lambda transaction: self._questions.ask(transaction, call, row)

    def asked_anew(self, call: Call, arguments: str) -> Append:
        """Append a question once more, as a new one: what was answered cannot be taken."""
        row = {**self._rows.asked(call, arguments, None), "ts": now(), **self._found_by(call)}

        def append(transaction: Transaction) -> None:
            known = self._questions.known(call)
            anew = transaction.append("asked", row)
            transaction.after(lambda: known.begin_anew(transaction.generation, anew, row))

        return append

    @staticmethod
    def _found_by(call: Call) -> Columns:
        found_by = Handle.of(call).found_by
        return {} if found_by is None else {"key": storable(found_by.job), "fingerprint": found_by.content}

    def note(self, event: str, call: Call, columns: Columns) -> Append:
        """Append something that happened to a call."""
        row = {**self._rows.call(call), "ts": now(), **columns}

        def append(transaction: Transaction) -> None:
            transaction.append(event, {**row, "question": self._questions.of(transaction, call)[1]})

        return append

    def late(self, call: Call, value: object, by: str | None) -> Append:
        """Append an answer that changes nothing."""
        return self.note("late", call, self._rows.late(call, value, by))

    def answer(self, call: Call, decision: Decision | None) -> Callable[[Transaction], bool]:
        """Append a decision, if there is none, and give whether it counts.

        Raises:
            UsageError: The call is not decided.
        """
        decided = decision or Handle.of(call).decision
        if decided is None:
            raise UsageError(f"`{call.name}` ({call.id}) is not decided. Write `call.respond(...)` first.")
        row = dict(self._rows.answered(call, decided))
        if row["by"] is None and decided.via == "card":
            row["by"] = self._who()

        def append(transaction: Transaction) -> bool:
            known, question = self._questions.of(transaction, call)
            try:
                transaction.append("answered", {**row, "question": question})
            except AlreadyThere:
                self._check_answer(transaction, call, question)
                transaction.append("late", {**row, "value": row["answer"], "answer": None, "question": question})
                return False
            transaction.after(lambda: known.note(transaction.generation, question, "answered", row))
            return True

        return append

    def start(self, call: Call) -> Callable[[Transaction], bool]:
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
                transaction.append("started", {**row, "question": question})
            except AlreadyThere:
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
            if GrantRow._make(found).end is None:
                transaction.append("ended", {**row, "question": question})

        return append

    def delivery(self, given: Sequence[Call | StoredDecision | str], thread: str | None) -> Append:
        """Append that the model has been given these answers; what has none is passed over."""
        ts = now()

        def append(transaction: Transaction) -> None:
            for each in given:
                question = self._question_of(transaction, each, thread)
                answer = transaction.one(DECISION_OF, (question,))
                if answer and transaction.one(EVENT_OF, ("delivered", question)) is None:
                    decision = stored_decision(answer)
                    columns = {"thread": decision.thread, "call": decision.call, "tool": decision.tool}
                    transaction.append("delivered", {**columns, "ts": ts, "question": question})

        return append

    def _question_of(
        self, transaction: Transaction, call: Call | StoredDecision | str, thread: str | None
    ) -> int | None:
        if isinstance(call, Call):
            return self._questions.of(transaction, call)[1]
        return latest(transaction, call, thread) if isinstance(call, str) else call.question

    def _check_answer(self, transaction: Transaction, call: Call, question: int) -> StoredDecision:
        """Return the answer that a question has; raise if there is none, or none that can be believed."""
        found = transaction.one(DECISION_OF, (question,))
        if found is None:
            raise UsageError(f"`{call.name}` ({call.id}) has no answer in the journal, so nothing was approved.")
        if not self._store.believes(transaction.rows, rows_behind(found), uncommitted=True):
            raise JournalError(
                f"The journal's answer to `{call.name}` ({call.id}) was changed after it was written and is not "
                "believed. Ask again; `print(journal.verify())` says which row it is."
            )
        return stored_decision(found)


# -- what is erased ---------------------------------------------------------------------------------------------------

_OF_THREAD: Final = "SELECT id FROM events WHERE event = 'asked' AND thread = ? ORDER BY id"
_ROWS_OF: Final = "SELECT * FROM events WHERE question = ? OR id = ? ORDER BY id"
_SAVED_SINCE: Final = "SELECT * FROM events WHERE event = 'thread_saved' AND thread = ? AND id > ? ORDER BY id"


class Eraser:
    """Makes what the writer appends where something is erased.

    Args:
        questions: Knows which row is whose question.
        rows: Makes the columns.
    """

    def __init__(self, questions: Questions, rows: RowWriter) -> None:
        self._questions, self._rows = questions, rows

    def erasure(
        self, which: Call | OpenCall | StoredDecision | str | None, thread: str | None, by: str, reason: str | None
    ) -> Callable[[Transaction], Erasure]:
        """Append that questions are erased, which takes their payloads, and withdraw those that are open.

        Raises:
            UsageError: There is no such question, or nothing of it can be erased.
        """

        def append(transaction: Transaction) -> Erasure:
            asked = self._asked(transaction, which, thread)
            done = [self._erase(transaction, question, by, reason) for question in asked]
            kept = tuple(words for each in done for words in each.kept)
            if kept and not any(each.payloads for each in done):
                raise UsageError(
                    f"Nothing of it can be erased. {kept[0]} Write `Journal(..., personal=True)` where it is asked: "
                    "then all that is asked from then on can be."
                )
            return Erasure(
                questions=sum(each.questions for each in done),
                payloads=sum(each.payloads for each in done),
                kept=kept,
                withdrawn=sum(each.withdrawn for each in done),
            )

        return append

    def _asked(
        self, transaction: Transaction, which: Call | OpenCall | StoredDecision | str | None, thread: str | None
    ) -> list[int]:
        if which is None:
            found = [row_id(row) for row in transaction.rows(_OF_THREAD, (thread,))]
        elif isinstance(which, Call):
            found = [self._questions.of(transaction, which)[1]]
        elif isinstance(which, str):
            question = latest(transaction, which, thread)
            found = [] if question is None else [question]
        else:
            found = [which.question]
        if not found:
            words = f"thread={thread!r}" if which is None else repr(which)
            raise UsageError(
                f"The journal has no question of `{words}`. `journal.to_frame()` has the ids: write "
                '`journal.erase("…")`, or `journal.erase(thread="…")`.'
            )
        return found

    def _erase(self, transaction: Transaction, question: int, by: str, reason: str | None) -> Erasure:
        rows = [dict(zip(COLUMNS, row, strict=True)) for row in transaction.rows(_ROWS_OF, (question, question))]
        asked = next(row for row in rows if row["id"] == question)
        about = {name: cast("str | None", asked[name]) for name in ("thread", "run", "call", "tool")}
        if asked["kind"] == "tool":  # its arguments stand in the conversation, too
            saved = transaction.rows(_SAVED_SINCE, (about["thread"], question))
            rows += [dict(zip(COLUMNS, row, strict=True)) for row in saved]
        apart = [row for row in rows if row["payload"] is not None]
        kept = tuple(
            f"Row {row['id']} (`{row['event']}`) stands in the chain itself, and stays."
            for row in rows
            if row["payload"] is None and has_words(str(row["event"]), cast("Columns", row))
        )
        if not apart:
            return Erasure(questions=0, payloads=0, kept=kept)
        withdrawn = transaction.one(EVENT_OF, ("answered", question)) is None
        if withdrawn:
            ended: Columns = {**about, "ts": now(), "question": question, "outcome": "cancelled", "via": "session"}
            transaction.append("answered", {**ended, "by": by})
        gone = 0
        for each in dict.fromkeys(cast("int", row["question"]) for row in apart):
            gone += sum(row["question"] == each for row in apart)
            with suppress(AlreadyThere):  # erased before: nothing is left of it
                columns: Columns = {**about, "ts": now(), "question": each, "by": by, "reason": reason}
                transaction.append("erased", columns)
                continue
            gone -= sum(row["question"] == each for row in apart)
        return Erasure(questions=int(gone > 0), payloads=gone, kept=kept, withdrawn=int(withdrawn))


def run_of(store: Store, question: int | None) -> Started | None:
    """Return who runs what was approved; an end that is not believed is none."""

    def found(query: Query) -> GrantRow | None:
        rows = query(STARTED, (question,))
        if not rows:
            return None
        run = GrantRow._make(rows[0])
        ids = [question or 0, run.id, *([] if run.end is None else [run.end])]
        return run if store.believes(query, ids) else run._replace(end=None, result=None)

    run = store.read(found)
    return None if run is None else started_from(run)
