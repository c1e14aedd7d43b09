"""A conversation as it was last: what a restarted kernel goes on with.

A snapshot per turn would grow with the square of the history (facts/performance.md §7.1), so a row holds only what is
new: how many messages are as before, those after them, and the state if it has changed. Folding a thread's rows in
order gives the whole.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from hitl_nb._schema import Validator
from hitl_nb.journal._decisions import OpenCall, StoredDecision
from hitl_nb.journal._hiding import facts_of
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.journal._store import Store

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
        """Take in what was saved since, by this process or another; rows of `saved`."""
        for row, value in rows:
            change = json.loads(value)
            self.messages[change["keep"] :] = map(_text, change["messages"])
            self.state = _text(change["state"]) if "state" in change else self.state
            self.row = row

    def change_to(self, messages: list[Any], state: Any) -> dict[str, Any] | None:
        """Give what a row has to hold so that these are the latest; None if they are already."""
        texts, state_text = [_text(message) for message in messages], _text(state)
        pairs = zip(self.messages, texts, strict=False)
        keep = next(
            (place for place, (old, new) in enumerate(pairs) if old != new), min(len(self.messages), len(texts))
        )
        changed = {"state": state} if state_text != self.state or not self.row else {}
        if self.row and keep == len(self.messages) == len(texts) and not changed:
            return None
        self.messages, self.state = texts, state_text
        return {"keep": keep, "messages": messages[keep:], **changed}


class Threads:
    """The snapshots of one journal's threads, kept so that a save has to look only at what is new."""

    def __init__(self, store: Store, secrets: KnownSecrets) -> None:
        self._store = store
        self._secrets = secrets
        self._latest: dict[str, Snapshot] = {}

    def save(self, thread: str, messages_json: str, state_json: str, parameters: Mapping[str, Validator]) -> None:
        """Append what has changed since the last save, whichever process made that."""
        messages, state = json.loads(messages_json), json.loads(state_json)
        self._learn(messages, parameters)
        messages, state = self._secrets.scrub(messages), self._secrets.scrub(state)
        # Forgotten until the row is committed: a save that failed must not count as saved.
        snapshot = self._latest.pop(thread, None) or Snapshot()
        with self._store.writing() as transaction:
            snapshot.catch_up(transaction.rows(SAVED, (thread, snapshot.row)))
            change = snapshot.change_to(messages, state)
            if change is not None:
                snapshot.row = transaction.append("thread_saved", thread=thread, question=None, value=_text(change))
        self._latest[thread] = snapshot

    def _learn(self, messages: list[Any], parameters: Mapping[str, Validator]) -> None:
        """Look for secrets where the tools' schemas say that they stand, before anything is written."""
        hiders = {name: hider for name, checks in parameters.items() if (hider := facts_of(checks).hider) is not None}
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
