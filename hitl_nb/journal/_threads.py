"""A conversation as it was last: what a restarted kernel goes on with.

A snapshot per turn would grow with the square of the history (facts/performance.md §7.1), so a row holds only what is
new: how many messages are as before at the begin and at the end, those between them, and the state if it has changed.
Folding a thread's rows in order gives the whole.
"""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hitl_nb._schema import Validator
from hitl_nb.journal._decisions import OpenCall, StoredDecision
from hitl_nb.journal._hiding import Hider, facts_of
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.journal._texts import ArrayText, same_end, same_start
from hitl_nb.journal._transaction import Transaction, now

SAVED: Final = "SELECT id, value FROM events WHERE event = 'thread_saved' AND thread = ? AND id > ? ORDER BY id"
"""The rows of a thread after a row id."""


@dataclass(frozen=True, kw_only=True)
class ThreadRecord:
    """All that the journal knows of a conversation."""

    messages: list[dict[str, Any]]
    """The history as JSON data, as it was last saved."""

    state: Any
    """The shared state as JSON data."""

    open: list[OpenCall]
    """Questions to ask again, in the order in which they were asked."""

    undelivered: list[StoredDecision]
    """Answers that never reached the model: deliver them, do not ask again."""


class Snapshot:
    """The latest saved messages and state of one thread, as canonical JSON texts."""

    def __init__(self) -> None:
        self.row = 0
        self.messages: list[str] = []
        self.state = "null"

    def catch_up(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Take in what was saved since, by this process or another; rows of `SAVED`."""
        for row, value in rows:
            change = json.loads(value)
            keep, end = change["keep"], len(self.messages) - change.get("tail", 0)
            self.messages = [*self.messages[:keep], *map(_text, change["messages"]), *self.messages[max(keep, end) :]]
            self.state = _text(change["state"]) if "state" in change else self.state
            self.row = row

    def change_to(self, given: "_Given") -> str | None:
        """Give what a row has to hold so that this is the latest; None if it is already."""
        messages, state = given.clean, given.state[1]
        if self.messages is given.before:
            keep, tail = given.keep, given.tail
        else:  # another process has saved meanwhile, or this one has just begun
            keep = same_start(self.messages, messages)
            tail = same_end(self.messages, messages, keep)
        is_new = state != self.state or not self.row
        if self.row and keep == len(self.messages) == len(messages) and not is_new:
            return None
        self.messages, self.state = messages, state
        parts = [f'"keep":{keep},"messages":[{",".join(messages[keep : len(messages) - tail])}]']
        parts += [f'"tail":{tail}'] if tail else []
        parts += [f'"state":{state}'] if is_new else []
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
        self, thread: str, messages: str | Sequence[str], state: str, parameters: Mapping[str, Validator]
    ) -> Callable[[Transaction], None]:
        """Give what appends the changes since the last save, whichever process made that."""
        with self._lock:
            given = self._take(thread, messages, state, parameters)
        ts = now()

        def append(transaction: Transaction) -> None:
            key = (transaction.generation, thread)
            # Forgotten until the row is committed: a save that failed must not count as saved.
            snapshot = transaction.scratch.get(key) or self._saved.pop(key, None) or Snapshot()
            transaction.scratch[key] = snapshot
            snapshot.catch_up(transaction.rows(SAVED, (thread, snapshot.row)))
            change = snapshot.change_to(given)
            if change is not None:
                snapshot.row = transaction.append("thread_saved", ts=ts, thread=thread, question=None, value=change)
            transaction.after(lambda: self._saved.__setitem__(key, snapshot))

        return append

    def _take(
        self, thread: str, messages: str | Sequence[str], state: str, parameters: Mapping[str, Validator]
    ) -> _Given:
        last = self._given.get(thread)
        array = last.array if last else ArrayText()
        raw = array.parts(messages) if isinstance(messages, str) else list(messages)
        hiders = {name: hider for name, checks in parameters.items() if (hider := facts_of(checks).hider) is not None}
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
        texts = [_text(self._secrets.scrub(message)) for message in new]
        known = last.state if last and is_clean and last.state[0] == state else None
        given = _Given(
            array=array,
            raw=raw,
            clean=[*before[:keep], *texts, *before[len(before) - tail :]],
            state=known or (state, _text(self._secrets.scrub(json.loads(state)))),
            cleaned_for=looked_for,
            before=before,
            keep=keep,
            tail=tail,
        )
        self._given[thread] = given
        return given

    def _learn(self, messages: list[Any], hiders: Mapping[str, Hider]) -> None:
        if not hiders:
            return
        for message in messages:
            for tool_call in message.get("toolCalls") or ():
                function = tool_call["function"]
                if function["name"] in hiders:
                    self._secrets.learn_arguments(function["arguments"], hiders[function["name"]])


def folded(rows: Iterable[tuple[Any, ...]]) -> tuple[list[dict[str, Any]], Any] | None:
    """Give messages and state of a thread from all its rows; None if there are none."""
    snapshot = Snapshot()
    snapshot.catch_up(rows)
    if not snapshot.row:
        return None
    return [json.loads(text) for text in snapshot.messages], json.loads(snapshot.state)


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
