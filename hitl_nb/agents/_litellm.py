"""A model through litellm: what it thought goes back to it, and what is sent passes the strictest provider.

Reasoning models want back what they thought between a call and its result, word for word, or refuse the thread for
ever; each in a form of its own: Anthropic its signed blocks, DeepSeek `reasoning_content`, OpenRouter
`reasoning_details`, Gemini the signatures on its tool calls. Here this is what litellm calls it, kept sealed with the
message, or the call, that it belongs to: AG-UI's `encryptedValue`, which nobody reads on the way.

litellm lets two things through only where they come beside others (1.110): `reasoning_details` and a `refusal`. So the
stream below it is looked at, too.

A Flow calls litellm itself. Its streams and its requests are reached for as long as it runs, in its context alone:
the first where `copilotkit_stream` begins to iterate, the second by a hook of litellm's for this.
"""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, NamedTuple, Protocol

from ag_ui.core import AssistantMessage, Message

from hitl_nb._encoding import whole_text
from hitl_nb.agents._call_assembler import CUT, sent_arguments, sent_name

Fields = dict[str, object]
"""Part of a message in OpenAI's form."""

_OF_MESSAGES = ("reasoning_content", "thinking_blocks", "reasoning_details", "reasoning_items")
_OF_CALLS = ("extra_content", "provider_specific_fields")
_WANTS_NO_TEXT = frozenset({"groq", "mistral", "cerebras"})
"""Providers that refuse `reasoning_content`, although litellm makes it out of what they stream."""

_NOT_SENT = frozenset({"id", "encrypted_value", "encryptedValue", "metadata", "subagent_run_id", "subagentRunId"})
"""Fields of AG-UI's that strict providers answer with 400."""

FOR_PEOPLE = ("reasoning", "activity")
"""Roles that no provider knows."""


# -- sealed ---------------------------------------------------------------------------------------------------------


def sealed(provider: str, fields: Mapping[str, object]) -> str | None:
    """Return the fields as a text to keep with a message or a call, None if there are none."""
    return json.dumps({"litellm": provider, "fields": fields}) if fields else None


def unsealed(value: object, provider: str) -> Fields:
    """Return the fields again; none where somebody else has sealed them, or they are another provider's."""
    try:
        data = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return {}
    if not isinstance(data, dict) or data.get("litellm") != provider or not isinstance(data.get("fields"), dict):
        return {}
    fields = {key: it for key, it in data["fields"].items() if key in (*_OF_MESSAGES, *_OF_CALLS)}
    if provider in _WANTS_NO_TEXT:
        fields.pop("reasoning_content", None)
    return fields


FINISHED = "finish_reason"
"""The name of the `CUSTOM` event that says how a reply ended, where that is unusual."""

EMPTY = "empty"
"""Its value where nothing was said, and nothing called."""

UNUSUAL = frozenset({*CUT, EMPTY})
"""The values that it may have."""


# -- a reply while it streams ---------------------------------------------------------------------------------------


class Heard(NamedTuple):
    """What one chunk has brought."""

    thought: str
    """New words of its thoughts, for people."""

    words: str
    """New words."""

    pieces: "list[tuple[Any, Fields]]"
    """Fragments of calls, each with what of it goes back with the call."""


_NOTHING = Heard("", "", [])


class Reply:
    """What one reply of a model has brought so far, beside its words and calls.

    Attributes:
        finish_reason: The provider's, once it has come.
        calls: The id that the provider gave a call → the fields that go back with it.
    """

    def __init__(self, provider: str = "") -> None:
        self.provider = provider
        self.finish_reason: str | None = None
        self.calls: dict[str, Fields] = {}
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._blocks: list[Fields] = []
        self._details: list[Fields] = []
        self._items: list[object] = []
        self._signatures: list[object] = []
        self._at: dict[object, str] = {}

    @property
    def said(self) -> str:
        """Its words."""
        return "".join(self._words)

    @property
    def fields(self) -> Fields:
        """What goes back with the message."""
        # A block without its signature is one that was cut off; Anthropic refuses it.
        blocks = [block for block in self._blocks if block.get("signature") or "data" in block]
        found: Fields = {
            "reasoning_content": "".join(self._thoughts),
            "thinking_blocks": blocks,
            "reasoning_details": self._details,
            "reasoning_items": self._items,
            "provider_specific_fields": {"thought_signatures": self._signatures} if self._signatures else None,
        }
        return {key: value for key, value in found.items() if value}

    def feed(self, chunk: Any) -> "Heard":
        """Take a chunk of litellm's; gives what is new in it."""
        if not chunk.choices:
            return _NOTHING
        choice = chunk.choices[0]
        self.finish_reason = _field(choice, "finish_reason") or self.finish_reason
        return self.hear(_field(choice, "delta"))

    def hear(self, delta: Any) -> "Heard":
        """Take a delta, or a whole message; gives what is new in it."""
        if content := _field(delta, "content"):
            self._words.append(content)
        pieces = [(piece, self._feed_call(piece)) for piece in _field(delta, "tool_calls") or ()]
        if items := _field(delta, "reasoning_items"):
            self._items += items
        special = _field(delta, "provider_specific_fields")
        if isinstance(special, dict):
            self._signatures += special.get("thought_signatures") or ()
        blocks = _field(delta, "thinking_blocks") or ()
        text = _field(delta, "reasoning_content")
        if not isinstance(text, str):
            text = "".join(str(block.get("thinking") or "") for block in blocks) if blocks else ""
        for block in blocks:
            self._feed_block(block)
        if text:
            self._thoughts.append(text)
        return Heard(text, content or "", pieces)

    def see(self, details: Iterable[object]) -> None:
        """Take the `reasoning_details` of a chunk below litellm's."""
        for detail in details:
            if isinstance(detail, dict):
                _add_detail(self._details, detail)

    def _feed_call(self, piece: Any) -> Fields:
        index = _field(piece, "index")
        call_id = self._at[index] = piece.id or self._at.get(index, "")
        extra = extra_of(piece)
        self.calls.setdefault(call_id, {}).update(extra)
        return extra

    def _feed_block(self, block: Mapping[str, object]) -> None:
        if block.get("type") == "redacted_thinking":
            if block.get("data"):
                self._blocks.append({"type": "redacted_thinking", "data": block["data"]})
            return
        last = self._blocks[-1] if self._blocks else {}
        if last.get("type") != "thinking" or last.get("signature"):
            last = {"type": "thinking", "thinking": "", "signature": ""}
            self._blocks.append(last)
        last["thinking"] = f"{last['thinking']}{block.get('thinking') or ''}"
        last["signature"] = block.get("signature") or last["signature"]


def thoughts_of(message: Mapping[str, object]) -> Fields:
    """Return what of a message in OpenAI's form, or of a call in it, is its provider's, and not ours."""
    found = {key: message[key] for key in (*_OF_MESSAGES, "extra_content") if message.get(key)}
    special = message.get("provider_specific_fields")
    signed = {key: it for key, it in special.items() if "signature" in key and it} if isinstance(special, dict) else {}
    return {**found, **({"provider_specific_fields": signed} if signed else {})}


def extra_of(piece: object) -> Fields:
    """Return what a fragment of a call says that goes back with the call."""
    found: Fields = {}
    for place in (piece, _field(piece, "function")):
        for key in _OF_CALLS:
            if (value := _field(place, key)) and isinstance(value, dict):
                found[key] = value
    return found


_GROWS = ("text", "summary")


def _add_detail(details: list[Fields], detail: Fields) -> None:
    """Add a piece: what has the place and the kind of the last one goes on with it."""
    last = details[-1] if details else {}
    same = all(last.get(key) == detail.get(key) for key in ("type", "index"))
    if not details or not same or not any(key in detail or key in last for key in _GROWS):
        details.append(dict(detail))
        return
    for key, value in detail.items():
        known = last.get(key)
        if key in _GROWS and isinstance(known, str) and isinstance(value, str):
            last[key] = known + value
        elif value is not None:
            last[key] = value


class Listening:
    """A stream of litellm's, and what it brings beside words: the same chunks, one by one.

    A refusal, which litellm leaves out, comes as words.

    Args:
        stream: What ``acompletion(stream=True)`` has given.
        reply: What hears it; default: a new one.

    Attributes:
        reply: What has been heard so far.
        heard: What the chunk that came last has brought.
        details: The `reasoning_details` that have come, which litellm's chunks leave out; for whoever takes them away.
    """

    def __init__(self, stream: Any, reply: Reply | None = None) -> None:
        self._stream = stream
        self._refusal: list[str] = []
        self._tapped = False
        self.reply = reply or Reply(str(getattr(stream, "custom_llm_provider", None) or ""))
        self.details: list[object] = []
        self.heard = _NOTHING

    def __aiter__(self) -> "Listening":
        return self

    async def __anext__(self) -> Any:
        if not self._tapped:
            self._tap()
        chunk = await self._stream.__anext__()
        if self._refusal and chunk.choices:
            delta = chunk.choices[0].delta
            delta.content = "".join([delta.content or "", *self._refusal])
            self._refusal.clear()
        self.heard = self.reply.feed(chunk)
        return chunk

    def _tap(self) -> None:
        below = getattr(self._stream, "completion_stream", None)
        if hasattr(below, "__aiter__"):
            self._tapped = True
            self._stream.completion_stream = _Below(below, self._see)

    def _see(self, chunk: object) -> None:
        choices = _field(chunk, "choices")
        delta = _field(choices[0], "delta") if choices else None
        if isinstance(details := _field(delta, "reasoning_details"), list):
            self.reply.see(details)
            self.details += details
        if isinstance(refusal := _field(delta, "refusal"), str) and refusal:
            self._refusal.append(refusal)

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Sees(Protocol):
    def __call__(self, chunk: Any, /) -> None: ...


class _Below:
    """The provider's own chunks, each seen on its way up."""

    def __init__(self, stream: Any, see: _Sees) -> None:
        self._stream = stream
        self._chunks = aiter(stream)
        self._see = see

    def __aiter__(self) -> "_Below":
        return self

    async def __anext__(self) -> Any:
        chunk = await anext(self._chunks)
        self._see(chunk)
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def endings(replies: Iterable[Reply]) -> list[str]:
    """Return how the replies ended, where that is unusual."""
    ended = (reply for reply in replies if reply.finish_reason is not None)
    found = (reply.finish_reason if reply.said or reply.calls else EMPTY for reply in ended)
    return [ending for ending in found if ending in UNUSUAL]


# -- a request ------------------------------------------------------------------------------------------------------


class Thoughts:
    """What was thought in a thread, found by the message that it belongs to: its words and calls.

    A Flow may build the messages of its requests itself, and leaves out what it does not know.

    Args:
        messages: The thread so far.

    Attributes:
        provider: Who was asked last.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._sealed: dict[object, tuple[str | None, dict[str, str]]] = {}
        self._heard: list[Reply] = []
        self.provider = ""
        for message in messages:
            if isinstance(message, AssistantMessage):
                calls = {it.id: it.encrypted_value for it in message.tool_calls or () if it.encrypted_value}
                if message.encrypted_value or calls:
                    key = _key(message.content or "", [call.id for call in message.tool_calls or ()])
                    self._sealed[key] = message.encrypted_value, calls

    def hear(self, reply: Reply) -> None:
        """Take note of a reply, which may still be streaming."""
        self._heard.append(reply)

    @property
    def heard(self) -> list[Reply]:
        """The replies of this run, in order."""
        return self._heard

    @staticmethod
    def role(message: object) -> object:
        """Return the role of a message in OpenAI's form."""
        return _field(message, "role")

    def of(self, message: object) -> tuple[str | None, dict[str, str]]:
        """Return what is sealed for a message in OpenAI's form, and for its calls by their ids."""
        calls = [_field(call, "id") or "" for call in _field(message, "tool_calls") or ()]
        content = _field(message, "content")
        key = _key(content if isinstance(content, str) else "", calls)
        own = {name: value for name in _OF_MESSAGES if (value := _field(message, name))}
        of_own = {_field(call, "id"): extra_of(call) for call in _field(message, "tool_calls") or ()}
        if own or any(of_own.values()):  # it was not streamed, and came with all that there is
            of_calls = {it: text for it, fields in of_own.items() if (text := sealed(self.provider, fields))}
            return sealed(self.provider, own), of_calls
        for reply in reversed(self._heard):
            if key == _key(reply.said, list(reply.calls)):
                of_calls = {it: text for it, fields in reply.calls.items() if (text := sealed(reply.provider, fields))}
                return sealed(reply.provider, reply.fields), of_calls
        return self._sealed.get(key, (None, {}))


def _key(text: str, calls: list[str]) -> object:
    # What was said beside a call may be another in the history; its id is not.
    return tuple(calls) if calls else text


def _field(thing: object, name: str) -> Any:
    """What a dict, or an object of litellm's or openai's, has under a name; None if it has nothing.

    A pydantic model is asked where it keeps its fields: its own ``__getattr__`` takes 3 µs to say that there is none,
    and of each fragment of a call there are a dozen that it has not.
    """
    if isinstance(thing, dict):
        return thing.get(name)
    try:
        more = thing.__pydantic_extra__  # type: ignore[attr-defined]  # a model has it
    except AttributeError:
        return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
    fields = thing.__dict__
    if name in fields:
        return fields[name]
    return more.get(name) if more else None


def sendable(messages: Iterable[object], provider: str, thoughts: Thoughts) -> list[Fields]:
    """Return messages in OpenAI's form as every provider takes them, each with what was thought for it.

    Args:
        messages: Dicts, or litellm's objects.
        provider: Who gets them, by litellm's name.
        thoughts: Those of the thread.
    """
    return [_sendable(message, provider, thoughts) for message in messages if _field(message, "role") not in FOR_PEOPLE]


def _sendable(message: Any, provider: str, thoughts: Thoughts) -> Fields:
    given: dict[str, Any] = dict(message) if isinstance(message, Mapping) else message.model_dump()
    sent: Fields = {key: _mended(it) for key, it in given.items() if key not in _NOT_SENT and it is not None}
    if given.get("role") != "assistant":
        return sent
    of_message, of_calls = thoughts.of(given)
    if calls := given.get("tool_calls"):
        sent["tool_calls"] = [_sendable_call(call, provider, of_calls) for call in calls]
    else:
        sent.pop("tool_calls", None)
        sent.setdefault("content", "")
    kept = unsealed(given.get("encrypted_value") or of_message, provider)
    return taken_by(provider, {**sent, **{key: value for key, value in kept.items() if not sent.get(key)}})


def taken_by(provider: str, message: Fields) -> Fields:
    """Return a message without the thoughts that this provider refuses."""
    if provider not in _WANTS_NO_TEXT or "reasoning_content" not in message:
        return message
    return {key: value for key, value in message.items() if key != "reasoning_content"}


def _sendable_call(call: Any, provider: str, of_calls: Mapping[str, str]) -> Fields:
    given: dict[str, Any] = dict(call) if isinstance(call, Mapping) else call.model_dump()
    function = given.get("function") or {}
    function = dict(function) if isinstance(function, Mapping) else function.model_dump()
    name, arguments = sent_name(function.get("name") or ""), sent_arguments(function.get("arguments") or "")
    kept = unsealed(given.get("encrypted_value") or of_calls.get(given.get("id") or ""), provider)
    sent = {key: it for key, it in given.items() if key not in _NOT_SENT - {"id"} and it is not None}
    return {**kept, **sent, "type": "function", "function": {"name": name, "arguments": arguments}}


def _mended(value: object) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        return [_mended(it) for it in value]
    if isinstance(value, dict):
        return {key: _mended(it) for key, it in value.items()}
    return value


# -- somebody else's calls of litellm ---------------------------------------------------------------------------------

_hearing: ContextVar[Thoughts | None] = ContextVar("hitl_nb_thoughts", default=None)


@contextmanager
def hearing(litellm: ModuleType, thoughts: Thoughts) -> Iterator[None]:
    """Reach the streams and the requests of this context, and of what it starts."""
    _install(litellm)
    token = _hearing.set(thoughts)
    try:
        yield
    finally:
        _hearing.reset(token)


def provider_of(litellm: ModuleType, model: object, **where: Any) -> str:
    """Return who is asked, by litellm's name; empty if it cannot tell."""
    name, aliases = str(model), litellm.model_alias_map
    try:
        # Not `get`: while a session is recorded, or replayed, every name is an alias, and only litellm's own look-up
        # is told so.
        name = aliases[name] if name in aliases else name  # noqa: SIM401
        provider: str = litellm.get_llm_provider(name, **where)[1]
    except Exception:  # it raises what its callers are to see, of many types
        return ""
    return provider


def _install(litellm: ModuleType) -> None:
    """Put our hook and our ears into litellm, once: without a run in the context they do nothing."""
    if any(getattr(it, "is_hitl_nb", False) for it in litellm.callbacks):
        return
    logger: Any = litellm.integrations.custom_logger.CustomLogger
    wrapper: Any = litellm.litellm_core_utils.streaming_handler.CustomStreamWrapper

    class Hook(logger):  # type: ignore[misc]  # litellm is untyped
        is_hitl_nb = True

        async def async_pre_call_deployment_hook(self, kwargs: Any, call_type: Any) -> Any:
            thoughts = _hearing.get()
            if thoughts is None or not isinstance(kwargs.get("messages"), list):
                return None
            where = {key: kwargs.get(key) for key in ("custom_llm_provider", "api_base")}
            thoughts.provider = provider_of(litellm, kwargs.get("model"), **where)
            return {**kwargs, "messages": sendable(kwargs["messages"], thoughts.provider, thoughts)}

    litellm.callbacks.append(Hook())
    begin = wrapper.__aiter__
    if not hasattr(begin, "is_hitl_nb"):

        def listen(stream: Any) -> AsyncIterator[Any]:
            thoughts = _hearing.get()
            if thoughts is None:
                chunks: AsyncIterator[Any] = begin(stream)
                return chunks
            listening = Listening(stream)
            thoughts.hear(listening.reply)
            return listening

        listen.is_hitl_nb = True  # type: ignore[attr-defined]
        wrapper.__aiter__ = listen
