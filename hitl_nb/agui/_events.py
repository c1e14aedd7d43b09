"""From dicts off the wire to typed, whole events, or a loud refusal.

The boundary the AG-UI clients call *enforcement*: what the protocol does not know is let pass (a newer agent
must not break an older client), what it does know has to be right (guessing what a broken field meant would
be inventing).

Then the short form of a stream is written out. A producer may send `…_CHUNK` events, where the first one names an id
and the following ones need not; everything behind this module sees whole events only: START, CONTENT or ARGS, END.
Each producer, the parent agent and every subagent, has a lane of its own with at most one thing under
construction: in one lane for all, two subagents that stream at the same time would close each other's
messages. The rules are those of the released web client, `transformChunks` of @ag-ui/client 1.0.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from ag_ui.core import (
    BaseEvent,
    Event,
    EventType,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from pydantic import ValidationError

from hitl_nb._text import logger
from hitl_nb.errors import ProtocolError

_logger = logger("hitl_nb.agui")


def _classes() -> dict[str, type[BaseEvent]]:
    union, _ = get_args(Event)
    return {cls.model_fields["type"].default.value: cls for cls in get_args(union)}


EVENT_CLASSES = _classes()
"""Every event the installed ag-ui-protocol knows, by the wire's `type`."""


def parse_event(data: Mapping[str, object]) -> Event | None:
    """Read one event as JSON gave it: camelCase keys, `type` as the discriminator.

    Args:
        data: What JSON gave.

    Returns:
        The event; unknown properties are kept on it. None for a `type` this protocol version does not know: it
            is logged and to be skipped.

    Raises:
        ProtocolError: No `type`, or a field the protocol describes is missing or has the wrong type. The run
            cannot go on: what the field should have said is anybody's guess.
    """
    kind = data.get("type")
    if not isinstance(kind, str):
        raise ProtocolError('An event without `type` arrived; send `{"type": "RUN_STARTED", …}`.')
    cls = EVENT_CLASSES.get(kind)
    if cls is None:
        _logger.warning("Skipped an event of the unknown type `%s`", kind)
        return None
    try:
        return cast("Event", cls.model_validate(_in_whole_milliseconds(data)))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ProtocolError(
            f"`{kind}` is malformed at `{field}`: {first['msg']}; "
            "send the fields that https://docs.ag-ui.com/concepts/events lists."
        ) from error


def _in_whole_milliseconds(data: Mapping[str, object]) -> Mapping[str, object]:
    """Return an event without the fraction of its timestamp: servers in Python send `time.time() * 1000`."""
    moment = data.get("timestamp")
    if not isinstance(moment, float):
        return data
    others = {name: value for name, value in data.items() if name != "timestamp"}
    return {**others, "timestamp": round(moment)} if math.isfinite(moment) else others


_Chunk = TextMessageChunkEvent | ToolCallChunkEvent | ReasoningMessageChunkEvent
_Lane = str | None
_Fields = dict[str, object]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Shape:
    """How one kind of chunk is written out."""

    id_field: str
    start: type[BaseEvent]
    content: type[BaseEvent]
    end: type[BaseEvent]
    required: tuple[str, ...] = ()
    """Fields that the first chunk needs beside the id."""
    repeatable: tuple[str, ...] = ()
    """Fields of the first chunk that later ones may repeat, but not change."""
    implied: tuple[tuple[str, str], ...] = ()
    """Fields of START that the chunk need not say."""

    @property
    def chunk(self) -> str:
        """The chunk's `type` on the wire."""
        return str(self.start.model_fields["type"].default.value).replace("_START", "_CHUNK")


_SHAPES = {
    EventType.TEXT_MESSAGE_CHUNK: _Shape(
        id_field="message_id",
        start=TextMessageStartEvent,
        content=TextMessageContentEvent,
        end=TextMessageEndEvent,
        repeatable=("role", "name"),
        implied=(("role", "assistant"),),
    ),
    EventType.TOOL_CALL_CHUNK: _Shape(
        id_field="tool_call_id",
        start=ToolCallStartEvent,
        content=ToolCallArgsEvent,
        end=ToolCallEndEvent,
        required=("tool_call_name",),
        repeatable=("tool_call_name", "parent_message_id"),
    ),
    EventType.REASONING_MESSAGE_CHUNK: _Shape(
        id_field="message_id",
        start=ReasoningMessageStartEvent,
        content=ReasoningMessageContentEvent,
        end=ReasoningMessageEndEvent,
        implied=(("role", "reasoning"),),
    ),
}

_KNOWN = frozenset(EventType)
_CLOSES_ALL = frozenset(
    {EventType.RUN_STARTED, EventType.RUN_FINISHED, EventType.RUN_ERROR, EventType.MESSAGES_SNAPSHOT}
)
# These say nothing about the message under construction, so it goes on behind them.
_CLOSES_NOTHING = frozenset(
    {
        EventType.RAW,
        EventType.ACTIVITY_SNAPSHOT,
        EventType.ACTIVITY_DELTA,
        EventType.REASONING_ENCRYPTED_VALUE,
        EventType.SUBAGENT_STARTED,
    }
)


@dataclass(frozen=True, kw_only=True)
class _Open:
    """What one lane has under construction."""

    shape: _Shape
    id: str
    tag: dict[str, str | None]
    said: _Fields
    """The repeatable fields, as START said them."""


class ChunkExpander:
    """Turns chunks into whole events and lets all other events through.

    ```python
    expander = ChunkExpander()
    for event in events:
        for whole in expander.feed(event):
            conversation.apply(whole)
    ```
    """

    def __init__(self) -> None:
        self._lanes: dict[_Lane, _Open] = {}

    def feed(self, event: Event) -> list[Event]:
        """Return the whole events that this one stands for, in order; usually one, for a chunk up to three.

        Raises:
            ProtocolError: A chunk that cannot be placed: nothing to continue, or it contradicts the one it
                continues.
        """
        if shape := _SHAPES.get(event.type):
            return self._expand(shape, cast("_Chunk", event))
        if not self._lanes or event.type in _CLOSES_NOTHING or event.type not in _KNOWN:
            return [event]
        if event.type in _CLOSES_ALL:
            return [*self.finish(), event]
        return [*self._close(getattr(event, "subagent_run_id", None)), event]

    def finish(self) -> list[Event]:
        """Close what is under construction and return its END events.

        For a caller who knows that the producer is done, not for a stream that broke off: an END says
        "complete", and half a tool call must not look complete.
        """
        return [end for lane in list(self._lanes) for end in self._close(lane)]

    def _close(self, lane: _Lane) -> list[Event]:
        closing = self._lanes.pop(lane, None)
        if closing is None:
            return []
        return [_made(closing.shape.end, {closing.shape.id_field: closing.id, **closing.tag})]

    def _expand(self, shape: _Shape, chunk: _Chunk) -> list[Event]:
        named: str | None = getattr(chunk, shape.id_field)
        lane = self._lane(shape, named, chunk.subagent_run_id)
        current = self._lanes.get(lane)
        events: list[Event] = []
        if current is not None and current.shape is shape and named in (None, current.id):
            _check_repeats(current, chunk)
        else:
            events += self._close(lane)
            current = self._lanes[lane] = _opened(shape, chunk)
            events.append(_start(current, chunk))
        if chunk.delta is not None or chunk.raw_event is not None or (not events and _says_anything(chunk)):
            events.append(_content(current, chunk))
        elif chunk.model_extra and events:
            # Nothing else carries a property newer than this client, so START does.
            events[-1] = _start(current, chunk, extra=chunk.model_extra)
        return events

    def _lane(self, shape: _Shape, named: str | None, tag: str | None) -> _Lane:
        """Find the lane of a chunk, which may leave out its id, its tag or both."""
        if named is not None:
            holders = [lane for lane, it in self._lanes.items() if it.shape is shape and it.id == named]
            if not holders:
                return tag
            if tag not in (None, holders[0]):
                raise ProtocolError(
                    f"`{shape.chunk}` of subagent `{tag}` continues `{named}`, which somebody else opened; "
                    "use an id of its own."
                )
            return holders[0]
        if tag is not None or self._builds(None, shape):
            return tag
        lanes = [lane for lane in self._lanes if self._builds(lane, shape)]
        if len(lanes) > 1:
            raise ProtocolError(
                f"`{shape.chunk}` without id could continue {len(lanes)} open ones; send its `subagentRunId`."
            )
        return lanes[0] if lanes else None

    def _builds(self, lane: _Lane, shape: _Shape) -> bool:
        return lane in self._lanes and self._lanes[lane].shape is shape


def _made(cls: type[BaseEvent], fields: _Fields) -> Event:
    # The values stood in a valid chunk, so they are not validated a second time for each fragment.
    return cast("Event", cls.model_construct(None, **fields))


def _opened(shape: _Shape, chunk: _Chunk) -> _Open:
    for field in (shape.id_field, *shape.required):
        if getattr(chunk, field) is None:
            name = type(chunk).model_fields[field].alias
            raise ProtocolError(f"The first `{shape.chunk}` has no `{name}`; send it with the first chunk.")
    said = {field: value for field in shape.repeatable if (value := getattr(chunk, field)) is not None}
    return _Open(shape=shape, id=getattr(chunk, shape.id_field), tag=_tag(chunk), said={**dict(shape.implied), **said})


def _check_repeats(current: _Open, chunk: _Chunk) -> None:
    for field in current.shape.repeatable:
        value, said = getattr(chunk, field), current.said.get(field)
        if value is not None and value != said:
            name = type(chunk).model_fields[field].alias
            raise ProtocolError(
                f"`{current.shape.chunk}` continues `{current.id}` with `{name}` `{value}`; it was opened "
                f"with `{said}`; leave the field out."
            )


def _start(current: _Open, chunk: _Chunk, *, extra: _Fields | None = None) -> Event:
    described = {current.shape.id_field: current.id, **current.said, **current.tag, **_metadata(chunk)}
    return _made(current.shape.start, {**_beside(extra, current.shape.start), **described})


def _content(current: _Open, chunk: _Chunk) -> Event:
    fields: _Fields = {current.shape.id_field: current.id, "delta": chunk.delta or "", **(_tag(chunk) or current.tag)}
    if chunk.raw_event is not None:
        fields["raw_event"] = chunk.raw_event
    extra = _beside(chunk.model_extra, current.shape.content)
    return _made(current.shape.content, {**extra, **fields, **_metadata(chunk)})


def _says_anything(chunk: _Chunk) -> bool:
    return bool(chunk.metadata is not None or chunk.model_extra or (_tag(chunk) and chunk.subagent_run_id is None))


def _metadata(chunk: _Chunk) -> _Fields:
    return {} if chunk.metadata is None else {"metadata": chunk.metadata}


def _tag(chunk: _Chunk) -> dict[str, str | None]:
    # A null tag is illegal, which is for the verifier to say; dropped here, it would slip through.
    if "subagent_run_id" not in chunk.model_fields_set:
        return {}
    return {"subagent_run_id": chunk.subagent_run_id}


def _beside(extra: _Fields | None, cls: type[BaseEvent]) -> _Fields:
    """Return the properties newer than this client, without those that would overwrite a field of `cls`."""
    return {key: value for key, value in (extra or {}).items() if key not in cls.model_fields}


def expand_chunks(events: Iterable[Event]) -> Iterator[Event]:
    """Expand a whole stream.

    A stream that just stops leaves its last message open, as the web client does (see
    `ChunkExpander.finish`).

    Args:
        events: The stream, as it came.

    Raises:
        ProtocolError: See `ChunkExpander.feed`.
    """
    expander = ChunkExpander()
    for event in events:
        yield from expander.feed(event)
