"""A person's decision as plain JSON, and the same decision made of it again.

Secrets are stars in it, by the journal's own rules. What a person confirmed as it was proposed is given back as what
is proposed in the replay: the very object, also a DataFrame, which JSON could not carry.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from hitl_nb._calls import Call, Decision, Handle, confirmed
from hitl_nb._encoding import encode_instead
from hitl_nb.errors import InvalidValue, ScriptError
from hitl_nb.interrupts._types import OneOf, SomeOf
from hitl_nb.journal._plain import json_text
from hitl_nb.journal._rows import RowWriter
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.testing._case import Answer

LEFT_OPEN = ("aborted", "superseded")
"""Nobody decided: the run ended, or a new message replaced the question."""


class Clerk:
    """Writes decisions down, and makes them again."""

    def __init__(self) -> None:
        self.secrets = KnownSecrets()
        self._rows = RowWriter(secrets=self.secrets, thread="")

    def question(self, call: Call) -> dict[str, Any]:
        """Give what is asked: ``{"tool": ..., "question": ..., "args": ...}``."""
        # What the journal remembers is never opened; its arguments are what would have been shown.
        row = self._rows.asked(call, "{}" if call.asked_at else json_text(call.args), None)
        return {"tool": row["tool"], "question": row["message"], "args": json.loads(row["args"])}

    def answer(self, call: Call, decision: Decision) -> Answer:
        """Give a decision, under the call's own id."""
        row = self._rows.answered(call, decision)
        text: str | None = row["answer"]
        answer = None if text is None else json.loads(text)
        return Answer(
            call=call.id,
            **self.question(call),
            outcome=decision.outcome,
            answer=answer,
            edits=json.loads(json_text(list(decision.edits))),
            reason=row["reason"],
            by=row["by"],
            instead=decision.outcome == "declined" and decision.result == encode_instead(decision.reason or ""),
            answer_type=None if text is None else self._lost(call, decision.answer, answer),
        )

    def decide(self, call: Call, answer: Answer) -> None:
        """Decide a call as it was decided; what the answer changes is found by comparing, as it was then.

        Raises:
            InvalidValue: The answer does not fit its type.
            ScriptError: The answer cannot be made of plain JSON.
        """
        if answer.outcome in ("answered", "edited"):
            value = self._live(call, answer.answer)
            if answer.answer_type is not None and value is answer.answer:
                raise ScriptError(f"the answer was a `{answer.answer_type}`, which the file cannot hold")
            call.respond(value, reason=answer.reason, by=answer.by, via="replay")
        elif answer.instead:
            call.answer_instead(answer.reason or "", by=answer.by, via="replay")
        else:
            Handle.of(call).close(answer.outcome, answer.reason, by=answer.by, via="replay")

    def _lost(self, call: Call, given: Any, answer: Any) -> str | None:
        """The type of an answer that a replay could not give; None if it can."""
        with suppress(InvalidValue):
            value = self._live(call, answer)
            value = value if call.answer_type is None else call.answer_type.validate(value)
            if type(value) is type(given) and _is_same(self._plain(value), self._plain(given)):
                return None
        return f"{type(given).__module__}.{type(given).__qualname__}"

    def _live(self, call: Call, answer: Any) -> Any:
        """What the answer is here: what is proposed, one of the options, or itself."""
        if isinstance(call.answer_type, SomeOf) and isinstance(answer, list):
            return [self._option(call.answer_type, each) for each in answer]
        if isinstance(call.answer_type, OneOf):
            return self._option(call.answer_type, answer)
        return next((value for value in _proposed(call) if _is_same(self._plain(value), answer)), answer)

    def _option(self, options: OneOf, answer: Any) -> Any:
        found = [option for option in options.options if _is_same(self._plain(option), answer)]
        return found[0] if len(found) == 1 else answer

    def _plain(self, value: Any) -> Any:
        return self.secrets.scrub(json.loads(json_text(value)))


def _proposed(call: Call) -> Iterator[Any]:
    with suppress(InvalidValue):
        yield confirmed(call)
    yield call.original
    yield call.args


def _is_same(first: Any, second: Any) -> bool:
    """Whether two pieces of plain JSON are the same; to Python 1, 1.0 and True are equal."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
