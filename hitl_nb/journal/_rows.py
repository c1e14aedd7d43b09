"""What a call looks like as rows: the question as it was shown, the answer as it was given, without secrets.

Arguments and answers are JSON text, whatever they are: a record is never refused because of what it records.
"""

import functools
import json
import weakref
from collections.abc import Callable, Collection, Hashable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python

from hitl_nb._calls import Call, Decision, edits_of, fingerprint
from hitl_nb._encoding import encode
from hitl_nb._schema import MISSING, NAMES, NO_FACTS, TypeFacts, Validator, facts_of, facts_of_type, learn_from_text
from hitl_nb._secrets import MASK, KnownSecrets, names_a_secret
from hitl_nb.errors import InvalidValue, UsageError
from hitl_nb.journal._store import Columns
from hitl_nb.journal._tables import written

_MASKED: Final = json.dumps(MASK)


@dataclass(eq=False, kw_only=True)
class _About:
    """What is known of a call."""

    columns: Columns
    """Those that each of its events has."""

    shown: str | None = None
    """Its arguments as JSON text, as they were when it was asked."""

    nameless: str = ""
    """The same, if no name in it says that a value is a secret; nor does one in any part of it then."""


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

    def call(self, call: Call) -> Columns:
        """Return the columns that every event of a call has."""
        return self._about[call].columns

    def asked(self, call: Call, arguments: str, parameters: Validator | None) -> Columns:
        """Return the columns of a question.

        Args:
            call: The call, its arguments validated.
            arguments: The model's own JSON text.
            parameters: What checked them; default: what the call says, else their type, if it is a model.
        """
        facts = _facts_of(call.args, parameters or call.args_type)
        args = self._args(call, arguments, facts, parameters or call.args_type)
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

    def _args(self, call: Call, arguments: str, facts: TypeFacts, checks: object) -> str:
        if call.args is not None and call.asked_at is not None:
            about = self._about[call]
            about.shown = text = json_text(call.args)
            names = names_a_secret(text)
            about.nameless = "" if names else text
            return self._clean(call.args, facts, text, names=names)
        # Never validated, so no schema can say for sure where in it a secret stands.
        learn_from_text(arguments, checks, into=self.secrets)
        if facts.hider is None:
            return self.secrets.scrub_json(arguments if _parses(arguments) else json_text(arguments))
        self.secrets.add_arguments(arguments)
        return _MASKED

    def answered(self, call: Call, decision: Decision) -> Columns:
        """Return the columns of a decision."""
        facts = facts_of(call.answer_type)
        given = json_text(decision.answer) if decision.approves else None
        # What is answered is a part of what was shown, as a rule: not looked through twice.
        names = False if given is not None and given in self._about[call].nameless else None
        answer = None if given is None else self._clean(decision.answer, facts, given, names=names)
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

    def late(self, call: Call, value: object, by: str | None) -> Columns:
        """Return the columns of an answer that came after the first."""
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

    def ended(self, call: Call, result: str) -> Columns:
        """Return the columns of the end of a run."""
        clean = self.secrets.scrub_text(result)
        return {**self.call(call), "result": storable(clean), "redacted": _redacted(result=clean)}

    def _clean(self, value: object, facts: TypeFacts, text: str | None = None, *, names: bool | None = None) -> str:
        """The JSON text of a value (`text`, if it is at hand) without secrets; `names`: whether it names one."""
        text = json_text(value) if text is None else text
        if MASK in text:
            self.secrets.add_typed(value)
        if facts.hider is not None or (names_a_secret(text) if names is None else names):
            found: list[object] = []
            text = (facts.hider or NAMES).hide_text(text, found)
            self.secrets.add(found)
        return self.secrets.scrub_json(text)


def _facts_of(value: object, checks: object) -> TypeFacts:
    if checks is not None:
        return facts_of(checks)
    return facts_of_type(_type(value)) if hasattr(type(value), "__pydantic_validator__") else NO_FACTS


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
    return _parses(key) and isinstance(json.loads(key), str)


def _redacted(**texts: str | None) -> str | None:
    """Which columns lost a secret, as a JSON list; None if none did."""
    names = [name for name, text in texts.items() if text is not None and MASK in text]
    return json.dumps(names) if names else None


def _same(first: str, second: str) -> bool:
    return first == second or (_parses(first) and json.loads(first) == json.loads(second))


def _parses(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_Kept = TypeVar("_Kept")


class PerCall(Generic[_Kept]):
    """One record a call, found by its occurrence, gone with it.

    Args:
        make: Makes the record of a call that has none.
    """

    def __init__(self, make: Callable[[Call], _Kept]) -> None:
        self._make = make
        self._held: dict[str, tuple[weakref.ref[Call], _Kept]] = {}

    def __getitem__(self, call: Call) -> _Kept:
        found = self._held.get(call.occurrence)
        if found is not None:
            return found[1]
        held, occurrence, kept = self._held, call.occurrence, self._make(call)
        held[occurrence] = weakref.ref(call, lambda _: held.pop(occurrence, None) and None), kept
        return kept


# -- any value as JSON text -------------------------------------------------------------------------------------------


def json_text(value: object) -> str:
    """Return `value` as compact JSON text.

    Models and dataclasses are written by their aliases, a `SecretStr` as stars, bytes as base64, NaN as ``NaN``. What
    has no JSON form is described: a DataFrame by shape, columns and fingerprint, anything else by its type. JSON knows
    text keys only; one that is no text and would be written as another key's text is written with its type:
    ``{1: "a", "1": "b"}`` as ``{"int(1)":"a","1":"b"}``.
    """
    value = told_apart(value)
    try:
        return to_json(value, **_FORM).decode()
    except _NO_JSON:
        # A lone surrogate, say, which UTF-8 cannot hold but JSON's escapes can.
        return json.dumps(_data(value), separators=(",", ":"))


def _data(value: object) -> object:
    try:
        return to_jsonable_python(value, **_FORM)
    except _NO_JSON:
        return {"type": _type_name(value)}


def _described(value: object) -> object:
    shape = getattr(value, "shape", None)
    if shape == () and hasattr(value, "item"):
        return value.item()  # a numpy scalar
    found: dict[str, object] = {"type": _type_name(value)}
    if shape is not None:
        found["shape"] = [int(size) for size in shape]
        if hasattr(value, "columns"):
            found["columns"] = [str(column) for column in value.columns]
        with suppress(UsageError):
            found["sha256"] = fingerprint(value)
    return found


def _type_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def sha256_of(text: str) -> str:
    """Return the hash of a stored text."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def storable(text: object) -> str | None:
    """Return words as any database can hold them: a lone surrogate becomes its escape, and so does NUL."""
    if text is None:
        return None
    words = str(text).replace("\0", "\\x00")
    return words if words.isascii() else words.encode("utf-8", "backslashreplace").decode()


class _Form(TypedDict):
    """How pydantic is to write what JSON cannot say."""

    by_alias: bool
    inf_nan_mode: Literal["constants"]
    bytes_mode: Literal["base64"]
    fallback: Callable[[Any], object]


_FORM: Final[_Form] = {
    "by_alias": True,
    "inf_nan_mode": "constants",
    "bytes_mode": "base64",
    "fallback": _described,
}
_NO_JSON: Final = (PydanticSerializationError, ValueError, TypeError, RecursionError)


# -- keys that JSON would write alike: in a record, too, 1 and "1" of one dict are two ------------------------------

_TEXT: Final = frozenset((str,))
_PLAIN: Final = frozenset((str, int, float, bool, type(None)))

_WITHOUT_KEYS: Final = frozenset(
    """
    bool date datetime decimal default definition-ref definitions enum float int list literal model model-field
    model-fields none nullable str time timedelta tuple union url uuid
    """.split()
)
"""The kinds of pydantic's core schema that are, or hold, nothing with keys of its own."""

_type: Callable[[object], Hashable] = type


def told_apart(value: object) -> object:
    """Return `value` itself; or, if some keys of one dict have the same text, plain data in which they do not."""
    try:
        return _told_apart(value) if _has_a_collision(value) else value
    except RecursionError:
        return value


def _has_a_collision(value: object) -> bool:
    # Not recursive, and by types first: this sees every part of everything that is recorded.
    todo, seen = [value], set()
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, dict) and set(map(type, each)) != _TEXT and len(set(map(_key_text, each))) < len(each):
            return True
        parts = _parts(each)
        if not all(map(_is_quiet, set(map(type, parts)))):
            todo += [part for part in parts if not _is_quiet(_type(part))]
    return False


def _parts(value: object) -> Collection[object]:
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, list | tuple):
        return value
    if _is_quiet(_type(value)):
        return ()
    if isinstance(value, BaseModel):
        return (*value.__dict__.values(), *(value.__pydantic_extra__ or {}).values())
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    return ()


@functools.lru_cache(maxsize=1024)
def _is_quiet(kind: Hashable) -> bool:
    """Whether whatever is of this type holds no keys but its fields' names."""
    if not isinstance(kind, type) or kind in _PLAIN:
        return True
    return issubclass(kind, BaseModel) and _is_plain(kind.__pydantic_core_schema__)


def _is_plain(schema: object) -> bool:
    if isinstance(schema, list | tuple):
        return all(map(_is_plain, schema))
    if not isinstance(schema, dict):
        return True
    if isinstance(schema.get("type"), str) and schema["type"] not in _WITHOUT_KEYS:
        return False
    if "allow" in (schema.get("extra_behavior"), schema.get("extra_fields_behavior")):
        return False
    return all(_is_plain(part) for name, part in schema.items() if name not in ("metadata", "serialization"))


def _key_text(key: object) -> str:
    """A key as JSON writes it."""
    if isinstance(key, str):
        return str(key)
    try:
        [text] = json.loads(to_json({key: None}))
    except (PydanticSerializationError, ValueError):
        return repr(key)
    return str(text)


def _told_apart(value: object) -> object:
    if isinstance(value, BaseModel):
        return _told_apart(value.model_dump(by_alias=True))
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _told_apart(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, list | tuple):
        return [_told_apart(part) for part in value]
    if not isinstance(value, dict):
        return value
    taken = {str(key) for key in value if isinstance(key, str)}
    made: dict[str, object] = {}
    for key, part in value.items():
        name = _key_text(key)
        if not isinstance(key, str):
            name = f"{type(key).__name__}({key!r})" if name in taken else name
            while name in taken:
                name += "'"
            taken.add(name)
        made[name] = _told_apart(part)
    return made
