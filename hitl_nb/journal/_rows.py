"""What a call looks like as rows: the question as it was shown, the answer as it was given, without secrets."""

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from hitl_nb._calls import Call, Decision, edits_of
from hitl_nb._encoding import encode
from hitl_nb._schema import MISSING, Validator
from hitl_nb.errors import InvalidValue
from hitl_nb.journal._hiding import MASK, NO_FACTS, TypeFacts, facts_of, facts_of_type
from hitl_nb.journal._per_call import PerCall
from hitl_nb.journal._plain import json_text, sha256_of, storable
from hitl_nb.journal._secrets import KnownSecrets
from hitl_nb.journal._transaction import written

_MASKED: Final = json.dumps(MASK)


@dataclass(eq=False, kw_only=True)
class _About:
    """What is known of a call."""

    columns: dict[str, Any]
    """Those that each of its events has."""

    shown: str | None = None
    """Its arguments as JSON text, as they were when it was asked."""


class RowWriter:
    """Makes the columns of events.

    Args:
        secrets: What must not be written; what is found here is added.
        thread: For calls that belong to none.
    """

    def __init__(self, *, secrets: KnownSecrets, thread: str) -> None:
        self.secrets = secrets
        self.thread = thread
        self._about = PerCall(self._new)

    def _new(self, call: Call) -> _About:
        texts = {"thread": call.thread_id or self.thread, "run": call.run_id, "call": call.id, "tool": call.name}
        return _About(columns={name: storable(text) for name, text in texts.items()})

    def call(self, call: Call) -> dict[str, Any]:
        """Give the columns that every event of a call has."""
        return self._about[call].columns

    def asked(self, call: Call, arguments: str, parameters: Validator | None) -> dict[str, Any]:
        """Give the columns of a question.

        Args:
            call: The call, its arguments validated.
            arguments: The model's own JSON text.
            parameters: What checked them; default: what the call says, else their type, if it is a model.
        """
        facts = _facts_of(call.args, parameters or call.args_type)
        args = self._args(call, arguments, facts)
        keep_raw = facts.hider is None and MASK not in args and not _same(arguments, args)
        return {
            **self.call(call),
            "ts": written(call.asked_at) if call.asked_at else None,
            "kind": call.kind,
            "message": storable(self.secrets.scrub_text(call.message)),
            "args": args,
            # As the model wrote them, if that is not the same; with secrets about, nobody could vouch for it.
            "arguments": storable(self.secrets.scrub_text(arguments)) if keep_raw else None,
            "args_sha256": sha256_of(args),
            "schema_sha256": facts.schema_sha256,
            "redacted": _redacted(args=args),
            "occurrence": call.occurrence,
        }

    def _args(self, call: Call, arguments: str, facts: TypeFacts) -> str:
        if call.args is not None and call.asked_at is not None:
            self._about[call].shown = text = json_text(call.args)
            return self._clean(call.args, facts, text)
        # Never validated, so no schema can say where in it a secret stands.
        if facts.hider is None:
            return self.secrets.scrub_json(arguments) if _is_json(arguments) else json_text(arguments)
        self.secrets.add_arguments(arguments)
        return _MASKED

    def answered(self, call: Call, decision: Decision) -> dict[str, Any]:
        """Give the columns of a decision."""
        facts = facts_of(call.answer_type)
        given = json_text(decision.answer) if decision.approves else None
        answer = None if given is None else self._clean(decision.answer, facts, given)
        # A string travels verbatim, all else as its JSON; see `encode`.
        clean = self.secrets.scrub_text(decision.result)
        result = clean if answer is None or answer == given else encode(json.loads(answer))
        took = decision.at - call.asked_at if call.asked_at else None
        return {
            **self.call(call),
            "ts": written(decision.at),
            "answer": answer,
            "edited": None if given is None else self._edited(call, decision, given),
            "outcome": decision.outcome,
            "by": storable(self.secrets.scrub_text(decision.by)),
            "via": decision.via,
            "reason": storable(self.secrets.scrub_text(decision.reason)),
            # As a rule the answer's own JSON; not written twice then.
            "result": None if result == answer else storable(result),
            "latency_ms": None if took is None else took // timedelta(milliseconds=1),
            "redacted": _redacted(answer=answer, result=None if result == decision.result else MASK),
        }

    def _edited(self, call: Call, decision: Decision, given: str) -> str | None:
        """What was changed in the proposal; None if the answer is no form of it: then there is nothing to compare."""
        shown = self._about[call].shown if call.offer is MISSING else None
        if not decision.edits and _is_untouched(shown or json_text(call.original), given):
            return "[]"
        edits = decision.edits or edits_of(call, decision.answer)
        return None if edits is None else self.secrets.scrub_json(json_text(list(edits)))

    def late(self, call: Call, value: Any, by: str | None) -> dict[str, Any]:
        """Give the columns of an answer that came after the first."""
        facts = facts_of(call.answer_type)
        if facts.hider is not None and call.answer_type is not None:
            try:
                text = self._clean(call.answer_type.validate(value), facts)
            except InvalidValue:
                text = _MASKED
        else:
            text = self._clean(value, facts)
        by = storable(self.secrets.scrub_text(by))
        return {**self.call(call), "value": text, "by": by, "redacted": _redacted(value=text)}

    def ended(self, call: Call, result: str) -> dict[str, Any]:
        """Give the columns of the end of a run."""
        clean = self.secrets.scrub_text(result)
        return {**self.call(call), "result": storable(clean), "redacted": _redacted(result=clean)}

    def _clean(self, value: Any, facts: TypeFacts, text: str | None = None) -> str:
        """The JSON text of a value (`text`, if it is at hand) without secrets."""
        text = json_text(value) if text is None else text
        if MASK in text:
            self.secrets.add_typed(value)
        if facts.hider is not None:
            found: list[Any] = []
            hidden = facts.hider.hide(json.loads(text), found)
            self.secrets.add(found)
            text = json_text(hidden)
        return self.secrets.scrub_json(text)


def _facts_of(value: Any, checks: object) -> TypeFacts:
    if checks is not None:
        return facts_of(checks)
    type_: Any = type(value)
    return facts_of_type(type_) if hasattr(type_, "__pydantic_validator__") else NO_FACTS


def _is_untouched(original: str, answer: str) -> bool:
    """The usual case, told by the texts: what was proposed, or the only one of the arguments, as it was."""
    if original == answer:
        return True
    if answer[0] not in "{[" or not original.endswith(f":{answer}}}"):
        return False
    # What is left of `{"steps":…}` is one key, and only then one JSON text.
    key = original[1 : -len(answer) - 2]
    if key.count('"') == 2:
        return key[0] == key[-1] == '"'
    return _is_json(key) and isinstance(json.loads(key), str)


def _redacted(**texts: str | None) -> str | None:
    """Which columns lost a secret, as a JSON list; None if none did."""
    names = [name for name, text in texts.items() if text is not None and MASK in text]
    return json.dumps(names) if names else None


def _same(first: str, second: str) -> bool:
    return first == second or (_is_json(first) and json.loads(first) == json.loads(second))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
