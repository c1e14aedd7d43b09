"""Decisions that stick: the same question about the same input is not asked twice, also not by another kernel.

Re-running a cell, or Run All after a restart, takes the decision that the journal has, and the record says so. Other
input, other words or another type of answer is another question.
"""

import logging
from collections.abc import Sequence
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from hitl_nb._calls import Call, Decision, Handle, fingerprint, print_of
from hitl_nb._process import notebook_name
from hitl_nb.errors import InvalidValue, UsageError
from hitl_nb.interrupts._types import OneOf
from hitl_nb.journal import Journal, StoredDecision
from hitl_nb.people import Person, declared_all

_log = logging.getLogger("hitl_nb")

STICKS = ("answered", "edited", "declined")
"""What a person decided. A question that was withdrawn, or that nobody answered, is asked again."""


class Sticky:
    """The memory of one keyed question.

    What is remembered matches the whole question: kind, name, message, payload, the type of the answer, the options,
    and who had to answer, in which notebook. A script's decision answers only for the same script, a person's only
    for the same person.

    Args:
        journal: Where decisions are kept.
        key: The question's own name; None does not stick.
        call: The question.
        payload: What it is about.
        people: Who has to answer.

    Raises:
        UsageError: There is a key and no journal, or the payload has no content that could be compared.
    """

    def __init__(
        self, journal: Journal | None, key: str | None, call: Call, payload: Any, people: Sequence[Person]
    ) -> None:
        self._journal, self._key, self._call = journal, key, call
        self._input: str | None = None
        if key is None:
            return
        if journal is None:
            raise UsageError(
                f"`key={key!r}` keeps the decision in the journal, and there is none. Write `journal=` with a path, or "
                "leave `key` out to be asked each time."
            )
        who = declared_all(people)
        question = [call.kind, call.name, call.message, payload, _type_of_answer(call.answer_type)]
        content = fingerprint(question)
        # A lambda may be another one next time; and a secret is not compared with what left this process.
        if who is not None and print_of(payload).durable:
            self._input = fingerprint([content, who, journal.who(), notebook_name()])

    @property
    def has_key(self) -> bool:
        """Whether the decision sticks at all."""
        return self._key is not None and self._input is not None

    def recalled(self) -> bool:
        """Decide the call as it was decided last time, if it was; gives whether that is so."""
        if self._key is None or self._input is None or self._journal is None:
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
        return Handle.of(self._call).settle(
            Decision(
                outcome=stored.outcome,
                answer=answer,
                result=stored.result,
                edits=stored.edits,
                reason=stored.reason,
                by=f"{who} (from the journal; `refresh=True` asks again)",
                via="replay",
            )
        )

    def keep(self) -> None:
        """Keep what was decided now; but for what a rule said, which answers for itself the next time."""
        decision = Handle.of(self._call).decision
        if self._key is None or self._input is None or self._journal is None or decision is None:
            return
        if decision.outcome in STICKS and decision.via != "policy" and self._can_be_read_back(decision):
            self._journal.begin_remember(self._key, self._input, self._call)

    def _can_be_read_back(self, decision: Decision) -> bool:
        """Whether what the journal has of an answer gives exactly this answer; else the question is asked again."""
        checks = self._call.answer_type
        if not decision.approves or (checks is None and decision.outcome == "answered"):
            return True
        try:
            stored = to_jsonable_python(decision.answer, by_alias=True, inf_nan_mode="strings")
            answer = stored if checks is None else checks.validate(stored)
            return print_of(answer).digest == print_of(decision.answer).digest
        except (InvalidValue, UsageError, PydanticSerializationError, TypeError, ValueError):
            return False

    def _answer_of(self, stored: StoredDecision) -> Any:
        if not stored.approved:
            return None
        if self._call.answer_type is not None:
            return self._call.answer_type.validate(stored.answer)
        # Without a type, Confirm answers with what is shown, which is the same as last time.
        return self._call.offer if stored.outcome == "answered" else stored.answer


def _type_of_answer(answer_type: Any) -> Any:
    """The type, its schema and the options: with others it is another question."""
    kind = [type(answer_type).__name__, str(getattr(answer_type, "type", "")), getattr(answer_type, "schema", None)]
    if not isinstance(answer_type, OneOf):
        return kind
    try:
        return [*kind, fingerprint(answer_type.options)]
    except UsageError:  # options without content: then by what is seen of them
        return kind
