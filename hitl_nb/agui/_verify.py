"""Is this stream of events a legal one?

A person is asked on the strength of these events, so a broken stream has to stop the run, not become a
question with half of its arguments. The rules are the ones the released web client enforces (`verifyEvents`
of @ag-ui/client 1.0, facts/copilotkit.md §4.1). Interleaving is legal, and so is opening a closed id again;
whether arguments are JSON, or a result has a call, is not looked at here.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    Event,
    EventType,
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
)

from hitl_nb.agui._owners import Kind, Owners, refuse_null_tag
from hitl_nb.agui._streams import STREAM_OF, OpenStreams
from hitl_nb.errors import ProtocolError

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
        self._begin()

    def feed(self, event: Event) -> None:
        """Take the next event.

        Raises:
            ProtocolError: The event may not come here; the stream is of no use from now on.
        """
        self._check_order(event.type)
        refuse_null_tag(event, f"`{event.type.value}`")
        if stream := STREAM_OF.get(event.type):
            self._open.follow(stream, event)
        elif rule := _RULES.get(event.type):
            rule(self, event)

    def _begin(self) -> None:
        self._owners = Owners()
        self._open = OpenStreams(self._owners)
        self._steps: dict[tuple[str | None, str], None] = {}
        self._subagents: dict[str, None] = {}
        self._finished_subagents: set[str] = set()

    def _check_order(self, kind: EventType) -> None:
        if self._phase == "running":
            if kind == EventType.RUN_STARTED:
                raise ProtocolError(
                    "`RUN_STARTED` came while a run is active; send `RUN_FINISHED` or `RUN_ERROR` first."
                )
            return
        allowed, complaint = _MAY_COME[self._phase]
        if kind not in allowed:
            raise ProtocolError(f"`{kind.value}` {complaint}")

    def _start_run(self, event: RunStartedEvent) -> None:
        self._begin()
        self._phase = "running"
        if event.input is not None:
            self._owners.seed(event.input.messages, replace=False)

    def _finish_run(self, event: RunFinishedEvent) -> None:
        still_open = self._open.names()
        still_open += [f"step `{name}`" for _, name in self._steps]
        still_open += [f"subagent `{subagent}`" for subagent in self._subagents]
        if still_open:
            raise ProtocolError(f"`RUN_FINISHED` came with {', '.join(still_open)} open; end them first.")
        if event.outcome is not None and event.outcome.type == "interrupt":
            for interrupt in event.outcome.interrupts:
                refuse_null_tag(interrupt, f"the interrupt `{interrupt.id}`")
        self._phase = "finished"

    def _fail_run(self, _: RunErrorEvent) -> None:
        self._phase = "failed"

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

    def _take_result(self, event: ToolCallResultEvent) -> None:
        self._owners.replace(("message", event.message_id), event.subagent_run_id)

    def _take_snapshot(self, event: MessagesSnapshotEvent) -> None:
        self._owners.seed(event.messages, replace=True)

    def _take_activity(self, event: ActivitySnapshotEvent) -> None:
        # With `replace: false` the activity that exists stays as it is, and so does its owner.
        record = self._owners.claim if event.replace is False else self._owners.replace
        record(("activity", event.message_id), event.subagent_run_id)

    def _check_activity(self, event: ActivityDeltaEvent) -> None:
        self._owners.check(event, ("activity", event.message_id))

    def _check_encrypted(self, event: ReasoningEncryptedValueEvent) -> None:
        kinds: tuple[Kind, ...] = ("tool call",) if event.subtype == "tool-call" else ("message", "reasoning")
        known = next((kind for kind in kinds if (kind, event.entity_id) in self._owners), None)
        if known is not None:
            self._owners.check(event, (known, event.entity_id))


_RULES: dict[EventType, Callable[[Verifier, Any], None]] = {
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


def verify(events: Iterable[Event]) -> Iterator[Event]:
    """Let legal events through, one by one.

    Raises:
        ProtocolError: At the first illegal event, after those before it came through.
    """
    verifier = Verifier()
    for event in events:
        verifier.feed(event)
        yield event
