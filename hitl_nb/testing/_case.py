"""The file of a recorded session: what the model was asked and said, what people were asked and answered.

It is made to be read in a diff: in the order in which things happened, nothing that changes by itself, and nothing
twice. Of each request it holds what is new since the one before: ``{"same": 3}`` stands for its first three messages;
``tools`` and ``options`` that are not there are the same.

Of a request all is there that a model's answer depends on. Left out: ids of messages, times, usage, keys, headers,
whether it is streamed. Ids of tool calls are counted, since a provider gives others each time. Of a decision all is
there that a person gave; secrets are stars in it, by the journal's own rules.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from pydantic_core import to_jsonable_python

from hitl_nb._calls import Call, Decision, Handle, Outcome, confirmed
from hitl_nb._encoding import encode_instead
from hitl_nb._schema import learn_from_text, shared_start
from hitl_nb._secrets import KnownSecrets
from hitl_nb.agents import thoughts_of
from hitl_nb.errors import InvalidValue, ScriptError
from hitl_nb.interrupts import OneOf, SomeOf
from hitl_nb.journal import RowWriter, json_text
from hitl_nb.testing._model import Request
from hitl_nb.testing._turns import Calls, Part, Says

VERSION: Final = 1

LEFT_OPEN: Final = ("aborted", "superseded", "parked")
"""Nobody decided: the run ended, or a new message replaced the question."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request, and what the model said to it."""

    request: dict[str, Any]
    """Plain JSON; see `comparable`."""

    parts: list[Part]
    """The reply."""

    finish: str | None = None
    """The finish reason, if it is not the usual one."""

    thoughts: dict[str, Any] = field(default_factory=dict)
    """What it thought, and wants back: as litellm's messages have it."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One question, and what became of it."""

    call: str
    """``call_1`` of the model, ``question_1`` of anybody else, …: counted, since ids change from run to run."""

    tool: str
    """The tool's name."""

    question: str
    """What is asked, in words."""

    args: object
    """The arguments, plain JSON."""

    outcome: Outcome
    """``answered``, ``declined``, …; ``aborted`` and ``superseded`` were never decided by anybody."""

    answer: object = None
    """The answer, plain JSON."""

    edits: list[dict[str, object]] = field(default_factory=list)
    """As `Call.edits`."""

    reason: str | None = None
    """The words that came with it."""

    by: str | None = None
    """Who."""

    instead: bool = False
    """Whether a declined call was answered with words in place of an approval."""

    answer_type: str | None = None
    """The type of an answer that plain JSON cannot give back; None for all others."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A recorded session."""

    turns: list[Exchange]
    """What the model was asked and said, in the order of the requests."""

    answers: list[Answer]
    """What people decided, in the order of the decisions."""

    def plain(self) -> dict[str, Any]:
        """Return it as it is written."""
        return {
            "hitl_nb_case": VERSION,
            "turns": list(_written_turns(self.turns)),
            "answers": [_written_answer(answer) for answer in self.answers],
        }


def write(path: Path, plain: object) -> None:
    """Write a case, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    unfinished.write_text(json.dumps(plain, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def read(path: str | PathLike[str]) -> Case:
    """Read a case.

    Raises:
        ScriptError: There is no such file, or it is no case.
    """
    try:
        plain = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ScriptError(f"`{path}` is not there. Record it: `with record({str(path)!r}): ...`.") from error
    except ValueError as error:
        raise ScriptError(f"`{path}` is no JSON: {error}. {_again(path)}") from error
    version = plain.get("hitl_nb_case") if isinstance(plain, dict) else None
    if version != VERSION:
        raise ScriptError(f"`{path}` is no recorded case of version {VERSION} but {version!r}. {_again(path)}")
    try:
        return Case(turns=list(_read_turns(plain["turns"])), answers=[Answer(**answer) for answer in plain["answers"]])
    except (KeyError, TypeError, IndexError) as error:
        raise ScriptError(
            f"`{path}` was changed by hand, and does not read any more: {error!r}. {_again(path)}"
        ) from error


def _again(path: str | PathLike[str]) -> str:
    return f"Record it again: `with record({str(path)!r}): ...`."


def _written_turns(turns: list[Exchange]) -> Iterator[dict[str, object]]:
    before: dict[str, Any] = {"messages": []}
    for turn in turns:
        request = {name: part for name, part in turn.request.items() if name not in before or before[name] != part}
        same = shared_start(before["messages"], turn.request["messages"])
        request["messages"] = [{"same": same}] * bool(same) + turn.request["messages"][same:]
        finish = {"finish": turn.finish} if turn.finish else {}
        thoughts = {"thoughts": turn.thoughts} if turn.thoughts else {}
        yield {"request": request, **thoughts, "reply": [_written_part(part) for part in turn.parts], **finish}
        before = turn.request


def _read_turns(plain: list[dict[str, Any]]) -> Iterator[Exchange]:
    before: dict[str, Any] = {"messages": []}
    for turn in plain:
        request = {**before, **turn["request"]}
        first, *rest = request["messages"] or [{}]
        if "same" in first:
            request["messages"] = before["messages"][: first["same"]] + rest
        yield Exchange(
            request=request,
            parts=[_read_part(part) for part in turn["reply"]],
            finish=turn.get("finish"),
            thoughts=turn.get("thoughts", {}),
        )
        before = request


def _written_part(part: Part) -> dict[str, object]:
    if isinstance(part, Says):
        return {"says": part.text}
    extra = {"extra": part.extra} if part.extra else {}
    return {"calls": part.name, "id": part.id, **_written_arguments(part.arguments), **extra}


def _written_arguments(text: str) -> dict[str, object]:
    """As an object that gives exactly this text again, else as the text."""
    try:
        args = json.loads(text)
    except ValueError:
        return {"raw": text}
    if text == _spaced(args):
        return {"args": args}
    return {"args": args, "compact": True} if text == _unspaced(args) else {"raw": text}


def _read_part(part: dict[str, Any]) -> Part:
    if "says" in part:
        return Says(text=part["says"])
    arguments = part["raw"] if "raw" in part else (_unspaced if part.get("compact") else _spaced)(part["args"])
    return Calls(name=part["calls"], id=part["id"], arguments=arguments, extra=part.get("extra", {}))


def _spaced(args: object) -> str:
    return json.dumps(args, ensure_ascii=False)


def _unspaced(args: object) -> str:
    return json.dumps(args, ensure_ascii=False, separators=(",", ":"))


def _written_answer(answer: Answer) -> dict[str, object]:
    always = ("call", "tool", "question", "args", "outcome")
    given = {"answer"} if answer.outcome in ("answered", "edited") else set()
    return {name: part for name, part in vars(answer).items() if part or name in always or name in given}


# -- a request as plain JSON ---------------------------------------------------------------------------------------

_OF_A_MESSAGE: Final = frozenset("id created created_at timestamp provider_specific_fields annotations".split())
"""Left out of messages; what a model thought and gets back is in them: `thoughts_of`."""

_OF_OPTIONS: Final = frozenset("stream stream_options max_retries timeout extra_headers headers client".split())
"""How a request travels, not what it asks."""

_SECRET_NAME: Final = re.compile(r"api_?key|authorization|bearer|cookie|credential|headers|password|secret|auth_token")
_SECRET_VARIABLE: Final = re.compile(r"(API_?KEY|_TOKEN|_SECRET|PASSWORD)$")
_SHORTEST_KEY: Final = 12
_LONGEST_DATA: Final = 200


def comparable(request: Request) -> dict[str, Any]:
    """Return a request as plain JSON: ``{"messages": [...], "tools": [...], "options": {...}}``."""
    ids: dict[str, str] = {}
    return {
        "messages": [_message(as_plain(message), ids) for message in request.messages],
        "tools": as_plain(request.tools),
        "options": _options(as_plain(request.options)),
    }


def as_plain(value: object) -> Any:
    """Return any value as plain JSON data, pictures by their hash."""
    return _with_hashes(to_jsonable_python(value, by_alias=True, inf_nan_mode="constants", serialize_unknown=True))


def _arguments(text: object) -> dict[str, object]:
    """Return a tool call's arguments, ``{"args": {...}}``, or as they are where that is no JSON object."""
    try:
        parsed = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return {"raw": text}
    return {"args": parsed} if isinstance(parsed, dict) else {"raw": text}


def learn_keys(secrets: KnownSecrets, api_key: str | None) -> None:
    """Have the keys that this process uses taken out of everything that is written."""
    variables = (value for name, value in os.environ.items() if _SECRET_VARIABLE.search(name))
    for key in (api_key, *variables):
        if key and len(key) >= _SHORTEST_KEY:
            secrets.add(key)


def learn_calls(secrets: KnownSecrets | None, request: Mapping[str, Any], made: Iterable[Part] = ()) -> None:
    """Have the secrets in tool calls taken out, also of calls that were never valid.

    Args:
        secrets: Gets them; None: this process.
        request: As of `comparable`; its tools say where a secret stands.
        made: The reply.
    """
    tools = {
        tool["function"]["name"]: tool["function"] for tool in request["tools"] if "name" in tool.get("function", {})
    }
    calls = [call for message in request["messages"] for call in message.get("tool_calls", ())]
    texts = [(call["name"], json.dumps(call["args"]) if "args" in call else str(call["raw"])) for call in calls]
    texts += [(part.name, part.arguments) for part in made if isinstance(part, Calls)]
    for name, arguments in texts:
        learn_from_text(arguments, SimpleNamespace(json_schema=tools.get(name, {}).get("parameters")), into=secrets)


def _message(message: dict[str, Any], ids: dict[str, str]) -> dict[str, Any]:
    kept = {name: part for name, part in message.items() if part is not None and name not in _OF_A_MESSAGE}
    kept |= thoughts_of(message)
    calls = kept.pop("tool_calls", None) or []
    if calls and not kept.get("content"):
        kept.pop("content", None)  # "" or null: providers differ, and mean the same
    if "tool_call_id" in kept:
        kept["tool_call_id"] = ids.get(kept["tool_call_id"], "call_?")
    if calls:
        kept["tool_calls"] = [_call(call, ids) for call in calls]
    return kept


def _call(call: dict[str, Any], ids: dict[str, str]) -> dict[str, object]:
    number = ids.setdefault(call.get("id") or "", f"call_{len(ids) + 1}")
    function = call.get("function") or {}
    called = {"id": number, "name": function.get("name"), **_arguments(function.get("arguments"))}
    return {**called, **thoughts_of(call)}


def _options(options: Mapping[str, object]) -> dict[str, object]:
    kept = {name: options[name] for name in sorted(options) if _counts(name) and name not in _OF_OPTIONS}
    if "extra_body" in kept:
        kept["extra_body"] = _without_keys(kept["extra_body"])
    return kept


def _without_keys(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_keys(part) for name, part in value.items() if _counts(name)}
    return [_without_keys(part) for part in value] if isinstance(value, list) else value


def _counts(name: str) -> bool:
    return not _SECRET_NAME.search(name.lower())


def _with_hashes(value: object) -> object:
    if isinstance(value, dict):
        return {name: _with_hashes(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_hashes(part) for part in value]
    if isinstance(value, str) and value.startswith("data:") and len(value) > _LONGEST_DATA:
        kind = value[: value.find(",") + 1]
        return f"{kind}sha256:{sha256(value.encode()).hexdigest()}"
    return value


# -- a decision as plain JSON --------------------------------------------------------------------------------------


class DecisionCodec:
    """Writes a person's decisions down as plain JSON, and makes them again.

    What a person confirmed as it was proposed is given back as what is proposed in the replay: the very object, also
    a DataFrame, which JSON could not carry.
    """

    def __init__(self) -> None:
        self.secrets = KnownSecrets()
        self._rows = RowWriter(secrets=self.secrets, thread="")

    def question(self, call: Call) -> dict[str, Any]:
        """Return what is asked: ``{"tool": ..., "question": ..., "args": ...}``."""
        # What the journal remembers is never opened; its arguments are what would have been shown.
        row: Mapping[str, Any] = self._rows.asked(call, "{}" if call.asked_at else json_text(call.args), None)
        return {"tool": row["tool"], "question": row["message"], "args": json.loads(row["args"])}

    def answer(self, call: Call, decision: Decision) -> Answer:
        """Return a decision, under the call's own id."""
        row: Mapping[str, Any] = self._rows.answered(call, decision)
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

    def _lost(self, call: Call, given: object, answer: object) -> str | None:
        """The type of an answer that a replay could not give; None if it can."""
        with suppress(InvalidValue):
            value = self._live(call, answer)
            value = value if call.answer_type is None else call.answer_type.validate(value)
            if type(value) is type(given) and _is_same(self._plain(value), self._plain(given)):
                return None
        return f"{type(given).__module__}.{type(given).__qualname__}"

    def _live(self, call: Call, answer: object) -> object:
        """What the answer is here: what is proposed, one of the options, or itself."""
        if isinstance(call.answer_type, SomeOf) and isinstance(answer, list):
            return [self._option(call.answer_type, each) for each in answer]
        if isinstance(call.answer_type, OneOf):
            return self._option(call.answer_type, answer)
        return next((value for value in _proposed(call) if _is_same(self._plain(value), answer)), answer)

    def _option(self, options: OneOf, answer: object) -> object:
        found = [option for option in options.options if _is_same(self._plain(option), answer)]
        return found[0] if len(found) == 1 else answer

    def _plain(self, value: object) -> object:
        return self.secrets.scrub(json.loads(json_text(value)))


def _proposed(call: Call) -> Iterator[object]:
    with suppress(InvalidValue):
        yield confirmed(call)
    yield call.original
    yield call.args


def _is_same(first: object, second: object) -> bool:
    """Whether two pieces of plain JSON are the same; to Python 1, 1.0 and True are equal."""
    return json.dumps(first, sort_keys=True) == json.dumps(second, sort_keys=True)
