"""What an agent's own code has stopped at, and how that agent wants to be answered.

The rules are those of AG-UI 1.0 (https://docs.ag-ui.com/concepts/interrupts): every open interrupt is addressed in one
``resume``, what a person refuses is told as a refusal, and nothing else is run in between. The older ``CUSTOM
on_interrupt`` event travels as ``forwardedProps.command``.

Frameworks differ in what they take for a yes and, worse, for a no: where the protocol's own "cancelled" would reach the
agent as something that is true, it gets what its authors test for.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal, NamedTuple

from ag_ui.core import CustomEvent, Interrupt, ResumeEntry, ToolCall
from pydantic_core import to_jsonable_python

from hitl_nb._calls import Call
from hitl_nb._limits import read_json
from hitl_nb._schema import MISSING, Validator, validator_for
from hitl_nb.cards import Approval, Form
from hitl_nb.errors import InvalidValue


@dataclass(frozen=True, kw_only=True)
class Action:
    """What an agent wants to do, and waits for a yes to."""

    name: str
    """The name of its tool."""

    args: dict[str, Any]
    """The arguments."""

    told: Literal["approved", "decision"]
    """In which form it wants to hear of it: AG-UI's ``{"approved": ...}``, or LangChain's ``{"type": ...}``."""

    may_edit: bool = True
    """Whether the arguments may be changed."""


class Said(NamedTuple):
    """What the agent is told of one interrupt."""

    status: Literal["resolved", "cancelled"]
    payload: Any = None


@dataclass(frozen=True, kw_only=True)
class Directive:
    """What the next run has to carry to the interrupts that the last one stopped at."""

    resume: list[ResumeEntry] = field(default_factory=list)
    forwarded: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.resume or self.forwarded)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One question of the agent's code: an interrupt, or one action of several in it."""

    interrupt: Interrupt
    """The interrupt; made from the event's value in the legacy form."""

    legacy: Any = None
    """The value of the ``on_interrupt`` event as it came, None for a standard interrupt."""

    is_legacy: bool = False
    """Whether it came as that event, and is answered by a command."""

    action: Action | None = None
    """What it is about, if it is a yes to that."""

    part: int = 0
    """Which of the actions in the interrupt this is."""

    @property
    def id(self) -> str:
        """The id of its call."""
        return self.interrupt.id if not self.part else f"{self.interrupt.id}#{self.part + 1}"

    @property
    def is_langgraph(self) -> bool:
        """Whether LangGraph has stopped here: what resumes it is what its ``interrupt()`` returns."""
        return self.is_legacy or "langgraph" in _mapping(self.interrupt.metadata)

    @property
    def expires_at(self) -> datetime | None:
        """When it can no longer be answered (aware), or None; what is no date never expires."""
        try:
            moment = datetime.fromisoformat(self.interrupt.expires_at or "")
        except ValueError:
            return None
        return moment if moment.tzinfo else moment.astimezone()

    # -- the question -------------------------------------------------------------------------------------

    def call(self, **identity: Any) -> Call:
        """Return the call that asks for its answer."""
        about = {"id": self.id, "kind": "interrupt", "message": self.message, **identity}
        return self._open_question(**about) if self.action is None else self._proposed(self.action, **about)

    def unasked(self) -> Call:
        """Return a call that nobody is asked: the schema of its answer may be why, and is not looked at."""
        name = self.interrupt.reason if self.action is None else self.action.name
        return Call(id=self.id, kind="interrupt", name=name, message=self.message, offers_arguments=False)

    def _open_question(self, **about: Any) -> Call:
        schema = self._schema
        return Call(
            name=self.interrupt.reason,
            answer_type=validator_for(schema) if schema else None,
            render=about.pop("render", None)
            or (partial(Form, initial={"approved": True}) if self._knows_yes else None),
            # A yes has the form that AG-UI's own examples use, unless the schema has none; a no is never a payload.
            offer={"approved": True} if self._knows_yes or not schema else MISSING,
            offers_arguments=False,
            compares=False,
            **about,
        )

    def _proposed(self, action: Action, **about: Any) -> Call:
        checks = validator_for(_schema_of(action.args) if action.may_edit else {"const": action.args})
        return Call(
            name=action.name,
            answer_type=Agreed(action, checks),
            args_type=checks if action.may_edit else None,
            render=about.pop("render", None) or (None if action.may_edit else Approval),
            **about,
        )

    @property
    def message(self) -> str:
        """The question in words, without the arguments, which are shown beside it."""
        said = self.interrupt.message or _question_in(self.raw) or ""
        if self.action is None:
            return said
        return f"Run `{self.action.name}`?" if not said or _repeats(said, self.action.args) else said

    @property
    def args(self) -> dict[str, Any]:
        """What the person is shown beside the question."""
        if self.action is not None:
            return self.action.args
        raw = self.raw
        if isinstance(raw, dict):
            return {key: value for key, value in raw.items() if key not in _PROTOCOL and value != self.message}
        return {} if raw is None or raw == self.message else {"value": raw}

    @property
    def raw(self) -> Any:
        """What the agent's code gave to be looked at, unwrapped from what its adapter puts around it."""
        metadata = _mapping(self.interrupt.metadata)
        if self.is_legacy:
            return _read(self.legacy)
        if "langgraph" in metadata:
            return _mapping(metadata["langgraph"]).get("raw")
        if "crewai" in metadata:
            output = _mapping(metadata["crewai"]).get("output")
            return output if output is None or isinstance(output, dict) else {"output": output}
        return metadata

    @property
    def _schema(self) -> dict[str, Any]:
        schema = self.interrupt.response_schema
        return schema if isinstance(schema, dict) else {}

    @property
    def _knows_yes(self) -> bool:
        return "approved" in _mapping(self._schema.get("properties"))

    # -- the answer ---------------------------------------------------------------------------------------

    def said(self, call: Call) -> Said | None:
        """Return what the agent is told; None where it has no ear for a no, and stays where it is."""
        if call.approved:
            return Said("resolved", self._yes(call))
        if self.action is not None and self.action.told == "decision":
            return Said("resolved", {"type": "reject", "message": _why_not(call)})
        if self.interrupt.reason.startswith("crewai:"):
            label = self._label_for_no()
            return None if label is None else Said("resolved", label)
        if call.outcome == "declined" and self._knows_yes:
            return self._no(call)
        # LangGraph's adapter would have `interrupt()` return an object in place of "cancelled", which is true.
        return Said("resolved", False) if self.is_langgraph else Said("cancelled")

    def _yes(self, call: Call) -> Any:
        answer = to_jsonable_python(call.answer)
        if self.action is None:
            return answer
        is_edited = answer != self.action.args
        if self.action.told == "approved":
            return {"approved": True, "editedArgs": answer} if is_edited else {"approved": True}
        if is_edited:
            return {"type": "edit", "edited_action": {"name": self.action.name, "args": answer}}
        return {"type": "approve"}

    def _no(self, call: Call) -> Said:
        reason = {"reason": call.reason} if call.reason and "reason" in self._schema["properties"] else {}
        payload = {"approved": False, **reason}
        try:
            validator_for(self._schema).validate(payload)
        except InvalidValue:  # it wants more than that to know a no
            return Said("cancelled")
        return Said("resolved", payload)

    def _label_for_no(self) -> str | None:
        """CrewAI takes "cancelled" for no words, and no words for its first outcome, usually "approved"."""
        labels = self._schema.get("enum")
        return next((label for label in labels if str(label).lower() in _NO_LABELS), None) if labels else None


_PROTOCOL: Final = frozenset(
    ("reason", "toolCallId", "tool_call_id", "responseSchema", "response_schema", "expiresAt", "expires_at")
)
_QUESTIONS: Final = ("message", "question", "prompt")
_NO_LABELS: Final = frozenset(
    ("rejected", "reject", "declined", "decline", "denied", "deny", "no", "refused", "refuse", "cancelled", "cancel")
)
_APPROVAL: Final = frozenset(("approved", "editedArgs", "reason"))


class Agreed:
    """Takes a yes to an action: its arguments, changed where that is allowed, or the yes of AG-UI's examples."""

    def __init__(self, action: Action, checks: Validator) -> None:
        self._action = action
        self._checks = checks

    def validate(self, value: object) -> Any:
        """Return the arguments to run with.

        Raises:
            InvalidValue: It is neither.
        """
        action = self._action
        if isinstance(value, Mapping) and value.get("approved") is True and "approved" not in action.args:
            edited = value.get("editedArgs")
            value = True if edited is None else edited
        if value is True or value == action.args:
            return action.args
        if not action.may_edit:
            raise InvalidValue(
                f"`{action.name}` can be approved or declined as it is; its agent takes no other arguments, nor words. "
                "Write `call.respond(call.proposal)`, or `call.decline(reason)`."
            )
        return self._checks.validate(value)


def checkpoints_of(
    interrupts: Sequence[Interrupt], events: Iterable[CustomEvent], calls: Iterable[ToolCall]
) -> list[Checkpoint]:
    """Return the questions that a run has stopped at.

    Args:
        interrupts: Those of its outcome; they win over the events, which say the same in the older form.
        events: Its ``on_interrupt`` events.
        calls: The tool calls of the conversation: an interrupt may be about one of them.
    """
    found = [Checkpoint(interrupt=it) for it in interrupts] or [_of_event(event) for event in events]
    by_id = {call.id: call for call in calls}
    seen: dict[str, int] = {}
    questions: list[Checkpoint] = []
    for checkpoint in found:
        interrupt = checkpoint.interrupt
        seen[interrupt.id] = seen.get(interrupt.id, 0) + 1
        if seen[interrupt.id] > 1:  # two events without an id are two questions
            again = interrupt.model_copy(update={"id": f"{interrupt.id}-{seen[interrupt.id]}"})
            checkpoint = replace(checkpoint, interrupt=again)
        questions += _split(checkpoint, by_id)
    return questions


def _of_event(event: CustomEvent) -> Checkpoint:
    fields = _mapping(_read(event.value))
    own = event.raw_event
    known = own.get("id") if isinstance(own, dict) else getattr(own, "id", None)
    if known is None and {"id", "reason"} <= fields.keys():
        return Checkpoint(interrupt=Interrupt.model_validate(fields))  # CrewAI's: the standard form in an event
    interrupt = Interrupt(
        id=str(known or fields.get("id") or "on_interrupt"),
        reason=str(fields.get("reason") or "on_interrupt"),
        message=_question_in(_read(event.value)),
        response_schema=fields.get("responseSchema") or fields.get("response_schema"),
        tool_call_id=fields.get("toolCallId") or fields.get("tool_call_id"),
        expires_at=fields.get("expiresAt") or fields.get("expires_at"),
    )
    return Checkpoint(interrupt=interrupt, legacy=event.value, is_legacy=True)


def _split(checkpoint: Checkpoint, calls: Mapping[str, ToolCall]) -> list[Checkpoint]:
    """Find the actions that an interrupt is about: one question each."""
    raw = _mapping(checkpoint.raw)
    if isinstance(requests := raw.get("action_requests"), list) and requests:
        configs = {config.get("action_name"): config for config in map(_mapping, raw.get("review_configs") or ())}
        return [
            replace(
                checkpoint,
                part=part,
                action=_langchain(request, configs.get(request.get("name"), {}).get("allowed_decisions")),
            )
            for part, request in enumerate(map(_mapping, requests))
        ]
    if raw.get("type") == "tool_approval" and isinstance(raw.get("args"), dict):
        return [replace(checkpoint, action=_langchain(raw, None))]
    return [replace(checkpoint, action=_approval(checkpoint.interrupt, calls))]


def _langchain(request: Mapping[str, Any], allowed: Sequence[str] | None) -> Action:
    may_edit = allowed is None or "edit" in allowed
    return Action(name=str(request.get("name")), args=dict(request["args"]), told="decision", may_edit=may_edit)


def _approval(interrupt: Interrupt, calls: Mapping[str, ToolCall]) -> Action | None:
    """The tool call that an interrupt wants a yes to, if nothing else is asked."""
    schema = interrupt.response_schema
    known = _mapping(_mapping(schema).get("properties"))
    if "approved" not in known or not known.keys() <= _APPROVAL:
        return None
    call = calls.get(interrupt.tool_call_id or "")
    args = _read(call.function.arguments or "{}") if call else _mapping(interrupt.metadata).get("tool_input")
    if not isinstance(args, dict):
        return None
    name = call.function.name if call else str(_mapping(interrupt.metadata).get("tool_name"))
    return Action(name=name, args=args, told="approved", may_edit="editedArgs" in known)


def directive_of(answers: Sequence[tuple[Checkpoint, Call]]) -> Directive:
    """Return what the next run carries: every interrupt is addressed, each under its own id."""
    said: dict[str, Said] = {}
    first: dict[str, Checkpoint] = {}
    decisions: dict[str, list[Any]] = {}
    for checkpoint, call in answers:
        one = checkpoint.said(call)
        if one is None:
            continue
        key = checkpoint.interrupt.id
        first.setdefault(key, checkpoint)
        if "action_requests" in _mapping(checkpoint.raw):
            decisions.setdefault(key, []).append(one.payload)
            one = Said("resolved", {"decisions": decisions[key]})
        said[key] = one
    if not said:
        return Directive()
    if all(checkpoint.is_legacy for checkpoint in first.values()) or _needs_a_map(first.values(), said.values()):
        return Directive(forwarded={"command": _command(first, said)})
    return Directive(
        resume=[ResumeEntry(interrupt_id=key, status=one.status, payload=one.payload) for key, one in said.items()]
    )


def _needs_a_map(checkpoints: Iterable[Checkpoint], said: Iterable[Said]) -> bool:
    """Whether LangGraph's adapter would lose the answers of a ``resume``: it has no form for several, nor for None."""
    payloads = [one.payload for one in said]
    return all(checkpoint.is_langgraph for checkpoint in checkpoints) and (len(payloads) > 1 or payloads == [None])


def _command(first: Mapping[str, Checkpoint], said: Mapping[str, Said]) -> dict[str, Any]:
    """LangGraph's own command: its map from an interrupt's id to the answer, so that none reaches another question.

    Without ids (an old LangGraph) the value stands alone.
    """
    values = {key: one.payload for key, one in said.items()}
    events = [checkpoint.legacy for checkpoint in first.values() if checkpoint.is_legacy]
    about = {"interruptEvent": events[0] if len(events) == 1 else events} if events else {}
    if all(map(_is_langgraph_id, values)):
        return {"resume": values, **about}
    return {"resume": next(iter(values.values())) if len(values) == 1 else list(values.values()), **about}


def _is_langgraph_id(text: str) -> bool:
    return len(text) == 32 and all(character in "0123456789abcdef" for character in text)


# -- what it is about, in words ---------------------------------------------------------------------------------


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _read(value: object) -> Any:
    """LangGraph's adapter sends what is no text as JSON text."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return read_json(value)
    except ValueError:
        return value


def _question_in(raw: object) -> str | None:
    if isinstance(raw, str):
        return raw
    found = (_mapping(raw).get(key) for key in _QUESTIONS)
    return next((text for text in found if isinstance(text, str) and text.strip()), None)


def _repeats(message: str, args: dict[str, Any]) -> bool:
    """Whether a message holds the arguments once more, as Python or JSON writes them."""
    dense = "".join(message.split())
    return any("".join(text.split()) in dense for text in (str(args), json.dumps(args, ensure_ascii=False)))


def _why_not(call: Call) -> str:
    return call.reason or f"The user has not approved this ({call.outcome})."


def _schema_of(value: object) -> dict[str, Any]:
    """A schema for values like this one, to draw and check an edit of it."""
    match value:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer"}
        case float():
            return {"type": "number"}
        case str():
            return {"type": "string"}
        case dict():
            properties = {key: _schema_of(part) for key, part in value.items()}
            return {"type": "object", "properties": properties, "required": list(value)}
        case list():
            parts = [_schema_of(part) for part in value]
            return {"type": "array", "items": parts[0] if parts and all(it == parts[0] for it in parts) else {}}
    return {}
