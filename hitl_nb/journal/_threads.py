"""A conversation as it was last: what a restarted kernel goes on with.

A snapshot per turn would grow with the square of the history, so a row holds only what is new: how many messages are
as before at the begin and at the end, those between them, and the state if it has changed. Folding a thread's rows in
order gives the whole. What is new is found by comparing in bulk, not piece by piece.
"""

import bisect
import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NotRequired, TypedDict, TypeVar, cast

from hitl_nb._schema import Json, Validator, facts_of, learn_from_text
from hitl_nb._secrets import KnownSecrets, names_a_secret
from hitl_nb.journal._queries import (
    IS_ASKED,
    OPEN_CALLS,
    SAVED,
    UNDELIVERED,
    OpenCall,
    StoredDecision,
    open_call,
    rows_behind,
    stored_decision,
)
from hitl_nb.journal._store import Columns, Query, Row, Store, Transaction
from hitl_nb.journal._tables import now

# -- what of a long text, or of a long list, is as it was -------------------------------------------------------------

_Part = TypeVar("_Part", str, list[str])

_BEGIN: Final = re.compile(r"\s*\[\s*")
_NEXT: Final = re.compile(r"\s*([,\]])\s*")
_decoded = json.JSONDecoder().raw_decode


_CHUNK: Final = 16_384
"""Characters that are compared at once."""


def same_start(old: _Part, new: _Part) -> int:
    """Return how much of the begin of two texts, or lists of texts, is the same."""
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def same_end(old: _Part, new: _Part, start: int) -> int:
    """Return how much of the end is the same, of what comes after `start`."""
    low, high = 0, min(len(old), len(new)) - start
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


class _Ends:
    """A text that is compared with its successors; cut into chunks once, because cutting is what takes the time."""

    def __init__(self) -> None:
        self.text = ""
        self._front: list[str] = []
        self._back: list[str] = []

    def change_to(self, text: str) -> tuple[int, int]:
        """Take a new text and give how much of begin and end is as before."""
        old, size = self.text, min(len(self.text), len(text))
        begin = 0
        while begin + _CHUNK <= size:
            if begin == len(self._front) * _CHUNK:
                self._front.append(old[begin : begin + _CHUNK])
            if not text.startswith(self._front[begin // _CHUNK], begin):
                break
            begin += _CHUNK
        del self._front[begin // _CHUNK :]
        begin += same_start(old[begin : begin + _CHUNK], text[begin : begin + _CHUNK])
        end, size = 0, size - begin
        while end + _CHUNK <= size:
            if end == len(self._back) * _CHUNK:
                self._back.append(old[len(old) - end - _CHUNK : len(old) - end])
            if not text.startswith(self._back[end // _CHUNK], len(text) - end - _CHUNK):
                break
            end += _CHUNK
        del self._back[end // _CHUNK :]
        rest = min(size - end, _CHUNK)
        end += same_end(old[len(old) - end - rest : len(old) - end], text[len(text) - end - rest : len(text) - end], 0)
        self.text = text
        return begin, end


class ArrayText:
    """A JSON array that is written again and again with little that is new: only that is parsed."""

    def __init__(self) -> None:
        self._ends = _Ends()
        self._parts: list[str] = []
        self._starts: list[int] = []

    def parts(self, text: str) -> list[str]:
        """Return the texts of an array's elements; those that were there before are the identical objects.

        Raises:
            ValueError: It is no JSON array.
        """
        length = len(self._ends.text)
        try:
            begin, end = self._ends.change_to(text)
            # An element is as before if what stands beside it is, too: `[12` may go on as `[123`.
            keep = bisect.bisect_left(self._starts, begin)
            keep -= keep > 0 and self._end(keep - 1) >= begin
            last = max(bisect.bisect_right(self._starts, length - end), keep)
            found = self._between(text, keep, last, len(text) - length)
            if found is None:
                last = len(self._parts)
                found = self._between(text, keep, last, 0) or []
        except ValueError:
            # Of what it was compared with last, nothing is known.
            self._ends, self._parts, self._starts = _Ends(), [], []
            raise
        shift = len(text) - length
        self._parts[keep:last] = [text[start:stop] for start, stop in found]
        self._starts[keep:] = [start for start, _ in found] + [start + shift for start in self._starts[last:]]
        return list(self._parts)

    def _end(self, index: int) -> int:
        return self._starts[index] + len(self._parts[index])

    def _between(self, text: str, keep: int, last: int, shift: int) -> list[tuple[int, int]] | None:
        """Where the elements stand that are new, between those that are kept; None if the last cannot be kept."""
        found: list[tuple[int, int]] = []
        goal = self._starts[last] + shift if last < len(self._parts) else None
        place, is_first = (self._end(keep - 1), False) if keep else (_begin(text), True)
        if is_first and text[place : place + 1] == "]":
            return found if goal is None else None
        while True:
            if not is_first:
                delimiter = _NEXT.match(text, place)
                if delimiter is None:
                    raise ValueError(f"no JSON array: {text[place : place + 20]!r} at {place}")
                if delimiter[1] == "]":
                    return found if goal is None else None
                place = delimiter.end()
            if goal is not None and place >= goal:
                return found if place == goal else None
            _, end = _decoded(text, place)
            found.append((place, end))
            place, is_first = end, False


def _begin(text: str) -> int:
    found = _BEGIN.match(text)
    if found is None:
        raise ValueError(f"no JSON array: {text[:20]!r}")
    return found.end()


# -- a thread's latest messages and state -----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ThreadRecord:
    """All that the journal knows of a conversation."""

    messages: list[dict[str, object]]
    """The history as JSON data, as it was last saved."""

    state: object
    """The shared state as JSON data."""

    beside: dict[str, Any]
    """What else it needs to go on, as JSON data."""

    open: list[OpenCall]
    """Questions to ask again, in the order in which they were asked."""

    undelivered: list[StoredDecision]
    """Answers that never reached the model: deliver them, do not ask again."""


class _Change(TypedDict):
    """What a row holds."""

    keep: int
    messages: list[Json]
    tail: NotRequired[int]
    state: NotRequired[Json]
    beside: NotRequired[Json]


class Snapshot:
    """The latest saved messages and state of one thread, as canonical JSON texts."""

    def __init__(self) -> None:
        self.row = 0
        self.messages: list[str] = []
        self.state = "null"
        self.beside = "{}"
        self.is_whole = True
        """Whether nothing that it was made from is gone."""

    def catch_up(self, rows: Iterable[Row]) -> None:
        """Take in what was saved since, by this process or another; rows of `SAVED`."""
        for row in rows:
            self.row, value = cast("tuple[int, str | None]", row)
            if value is None:  # erased: what stands after it is known only once all of it is said again
                self.messages, self.state, self.beside, self.is_whole = [], "null", "{}", False
                continue
            change: _Change = json.loads(value)
            self.is_whole = self.is_whole or (change["keep"] == 0 and "tail" not in change and "state" in change)
            if not self.is_whole:
                continue
            keep, end = change["keep"], len(self.messages) - change.get("tail", 0)
            self.messages = [
                *self.messages[:keep],
                *map(_dense, change["messages"]),
                *self.messages[max(keep, end) :],
            ]
            self.state = _dense(change["state"]) if "state" in change else self.state
            self.beside = _dense(change["beside"]) if "beside" in change else self.beside

    def change_to(self, given: "_Given") -> str | None:
        """Return what a row has to hold so that this is the latest; None if it is already."""
        messages, state = given.clean, given.state[1]
        if self.messages is given.before:
            keep, tail = given.keep, given.tail
        else:  # another process has saved meanwhile, or this one has just begun
            keep = same_start(self.messages, messages)
            tail = same_end(self.messages, messages, keep)
        is_new = state != self.state or not self.row
        beside_is_new = given.beside != self.beside
        if self.row and keep == len(self.messages) == len(messages) and not is_new and not beside_is_new:
            return None
        self.messages, self.state, self.beside = messages, state, given.beside
        parts = [f'"keep":{keep},"messages":[{",".join(messages[keep : len(messages) - tail])}]']
        parts += [f'"tail":{tail}'] if tail else []
        parts += [f'"state":{state}'] if is_new else []
        parts += [f'"beside":{given.beside}'] if beside_is_new else []
        return f"{{{','.join(parts)}}}"


@dataclass(eq=False, kw_only=True)
class _Given:
    """A conversation as it was given to be saved, so that the next time only what is new has to be looked at."""

    array: ArrayText
    raw: list[str]
    clean: list[str]
    """`raw`, canonical and without secrets."""
    state: tuple[str, str]
    """As it was given, and clean."""
    beside: str
    """Clean."""
    cleaned_for: object
    """What was looked for."""
    before: list[str]
    """`clean` of the time before."""
    keep: int
    """How many at the begin are as in `before`."""
    tail: int
    """How many at the end."""


class Threads:
    """The snapshots of one journal's threads."""

    def __init__(self, secrets: KnownSecrets) -> None:
        self._secrets = secrets
        self._lock = threading.Lock()
        self._given: dict[str, _Given] = {}
        self._saved: dict[tuple[int, str], Snapshot] = {}

    def save(
        self,
        thread: str,
        messages: str | Sequence[str],
        state: str,
        parameters: Mapping[str, Validator],
        beside: str = "{}",
    ) -> Callable[[Transaction], None]:
        """Return what appends the changes since the last save, whichever process made that."""
        with self._lock:
            given = self._take(thread, messages, state, parameters, beside)
        columns: Columns = {"ts": now(), "thread": thread, "question": None}

        def append(transaction: Transaction) -> None:
            key = (transaction.generation, thread)
            # Forgotten until the row is committed: a save that failed must not count as saved.
            begun = transaction.scratch.get(key)
            snapshot = begun if isinstance(begun, Snapshot) else self._saved.pop(key, Snapshot())
            transaction.scratch[key] = snapshot
            snapshot.catch_up(transaction.rows(SAVED, (thread, snapshot.row)))
            change = snapshot.change_to(given)
            if change is not None:
                snapshot.row = transaction.append("thread_saved", {**columns, "value": change})
            transaction.after(lambda: self._saved.__setitem__(key, snapshot))

        return append

    def _take(
        self,
        thread: str,
        messages: str | Sequence[str],
        state: str,
        parameters: Mapping[str, Validator],
        beside: str,
    ) -> _Given:
        last = self._given.get(thread)
        array = last.array if last else ArrayText()
        raw = array.parts(messages) if isinstance(messages, str) else list(messages)
        hiders = {name: checks for name, checks in parameters.items() if facts_of(checks).hider is not None}
        before = last.clean if last else []
        keep = tail = 0
        if last is not None and last.cleaned_for == (hiders, self._secrets.count):
            keep = same_start(last.raw, raw)
            tail = same_end(last.raw, raw, keep)
        new = [json.loads(text) for text in raw[keep : len(raw) - tail]]
        # Before anything is written, what the tools' schemas say are secrets.
        self._learn(new, hiders)
        looked_for = (hiders, self._secrets.count)
        is_clean = last is not None and last.cleaned_for == looked_for
        if not is_clean:
            # A secret that was not known may stand in what was looked at before.
            keep = tail = 0
            new = [json.loads(text) for text in raw]
        texts = [_dense(self._secrets.scrub(message)) for message in new]
        known = last.state if last and is_clean and last.state[0] == state else None
        given = _Given(
            array=array,
            raw=raw,
            clean=[*before[:keep], *texts, *before[len(before) - tail :]],
            state=known or (state, _dense(self._secrets.scrub(json.loads(state)))),
            beside=beside if beside == "{}" else _dense(self._secrets.scrub(json.loads(beside))),
            cleaned_for=looked_for,
            before=before,
            keep=keep,
            tail=tail,
        )
        self._given[thread] = given
        return given

    def _learn(self, messages: list[dict[str, Any]], declaring: Mapping[str, Validator]) -> None:
        for message in messages:
            for tool_call in message.get("toolCalls") or ():
                function = tool_call.get("function") or {}
                arguments, checks = function.get("arguments") or "", declaring.get(function.get("name", ""))
                if checks is not None or names_a_secret(arguments):
                    learn_from_text(arguments, checks, into=self._secrets)


def stored_thread(store: Store, thread: str) -> ThreadRecord | None:
    """Return a conversation; an answer that is not believed leaves its question open."""
    # One moment for all, while other kernels write.
    return store.read(lambda query: _thread_in(query, store, thread))


def _thread_in(query: Query, store: Store, thread: str) -> ThreadRecord | None:
    latest = Snapshot()
    latest.catch_up(query(SAVED, (thread, 0)))
    asked = query(IS_ASKED, (thread,))
    open_calls = list(map(open_call, query(OPEN_CALLS, (thread,))))
    undelivered: list[StoredDecision] = []
    for row in query(UNDELIVERED, (thread,)):
        if store.believes(query, rows_behind(row)):
            undelivered.append(stored_decision(row))
        else:
            open_calls.append(open_call(row))
    if not latest.row and not asked:
        return None
    messages = [json.loads(text) for text in latest.messages]
    open_calls.sort(key=lambda call: call.question)
    return ThreadRecord(
        messages=messages,
        state=json.loads(latest.state),
        beside=json.loads(latest.beside),
        open=open_calls,
        undelivered=undelivered,
    )


def _dense(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
