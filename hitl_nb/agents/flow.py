"""A CrewAI Flow in the kernel's own loop: no port, no server, the user's Flow not a line changed.

`ag_ui_crewai` serves a Flow over HTTP; here the same Flow runs in a task of the kernel, and its events reach us
through CrewAI's scoped stream sink, called synchronously where the event arises, so that the order is exact and
concurrent runs cannot mix: CrewAI's event bus has one pool of threads for all runs, which promises neither. A failing
Flow raises its own exception.

`copilotkit_stream` emits chunk events there; the methods of the Flow emit their own. The rules by which they become
AG-UI events are those of ag_ui_crewai's server, so in-process and served runs look alike. What a provider streamed
under an id that cannot be trusted is told after the run, when the whole message is known.
"""

import asyncio
import importlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Protocol, cast

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    CustomEvent,
    Event,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallArgsEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from pydantic import BaseModel

from hitl_nb._library import library
from hitl_nb._steps import Kickoff, in_tool
from hitl_nb.agents._call_assembler import fresh_call_id, presentable
from hitl_nb.agents._ids import StreamedCall, StreamedMessage, fresh_message_id, settled
from hitl_nb.agents._litellm import FOR_PEOPLE, Thoughts, hearing
from hitl_nb.agents._reply import FINISHED, endings
from hitl_nb.agui import open_calls, tool_calls
from hitl_nb.errors import AgentDefinitionError

_Json = dict[str, object]

RESERVED = frozenset({"messages", "copilotkit", "tools", "context", "id", "ag-ui"})
"""Keys of a Flow's state that belong to the protocol, not to the user's shared state."""


class AnyFlow(Protocol):
    """What is used of a CrewAI Flow; crewai's own class would cost 10 s here."""

    @property
    def state(self) -> object:
        """A dict, or a pydantic model."""
        ...

    async def kickoff_async(self, inputs: _Json) -> object:
        """Run it."""
        ...


class FlowAgent:
    """Runs a ``Flow[CopilotKitState]`` that streams with ``copilotkit_stream``.

    Args:
        flow: A Flow class, instantiated anew for each run (recommended: a run starts from the session's history
            and state alone), or an instance, used as it is.

    Raises:
        AgentDefinitionError: The Flow's state has no ``messages``, so that a conversation cannot reach it.
    """

    def __init__(self, flow: AnyFlow | type[AnyFlow]) -> None:
        self._flow = flow
        self._checked = False

    def __repr__(self) -> str:
        name = self._flow.__name__ if isinstance(self._flow, type) else type(self._flow).__name__
        return f"FlowAgent({name})"

    async def run(self, input: RunAgentInput) -> AsyncIterator[Event]:  # noqa: A002 - AG-UI's name
        """Run the Flow once on the history of `input`; yields AG-UI events while the Flow streams.

        Raises:
            Exception: Whatever the Flow raised, itself, after a ``RUN_ERROR`` event.
        """
        flow = self._fresh()
        translator, thoughts = _Translator(input.messages), Thoughts(input.messages)
        yield RunStartedEvent(thread_id=input.thread_id, run_id=input.run_id, protocol_version=PROTOCOL_VERSION)
        events = _Mailbox()
        task = asyncio.create_task(_kickoff(flow, input, events, thoughts), name=f"hitl_nb flow {input.run_id}")
        try:
            while (event := await events.get()) is not None:
                for translated in translator.translate(event):
                    yield translated
            for translated in translator.flush():
                yield translated
            try:
                await task
            except Exception as error:
                yield RunErrorEvent(message=f"{type(error).__name__}: {error}", code="FLOW_ERROR")
                raise
            for final in _final_events(flow, input, translator, thoughts):
                yield final
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def _fresh(self) -> AnyFlow:
        flow = self._flow() if isinstance(self._flow, type) else self._flow
        if not self._checked:
            _require_messages(flow)
            self._checked = True
        return flow


# -- running it ---------------------------------------------------------------------------------------------------


_TOOL_IS_RUNNING = {"tool_usage_started": True, "tool_usage_finished": False, "tool_usage_error": False}


async def _kickoff(
    flow: AnyFlow,
    input: RunAgentInput,  # noqa: A002 - AG-UI's name
    events: "_Mailbox",
    thoughts: Thoughts,
) -> None:
    kickoff = Kickoff()

    def sink(source: object, event: _BusEvent) -> None:
        # In the context of whoever emits: the step itself, a tool that a model in it has called.
        kind = getattr(event.type, "value", event.type)
        if kind == "method_execution_started" and source is flow:
            kickoff.enter(str(event.method_name))
        elif kind in _TOOL_IS_RUNNING:
            in_tool(_TOOL_IS_RUNNING[kind])
        if source is flow:
            events.put(event)

    try:
        with _quiet_console(), _streaming_into(sink, flow), hearing(_crewai_module("litellm"), thoughts):
            await flow.kickoff_async(inputs=_inputs(input))
    finally:
        events.put(None)


class _Mailbox:
    """What a Flow's events pass through, in the order in which they arise, also those of its worker threads.

    A loop is woken from its own thread for nothing; from another one it takes two system calls, which is what most of a
    fragment would cost here.
    """

    def __init__(self) -> None:
        self._loop, self._home = asyncio.get_running_loop(), threading.get_ident()
        self._events: deque[_BusEvent | None] = deque()
        self._rung = asyncio.Event()

    def put(self, event: "_BusEvent | None") -> None:
        """Take an event, from any thread; None is the end."""
        self._events.append(event)
        if threading.get_ident() == self._home:
            self._rung.set()
        else:  # a sync method
            self._loop.call_soon_threadsafe(self._rung.set)

    async def get(self) -> "_BusEvent | None":
        """Return the oldest; waits for one."""
        while not self._events:
            self._rung.clear()
            await self._rung.wait()
        return self._events.popleft()


def _inputs(input: RunAgentInput) -> _Json:  # noqa: A002
    endpoint = _crewai_module("ag_ui_crewai.endpoint")
    inputs: _Json = endpoint.crewai_prepare_inputs(
        state=input.state or {},
        messages=[_without_thought(it) for it in presentable(input.messages) if it.role not in FOR_PEOPLE],
        tools=input.tools or [],
        context=input.context or [],
        forwarded_props=input.forwarded_props,
    )
    return inputs | {"id": input.thread_id}


def _without_thought(message: Message) -> Message:
    """Return the message as a Flow gets it: it may send it past litellm, and what is sealed is no provider's word."""
    if not isinstance(message, AssistantMessage):
        return message
    calls = [it.model_copy(update={"encrypted_value": None}) for it in message.tool_calls or ()]
    return message.model_copy(update={"encrypted_value": None} | ({"tool_calls": calls} if calls else {}))


@contextmanager
def _streaming_into(sink: "Callable[[object, _BusEvent], None]", flow: AnyFlow) -> Iterator[None]:
    """Let `copilotkit_stream` find the Flow, and its events find us; both are context variables of this task."""
    stream_context = _crewai_module("crewai.events.stream_context")
    context = _crewai_module("ag_ui_crewai.context")
    sinks, current = stream_context.add_stream_sink(sink), context.flow_context.set(flow)
    try:
        yield
    finally:
        context.flow_context.reset(current)
        stream_context.reset_stream_sinks(sinks)


@contextmanager
def _quiet_console() -> Iterator[None]:
    """No rich panels in the cell. The switch is a context variable, so it ends with this task."""
    try:
        printer = importlib.import_module("crewai_core.printer")
    except ImportError:
        yield
        return
    printer.set_suppress_console_output(True)
    yield


def _final_events(
    flow: AnyFlow,
    input: RunAgentInput,  # noqa: A002 - AG-UI's name
    translator: "_Translator",
    thoughts: Thoughts,
) -> Iterator[Event]:
    convert = _crewai_module("ag_ui_crewai.sdk").litellm_messages_to_ag_ui_messages
    state = _state(flow)
    raw = [it for it in cast("list[object]", state["messages"]) if thoughts.role(it) != "reasoning"]
    converted: list[Message] = convert(raw)
    messages = settled(_with_thoughts(converted, raw, thoughts), input.messages, translator.streamed)
    pending = [call.id for call in open_calls(messages)]
    for message in messages:
        if isinstance(message, AssistantMessage):
            for call in message.tool_calls or ():
                if call.id in pending:
                    yield from translator.announce(message.id, call)
    yield MessagesSnapshotEvent(messages=messages)
    for ending in endings(thoughts.heard):
        yield CustomEvent(name=FINISHED, value=ending)
    yield StateSnapshotEvent(snapshot={key: value for key, value in state.items() if key not in RESERVED})
    yield RunFinishedEvent(
        thread_id=input.thread_id,
        run_id=input.run_id,
        outcome=RunFinishedSuccessOutcome(pending_tool_call_ids=pending or None),
    )


def _with_thoughts(messages: Sequence[Message], raw: Sequence[object], thoughts: Thoughts) -> list[Message]:
    """Return the messages with what was thought for them, which the conversion leaves out."""
    found: list[Message] = []
    for message, given in zip(messages, raw, strict=True):
        of_message, of_calls = thoughts.of(given) if isinstance(message, AssistantMessage) else (None, {})
        if isinstance(message, AssistantMessage) and (of_message or of_calls):
            calls = [it.model_copy(update={"encrypted_value": of_calls.get(it.id)}) for it in message.tool_calls or ()]
            update = {"encrypted_value": of_message, "tool_calls": calls or None}
            message = message.model_copy(update={key: it for key, it in update.items() if it})
        found.append(message)
    return found


def _state(flow: AnyFlow) -> _Json:
    state = flow.state
    if isinstance(state, dict):
        return state
    # The messages as they are: the conversion knows litellm's objects, too.
    dumped = cast("BaseModel", state).model_dump(exclude={"messages"})
    return dumped | {"messages": getattr(state, "messages", [])}


def _require_messages(flow: AnyFlow) -> None:
    state = flow.state
    if "messages" in state if isinstance(state, dict) else hasattr(state, "messages"):
        return
    name = type(flow).__name__
    raise AgentDefinitionError(
        f"`{name}` keeps no `messages` in its state, so it cannot be given the conversation. "
        f"Write `class {name}(Flow[CopilotKitState])` with `from ag_ui_crewai.sdk import CopilotKitState`."
    )


def _crewai_module(name: str) -> ModuleType:
    return library(name, extra="crewai", what="Running a CrewAI Flow")


# -- what it streams ----------------------------------------------------------------------------------------------


class _BusEvent(Protocol):
    """An event of CrewAI's: each kind has the `type`, and those of the other fields that it needs."""

    type: object
    method_name: object
    message_id: str
    parent_message_id: str | None
    tool_call_id: str
    tool_call_name: str | None
    delta: str | None
    content: str
    name: str
    value: object
    snapshot: object


_THINKING: dict[object, Callable[[_BusEvent], Event]] = {
    "REASONING_START": lambda event: ReasoningStartEvent(message_id=event.message_id),
    "REASONING_MESSAGE_START": lambda event: ReasoningMessageStartEvent(message_id=event.message_id, role="reasoning"),
    "REASONING_MESSAGE_CONTENT": lambda event: ReasoningMessageContentEvent(
        message_id=event.message_id, delta=event.delta or ""
    ),
    "REASONING_MESSAGE_END": lambda event: ReasoningMessageEndEvent(message_id=event.message_id),
    "REASONING_END": lambda event: ReasoningEndEvent(message_id=event.message_id),
}
"""What `copilotkit_stream` tells of thoughts; not the sealed values, of which it does not say what they are."""


class _Translator:
    """CrewAI's events of one Flow run → AG-UI events, balanced, in order, with ids that stay the same.

    Args:
        before: The history that came in with the run.

    Attributes:
        streamed: The replies of the models so far, in order.
    """

    def __init__(self, before: Sequence[Message]) -> None:
        self.streamed: list[StreamedMessage] = []
        self._known = {message.id for message in before}
        self._used = {call.id for call in tool_calls(before)}
        self._messages: dict[str, StreamedMessage] = {}
        self._open_texts: list[str] = []
        self._open_calls: list[str] = []
        self._methods = 0

    def translate(self, event: _BusEvent) -> Iterator[Event]:
        """Yield the AG-UI events for one CrewAI event; none for what AG-UI has no word for."""
        kind = getattr(event.type, "value", event.type)
        if kind == "method_execution_started":
            self._methods += 1
            yield StepStartedEvent(step_name=str(event.method_name))
        elif kind in ("method_execution_finished", "method_execution_failed"):
            self._methods -= 1
            if self._methods <= 0:  # another method may be streaming still
                yield from self.flush()
            yield StepFinishedEvent(step_name=str(event.method_name))
        elif kind == "TEXT_MESSAGE_CHUNK":
            yield from self._text_chunk(self._message(event.message_id), event.delta)
        elif kind == "TOOL_CALL_CHUNK":
            yield from self._call_chunk(self._message(event.parent_message_id), event)
        elif kind == "TOOL_CALL_RESULT":
            yield from self.flush()
            yield from self._result(event)
        elif kind in _THINKING:
            yield _THINKING[kind](event)
        elif kind == "CUSTOM":
            yield CustomEvent(name=event.name, value=event.value)
        elif kind == "STATE_SNAPSHOT":
            yield StateSnapshotEvent(snapshot=event.snapshot)

    def flush(self) -> Iterator[Event]:
        """Close what is open; whatever is streamed from here on belongs to another message."""
        for message_id in self._open_texts:
            yield TextMessageEndEvent(message_id=message_id)
        for call_id in reversed(self._open_calls):
            yield ToolCallEndEvent(tool_call_id=call_id)
        self._open_texts.clear()
        self._open_calls.clear()
        self._messages.clear()

    def announce(self, message_id: str, call: ToolCall) -> Iterator[Event]:
        """Tell of a whole call that was not streamed, or under an id that could not be trusted."""
        if any(told.id == call.id and told.told is not None for it in self.streamed for told in it.calls):
            return
        yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.function.name, parent_message_id=message_id)
        if call.function.arguments:
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=call.function.arguments)
        yield ToolCallEndEvent(tool_call_id=call.id)

    def _message(self, provider_id: str | None) -> StreamedMessage:
        key = provider_id or ""
        if key not in self._messages:
            message_id = key if key and key not in self._known else fresh_message_id()
            self._known.add(message_id)
            self._messages[key] = StreamedMessage(id=message_id)
            self.streamed.append(self._messages[key])
        return self._messages[key]

    def _text_chunk(self, message: StreamedMessage, delta: str | None) -> Iterator[Event]:
        if not delta:
            return
        if message.id not in self._open_texts:
            self._open_texts.append(message.id)
            yield TextMessageStartEvent(message_id=message.id, role="assistant")
        message.said.add(delta)
        yield TextMessageContentEvent(message_id=message.id, delta=delta)

    def _call_chunk(self, message: StreamedMessage, event: _BusEvent) -> Iterator[Event]:
        call = self._call(message, event.tool_call_id)
        call.name = call.name or event.tool_call_name or ""
        call.arguments.feed(event.delta or "")
        # Without an id, two calls of one message cannot be told apart here; without a name, nobody knows yet
        # whether there is a card for it.
        if not event.tool_call_id or not call.name:
            return
        if call.told is None:
            call.told = 0
            self._open_calls.append(call.id)
            yield ToolCallStartEvent(tool_call_id=call.id, tool_call_name=call.name, parent_message_id=message.id)
        # What comes behind a complete object is a repetition, or another call under the same id.
        if new := call.arguments.take():
            yield ToolCallArgsEvent(tool_call_id=call.id, delta=new)
            call.told += len(new)

    def _result(self, event: _BusEvent) -> Iterator[Event]:
        found = (it.call(event.tool_call_id) for it in reversed(self.streamed))
        call = next((call for call in found if call is not None), None)
        if call is not None and call.told is None:
            return  # its call has not been told of; the final messages have both
        call_id = call.id if call is not None else event.tool_call_id
        yield ToolCallResultEvent(message_id=event.message_id, tool_call_id=call_id, content=event.content)

    def _call(self, message: StreamedMessage, provider_id: str) -> StreamedCall:
        call = message.call(provider_id)
        if call is None:
            call_id = provider_id if provider_id and provider_id not in self._used else fresh_call_id()
            self._used.add(call_id)
            call = StreamedCall(id=call_id, provider_id=provider_id)
            message.interleaved = message.interleaved or any(it.arguments.unclosed for it in message.calls)
            message.calls.append(call)
        return call
