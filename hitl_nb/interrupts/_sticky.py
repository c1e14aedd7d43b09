"""Decisions that stick: the same question about the same input is not asked twice, also not by another kernel.

Re-running a cell, or Run All after a restart, takes the decision that the journal has, and the record says so. Other
input, other words or another type of answer is another question.
"""

import logging
from typing import Any

from hitl_nb._calls import Call, Decision
from hitl_nb.errors import InvalidValue, UsageError
from hitl_nb.journal import Journal, StoredDecision, fingerprint

_log = logging.getLogger("hitl_nb")

STICKS = ("answered", "edited", "declined")
"""What a person decided. A question that was withdrawn, or that nobody answered, is asked again."""


class Sticky:
    """The memory of one keyed question.

    Args:
        journal: Where decisions are kept.
        key: The question's own name; None does not stick.
        call: The question.
        payload: What it is about.

    Raises:
        UsageError: There is a key and no journal, or the payload has no content that could be compared.
    """

    def __init__(self, journal: Journal | None, key: str | None, call: Call, payload: Any) -> None:
        self._journal, self._key, self._call = journal, key, call
        if key is None:
            return
        if journal is None:
            raise UsageError(
                f"`key={key!r}` keeps the decision in the journal, and there is none. Write `journal=` with a path, or "
                "leave `key` out to be asked each time."
            )
        schema = getattr(call.answer_type, "schema", None)
        self._input = fingerprint([call.name, call.message, payload, schema])

    def recalled(self) -> bool:
        """Decide the call as it was decided last time, if it was; gives whether that is so."""
        if self._key is None or self._journal is None:
            return False
        stored = self._journal.recall(self._key, self._input)
        if stored is None or stored.outcome not in STICKS:
            return False
        try:
            answer = self._answer_of(stored)
        except InvalidValue:
            _log.info("What was decided for %r does not fit its type any more; asking again", self._key)
            return False
        who = f"{stored.by or 'somebody'}, {stored.at:%Y-%m-%d}" if stored.via == "card" else stored.by
        return self._call._decide(
            Decision(
                outcome=stored.outcome,
                answer=answer,
                result=stored.result,
                reason=stored.reason,
                by=f"{who} (from the journal; `again=True` asks again)",
                via="replay",
            )
        )

    def keep(self) -> None:
        """Keep what was decided now."""
        decision = self._call._decision
        if self._key is not None and self._journal is not None and decision and decision.outcome in STICKS:
            self._journal.remember(self._key, self._input, self._call)

    def _answer_of(self, stored: StoredDecision) -> Any:
        if not stored.approved:
            return None
        if self._call.answer_type is not None:
            return self._call.answer_type.validate(stored.answer)
        # Without a type, Confirm answers with what is shown, which is the same as last time.
        return self._call.proposal if stored.outcome == "answered" else stored.answer
