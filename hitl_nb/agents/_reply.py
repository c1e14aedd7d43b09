"""A model's reply through litellm while it streams: its words, what it thought, its calls, and how it ended.

Reasoning models want back what they thought between a call and its result, word for word, or refuse the thread for
ever; each in a form of its own: Anthropic its signed blocks, DeepSeek `reasoning_content`, OpenRouter
`reasoning_details`, Gemini the signatures on its tool calls. Here this is what litellm calls it.

litellm lets two things through only where they come beside others (1.110): `reasoning_details` and a `refusal`. So the
stream below it is looked at, too.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from hitl_nb.agents._call_assembler import CUT

Fields = dict[str, object]
"""Part of a message in OpenAI's form."""

OF_MESSAGES = ("reasoning_content", "thinking_blocks", "reasoning_details", "reasoning_items")
OF_CALLS = ("extra_content", "provider_specific_fields")
"""What of a message, and of a call in it, is its provider's."""

FINISHED = "finish_reason"
"""The name of the `CUSTOM` event that says how a reply ended, where that is unusual."""

EMPTY = "empty"
"""Its value where nothing was said, and nothing called."""

UNUSUAL = frozenset({*CUT, EMPTY})
"""The values that it may have."""


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
        self.finish_reason = field_of(choice, "finish_reason") or self.finish_reason
        return self.hear(field_of(choice, "delta"))

    def hear(self, delta: Any) -> "Heard":
        """Take a delta, or a whole message; gives what is new in it."""
        if content := field_of(delta, "content"):
            self._words.append(content)
        pieces = [(piece, self._feed_call(piece)) for piece in field_of(delta, "tool_calls") or ()]
        if items := field_of(delta, "reasoning_items"):
            self._items += items
        special = field_of(delta, "provider_specific_fields")
        if isinstance(special, dict):
            self._signatures += special.get("thought_signatures") or ()
        blocks = field_of(delta, "thinking_blocks") or ()
        text = field_of(delta, "reasoning_content")
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
        index = field_of(piece, "index")
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
    found = {key: message[key] for key in (*OF_MESSAGES, "extra_content") if message.get(key)}
    special = message.get("provider_specific_fields")
    signed = {key: it for key, it in special.items() if "signature" in key and it} if isinstance(special, dict) else {}
    return {**found, **({"provider_specific_fields": signed} if signed else {})}


def extra_of(piece: object) -> Fields:
    """Return what a fragment of a call says that goes back with the call."""
    found: Fields = {}
    for place in (piece, field_of(piece, "function")):
        for key in OF_CALLS:
            if (value := field_of(place, key)) and isinstance(value, dict):
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
        choices = field_of(chunk, "choices")
        delta = field_of(choices[0], "delta") if choices else None
        if isinstance(details := field_of(delta, "reasoning_details"), list):
            self.reply.see(details)
            self.details += details
        if isinstance(refusal := field_of(delta, "refusal"), str) and refusal:
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


def field_of(thing: object, name: str) -> Any:
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
