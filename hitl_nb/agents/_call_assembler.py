"""The tool calls of a model that does not write clean ones: streamed fragments → whole calls, and broken arguments.

A reply comes in pieces: some text, a name, eight characters of arguments. Which call a piece belongs to is
said by `index` and `id`, and providers leave out, repeat or reuse both: Mistral sends no index, Ollama the index 0 for
every call, Gemini the id `""`; some give id and name with every fragment, or the whole call a second time at the end
(litellm#20480); a token limit cuts the last call. A person must never be asked a question that two calls were mixed
into. So a call is put right where its fragments leave no doubt, and otherwise handed on as text that is *not* JSON:
the session refuses it, and the model reads why.

But providers look at old calls again in every request (OpenAI refuses a nameless one, Anthropic's arguments are
parsed), and a refused call must not make the thread unusable for good: so it is made presentable.
"""

import json
import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ag_ui.core import (
    AssistantMessage,
    Event,
    Message,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

from hitl_nb._encoding import whole_text
from hitl_nb._tools import UNNAMED_TOOL

INVALID_JSON = "INVALID_JSON"
"""The key under which a model finds what it wrote, when that is not JSON (as in Pydantic AI)."""

MIXED_UP = " <fragments of this call and of another one cannot be told apart>"
"""Behind the arguments of such a call, so that they are no JSON, whatever they were."""

_MARK = re.compile(r'\\.|["\\{}\[\]]', re.DOTALL)


class Brackets:
    """JSON text that comes in fragments, and where it has closed what it opened.

    Each character is looked at once, and copied once: parsing or joining the text again for every fragment would be
    quadratic in its length.

    Attributes:
        closed_at: The position behind the first complete object or array, or None. It says that the brackets
            match, not that the text between them is valid.
        blank: Whether nothing but white space has come.
    """

    def __init__(self) -> None:
        self.closed_at: int | None = None
        self.blank = True
        self._fragments: list[str] = []
        self._length = 0
        self._new: list[str] = []
        self._depth = 0
        self._quoted = False
        self._escape = ""
        """A backslash at the end: what it escapes comes with the next fragment."""

    @property
    def text(self) -> str:
        """All of it so far; joined when somebody looks."""
        if len(self._fragments) > 1:
            self._fragments = ["".join(self._fragments)]
        return self._fragments[0] if self._fragments else ""

    @property
    def head(self) -> str:
        """The text up to the end of the first complete object."""
        return self.text[: self.closed_at]

    @property
    def extra(self) -> str:
        """What came after that."""
        return "" if self.closed_at is None else self.text[self.closed_at :]

    @property
    def unclosed(self) -> bool:
        """Whether something is open still: the rest of it is missing, or somewhere else."""
        return self.closed_at is None and not self.blank

    def feed(self, fragment: str) -> None:
        """Add a fragment."""
        self._fragments.append(fragment)
        self.blank = self.blank and not fragment.strip()
        if self.closed_at is None:
            end = self._end_in(fragment)
            self._new.append(fragment[:end])
            self.closed_at = None if end is None else self._length + end
        self._length += len(fragment)

    def take(self) -> str:
        """Return what is new of `head` since the last time."""
        new = "".join(self._new)
        self._new.clear()
        return new

    def _end_in(self, fragment: str) -> int | None:
        """Where in the fragment the first complete object ends, if it does."""
        before, text = len(self._escape), self._escape + fragment
        self._escape = ""
        for match in _MARK.finditer(text):
            mark = match.group()
            if mark == "\\" and self._quoted:
                self._escape = mark
            elif mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted and mark in "{[":
                self._depth += 1
            elif not self._quoted and mark in "}]":
                self._depth -= 1
                if self._depth == 0:
                    return match.end() - before
        return None


def unclosed(text: str) -> bool:
    """Return whether a whole text opens something that it does not close."""
    brackets = Brackets()
    brackets.feed(text)
    return brackets.unclosed


def presentable(messages: Iterable[Message]) -> list[Message]:
    """Return the history with every call named and its arguments a JSON object; whole calls stay untouched."""
    return [
        message.model_copy(update={"tool_calls": [presentable_call(call) for call in message.tool_calls]})
        if isinstance(message, AssistantMessage) and message.tool_calls
        else message
        for message in messages
    ]


def presentable_call(call: ToolCall) -> ToolCall:
    """Return the call itself where every provider takes it, else a copy that they take."""
    name, arguments = sent_name(call.function.name), sent_arguments(call.function.arguments)
    if (name, arguments) == (call.function.name, call.function.arguments):
        return call
    function = call.function.model_copy(update={"name": name, "arguments": arguments})
    return call.model_copy(update={"function": function})


_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")


def sent_name(name: str) -> str:
    """Return a tool's name as every provider takes it: 1 to 64 ASCII letters, digits, ``_`` and ``-``."""
    return _NO_NAME.sub("_", name)[:64] or UNNAMED_TOOL


_HALF_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def sent_arguments(arguments: str) -> str:
    """Return the arguments of a call as every provider takes them: a JSON object, of text that can be sent."""
    if not arguments.strip():
        return "{}"
    arguments = whole_text(arguments)
    try:
        value = json.loads(arguments, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        return json.dumps({INVALID_JSON: arguments}, ensure_ascii=False)
    # An escaped half of a pair is a legal text, and an error for whoever parses it and sends it on.
    return whole_text(json.dumps(value, ensure_ascii=False)) if _HALF_ESCAPE.search(arguments) else arguments


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


CUT = ("length", "content_filter")
"""The finish reasons that say: there would have been more."""

_CUT_OFF = " <cut off at the token limit, before the arguments>"


def fresh_call_id() -> str:
    """Return an id that no other call has. OpenAI takes 40 characters at most."""
    return f"call_{uuid.uuid4().hex}"


@dataclass(frozen=True, kw_only=True)
class Fragment:
    """What one chunk says about one call; an empty string means that it says nothing."""

    index: int | None = None
    """The provider's place for the call."""

    id: str = ""
    """The provider's id."""

    name: str = ""
    """The tool, or a part of its name."""

    arguments: str = ""
    """A piece of the JSON text."""

    extra: Mapping[str, object] = field(default_factory=dict)
    """What else the provider says about the call and wants back with it, as Gemini its signatures."""


@dataclass(kw_only=True, eq=False)
class _Call:
    id: str
    provider_id: str
    name: str = ""
    held: bool = False
    """Perhaps a repetition of an earlier call: nothing of it is shown before the end."""
    shadowed: bool = False
    """It began at the place of a call that was not complete: what comes there without an id may be either's."""
    mixed_up: bool = False
    started: bool = False
    sent: int = 0
    brackets: Brackets = field(default_factory=Brackets)
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return self.brackets.closed_at is not None

    def repeats(self, other: "_Call") -> bool:
        """Return whether the other call is this one, sent a second time."""
        same_identity = self.provider_id == other.provider_id and self.name == other.name
        return same_identity and self.whole and _equal_json(self.brackets.head, other.brackets.head)


class CallAssembler:
    """Takes the fragments of one reply and gives AG-UI events, the arguments as they grow.

    Args:
        parent: The id of the assistant message that makes the calls.
        used: Ids of calls that the thread has already.
        tools: The names that the model was told; a name that comes in pieces is recognised by them.

    ::

        assembler = CallAssembler("msg_1", used=(), tools=["book"])
        for piece in pieces:
            name, arguments = piece.function.name or "", piece.function.arguments or ""
            fragment = Fragment(index=piece.index, id=piece.id or "", name=name, arguments=arguments)
            yield from assembler.feed(fragment)
        yield from assembler.finish("tool_calls")
    """

    def __init__(self, parent: str, used: Iterable[str], tools: Collection[str]) -> None:
        self._parent = parent
        self._used = set(used)
        self._tools = tools
        self._calls: list[_Call] = []
        self._at: dict[int | None, _Call] = {}

    @property
    def ids(self) -> list[str]:
        """The ids of the calls that were announced, in call order."""
        return [call.id for call in self._calls if call.started]

    @property
    def extras(self) -> dict[str, dict[str, object]]:
        """The id of each call that was announced → what its provider wants back with it, if anything."""
        return {call.id: call.extra for call in self._calls if call.started and call.extra}

    def feed(self, fragment: Fragment) -> Iterator[Event]:
        """Take one fragment; yields START and ARGS events of its call as far as they are certain."""
        call = self._call_of(fragment)
        call.brackets.feed(fragment.arguments)
        call.extra.update(fragment.extra)
        if call.started or (call.name and not call.brackets.blank and not call.held):
            yield from self._show(call, call.brackets.take())

    def finish(self, finish_reason: str | None) -> Iterator[Event]:
        """End the reply: yields what is left of every call, and END for each.

        Args:
            finish_reason: The provider's; ``"length"``, ``"content_filter"``, or None at all, means that the last call
                may have been cut.
        """
        cut = finish_reason in (None, *CUT)
        if cut and self._calls and self._calls[-1].brackets.blank:
            self._calls[-1].brackets.feed(_CUT_OFF)
        for position, call in enumerate(self._calls):
            if call.held and any(call.repeats(other) for other in self._calls[:position]):
                continue
            yield from self._show(call, self._final_text(call)[call.sent :])
            yield ToolCallEndEvent(tool_call_id=call.id)

    def _final_text(self, call: _Call) -> str:
        head, extra = call.brackets.head, call.brackets.extra
        text = head if _only_repeats(head, extra) else call.brackets.text
        return text + MIXED_UP if call.mixed_up else text

    def _show(self, call: _Call, new: str) -> Iterator[Event]:
        if not call.started:
            call.started = True
            name = call.name or UNNAMED_TOOL
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=name, parent_message_id=self._parent)
        if new:
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=new)
            call.sent += len(new)

    # -- which call a fragment belongs to ---------------------------------------------------------------------

    def _call_of(self, fragment: Fragment) -> _Call:
        latest = self._latest(fragment.index)
        call = self._by_id(fragment, latest) if fragment.id else self._by_place(fragment, latest)
        if not call.name or self._is_rest_of_name(call, fragment.name):
            call.name += fragment.name
        elif fragment.name and fragment.name != call.name:
            call.mixed_up = True
        return call

    def _latest(self, index: int | None) -> _Call | None:
        if index is None:
            return self._calls[-1] if self._calls else None
        return self._at.get(index)

    def _by_id(self, fragment: Fragment, latest: _Call | None) -> _Call:
        if latest is not None and latest.provider_id == fragment.id:
            return latest
        known = next((call for call in self._calls if call.provider_id == fragment.id), None)
        if known is not None:
            # A place of its own, yet an id that is taken: two calls under one id, or one call sent twice.
            return self._begin(fragment, latest, held=True) if latest is None and fragment.name else known
        if latest is None or latest.provider_id or (latest.whole and fragment.arguments):
            return self._begin(fragment, latest)
        if latest.name and fragment.name not in ("", latest.name):
            return self._begin(fragment, latest)
        latest.provider_id = fragment.id
        if not latest.started:
            latest.id = self._unused(fragment.id)
        return latest

    def _by_place(self, fragment: Fragment, latest: _Call | None) -> _Call:
        if latest is None:
            return self._begin(fragment, latest)
        if fragment.name and latest.name and not self._is_rest_of_name(latest, fragment.name):
            again = fragment.name == latest.name
            if not again or (latest.whole and fragment.arguments.strip()):
                return self._begin(fragment, latest, held=again)
        if latest.shadowed and not fragment.name and fragment.arguments:
            latest.mixed_up = True
        return latest

    def _begin(self, fragment: Fragment, latest: _Call | None, *, held: bool = False) -> _Call:
        call = _Call(
            id=self._unused(fragment.id),
            provider_id=fragment.id,
            held=held,
            shadowed=latest is not None and (latest.shadowed or not latest.whole),
        )
        self._calls.append(call)
        self._at[fragment.index] = call
        return call

    def _is_rest_of_name(self, call: _Call, name: str) -> bool:
        begun = bool(name) and call.brackets.blank and call.name not in self._tools
        return begun and call.name + name in self._tools

    def _unused(self, provider_id: str) -> str:
        call_id = provider_id if provider_id and provider_id not in self._used else fresh_call_id()
        self._used.add(call_id)
        return call_id


def _only_repeats(head: str, extra: str) -> bool:
    """Return whether the text behind a complete object is that object again: one call, sent twice (litellm#20480)."""
    if not head:
        return False
    decoder, rest = json.JSONDecoder(), extra.strip()
    try:
        first = json.loads(head)
        while rest:
            again, end = decoder.raw_decode(rest)
            if again != first:
                return False
            rest = rest[end:].lstrip()
    except (ValueError, RecursionError):
        return False
    return True


def _equal_json(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):
        return False
