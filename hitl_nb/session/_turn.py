"""One run of the agent: events in, messages and calls out.

Every agent, in-process or over HTTP, goes through the same three steps (expand chunks, verify the order, apply), so
that a session sees one shape. Pending calls are derived from the final messages as well as from events: a Flow with
``stream=False`` emits none.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, cast

from ag_ui.core import (
    CustomEvent,
    Event,
    Message,
    MessagesSnapshotEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from hitl_nb._calls import Call, Decision, Handle, Outcome, Via
from hitl_nb._limits import read_json
from hitl_nb._tools import Drawing, FrontendTool, HumanTool, SessionTool, ToolBox
from hitl_nb._transcript import CallEntry, MessageEntry, ToolEntry, Transcript
from hitl_nb.agents import FINISHED, Agent
from hitl_nb.agui import (
    PLACEHOLDER,
    ChunkExpander,
    Conversation,
    PartialArgs,
    Proven,
    Verifier,
    WholeTexts,
    open_calls,
    paired,
    tool_calls,
)
from hitl_nb.errors import AgentError
from hitl_nb.session._checkpoints import Checkpoint, checkpoints_of
from hitl_nb.session._shared import Prediction, State


class Drawings:
    """What draws the tool calls that nobody is asked about, by the tool's name."""

    def __init__(self) -> None:
        self._by_name: dict[str, Drawing | None] = {}

    def add(self, name: str, drawing: Drawing | None) -> None:
        """Have the calls of this tool, or with ``*`` those without a drawing of their own, drawn so from now on."""
        self._by_name[name] = drawing

    def entry_of(self, call: Call, tool: SessionTool | None) -> ToolEntry | None:
        """Return what is shown of a call; None if it is not shown."""
        own = tool.render if isinstance(tool, FrontendTool) else None
        for name in (call.name, *(() if own else ("*",))):
            if name in self._by_name:
                return ToolEntry(key=call.occurrence, call=call, render=self._by_name[name] or own)
        return ToolEntry(key=call.occurrence, call=call, render=own) if own else None

    def of_all(self) -> "Drawings":
        """Return the same, with a card for every call without a drawing."""
        every = Drawings()
        every._by_name = {"*": None, **self._by_name}
        return every


_BREATH = 0.02
"""Seconds of events between two turns of the loop."""


class Predictions:
    """What the agent is about to write into the shared state, told from the arguments of a tool while they stream.

    Which argument of which tool becomes which key, the agent says (the ``CUSTOM`` event ``PredictState``), or the user
    (`State.predict`).
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._announced: list[Prediction] = []
        self._streams: dict[str, tuple[str, PartialArgs]] = {}

    def feed(self, event: Event) -> None:
        """Take one event."""
        match event:
            case CustomEvent() if event.name == "PredictState" and isinstance(event.value, list):
                self._announced = [found for each in event.value if (found := _announced(each)) is not None]
            case ToolCallStartEvent() if any(each.tool == event.tool_call_name for each in self._all):
                self._streams[event.tool_call_id] = (event.tool_call_name, PartialArgs())
            case ToolCallArgsEvent() if event.tool_call_id in self._streams:
                name, partial = self._streams[event.tool_call_id]
                partial.feed(event.delta)
                self._guess(name, partial.preview)
            case ToolCallEndEvent() if event.tool_call_id in self._streams:
                name, partial = self._streams.pop(event.tool_call_id)
                self._guess(name, partial.finish())

    @property
    def _all(self) -> list[Prediction]:
        return [*self._state.predictions, *self._announced]

    def _guess(self, name: str, args: Mapping[str, object] | None) -> None:
        for each in self._all if args else ():
            assert args is not None
            if each.tool == name and (each.argument is None or each.argument in args):
                self._state.guess(each.key, dict(args) if each.argument is None else args[each.argument])


def _announced(value: object) -> Prediction | None:
    if not isinstance(value, dict) or not isinstance(value.get("state_key"), str):
        return None
    argument = value.get("tool_argument")
    return Prediction(key=value["state_key"], tool=str(value.get("tool")), argument=argument or None)


class AgentRun:
    """Follows one agent run and shows it in the transcript while it streams.

    Args:
        input: What the agent is given.
        tools: The session's.
        transcript: Where it is shown.
        publish: Told of every event.
        proven: What of the history needs no second look.
        drawings: What draws the calls that nobody is asked about.
        state: The shared state, which hears of what the agent says of it.
        before: The conversation of the run before.
    """

    def __init__(
        self,
        input: RunAgentInput,  # noqa: A002 - AG-UI's name
        tools: ToolBox,
        transcript: Transcript,
        publish: Callable[[Event], None],
        proven: Proven,
        drawings: Drawings,
        state: State,
        before: Conversation | None,
    ) -> None:
        self._input = input
        self._proven = proven
        self._state = state
        self._predictions = Predictions(state)
        self.conversation = Conversation(input.messages, input.state, before=before)
        self._view = StreamView(tools, transcript, drawings, thread_id=input.thread_id, run_id=input.run_id)
        self._publish = publish
        self._verifier = Verifier()
        self._chunks = ChunkExpander()
        self._texts = WholeTexts()
        self._failure: RunErrorEvent | None = None
        self._finished = False
        self._legacy: list[CustomEvent] = []
        self._seen: dict[str, ToolMessage] = {}
        """The results that this run has brought, also those that it took back."""
        self._known: tuple[int, list[Message]] | None = None
        """What `_parts` has found, since the last event."""

    @property
    def given(self) -> list[Message]:
        """The history that the agent was given."""
        return self._input.messages

    @property
    def messages(self) -> list[Message]:
        """The history after the events so far; an answer that was in it once stays, whatever a snapshot leaves out."""
        reach, rest = self._parts()
        return [*self.conversation.messages[:reach], *rest]

    def _parts(self) -> tuple[int, list[Message]]:
        """Of these, how many are proven, and the others."""
        if self._known is None:
            messages = self.conversation.messages
            reach = self._proven.reach(messages)
            rest = messages[reach:]
            seen = {**_results(self._input.messages[reach:]), **self._seen}
            there = {message.tool_call_id for message in rest if isinstance(message, ToolMessage)}
            self._known = reach, paired(rest, {call: it for call, it in seen.items() if call not in there})
        return self._known

    async def play(self, agent: Agent) -> None:
        """Run the agent to its end.

        Raises:
            ProtocolError: Its events are out of order.
            AgentError: It ended with ``RUN_ERROR`` and no exception of its own, or broke off.
        """
        stream = agent.run(self._input)
        since = time.perf_counter()
        try:
            async for event in stream:
                self._feed(cast("Event", event))  # an agent may say less of what it yields
                # One that never waits would hold up the loop until its end.
                if time.perf_counter() - since > _BREATH:
                    await asyncio.sleep(0)
                    since = time.perf_counter()
        finally:
            # A stopped run must not leave the agent working (an async generator is closed late otherwise).
            if hasattr(stream, "aclose"):
                await stream.aclose()
        self._check_end()

    def replay(self, events: Iterable[Event]) -> None:
        """Take the events of earlier runs: drawn, not asked; answered calls become records.

        Raises:
            ProtocolError: They are out of order.
        """
        for event in events:
            self._feed(event)
        self._view.recall(self.messages)
        results = _results([*self._input.messages, *self.conversation.messages])
        self._view.close_answered({**results, **self._seen}, via="replay")

    def _feed(self, raw: Event) -> None:
        for event in (mended for whole in self._chunks.feed(raw) for mended in self._texts.feed(whole)):
            self._verifier.feed(event)
            self.conversation.apply(event)
            self._known = None
            if isinstance(event, StateDeltaEvent) and not self.conversation.took_patch:
                self._state.out_of_step = True
            elif isinstance(event, StateSnapshotEvent | StateDeltaEvent):
                self._state.receive(self.conversation.state, whole=isinstance(event, StateSnapshotEvent))
            self._predictions.feed(event)
            if isinstance(event, (MessagesSnapshotEvent, ToolCallResultEvent)):
                self._seen.update(_results(self._proven.rest(self.conversation.messages)))
            self._view.tell(event)
            self._publish(event)
            if isinstance(event, RunStartedEvent):
                self._legacy.clear()  # what an earlier run stopped at has been answered, or there would be no other
            elif isinstance(event, RunErrorEvent):
                self._failure = event
            elif isinstance(event, RunFinishedEvent):
                self._finished = True
            elif isinstance(event, CustomEvent) and event.name == "on_interrupt":
                self._legacy.append(event)

    def _check_end(self) -> None:
        if self._failure is not None:
            raise AgentError(self._failure.message, self._failure.code or "agent_run_error_event")
        if not self._finished:
            raise AgentError(
                "The agent's run broke off: its events ended without RUN_FINISHED or RUN_ERROR. "
                "Nothing of it was asked or executed; send the message again to retry.",
                "agent_run_failed",
            )
        self._view.close_answered(_results(self._parts()[1]), via="session")
        still_open = {call.id for call in self.unanswered}
        if any(call.id not in still_open for call in self._view.undecided):  # one that was announced again
            self._view.close_answered(_results(self.conversation.messages), via="session")

    @property
    def unanswered(self) -> list[ToolCall]:
        """The tool calls that the run left open, in call order; a server's placeholder is no answer."""
        return open_calls([message for message in self._parts()[1] if getattr(message, "content", "") != PLACEHOLDER])

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """What the run stopped at: AG-UI interrupts, else the legacy event (the standard form wins)."""
        stops = self.conversation.pending_interrupts
        return checkpoints_of(stops, self._legacy, tool_calls(self.messages) if stops or self._legacy else [])

    def call_of(self, tool_call: ToolCall) -> Call:
        """Give the call object of an open tool call; made now if no event announced it."""
        return self._view.call_of(tool_call.id, tool_call.function.name)


def _results(messages: Iterable[Message]) -> dict[str, ToolMessage]:
    """Give the results in a history, but for a server's placeholders."""
    return {it.tool_call_id: it for it in messages if isinstance(it, ToolMessage) and it.content != PLACEHOLDER}


_ENDINGS = {
    "length": "The reply was cut off: the model has reached its token limit.",
    "content_filter": "The reply was cut off: the provider's content filter has stopped it.",
    "empty": "The model has said nothing.",
}
"""What a person is told of a reply that ended in an unusual way."""


class StreamView:
    """Writes one agent run into the transcript: calls that a person answers, and others where they are to be seen."""

    def __init__(self, tools: ToolBox, transcript: Transcript, drawings: Drawings, **identity: Any) -> None:
        self._tools = tools
        self._transcript = transcript
        self._drawings = drawings
        self._identity = identity
        self._texts: dict[str, MessageEntry] = {}
        self._calls: dict[str, Call] = {}
        self._partials: dict[str, PartialArgs] = {}

    def tell(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextMessageStartEvent():
                self._start_text(event)
            case TextMessageContentEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.grow(event.delta)
                self._transcript.touch(entry)
            case TextMessageEndEvent() if event.message_id in self._texts:
                entry = self._texts[event.message_id]
                entry.streaming = False
                self._transcript.touch(entry)
            case ReasoningMessageStartEvent() if self._transcript.tells_all:
                self._start_text(event, "reasoning")
            case ReasoningMessageContentEvent() if event.message_id in self._texts:
                self._texts[event.message_id].grow(event.delta)
                self._transcript.touch(self._texts[event.message_id])
            case ReasoningMessageEndEvent() if event.message_id in self._texts:
                self._texts[event.message_id].streaming = False
                self._transcript.touch(self._texts[event.message_id])
            case CustomEvent() if event.name == FINISHED and str(event.value) in _ENDINGS:
                self._transcript.note("warning", _ENDINGS[str(event.value)])
            case ToolCallStartEvent():
                self._start_call(event.tool_call_id, event.tool_call_name)
            case ToolCallArgsEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].feed(event.delta)
                self._show_preview(event.tool_call_id)
            case ToolCallEndEvent() if event.tool_call_id in self._partials:
                self._partials[event.tool_call_id].finish()
                self._show_preview(event.tool_call_id)
                self._begin_elsewhere(event.tool_call_id)
            case ToolCallResultEvent() if event.content != PLACEHOLDER:
                self._end_elsewhere(event)

    @property
    def undecided(self) -> list[Call]:
        """The calls of this run that nobody has decided."""
        return [call for call in self._calls.values() if not call.decided]

    def call_of(self, call_id: str, name: str) -> Call:
        """Give the call object of a tool call, announced or not."""
        self._start_call(call_id, name)
        return self._calls[call_id]

    def recall(self, messages: Iterable[Message]) -> None:
        """Draw the calls of a history that came without its events."""
        for tool_call in tool_calls(messages):
            self._start_call(tool_call.id, tool_call.function.name)
            if self._calls[tool_call.id].args is None and tool_call.id in self._partials:
                self._partials[tool_call.id].feed(tool_call.function.arguments)
                self._partials[tool_call.id].finish()
                self._show_preview(tool_call.id)

    def close_answered(self, results: Mapping[str, ToolMessage], *, via: Via) -> None:
        """Complete the calls whose results came with the stream: somebody else answered them."""
        for call in self._calls.values():
            if call.id in results and not call.decided:
                content = results[call.id].content
                text = content if isinstance(content, str) else json.dumps([part.model_dump() for part in content])
                Handle.of(call).settle(Decision(outcome=_outcome_of(text), result=text, via=via))

    def _start_text(
        self,
        event: TextMessageStartEvent | ReasoningMessageStartEvent,
        role: Literal["assistant", "reasoning"] = "assistant",
    ) -> None:
        entry = self._texts.setdefault(event.message_id, MessageEntry(key=event.message_id, role=role))
        entry.streaming = True
        self._transcript.add(entry)

    def _start_call(self, call_id: str, name: str) -> None:
        if call_id in self._calls:
            return
        tool = self._tools.get(name)
        if not isinstance(tool, HumanTool):
            # Nobody is asked about it, so it needs no more than an end; some want to look on.
            checks = tool.parameters if tool is not None else None
            call = self._calls[call_id] = Call(id=call_id, name=name, args_type=checks, **self._identity)
            drawings = self._drawings.of_all() if self._transcript.tells_all else self._drawings
            if (entry := drawings.entry_of(call, tool)) is not None:
                self._partials[call_id] = PartialArgs()
                self._transcript.add(entry)
            return
        self._calls[call_id] = tool.call(call_id, name, **self._identity)
        self._partials[call_id] = PartialArgs()
        self._transcript.add(CallEntry(key=self._calls[call_id].occurrence, call=self._calls[call_id]))

    def _begin_elsewhere(self, call_id: str) -> None:
        """The agent runs a tool of its own, to be looked at, now that its arguments are there."""
        call, partial = self._calls[call_id], self._partials[call_id]
        if self._tools.get(call.name) is None and call.status == "inProgress":
            Handle.of(call).runs_elsewhere(partial.preview)

    def _end_elsewhere(self, event: ToolCallResultEvent) -> None:
        """What the agent's own tool gave is seen at once; what ours or a person gives is certain at the run's end."""
        call = self._calls.get(event.tool_call_id)
        if call is not None and not call.decided and self._tools.get(call.name) is None:
            self.close_answered(
                {call.id: ToolMessage(id="", tool_call_id=call.id, content=event.content)}, via="session"
            )

    def _show_preview(self, call_id: str) -> None:
        preview = self._partials[call_id].preview
        call = self._calls[call_id]
        if preview is not None and preview is not call.args and call.status == "inProgress":
            Handle.of(call).preview(preview)


_REFUSALS: dict[str, Outcome] = {
    "declined": "declined",
    "denied": "declined",
    "cancelled": "cancelled",
    "expired": "expired",
    "superseded": "superseded",
}


def _outcome_of(content: str) -> Outcome:
    """Tell an earlier refusal from an earlier answer; what cannot be told is shown as no more than answered."""
    if content.startswith("Error:"):
        return "aborted"
    try:
        value = read_json(content)
    except ValueError:
        return "answered"
    if not isinstance(value, dict):
        return "answered"
    return "invalid" if "error" in value else _REFUSALS.get(str(value.get("status")), "answered")
