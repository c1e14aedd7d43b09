"""Labels as they are given, long before their question is answered: whoever goes on later goes on where they were.

Each row holds what one person has done since the last, in order. What belongs together is found by the key of its
queue, else by its question, in the column that tells askings apart: so it needs no index of its own.
"""

import json
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final, cast

from hitl_nb._calls import Call
from hitl_nb._secrets import MASK, KnownSecrets
from hitl_nb.journal._payloads import column, is_gone
from hitl_nb.journal._recording import Questions, row_id
from hitl_nb.journal._rows import RowWriter, json_text, storable
from hitl_nb.journal._store import Columns, Query, Store, Transaction
from hitl_nb.journal._tables import now

_LABELLED: Final = f"""
    SELECT id, "by", via, {column("made", "fingerprint")}, {column("made", "value")} FROM events AS made
    WHERE occurrence = ? AND event = 'labelled' AND {is_gone("made")} = 0 ORDER BY id
"""


@dataclass(kw_only=True)
class LabelPass:
    """What one person has done in one queue."""

    by: str
    """Who."""

    via: str
    """By which path: ``card``, ``script``."""

    batch: str
    """The fingerprint of the items, as they were last."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    """Everything that was done, in order, as it was written down."""


class Labelling:
    """The labels of one journal."""

    def __init__(self, store: Store, rows: RowWriter, questions: Questions, secrets: KnownSecrets) -> None:
        self._store, self._rows, self._questions, self._secrets = store, rows, questions, secrets

    def begin_note(
        self, call: Call, *, key: str | None, batch: str, by: str, via: str, entries: Sequence[dict[str, Any]]
    ) -> "Future[None]":
        """Write down what somebody has done; it survives a power failure.

        Args:
            call: The question.
            key: The name of the queue; None for one that is found by its question only.
            batch: The fingerprint of the items.
            by: Who.
            via: By which path.
            entries: What was done, in order; plain data.
        """
        value = self._secrets.scrub_json(json_text(list(entries)))
        row: Columns = {
            **self._rows.call(call),
            "ts": now(),
            "by": storable(by),
            "via": via,
            "fingerprint": batch,
            "value": value,
            "redacted": '["value"]' if MASK in value else None,
        }

        def append(transaction: Transaction) -> None:
            _, question = self._questions.of(transaction, call)
            transaction.append("labelled", {**row, "question": question, "occurrence": _queue(key, question)})

        return self._store.begin(append, durable=True)

    def passes(self, key: str | None, call: Call | None = None) -> list[LabelPass]:
        """Return what each person has done in a queue so far, by whoever began first.

        Rows that were changed after they were written are not believed, nor what stands beside them.

        Args:
            key: The name of the queue; None for that of `call`.
            call: The question.
        """
        question = None if key is not None or call is None else self._questions.find(call)
        if key is None and question is None:
            return []
        return self._store.read(lambda query: self._found(query, _queue(key, question)))

    def _found(self, query: Query, queue: str) -> list[LabelPass]:
        rows = query(_LABELLED, (queue,))
        if not rows or not self._store.believes(query, [row_id(row) for row in rows]):
            return []
        found: dict[tuple[str, str], LabelPass] = {}
        for row in rows:
            _, by, via, batch, value = cast("tuple[int, str, str, str, str]", row)
            one = found.setdefault((by, via), LabelPass(by=by, via=via, batch=batch))
            one.batch = batch
            one.entries += json.loads(value)
        return list(found.values())


def _queue(key: str | None, question: int | None) -> str:
    """What the rows of a queue have in common."""
    return (
        f"labels of {question}" if key is None else f"labels {sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}"
    )
