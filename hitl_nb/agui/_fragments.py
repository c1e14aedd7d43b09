"""What comes in fragments, cut where a provider likes: the arguments of a tool call, and the halves of an emoji.

The value of arguments that are still being written is for looking at only. A preview is what the text surely says so
far; the decision is bound to a strict parse and the validation of the whole text, and nothing can be confirmed before
that.

Why a reparse with a back-off, not a push parser: one parse is a few microseconds of Rust, and when it runs
only after the text has grown by a share, all parses together read each character at most 21 times however
long the text gets; `tests/bench/partial_args.py` measures it.

A cut may fall between the halves of a surrogate pair. JSON carries a half, UTF-8 does not: one of them in a history,
and no provider takes the thread any more. So halves that belong together are joined across fragments, and one that
stays alone becomes U+FFFD, before anybody here sees the event.
"""

import time
from collections.abc import Callable
from typing import TypeVar, cast

from ag_ui.core import (
    BaseEvent,
    Event,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    ToolCallArgsEvent,
    ToolCallEndEvent,
)
from pydantic import BaseModel
from pydantic_core import from_json

from hitl_nb._encoding import whole_text
from hitl_nb._limits import PREVIEW

_GROWTH = 0.05
_PATIENCE = 1.0  # seconds

# The start of a number is a number, too: `1` for a moment, then `12`. So a trailing run of such characters is
# held back until something ends it. The same cut keeps the `e` of an open `true` and digits at the end of an
# open string; they come with the next character.
_MAY_GO_ON = "-+0123456789.eE"


class PartialArgs:
    """Collects the fragments of one tool call's arguments and says what they amount to.

    ```python
    args = PartialArgs()
    args.feed('{"city": "Par')
    args.preview  # {"city": "Par"}
    args.feed('is", "days": 1')
    args.finish()  # {"city": "Paris"}: the number may go on
    ```

    Display only: a strict parse of `text` gates the answer.

    Args:
        clock: Seconds that only go up; `time.monotonic` unless a test brings its own.
    """

    preview: dict[str, object] | None
    """What the text surely says; None as long as that is not an object. It may lag behind the text by 5 % or
    a second, whichever is less, until `finish`; beyond `PREVIEW` characters it stays. Replaced by a new object, never
    changed."""

    characters_parsed: int
    """How many characters all parses together were given: the cost, as a number that is the same on every
    machine."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.preview = None
        self.characters_parsed = 0
        self._clock = clock
        self._text = ""
        self._fragments: list[str] = []
        self._length = 0
        self._parsed_length = 0
        self._parsed_at = clock()

    @property
    def text(self) -> str:
        """All fragments so far, joined."""
        if self._fragments:
            # Joined when somebody looks, not at each fragment: that would copy the whole text each time.
            self._text = "".join((self._text, *self._fragments))
            self._fragments.clear()
        return self._text

    def feed(self, delta: str) -> None:
        """Take the next fragment; parses when enough of the text is new, or a second has passed."""
        self._fragments.append(delta)
        self._length += len(delta)
        new = self._length - self._parsed_length
        if new and (new >= _GROWTH * self._length or self._clock() - self._parsed_at >= _PATIENCE):
            self._parse()

    def finish(self) -> dict[str, object] | None:
        """Bring the preview up to date with the whole text, and return it."""
        if self._parsed_length != self._length:
            self._parse()
        return self.preview

    def _parse(self) -> None:
        if self._length > PREVIEW:
            return  # what is that long is shown when it is complete; a parse would take longer than a fragment
        self._parsed_length, self._parsed_at = self._length, self._clock()
        known = self.text.rstrip(_MAY_GO_ON)
        self.characters_parsed += len(known)
        try:
            value = from_json(known, allow_partial="trailing-strings")
        except ValueError:
            # Nothing yet, or no JSON: what was shown stays; the strict parse at the end says what is wrong.
            return
        self.preview = value if isinstance(value, dict) else None


# -- texts that can be sent -------------------------------------------------------------------------------------------

_T = TypeVar("_T")

_Key = tuple[str, str]


class WholeTexts:
    """Follows one stream of whole events, and gives them with texts that can be sent.

    ```python
    texts = WholeTexts()
    for event in events:
        for mended in texts.feed(event):
            conversation.apply(mended)
    ```
    """

    def __init__(self) -> None:
        self._held: dict[_Key, str] = {}

    def feed(self, event: Event) -> list[Event]:
        """Return the event, mended; none where all of it is still to come, two where something ends with a half."""
        match event:
            case TextMessageContentEvent() | ReasoningMessageContentEvent():
                return self._grow(event, (_kind(event), event.message_id))
            case ToolCallArgsEvent():
                return self._grow(event, ("call", event.tool_call_id))
            case TextMessageEndEvent() if half := self._held.pop(("text", event.message_id), ""):
                return [TextMessageContentEvent(message_id=event.message_id, delta=whole_text(half)), event]
            case ReasoningMessageEndEvent() if half := self._held.pop(("reasoning", event.message_id), ""):
                return [ReasoningMessageContentEvent(message_id=event.message_id, delta=whole_text(half)), event]
            case ToolCallEndEvent() if half := self._held.pop(("call", event.tool_call_id), ""):
                return [ToolCallArgsEvent(tool_call_id=event.tool_call_id, delta=whole_text(half)), event]
        try:
            return [mended(event)]
        except RecursionError:  # so deep that others refuse it
            return [event]

    def _grow(
        self, event: TextMessageContentEvent | ReasoningMessageContentEvent | ToolCallArgsEvent, key: _Key
    ) -> list[Event]:
        if event.delta.isascii() and not self._held:
            return [event]
        text = self._held.pop(key, "") + event.delta
        if text[-1:] >= "\ud800" and text[-1:] <= "\udbff":
            self._held[key], text = text[-1], text[:-1]
        text = whole_text(text)
        if text == event.delta:
            return [event]
        return [event.model_copy(update={"delta": text})] if text else []


def _kind(event: BaseEvent) -> str:
    return "text" if isinstance(event, TextMessageContentEvent) else "reasoning"


def mended(value: _T) -> _T:
    """Return plain data or a model with whole texts; the value itself where it has only such."""
    mend = _MENDS.get(type(value))
    if mend is not None:
        return cast("_T", mend(value))
    if isinstance(value, BaseModel):
        found = {name: new for name, it in value.__dict__.items() if (new := mended(it)) is not it}
        return value.model_copy(update=found) if found else value
    return value


def _list(value: list[object]) -> list[object]:
    found = [mended(it) for it in value]
    return found if any(new is not it for new, it in zip(found, value, strict=True)) else value


def _dict(value: dict[object, object]) -> dict[object, object]:
    found = {mended(key): mended(it) for key, it in value.items()}
    same = found.keys() == value.keys() and all(found[key] is it for key, it in value.items())
    return value if same else found


_MENDS: dict[type, Callable[..., object]] = {str: whole_text, list: _list, dict: _dict}
