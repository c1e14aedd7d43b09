"""Streamed fragments of tool calls → whole calls, for the ways in which providers really stream them.

A model's reply comes in pieces: some text, a name, eight characters of arguments. Which call a piece belongs to is
said by `index` and `id`, and providers leave out, repeat or reuse both: Mistral sends no index, Ollama the index 0 for
every call, Gemini the id `""`; some give id and name with every fragment, or the whole call a second time at the end
(litellm#20480); a token limit cuts the last call. A person must never be asked a question that two calls were mixed
into. So a call is put right where its fragments leave no doubt, and otherwise handed on as text that is *not* JSON:
the session refuses it, and the model reads why.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from ag_ui.core import Event, ToolCallArgsEvent, ToolCallEndEvent, ToolCallStartEvent

from hitl_nb._tools import UNNAMED_TOOL
from hitl_nb.agents._arguments import MIXED_UP, Brackets
from hitl_nb.agents._ids import fresh_call_id

_CUT_OFF = " <cut off at the token limit, before the arguments>"


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

    def feed(self, fragment: Fragment) -> Iterator[Event]:
        """Take one fragment; yields START and ARGS events of its call as far as they are certain."""
        call = self._call_of(fragment)
        call.brackets.feed(fragment.arguments)
        if call.started or (call.name and call.brackets.head.strip() and not call.held):
            yield from self._show(call, call.brackets.head)

    def finish(self, finish_reason: str | None) -> Iterator[Event]:
        """End the reply: yields what is left of every call, and END for each.

        Args:
            finish_reason: The provider's; ``"length"``, or None at all, means that the last call may have been cut.
        """
        cut = finish_reason in (None, "length")
        if cut and self._calls and not self._calls[-1].brackets.text.strip():
            self._calls[-1].brackets.text += _CUT_OFF
        for position, call in enumerate(self._calls):
            if call.held and any(call.repeats(other) for other in self._calls[:position]):
                continue
            yield from self._show(call, self._final_text(call))
            yield ToolCallEndEvent(tool_call_id=call.id)

    def _final_text(self, call: _Call) -> str:
        head, extra = call.brackets.head, call.brackets.extra
        text = head if _only_repeats(head, extra) else call.brackets.text
        return text + MIXED_UP if call.mixed_up else text

    def _show(self, call: _Call, text: str) -> Iterator[Event]:
        if not call.started:
            call.started = True
            name = call.name or UNNAMED_TOOL
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=name, parent_message_id=self._parent)
        if len(text) > call.sent:
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=text[call.sent :])
            call.sent = len(text)

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
        begun = call.name not in self._tools and not call.brackets.text
        return begun and bool(name) and call.name + name in self._tools

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
    except ValueError:
        return False
    return True


def _equal_json(one: str, other: str) -> bool:
    try:
        return bool(json.loads(one) == json.loads(other))
    except ValueError:
        return False
