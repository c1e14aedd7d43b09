"""Is this stream of events a legal one?

A person is asked on the strength of these events, so a broken stream has to stop the run, not become a
question with half of its arguments. The rules are the ones the released web client enforces, `verifyEvents`
of @ag-ui/client 1.0. Interleaving is legal, and so is opening a closed id again; whether arguments are JSON,
or a result has a call, is not looked at here.

Two ideas are checked together. *Streams*: no start of what is open, nothing for what is not open, nothing
open at the end. *Owners*: an event may carry the id of the subagent it comes from, and what one producer
opened, another must not continue, since its text would stand in the other's message. So the opener is
remembered for the whole run, also after the close (an encrypted value may come later). No tag on a
continuation means "whoever owns it".
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AssistantMessage,
    Event,
    EventType,
    Message,
    MessagesSnapshotEvent,
    ReasoningEncryptedValueEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import BaseModel

from hitl_nb.errors import ProtocolError

_Kind = Literal["message", "tool call", "activity", "reasoning"]
"""Ids are unique within a kind only: a message and a tool call may share one."""

_Key = tuple[_Kind, str]
_KIND_OF_ROLE: dict[str, _Kind] = {"reasoning": "reasoning", "activity": "activity"}

_Phase = Literal["new", "running", "finished", "failed"]
_MAY_COME: dict[_Phase, tuple[frozenset[EventType], str]] = {
    "new": (
        frozenset({EventType.RUN_STARTED, EventType.RUN_ERROR}),
        "came before the run began; send `RUN_STARTED` first.",
    ),
    "finished": (
        frozenset({EventType.RUN_STARTED, EventType.RUN_ERROR}),
        "came after `RUN_FINISHED`; send it earlier, or begin a new run with `RUN_STARTED`.",
    ),
    "failed": (
        frozenset({EventType.RUN_STARTED}),
        "came after `RUN_ERROR`, which ends a run; begin a new one with `RUN_STARTED`.",
    ),
}


@dataclass(frozen=True, kw_only=True)
class _Stream:
    """One kind of thing that is started, continued and ended, and the events that do it."""

    noun: str
    kind: _Kind
    start: EventType
    more: EventType | None
    end: EventType
    id_field: str = "message_id"


# One table instead of one rule a kind, since the protocol treats them alike.
_STREAMS = (
    _Stream(
        noun="text message",
        kind="message",
        start=EventType.TEXT_MESSAGE_START,
        more=EventType.TEXT_MESSAGE_CONTENT,
        end=EventType.TEXT_MESSAGE_END,
    ),
    _Stream(
        noun="tool call",
        kind="tool call",
        start=EventType.TOOL_CALL_START,
        more=EventType.TOOL_CALL_ARGS,
        end=EventType.TOOL_CALL_END,
        id_field="tool_call_id",
    ),
    # A span and the message inside it may share an id (many producers do it), so they are two streams; but
    # not two owners: what one agent thinks, another cannot continue.
    _Stream(
        noun="reasoning message",
        kind="reasoning",
        start=EventType.REASONING_MESSAGE_START,
        more=EventType.REASONING_MESSAGE_CONTENT,
        end=EventType.REASONING_MESSAGE_END,
    ),
    _Stream(
        noun="reasoning span",
        kind="reasoning",
        start=EventType.REASONING_START,
        more=None,
        end=EventType.REASONING_END,
    ),
)
_STREAM_OF = {kind: stream for stream in _STREAMS for kind in (stream.start, stream.more, stream.end) if kind}


class _Owners(dict[_Key, str | None]):
    """The owner of each id of this run: a subagent's run id, or None for the parent agent.

    Who opens something again takes it away from nobody (``setdefault``); what is made anew, a tool's result or a
    replaced activity, has the owner who made it.
    """

    def check(self, event: Event, key: _Key) -> None:
        """Refuse an event whose tag names another owner than the one on record."""
        tag: str | None = getattr(event, "subagent_run_id", None)
        if tag is not None and self.get(key, tag) != tag:
            raise self.disagreement(event, key)

    def disagreement(self, event: Event, key: _Key) -> ProtocolError:
        """Return the error for an event that touches what somebody else owns."""
        (kind, entity), owner = key, self[key]
        tag: str | None = getattr(event, "subagent_run_id", None)
        whose = "the parent agent" if owner is None else f"subagent `{owner}`"
        return ProtocolError(
            f"`{event.type.value}` of subagent `{tag}` touches the {kind} `{entity}`, which belongs to {whose}; "
            "use an id of its own."
        )

    def read(self, messages: Iterable[Message]) -> None:
        """Record the owners in a history; a call belongs to whom its message belongs to."""
        for message in messages:
            _refuse_null_tag(message, f"the message `{message.id}`")
            self[_KIND_OF_ROLE.get(message.role, "message"), message.id] = message.subagent_run_id
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls or ():
                    self["tool call", call.id] = message.subagent_run_id


class Verifier:
    """Follows one stream of events, which may hold several runs, and refuses the first illegal one.

    ```python
    verifier = Verifier()
    for event in events:
        verifier.feed(event)
    ```

    It expects whole events: put a `ChunkExpander` in front.
    """

    def __init__(self) -> None:
        self._phase: _Phase = "new"

    def feed(self, event: Event) -> None:
        """Take the next event.

        Raises:
            ProtocolError: The event may not come here; the stream is of no use from now on.
        """
        if self._phase != "running":
            allowed, complaint = _MAY_COME[self._phase]
            if event.type not in allowed:
                raise ProtocolError(f"`{event.type.value}` {complaint}")
        if "subagent_run_id" in event.model_fields_set:  # in few events; asked here it costs the others no call
            _refuse_null_tag(event, f"`{event.type.value}`")
        if stream := _STREAM_OF.get(event.type):
            self._follow(stream, event)
        elif rule := _RULES.get(event.type):
            rule(self, event)

    # -- runs -----------------------------------------------------------------------------------------------

    def _start_run(self, event: RunStartedEvent) -> None:
        if self._phase == "running":
            raise ProtocolError("`RUN_STARTED` came while a run is active; send `RUN_FINISHED` or `RUN_ERROR` first.")
        self._phase = "running"
        self._owners = _Owners()
        # What is open, in the order in which it was opened; dicts, since a set has no order.
        self._open: dict[EventType, dict[str, None]] = {stream.start: {} for stream in _STREAMS}
        self._steps: dict[tuple[str | None, str], None] = {}
        self._subagents: dict[str, None] = {}
        self._finished_subagents: set[str] = set()
        if event.input is not None:
            # From the end: should the echoed history use an id twice, the first owner counts.
            self._owners.read(reversed(event.input.messages))

    def _finish_run(self, event: RunFinishedEvent) -> None:
        still_open = [f"{stream.noun} `{entity}`" for stream in _STREAMS for entity in self._open[stream.start]]
        still_open += [f"step `{name}`" for _, name in self._steps]
        still_open += [f"subagent `{subagent}`" for subagent in self._subagents]
        if still_open:
            raise ProtocolError(f"`RUN_FINISHED` came with {', '.join(still_open)} open; end them first.")
        if event.outcome is not None and event.outcome.type == "interrupt":
            for interrupt in event.outcome.interrupts:
                _refuse_null_tag(interrupt, f"the interrupt `{interrupt.id}`")
        self._phase = "finished"

    def _fail_run(self, _: RunErrorEvent) -> None:
        self._phase = "failed"

    # -- streams --------------------------------------------------------------------------------------------

    def _follow(self, stream: _Stream, event: Event) -> None:
        """Open, continue or close one thing, or refuse the event."""
        entity: str = getattr(event, stream.id_field)
        is_open, key = self._open[stream.start], (stream.kind, entity)
        if event.type == stream.start:
            if entity in is_open:
                raise ProtocolError(
                    f"`{stream.start.value}` opens the {stream.noun} `{entity}`, which is open; "
                    f"send `{stream.end.value}` first."
                )
            self._owners.check(event, key)
            self._owners.setdefault(key, self._opener(event))
            is_open[entity] = None
            return
        if entity not in is_open:
            raise ProtocolError(
                f"`{event.type.value}` names the {stream.noun} `{entity}`, which is not open; "
                f"send `{stream.start.value}` first."
            )
        self._owners.check(event, key)
        if event.type == stream.end:
            del is_open[entity]

    def _opener(self, event: Event) -> str | None:
        """Return who opens it. A call stands in its parent message and has no tag there, so both have one owner."""
        tag: str | None = getattr(event, "subagent_run_id", None)
        if not isinstance(event, ToolCallStartEvent) or event.parent_message_id is None:
            return tag
        parent: _Key = ("message", event.parent_message_id)
        if parent not in self._owners:
            return tag
        self._owners.check(event, parent)
        owner = self._owners[parent]
        if self._owners.get(("tool call", event.tool_call_id), owner) != owner:
            raise self._owners.disagreement(event, parent)
        return owner

    # -- steps and subagents ----------------------------------------------------------------------------------

    def _start_step(self, event: StepStartedEvent) -> None:
        # Owner and name: a subagent often runs the same graph as its parent, with a step of the same name
        # inside.
        step = (event.subagent_run_id, event.step_name)
        if step in self._steps:
            raise ProtocolError(f"`STEP_STARTED` names the open step `{event.step_name}`; send `STEP_FINISHED` first.")
        self._steps[step] = None

    def _finish_step(self, event: StepFinishedEvent) -> None:
        step = (event.subagent_run_id, event.step_name)
        if step not in self._steps:
            raise ProtocolError(
                f"`STEP_FINISHED` names the step `{event.step_name}`, which this agent did not start; "
                "send `STEP_STARTED` with the same `subagentRunId` first."
            )
        del self._steps[step]

    def _start_subagent(self, event: SubagentStartedEvent) -> None:
        subagent, parent = event.subagent_run_id, event.parent_subagent_run_id
        if subagent in self._subagents or subagent in self._finished_subagents:
            raise ProtocolError(f"`SUBAGENT_STARTED` uses the id `{subagent}` again; give each run its own.")
        if parent is not None and parent not in self._subagents and parent not in self._finished_subagents:
            raise ProtocolError(f"`SUBAGENT_STARTED` names the parent `{parent}`, which never started; start it first.")
        self._subagents[subagent] = None

    def _end_subagent(self, event: SubagentFinishedEvent | SubagentErrorEvent) -> None:
        subagent = event.subagent_run_id
        if subagent not in self._subagents:
            raise ProtocolError(
                f"`{event.type.value}` names the subagent `{subagent}`, which is not active; "
                "send `SUBAGENT_STARTED` first."
            )
        del self._subagents[subagent]
        self._finished_subagents.add(subagent)

    # -- who owns what ----------------------------------------------------------------------------------------

    def _take_result(self, event: ToolCallResultEvent) -> None:
        self._owners["message", event.message_id] = event.subagent_run_id

    def _take_snapshot(self, event: MessagesSnapshotEvent) -> None:
        self._owners.read(event.messages)

    def _take_activity(self, event: ActivitySnapshotEvent) -> None:
        key: _Key = ("activity", event.message_id)
        # With `replace: false` the activity that exists stays as it is, and so does its owner.
        if event.replace is not False or key not in self._owners:
            self._owners[key] = event.subagent_run_id

    def _check_activity(self, event: ActivityDeltaEvent) -> None:
        self._owners.check(event, ("activity", event.message_id))

    def _check_encrypted(self, event: ReasoningEncryptedValueEvent) -> None:
        kinds: tuple[_Kind, ...] = ("tool call",) if event.subtype == "tool-call" else ("message", "reasoning")
        known = next((kind for kind in kinds if (kind, event.entity_id) in self._owners), None)
        if known is not None:
            self._owners.check(event, (known, event.entity_id))


_RULES: dict[EventType, Callable[..., None]] = {
    EventType.RUN_STARTED: Verifier._start_run,
    EventType.RUN_FINISHED: Verifier._finish_run,
    EventType.RUN_ERROR: Verifier._fail_run,
    EventType.STEP_STARTED: Verifier._start_step,
    EventType.STEP_FINISHED: Verifier._finish_step,
    EventType.SUBAGENT_STARTED: Verifier._start_subagent,
    EventType.SUBAGENT_FINISHED: Verifier._end_subagent,
    EventType.SUBAGENT_ERROR: Verifier._end_subagent,
    EventType.TOOL_CALL_RESULT: Verifier._take_result,
    EventType.MESSAGES_SNAPSHOT: Verifier._take_snapshot,
    EventType.ACTIVITY_SNAPSHOT: Verifier._take_activity,
    EventType.ACTIVITY_DELTA: Verifier._check_activity,
    EventType.REASONING_ENCRYPTED_VALUE: Verifier._check_encrypted,
}


def _refuse_null_tag(model: BaseModel, what: str) -> None:
    """Refuse `subagentRunId: null`: absent is the only spelling of "the parent agent"."""
    if "subagent_run_id" in model.model_fields_set and getattr(model, "subagent_run_id", None) is None:
        raise ProtocolError(f"`subagentRunId` is null on {what}; leave the field out for the parent agent.")


def verify(events: Iterable[Event]) -> Iterator[Event]:
    """Let legal events through, one by one.

    Args:
        events: The stream, without chunks.

    Raises:
        ProtocolError: At the first illegal event, after those before it came through.
    """
    verifier = Verifier()
    for event in events:
        verifier.feed(event)
        yield event
